//! Numbers as bytes, with a checksum at the end that detects cut or changed bytes.

/// Writes bytes for a [`Reader`].
pub(crate) struct Writer(Vec<u8>);

impl Writer {
    /// Starts with this text, which names the content and its version.
    pub(crate) fn new(magic: &[u8; 16]) -> Writer {
        Writer(magic.to_vec())
    }

    pub(crate) fn word(&mut self, word: u64) {
        self.0.extend(word.to_le_bytes());
    }

    pub(crate) fn number(&mut self, number: f64) {
        self.word(number.to_bits());
    }

    pub(crate) fn numbers(&mut self, numbers: &[f64]) {
        self.0.reserve(8 * numbers.len());
        numbers.iter().for_each(|&number| self.number(number));
    }

    /// Writes bytes whose length the reader knows.
    pub(crate) fn text(&mut self, text: &str) {
        self.0.extend(text.as_bytes());
    }

    /// Writes the length and then the bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// Returns all bytes, with the checksum at the end.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.word(check_sum(&self.0));
        self.0
    }
}

/// Reads numbers in the order in which they were written.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Opens the bytes of a [`Writer`] with this start, or returns why they are not valid.
    pub(crate) fn new(bytes: &'a [u8], magic: &[u8; 16]) -> Result<Reader<'a>, &'static str> {
        // The last two of the beginning are the version and the end of a line.
        if !bytes.starts_with(&magic[..14]) {
            return Err("they do not begin as such");
        }
        if !bytes.starts_with(magic) {
            return Err("they are of another version");
        }
        let body = bytes.len().checked_sub(8).filter(|body| *body >= magic.len());
        let body = body.ok_or("they were cut short")?;
        let end = u64::from_le_bytes(bytes[body..].try_into().expect("eight bytes"));
        if end != check_sum(&bytes[..body]) {
            return Err("they were cut short or changed");
        }
        Ok(Reader { bytes: &bytes[..body], at: magic.len() })
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    pub(crate) fn word(&mut self) -> Option<u64> {
        self.take(8).map(|eight| u64::from_le_bytes(eight.try_into().expect("eight bytes")))
    }

    /// Reads a count; `None` if it is larger than the number of bytes left.
    pub(crate) fn count(&mut self) -> Option<usize> {
        let word = self.word()?;
        usize::try_from(word).ok().filter(|&count| count <= self.bytes.len() - self.at)
    }

    pub(crate) fn number(&mut self) -> Option<f64> {
        self.word().map(f64::from_bits)
    }

    pub(crate) fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let bytes = self.take(count.checked_mul(8)?)?;
        let (words, _) = bytes.as_chunks::<8>();
        Some(words.iter().map(|&eight| f64::from_le_bytes(eight)).collect())
    }

    /// Reads bytes that were written with their length.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// Whether everything has been read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// FNV-1a over the bytes.
fn check_sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: &[u8; 16] = b"supersample xy1\n";

    #[test]
    fn what_was_written_is_read_and_what_was_changed_is_not() {
        let mut writer = Writer::new(MAGIC);
        writer.word(7);
        writer.numbers(&[0.5, -0.0]);
        writer.bytes(b"abc");
        let bytes = writer.finish();
        let mut reader = Reader::new(&bytes, MAGIC).unwrap();
        assert_eq!((reader.word(), reader.numbers(2)), (Some(7), Some(vec![0.5, -0.0])));
        assert!(!reader.is_at_end());
        assert_eq!((reader.bytes(), reader.is_at_end(), reader.word()), (Some(&b"abc"[..]), true, None));
        for at in 0..bytes.len() {
            assert!(Reader::new(&bytes[..at], MAGIC).is_err());
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert!(Reader::new(&other, MAGIC).is_err());
        }
        let next = b"supersample xy2\n";
        assert_eq!(Reader::new(&bytes, next).err(), Some("they are of another version"));
    }
}
