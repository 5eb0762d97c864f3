//! Herded Gibbs sampling: compared with joint distributions that are known by summation, and with its form for two values.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample::{Error, HerdedGibbs};

/// A joint distribution of variables with three values each.
struct Joint {
    count: usize,
    probabilities: Vec<f64>,
}

impl Joint {
    fn random(count: usize, seed: u64) -> Joint {
        let mut random = Pcg64::seed_from_u64(seed);
        let weights: Vec<f64> =
            (0..3_usize.pow(count as u32)).map(|_| 0.1 + random.random::<f64>()).collect();
        let sum: f64 = weights.iter().sum();
        Joint { count, probabilities: weights.into_iter().map(|w| w / sum).collect() }
    }

    fn number(&self, state: &[usize]) -> usize {
        state.iter().fold(0, |number, value| 3 * number + value)
    }

    fn conditional(&self, i: usize, state: &[usize]) -> Vec<f64> {
        let mut state = state.to_vec();
        let joint: Vec<f64> = (0..3)
            .map(|value| {
                state[i] = value;
                self.probabilities[self.number(&state)]
            })
            .collect();
        let sum: f64 = joint.iter().sum();
        joint.into_iter().map(|p| p / sum).collect()
    }

    /// The total variation distance of the states after `sweeps` sweeps.
    fn variation(&self, sweeps: usize, mut update: impl FnMut(&[usize], usize) -> usize) -> f64 {
        let mut state = vec![0; self.count];
        let mut visits = vec![0.0; self.probabilities.len()];
        for _ in 0..sweeps {
            for i in 0..self.count {
                state[i] = update(&state, i);
            }
            visits[self.number(&state)] += 1.0 / sweeps as f64;
        }
        0.5 * visits.iter().zip(&self.probabilities).map(|(v, p)| (v - p).abs()).sum::<f64>()
    }
}

#[test]
fn states_have_the_joint_distribution_at_the_rate_1_over_t() {
    let joint = Joint::random(3, 5);
    let herded = |sweeps: usize| {
        let mut gibbs = HerdedGibbs::new(vec![0; 3], None, 2).unwrap();
        joint.variation(sweeps, |state, i| {
            assert_eq!(gibbs.state(), state);
            gibbs.update(i, &joint.conditional(i, state)).unwrap()
        })
    };
    let mut random = Pcg64::seed_from_u64(3);
    let by_chance = joint.variation(30_000, |state, i| {
        let mut left: f64 = random.random();
        let ends_here = |p: &f64| {
            left -= p;
            left < 0.0
        };
        joint.conditional(i, state).iter().position(ends_here).unwrap_or(2)
    });
    let (early, late) = (herded(1000), herded(30_000));
    // Thirty times as many sweeps: an error of 1/√T would fall by 5.5.
    assert!(late < early / 15.0, "{early} {late}");
    assert!(late < by_chance / 5.0, "{late} {by_chance}");
}

/// Bornn et al. have one weight for a variable of two values: up where it is positive.
#[test]
fn two_values_need_one_weight() {
    let mut gibbs = HerdedGibbs::new(vec![0], None, 7).unwrap();
    let mut random = Pcg64::seed_from_u64(7);
    let mut weight = 0.3 - (1.0 - random.random::<f64>());
    for _ in 0..1000 {
        let up = weight > 0.0;
        weight += 0.3 - f64::from(u8::from(up));
        assert_eq!(gibbs.update(0, &[0.7, 0.3]).unwrap(), usize::from(up));
    }
}

#[test]
fn configurations_of_the_neighbours_have_weights_of_their_own() {
    // The value of variable 0 goes round; variable 1 depends on it, variable 2 on nothing.
    let neighbours = vec![vec![], vec![0], vec![]];
    let mut gibbs = HerdedGibbs::new(vec![0; 3], Some(neighbours), 1).unwrap();
    let mut counts = [[0_i32; 2]; 2];
    let mut ones = 0;
    for t in 0..2000 {
        gibbs.update(0, &[f64::from(t % 2), f64::from((t + 1) % 2)]).unwrap();
        let at = gibbs.state()[0];
        let up = [0.25, 0.8][at];
        counts[at][gibbs.update(1, &[1.0 - up, up]).unwrap()] += 1;
        ones += gibbs.update(2, &[0.6, 0.4]).unwrap() as i32;
    }
    for (at, up) in [0.25, 0.8].into_iter().enumerate() {
        let visits = counts[at][0] + counts[at][1];
        assert!((f64::from(counts[at][1]) - up * f64::from(visits)).abs() <= 1.0, "{counts:?}");
    }
    assert!((ones - 800).abs() <= 1, "{ones}");
}

#[test]
fn what_is_no_distribution_is_refused() {
    let mut gibbs = HerdedGibbs::new(vec![0, 0], None, 1).unwrap();
    for (probabilities, said) in [
        (&[][..], "not negative"),
        (&[1.5, -0.5], "not negative"),
        (&[f64::NAN, 1.0], "not negative"),
        (&[0.5, 0.4], "sum to 0.9"),
        (&[f64::INFINITY, 0.0], "sum to inf"),
    ] {
        let error = gibbs.update(1, probabilities).unwrap_err();
        assert!(matches!(error, Error::BadConditional { variable: 1, .. }));
        assert!(error.to_string().contains(said), "{error}");
    }
    gibbs.update(1, &[0.5, 0.5]).unwrap();
    let error = gibbs.update(1, &[0.5, 0.25, 0.25]).unwrap_err();
    assert!(error.to_string().contains("3 values, and had 2"), "{error}");

    assert_eq!(HerdedGibbs::new(vec![], None, 1).unwrap_err(), Error::NoDimensions);
    for neighbours in [vec![vec![1]], vec![vec![1], vec![2]], vec![vec![0], vec![]]] {
        let error = HerdedGibbs::new(vec![0, 0], Some(neighbours), 1).unwrap_err();
        assert!(matches!(error, Error::BadNeighbours { .. }), "{error}");
    }
}
