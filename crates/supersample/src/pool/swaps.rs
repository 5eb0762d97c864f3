//! Swaps: the operations on running scores that exchange a chosen row for another.
//!
//! Once the number T of rows is settled, the *fit* of a row at position j is
//!
//! > fit(x) = T·μ(x) − Σ_{t≠j} k(x, xₜ) − k(x, x)/2,
//!
//! and replacing y by x reduces T²E² (eq. 9) by 2·(fit(x) − fit(y)). A swap costs one kernel row for the new row, and
//! one for the old row unless it is kept. A look costs one pass over the array and one kernel row.

use super::PoolScores;
use super::on_gpu::Noise;
use super::scores::ON_THE_CPU;
use crate::Result;
use crate::sum::{self, KernelRow, Outcome, Visit};

/// State of swaps in addition to the scores.
#[derive(Clone, Default)]
pub(super) struct SwapState {
    /// T·μ(x) − Σₜ k(x, xₜ) − k(x, x)/2 at the chosen rows, by position; their entries in the array are −∞. Used if
    /// rows are chosen only once.
    aside: Vec<f64>,
    /// Kernel row of the position last lifted or filled, if it is not kept, and the kernel row for the new row.
    at_hand: Option<AtHand>,
}

#[derive(Clone, Copy)]
struct AtHand {
    lifted: usize,
    coming: usize,
}

impl PoolScores {
    /// Fixes the number of rows at those chosen so far, so that swaps can begin.
    pub(crate) fn settle_size(&mut self) -> Result<()> {
        if self.gpu.is_some() {
            // The sums of the GPU are begun with the first visit.
            return Ok(());
        }
        let sums = self.pool.sums_among(&self.chosen)?;
        self.fold_mean();
        let (size, pool) = (self.chosen.len() as f64, &self.pool);
        let values = pool.sum_values();
        let w = |(&row, sum): (&usize, &f64)| size * values[row] - sum - pool.sum_half_diagonal(row);
        let aside = self.chosen.iter().zip(&sums).map(w).collect();
        let rows = self.rows_mut();
        let at_hand = AtHand { lifted: rows.add(), coming: rows.add() };
        self.swaps = SwapState { aside, at_hand: Some(at_hand) };
        Ok(())
    }

    /// Replaces the chosen rows by these, the same number.
    pub(crate) fn become_rows(&mut self, rows: &[usize]) {
        if self.gpu.is_some() {
            return self.become_rows_on_gpu(rows);
        }
        let other: Vec<usize> = (0..rows.len()).filter(|&at| self.chosen[at] != rows[at]).collect();
        // All are removed first, because a row may have moved to another position.
        for &position in &other {
            self.lift(position);
            self.take_out(position);
        }
        other.iter().for_each(|&position| self.put_in(position, rows[position]));
    }

    /// Makes visits in order; with groups, a row is replaced only by one of its group. `None` for skipped visits. After
    /// a failure of the GPU fewer outcomes come back.
    pub(crate) fn visit(
        &mut self,
        visits: &[Visit],
        groups: Option<&[usize]>,
        noise: Option<&Noise>,
    ) -> Vec<Option<Outcome>> {
        if self.gpu.is_some() {
            return self.visit_on_gpu(visits, noise);
        }
        let numbers = noise.map_or(&[][..], Noise::here);
        visits.iter().map(|visit| self.visit_one(visit, groups, numbers)).collect()
    }

    fn visit_one(&mut self, visit: &Visit, groups: Option<&[usize]>, noise: &[f32]) -> Option<Outcome> {
        let Visit { position, threshold, rival, .. } = *visit;
        let here = self.chosen[position];
        let may_come = |i: usize| groups.is_none_or(|groups| groups[i] == groups[here]);
        let is_worth_it = |rival| may_come(rival) && self.gain(position, rival) > threshold;
        if !rival.is_none_or(is_worth_it) {
            return None;
        }
        self.lift(position);
        let noise = visit.noise.map(|(first, scale)| (&noise[first..], scale));
        let found = match (groups, noise) {
            (None, None) => self.best_replacement(position),
            (None, Some((noise, scale))) => self.best_noisy_replacement(position, noise, scale),
            (Some(_), _) => self.best_replacement_by(position, |i, fit| {
                let score = noise.map_or(fit, |(noise, scale)| fit + scale * f64::from(noise[i]));
                may_come(i).then_some(score)
            }),
        };
        let fit_here = self.fit_here(position);
        let Some((best, score)) = found else {
            return Some(Outcome { best: None, here, fit: fit_here, fit_here, taken: false });
        };
        let fit = self.fit(position, best);
        let taken = match noise {
            // A threshold of the size of rounding is lost in a sum.
            None => fit - fit_here > threshold,
            Some(_) => score > fit_here + threshold,
        };
        if taken {
            self.replace(position, best);
        }
        Some(Outcome { best: Some(best), here, fit, fit_here, taken })
    }

    /// Computes the kernel row at `position` if needed, for the looks and swaps below.
    fn lift(&mut self, position: usize) {
        if position >= self.kept.len() {
            self.fill(self.at_hand().lifted, self.chosen[position]);
        }
    }

    /// The fit of the row at the lifted `position`.
    fn fit_here(&self, position: usize) -> f64 {
        self.w_at(position) + self.row(position).get(self.chosen[position])
    }

    /// How much better row `i` fits at `position` than the row there, which need not be lifted: one kernel value.
    fn gain(&self, position: usize, i: usize) -> f64 {
        let (here, pool) = (self.chosen[position], &self.pool);
        self.w[i] + pool.sum_kernel(i, here) - self.w_at(position) - pool.sum_diagonal(here)
    }

    /// The row that fits best at the lifted `position` besides the one there, and its fit.
    fn best_replacement(&mut self, position: usize) -> Option<(usize, f64)> {
        self.hiding(position, |set| set.row(position).argmax_with(&set.w))
    }

    /// The row besides the one at the lifted `position` whose fit there plus `scale` times its noise is largest, and that
    /// sum.
    fn best_noisy_replacement(&mut self, position: usize, noise: &[f32], scale: f64) -> Option<(usize, f64)> {
        self.hiding(position, |set| set.row(position).argmax_with_noise(&set.w, noise, scale))
    }

    /// The row besides the one at the lifted `position` for which what `score` makes of its number and fit is largest,
    /// and that score; rows with `None` are skipped.
    fn best_replacement_by(
        &self,
        position: usize,
        score: impl Fn(usize, f64) -> Option<f64> + Sync,
    ) -> Option<(usize, f64)> {
        let (row, here) = (self.row(position), self.chosen[position]);
        let open = |i: usize| i != here && self.w[i] > f64::NEG_INFINITY;
        sum::argmax_by(self.w.len(), |i| open(i).then(|| score(i, self.w[i] + row.get(i))).flatten())
    }

    /// The fit of row `i` at the lifted `position`.
    fn fit(&self, position: usize, i: usize) -> f64 {
        self.w[i] + self.row(position).get(i)
    }

    /// A look with the row at `position` hidden, because with repeats it is open and the best other row is wanted.
    fn hiding<R>(&mut self, position: usize, look: impl FnOnce(&PoolScores) -> R) -> R {
        let here = self.chosen[position];
        let shown = std::mem::replace(&mut self.w[here], f64::NEG_INFINITY);
        let found = look(self);
        self.w[here] = shown;
        found
    }

    /// Puts `row` at the lifted `position`: removes the old row and adds the new one in one pass over the scores.
    fn replace(&mut self, position: usize, row: usize) {
        let gone = self.chosen[position];
        let AtHand { coming, .. } = self.at_hand();
        self.fill(coming, row);
        let (going, rows) = (self.number(position), self.rows.as_ref().expect(ON_THE_CPU));
        let [going_row, coming_row] = [going, coming].map(|number| rows.row(number));
        going_row.exchange(coming_row, &mut self.w);
        if !self.repeats {
            for (aside, &chosen) in self.swaps.aside.iter_mut().zip(&self.chosen) {
                *aside += going_row.get(chosen) - coming_row.get(chosen);
            }
            self.w[gone] = self.swaps.aside[position];
            self.swaps.aside[position] = std::mem::replace(&mut self.w[row], f64::NEG_INFINITY);
        }
        // The two kernel rows change their roles, not their places.
        let at_hand = self.swaps.at_hand.as_mut().expect(SETTLED);
        at_hand.coming = going;
        *self.kept.get_mut(position).unwrap_or(&mut at_hand.lifted) = coming;
        self.chosen[position] = row;
    }

    fn take_out(&mut self, position: usize) {
        let gone = self.chosen[position];
        self.change_by_row(position, 1.0);
        if !self.repeats {
            self.w[gone] = self.swaps.aside[position];
        }
    }

    fn put_in(&mut self, position: usize, row: usize) {
        self.chosen[position] = row;
        self.fill(self.number(position), row);
        self.change_by_row(position, -1.0);
        if !self.repeats {
            self.swaps.aside[position] = std::mem::replace(&mut self.w[row], f64::NEG_INFINITY);
        }
    }

    /// Adds the kernel row at `position` to the scores, or subtracts it.
    fn change_by_row(&mut self, position: usize, sign: f64) {
        let row = self.rows.as_ref().expect(ON_THE_CPU).row(self.number(position));
        row.add_to(sign, &mut self.w);
        for (aside, &chosen) in self.swaps.aside.iter_mut().zip(&self.chosen) {
            *aside += sign * row.get(chosen);
        }
    }

    fn w_at(&self, position: usize) -> f64 {
        if self.repeats { self.w[self.chosen[position]] } else { self.swaps.aside[position] }
    }

    /// The kernel row at the lifted `position`.
    fn row(&self, position: usize) -> KernelRow<'_> {
        self.rows().row(self.number(position))
    }

    /// Which kernel row is that of the lifted `position`.
    fn number(&self, position: usize) -> usize {
        self.kept.get(position).copied().unwrap_or_else(|| self.at_hand().lifted)
    }

    fn at_hand(&self) -> AtHand {
        self.swaps.at_hand.expect(SETTLED)
    }

    /// Computes the kernel row of a row of the pool.
    fn fill(&mut self, number: usize, row: usize) {
        let rows = self.rows.as_mut().expect(ON_THE_CPU);
        self.pool.fill_row(row, &mut rows.row_mut(number));
        self.kernel_rows += 1;
    }
}

const SETTLED: &str = "the size is settled";

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::Pool;
    use super::*;
    use crate::{Empirical, Kernel, Points};

    /// The scores after many replacements against scores made afresh, with every position kept, some, and none.
    #[test]
    fn scores_do_not_drift_however_many_rows_are_kept() {
        let numbers = (0..400 * 2).map(|i| (i as f64 * 12.9898).sin() * 2.0).collect();
        let points = Points::from_vec(numbers, 2).unwrap();
        for text in ["gaussian(0.8)", "linear"] {
            let kernel: Kernel = text.parse().unwrap();
            let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
            let pool = Pool::new(mu, points.clone()).unwrap();
            for (budget, repeats) in
                [(usize::MAX, true), (7 * 400 * 8, true), (0, true), (7 * 400 * 8, false)]
            {
                let with_rows = |rows: &[usize], budget: usize| {
                    let mut set = PoolScores::new(pool.clone(), Arc::default(), repeats);
                    set.keep(budget);
                    rows.iter().for_each(|&row| set.choose_row(row));
                    set.settle_size().unwrap();
                    set
                };
                let mut set = with_rows(&(0..20).collect::<Vec<_>>(), budget);
                let energy = |set: &PoolScores| pool.joint_energy(&set.chosen).unwrap();
                for step in 0..5000 {
                    let is_free = |row: &usize| repeats || !set.chosen.contains(row);
                    let row = (step * 37..).map(|row| row % 400).find(is_free).unwrap();
                    let position = step % 20;
                    set.lift(position);
                    let before = energy(&set);
                    let fit = set.w[row] + set.row(position).get(row);
                    let gain = fit - set.fit_here(position);
                    assert!((gain - set.gain(position, row)).abs() < 1e-11);
                    set.replace(position, row);
                    assert!((before - energy(&set) - 2.0 * gain).abs() < 1e-9, "{text} {step}");
                }
                let afresh = with_rows(&set.chosen, 0);
                for (drifted, exact) in set.w.iter().zip(&afresh.w) {
                    assert!(drifted == exact || (drifted - exact).abs() < 1e-11, "{text}: {drifted} {exact}");
                }
                for (position, &row) in set.chosen.iter().enumerate() {
                    assert!((set.w_at(position) - afresh.w_at(position)).abs() < 1e-11);
                    assert_eq!(set.w[row] == f64::NEG_INFINITY, !repeats);
                }
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
