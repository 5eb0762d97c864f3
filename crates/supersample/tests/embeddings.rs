//! Embeddings beside samples and densities: kernel expansions, and those that know how wrong they may be.

use crate::common;

use supersample::target::IndependentNormals;
use supersample::{
    ClosedForm, Domain, Empirical, Family, Herder, Kernel, KernelExpansion, MeanEmbedding, Points, Pool,
    metrics,
};

fn samples() -> (Kernel, Points) {
    (Family::Matern52.kernel(&[1.1]).unwrap(), common::random_points(60, 2, &mut common::rng(3)))
}

fn expansion(kernel: &Kernel, points: &Points) -> KernelExpansion {
    let equal = vec![1.0 / points.len() as f64; points.len()];
    KernelExpansion::new(kernel.clone(), points.clone(), equal).unwrap()
}

#[test]
fn an_expansion_with_equal_coefficients_is_the_embedding_of_its_points() {
    let (kernel, points) = samples();
    let mu = Empirical::new(kernel.clone(), points.clone()).unwrap();
    let same = expansion(&kernel, &points);
    let picks = |mu: Herder| mu.take(30).map(|pick| (pick.index, pick.error.unwrap())).collect::<Vec<_>>();
    let herd = |domain: Domain| (Herder::new(mu.clone(), domain.clone()), Herder::new(same.clone(), domain));
    let (one, other) = herd(Domain::Pool(points.clone()));
    for (a, b) in picks(one.unwrap()).into_iter().zip(picks(other.unwrap())) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-12, "{a:?} {b:?}");
    }
    let (mut one, mut other) = ([0.0; 2], [9.0; 2]);
    let value = mu.gradient_into(&[0.3, -0.2], &mut one);
    assert!((same.gradient_into(&[0.3, -0.2], &mut other) - value).abs() < 1e-14);
    assert!(one.iter().zip(other).all(|(a, b)| (a - b).abs() < 1e-14));
    assert!(metrics::mmd(&mu, &same).unwrap() < 1e-7 && mu.single_draw().is_some());
}

#[test]
fn expansions_are_compared_with_each_other_and_with_densities() {
    let kernel = Kernel::gaussian(0.7).unwrap();
    let line = |xs: &[f64]| Points::from_rows(xs, 1).unwrap();
    let (p, q) = (line(&[0.0, 0.4, -1.0]), line(&[0.2, 1.0]));
    let embedded = |points: &Points| Empirical::new(kernel.clone(), points.clone()).unwrap();
    let direct = metrics::mmd(&embedded(&p), &embedded(&q)).unwrap();
    let expanded = metrics::mmd(&expansion(&kernel, &p), &expansion(&kernel, &q)).unwrap();
    assert!((direct - expanded).abs() < 1e-12);
    let normal =
        ClosedForm::normals(kernel.clone(), IndependentNormals::new(&[0.0], &[1.0]).unwrap()).unwrap();
    let direct = metrics::mmd(&normal, &embedded(&q)).unwrap();
    let expanded =
        [metrics::mmd(&normal, &expansion(&kernel, &q)), metrics::mmd(&expansion(&kernel, &q), &normal)];
    assert!(expanded.into_iter().all(|expanded| (direct - expanded.unwrap()).abs() < 1e-12));
}

/// An approximation that states how far off it may be.
struct Rough(KernelExpansion);

impl MeanEmbedding for Rough {
    fn kernel(&self) -> &Kernel {
        self.0.kernel()
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn values_into(&self, points: &Points, out: &mut [f64]) {
        self.0.values_into(points, out);
    }

    fn gradient_into(&self, x: &[f64], gradient: &mut [f64]) -> f64 {
        self.0.gradient_into(x, gradient)
    }

    fn squared_norm(&self) -> Option<f64> {
        MeanEmbedding::squared_norm(&self.0)
    }

    fn error_bound(&self) -> f64 {
        0.01
    }
}

#[test]
fn no_error_below_the_stated_bound_is_believed() {
    let (kernel, points) = samples();
    let exact = Pool::new(expansion(&kernel, &points), points.clone()).unwrap();
    let rough = Pool::new(Rough(expansion(&kernel, &points)), points).unwrap();
    assert!(exact.error_floor() < 1e-6);
    assert_eq!(rough.error_floor(), 0.01);
    let scale = supersample::task::ErrorScale::of(&rough);
    assert!(scale.is_noise(0.009) && !scale.is_noise(0.011));
}
