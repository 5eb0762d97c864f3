//! The search of eq. 7 over all of space, section 3.1.1 of the paper: from the best auxiliary points, uphill.

use rayon::prelude::*;

use super::{Herder, Pick, Start};
use crate::ascent::{AscentOptions, Summit, climb};
use crate::kernel::Distance;
use crate::ledger::Evaluated;
use crate::sum;

impl Herder {
    /// The next pick: the highest summit reached from the best start and, if asked, from others.
    pub(super) fn climb_from(&mut self, best: usize, options: AscentOptions) -> Pick {
        let length = self.mu.kernel().bandwidths().iter().copied().reduce(f64::min).unwrap_or(1.0);
        let starts = self.best_starts(best, options.climbs, 0.5 * length);
        let climb_one = |&start: &usize| {
            let x = self.domain.candidates().row(start);
            climb(|x, gradient| self.score_anywhere(x, gradient).0, x, length, &options)
        };
        let summits: Vec<Summit> = match starts[..] {
            [_] => starts.iter().map(climb_one).collect(),
            _ => starts.par_iter().map(climb_one).collect(),
        };
        let higher = |a: Summit, b: Summit| if b.value > a.value { b } else { a };
        let summit = summits.into_iter().reduce(higher).expect("there is at least one start");
        let (score, known) = self.score_anywhere(&summit.point, &mut vec![0.0; summit.point.len()]);
        self.accept(&summit.point, None, score, known, summit.converged)
    }

    /// The starts of highest score that lie further than `apart` from each other, best first.
    fn best_starts(&self, best: usize, climbs: usize, apart: f64) -> Vec<usize> {
        let starts = self.domain.candidates();
        let mut chosen = vec![best];
        while chosen.len() < climbs {
            let is_apart = |i: usize| {
                let squared = |j: usize| Distance::SquaredEuclidean.between(starts.row(i), starts.row(j));
                chosen.iter().all(|&j| squared(j) > apart * apart)
            };
            let score = |i: usize| self.candidates.score(self.ledger.share(), i);
            match sum::argmax_by(starts.len(), |i| is_apart(i).then(|| score(i))) {
                Some((next, _)) => chosen.push(next),
                None => break,
            }
        }
        chosen
    }

    /// Eq. 7 at any point, its gradient, and the parts it is made of. Costs one gradient of μ and one kernel for
    /// each point chosen so far.
    fn score_anywhere(&self, x: &[f64], gradient: &mut [f64]) -> (f64, Evaluated) {
        let (kernel, share) = (self.mu.kernel(), self.ledger.share());
        let mu = self.mu.gradient_into(x, gradient);
        gradient.iter_mut().for_each(|g| *g *= share);
        let chosen =
            sum::add_gradient_into(kernel, x, &self.chosen_rows, &self.chosen_weights, -1.0, gradient);
        let function = match &self.start {
            Start::Function(f) => {
                let (rows, weights) = (f.points().as_slice(), f.coefficients());
                sum::add_gradient_into(kernel, x, rows, weights, 1.0, gradient)
            }
            _ => 0.0,
        };
        let diagonal = kernel.diagonal(x);
        let mut score = function + share * mu - chosen;
        if !kernel.has_constant_diagonal() {
            score -= diagonal / 2.0;
            // ∇ k(x, x)/2 is the gradient of k(·, x) at x, because k is symmetric.
            kernel.add_gradient(x, x, -1.0, gradient);
        }
        (score, Evaluated { mu, chosen, function, diagonal })
    }
}
