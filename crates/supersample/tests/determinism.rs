//! Determinism: picks that are the same, to the bit, for any number of threads.

use crate::common;

use common::{KERNELS, random_points, rng};
use supersample::target::GaussianMixture;
use supersample::{AscentOptions, ClosedForm, Domain, Empirical, Herder, Kernel, Pick};

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn a_pool_is_herded_alike_by_1_2_and_7_threads() {
    // Large enough that every parallel path is taken.
    let points = random_points(17_000, 4, &mut rng(1));
    for text in ["gaussian(1)", KERNELS[5]] {
        let run = |threads| {
            with_threads(threads, || -> Vec<Pick> {
                let mu = Empirical::new(text.parse().unwrap(), points.clone()).unwrap();
                Herder::new(mu, Domain::Pool(points.clone())).unwrap().run(30)
            })
        };
        let one = run(1);
        assert_eq!(one, run(2));
        assert_eq!(one, run(7));
    }
}

#[test]
fn space_is_searched_alike_by_1_2_and_7_threads() {
    let run = |threads| {
        with_threads(threads, || -> Vec<Pick> {
            let mixture = GaussianMixture::random(8, 3, 4).unwrap();
            let starts = mixture.sample(500, 5).unwrap();
            let mu = ClosedForm::mixture(Kernel::gaussian(1.0).unwrap(), mixture).unwrap();
            let options = AscentOptions::default().climbs(4);
            Herder::new(mu, Domain::Ascent { starts, options }).unwrap().run(30)
        })
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(7));
}
