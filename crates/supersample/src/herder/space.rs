//! Maximisation of eq. 7 over all of space (section 3.1.1 of the paper): ascent from the best auxiliary points.

use rayon::prelude::*;

use super::{Herder, Pick};
use crate::ascent::{AscentOptions, Summit, climb};
use crate::embedding::as_stein;
use crate::kernel::Distance;
use crate::pool::Evaluated;
use crate::sum;

impl Herder {
    /// Returns the next pick: the highest maximum reached from the best start and, if asked, from others.
    pub(super) fn climb_from(&mut self, best: usize, options: AscentOptions) -> Pick {
        let mu = self.pool.embedding().clone();
        // Rows of a Stein target move with their points.
        let stein = as_stein(&*mu);
        let shortest = mu.kernel().bandwidths().iter().copied().reduce(f64::min);
        let length = stein.map_or(shortest.unwrap_or(1.0), |stein| stein.length());
        let starts = self.best_starts(best, options.climbs, 0.5 * length);
        let climb_one = |&start: &usize| {
            let row = self.pool.points().row(start);
            let score = |row: &[f64], gradient: &mut [f64]| self.score_anywhere(row, gradient).0;
            let Some(stein) = stein else { return climb(score, row, length, &options) };
            let at_point = |x: &[f64], gradient: &mut [f64]| stein.at_point(x, gradient, score);
            let summit = climb(at_point, &stein.point(row), length, &options);
            match stein.row_at(&summit.point).filter(|_| summit.value.is_finite()) {
                Some(point) => Summit { point, converged: summit.converged && !stein.is_spent(), ..summit },
                None => Summit {
                    point: row.to_vec(),
                    value: score(row, &mut vec![0.0; row.len()]),
                    converged: false,
                },
            }
        };
        // With a cap on evaluations, parallel climbs would share it by chance.
        let one_by_one = starts.len() == 1 || stein.is_some_and(|stein| stein.is_capped());
        let summits: Vec<Summit> = match one_by_one {
            true => starts.iter().map(climb_one).collect(),
            false => starts.par_iter().map(climb_one).collect(),
        };
        let higher = |a: Summit, b: Summit| if b.value > a.value { b } else { a };
        let summit = summits.into_iter().reduce(higher).expect("there is at least one start");
        let (score, known) = self.score_anywhere(&summit.point, &mut vec![0.0; summit.point.len()]);
        self.scores.choose_point(&summit.point, 1.0);
        let pool = self.pool.clone();
        let pick = self.accept(&summit.point, None, score, known, || pool.precise_value_at(&summit.point));
        Pick { converged: summit.converged, ..pick }
    }

    /// The starts of highest score that lie further than `apart` from each other, best first.
    fn best_starts(&self, best: usize, climbs: usize, apart: f64) -> Vec<usize> {
        let starts = self.pool.points();
        let mut chosen = vec![best];
        while chosen.len() < climbs {
            let is_apart = |i: usize| {
                let squared = |j: usize| Distance::SquaredEuclidean.between(starts.row(i), starts.row(j));
                chosen.iter().all(|&j| squared(j) > apart * apart)
            };
            let score = |i: usize| self.scores.score(self.ledger.mean_factor(), i);
            match sum::argmax_by(starts.len(), |i| is_apart(i).then(|| score(i))) {
                Some((next, _)) => chosen.push(next),
                None => break,
            }
        }
        chosen
    }

    /// Eq. 7 at any point, its gradient, and its terms. Costs one gradient of μ and one kernel for each point chosen so
    /// far.
    fn score_anywhere(&self, x: &[f64], gradient: &mut [f64]) -> (f64, Evaluated) {
        let (mu, factor) = (self.pool.embedding(), self.ledger.mean_factor());
        let kernel = mu.kernel();
        let mu = mu.gradient_into(x, gradient);
        gradient.iter_mut().for_each(|g| *g *= factor);
        let (values, masses) = self.ledger.chosen();
        let chosen = sum::add_gradient_into(kernel, x, values, masses, -1.0, gradient);
        let diagonal = kernel.diagonal(x);
        let mut score = factor * mu - chosen;
        if !kernel.has_constant_diagonal() {
            score -= diagonal / 2.0;
            // ∇ k(x, x)/2 is the gradient of k(·, x) at x, because k is symmetric.
            kernel.add_gradient(x, x, -1.0, gradient);
        }
        (score, Evaluated { mu, chosen, diagonal })
    }
}
