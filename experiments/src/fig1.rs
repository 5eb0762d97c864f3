//! Figure 1: the first 20 super-samples of a mixture in the plane, beside 20 independent draws.

use anyhow::Result;
use supersample::Points;
use supersample::linalg::{cholesky, solve_lower};
use supersample::target::GaussianMixture;

use crate::densities::{PLANE_BANDWIDTH, PLANE_SEED, STARTS_SEED, herd, plane};
use crate::report::{Finding, Report, Table};

const COUNT: usize = 20;
const STARTS: usize = 2000;
const DRAWS_SEED: u64 = 202;
/// A mode counts as met by a point within this many of its standard deviations.
const REACH: f64 = 2.0;
/// A mode of more weight than this deserves at least one point in 20.
const HEAVY: f64 = 0.05;

pub(crate) fn run() -> Result<Report> {
    let mixture = plane()?;
    let picks = herd(&mixture, PLANE_BANDWIDTH, STARTS)?.run(COUNT);
    let rows: Vec<f64> = picks.iter().flat_map(|pick| pick.point.to_vec()).collect();
    let herded = Points::from_vec(rows, 2)?;
    let random = mixture.sample(COUNT, DRAWS_SEED)?;

    let heavy = (0..mixture.len()).filter(|&i| mixture.weights()[i] > HEAVY).count();
    let (missed, missed_randomly) = (missed_modes(&mixture, &herded), missed_modes(&mixture, &random));
    let average = (0..200)
        .map(|seed| Ok(missed_modes(&mixture, &mixture.sample(COUNT, 1000 + seed)?) as f64 / 200.0))
        .sum::<Result<f64>>()?;
    let findings = vec![
        Finding::claim(
            format!(
                "modes of weight above {HEAVY} ({heavy} of {}) without a super-sample within {REACH} sd",
                mixture.len()
            ),
            missed.to_string(),
            "0",
            missed == 0,
        ),
        Finding::note("the same for these 20 independent draws", missed_randomly.to_string()),
        Finding::note("the same on average over 200 sets of 20 independent draws", format!("{average:.1}")),
    ];

    let mut table = Table::new(["t", "herding_x", "herding_y", "random_x", "random_y"]);
    for ((t, h), r) in (1..).zip(herded.rows()).zip(random.rows()) {
        table.push([f64::from(t), h[0], h[1], r[0], r[1]].map(Some));
    }
    Ok(Report {
        name: "fig1",
        title: "The first 20 super-samples against 20 independent draws",
        paper: "Independent draws leave some modes with too many points and others with none; super-samples repel \
                each other and are spread over the modes.",
        method: format!(
            "20 components in the plane (seed {PLANE_SEED}), Gaussian kernel of bandwidth {PLANE_BANDWIDTH}, ascent from \
             the best of {STARTS} draws (seed {STARTS_SEED}); independent draws: seed {DRAWS_SEED}."
        ),
        tables: vec![("", table), ("_mixture", components(&mixture))],
        findings,
    })
}

/// How many components of weight above [`HEAVY`] have no point within [`REACH`] standard deviations of their mean.
fn missed_modes(mixture: &GaussianMixture, points: &Points) -> usize {
    let is_missed = |&i: &usize| {
        let factor = cholesky(mixture.covariance(i), 2).expect("a mixture has definite covariances");
        points.rows().all(|x| {
            let mut gap: Vec<f64> = x.iter().zip(mixture.means().row(i)).map(|(a, m)| a - m).collect();
            solve_lower(&factor, &mut gap);
            let squared: f64 = gap.iter().map(|a| a * a).sum();
            squared > REACH * REACH
        })
    };
    (0..mixture.len()).filter(|&i| mixture.weights()[i] > HEAVY).filter(is_missed).count()
}

/// Weight, mean and covariance of each component, for the contours.
fn components(mixture: &GaussianMixture) -> Table {
    let mut table = Table::new(["weight", "x", "y", "xx", "xy", "yy"]);
    for i in 0..mixture.len() {
        let (mean, covariance) = (mixture.means().row(i), mixture.covariance(i));
        let row = [mixture.weights()[i], mean[0], mean[1], covariance[0], covariance[1], covariance[3]];
        table.push(row.map(Some));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_missed_when_no_point_is_near_in_its_own_measure() {
        let means = Points::from_rows(&[0.0, 0.0, 10.0, 0.0, 20.0, 0.0], 2).unwrap();
        let wide = vec![4.0, 0.0, 0.0, 0.01];
        let mixture =
            GaussianMixture::new(&[0.48, 0.48, 0.04], means, &[wide.clone(), wide.clone(), wide]).unwrap();
        let missed = |rows: &[f64]| missed_modes(&mixture, &Points::from_rows(rows, 2).unwrap());
        // The first is met along its wide axis, the second missed along its narrow one, the third too light to count.
        assert_eq!(missed(&[3.9, 0.0, 10.0, 0.3]), 1);
        assert_eq!(missed(&[3.9, 0.0, 10.0, 0.1]), 0);
    }

    #[test]
    fn the_claim_is_no_luck_of_the_seed() {
        for seed in 1..=12 {
            let mixture = GaussianMixture::random(20, 2, seed).unwrap();
            let mut herder = herd(&mixture, PLANE_BANDWIDTH, STARTS).unwrap();
            herder.run(COUNT);
            assert_eq!(missed_modes(&mixture, &herder.chosen().unwrap()), 0, "mixture {seed}");
        }
    }
}
