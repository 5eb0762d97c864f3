//! Sums of a later pass. They are sent to the machines that have the rows; each adds its rows, and the results are
//! added up.

use super::gather::{Gathered, WeightScale};
use crate::bytes::{Reader, Writer};
use crate::embedding::{KernelSums, LandmarkSums};
use crate::scale::{Scale, Scaling};
use crate::task::RowWeights;
use crate::task::problem::Problem;
use crate::{Error, Points, Result, Watch};

/// First bytes, with the version of the format.
const MAGIC: &[u8; 16] = b"supersample pa1\n";

/// Conversion of rows to the problem's scaled points, and of weights to the numbers that sums take.
#[derive(Clone, Debug)]
pub(super) struct Batching {
    pub(super) dim: usize,
    /// None for rows that are not scaled.
    pub(super) scaling: Option<Scaling>,
    /// None if the problem has all rows.
    pub(super) weights: Option<WeightScale>,
}

impl Batching {
    pub(super) fn new(dim: usize, scaling: Option<Scaling>, weights: Option<WeightScale>) -> Batching {
        Batching { dim, scaling, weights }
    }

    pub(super) fn batch(&self, rows: &[f64], weights: RowWeights<'_>) -> Result<(Points, Option<Vec<f64>>)> {
        let count = rows.len() / self.dim;
        let weights = match self.weights {
            Some(scale) => scale.relative(weights, count, 0)?,
            None => weights.shares(count)?,
        };
        let points = match &self.scaling {
            None => Points::from_rows(rows, self.dim)?,
            Some(scaling) => {
                Points::check(rows, self.dim)?;
                Points::from_vec(scaling.apply(rows), scaling.out_dim())?
            }
        };
        Ok((points, weights))
    }
}

/// Kernel sums at landmarks, or at other points, over rows in their own units. A machine with some of the rows needs
/// nothing else for a pass.
#[derive(Clone, Debug)]
pub struct PassSums {
    batching: Batching,
    landmarks: LandmarkSums,
    /// Sums at other points, rounded like those at the landmarks; if set, nothing is summed at the landmarks.
    elsewhere: Option<KernelSums>,
}

impl PassSums {
    /// Adds rows, in their own units. An error leaves the sums unchanged.
    pub fn update(&mut self, rows: &[f64], weights: RowWeights<'_>, watch: Watch) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let (points, weights) = self.batching.batch(rows, weights)?;
        match &mut self.elsewhere {
            Some(sums) => sums.update(&points, weights.as_deref(), watch),
            None => self.landmarks.update(&points, weights.as_deref(), watch),
        }
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.batching.dim
    }

    /// Number of rows added so far.
    pub fn rows(&self) -> u64 {
        self.sums().rows()
    }

    /// The sums, with their points.
    pub fn sums(&self) -> &KernelSums {
        self.elsewhere.as_ref().unwrap_or(self.landmarks.sums())
    }

    /// Sums at landmarks and control rows; `None` if the pass is at other points.
    pub fn landmark_sums(&self) -> Option<&LandmarkSums> {
        self.elsewhere.is_none().then_some(&self.landmarks)
    }

    /// Returns an empty pass over the same rows at other points, already scaled.
    pub fn at(&self, points: Points) -> Result<PassSums> {
        let elsewhere = Some(self.landmarks.sums().at(points)?);
        Ok(PassSums { batching: self.batching.clone(), landmarks: self.landmarks.emptied(), elsewhere })
    }

    /// Sums over the rows so far, as plain numbers. Those of several passes at the same points can be added one by one;
    /// the order affects only the last digits.
    pub fn numbers(&self) -> Vec<f64> {
        self.sums().all_numbers()
    }

    /// Adds the [`numbers`](Self::numbers) of other rows.
    pub fn add_numbers(&mut self, numbers: &[f64]) -> Result<()> {
        match &mut self.elsewhere {
            Some(sums) => sums.add_all_numbers(numbers),
            None => self.landmarks.add_all_numbers(numbers),
        }
    }

    /// Serialises the empty pass to bytes, the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        let Batching { dim, scaling, weights } = &self.batching;
        writer.word(*dim as u64);
        writer.word(u64::from(scaling.is_some()));
        if let Some(scaling) = scaling {
            scaling.write(&mut writer);
        }
        let (kind, largest) = weights.map_or((0, 0.0), WeightScale::to_words);
        writer.word(kind);
        writer.number(largest);
        writer.bytes(&self.landmarks.to_bytes());
        let points = self.elsewhere.as_ref().map_or(&[][..], |sums| sums.points().as_slice());
        writer.word(points.len() as u64);
        writer.numbers(points);
        writer.finish()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes). Bytes that were cut or changed are an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<PassSums> {
        let refused = |reason: &'static str| Error::BadBytes { what: "the sums of a pass", reason };
        let mut reader = Reader::new(bytes, MAGIC).map_err(refused)?;
        let read = |reader: &mut Reader<'_>| {
            let dim = reader.count()?;
            let scaling = if reader.word()? == 1 { Some(Scaling::read(reader, dim)?) } else { None };
            let weights = WeightScale::of_words(reader.word()?, reader.number()?)?;
            let landmarks = reader.bytes()?.to_vec();
            let count = reader.count()?;
            Some((Batching { dim, scaling, weights }, landmarks, reader.numbers(count)?))
        };
        let found = read(&mut reader).filter(|_| reader.is_at_end());
        let (batching, landmarks, points) = found.ok_or(refused("their length is not the one they name"))?;
        let landmarks = LandmarkSums::from_bytes(&landmarks)?.emptied();
        let elsewhere = match points.is_empty() {
            true => None,
            false => {
                let points = Points::from_vec(points, landmarks.sums().points().dim())?;
                Some(landmarks.sums().at(points)?)
            }
        };
        Ok(PassSums { batching, landmarks, elsewhere })
    }
}

impl PassSums {
    /// Empty sums at landmarks and control rows.
    pub(super) fn at_landmarks(batching: Batching, landmarks: LandmarkSums) -> PassSums {
        PassSums { batching, landmarks, elsewhere: None }
    }

    /// Number of landmarks; 0 if the pass is at other points.
    pub fn landmarks(&self) -> usize {
        self.landmark_sums().map_or(0, LandmarkSums::landmarks)
    }
}

impl Problem {
    /// Conversion of rows to the problem's scaled points.
    pub(super) fn batching(&self) -> Batching {
        let scaling = (self.scale() != Scale::None).then(|| self.scaling().clone());
        Batching::new(self.rows().dim(), scaling, self.gathered().map(Gathered::weight_scale))
    }
}
