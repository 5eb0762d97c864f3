//! Running scores of every point of a pool, updated at each choice.
//!
//! Herding and swaps share one array. In herding it holds −Σ aⱼ k(x, zⱼ) over the chosen points, and the score of eq. 7
//! adds a multiple of μ that grows with every pick. When the number of points is settled, that multiple is folded in
//! ([`PoolScores::settle_size`]), and the array holds the scores of swaps (`swaps.rs`). A point that may not be chosen
//! has −∞, so that no pass over the pool needs a test.

use std::sync::Arc;

use super::Pool;
use super::on_gpu::OnGpu;
use crate::sum::{self, KernelRows, Packed, Scores};

/// The mutable state of choosing from a pool.
///
/// The kernel row of a chosen point is not added at once but together with the next search for the maximum, so that a
/// pick costs one pass over the pool. Kernel rows are kept for swaps if memory was granted.
#[derive(Clone)]
pub(crate) struct PoolScores {
    pub(super) pool: Pool,
    /// −Σⱼ aⱼ k(x, zⱼ) over the chosen points z with their masses a, except the pending one. Once the size is settled,
    /// T·μ(x) − k(x, x)/2 is in it too.
    pub(super) w: Vec<f64>,
    /// −k(x, x)/2, if it varies and is not yet in `w`.
    pub(super) offsets: Option<Arc<[f64]>>,
    pending: Option<Pending>,
    /// The chosen rows packed for the joint kernel, if there are parts: the numbers of a pick are those of the joint
    /// part, but the sums in `w` are those of all parts.
    joint: Option<Packed>,
    /// Rows that may never be chosen.
    pub(super) closed: Arc<[usize]>,
    /// Whether a row may be chosen more than once.
    pub(super) repeats: bool,
    /// The chosen rows by position.
    pub(super) chosen: Vec<usize>,
    /// Computed kernel rows; `None` if the pool is on a GPU.
    pub(super) rows: Option<KernelRows>,
    /// Number of the kernel row with k(xᵢ, xₜ), for as many of the first positions t as there is room for.
    pub(super) kept: Vec<usize>,
    pub(super) room: usize,
    /// Kernel row for a row that is not kept, with parts. Parts are added up in it as in a kept one, so that the number
    /// of kept rows changes no rounding.
    scratch: Option<usize>,
    /// The scores if the pool is on a GPU; then `w` is empty and nothing is pending here.
    pub(super) gpu: Option<OnGpu>,
    pub(super) kernel_rows: u64,
    pub(super) swaps: super::swaps::SwapState,
}

/// Values of one point when it is picked, under the joint kernel: μ(x), Σ aⱼ k(x, zⱼ) over the earlier points, and k(x,
/// x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluated {
    pub(crate) mu: f64,
    pub(crate) chosen: f64,
    pub(crate) diagonal: f64,
}

/// A chosen point whose kernel row is not yet in `w`.
#[derive(Clone)]
enum Pending {
    /// Any point, with its mass.
    Point(Box<[f64]>, f64),
    /// A row of the pool, and the number of the kernel row that is for its values.
    Row { row: usize, number: usize },
}

pub(super) const ON_THE_CPU: &str = "kernel rows are kept on the CPU";

impl PoolScores {
    /// Creates scores with nothing chosen; `closed` rows may never be chosen.
    pub(crate) fn new(pool: Pool, closed: Arc<[usize]>, repeats: bool) -> PoolScores {
        let gpu = pool.on_gpu();
        let is_here = gpu.is_none();
        let mut scores = PoolScores {
            rows: is_here.then(|| pool.0.packed.no_rows()),
            w: if is_here { vec![0.0; pool.points().len()] } else { Vec::new() },
            gpu,
            pool,
            offsets: None,
            pending: None,
            joint: None,
            scratch: None,
            closed,
            repeats,
            chosen: Vec::new(),
            kept: Vec::new(),
            room: 0,
            kernel_rows: 0,
            swaps: Default::default(),
        };
        scores.restart();
        scores
    }

    /// Grants `bytes` bytes for kernel rows of chosen rows, so that swaps need not compute them again.
    pub(crate) fn keep(&mut self, bytes: usize) {
        // A GPU keeps all rows that fit.
        self.room = if self.gpu.is_some() { 0 } else { bytes / self.pool.0.packed.row_bytes() };
    }

    /// Forgets all chosen points.
    pub(crate) fn restart(&mut self) {
        let halves = self.pool.sum_half_diagonals();
        self.offsets = halves.map(|halves| halves.iter().map(|half| -half).collect());
        self.gpu = self.gpu.clone();
        self.w.fill(0.0);
        if self.gpu.is_none() {
            self.closed.iter().for_each(|&row| self.w[row] = f64::NEG_INFINITY);
        }
        self.pending = None;
        self.joint = self.pool.has_parts().then(|| self.pool.0.packed.none_beside());
        self.chosen.clear();
        self.kept.clear();
        self.swaps = Default::default();
        self.scratch = match &mut self.rows {
            Some(rows) => {
                rows.clear();
                self.pool.has_parts().then(|| rows.add())
            }
            None => None,
        };
        self.kernel_rows = 0;
    }

    /// The kernel rows on the CPU.
    pub(super) fn rows(&self) -> &KernelRows {
        self.rows.as_ref().expect(ON_THE_CPU)
    }

    pub(super) fn rows_mut(&mut self) -> &mut KernelRows {
        self.rows.as_mut().expect(ON_THE_CPU)
    }

    /// The chosen rows of the pool, by position.
    pub(crate) fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// Number of rows of the pool.
    pub(crate) fn pool_size(&self) -> usize {
        self.pool.points().len()
    }

    pub(crate) fn closed(&self) -> &[usize] {
        &self.closed
    }

    /// Rows of kernel values computed so far over the pool: the cost.
    pub(crate) fn kernel_rows(&self) -> u64 {
        self.kernel_rows
    }

    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    pub(crate) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Returns these scores on the CPU; if they were elsewhere, nothing is chosen.
    pub(crate) fn into_host(self) -> PoolScores {
        match self.gpu {
            None => self,
            Some(_) => PoolScores::new(self.pool.to_host(), self.closed, self.repeats),
        }
    }

    /// Applies eq. 2 for any point with this mass. Not with parts, which are known only at rows of the pool.
    pub(crate) fn choose_point(&mut self, x: &[f64], mass: f64) {
        debug_assert!(!self.pool.has_parts(), "parts have no view of a point");
        debug_assert!(self.gpu.is_none(), "given points are chosen on the CPU");
        self.add_pending();
        self.pending = Some(Pending::Point(x.into(), mass));
    }

    /// Applies eq. 2 for a row of the pool, which takes the next position.
    pub(crate) fn choose_row(&mut self, row: usize) {
        if let Some(joint) = &mut self.joint {
            joint.push(self.pool.points().row(row));
        }
        if self.gpu.is_some() {
            return self.choose_on_gpu(row);
        }
        self.add_pending();
        let position = self.chosen.len();
        self.chosen.push(row);
        if position == self.kept.len() && position < self.room {
            let kept = self.rows_mut().add();
            self.kept.push(kept);
            self.pending = Some(Pending::Row { row, number: kept });
        } else {
            self.pending = Some(match self.scratch {
                Some(number) => Pending::Row { row, number },
                None => Pending::Point(self.pool.points().row(row).into(), 1.0),
            });
        }
        if !self.repeats {
            self.w[row] = f64::NEG_INFINITY;
        }
    }

    /// The row of highest score, factor·μ(x) − Σ a k(x, z) − k(x, x)/2, and that score; ties go to the lowest index.
    /// `None` if all are closed.
    pub(crate) fn best(&mut self, factor: f64) -> Option<(usize, f64)> {
        if self.gpu.is_some() {
            return self.best_on_gpu(factor);
        }
        let pool = &self.pool;
        let scores = Scores { factor, mu: pool.sum_values(), offsets: self.offsets.as_deref() };
        let Some(pending) = self.pending.take() else { return scores.argmax(&mut self.w) };
        self.kernel_rows += 1;
        match pending {
            Pending::Point(x, mass) => pool.0.packed.add_row_and_argmax(&x, -mass, &mut self.w, scores),
            Pending::Row { row, number } => {
                let mut values = self.rows.as_mut().expect(ON_THE_CPU).row_mut(number);
                pool.keep_row_and_argmax(row, &mut values, &mut self.w, scores)
            }
        }
    }

    /// The open row of highest score that fulfils a further condition.
    pub(crate) fn best_among(
        &mut self,
        factor: f64,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> Option<(usize, f64)> {
        self.add_pending();
        let open = |i: usize| self.w[i] > f64::NEG_INFINITY && allowed(i);
        sum::argmax_by(self.w.len(), |i| open(i).then(|| self.score(factor, i)))
    }

    /// The score of row `i`, including the pending row; −∞ if it is closed.
    pub(crate) fn score_of(&mut self, factor: f64, i: usize) -> f64 {
        let sum = self.sum(i);
        self.score_from(factor, i, sum)
    }

    /// The score of row `i`, once nothing is pending; −∞ if it is closed.
    pub(crate) fn score(&self, factor: f64, i: usize) -> f64 {
        debug_assert!(self.pending.is_none(), "scores are known once the pending row is added");
        self.score_from(factor, i, self.w[i])
    }

    fn score_from(&self, factor: f64, i: usize, sum: f64) -> f64 {
        let offset = self.offsets.as_ref().map_or(0.0, |offsets| offsets[i]);
        factor * self.pool.sum_values()[i] + sum + offset
    }

    /// −Σⱼ aⱼ k(x, zⱼ) at row `i`, including the pending row.
    fn sum(&mut self, i: usize) -> f64 {
        if self.gpu.is_some() {
            return self.sum_on_gpu(i);
        }
        self.add_pending();
        self.w[i]
    }

    /// Values that the ledger needs of an open row `i`, before it is chosen. With parts, the sum over the chosen rows
    /// is computed from their joint kernel values.
    pub(crate) fn evaluated(&mut self, i: usize) -> Evaluated {
        self.add_pending();
        let chosen = match &self.joint {
            Some(joint) => joint.row_sum(self.pool.points().row(i)),
            None => -self.sum(i),
        };
        let diagonal = self.pool.joint_kernel().diagonal(self.pool.points().row(i));
        Evaluated { mu: self.pool.values()[i], chosen, diagonal }
    }

    /// Adds the kernel row that is still pending.
    pub(crate) fn add_pending(&mut self) {
        let Some(pending) = self.pending.take() else { return };
        let pool = &self.pool;
        self.kernel_rows += 1;
        match pending {
            Pending::Point(x, mass) => pool.0.packed.add_row(&x, -mass, &mut self.w),
            Pending::Row { row, number } => {
                let rows = self.rows.as_mut().expect(ON_THE_CPU);
                pool.fill_row(row, &mut rows.row_mut(number));
                rows.row(number).add_to(-1.0, &mut self.w);
            }
        }
    }

    /// Folds T·μ(x) − k(x, x)/2 into the array for the number T of chosen rows. From here on rows are only exchanged.
    pub(super) fn fold_mean(&mut self) {
        self.add_pending();
        sum::add_scaled(self.pool.sum_values(), self.chosen.len() as f64, &mut self.w);
        if let Some(offsets) = self.offsets.take() {
            sum::add_scaled(&offsets, 1.0, &mut self.w);
        }
    }
}
