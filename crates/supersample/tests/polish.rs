//! The joint descent: never worse, at a stationary point, and as good as known optimal points.

use crate::common;

use std::ops::ControlFlow;

use supersample::target::{GaussianMixture, IndependentNormals, UniformBox};
use supersample::{
    AscentOptions, ClosedForm, Domain, Empirical, Error, Herder, Kernel, MeanEmbedding, Points,
    PolishOptions, Progress, metrics, polish, unwatched,
};

fn error_of(mu: &dyn MeanEmbedding, points: &Points) -> f64 {
    metrics::mmd(mu, &Empirical::new(mu.kernel().clone(), points.clone()).unwrap()).unwrap()
}

#[test]
fn herded_points_get_better_and_the_reported_errors_are_right() {
    let mixture = GaussianMixture::random(5, 2, 3).unwrap();
    let starts = mixture.sample(500, 1).unwrap();
    let mu = ClosedForm::mixture(Kernel::gaussian(1.0).unwrap(), mixture).unwrap();
    let domain = Domain::Ascent { starts, options: AscentOptions::default() };
    let mut herder = Herder::new(mu.clone(), domain).unwrap();
    herder.run(40);
    let herded = herder.chosen().unwrap();
    let polished = polish(&mu, &herded, PolishOptions::default(), &unwatched).unwrap();
    assert!((polished.start_error.unwrap() - error_of(&mu, &herded)).abs() < 1e-10);
    assert!((polished.error.unwrap() - error_of(&mu, &polished.points)).abs() < 1e-10);
    assert!(polished.error.unwrap() < 0.6 * polished.start_error.unwrap(), "{polished:?}");
    assert!(polished.converged && polished.points.len() == 40);
    // Cut short it is in between, and says so.
    let short = polish(&mu, &herded, PolishOptions::default().max_steps(3), &unwatched).unwrap();
    assert!(!short.converged && short.steps == 3);
    assert!(polished.error < short.error && short.error < short.start_error);
    let still = polish(&mu, &polished.points, PolishOptions::default(), &unwatched).unwrap();
    assert!(still.error <= polished.error);
    let watched = polish(&mu, &herded, PolishOptions::default(), &|progress| match progress {
        Progress::Polishing { steps: 3, most: 500 } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let watched = watched.unwrap();
    assert!(watched.interrupted && watched.points == short.points);
    let none = polish(&mu, &herded, PolishOptions::default().max_steps(0), &unwatched).unwrap();
    assert_eq!(none.points, herded);
}

#[test]
fn one_point_goes_to_the_mode_and_two_lie_symmetrically() {
    let normal = || IndependentNormals::new(&[2.0], &[1.0]).unwrap();
    let mu = ClosedForm::normals(Kernel::gaussian(1.0).unwrap(), normal()).unwrap();
    let from = |rows: &[f64]| {
        let options = PolishOptions::default().tolerance(0.0);
        polish(&mu, &Points::from_rows(rows, 1).unwrap(), options, &unwatched).unwrap().points
    };
    assert!((from(&[3.1]).row(0)[0] - 2.0).abs() < 1e-5);
    let two = from(&[2.2, 3.0]);
    assert!((two.row(0)[0] + two.row(1)[0] - 4.0).abs() < 1e-4, "{two:?}");
}

#[test]
fn for_every_kernel_with_a_closed_form_it_is_never_worse() {
    let points = common::random_points(12, 1, &mut common::rng(9));
    for text in
        ["gaussian(0.7)", "gaussian(0.5,1,2)", "laplace(0.8)", "matern12(1)", "matern32(1)", "matern52(1)"]
    {
        let kernel: Kernel = text.parse().unwrap();
        let Ok(mu) = ClosedForm::uniform_box(kernel, UniformBox::new(&[-1.0], &[1.0]).unwrap()) else {
            continue;
        };
        let polished = polish(&mu, &points, PolishOptions::default(), &unwatched).unwrap();
        assert!(polished.error < polished.start_error, "{text}");
        assert!((polished.error.unwrap() - error_of(&mu, &polished.points)).abs() < 1e-8, "{text}");
    }
    // Samples and a varying diagonal work too; the linear kernel's best sets have the samples' mean.
    let samples = common::random_points(30, 2, &mut common::rng(1));
    let mu = Empirical::new(Kernel::linear(), samples.clone()).unwrap();
    let given = common::random_points(3, 2, &mut common::rng(2));
    let polished = polish(&mu, &given, PolishOptions::default(), &unwatched).unwrap();
    assert!(polished.error.unwrap() < 1e-6 && polished.start_error.unwrap() > 0.1, "{polished:?}");
}

#[test]
fn bad_options_and_points_are_refused() {
    let mu =
        ClosedForm::normals(Kernel::gaussian(1.0).unwrap(), IndependentNormals::new(&[0.0], &[1.0]).unwrap())
            .unwrap();
    let points = Points::from_rows(&[0.0, 1.0], 1).unwrap();
    for bad in [-1.0, f64::NAN] {
        let options = PolishOptions::default().tolerance(bad);
        assert!(matches!(polish(&mu, &points, options, &unwatched), Err(Error::BadOption { .. })));
    }
    let plane = Points::from_rows(&[0.0, 1.0], 2).unwrap();
    assert!(matches!(
        polish(&mu, &plane, PolishOptions::default(), &unwatched),
        Err(Error::DimensionMismatch { .. })
    ));
}
