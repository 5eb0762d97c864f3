//! Columns that are not used, of every type of Arrow and Parquet: they never stop a run, and go out as they came in where
//! the format can hold them.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::{Float64Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, Date32Array, Decimal128Array, DictionaryArray, DurationMillisecondArray,
    Float32Array, Float64Array, Int32Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray,
    StringViewArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampNanosecondArray, UInt64Array,
};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{DataType, Field, Schema};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use supersample_io::{Column, Draws, Format, Frame, Note, OutputFormat, Reading, Selection, Use};

/// Two columns of numbers to choose by, and one of every other type.
fn table() -> RecordBatch {
    let mut maps = MapBuilder::new(None, StringBuilder::new(), arrow_array::builder::Int32Builder::new());
    for (i, key) in ["a", "b", "c", "d"].into_iter().enumerate() {
        maps.keys().append_value(key);
        maps.values().append_value(i as i32);
        maps.append(true).unwrap();
    }
    let mut lists = ListBuilder::new(StringBuilder::new());
    for i in 0..4 {
        (0..i).for_each(|j| lists.values().append_value(format!("{j}")));
        lists.append(i != 2);
    }
    let fields = vec![
        (
            Arc::new(Field::new("x", DataType::Int32, true)),
            Arc::new(Int32Array::from(vec![1, 2, 3, 4])) as ArrayRef,
        ),
        (
            Arc::new(Field::new("s", DataType::Utf8, true)),
            Arc::new(StringArray::from(vec!["p", "q", "r", "\"t\""])),
        ),
    ];
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("mu", Arc::new(Float64Array::from(vec![0.5, 1.5, -2.0, 8.0]))),
        ("n", Arc::new(Int32Array::from(vec![Some(3), Some(1), Some(4), Some(1)]))),
        ("big", Arc::new(UInt64Array::from(vec![u64::MAX, 1, 2, 3]))),
        (
            "stamp",
            Arc::new(TimestampMicrosecondArray::from(vec![
                Some(1_600_000_000_123_456),
                None,
                Some(0),
                Some(-1),
            ])),
        ),
        (
            "zoned",
            Arc::new(
                TimestampNanosecondArray::from(vec![1_600_000_000_000_000_000, 1, 2, 3])
                    .with_timezone("Europe/Berlin"),
            ),
        ),
        ("date", Arc::new(Date32Array::from(vec![0, 19_000, -1, 1]))),
        ("time", Arc::new(Time64MicrosecondArray::from(vec![0, 3_600_000_000, 1, 2]))),
        ("span", Arc::new(DurationMillisecondArray::from(vec![1500, -250, 0, 2000]))),
        (
            "money",
            Arc::new(Decimal128Array::from(vec![110, -5, 0, 1]).with_precision_and_scale(20, 2).unwrap()),
        ),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(vec![
                Some(vec![Some(1.0), None]),
                None,
                Some(vec![]),
                Some(vec![Some(2.5)]),
            ])),
        ),
        ("words", Arc::new(lists.finish())),
        ("record", Arc::new(StructArray::from(fields))),
        ("map", Arc::new(maps.finish())),
        ("nothing", Arc::new(NullArray::new(4))),
        ("kind", Arc::new(vec!["u", "v", "u", "w"].into_iter().collect::<DictionaryArray<Int32Type>>())),
        ("bytes", Arc::new(BinaryArray::from_vec(vec![b"\x00\xff", b"", b"z", b"yy"]))),
        ("large", Arc::new(LargeStringArray::from(vec!["007", "8", "9", "10"]))),
        ("view", Arc::new(StringViewArray::from(vec!["a long text that is not inlined", "8", "9", "10"]))),
        ("digits", Arc::new(StringArray::from(vec!["007", "8", "9", "10"]))),
        ("single", Arc::new(Float32Array::from(vec![0.1, 0.2, 0.3, 0.4]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
        .unwrap()
}

fn write(path: &Path, batch: &RecordBatch) {
    let file = File::create(path).unwrap();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => {
            let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
            writer.write(batch).unwrap();
            writer.close().unwrap();
        }
        _ => {
            let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
    }
}

fn read_back(path: &Path) -> RecordBatch {
    let file = File::open(path).unwrap();
    let batches: Vec<RecordBatch> = match path.extension().and_then(|ending| ending.to_str()) {
        Some("parquet") => {
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
            reader.map(|batch| batch.unwrap()).collect()
        }
        _ => FileReader::try_new(file, None).unwrap().map(|batch| batch.unwrap()).collect(),
    };
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

#[test]
fn every_type_is_carried_between_arrow_and_parquet() {
    let folder = tempfile::tempdir().unwrap();
    let table = table();
    let rows = [3, 0, 2, 3];
    let wanted = take_record_batch(&table, &UInt64Array::from(rows.map(|row| row as u64).to_vec())).unwrap();
    for from in ["parquet", "arrow"] {
        let path = folder.path().join(format!("in.{from}"));
        write(&path, &table);
        let draws = Draws::read(&[&path], &Reading::default()).unwrap();
        assert_eq!(draws.parameter_names(), ["mu", "n", "big", "money", "single"], "{from}");
        assert_eq!(draws.values()[..4], [0.5, 3.0, u64::MAX as f64, 1.1]);
        assert_eq!(draws.uses()[3], Use::NotNumbers("timestamps".to_string()));
        for to in ["parquet", "arrow"] {
            let out = folder.path().join(format!("{from}.{to}"));
            let output = OutputFormat::of_path(&out).unwrap();
            assert_eq!(draws.check_output(output).unwrap(), [], "{from} to {to}");
            draws.write_rows(&rows, None, output, &mut File::create(&out).unwrap()).unwrap();
            let found = read_back(&out);
            assert_eq!(found.num_columns(), wanted.num_columns() + 3, "{from} to {to}");
            for (i, field) in table.schema().fields().iter().enumerate() {
                assert_eq!(
                    found.schema().field(i).data_type(),
                    field.data_type(),
                    "{from} to {to}: {}",
                    field.name()
                );
                let alike = found.column(i).to_data() == wanted.column(i).to_data();
                assert!(
                    alike,
                    "{from} to {to}: {}\n{:?}\n{:?}",
                    field.name(),
                    found.column(i),
                    wanted.column(i)
                );
            }
        }
    }
}

#[test]
fn what_has_a_text_goes_to_text_and_the_rest_is_named_before() {
    let folder = tempfile::tempdir().unwrap();
    for from in ["parquet", "arrow"] {
        let path = folder.path().join(format!("in.{from}"));
        write(&path, &table());
        let draws = Draws::read(&[&path], &Reading::default()).unwrap();
        for format in [Format::Text, Format::Npz] {
            let notes = draws.check_output(OutputFormat::plain(format)).unwrap();
            let as_text = ["stamp", "zoned", "date", "time", "span"].map(String::from).to_vec();
            let left_out = ["list", "words", "record", "map", "bytes"].map(String::from).to_vec();
            assert_eq!(
                notes,
                [
                    Note::WrittenAsText { columns: as_text, format },
                    Note::NotWritten { columns: left_out, format }
                ],
                "{from}"
            );
        }
        let mut out = Vec::new();
        draws.write_rows(&[0, 1], None, OutputFormat::plain(Format::Text), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "mu,n,big,stamp,zoned,date,time,span,money,nothing,kind,large,view,digits,single,chain,draw,row"
        );
        assert_eq!(
            lines[1],
            "0.5,3,18446744073709551615,2020-09-13T12:26:40.123456,2020-09-13T12:26:40Z,1970-01-01,00:00:00,PT1.500S,1.10,\
             ,u,007,a long text that is not inlined,007,0.1,1,1,0"
        );
        assert!(
            lines[2].starts_with(
                "1.5,1,1,,1970-01-01T00:00:00.000000001Z,2022-01-08,01:00:00,-PT0.250S,-0.05,,v,8"
            ),
            "{}",
            lines[2]
        );

        let npz = folder.path().join("out.npz");
        let mut file = File::create(&npz).unwrap();
        draws.write_rows(&[0, 2], None, OutputFormat::plain(Format::Npz), &mut file).unwrap();
        let back = Draws::read(&[&npz], &Reading::default()).unwrap();
        assert_eq!(back.parameter_names(), ["mu", "n", "big", "money", "single"]);
        let cells = back.frame(&[0]).unwrap();
        let cell = |name: &str| cells.columns.iter().find(|(other, _)| other == name).unwrap().1.text(0);
        assert_eq!(
            (cell("digits"), cell("big"), cell("n")),
            ("007".into(), u64::MAX.to_string(), "3".into())
        );
    }
}

#[test]
fn a_column_that_is_named_must_hold_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for from in ["parquet", "arrow"] {
        let path = folder.path().join(format!("in.{from}"));
        write(&path, &table());
        for (name, kind) in [("stamp", "timestamps"), ("list", "lists"), ("kind", "text"), ("bytes", "bytes")]
        {
            let reading =
                Reading { selection: Selection::Only(vec![name.to_string()]), ..Reading::default() };
            let error = Draws::read(&[&path], &reading).unwrap_err().to_string();
            assert!(
                error.contains(&format!("column '{name}' holds {kind}, not numbers; leave it out")),
                "{error}"
            );
        }
    }
}

#[test]
fn the_index_of_pandas_is_no_parameter_and_stays_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let remark = r#"{"index_columns": ["idx", {"kind": "range"}], "columns": []}"#;
    let schema = Schema::new(vec![
        Field::new("mu", DataType::Float64, true),
        Field::new("idx", DataType::Float64, true),
    ])
    .with_metadata([("pandas".to_string(), remark.to_string())]);
    let column = || Arc::new(Float64Array::from(vec![3.0, 1.0])) as ArrayRef;
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column(), column()]).unwrap();
    for from in ["parquet", "arrow"] {
        let path = folder.path().join(format!("in.{from}"));
        write(&path, &batch);
        let draws = Draws::read(&[&path], &Reading::default()).unwrap();
        assert_eq!((draws.parameter_names(), draws.uses()), (vec!["mu"], &[Use::Parameter, Use::Index][..]));
        let out = folder.path().join(format!("out.{from}"));
        let output = OutputFormat::of_path(&out).unwrap();
        draws.write_rows(&[1], None, output, &mut File::create(&out).unwrap()).unwrap();
        assert_eq!(Draws::read(&[&out], &Reading::default()).unwrap().uses()[1], Use::Index, "{from}");
    }
}

#[test]
fn rows_are_found_again_in_any_row_group() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let column = Arc::new(Float64Array::from_iter_values((0..100).map(|i| f64::from(i) * 1.5))) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("mu", column)]).unwrap();
    let properties =
        parquet::file::properties::WriterProperties::builder().set_max_row_group_row_count(Some(7)).build();
    let mut writer =
        ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let draws = Draws::read(&[&path], &Reading::default()).unwrap();
    let rows = [99, 0, 50, 7, 6, 50];
    let frame = draws.frame(&rows).unwrap();
    let found: Vec<f64> = (0..rows.len()).map(|at| frame.columns[0].1.number(at).unwrap()).collect();
    assert_eq!(found, rows.map(|row| row as f64 * 1.5));
}

#[test]
fn two_columns_of_one_name_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let column = || Arc::new(Float64Array::from(vec![3.0, 1.0])) as ArrayRef;
    let field = || Field::new("mu", DataType::Float64, true);
    let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field(), field()])), vec![column(), column()])
        .unwrap();
    for from in ["parquet", "arrow"] {
        let path = folder.path().join(format!("in.{from}"));
        write(&path, &batch);
        let error = Draws::read(&[&path], &Reading::default()).unwrap_err().to_string();
        assert!(error.contains("two columns are named 'mu'"), "{error}");
    }
}

/// A file or stream whose buffers are compressed, numbers and a dictionary.
fn compressed(codec: CompressionType, is_stream: bool) -> Vec<u8> {
    let words: DictionaryArray<Int32Type> = (0..2000).map(|i| Some(["u", "v", "w"][i % 3])).collect();
    let batch = RecordBatch::try_from_iter([
        ("mu", Arc::new(Float64Array::from_iter_values((0..2000).map(|i| f64::from(i % 7)))) as ArrayRef),
        ("kind", Arc::new(words) as ArrayRef),
        (
            "word",
            Arc::new(StringArray::from_iter_values((0..2000).map(|i| format!("{}", i % 5)))) as ArrayRef,
        ),
        (
            "view",
            Arc::new(StringViewArray::from_iter_values((0..2000).map(|i| format!("a long text {}", i % 5))))
                as ArrayRef,
        ),
    ])
    .unwrap();
    let options = IpcWriteOptions::try_new(8, false, MetadataVersion::V5)
        .unwrap()
        .try_with_compression(Some(codec))
        .unwrap();
    let mut bytes = Vec::new();
    if is_stream {
        let mut writer = StreamWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    } else {
        let mut writer = FileWriter::try_new_with_options(&mut bytes, &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        writer.finish().unwrap();
    }
    bytes
}

/// Room for a buffer is made on the word of eight bytes before it.
#[test]
fn a_compressed_buffer_that_claims_too_much_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.arrow");
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        for is_stream in [false, true] {
            let sound = compressed(codec, is_stream);
            std::fs::write(&path, &sound).unwrap();
            assert_eq!(Draws::read(&[&path], &Reading::default()).unwrap().len(), 2000);
            // The buffers of the numbers, of the keys and of the views say so before them.
            for length in [16_000_u64, 8_000, 32_000] {
                let places: Vec<usize> =
                    (0..sound.len() - 8).filter(|&at| sound[at..at + 8] == length.to_le_bytes()).collect();
                assert!(!places.is_empty(), "{length}");
                for at in places {
                    for claim in [1_u64 << 62, 1 << 40, 1 << 24] {
                        let mut forged = sound.clone();
                        forged[at..at + 8].copy_from_slice(&claim.to_le_bytes());
                        std::fs::write(&path, &forged).unwrap();
                        let error = Draws::read(&[&path], &Reading::default()).unwrap_err().to_string();
                        assert!(error.contains("not a valid Arrow IPC file"), "{error}");
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Bytes overwritten anywhere: the file may be refused or read, and nothing else.
    #[test]
    fn changed_compressed_files_are_refused_or_read(
        edits in prop::collection::vec((any::<u16>(), any::<[u8; 8]>(), 1..9_usize), 1..4),
        is_zstd in any::<bool>(),
        is_stream in any::<bool>(),
    ) {
        let codec = if is_zstd { CompressionType::ZSTD } else { CompressionType::LZ4_FRAME };
        let mut bytes = compressed(codec, is_stream);
        for (at, with, count) in edits {
            let at = usize::from(at) % bytes.len();
            let count = count.min(bytes.len() - at);
            bytes[at..at + count].copy_from_slice(&with[..count]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("in.arrow");
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(draws) = Draws::read(&[&path], &Reading::default()) {
            prop_assert!(draws.values().iter().all(|value| value.is_finite()));
            let _ = draws.write_rows(&[0], None, OutputFormat::plain(Format::Text), &mut Vec::new());
        }
    }
}

#[test]
fn single_and_half_precision_become_exact_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, column: Column| {
        let path = folder.path().join(name);
        let frame = Frame { columns: vec![("a".to_string(), column)] };
        let mut bytes = Vec::new();
        frame.write_as(OutputFormat::of_path(&path).unwrap(), &mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let single = -0.919_993_6_f32;
    let files = [write("1.parquet", vec![Some(single)].into()), write("2.parquet", Column::doubles([0.1]))];
    let draws = Draws::read(&files, &Reading::default()).unwrap();
    for format in [Format::Parquet, Format::Arrow, Format::Npz] {
        let path = folder.path().join("out");
        let mut file = File::create(&path).unwrap();
        draws.write_rows(&[0, 1], None, OutputFormat::plain(format), &mut file).unwrap();
        let back = Draws::read(&[&path], &Reading::default()).unwrap();
        assert_eq!(back.values(), [f64::from(single), 0.1], "{format}");
    }
}
