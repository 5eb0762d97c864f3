//! Sums of a later pass, which travel to where the rows are: each machine adds its rows, and the numbers are added up.

use super::gather::{Gathered, WeightScale};
use crate::bytes::{Reader, Writer};
use crate::embedding::{KernelSums, LandmarkSums};
use crate::scale::{Scale, Scaling};
use crate::task::RowWeights;
use crate::task::problem::Problem;
use crate::{Error, Points, Result, Watch};

/// The first bytes, with the version of what follows.
const MAGIC: &[u8; 16] = b"supersample pa1\n";

/// How rows become points among those of a problem, and weights the numbers that sums take.
#[derive(Clone, Debug)]
pub(super) struct Batching {
    dim: usize,
    /// None for rows that are not scaled.
    scaling: Option<Scaling>,
    /// None where the rows of a problem are all that there are.
    weights: Option<WeightScale>,
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

/// Kernel sums at landmarks, or at other points, over rows that are in their own units: all that a machine with some of
/// the rows needs for a pass over them.
#[derive(Clone, Debug)]
pub struct PassSums {
    batching: Batching,
    landmarks: LandmarkSums,
    /// Sums at other points, whose numbers are rounded as those of the landmarks are; then nothing is summed at these.
    elsewhere: Option<KernelSums>,
}

impl PassSums {
    /// Adds rows, in their own units. Where a row or a weight is refused the sums are as they were.
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

    /// How many numbers a row has.
    pub fn columns(&self) -> usize {
        self.batching.dim
    }

    /// How many rows have been added.
    pub fn rows(&self) -> u64 {
        self.sums().rows()
    }

    /// The sums, with the points that they are at.
    pub fn sums(&self) -> &KernelSums {
        self.elsewhere.as_ref().unwrap_or(self.landmarks.sums())
    }

    /// The sums at landmarks and control rows; `None` where the pass is at other points.
    pub fn landmark_sums(&self) -> Option<&LandmarkSums> {
        self.elsewhere.is_none().then_some(&self.landmarks)
    }

    /// A pass over the same rows at other points, which are scaled already.
    pub fn at(&self, points: Points) -> Result<PassSums> {
        let elsewhere = Some(self.landmarks.sums().at(points)?);
        Ok(PassSums { batching: self.batching.clone(), landmarks: self.landmarks.emptied(), elsewhere })
    }

    /// What the rows so far add up to. The numbers of several passes at the same points are added up one by one, and the
    /// order in which that is done decides their last digits and nothing else.
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

    /// The pass without any rows as bytes, the same on every machine.
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

    /// What [`to_bytes`](Self::to_bytes) has written. Bytes that were cut short or changed are refused.
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
    /// Sums without rows at landmarks and control rows.
    pub(super) fn at_landmarks(batching: Batching, landmarks: LandmarkSums) -> PassSums {
        PassSums { batching, landmarks, elsewhere: None }
    }

    /// How many landmarks there are; 0 where the pass is at other points.
    pub fn landmarks(&self) -> usize {
        self.landmark_sums().map_or(0, LandmarkSums::landmarks)
    }
}

impl Problem {
    /// How rows become points among those of the problem.
    pub(super) fn batching(&self) -> Batching {
        let scaling = (self.scale() != Scale::None).then(|| self.scaling().clone());
        Batching::new(self.rows().dim(), scaling, self.gathered().map(Gathered::weight_scale))
    }
}
