//! Kernel herding written down as directly as possible: the oracle that the library is tested against.

use supersample::{Kernel, Points};

/// Every quantity recomputed from scratch at each step, in plain f64 double loops.
pub(crate) struct Naive<'a> {
    pub(crate) kernel: &'a Kernel,
    pub(crate) samples: &'a Points,
    pub(crate) weights: Vec<f64>,
    pub(crate) pool: &'a Points,
}

impl Naive<'_> {
    pub(crate) fn mu(&self, x: &[f64]) -> f64 {
        self.samples.rows().zip(&self.weights).map(|(y, w)| w * self.kernel.value(x, y)).sum()
    }

    /// Eq. 7 with w0 = μ, and −k(x, x)/2.
    pub(crate) fn score(&self, picks: &[usize], x: &[f64]) -> f64 {
        let chosen: f64 = picks.iter().map(|&i| self.kernel.value(x, self.pool.row(i))).sum();
        (picks.len() as f64 + 1.0) * self.mu(x) - chosen - self.kernel.value(x, x) / 2.0
    }

    pub(crate) fn next(&self, picks: &[usize], unique: bool) -> Option<usize> {
        let open = (0..self.pool.len()).filter(|i| !(unique && picks.contains(i)));
        let scored = open.map(|i| (i, self.score(picks, self.pool.row(i))));
        scored.reduce(|a, b| if b.1 > a.1 { b } else { a }).map(|best| best.0)
    }

    /// Eq. 9 as a double sum over target and picks.
    pub(crate) fn squared_error(&self, picks: &[usize]) -> f64 {
        let norm: f64 = self.samples.rows().zip(&self.weights).map(|(y, w)| w * self.mu(y)).sum();
        let t = picks.len() as f64;
        let mean: f64 = picks.iter().map(|&i| self.mu(self.pool.row(i))).sum();
        let pairs = picks.iter().flat_map(|&i| picks.iter().map(move |&j| (i, j)));
        let within: f64 = pairs.map(|(i, j)| self.kernel.value(self.pool.row(i), self.pool.row(j))).sum();
        norm - 2.0 * mean / t + within / (t * t)
    }
}
