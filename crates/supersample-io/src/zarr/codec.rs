//! Codecs of chunks. A chunk is unpacked to at most the bytes of its cells.

use std::io::Read;

use flate2::read::{MultiGzDecoder, ZlibDecoder};
use serde_json::Value;

use super::blosc;

/// The most bytes of a chunk of texts, whose length is known only once they are unpacked.
const MOST_TEXT: usize = 1 << 28;

/// How the bytes of a chunk are packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Zlib,
    Zstd,
    Blosc,
    Lz4,
}

impl Codec {
    pub(super) fn of_name(name: &str) -> Option<Codec> {
        Some(match name {
            "gzip" | "numcodecs.gzip" => Codec::Gzip,
            "zlib" | "numcodecs.zlib" => Codec::Zlib,
            "zstd" | "numcodecs.zstd" => Codec::Zstd,
            "blosc" | "numcodecs.blosc" => Codec::Blosc,
            "lz4" | "numcodecs.lz4" => Codec::Lz4,
            _ => return None,
        })
    }

    /// The bytes before they were packed; `wanted` is their number if it is known.
    pub(super) fn unpack(self, bytes: Vec<u8>, wanted: Option<usize>) -> Result<Vec<u8>, String> {
        let most = wanted.unwrap_or(MOST_TEXT);
        match self {
            Codec::Gzip => all(MultiGzDecoder::new(&bytes[..]), most),
            Codec::Zlib => all(ZlibDecoder::new(&bytes[..]), most),
            Codec::Zstd => unzstd(&bytes, most),
            Codec::Blosc => blosc::unpack(&bytes, most),
            Codec::Lz4 => {
                let (length, packed) = bytes.split_first_chunk::<4>().ok_or("it is cut short")?;
                unlz4(packed, u32::from_le_bytes(*length) as usize, most)
            }
        }
    }
}

/// Grows with the bytes that are there.
fn all(packed: impl Read, most: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    packed.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() > most { Err("it has more bytes than cells".to_string()) } else { Ok(bytes) }
}

pub(super) fn unzstd(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    all(zstd::Decoder::new(bytes).map_err(|error| error.to_string())?, most)
}

pub(super) fn unzlib(bytes: &[u8], most: usize) -> Result<Vec<u8>, String> {
    all(ZlibDecoder::new(bytes), most)
}

/// LZ4 without a frame; a byte holds at most 255.
pub(super) fn unlz4(packed: &[u8], length: usize, most: usize) -> Result<Vec<u8>, String> {
    if length > most || length / 255 > packed.len() + 1 {
        return Err("it has more bytes than cells".to_string());
    }
    lz4_flex::block::decompress(packed, length).map_err(|error| error.to_string())
}

/// Texts behind their number, each behind its length.
pub(super) fn unpack_texts(bytes: &[u8], cells: usize) -> Result<Vec<String>, String> {
    let short = "it is cut short";
    let (count, mut rest) = bytes.split_first_chunk::<4>().ok_or(short)?;
    // Each takes four bytes at least.
    if u32::from_le_bytes(*count) as usize != cells || rest.len() / 4 < cells {
        return Err("it does not have a text for each cell".to_string());
    }
    let mut texts = Vec::new();
    for _ in 0..cells {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(short)?;
        let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or(short)?;
        texts.push(String::from_utf8_lossy(text).into_owned());
        rest = after;
    }
    Ok(texts)
}

pub(super) fn pack_texts(texts: &[String]) -> Vec<u8> {
    let mut bytes = (texts.len() as u32).to_le_bytes().to_vec();
    for text in texts {
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    bytes
}

/// The name of a codec in JSON: `name` in version 3, `id` in version 2.
pub(super) fn name_of(codec: &Value) -> Option<&str> {
    codec.as_str().or_else(|| codec.get("name").or_else(|| codec.get("id"))?.as_str())
}
