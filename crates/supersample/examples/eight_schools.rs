//! Draws the posterior of the eight-schools model (Rubin 1981) as a CSV: the example file of the repository.
//!
//! `cargo run --release -p supersample --example eight_schools > examples/eight_schools.csv`
//!
//! School j reports an effect y_j with standard error s_j; y_j ~ N(theta_j, s_j²), theta_j ~ N(mu, tau²),
//! mu ~ N(0, 5²), tau ~ half-Cauchy(5). With the theta integrated out, (mu, log tau) is two-dimensional and is walked by
//! Metropolis steps; the theta then follow exactly.

use std::fmt::Write;

use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;

const EFFECTS: [f64; 8] = [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0];
const STANDARD_ERRORS: [f64; 8] = [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0];

const CHAINS: u64 = 4;
const DRAWS: usize = 1000;
const STEPS_PER_DRAW: usize = 10;
const WARM_UP_STEPS: usize = 2000;

#[expect(clippy::print_stdout, reason = "the file is this program's output")]
#[allow(dead_code, reason = "a test includes this file for its draws")]
fn main() {
    print!("{}", csv());
}

/// The whole file.
pub(crate) fn csv() -> String {
    let mut text = String::from("chain,draw,mu,tau");
    (1..=8).for_each(|j| write!(text, ",theta.{j}").unwrap());
    text.push('\n');
    for chain in 0..CHAINS {
        let mut rng = Pcg64::seed_from_u64(1981 + chain);
        let mut state = (normal(&mut rng), normal(&mut rng));
        (0..WARM_UP_STEPS).for_each(|_| state = metropolis_step(state, &mut rng));
        for draw in 0..DRAWS {
            (0..STEPS_PER_DRAW).for_each(|_| state = metropolis_step(state, &mut rng));
            let (mu, tau) = (state.0, state.1.exp());
            write!(text, "{},{},{mu:.5},{tau:.5}", chain + 1, draw + 1).unwrap();
            for (y, s) in EFFECTS.iter().zip(STANDARD_ERRORS) {
                let precision = 1.0 / (tau * tau) + 1.0 / (s * s);
                let mean = (mu / (tau * tau) + y / (s * s)) / precision;
                write!(text, ",{:.5}", mean + normal(&mut rng) / precision.sqrt()).unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// log p(mu, log tau | y) up to a constant, the theta integrated out: y_j ~ N(mu, tau² + s_j²).
fn log_posterior((mu, log_tau): (f64, f64)) -> f64 {
    let tau = log_tau.exp();
    let schools = EFFECTS.iter().zip(STANDARD_ERRORS).map(|(y, s)| {
        let variance = tau * tau + s * s;
        -0.5 * (variance.ln() + (y - mu).powi(2) / variance)
    });
    // The last term is the Jacobian of tau = exp(log tau).
    schools.sum::<f64>() - 0.5 * (mu / 5.0).powi(2) - (1.0 + (tau / 5.0).powi(2)).ln() + log_tau
}

fn metropolis_step(state: (f64, f64), rng: &mut Pcg64) -> (f64, f64) {
    let proposal = (state.0 + 4.0 * normal(rng), state.1 + 1.2 * normal(rng));
    let log_ratio = log_posterior(proposal) - log_posterior(state);
    if rng.random::<f64>().ln() < log_ratio { proposal } else { state }
}

fn normal(rng: &mut Pcg64) -> f64 {
    rng.sample(StandardNormal)
}
