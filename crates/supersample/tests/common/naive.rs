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

/// Visits of positions, and how many of them were swaps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Swept {
    pub(crate) visits: usize,
    pub(crate) swaps: usize,
}

/// Sweeps until no swap lowers the error, every error computed from scratch. The positions from `first` on may change; `may_take` says whether a position of these rows may be given another row. Between two
/// sweeps, a position is visited where its rival, the best row it did not take or the last it gave up, has become better.
pub(crate) fn sweep_to_rest(
    rows: &mut [usize],
    first: usize,
    candidates: usize,
    may_take: &dyn Fn(&[usize], usize, usize) -> bool,
    squared_error: &dyn Fn(&[usize]) -> f64,
) -> Swept {
    let mut rivals = vec![None; rows.len()];
    let error = |rows: &[usize], j: usize, i: usize| {
        let mut trial = rows.to_vec();
        trial[j] = i;
        squared_error(&trial)
    };
    let visit = |rows: &mut [usize], rivals: &mut [Option<usize>], j: usize| {
        let here = rows[j];
        let open = (0..candidates).filter(|&i| i != here && may_take(rows, j, i));
        let scored = open.map(|i| (i, error(rows, j, i)));
        let Some(best) = scored.reduce(|a, b| if b.1 < a.1 { b } else { a }) else { return false };
        let is_better = best.1 < error(rows, j, here) - 1e-13;
        rivals[j] = Some(if is_better { here } else { best.0 });
        if is_better {
            rows[j] = best.0;
        }
        is_better
    };
    let count = rows.len() - first;
    let (mut quiet, mut turn, mut swept) = (0, 0, Swept::default());
    let mut counted = |rows: &mut [usize], rivals: &mut [Option<usize>], j: usize| {
        let swapped = visit(rows, rivals, j);
        swept.visits += 1;
        swept.swaps += usize::from(swapped);
        swapped
    };
    'sweeps: while quiet < count {
        for _ in 0..count {
            quiet = if counted(rows, &mut rivals, first + turn) { 0 } else { quiet + 1 };
            turn = (turn + 1) % count;
            if quiet == count {
                break 'sweeps;
            }
        }
        let mut found = true;
        while found {
            found = false;
            for j in first..rows.len() {
                let Some(rival) = rivals[j] else { continue };
                if may_take(rows, j, rival) && error(rows, j, rival) < error(rows, j, rows[j]) - 1e-13 {
                    found |= counted(rows, &mut rivals, j);
                    quiet = 0;
                }
            }
        }
    }
    swept
}
