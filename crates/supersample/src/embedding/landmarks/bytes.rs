//! Landmark sums as bytes: with a version and a checksum.

use super::{KernelSums, LandmarkSums};
use crate::bytes::{Reader, Writer};
use crate::sum::Precision;
use crate::{Error, Kernel, Points, Result};

/// First bytes, with the version of the format.
const MAGIC: &[u8; 16] = b"supersample lm1\n";

impl LandmarkSums {
    /// Serialises the sums to bytes, 8 for each number of each landmark and control point, the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (sums, totals) = (&self.sums, &self.sums.totals);
        let kernel = sums.kernel().to_string();
        let points = sums.points();
        let mut writer = Writer::new(MAGIC);
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
        words.into_iter().for_each(|word| writer.word(word));
        writer.text(&kernel);
        writer.numbers(points.as_slice());
        writer.numbers(&totals.sums);
        writer.finish()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes). Bytes that were cut or changed are an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<LandmarkSums> {
        let refused = |reason: &'static str| Error::BadLandmarks { reason };
        let mut reader = Reader::new(bytes, MAGIC).map_err(refused)?;
        let mut word = || reader.word().ok_or(refused("they were cut short"));
        let (length, is_double, dim) = (word()? as usize, word()? == 1, word()? as usize);
        let (landmarks, points, rows) = (word()? as usize, word()? as usize, word()?);
        let (is_weighted, weight, diagonal) =
            (word()? == 1, f64::from_bits(word()?), f64::from_bits(word()?));
        let kernel = reader.take(length).and_then(|text| std::str::from_utf8(text).ok());
        let kernel: Kernel = kernel.ok_or(refused("they have no kernel"))?.parse()?;
        let numbers = points.checked_mul(dim).and_then(|numbers| reader.numbers(numbers));
        let sums = reader.numbers(points);
        let (Some(numbers), Some(sums), true) = (numbers, sums, reader.is_at_end()) else {
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
