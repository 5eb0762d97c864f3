//! Compressed Arrow files with a few bytes forged: the input says which and how, so that the rest of the file stays sound.

use std::sync::{Arc, OnceLock};

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, ListArray, RecordBatch, StringArray, StringViewArray};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};

/// A file and a stream of two batches: numbers, text, a dictionary, views and lists.
fn sound(codec: CompressionType) -> [Vec<u8>; 2] {
    let batch = |from: usize| {
        let words: DictionaryArray<Int32Type> = (from..from + 300).map(|i| Some(["u", "v", "w"][i % 3])).collect();
        let lists = (from..from + 300).map(|i| Some(vec![Some(i as f64); i % 4]));
        let columns: [(&str, ArrayRef); 5] = [
            ("mu", Arc::new(Float64Array::from_iter_values((from..from + 300).map(|i| (i % 7) as f64)))),
            ("kind", Arc::new(words)),
            ("word", Arc::new(StringArray::from_iter_values((from..from + 300).map(|i| format!("{}", i % 5))))),
            ("view", Arc::new(StringViewArray::from_iter_values((from..from + 300).map(|i| format!("a text that is long {}", i % 5))))),
            ("list", Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Float64Type, _, _>(lists))),
        ];
        RecordBatch::try_from_iter(columns).expect("columns of one length")
    };
    let options = || {
        let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5).expect("sound options");
        options.try_with_compression(Some(codec)).expect("a codec of this build")
    };
    let (mut file, mut stream) = (Vec::new(), Vec::new());
    let schema = batch(0).schema();
    let mut writer = FileWriter::try_new_with_options(&mut file, &schema, options()).expect("memory");
    (0..2).for_each(|i| writer.write(&batch(i * 300)).expect("memory"));
    writer.finish().expect("memory");
    let mut writer = StreamWriter::try_new_with_options(&mut stream, &schema, options()).expect("memory");
    (0..2).for_each(|i| writer.write(&batch(i * 300)).expect("memory"));
    writer.finish().expect("memory");
    [file, stream]
}

/// The file (or the stream, as the first byte says) with the bytes that the input names overwritten: two bytes for the
/// place, one for how many, then those.
pub fn forged(codec: CompressionType, input: &[u8]) -> Vec<u8> {
    static SOUND: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
    let sound = SOUND.get_or_init(|| sound(codec));
    let Some((&which, mut rest)) = input.split_first() else { return sound[0].clone() };
    let mut bytes = sound[usize::from(which & 1)].clone();
    while let [low, high, count, after @ ..] = rest {
        let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len();
        let count = (1 + usize::from(count % 16)).min(after.len()).min(bytes.len() - at);
        bytes[at..at + count].copy_from_slice(&after[..count]);
        rest = &after[count..];
    }
    bytes
}
