//! The places at which every score is known: the rows of a pool, or the starts of an ascent.

use std::sync::Arc;

use crate::embedding::{Form, MeanEmbedding};
use crate::ledger::Evaluated;
use crate::sum::{Packed, Precision, Scores};
use crate::{Error, Points, Result};

/// Candidates with what eq. 7 is made of at each of them.
///
/// The kernel row of a chosen point is not added at once but together with the next search for the maximum, so that a
/// pick costs one pass over the candidates.
#[derive(Clone)]
pub(crate) struct Candidates {
    points: Points,
    packed: Packed,
    /// μ
    mu: Arc<[f64]>,
    /// k(x, x)/2, where it varies
    half_diagonal: Option<Arc<[f64]>>,
    /// f, where w0 has a part f that is a kernel expansion
    function: Option<Arc<[f64]>>,
    /// f − k(x, x)/2, where there is either
    offsets: Option<Arc<[f64]>>,
    /// Σⱼ aⱼ k(x, zⱼ) over the chosen points z with their masses a, but for the one that is pending; +∞ where a
    /// candidate is closed.
    sums: Vec<f64>,
    pending: Option<(Box<[f64]>, f64)>,
}

/// Points packed for kernel rows that go with a target, and the target in the precision that goes with the points.
pub(crate) fn pack(mu: Arc<dyn MeanEmbedding>, points: &Points) -> (Arc<dyn MeanEmbedding>, Packed) {
    // Where μ is exact, the kernel rows must be too: their errors would no longer cancel in E_T.
    let double = |mu: &dyn MeanEmbedding| Packed::new(mu.kernel(), points, Precision::Double);
    let Form::Samples(samples) = mu.form() else { return (mu.clone(), double(&*mu)) };
    if let Some(packed) = samples.pack_beside(points) {
        return (mu.clone(), packed);
    }
    // Samples in f32 beside points that are spread too wide for it: f64 for both.
    let samples = samples.in_double();
    let packed = samples.pack_beside(points).expect("double precision takes any points");
    (Arc::new(samples), packed)
}

impl Candidates {
    /// The candidates of a target, packed by [`pack`] to go with it.
    pub(crate) fn new(mu: &dyn MeanEmbedding, points: Points, packed: Packed) -> Result<Candidates> {
        let kernel = mu.kernel();
        let diagonal: Option<Vec<f64>> =
            (!kernel.has_constant_diagonal()).then(|| points.rows().map(|x| kernel.diagonal(x)).collect());
        // |k(x, y)| ≤ max k(x, x), so this bounds every sum of up to 10¹⁵ kernel values below the largest float.
        let largest = diagonal.iter().flatten().fold(1.0, |a: f64, &b| a.max(b));
        if largest > 1e290 {
            return Err(Error::Overflow { value: largest });
        }
        let mut values = vec![0.0; points.len()];
        mu.values_into(&points, &mut values);
        if let Some(value) = values.iter().copied().chain(mu.squared_norm()).find(|value| !value.is_finite())
        {
            return Err(Error::Overflow { value });
        }
        let half_diagonal = diagonal.map(|values| values.iter().map(|k| k / 2.0).collect::<Arc<[f64]>>());
        let sums = vec![0.0; points.len()];
        let mut candidates = Candidates {
            points,
            packed,
            mu: values.into(),
            half_diagonal,
            function: None,
            offsets: None,
            sums,
            pending: None,
        };
        candidates.reset(None);
        Ok(candidates)
    }

    /// Forgets what was chosen, and takes the values of a function f that is part of w0.
    pub(crate) fn reset(&mut self, function: Option<Vec<f64>>) {
        self.function = function.map(Arc::from);
        self.offsets = match (&self.function, &self.half_diagonal) {
            (Some(f), Some(half)) => Some(f.iter().zip(half.iter()).map(|(f, half)| f - half).collect()),
            (Some(f), None) => Some(f.clone()),
            (None, Some(half)) => Some(half.iter().map(|half| -half).collect()),
            (None, None) => None,
        };
        self.sums.fill(0.0);
        self.pending = None;
    }

    pub(crate) fn points(&self) -> &Points {
        &self.points
    }

    pub(crate) fn mu(&self) -> &[f64] {
        &self.mu
    }

    /// The largest k(x, x), or 1.
    pub(crate) fn largest_diagonal(&self) -> f64 {
        self.half_diagonal.iter().flat_map(|half| half.iter()).fold(1.0, |a: f64, half| a.max(2.0 * half))
    }

    pub(crate) fn precision(&self) -> Precision {
        self.packed.precision()
    }

    /// Eq. 2: a point with this mass is among the chosen from now on.
    pub(crate) fn choose(&mut self, x: &[f64], mass: f64) {
        self.settle();
        self.pending = Some((x.into(), mass));
    }

    /// The candidate of highest score, share·μ(x) − Σ a k(x, z) + f(x) − k(x, x)/2, and that score; ties go to the
    /// lowest index. `None` where all are closed.
    pub(crate) fn best(&mut self, share: f64) -> Option<(usize, f64)> {
        let scores = Scores { share, mu: &self.mu, offsets: self.offsets.as_deref() };
        match self.pending.take() {
            Some((x, mass)) => self.packed.add_row_and_argmax(&x, mass, &mut self.sums, scores),
            None => scores.argmax(&mut self.sums),
        }
    }

    /// The score of candidate `i`; −∞ where it is closed.
    pub(crate) fn score(&self, share: f64, i: usize) -> f64 {
        debug_assert!(self.pending.is_none(), "scores are known once the pending row is added");
        share * self.mu[i] - self.sums[i] + self.offsets.as_ref().map_or(0.0, |offsets| offsets[i])
    }

    /// What the ledger needs to know of candidate `i`.
    pub(crate) fn evaluated(&mut self, i: usize, diagonal: f64) -> Evaluated {
        self.settle();
        let function = self.function.as_ref().map_or(0.0, |function| function[i]);
        Evaluated { mu: self.mu[i], chosen: self.sums[i], function, diagonal }
    }

    /// Bars candidate `i` from being the best again.
    pub(crate) fn close(&mut self, i: usize) {
        self.sums[i] = f64::INFINITY;
    }

    /// Σ over pairs of these rows of k, each kernel value as the scores see it.
    pub(crate) fn pair_sum(&self, rows: &[usize]) -> Result<f64> {
        let subset = self.points.select(rows)?;
        let packed =
            self.packed.beside(&subset).expect("rows of the candidates are no wider spread than all");
        let mut means = vec![0.0; rows.len()];
        packed.own_mean_into(None, &mut means);
        Ok(means.iter().sum::<f64>() * rows.len() as f64)
    }

    /// Adds the row that is still pending.
    pub(crate) fn settle(&mut self) {
        if let Some((x, mass)) = self.pending.take() {
            self.packed.add_row(&x, mass, &mut self.sums);
        }
    }
}

/// Σ over pairs of points that are rows of the packed ones of k, each kernel value as their sums see it.
pub(crate) fn pair_sum(packed: &Packed, rows: &Points) -> f64 {
    let rows_packed = packed.beside(rows).expect("some of the points are no wider spread than all");
    let mut means = vec![0.0; rows.len()];
    rows_packed.own_mean_into(None, &mut means);
    means.iter().sum::<f64>() * rows.len() as f64
}
