//! Herds a density: points anywhere in the plane for a Gaussian mixture, until they are as accurate as 500 independent draws.
//!
//! `cargo run --release -p supersample --example herd_a_mixture`

use std::ops::ControlFlow;

use supersample::target::GaussianMixture;
use supersample::task::{Ended, ErrorScale, Stop, herd_until};
use supersample::{AscentOptions, ClosedForm, Domain, Herder, Kernel, Result, bandwidth};

pub(crate) fn main() -> Result<()> {
    let mixture = GaussianMixture::random(5, 2, 3)?;
    // Each pick climbs from the best of these.
    let starts = mixture.sample(500, 1)?;
    let kernel = Kernel::gaussian(bandwidth::median(&starts))?;
    let mu = ClosedForm::mixture(kernel, mixture)?;
    let mut herder = Herder::new(mu, Domain::Ascent { starts, options: AscentOptions::default() })?;
    let scale = ErrorScale::of(herder.pool());
    let stop = Stop::new(Some(200), None, Some(500.0))?;
    let chosen = herd_until(&mut herder, &[], &stop, |pick| {
        let draws = pick.error.and_then(|error| scale.equivalent_draws(error));
        println!("{:3}: {:8.4?} {:.0} equivalent draws", pick.t, pick.point, draws.unwrap_or_default());
        ControlFlow::Continue(())
    })?;
    println!("{} points, ended by the rule of {}", chosen.trace.len(), chosen.ended);
    assert_eq!(chosen.ended, Ended::EquivalentDraws);
    Ok(())
}
