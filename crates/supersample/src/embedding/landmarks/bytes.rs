//! Landmark sums as bytes: versioned, and checked by a sum at their end.

use super::{KernelSums, LandmarkSums};
use crate::sum::Precision;
use crate::{Error, Kernel, Points, Result};

/// The first bytes, with the version of what follows.
const MAGIC: &[u8; 16] = b"supersample lm1\n";

impl LandmarkSums {
    /// All of it as bytes, 8 for each number of each landmark and control point: the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (sums, totals) = (&self.sums, &self.sums.totals);
        let kernel = sums.kernel().to_string();
        let points = sums.points();
        let mut bytes = MAGIC.to_vec();
        let words = [
            kernel.len() as u64,
            u64::from(sums.precision() == Precision::Double),
            points.dim() as u64,
            self.landmarks as u64,
            points.len() as u64,
            totals.rows,
            u64::from(totals.is_weighted),
            totals.weight.to_bits(),
            totals.diagonal.to_bits(),
        ];
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(kernel.as_bytes());
        let numbers = points.as_slice().iter().chain(&totals.sums);
        numbers.for_each(|number| bytes.extend(number.to_le_bytes()));
        let check = check_sum(&bytes);
        bytes.extend(check.to_le_bytes());
        bytes
    }

    /// What [`to_bytes`](Self::to_bytes) has written. Bytes that were cut short or changed are refused.
    pub fn from_bytes(bytes: &[u8]) -> Result<LandmarkSums> {
        let refused = |reason: &'static str| Error::BadLandmarks { reason };
        if !bytes.starts_with(&MAGIC[..14]) {
            return Err(refused("they do not begin as such"));
        }
        if !bytes.starts_with(MAGIC) {
            return Err(refused("they are of another version"));
        }
        let body = bytes.len().checked_sub(8).ok_or(refused("they were cut short"))?;
        let mut reader = Reader { bytes: &bytes[..body], at: MAGIC.len() };
        let end = u64::from_le_bytes(bytes[body..].try_into().expect("eight bytes"));
        if end != check_sum(&bytes[..body]) {
            return Err(refused("they were cut short or changed"));
        }
        let mut word = || reader.word().ok_or(refused("they were cut short"));
        let (length, is_double, dim) = (word()? as usize, word()? == 1, word()? as usize);
        let (landmarks, points, rows) = (word()? as usize, word()? as usize, word()?);
        let (is_weighted, weight, diagonal) =
            (word()? == 1, f64::from_bits(word()?), f64::from_bits(word()?));
        let kernel = reader.take(length).and_then(|text| std::str::from_utf8(text).ok());
        let kernel: Kernel = kernel.ok_or(refused("they have no kernel"))?.parse()?;
        let numbers = points.checked_mul(dim).and_then(|numbers| reader.numbers(numbers));
        let sums = reader.numbers(points);
        let (Some(numbers), Some(sums), true) = (numbers, sums, reader.at == body) else {
            return Err(refused("their length is not the one they name"));
        };
        let is_sound = (1..=points).contains(&landmarks)
            && sums.iter().chain([&weight, &diagonal]).all(|number| number.is_finite())
            && weight >= 0.0;
        if !is_sound {
            return Err(refused("they hold numbers that sums do not have"));
        }
        let precision = if is_double { Precision::Double } else { Precision::Mixed };
        let mut found = KernelSums::new(kernel, Points::from_vec(numbers, dim)?, precision);
        found.totals = super::sums::Totals { sums, weight, diagonal, rows, is_weighted };
        Ok(LandmarkSums { sums: found, landmarks })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..self.at.checked_add(count)?)?;
        self.at += count;
        Some(taken)
    }

    fn word(&mut self) -> Option<u64> {
        self.take(8).map(|eight| u64::from_le_bytes(eight.try_into().expect("eight bytes")))
    }

    fn numbers(&mut self, count: usize) -> Option<Vec<f64>> {
        let bytes = self.take(count.checked_mul(8)?)?;
        let (words, _) = bytes.as_chunks::<8>();
        Some(words.iter().map(|&eight| f64::from_le_bytes(eight)).collect())
    }
}

/// FNV-1a over the bytes.
fn check_sum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum: u64, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
