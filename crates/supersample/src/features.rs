//! Herding with explicit features, eq. 1 and 2 as they stand: a finite set of states, each with a feature vector.

use crate::ledger::CompensatedSum;
use crate::{Error, Points, Result, points, sum};

/// Herding on feature vectors φ(x) that are written out, with w kept explicitly.
///
/// A step costs states × features. Use it when the features are few and known; a [`Herder`](crate::Herder) with a
/// kernel stands for infinitely many. Unlike the herder's greedy step it makes no correction for features of unequal
/// length: this is the paper's update and nothing else.
///
/// ```
/// use supersample::{FeatureHerder, Points};
/// // Three states with one-hot features; the target probabilities are 1/2, 1/3, 1/6.
/// let states = Points::from_rows(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 3)?;
/// let herder = FeatureHerder::new(states, vec![3.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0])?;
/// let picks: Vec<usize> = herder.take(6).map(|pick| pick.state).collect();
/// let count = |state| picks.iter().filter(|&&s| s == state).count();
/// assert_eq!((count(0), count(1), count(2)), (3, 2, 1));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FeatureHerder {
    states: Points,
    target: Vec<f64>,
    weights: Vec<f64>,
    chosen: Vec<CompensatedSum>,
    t: usize,
}

/// One state picked, and what the theory says of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FeaturePick {
    /// T, the number of picks so far, this one included.
    pub t: usize,
    /// The state.
    pub state: usize,
    /// ⟨w, φ(x)⟩ before this pick, by which it won (eq. 1).
    pub score: f64,
    /// ‖μ − (1/T) Σ φ(xₜ)‖, eq. 5.
    pub error: f64,
    /// ‖w_T‖ after this pick.
    pub weight_norm: f64,
    /// The margin of eq. 15; `None` where w or φ(x) − μ vanishes.
    pub margin: Option<f64>,
}

impl FeatureHerder {
    /// A row of `states` is the feature vector of a state; `target` is the vector of moments μ. Starts at w0 = μ.
    pub fn new(states: Points, target: Vec<f64>) -> Result<FeatureHerder> {
        check("the target moments", "moment", &target, states.dim())?;
        Ok(FeatureHerder {
            weights: target.clone(),
            chosen: vec![CompensatedSum::default(); target.len()],
            target,
            states,
            t: 0,
        })
    }

    /// The moments are the weighted mean of the feature vectors of data; equal weights where none are given.
    pub fn from_data(states: Points, data: &Points, weights: Option<&[f64]>) -> Result<FeatureHerder> {
        data.expect_dim("the data", "the states", states.dim())?;
        let equal = vec![1.0; data.len()];
        let weights = points::normalised(weights.unwrap_or(&equal), "rows of data", data.len())?;
        let mut target = vec![0.0; data.dim()];
        for (row, weight) in data.rows().zip(weights) {
            target.iter_mut().zip(row).for_each(|(t, x)| *t += weight * x);
        }
        FeatureHerder::new(states, target)
    }

    /// Starts at this w0 instead, with no picks yet.
    pub fn start(mut self, w0: Vec<f64>) -> Result<FeatureHerder> {
        check("the starting weights", "starting weight", &w0, self.states.dim())?;
        self.weights = w0;
        self.chosen.fill(CompensatedSum::default());
        self.t = 0;
        Ok(self)
    }

    /// The current w.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The moments μ to be matched.
    pub fn target(&self) -> &[f64] {
        &self.target
    }

    /// The next `n` picks.
    pub fn run(&mut self, n: usize) -> Vec<FeaturePick> {
        self.by_ref().take(n).collect()
    }
}

fn check(what: &'static str, item: &'static str, values: &[f64], expected: usize) -> Result<()> {
    if values.len() != expected {
        return Err(Error::DimensionMismatch { what, found: values.len(), against: "the states", expected });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(Error::NonFiniteNumber { what: item, index, value: values[index] }),
        None => Ok(()),
    }
}

impl Iterator for FeatureHerder {
    type Item = FeaturePick;

    fn next(&mut self) -> Option<FeaturePick> {
        let FeatureHerder { states, target, weights, chosen, t } = self;
        // Eq. 1.
        let (state, score) = sum::argmax_by(states.len(), |i| Some(dot(weights, states.row(i))))?;
        let phi = states.row(state);
        let offset = || phi.iter().zip(&*target).map(|(x, m)| x - m);
        let lengths = norm(weights.iter().copied()) * norm(offset());
        let margin =
            (lengths > 0.0).then(|| weights.iter().zip(offset()).map(|(w, c)| w * c).sum::<f64>() / lengths);
        // Eq. 2.
        for ((w, x), m) in weights.iter_mut().zip(phi).zip(&*target) {
            *w += m - x;
        }
        chosen.iter_mut().zip(phi).for_each(|(sum, &x)| sum.add(x));
        *t += 1;
        // Eq. 5, from the picks and not from w, so that it holds for any w0.
        let error = norm(target.iter().zip(&*chosen).map(|(m, sum)| m - sum.total() / *t as f64));
        Some(FeaturePick { t: *t, state, score, error, weight_norm: norm(weights.iter().copied()), margin })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|value| value * value).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Domain, Empirical, Herder, Kernel};

    /// Feature vectors of length one, for which the greedy step of the herder is eq. 1.
    fn circle(n: usize) -> Points {
        let angles = (0..n).map(|i| (i * i) as f64 * 0.37 + 0.1);
        Points::from_vec(angles.flat_map(|a| [a.cos(), a.sin()]).collect(), 2).unwrap()
    }

    #[test]
    fn on_features_of_one_length_it_is_kernel_herding_with_the_linear_kernel() {
        let states = circle(30);
        let mut features = FeatureHerder::from_data(states.clone(), &states, None).unwrap();
        let mu = Empirical::new(Kernel::linear(), states.clone()).unwrap();
        for pick in Herder::new(mu, Domain::Pool(states)).unwrap().take(200) {
            let same = features.next().unwrap();
            assert_eq!(Some(same.state), pick.index, "T={}", pick.t);
            assert!((same.error - pick.error.unwrap()).abs() < 1e-7);
            assert!((same.weight_norm - pick.weight_norm.unwrap()).abs() < 1e-6);
            assert!((same.margin.unwrap() - pick.margin.unwrap()).abs() < 1e-6);
        }
    }

    #[test]
    fn w_follows_equation_2_from_any_start_and_stays_bounded() {
        let states = circle(7);
        let target = vec![0.2, -0.1];
        let mut herder =
            FeatureHerder::new(states.clone(), target.clone()).unwrap().start(vec![5.0, -3.0]).unwrap();
        let picks = herder.run(1000);
        for (i, m) in target.iter().enumerate() {
            let sum: f64 = picks.iter().map(|pick| states.row(pick.state)[i]).sum();
            let want = [5.0, -3.0][i] + 1000.0 * m - sum;
            assert!((herder.weights()[i] - want).abs() < 1e-9);
        }
        assert!(picks.iter().all(|pick| pick.weight_norm < 10.0));
        // Proposition 1: the moments are matched at rate 1/T, from this start too.
        assert!(picks[999].error < 10.0 / 1000.0, "{}", picks[999].error);
    }

    #[test]
    fn moments_are_the_weighted_mean_of_the_data() {
        let data = Points::from_rows(&[1.0, 0.0, 0.0, 1.0], 2).unwrap();
        let herder = FeatureHerder::from_data(circle(3), &data, Some(&[3.0, 1.0])).unwrap();
        assert_eq!(herder.target(), [0.75, 0.25]);
        assert_eq!(herder.weights(), [0.75, 0.25]);
    }

    #[test]
    fn bad_moments_starts_and_data_are_refused() {
        let states = circle(3);
        let mismatch = |e: Error| matches!(e, Error::DimensionMismatch { .. });
        assert!(mismatch(FeatureHerder::new(states.clone(), vec![1.0]).unwrap_err()));
        let nan = FeatureHerder::new(states.clone(), vec![0.0, f64::NAN]).unwrap_err();
        assert!(nan.to_string().starts_with("moment 1 is NaN"), "{nan}");
        let herder = FeatureHerder::new(states.clone(), vec![0.0, 0.0]).unwrap();
        assert!(mismatch(herder.clone().start(vec![0.0; 3]).unwrap_err()));
        assert!(herder.start(vec![0.0, f64::INFINITY]).is_err());
        let line = Points::from_rows(&[1.0, 2.0], 1).unwrap();
        assert!(mismatch(FeatureHerder::from_data(states.clone(), &line, None).unwrap_err()));
        assert!(FeatureHerder::from_data(states.clone(), &states, Some(&[1.0])).is_err());
    }
}
