//! Herding in all of space: the ascent finds maxima, and the error falls as in the paper's figure 2.

use crate::common;

use common::{random_points, rng};
use supersample::target::{GaussianMixture, IndependentNormals, UniformBox};
use supersample::{
    AscentOptions, ClosedForm, Domain, Empirical, Herder, Kernel, MeanEmbedding, Points, metrics,
};

fn ascent(starts: Points, climbs: usize) -> Domain {
    Domain::Ascent { starts, options: AscentOptions::default().climbs(climbs) }
}

/// R² of the least-squares line through (x, y).
fn straightness(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| f(p.0 - mx, p.1 - my)).sum::<f64>();
    sum(&|x, y| x * y).powi(2) / (sum(&|x, _| x * x) * sum(&|_, y| y * y))
}

#[test]
fn the_inverse_error_grows_linearly_on_a_mixture_of_20_components() {
    let mixture = GaussianMixture::random(20, 2, 2010).unwrap();
    let kernel = Kernel::gaussian(1.0).unwrap();
    let starts = mixture.sample(1000, 1).unwrap();
    let mu = ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap();
    let picks = Herder::new(mu.clone(), ascent(starts, 1)).unwrap().run(300);
    assert!(picks.iter().all(|pick| pick.converged && pick.index.is_none()));
    let curve: Vec<(f64, f64)> =
        picks.iter().map(|pick| (pick.t as f64, 1.0 / pick.error.unwrap())).collect();
    assert!(straightness(&curve) > 0.98, "R² = {}", straightness(&curve));
    let iid = (0..20).map(|set| {
        let draws = Empirical::new(kernel.clone(), mixture.sample(300, 100 + set).unwrap()).unwrap();
        metrics::mmd(&mu, &draws).unwrap()
    });
    let iid = iid.sum::<f64>() / 20.0;
    let herded = picks[299].error.unwrap();
    assert!(herded * 5.0 < iid, "herded {herded}, iid {iid}");
    // E_T is the MMD of the points themselves.
    let rows = picks.iter().flat_map(|pick| pick.point.to_vec()).collect();
    let chosen = Empirical::new(kernel, Points::from_vec(rows, 2).unwrap()).unwrap();
    assert!((metrics::mmd(&mu, &chosen).unwrap() - herded).abs() < 1e-9);
}

/// Every pick must be a local maximum: no start, and no small step from it, scores higher.
fn check_maxima(mu: impl MeanEmbedding + Clone + 'static, starts: Points) {
    let name = mu.kernel().to_string();
    let mut herder = Herder::new(mu, ascent(starts.clone(), 3)).unwrap();
    for _ in 0..15 {
        let before = herder.chosen();
        let pick = herder.next().unwrap();
        let score = |x: &[f64]| {
            let mu = herder.pool().embedding();
            let t = before.as_ref().map_or(0, Points::len);
            let value = mu.gradient_into(x, &mut vec![0.0; x.len()]);
            let chosen: f64 = before.iter().flat_map(Points::rows).map(|y| mu.kernel().value(x, y)).sum();
            let correction =
                if mu.kernel().has_constant_diagonal() { 0.0 } else { mu.kernel().diagonal(x) / 2.0 };
            (t as f64 + 1.0) * value - chosen - correction
        };
        assert!((score(&pick.point) - pick.score).abs() < 1e-12, "{name}");
        assert!(starts.rows().all(|x| score(x) <= pick.score + 1e-12), "{name}: a start is better");
        for i in 0..pick.point.len() {
            for h in [-1e-3, 1e-3] {
                let mut near = pick.point.to_vec();
                near[i] += h;
                assert!(score(&near) <= pick.score + 1e-9, "{name}: T={} is no maximum", pick.t);
            }
        }
    }
}

#[test]
fn picks_are_local_maxima_for_every_kind_of_target_and_kernel() {
    let normals = IndependentNormals::new(&[0.0, 1.0], &[1.0, 0.5]).unwrap();
    let uniform = UniformBox::new(&[-1.0, 0.0], &[1.0, 3.0]).unwrap();
    for text in ["gaussian(0.8)", "gaussian(0.5,1.5)", "laplace(1)"] {
        let kernel: Kernel = text.parse().unwrap();
        let mu = ClosedForm::normals(kernel.clone(), normals.clone()).unwrap();
        check_maxima(mu, normals.sample(200, 1).unwrap());
        let mu = ClosedForm::uniform_box(kernel, uniform.clone()).unwrap();
        check_maxima(mu, uniform.sample(200, 1).unwrap());
    }
    let line = IndependentNormals::new(&[0.5], &[2.0]).unwrap();
    for text in ["matern12(1)", "matern32(1)", "matern52(1)"] {
        let mu = ClosedForm::normals(text.parse().unwrap(), line.clone()).unwrap();
        check_maxima(mu, line.sample(200, 1).unwrap());
    }
    // Samples as the target, points anywhere; the linear kernel has a maximum only because of −k(x, x)/2.
    let draws = random_points(60, 2, &mut rng(3));
    for text in ["imq(1)", "linear", "gaussian(0.7)"] {
        let mu = Empirical::new(text.parse().unwrap(), draws.clone()).unwrap();
        check_maxima(mu, draws.clone());
    }
}

#[test]
fn more_climbs_never_score_lower_on_the_first_pick_and_the_points_leave_the_starts() {
    let mixture = GaussianMixture::random(10, 3, 6).unwrap();
    let mu = ClosedForm::mixture(Kernel::gaussian(0.6).unwrap(), mixture.clone()).unwrap();
    let starts = mixture.sample(50, 2).unwrap();
    let first = |climbs| Herder::new(mu.clone(), ascent(starts.clone(), climbs)).unwrap().next().unwrap();
    assert!(first(10).score >= first(1).score);
    assert!(starts.rows().all(|x| x != &*first(1).point));
}

#[test]
fn continuous_herding_resumes_and_keeps_its_prefix() {
    let mixture = GaussianMixture::random(5, 2, 8).unwrap();
    let mu = ClosedForm::mixture(Kernel::gaussian(1.0).unwrap(), mixture.clone()).unwrap();
    let herder = Herder::new(mu, ascent(mixture.sample(100, 2).unwrap(), 1)).unwrap();
    let whole = herder.clone().run(40);
    let mut pieces = herder.clone();
    let mut joined = pieces.run(15);
    joined.extend(pieces.run(25));
    assert_eq!(joined, whole);
    assert_eq!(pieces.restart().run(40), whole);
}
