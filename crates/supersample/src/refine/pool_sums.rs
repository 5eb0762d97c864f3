//! The kernel sums of a set of rows over the whole pool, kept exact while rows come and go.
//!
//! Everything in this module that costs time over the pool is here: one row of kernel values for a point that comes,
//! one for a point that goes (none where its row is kept), one argmax for each look.

use rayon::prelude::*;

use crate::sum::{self, Packed};
use crate::{Kernel, Points};

/// Below this many rows a pass of additions is cheaper than waking another thread.
const SERIAL_BELOW: usize = 1 << 15;
const CHUNK: usize = 1 << 13;

/// A set of rows of the pool, with eq. 4's w(x) = share·μ(x) − Σₜ k(x, xₜ), less k(x, x)/2, at every row.
///
/// One array holds all that a score is made of, so that a look at the pool reads it and one kernel row.
pub(super) struct PoolSums<'a> {
    kernel: &'a Kernel,
    pool: &'a Points,
    packed: Packed,
    mu: &'a [f64],
    half_diagonal: Option<&'a [f64]>,
    share: f64,
    w: Vec<f64>,
    /// The chosen rows by position.
    chosen: Vec<usize>,
    /// How often each row is chosen.
    times: Vec<u32>,
    /// k(xᵢ, xₜ) for the first positions, as many as the budget allows.
    kept: Vec<Vec<f64>>,
    capacity: usize,
    /// The kernel row of the position last lifted, where it is not kept.
    lifted: Vec<f64>,
    /// How many rows of kernel values have been computed.
    pub(super) kernel_rows: u64,
}

impl<'a> PoolSums<'a> {
    /// The empty set. `budget` is the memory, in bytes, that kept kernel rows may take.
    pub(super) fn new(
        kernel: &'a Kernel,
        pool: &'a Points,
        packed: Packed,
        mu: &'a [f64],
        half_diagonal: Option<&'a [f64]>,
        budget: usize,
    ) -> PoolSums<'a> {
        let n = pool.len();
        PoolSums {
            kernel,
            pool,
            packed,
            mu,
            half_diagonal,
            share: 0.0,
            w: half_diagonal.map_or(vec![0.0; n], |half| half.iter().map(|half| -half).collect()),
            chosen: Vec::new(),
            times: vec![0; n],
            kept: Vec::new(),
            capacity: budget / (n * size_of::<f64>()),
            lifted: Vec::new(),
            kernel_rows: 0,
        }
    }

    pub(super) fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// How many rows the pool has.
    pub(super) fn len(&self) -> usize {
        self.pool.len()
    }

    /// How often row `i` is chosen.
    pub(super) fn times(&self, i: usize) -> u32 {
        self.times[i]
    }

    /// Adds a row at the end.
    pub(super) fn push(&mut self, row: usize) {
        let position = self.chosen.len();
        self.chosen.push(row);
        self.times[row] += 1;
        self.add(position, row);
    }

    /// Puts these rows, as many as there are, in place of the present ones.
    pub(super) fn become_rows(&mut self, rows: &[usize]) {
        for (position, &row) in rows.iter().enumerate() {
            if self.chosen[position] != row {
                self.lift(position);
                self.replace(position, row);
            }
        }
    }

    /// Σₛₜ k(xₛ, xₜ) − 2T Σ μ(xₜ) = T²(E² − ‖μ‖²), from the values at hand.
    pub(super) fn energy(&self) -> f64 {
        let t = self.chosen.len() as f64;
        let sum = |i: usize| self.share * self.mu[i] - self.w[i] - self.half_diagonal(i);
        self.chosen.iter().map(|&i| sum(i) - 2.0 * t * self.mu[i]).sum()
    }

    /// Makes w contain this many times μ: T + 1 to herd on (eq. 8), T to replace points.
    pub(super) fn set_share(&mut self, share: f64) {
        let more = share - self.share;
        self.share = share;
        let mu = self.mu;
        in_chunks(&mut self.w, |start, w| {
            w.iter_mut().zip(&mu[start..]).for_each(|(w, mu)| *w += more * mu);
        });
    }

    /// The allowed row of the largest w, after the share has been set to T + 1.
    pub(super) fn best_next(&self, allowed: impl Fn(usize) -> bool + Sync) -> Option<usize> {
        self.best(|i| self.w[i], allowed).map(|best| best.0)
    }

    /// The allowed row of the largest score; most often the best of all is allowed, and no other need be asked.
    fn best(
        &self,
        score: impl Fn(usize) -> f64 + Sync,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> Option<(usize, f64)> {
        match sum::argmax_by(self.pool.len(), |i| Some(score(i))) {
            Some(best) if allowed(best.0) => Some(best),
            _ => sum::argmax_by(self.pool.len(), |i| allowed(i).then(|| score(i))),
        }
    }

    /// Takes the point at `position` out for [`best_replacement`](Self::best_replacement) and the like to be asked.
    pub(super) fn lift(&mut self, position: usize) {
        if position >= self.kept.len() {
            self.lifted.clear();
            self.lifted.resize(self.pool.len(), 0.0);
            let y = self.pool.row(self.chosen[position]);
            self.packed.add_row(y, 1.0, &mut self.lifted);
            self.kernel_rows += 1;
        }
    }

    /// What row `i` is worth at the lifted `position`, the share being T: T·μ(x) − Σ over the others of k(x, xₜ) − k(x, x)/2. Putting i
    /// where j was lowers T²E² by twice the difference of their worths.
    pub(super) fn worth(&self, position: usize, i: usize) -> f64 {
        self.w[i] + self.row(position)[i]
    }

    /// How much more row `i` is worth at `position` than the row there, which need not be lifted: one kernel value.
    pub(super) fn gain(&self, position: usize, i: usize) -> f64 {
        let here = self.chosen[position];
        let (x, y) = (self.pool.row(i), self.pool.row(here));
        self.w[i] + self.kernel.value(x, y) - self.w[here] - self.kernel.diagonal(y)
    }

    /// The allowed row of the largest worth at the lifted `position`, and that worth.
    pub(super) fn best_replacement(
        &self,
        position: usize,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> Option<(usize, f64)> {
        let row = self.row(position);
        self.best(|i| self.w[i] + row[i], allowed)
    }

    /// The worths of all rows at the lifted `position` into `worths`, −∞ where not allowed.
    pub(super) fn worths_into(
        &self,
        position: usize,
        worths: &mut [f64],
        allowed: impl Fn(usize) -> bool + Sync,
    ) {
        let row = self.row(position);
        in_chunks(worths, |start, worths| {
            for (i, worth) in (start..).zip(worths) {
                *worth = if allowed(i) { self.w[i] + row[i] } else { f64::NEG_INFINITY };
            }
        });
    }

    /// Puts `row` at the lifted `position`.
    pub(super) fn replace(&mut self, position: usize, row: usize) {
        let gone = std::mem::replace(&mut self.chosen[position], row);
        self.times[gone] -= 1;
        self.times[row] += 1;
        let lifted = self.kept.get(position).unwrap_or(&self.lifted);
        in_chunks(&mut self.w, |start, w| {
            w.iter_mut().zip(&lifted[start..]).for_each(|(w, k)| *w += k);
        });
        self.add(position, row);
    }

    fn add(&mut self, position: usize, row: usize) {
        self.kernel_rows += 1;
        let y = self.pool.row(row);
        if position >= self.capacity {
            return self.packed.add_row(y, -1.0, &mut self.w);
        }
        if position == self.kept.len() {
            self.kept.push(vec![0.0; self.pool.len()]);
        }
        let kept = &mut self.kept[position];
        kept.fill(0.0);
        self.packed.add_row(y, 1.0, kept);
        in_chunks(&mut self.w, |start, w| {
            w.iter_mut().zip(&kept[start..]).for_each(|(w, k)| *w -= k);
        });
    }

    fn row(&self, position: usize) -> &[f64] {
        self.kept.get(position).unwrap_or(&self.lifted)
    }

    fn half_diagonal(&self, i: usize) -> f64 {
        self.half_diagonal.map_or(0.0, |half| half[i])
    }
}

fn in_chunks(out: &mut [f64], work: impl Fn(usize, &mut [f64]) + Sync) {
    if out.len() < SERIAL_BELOW {
        return work(0, out);
    }
    out.par_chunks_mut(CHUNK).enumerate().for_each(|(i, chunk)| work(i * CHUNK, chunk));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Empirical, MeanEmbedding, Precision};

    /// The sums after many replacements against sums made afresh, with every position kept, some, and none.
    #[test]
    fn sums_do_not_drift_however_many_rows_are_kept() {
        let numbers = (0..400 * 2).map(|i| (i as f64 * 12.9898).sin() * 2.0).collect();
        let pool = Points::from_vec(numbers, 2).unwrap();
        for text in ["gaussian(0.8)", "linear"] {
            let kernel: Kernel = text.parse().unwrap();
            let mut mu = vec![0.0; pool.len()];
            Empirical::new(kernel.clone(), pool.clone()).unwrap().values_into(&pool, &mut mu);
            let packed = Packed::new(&kernel, &pool, Precision::Double);
            let half: Vec<f64> = pool.rows().map(|x| kernel.diagonal(x) / 2.0).collect();
            for budget in [usize::MAX, 7 * 400 * 8, 0] {
                let mut set = PoolSums::new(&kernel, &pool, packed.clone(), &mu, Some(&half), budget);
                (0..20).for_each(|i| set.push(i));
                set.set_share(20.0);
                for step in 0..5000 {
                    let (position, row) = (step % 20, (step * 37) % 400);
                    set.lift(position);
                    let before = set.energy();
                    let gain = set.worth(position, row) - set.worth(position, set.chosen[position]);
                    assert!((gain - set.gain(position, row)).abs() < 1e-11);
                    set.replace(position, row);
                    assert!((before - set.energy() - 2.0 * gain).abs() < 1e-9, "{text} {step}");
                }
                let mut afresh = PoolSums::new(&kernel, &pool, packed.clone(), &mu, Some(&half), 0);
                afresh.set_share(20.0);
                set.chosen.iter().for_each(|&row| afresh.push(row));
                for (drifted, exact) in set.w.iter().zip(&afresh.w) {
                    assert!((drifted - exact).abs() < 1e-11, "{text}: {drifted} {exact}");
                }
                assert_eq!(set.times, afresh.times);
                let looks =
                    [0, 13, 20][[usize::MAX, 7 * 400 * 8, 0].iter().position(|b| *b == budget).unwrap()];
                assert_eq!(set.kernel_rows, 20 + 5000 + 250 * looks);
            }
        }
    }
}
