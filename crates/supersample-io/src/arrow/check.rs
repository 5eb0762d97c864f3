//! Checks the uncompressed lengths in Arrow files before the reader allocates memory for them: a forged length can
//! exceed the memory of the machine.

use std::io::{Read, Seek, SeekFrom};

use arrow_ipc::{Message, root_as_footer, root_as_message};

use super::malformed;
use crate::origin::{Handle, Origin};
use crate::{Error, Result};

/// Marker before every message since version 0.15 of the format.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes before a compressed buffer with its uncompressed length; −1 for one that is not compressed.
const PREFIX: u64 = 8;
/// Largest number of bytes from one compressed byte: a Zstandard block of four bytes can repeat one byte 128 KiB long;
/// LZ4 stays far below.
const LARGEST_RATIO: u64 = 1 << 15;
/// A short buffer may be longer than that.
const SLACK: u64 = 1 << 16;

pub(super) fn is_file(origin: &Origin) -> Result<bool> {
    Ok(origin.start(6)? == b"ARROW1")
}

/// The footer of a file.
pub(super) fn footer(origin: &Origin) -> Result<Vec<u8>> {
    Reader { file: origin.file()?, len: origin.len() }.footer()
}

/// What the heads of all batches say.
#[derive(Default)]
pub(super) struct Heads {
    pub(super) rows: u64,
    /// Bytes of the largest batch, packed and unpacked.
    pub(super) largest: u64,
}

/// Checks that no buffer claims an impossible length, and returns what the heads of the batches say.
pub(super) fn check(origin: &Origin) -> Result<Heads> {
    let mut file = Reader { file: origin.file()?, len: origin.len() };
    let mut heads = Heads::default();
    let mut look = |file: &mut Reader, head: &[u8], body: u64| -> Result<u64> {
        let message =
            root_as_message(head).map_err(|_| malformed("the head of a block of rows is damaged"))?;
        let batch = message.header_as_record_batch();
        let length = batch.and_then(|batch| u64::try_from(batch.length()).ok()).unwrap_or(0);
        heads.rows = heads.rows.saturating_add(length);
        let unpacked = file.check_claims(&message, body)?;
        let length = u64::try_from(message.bodyLength()).ok();
        heads.largest = heads.largest.max(unpacked.saturating_add(length.unwrap_or(0)));
        let end = length.and_then(|length| body.checked_add(length));
        end.filter(|&end| end <= file.len).ok_or_else(|| cut("a block of rows"))
    };
    if is_file(origin)? {
        let footer = file.footer()?;
        let Ok(footer) = root_as_footer(&footer) else { return Err(cut("its footer")) };
        for block in [footer.recordBatches(), footer.dictionaries()].into_iter().flatten().flatten() {
            let sizes = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
            let [Ok(offset), Ok(head), Ok(body)] = sizes.map(u64::try_from) else {
                return Err(cut("a block of rows"));
            };
            let bytes = file.read(offset, head)?;
            if offset.checked_add(head + body).is_none_or(|end| end > file.len) {
                return Err(cut("a block of rows"));
            }
            let start = if bytes.starts_with(&CONTINUATION) { 8 } else { 4 };
            look(&mut file, bytes.get(start..).unwrap_or_default(), offset + head)?;
        }
        return Ok(heads);
    }
    // A stream ends with a length of 0, or just so.
    let mut at = 0;
    while at + 4 <= file.len {
        let mut word = file.read(at, 4)?;
        at += 4;
        if word == CONTINUATION {
            word = file.read(at, 4)?;
            at += 4;
        }
        let length = u32::from_le_bytes(word.try_into().expect("four bytes")).into();
        if length == 0 {
            break;
        }
        let head = file.read(at, length)?;
        at = look(&mut file, &head, at + length)?;
    }
    Ok(heads)
}

fn cut(what: &str) -> Error {
    malformed(format!("{what} is cut short"))
}

struct Reader {
    file: Handle,
    len: u64,
}

impl Reader {
    fn read(&mut self, at: u64, length: u64) -> Result<Vec<u8>> {
        if at.checked_add(length).is_none_or(|end| end > self.len) {
            return Err(cut("a block of rows"));
        }
        let mut bytes = vec![0; length as usize];
        self.file.seek(SeekFrom::Start(at)).map_err(Error::Unreadable)?;
        self.file.read_exact(&mut bytes).map_err(Error::Unreadable)?;
        Ok(bytes)
    }

    /// The last ten bytes are the length of the footer before them, and the magic word.
    fn footer(&mut self) -> Result<Vec<u8>> {
        let end = self.len.checked_sub(10).ok_or_else(|| cut("it"))?;
        let length = self.read(end, 4)?;
        let length = u32::from_le_bytes(length.try_into().expect("four bytes")).into();
        self.read(end.checked_sub(length).ok_or_else(|| cut("its footer"))?, length)
    }

    /// Looks at the buffers of one message whose body starts at `body`, and returns the bytes that they unpack to.
    fn check_claims(&mut self, message: &Message<'_>, body: u64) -> Result<u64> {
        let dictionary = message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
        let batch = message.header_as_record_batch().or(dictionary);
        let Some(batch) = batch.filter(|batch| batch.compression().is_some()) else { return Ok(0) };
        let mut total = 0_u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let [Ok(offset), Ok(packed)] = [buffer.offset(), buffer.length()].map(u64::try_from) else {
                return Err(cut("a buffer"));
            };
            // An empty buffer has no length before it.
            let Some(packed) = packed.checked_sub(PREFIX) else { continue };
            let prefix = self.read(body.checked_add(offset).ok_or_else(|| cut("a buffer"))?, PREFIX)?;
            let claim = i64::from_le_bytes(prefix.try_into().expect("eight bytes"));
            let Ok(claim) = u64::try_from(claim) else { continue };
            total = total.saturating_add(claim);
            if claim > packed.saturating_mul(LARGEST_RATIO).saturating_add(SLACK) {
                return Err(malformed(format!("a buffer of {packed} bytes claims to unpack to {claim}")));
            }
        }
        // The length is possible; try_reserve tells whether there is room, without using it.
        match usize::try_from(total).is_ok_and(|total| Vec::<u8>::new().try_reserve_exact(total).is_ok()) {
            true => Ok(total),
            false => Err(malformed(format!(
                "a block of rows claims to unpack to {total} bytes, more than there is memory"
            ))),
        }
    }
}
