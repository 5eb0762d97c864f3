//! Herding with explicit features, eq. 1 and 2 as they stand: `cargo run -p experiments --example features`.

use anyhow::{Result, ensure};
use supersample::Points;

/// Herding on feature vectors φ(x) that are written out, with w kept explicitly. A step costs states × features.
///
/// Unlike the greedy step of the library's `Herder` it makes no correction for features of unequal length: this is the
/// paper's update and nothing else.
struct FeatureHerder {
    /// A row is the feature vector of a state.
    states: Points,
    /// The moments μ to be matched.
    target: Vec<f64>,
    /// The current w.
    weights: Vec<f64>,
    /// Σ φ over the picks.
    chosen: Vec<f64>,
    t: usize,
}

/// One state picked, and what the theory says of it.
struct FeaturePick {
    /// T, the number of picks so far, this one included.
    t: usize,
    state: usize,
    /// ‖μ − (1/T) Σ φ(xₜ)‖, eq. 5.
    error: f64,
    /// ‖w_T‖ after this pick.
    weight_norm: f64,
    /// The margin of eq. 15; `None` where w or φ(x) − μ vanishes.
    margin: Option<f64>,
}

impl FeatureHerder {
    /// Starts at w0 = μ.
    fn new(states: Points, target: Vec<f64>) -> Result<FeatureHerder> {
        let w0 = target.clone();
        FeatureHerder::starting_at(states, target, w0)
    }

    fn starting_at(states: Points, target: Vec<f64>, w0: Vec<f64>) -> Result<FeatureHerder> {
        for (what, values) in [("moments", &target), ("starting weights", &w0)] {
            let (found, expected) = (values.len(), states.dim());
            ensure!(found == expected, "{found} {what} for {expected} features");
            ensure!(values.iter().all(|value| value.is_finite()), "the {what} are not all finite");
        }
        Ok(FeatureHerder { chosen: vec![0.0; target.len()], weights: w0, target, states, t: 0 })
    }
}

impl Iterator for FeatureHerder {
    type Item = FeaturePick;

    fn next(&mut self) -> Option<FeaturePick> {
        let FeatureHerder { states, target, weights, chosen, t } = self;
        // Eq. 1; ties go to the first.
        let scores = states.rows().map(|phi| dot(weights, phi)).enumerate();
        let (state, _) = scores.reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        let phi = states.row(state);
        let offset: Vec<f64> = phi.iter().zip(&*target).map(|(x, m)| x - m).collect();
        let lengths = norm(weights) * norm(&offset);
        let margin = (lengths > 0.0).then(|| dot(weights, &offset) / lengths);
        // Eq. 2.
        weights.iter_mut().zip(&offset).for_each(|(w, c)| *w -= c);
        chosen.iter_mut().zip(phi).for_each(|(sum, x)| *sum += x);
        *t += 1;
        // Eq. 5, from the picks and not from w, so that it holds for any w0.
        let gap: Vec<f64> = target.iter().zip(&*chosen).map(|(m, sum)| m - sum / *t as f64).collect();
        Some(FeaturePick { t: *t, state, error: norm(&gap), weight_norm: norm(weights), margin })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(values: &[f64]) -> f64 {
    dot(values, values).sqrt()
}

/// Three states with one-hot features and the target probabilities 1/2, 1/3, 1/6.
fn three_states() -> Result<FeatureHerder> {
    let states = Points::from_rows(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], 3)?;
    FeatureHerder::new(states, vec![3.0 / 6.0, 2.0 / 6.0, 1.0 / 6.0])
}

fn main() -> Result<()> {
    println!("T  state  error   |w|     margin");
    for FeaturePick { t, state, error, weight_norm, margin } in three_states()?.take(12) {
        let margin = margin.map_or("none".to_string(), |margin| format!("{margin:.4}"));
        println!("{t:<2} {state:<6} {error:.4}  {weight_norm:.4}  {margin}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use supersample::{Domain, Empirical, Herder, Kernel};

    /// Feature vectors of length one, for which the greedy step of the herder is eq. 1.
    fn circle(n: usize) -> Points {
        let angles = (0..n).map(|i| (i * i) as f64 * 0.37 + 0.1);
        Points::from_vec(angles.flat_map(|a| [a.cos(), a.sin()]).collect(), 2).unwrap()
    }

    #[test]
    fn states_are_picked_as_often_as_they_are_likely() {
        let picks: Vec<usize> = three_states().unwrap().take(6).map(|pick| pick.state).collect();
        let count = |state| picks.iter().filter(|&&s| s == state).count();
        assert_eq!([0, 1, 2].map(count), [3, 2, 1]);
    }

    #[test]
    fn on_features_of_one_length_it_is_kernel_herding_with_the_linear_kernel() {
        let states = circle(30);
        let mean = |i: usize| states.rows().map(|phi| phi[i]).sum::<f64>() / 30.0;
        let mut features = FeatureHerder::new(states.clone(), vec![mean(0), mean(1)]).unwrap();
        let mu = Empirical::new(Kernel::linear(), states.clone()).unwrap();
        for pick in Herder::new(mu, Domain::Pool(states)).unwrap().take(200) {
            let same = features.next().unwrap();
            assert_eq!((same.t, Some(same.state)), (pick.t, pick.index));
            assert!((same.error - pick.error.unwrap()).abs() < 1e-7);
            assert!((same.weight_norm - pick.weight_norm.unwrap()).abs() < 1e-6);
            assert!((same.margin.unwrap() - pick.margin.unwrap()).abs() < 1e-6);
        }
    }

    #[test]
    fn w_follows_equation_2_from_any_start_and_stays_bounded() {
        let (states, target, w0) = (circle(7), vec![0.2, -0.1], vec![5.0, -3.0]);
        let mut herder = FeatureHerder::starting_at(states.clone(), target.clone(), w0.clone()).unwrap();
        let picks: Vec<FeaturePick> = herder.by_ref().take(1000).collect();
        for (i, m) in target.iter().enumerate() {
            let sum: f64 = picks.iter().map(|pick| states.row(pick.state)[i]).sum();
            assert!((herder.weights[i] - (w0[i] + 1000.0 * m - sum)).abs() < 1e-9);
        }
        assert!(picks.iter().all(|pick| pick.weight_norm < 10.0));
        // Proposition 1: the moments are matched at rate 1/T, from this start too.
        assert!(picks[999].error < 10.0 / 1000.0, "{}", picks[999].error);
    }

    #[test]
    fn bad_moments_and_starts_are_refused() {
        let refused = |target: Vec<f64>, w0: Vec<f64>| {
            FeatureHerder::starting_at(circle(3), target, w0).err().map(|error| error.to_string())
        };
        assert_eq!(refused(vec![1.0], vec![0.0; 2]).unwrap(), "1 moments for 2 features");
        assert_eq!(refused(vec![0.0, f64::NAN], vec![0.0; 2]).unwrap(), "the moments are not all finite");
        assert_eq!(refused(vec![0.0; 2], vec![0.0; 3]).unwrap(), "3 starting weights for 2 features");
        assert!(refused(vec![0.0; 2], vec![0.0, f64::INFINITY]).is_some());
    }
}
