//! Herded Gibbs sampling of discrete variables: Bornn, Chen, de Freitas, Eskelin, Fang and Welling, *Herded Gibbs Sampling*
//! (2013).
//!
//! A Gibbs sampler draws a variable from its conditional distribution by chance. Here every configuration of the variable's
//! neighbours has weights of its own, one for each value, and they are herded (eq. 1 and 2 of the paper, with the
//! indicators of the values as features):
//!
//! > x = argmax_v w_v,  w ← w + p − e_x.
//!
//! The weights stay bounded, so after m visits to a configuration each value was taken m·p_v times, up to a constant.
//! Chance leaves an error of √m there.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::error::{Error, Result};

/// How far from 1 the sum of the given probabilities may be.
const ROUNDING: f64 = 1e-6;

/// A Gibbs sampler of discrete variables whose values are herded, not drawn by chance.
///
/// The caller goes through the variables and gives the conditional probabilities of each:
///
/// ```
/// use supersample::HerdedGibbs;
///
/// // Two spins that agree with probability 0.9.
/// let mut gibbs = HerdedGibbs::new(vec![0, 0], None, 1)?;
/// let mut agree = 0;
/// for _ in 0..1000 {
///     for i in 0..2 {
///         let up = if gibbs.state()[1 - i] == 1 { 0.9 } else { 0.1 };
///         gibbs.update(i, &[1.0 - up, up])?;
///     }
///     agree += usize::from(gibbs.state()[0] == gibbs.state()[1]);
/// }
/// assert!((890..=910).contains(&agree));
/// # Ok::<(), supersample::Error>(())
/// ```
///
/// Memory grows with the number of configurations that are visited.
#[derive(Debug, Clone)]
pub struct HerdedGibbs {
    state: Vec<usize>,
    /// The variables that the conditional of each one depends on.
    neighbours: Vec<Vec<usize>>,
    /// The weights of a variable and a configuration of its neighbours.
    weights: HashMap<(usize, Box<[usize]>), Vec<f64>>,
    random: Pcg64,
}

impl HerdedGibbs {
    /// A sampler that starts at `start`, one value for each variable, counted from 0.
    ///
    /// `neighbours` names for each variable those that its conditional depends on; `None` means all others. Convergence at
    /// the rate 1/T is proved for complete graphs. The seed is that of the first weights.
    pub fn new(start: Vec<usize>, neighbours: Option<Vec<Vec<usize>>>, seed: u64) -> Result<HerdedGibbs> {
        let count = start.len();
        if count == 0 {
            return Err(Error::NoDimensions);
        }
        let all_others = || (0..count).map(|i| (0..count).filter(|j| *j != i).collect()).collect();
        let neighbours: Vec<Vec<usize>> = neighbours.unwrap_or_else(all_others);
        if neighbours.len() != count {
            let reason = format!("there are lists for {} variables, but {count} variables", neighbours.len());
            return Err(Error::BadNeighbours { reason });
        }
        for (variable, of_variable) in neighbours.iter().enumerate() {
            if let Some(other) = of_variable.iter().find(|j| **j >= count || **j == variable) {
                let reason = format!("variable {variable} of {count} (from 0) has the neighbour {other}");
                return Err(Error::BadNeighbours { reason });
            }
        }
        Ok(HerdedGibbs {
            state: start,
            neighbours,
            weights: HashMap::new(),
            random: Pcg64::seed_from_u64(seed),
        })
    }

    /// The values of all variables.
    pub fn state(&self) -> &[usize] {
        &self.state
    }

    /// Gives a variable its next value, which is returned, for the conditional `probabilities` of its values.
    ///
    /// # Panics
    ///
    /// If there is no such variable.
    pub fn update(&mut self, variable: usize, probabilities: &[f64]) -> Result<usize> {
        let sum: f64 = probabilities.iter().sum();
        let refused = |reason| Err(Error::BadConditional { variable, reason });
        if probabilities.is_empty() || !probabilities.iter().all(|p| *p >= 0.0) {
            return refused("probabilities that are not negative are needed".to_owned());
        }
        if sum.is_infinite() || (sum - 1.0).abs() > ROUNDING {
            return refused(format!("the probabilities sum to {sum}, not to 1"));
        }
        let around = self.neighbours[variable].iter().map(|j| self.state[*j]).collect();
        let weights = match self.weights.entry((variable, around)) {
            Entry::Occupied(weights) => weights.into_mut(),
            // Random weights whose sum is that of p − e_x: the first value is then random too. With two values it has
            // the conditional distribution.
            Entry::Vacant(place) => {
                let shares = spacings(probabilities.len(), &mut self.random);
                place.insert(probabilities.iter().zip(shares).map(|(p, share)| p / sum - share).collect())
            }
        };
        if weights.len() != probabilities.len() {
            let (now, before) = (probabilities.len(), weights.len());
            return refused(format!("it has {now} values, and had {before} before"));
        }
        let mut value = 0;
        for (other, weight) in weights.iter().enumerate() {
            if *weight > weights[value] {
                value = other;
            }
        }
        weights.iter_mut().zip(probabilities).for_each(|(weight, p)| *weight += p / sum);
        weights[value] -= 1.0;
        self.state[variable] = value;
        Ok(value)
    }
}

/// Lengths of the pieces into which `count − 1` random points cut the unit interval.
fn spacings(count: usize, random: &mut Pcg64) -> Vec<f64> {
    let mut cuts: Vec<f64> = (1..count).map(|_| random.random()).collect();
    cuts.sort_unstable_by(f64::total_cmp);
    cuts.push(1.0);
    let mut from = 0.0;
    cuts.into_iter().map(|to| to - std::mem::replace(&mut from, to)).collect()
}
