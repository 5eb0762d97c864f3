//! A preference for some rows, against what it adds to the error written out.

use crate::common;

use supersample::{
    Empirical, Error, Herder, Kernel, Marginals, Part, Points, Pool, Preference, RefineOptions, Refiner,
    unwatched,
};

const ROWS: usize = 50;
const WEIGHT: f64 = 0.03;

/// Rows with a density of their own, which is not that of the target.
struct Case {
    points: Points,
    log_density: Vec<f64>,
    laplacian: Option<Vec<f64>>,
    marginals: Option<Marginals>,
    pool: Pool,
}

fn case(seed: u64, kernel: &str, with_laplacian: bool, with_marginals: bool) -> Case {
    let points = common::random_points(ROWS, 2, &mut common::rng(seed));
    // A saddle at the origin.
    let log_density: Vec<f64> = points.rows().map(|x| 3.0 + x[0] * x[0] - x[1] * x[1]).collect();
    let laplacian = with_laplacian.then(|| points.rows().map(|x| x[0] - 0.3 * x[1]).collect::<Vec<f64>>());
    let marginals = with_marginals.then(|| Marginals::new(&points, None).unwrap().unwrap());
    let mu = Empirical::new(kernel.parse::<Kernel>().unwrap(), points.clone()).unwrap();
    let parts = marginals.iter().map(|marginals| Part::marginals(marginals, &points, 0.4).unwrap()).collect();
    let preference = Preference::for_density(&log_density, WEIGHT, laplacian.as_deref()).unwrap();
    let pool = Pool::new(mu, points.clone()).unwrap();
    let pool = pool.with_parts(parts).unwrap().with_preference(preference).unwrap();
    Case { points, log_density, laplacian, marginals, pool }
}

impl Case {
    /// D² = (E² − (λ/T)·Σ (log p − largest) + (1/T²)·Σ max(Δ log p, 0))/v + the share of the marginals.
    fn squared_distance(&self, rows: &[usize]) -> f64 {
        let t = rows.len() as f64;
        let kernel = self.pool.embedding().kernel();
        let value = |i: usize, j: usize| kernel.value(self.points.row(i), self.points.row(j));
        let mean = |i: usize| (0..ROWS).map(|j| value(i, j)).sum::<f64>() / ROWS as f64;
        let norm = (0..ROWS).map(mean).sum::<f64>() / ROWS as f64;
        let unit = (0..ROWS).map(|i| value(i, i)).sum::<f64>() / ROWS as f64 - norm;
        let within: f64 = rows.iter().flat_map(|&i| rows.iter().map(move |&j| value(i, j))).sum();
        let mut squared = norm - 2.0 * rows.iter().map(|&i| mean(i)).sum::<f64>() / t + within / (t * t);
        let largest = self.log_density.iter().copied().fold(f64::MIN, f64::max);
        squared -= WEIGHT / t * rows.iter().map(|&i| self.log_density[i] - largest).sum::<f64>();
        if let Some(laplacian) = &self.laplacian {
            squared += rows.iter().map(|&i| laplacian[i].max(0.0)).sum::<f64>() / (t * t);
        }
        let cdf = self.marginals.as_ref().map_or(0.0, |marginals| {
            let distance = marginals.distance(&self.points.select(rows).unwrap(), None).unwrap();
            0.4 * distance * distance / marginals.single_draw()
        });
        squared / unit + cdf
    }

    /// The row among these that lowers most beside the ones before it.
    fn best_beside(&self, before: &[usize], open: impl Iterator<Item = usize>) -> f64 {
        open.map(|row| self.squared_distance(&[before, &[row]].concat())).fold(f64::MAX, f64::min)
    }
}

#[test]
fn whoever_chooses_lowers_what_the_preference_makes_of_the_error() {
    for (seed, (kernel, with_laplacian, with_marginals)) in [
        ("gaussian(1.3)", false, false),
        ("gaussian(1.3)", true, false),
        ("imq(0.8)", true, true),
        ("linear", false, true),
        ("linear", true, false),
    ]
    .into_iter()
    .enumerate()
    {
        let case = case(seed as u64, kernel, with_laplacian, with_marginals);
        let plain = Pool::shared(case.pool.embedding().clone(), case.points.clone()).unwrap();
        for rows in [vec![3], vec![7, 7, 20], (0..ROWS).step_by(3).collect()] {
            let distance = case.pool.distance_of_rows(&rows).unwrap().unwrap();
            assert!((distance.powi(2) - case.squared_distance(&rows)).abs() < 1e-12, "{kernel} {rows:?}");
            // The error itself stays what it is.
            assert_eq!(case.pool.mmd_of_rows(&rows).unwrap(), plain.mmd_of_rows(&rows).unwrap());
        }
        let mut picks = Vec::new();
        for pick in Herder::over(case.pool.clone()).unique(true).run(12) {
            let best = case.best_beside(&picks, (0..ROWS).filter(|row| !picks.contains(row)));
            picks.push(pick.index.unwrap());
            assert!(case.squared_distance(&picks) < best + 1e-12, "{kernel} T={}", pick.t);
        }
        let refiner = Refiner::over(case.pool.clone(), RefineOptions::default()).unwrap();
        let set = refiner.choose(8, &unwatched).unwrap();
        let squared = case.squared_distance(&set.rows);
        let objective = set.objective.unwrap();
        assert!((objective.end.powi(2) - squared).abs() < 1e-12, "{kernel}: {objective:?} {squared}");
        assert!((objective.start.powi(2) - case.squared_distance(&picks[..8])).abs() < 1e-12, "{kernel}");
        for position in 0..8 {
            let mut others = set.rows.clone();
            others.remove(position);
            let best = case.best_beside(&others, (0..ROWS).filter(|row| !others.contains(row)));
            assert!(squared < best + 1e-12, "{kernel} {position}: {squared} {best}");
        }
        for t in 0..8 {
            let best = case.best_beside(&set.rows[..t], set.rows[t..].iter().copied());
            assert!(case.squared_distance(&set.rows[..=t]) < best + 1e-12, "{kernel}: order at {t}");
        }
    }
}

#[test]
fn a_preference_that_does_not_fit_is_refused() {
    let log_density = [0.0, -1.0, -2.0];
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = Preference::for_density(&log_density, weight, None);
        assert!(matches!(refused, Err(Error::BadOption { .. })), "{weight}");
    }
    let refused = Preference::for_density(&[0.0, f64::NAN], 1.0, None);
    assert!(matches!(refused, Err(Error::NonFiniteNumber { index: 1, .. })));
    let refused = Preference::for_density(&log_density, 1.0, Some(&[0.0, 1.0, f64::INFINITY]));
    assert!(matches!(refused, Err(Error::NonFiniteNumber { index: 2, .. })));
    let refused = Preference::for_density(&log_density, 1.0, Some(&[0.0]));
    assert!(matches!(refused, Err(Error::RowCount { found: 1, expected: 3, .. })));
    let points = Points::from_rows(&[0.0, 1.0], 1).unwrap();
    let pool = Pool::new(Empirical::new(Kernel::gaussian(1.0).unwrap(), points.clone()).unwrap(), points);
    let refused = pool.unwrap().with_preference(Preference::for_density(&log_density, 1.0, None).unwrap());
    assert!(matches!(refused.err(), Some(Error::RowCount { found: 3, expected: 2, .. })));
}
