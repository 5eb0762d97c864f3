//! Lengths in Arrow files, looked at before memory is taken on their word: those of blocks, and those that compressed
//! buffers say they unpack to.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::{CompressionType, Message, RecordBatch, root_as_footer, root_as_message};
use arrow_schema::{DataType, Field, Schema};

use crate::origin::{Handle, Origin};
use crate::{Error, Result};

/// What stands before every message since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes before a compressed buffer that say how long it is unpacked; −1 for one that is not compressed.
const PREFIX: u64 = 8;
/// The most that one packed byte can stand for: LZ4 adds 255 to a length with each byte of it; a Zstandard block of four
/// bytes can repeat one byte 128 KiB long.
const LARGEST_LZ4_RATIO: u64 = 256;
const LARGEST_ZSTD_RATIO: u64 = 1 << 15;
/// What a buffer may be longer than its rows need: writers pad, and slices may keep what is around them.
const SLACK: u64 = 1 << 16;

fn malformed(reason: impl Into<String>) -> Error {
    Error::Malformed { format: "Arrow IPC", reason: reason.into() }
}

fn cut(what: &str) -> Error {
    malformed(format!("{what} is cut short"))
}

/// Makes sure that every block of a file or message of a stream lies within the file, and that no buffer claims to unpack
/// to more than it can. The reader makes room on the word of the file, and a forged one can ask for more than there is in
/// the machine. Gives the number of rows that the heads of the batches name.
pub(super) fn check(origin: &Origin) -> Result<u64> {
    match origin.start(6)? == b"ARROW1" {
        true => check_file(origin),
        false => check_stream(origin),
    }
}

fn read_at(file: &mut Handle, at: u64, length: u64, len: u64, what: &str) -> Result<Vec<u8>> {
    if at.checked_add(length).is_none_or(|end| end > len) {
        return Err(cut(what));
    }
    let mut bytes = vec![0; length as usize];
    file.seek(SeekFrom::Start(at)).map_err(Error::Unreadable)?;
    file.read_exact(&mut bytes).map_err(Error::Unreadable)?;
    Ok(bytes)
}

fn check_file(origin: &Origin) -> Result<u64> {
    let (mut file, len) = (origin.file()?, origin.len());
    // The last ten bytes: the length of the footer before them, and the magic word.
    let end = len.checked_sub(10).ok_or_else(|| cut("it"))?;
    let length = read_at(&mut file, end, 4, len, "it")?;
    let length = i32::from_le_bytes(length.try_into().expect("four bytes"));
    let length = u64::try_from(length).unwrap_or(u64::MAX);
    let start = end.checked_sub(length).ok_or_else(|| cut("its footer"))?;
    let footer = read_at(&mut file, start, length, len, "its footer")?;
    let Ok(footer) = root_as_footer(&footer) else { return Err(cut("its footer")) };
    let schema = footer.schema().and_then(|schema| try_fb_to_schema(schema).ok());
    let mut rows = 0_u64;
    for block in footer.recordBatches().iter().chain(&footer.dictionaries()).flat_map(|blocks| blocks.iter())
    {
        let sizes = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        let [Ok(offset), Ok(head), Ok(body)] = sizes.map(u64::try_from) else {
            return Err(cut("a block of rows"));
        };
        let reach = offset.checked_add(head).and_then(|reach| reach.checked_add(body));
        if reach.is_none_or(|reach| reach > len) {
            return Err(cut("a block of rows"));
        }
        let bytes = read_at(&mut file, offset, head, len, "a block of rows")?;
        let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
        let message = bytes.get(start..).and_then(|bytes| root_as_message(bytes).ok());
        let message = message.ok_or_else(|| malformed("the head of a block is damaged"))?;
        check_message(&mut file, &message, offset + head, len, schema.as_ref())?;
        rows = rows.saturating_add(rows_of(&message));
    }
    Ok(rows)
}

fn check_stream(origin: &Origin) -> Result<u64> {
    let (mut file, len) = (origin.file()?, origin.len());
    let (mut at, mut schema, mut rows) = (0, None, 0_u64);
    // A stream ends with a length of 0, or just so.
    while at + 4 <= len {
        let mut word = read_at(&mut file, at, 4, len, "a message")?;
        at += 4;
        if word == CONTINUATION {
            word = read_at(&mut file, at, 4, len, "a message")?;
            at += 4;
        }
        let length = i32::from_le_bytes(word.try_into().expect("four bytes"));
        if length == 0 {
            break;
        }
        let length = u64::try_from(length).map_err(|_| malformed("the length of a message is negative"))?;
        let head = read_at(&mut file, at, length, len, "a message")?;
        at += length;
        let message = root_as_message(&head).map_err(|_| malformed("a message is damaged"))?;
        if let Some(found) = message.header_as_schema() {
            schema = try_fb_to_schema(found).ok();
        }
        check_message(&mut file, &message, at, len, schema.as_ref())?;
        rows = rows.saturating_add(rows_of(&message));
        let body = u64::try_from(message.bodyLength()).map_err(|_| cut("a message"))?;
        at = at.checked_add(body).filter(|&end| end <= len).ok_or_else(|| cut("a message"))?;
    }
    Ok(rows)
}

/// How many rows a message says it has; 0 where it is of another kind.
fn rows_of(message: &Message<'_>) -> u64 {
    message.header_as_record_batch().and_then(|batch| u64::try_from(batch.length()).ok()).unwrap_or(0)
}

/// Looks at the buffers of one message whose body starts at `body`.
fn check_message(
    file: &mut Handle,
    message: &Message<'_>,
    body: u64,
    len: u64,
    schema: Option<&Schema>,
) -> Result<()> {
    let rows = message.header_as_record_batch();
    let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
    let Some(batch) = rows.or(dictionary) else { return Ok(()) };
    let Some(compression) = batch.compression() else { return Ok(()) };
    let ratio = match compression.codec() {
        CompressionType::ZSTD => LARGEST_ZSTD_RATIO,
        _ => LARGEST_LZ4_RATIO,
    };
    let Some(buffers) = batch.buffers() else { return Ok(()) };
    let needs = rows.and(schema).and_then(|schema| buffer_needs(schema, &batch));
    let mut total = 0_u64;
    for (i, buffer) in buffers.iter().enumerate() {
        let (Ok(offset), Ok(packed)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length()))
        else {
            return Err(cut("a buffer"));
        };
        // An empty buffer has no length before it.
        let Some(packed) = packed.checked_sub(PREFIX) else { continue };
        let start = body.checked_add(offset).ok_or_else(|| cut("a buffer"))?;
        let prefix = read_at(file, start, PREFIX, len, "a buffer")?;
        let unpacked = i64::from_le_bytes(prefix.try_into().expect("eight bytes"));
        let Ok(unpacked) = u64::try_from(unpacked) else { continue };
        let need = needs.as_ref().and_then(|needs| needs[i]).unwrap_or(u64::MAX);
        let limit = packed.saturating_mul(ratio).min(need).saturating_add(SLACK);
        total = total.saturating_add(unpacked);
        if unpacked > limit {
            let reason = format!("a buffer of {packed} bytes claims to unpack to {unpacked}");
            return Err(malformed(reason));
        }
    }
    // What is left is possible; whether there is room for it the system says without giving it.
    let fits = usize::try_from(total).is_ok_and(|total| Vec::<u8>::new().try_reserve_exact(total).is_ok());
    match fits {
        true => Ok(()),
        false => Err(malformed(format!(
            "a block of rows claims to unpack to {total} bytes, more than there is memory"
        ))),
    }
}

/// How many bytes each buffer of a batch needs at most, by the types and lengths of its columns; `None` for one that may
/// have any length. No list at all where the types and the buffers do not fit together: the reader will say so.
fn buffer_needs(schema: &Schema, batch: &RecordBatch<'_>) -> Option<Vec<Option<u64>>> {
    let mut walk = Walk {
        lengths: batch.nodes()?.iter().map(|node| u64::try_from(node.length()).unwrap_or(0)).collect(),
        at: 0,
        variadic: batch.variadicBufferCounts().map(|counts| counts.iter().collect()).unwrap_or_default(),
        needs: Vec::new(),
        most: batch.buffers()?.len(),
    };
    for field in schema.fields() {
        walk.add(field)?;
    }
    (walk.needs.len() == walk.most).then_some(walk.needs)
}

/// The columns of a batch in the order of its buffers.
struct Walk {
    lengths: Vec<u64>,
    at: usize,
    variadic: std::collections::VecDeque<i64>,
    needs: Vec<Option<u64>>,
    most: usize,
}

impl Walk {
    fn add(&mut self, field: &Field) -> Option<()> {
        let rows = *self.lengths.get(self.at)?;
        self.at += 1;
        let bits = |count: u64| Some(count / 8 + 1);
        let wide = |bytes: u64| Some(rows.saturating_add(1).saturating_mul(bytes));
        match field.data_type() {
            DataType::Null => {}
            DataType::Boolean => self.needs.extend([bits(rows), bits(rows)]),
            DataType::Utf8 | DataType::Binary => self.needs.extend([bits(rows), wide(4), None]),
            DataType::LargeUtf8 | DataType::LargeBinary => self.needs.extend([bits(rows), wide(8), None]),
            DataType::Utf8View | DataType::BinaryView => {
                self.needs.extend([bits(rows), wide(16)]);
                let count = usize::try_from(self.variadic.pop_front()?).ok()?;
                if count > self.most {
                    return None;
                }
                self.needs.extend(std::iter::repeat_n(None, count));
            }
            DataType::FixedSizeBinary(width) => {
                self.needs.extend([bits(rows), wide(u64::try_from(*width).ok()?)]);
            }
            DataType::List(inner) | DataType::Map(inner, _) => {
                self.needs.extend([bits(rows), wide(4)]);
                self.add(inner)?;
            }
            DataType::LargeList(inner) => {
                self.needs.extend([bits(rows), wide(8)]);
                self.add(inner)?;
            }
            DataType::FixedSizeList(inner, _) => {
                self.needs.push(bits(rows));
                self.add(inner)?;
            }
            DataType::Struct(fields) => {
                self.needs.push(bits(rows));
                fields.iter().try_for_each(|field| self.add(field))?;
            }
            DataType::Dictionary(key, _) => {
                self.needs.extend([bits(rows), wide(key.primitive_width()? as u64)]);
            }
            // Numbers inside lists may be written as wide as any number is.
            other => self.needs.extend([bits(rows), wide(other.primitive_width()?.max(8) as u64)]),
        }
        Some(())
    }
}
