//! Non-negative weights that sum to one: the least E² over the simplex, by an active-set method.
//!
//! The point of the convex hull of the φ(xₜ) that is nearest to μ, found as Wolfe (1976) does: a support is kept on
//! which the weights are positive and optimal; the point of the steepest slope joins it; where the weights that are
//! then optimal are not all positive, they are approached until the first reaches 0, which leaves. E² falls at every
//! step, so no support is met twice.

use rayon::prelude::*;

use super::{KernelMatrix, with_sum_one};
use crate::{Error, Progress, Result, Watch, linalg};

/// Largest number of steps, as a multiple of the number of points; less than one is usual.
const MAX_ROUNDS: usize = 20;

/// Returns the weights, and whether no slope is left. If one is left, they are the last and best weights met.
pub(super) fn weights(
    matrix: &KernelMatrix,
    z: &[f64],
    jitter: f64,
    watch: Watch,
) -> Result<(Vec<f64>, bool)> {
    // Slopes are differences of sums of kernel values; the least squared error is missed by at most twice a slope.
    let floor = 1e-12 * matrix.largest;
    let mut support = Support::new(matrix, z, jitter);
    let mut slopes = vec![0.0; z.len()];
    // Points that joined and left at once, which only rounding can cause.
    let mut is_refused = vec![false; z.len()];
    for _ in 0..MAX_ROUNDS * z.len() {
        if watch(Progress::Weighing { done: support.points.len(), total: z.len() }).is_break() {
            return Err(Error::Interrupted);
        }
        let level = support.slopes_into(&mut slopes);
        let outside = (0..z.len()).filter(|&i| !support.contains[i] && !is_refused[i]);
        let steepest = outside.reduce(|a, b| if slopes[b] < slopes[a] { b } else { a });
        let Some(next) = steepest.filter(|&i| slopes[i] < level - floor) else {
            return Ok((support.all_weights(), is_refused.iter().all(|refused| !refused)));
        };
        if support.join(next) && support.settle() && support.contains[next] {
            is_refused.fill(false);
        } else {
            is_refused[next] = true;
        }
    }
    Ok((support.all_weights(), false))
}

/// Points with positive weights, and the Cholesky factor of their kernel matrix.
struct Support<'a> {
    matrix: &'a KernelMatrix,
    z: &'a [f64],
    jitter: f64,
    points: Vec<usize>,
    weights: Vec<f64>,
    contains: Vec<bool>,
    /// The lower triangle, row by row.
    lower: Vec<Vec<f64>>,
}

impl<'a> Support<'a> {
    /// The single point that is nearest to μ.
    fn new(matrix: &'a KernelMatrix, z: &'a [f64], jitter: f64) -> Support<'a> {
        let distance = |i: usize| matrix.row(i)[i] - 2.0 * z[i];
        let nearest = (0..z.len()).reduce(|a, b| if distance(b) < distance(a) { b } else { a });
        let contains = vec![false; z.len()];
        let (points, weights, lower) = (Vec::new(), Vec::new(), Vec::new());
        let mut support = Support { matrix, z, jitter, points, weights, contains, lower };
        support.join(nearest.expect("there is a point"));
        support.weights[0] = 1.0;
        support
    }

    fn all_weights(&self) -> Vec<f64> {
        let mut all = vec![0.0; self.z.len()];
        let total: f64 = self.weights.iter().sum();
        self.points.iter().zip(&self.weights).for_each(|(&point, w)| all[point] = w / total);
        all
    }

    /// Half the slope of E² towards each point, K·w − z, and its level on the support, where all are equal.
    fn slopes_into(&self, slopes: &mut [f64]) -> f64 {
        const CHUNK: usize = 512;
        slopes.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, slopes)| {
            let columns = chunk * CHUNK..chunk * CHUNK + slopes.len();
            slopes.iter_mut().zip(&self.z[columns.clone()]).for_each(|(slope, z)| *slope = -z);
            for (&point, w) in self.points.iter().zip(&self.weights) {
                let row = &self.matrix.row(point)[columns.clone()];
                slopes.iter_mut().zip(row).for_each(|(slope, k)| *slope += w * k);
            }
        });
        self.points.iter().zip(&self.weights).map(|(&point, w)| w * slopes[point]).sum()
    }

    /// Appends a point with weight 0. Returns false, and changes nothing, if its pivot is rounding noise.
    fn join(&mut self, point: usize) -> bool {
        let row = self.matrix.row(point);
        let mut line: Vec<f64> = self.points.iter().map(|&other| row[other]).collect();
        for at in 0..line.len() {
            let known = linalg::dot(&self.lower[at][..at], &line[..at]);
            line[at] = (line[at] - known) / self.lower[at][at];
        }
        let pivot = row[point] + self.jitter - linalg::dot(&line, &line);
        if pivot.is_nan() || pivot <= 0.25 * self.jitter {
            return false;
        }
        line.push(pivot.sqrt());
        self.lower.push(line);
        self.points.push(point);
        self.weights.push(0.0);
        self.contains[point] = true;
        true
    }

    /// Takes the point at `place` out: the factor without its row, rotated back to a triangle.
    fn leave(&mut self, place: usize) {
        let point = self.points.remove(place);
        self.weights.remove(place);
        self.contains[point] = false;
        self.lower.remove(place);
        for column in place..self.lower.len() {
            let (a, b) = (self.lower[column][column], self.lower[column][column + 1]);
            let length = a.hypot(b);
            let (cosine, sine) = (a / length, b / length);
            for line in &mut self.lower[column..] {
                let (x, y) = (line[column], line[column + 1]);
                (line[column], line[column + 1]) = (cosine * x + sine * y, cosine * y - sine * x);
            }
            self.lower[column].truncate(column + 1);
        }
    }

    /// Moves to the optimal weights of the support and drops points that reach 0. Returns whether it moved.
    fn settle(&mut self) -> bool {
        let mut moved = false;
        loop {
            let goal = self.best_weights();
            let blocked = |(w, goal): (&f64, &f64)| (*goal <= 0.0).then(|| w / (w - goal));
            let steps: Vec<Option<f64>> = self.weights.iter().zip(&goal).map(blocked).collect();
            let Some(step) = steps.iter().flatten().copied().reduce(f64::min) else {
                self.weights = goal;
                return true;
            };
            moved |= step > 0.0;
            self.weights.iter_mut().zip(&goal).for_each(|(w, goal)| *w += step * (goal - *w));
            for place in (0..steps.len()).rev() {
                if steps[place].is_some_and(|own| own <= step) {
                    self.leave(place);
                }
            }
            if self.points.len() == 1 {
                self.weights[0] = 1.0;
                return moved;
            }
        }
    }

    /// The weights of least E² on the support that sum to one, of either sign.
    fn best_weights(&self) -> Vec<f64> {
        let z: Vec<f64> = self.points.iter().map(|&point| self.z[point]).collect();
        with_sum_one(&z, |b| self.solve(b))
    }

    fn solve(&self, b: &mut [f64]) {
        for (row, line) in self.lower.iter().enumerate() {
            b[row] = (b[row] - linalg::dot(&line[..row], &b[..row])) / line[row];
        }
        for (row, line) in self.lower.iter().enumerate().rev() {
            b[row] /= line[row];
            let (before, at) = b.split_at_mut(row);
            before.iter_mut().zip(line).for_each(|(b, l)| *b -= l * at[0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;
    use crate::embedding::Values;
    use crate::linalg::Factor;
    use crate::{Kernel, Points, unwatched};

    /// Wolfe's inner cycle with the matrix of the support written out and factorised anew at every step.
    fn settled(matrix: &KernelMatrix, z: &[f64], jitter: f64, support: &mut Vec<(usize, f64)>) {
        while support.len() > 1 {
            let points: Vec<usize> = support.iter().map(|(point, _)| *point).collect();
            let values = points.iter().flat_map(|&i| points.iter().map(move |&j| matrix.row(i)[j])).collect();
            let factor = Factor::new(values, points.len(), jitter, 0.0).unwrap();
            let own: Vec<f64> = points.iter().map(|&point| z[point]).collect();
            let goal = with_sum_one(&own, |b| factor.solve(b));
            // The share of the way to the goal at which each weight that is to vanish does.
            let share = |at: usize, w: f64| if goal[at] <= 0.0 { w / (w - goal[at]) } else { f64::INFINITY };
            let shares: Vec<f64> = support.iter().enumerate().map(|(at, (_, w))| share(at, *w)).collect();
            let first = shares.iter().copied().fold(1.0, f64::min);
            support.iter_mut().zip(&goal).for_each(|((_, w), goal)| *w = (1.0 - first) * *w + first * goal);
            if first == 1.0 {
                return;
            }
            let mut shares = shares.iter();
            support.retain(|_| *shares.next().unwrap() > first);
        }
        support[0].1 = 1.0;
    }

    #[test]
    fn settling_drops_the_points_whose_weights_vanish_in_their_order() {
        let mut rng = Pcg64::seed_from_u64(8);
        let (jitter, mut dropped) = (1e-12, [0; 10]);
        for case in 0..200 {
            let numbers = (0..20).map(|_| rng.random_range(-1.0..1.0)).collect();
            let points = Points::from_vec(numbers, 2).unwrap();
            let matrix = KernelMatrix::new(Values::Kernel(&Kernel::gaussian(0.7).unwrap()), &points);
            let z: Vec<f64> = (0..10).map(|_| rng.random_range(0.0..1.0)).collect();
            let mut support = Support::new(&matrix, &z, jitter);
            (0..10).filter(|&i| i != support.points[0]).collect::<Vec<_>>().into_iter().for_each(|i| {
                support.join(i);
            });
            let raw: Vec<f64> = (0..10).map(|_| rng.random_range(0.01..1.0)).collect();
            support.weights = raw.iter().map(|w| w / raw.iter().sum::<f64>()).collect();
            let mut want: Vec<(usize, f64)> =
                support.points.iter().copied().zip(support.weights.iter().copied()).collect();
            settled(&matrix, &z, jitter, &mut want);
            assert!(support.settle(), "{case}");
            assert!(support.points.iter().eq(want.iter().map(|(point, _)| point)), "{case}");
            for (w, (_, want)) in support.weights.iter().zip(&want) {
                assert!((w - want).abs() < 1e-8, "{case}: {w} {want}");
            }
            dropped[10 - want.len()] += 1;
        }
        assert!(dropped[3..].iter().sum::<i32>() > 100, "{dropped:?}");
    }

    #[test]
    fn a_point_that_leaves_as_it_came_has_moved_nothing() {
        let identity = KernelMatrix { values: vec![1.0, 0.0, 0.0, 1.0], count: 2, largest: 1.0 };
        // The optimal weights are (3, −2) in one order and (−2, 3) in the other.
        for (z, moves, stays) in [([5.0, 0.0], false, 0), ([0.0, 5.0], true, 1)] {
            let mut support = Support::new(&identity, &z, 0.0);
            if support.points == [1] {
                support.leave(0);
                support.join(0);
                support.weights[0] = 1.0;
            }
            assert!(support.join(1));
            assert_eq!(support.settle(), moves);
            assert_eq!((support.points, support.weights), (vec![stays], vec![1.0]));
        }
    }

    #[test]
    fn a_point_without_a_pivot_does_not_join_and_the_weights_are_not_called_optimal() {
        // Indefinite, as rounding alone could make a matrix. Next to the first point the slope is 1 − 0.9.
        let matrix = KernelMatrix { values: vec![1.0, 0.5, 0.5, 0.2], count: 2, largest: 1.0 };
        let jitter = 1e-12;
        assert_eq!(weights(&matrix, &[0.9, 0.39], jitter, &unwatched), Ok((vec![1.0, 0.0], true)));
        assert_eq!(weights(&matrix, &[0.9, 0.41], jitter, &unwatched), Ok((vec![1.0, 0.0], false)));
        let mut support = Support::new(&matrix, &[0.9, 0.41], jitter);
        assert!(!support.join(1));
        assert_eq!((support.points, support.contains, support.lower.len()), (vec![0], vec![true, false], 1));
    }
}
