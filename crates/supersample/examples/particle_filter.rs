//! A particle filter that keeps 50 of 1,000 predicted particles and weighs only these, against the exact (Kalman) filter.
//!
//! `cargo run --release -p supersample --example particle_filter`

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;
use supersample::task::{Choose, Problem};
use supersample::{Points, Result, unwatched};

const STEPS: usize = 40;
const KEPT: usize = 50;
const PREDICTED: usize = 1000;
/// x' = 0.9 x + noise, y = x + noise, both of unit variance.
const DECAY: f64 = 0.9;

/// `KEPT` of the predicted particles, of equal weight.
fn kept(cloud: &[f64]) -> Result<Vec<f64>> {
    let choose = Choose::thin(KEPT)?.unique(false).search(Some(0)).diagnosis(false);
    let target = Problem::new(Points::from_rows(cloud, 1)?, choose)?.prepare(&unwatched)?;
    Ok(target.choose(&unwatched)?.rows.iter().map(|&row| cloud[row]).collect())
}

fn weighed(particles: &[f64], y: f64) -> Vec<f64> {
    let weights: Vec<f64> = particles.iter().map(|x| (-0.5 * (x - y).powi(2)).exp()).collect();
    let total: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / total).collect()
}

/// `count` particles by systematic resampling, each moved.
fn moved(particles: &[f64], weights: &[f64], count: usize, rng: &mut Pcg64) -> Vec<f64> {
    let offset: f64 = rng.random();
    let (mut at, mut reached) = (0, weights[0]);
    let mut next = |i: usize| {
        while reached < (i as f64 + offset) / count as f64 && at + 1 < weights.len() {
            at += 1;
            reached += weights[at];
        }
        let noise: f64 = rng.sample(StandardNormal);
        DECAY * particles[at] + noise
    };
    (0..count).map(&mut next).collect()
}

pub(crate) fn main() -> Result<()> {
    let mut rng = Pcg64::seed_from_u64(1);
    let normal = |rng: &mut Pcg64| -> f64 { rng.sample(StandardNormal) };
    let (mut plain, mut chosen) = (0.0, 0.0);
    for _ in 0..20 {
        let (mut state, mut mean, mut variance) = (normal(&mut rng), 0.0, 1.0);
        let mut drawn: Vec<f64> = (0..KEPT).map(|_| normal(&mut rng)).collect();
        let mut cloud: Vec<f64> = (0..PREDICTED).map(|_| normal(&mut rng)).collect();
        for _ in 0..STEPS {
            let y = state + normal(&mut rng);
            let gain = variance / (variance + 1.0);
            mean += gain * (y - mean);
            let of = |particles: &[f64], weights: &[f64]| -> f64 {
                particles.iter().zip(weights).map(|(x, w)| x * w).sum()
            };
            let weights = weighed(&drawn, y);
            plain += (of(&drawn, &weights) - mean).powi(2);
            drawn = moved(&drawn, &weights, KEPT, &mut rng);
            let particles = kept(&cloud)?;
            let weights = weighed(&particles, y);
            chosen += (of(&particles, &weights) - mean).powi(2);
            cloud = moved(&particles, &weights, PREDICTED, &mut rng);
            (mean, variance) = (DECAY * mean, DECAY * DECAY * gain + 1.0);
            state = DECAY * state + normal(&mut rng);
        }
    }
    let ratio = (chosen / plain).sqrt();
    println!("error of the filter mean, relative to the bootstrap filter with {KEPT} particles: {ratio:.2}");
    assert!(ratio < 0.4);
    Ok(())
}
