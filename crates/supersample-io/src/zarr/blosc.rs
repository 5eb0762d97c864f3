//! Blosc, version 1: blocks that are shuffled by bytes or bits, each packed by LZ4, zlib or Zstandard.

use super::codec::{unlz4, unzlib, unzstd};

const HEAD: usize = 16;
/// Blocks are split into a stream for each byte of a number if numbers are this short and streams this long.
const MOST_SPLITS: usize = 16;
const SHORTEST_SPLIT: usize = 128;

/// The bytes before they were packed, at most this many.
pub(super) fn unpack(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let short = || "it is cut short".to_string();
    let head = bytes.get(..HEAD).ok_or_else(short)?;
    let number = |at: usize| -> Result<usize, String> {
        let cell = bytes.get(at..at + 4).ok_or_else(short)?;
        Ok(u32::from_le_bytes(cell.try_into().expect("four bytes")) as usize)
    };
    let (flags, width) = (head[2], usize::from(head[3]).max(1));
    let (length, block, packed) = (number(4)?, number(8)?, number(12)?);
    if length > most {
        return Err("it has more bytes than cells".to_string());
    }
    if packed > bytes.len() {
        return Err(short());
    }
    if flags & 2 != 0 {
        // Not packed.
        return Ok(bytes.get(HEAD..HEAD + length).ok_or_else(short)?.to_vec());
    }
    if length == 0 {
        return Ok(Vec::new());
    }
    if block == 0 || block > length.max(1) {
        return Err("its blocks have no length".to_string());
    }
    let mut out = Vec::new();
    for i in 0..length.div_ceil(block) {
        let size = block.min(length - i * block);
        let is_split =
            flags & 0x10 == 0 && size == block && width <= MOST_SPLITS && block / width >= SHORTEST_SPLIT;
        let splits = if is_split { width } else { 1 };
        let (part, mut at, mut found) = (size / splits, number(HEAD + 4 * i)?, Vec::new());
        for _ in 0..splits {
            let count = number(at)?;
            let stream = bytes.get(at + 4..).and_then(|rest| rest.get(..count)).ok_or_else(short)?;
            at += 4 + count;
            match flags >> 5 {
                _ if count == part => found.extend_from_slice(stream),
                1 => found.extend(unlz4(stream, part, part)?),
                3 => found.extend(unzlib(stream, part)?),
                4 => found.extend(unzstd(stream, part)?),
                0 => return Err("BloscLZ is not read; use lz4 or zstd".to_string()),
                2 => return Err("Snappy is not read; use lz4 or zstd".to_string()),
                _ => return Err("its codec is not known".to_string()),
            }
        }
        if found.len() != size {
            return Err("a block has another length".to_string());
        }
        match flags & 5 {
            1 | 5 if width > 1 && flags & 1 != 0 => out.extend(unshuffled(&found, width)),
            4 => out.extend(unshuffled_bits(&found, width)),
            _ => out.extend(found),
        }
    }
    Ok(out)
}

/// First all first bytes of the numbers, then all second ones; what is left over stays at the end.
fn unshuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut out = Vec::with_capacity(bytes.len());
    (0..count).for_each(|i| out.extend((0..width).map(|byte| bytes[byte * count + i])));
    out.extend_from_slice(&bytes[count * width..]);
    out
}

/// First all lowest bits of the numbers, then all second ones. Numbers are shuffled in groups of eight; a block of another
/// length is as it was.
fn unshuffled_bits(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    if !count.is_multiple_of(8) {
        return bytes.to_vec();
    }
    let mut out = vec![0; bytes.len()];
    for bit in 0..8 * width {
        let row = &bytes[bit * count / 8..][..count / 8];
        for i in 0..count {
            out[i * width + bit / 8] |= (row[i / 8] >> (i % 8) & 1) << (bit % 8);
        }
    }
    out[count * width..].copy_from_slice(&bytes[count * width..]);
    out
}
