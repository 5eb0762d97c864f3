//! The kernel sums of a set of rows over the whole pool, kept exact while rows come and go.
//!
//! Everything in this module that costs time over the pool is here: one row of kernel values for a point that comes,
//! one for a point that goes (none where its row is kept), one argmax for each look.

use crate::sum::{self, KernelRow, Packed};
use crate::{Kernel, Points};

/// A set of rows of the pool, with eq. 4's w(x) = share·μ(x) − Σₜ k(x, xₜ), less k(x, x)/2, at every row.
///
/// One array holds all that a score is made of, so that a look at the pool reads it and one kernel row. A row that may
/// not be chosen, because it is closed or because it is chosen already and may be only once, has −∞ there, so that a
/// look need not ask; the w of chosen rows is then kept aside.
pub(super) struct PoolSums<'a> {
    kernel: &'a Kernel,
    pool: &'a Points,
    packed: Packed,
    mu: &'a [f64],
    half_diagonal: Option<&'a [f64]>,
    share: f64,
    w: Vec<f64>,
    repeats: bool,
    /// The chosen rows by position.
    chosen: Vec<usize>,
    /// w at the chosen rows, by position; used where rows are chosen only once.
    aside: Vec<f64>,
    /// How often each row is chosen.
    times: Vec<u32>,
    /// k(xᵢ, xₜ) for the first positions, as many as the budget allows.
    kept: Vec<KernelRow>,
    capacity: usize,
    /// The kernel row of the position last lifted or filled, where it is not kept.
    lifted: KernelRow,
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
        repeats: bool,
        budget: usize,
    ) -> PoolSums<'a> {
        let n = pool.len();
        let (capacity, lifted) = (budget / packed.row_bytes(), packed.empty_row());
        PoolSums {
            kernel,
            pool,
            packed,
            mu,
            half_diagonal,
            share: 0.0,
            w: half_diagonal.map_or(vec![0.0; n], |half| half.iter().map(|half| -half).collect()),
            repeats,
            chosen: Vec::new(),
            aside: Vec::new(),
            times: vec![0; n],
            kept: Vec::new(),
            capacity,
            lifted,
            kernel_rows: 0,
        }
    }

    /// Bars a row that is not chosen from ever being the best.
    pub(super) fn close(&mut self, row: usize) {
        self.w[row] = f64::NEG_INFINITY;
    }

    pub(super) fn chosen(&self) -> &[usize] {
        &self.chosen
    }

    /// How often row `i` is chosen.
    pub(super) fn times(&self, i: usize) -> u32 {
        self.times[i]
    }

    /// Adds a row at the end.
    pub(super) fn push(&mut self, row: usize) {
        self.chosen.push(row);
        self.aside.push(0.0);
        self.put_in(self.chosen.len() - 1, row);
    }

    /// Puts these rows, as many as there are, in place of the present ones.
    pub(super) fn become_rows(&mut self, rows: &[usize]) {
        let other: Vec<usize> = (0..rows.len()).filter(|&at| self.chosen[at] != rows[at]).collect();
        // All out before any comes in: a row may only have moved to another position.
        for &position in &other {
            self.lift(position);
            self.take_out(position);
        }
        other.iter().for_each(|&position| self.put_in(position, rows[position]));
    }

    /// Σₛₜ k(xₛ, xₜ) − 2T Σ μ(xₜ) = T²(E² − ‖μ‖²), from the values at hand.
    pub(super) fn energy(&self) -> f64 {
        let t = self.chosen.len() as f64;
        let each = self.chosen.iter().enumerate().map(|(position, &i)| {
            let sum = self.share * self.mu[i] - self.w_at(position) - self.half_diagonal(i);
            sum - 2.0 * t * self.mu[i]
        });
        each.sum()
    }

    /// Makes w contain this many times μ: T + 1 to herd on (eq. 8), T to replace points.
    pub(super) fn set_share(&mut self, share: f64) {
        let more = share - self.share;
        self.share = share;
        sum::add_scaled(self.mu, more, &mut self.w);
        for (aside, &row) in self.aside.iter_mut().zip(&self.chosen) {
            *aside += more * self.mu[row];
        }
    }

    /// The row of the largest w that may be chosen, after the share has been set to T + 1.
    pub(super) fn best_next(&self) -> Option<usize> {
        sum::argmax_of(&self.w).map(|best| best.0)
    }

    /// The same among rows that fulfil more than being open.
    pub(super) fn best_next_among(&self, allowed: impl Fn(usize) -> bool + Sync) -> Option<usize> {
        sum::argmax_by(self.w.len(), |i| allowed(i).then(|| self.w[i])).map(|best| best.0)
    }

    /// Takes the point at `position` out for [`best_replacement`](Self::best_replacement) and the like to be asked.
    pub(super) fn lift(&mut self, position: usize) {
        if position >= self.kept.len() {
            let y = self.pool.row(self.chosen[position]);
            self.packed.fill_row(y, &mut self.lifted);
            self.kernel_rows += 1;
        }
    }

    /// What row `i`, not chosen, is worth at the lifted `position`, the share being T: T·μ(x) − Σ over the others of
    /// k(x, xₜ) − k(x, x)/2. Putting i where j was lowers T²E² by twice the difference of their worths.
    #[cfg(test)]
    fn worth(&self, position: usize, i: usize) -> f64 {
        self.w[i] + self.row(position).get(i)
    }

    /// What the row at the lifted `position` is worth there.
    pub(super) fn worth_here(&self, position: usize) -> f64 {
        self.w_at(position) + self.row(position).get(self.chosen[position])
    }

    /// How much more row `i` is worth at `position` than the row there, which need not be lifted: one kernel value.
    pub(super) fn gain(&self, position: usize, i: usize) -> f64 {
        let here = self.chosen[position];
        let (x, y) = (self.pool.row(i), self.pool.row(here));
        self.w[i] + self.kernel.value(x, y) - self.w_at(position) - self.kernel.diagonal(y)
    }

    /// The row of the largest worth at the lifted `position` besides the one there, and that worth.
    pub(super) fn best_replacement(&mut self, position: usize) -> Option<(usize, f64)> {
        let here = self.chosen[position];
        // Where rows may repeat, this one is open; hidden for this one look, so that the best other is found.
        let shown = std::mem::replace(&mut self.w[here], f64::NEG_INFINITY);
        let best = self.row(position).argmax_with(&self.w);
        self.w[here] = shown;
        best
    }

    /// The same among rows that fulfil more than being open.
    pub(super) fn best_replacement_among(
        &self,
        position: usize,
        allowed: impl Fn(usize) -> bool + Sync,
    ) -> Option<(usize, f64)> {
        let (row, here) = (self.row(position), self.chosen[position]);
        sum::argmax_by(self.w.len(), |i| (i != here && allowed(i)).then(|| self.w[i] + row.get(i)))
    }

    /// The rows whose worth at the lifted `position` is at least `least`, the one there included, in order.
    pub(super) fn worth_at_least(&self, position: usize, least: f64, found: &mut Vec<(usize, f64)>) {
        self.row(position).at_least(&self.w, least, found);
        let (here, worth) = (self.chosen[position], self.worth_here(position));
        if !self.repeats && worth >= least {
            let place = found.partition_point(|&(row, _)| row < here);
            found.insert(place, (here, worth));
        }
    }

    /// Puts `row` at the lifted `position`.
    pub(super) fn replace(&mut self, position: usize, row: usize) {
        self.take_out(position);
        self.put_in(position, row);
    }

    fn take_out(&mut self, position: usize) {
        let gone = self.chosen[position];
        self.times[gone] -= 1;
        self.change_by_row(position, 1.0);
        if !self.repeats {
            self.w[gone] = self.aside[position];
        }
    }

    fn put_in(&mut self, position: usize, row: usize) {
        self.chosen[position] = row;
        self.times[row] += 1;
        self.kernel_rows += 1;
        if position == self.kept.len() && position < self.capacity {
            self.kept.push(self.packed.empty_row());
        }
        let values = self.kept.get_mut(position).unwrap_or(&mut self.lifted);
        self.packed.fill_row(self.pool.row(row), values);
        self.change_by_row(position, -1.0);
        if !self.repeats {
            self.aside[position] = std::mem::replace(&mut self.w[row], f64::NEG_INFINITY);
        }
    }

    /// Adds the kernel row at `position` to w, or takes it away.
    fn change_by_row(&mut self, position: usize, sign: f64) {
        let row = self.kept.get(position).unwrap_or(&self.lifted);
        row.add_to(sign, &mut self.w);
        for (aside, &chosen) in self.aside.iter_mut().zip(&self.chosen) {
            *aside += sign * row.get(chosen);
        }
    }

    fn w_at(&self, position: usize) -> f64 {
        if self.repeats { self.w[self.chosen[position]] } else { self.aside[position] }
    }

    fn row(&self, position: usize) -> &KernelRow {
        self.kept.get(position).unwrap_or(&self.lifted)
    }

    fn half_diagonal(&self, i: usize) -> f64 {
        self.half_diagonal.map_or(0.0, |half| half[i])
    }
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
            for (budget, repeats) in
                [(usize::MAX, true), (7 * 400 * 8, true), (0, true), (7 * 400 * 8, false)]
            {
                let mut set =
                    PoolSums::new(&kernel, &pool, packed.clone(), &mu, Some(&half), repeats, budget);
                (0..20).for_each(|i| set.push(i));
                set.set_share(20.0);
                for step in 0..5000 {
                    let is_free = |row: &usize| repeats || set.times(*row) == 0;
                    let row = (step * 37..).map(|row| row % 400).find(is_free).unwrap();
                    let position = step % 20;
                    set.lift(position);
                    let before = set.energy();
                    let gain = set.worth(position, row) - set.worth_here(position);
                    assert!((gain - set.gain(position, row)).abs() < 1e-11);
                    set.replace(position, row);
                    assert!((before - set.energy() - 2.0 * gain).abs() < 1e-9, "{text} {step}");
                }
                let mut afresh = PoolSums::new(&kernel, &pool, packed.clone(), &mu, Some(&half), repeats, 0);
                afresh.set_share(20.0);
                set.chosen.iter().for_each(|&row| afresh.push(row));
                for (drifted, exact) in set.w.iter().zip(&afresh.w) {
                    assert!(drifted == exact || (drifted - exact).abs() < 1e-11, "{text}: {drifted} {exact}");
                }
                for (position, &row) in set.chosen.iter().enumerate() {
                    assert!((set.w_at(position) - afresh.w_at(position)).abs() < 1e-11);
                    assert_eq!(set.w[row] == f64::NEG_INFINITY, !repeats);
                }
                assert_eq!(set.times, afresh.times);
                let looks = match budget {
                    0 => 20,
                    usize::MAX => 0,
                    _ => 13,
                };
                assert_eq!(set.kernel_rows, 20 + 5000 + 250 * looks);
            }
        }
    }
}
