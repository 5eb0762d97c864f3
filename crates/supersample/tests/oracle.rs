//! The herder against a naive one, on seeded random cases of every kind.

use crate::common;

use common::{KERNELS, naive::Naive, random_points, rng};
use rand::RngExt;
use supersample::{Domain, Empirical, Herder, Kernel, Points};

/// Two scores this close, relative to the number of picks, count as a tie: 500 kernel values of size 1 summed in
/// another order differ by less.
const TIE: f64 = 1e-12;

/// Follows the library's picks; each must be the naive argmax, or tie with it. Returns how many ties were met.
fn follow(naive: &Naive, herder: &mut Herder, unique: bool, steps: usize) -> usize {
    let scale = naive.pool.rows().map(|x| naive.kernel.value(x, x)).fold(1.0, f64::max);
    let mut picks = Vec::new();
    let mut ties = 0;
    for _ in 0..steps {
        let Some(want) = naive.next(&picks, unique) else {
            assert!(herder.next().is_none(), "the pool is exhausted");
            break;
        };
        let pick = herder.next().expect("the pool has rows left");
        let got = pick.index.unwrap();
        let score = |i: usize| naive.score(&picks, naive.pool.row(i));
        let bound = TIE * scale * (picks.len() + 1) as f64;
        assert!(score(want) - score(got) <= bound, "T={} picked {got}, not {want}", pick.t);
        ties += usize::from(got != want);
        let constant = if naive.kernel.has_constant_diagonal() { 0.5 } else { 0.0 };
        assert!((pick.score - constant - score(got)).abs() <= bound, "score at T={}", pick.t);
        assert!(!(unique && picks.contains(&got)), "{got} was picked twice");
        assert_eq!(&*pick.point, naive.pool.row(got));
        picks.push(got);
        let direct = naive.squared_error(&picks);
        let squared = pick.squared_error.unwrap();
        assert!((squared - direct).abs() <= 1e-14 * scale, "E² at T={}: {squared} {direct}", pick.t);
        if direct > 1e-10 * scale {
            assert!((pick.error.unwrap() - direct.sqrt()).abs() < 1e-9, "E at T={}", pick.t);
        }
    }
    ties
}

#[test]
fn picks_and_errors_agree_with_the_naive_herder_on_random_cases() {
    let (mut steps_compared, mut ties) = (0, 0);
    for case in 0..64u64 {
        let mut rng = rng(case);
        let kernel: Kernel = KERNELS[case as usize % KERNELS.len()].parse().unwrap();
        let (weighted, unique, own_pool) = (case / 8 % 2 == 1, case / 16 % 2 == 1, case / 32 % 2 == 1);
        let dim = rng.random_range(1..=30);
        // A few large cases, many small ones, and the single point.
        let n = if case % 13 == 0 { 1 } else { rng.random_range(1..=if case % 5 == 0 { 400 } else { 60 }) };
        let samples = random_points(n, dim, &mut rng);
        let pool =
            if own_pool { samples.clone() } else { random_points(rng.random_range(1..=80), dim, &mut rng) };
        let raw: Vec<f64> = (0..n).map(|_| rng.random_range(0.0..2.0)).collect();
        let total: f64 = raw.iter().sum();
        let (mu, weights) = if weighted {
            (
                Empirical::weighted(kernel.clone(), samples.clone(), &raw),
                raw.iter().map(|w| w / total).collect(),
            )
        } else {
            (Empirical::new(kernel.clone(), samples.clone()), vec![1.0 / n as f64; n])
        };
        let mut herder = Herder::new(mu.unwrap(), Domain::Pool(pool.clone())).unwrap().unique(unique);
        let naive = Naive { kernel: &kernel, samples: &samples, weights, pool: &pool };
        ties += follow(&naive, &mut herder, unique, 25);
        steps_compared += herder.indices().len();
    }
    // With `unique` and a small pool a run ends early; ties are rare on random points.
    assert!(steps_compared > 1000 && ties * 20 < steps_compared, "{steps_compared} steps, {ties} ties");
}

#[test]
fn diagnostics_agree_with_the_function_w_written_out() {
    // w = w0 + Tμ − Σφ(xₜ) as an explicit expansion over samples, start and picks; every norm by a double sum.
    let mut rng = rng(5);
    let samples = random_points(20, 2, &mut rng);
    let extra = random_points(3, 2, &mut rng);
    for text in KERNELS {
        let kernel: Kernel = text.parse().unwrap();
        for (is_given, share, on_extra) in [(false, 1.0, [0.0; 3]), (true, 4.5, [-1.0, -2.5, 0.0])] {
            let mu = Empirical::new(kernel.clone(), samples.clone()).unwrap();
            let mut herder = Herder::new(mu, Domain::Pool(samples.clone())).unwrap();
            if is_given {
                herder = herder.starting_from(extra.clone(), vec![1.0, 2.5, 0.0]).unwrap();
            }
            // Rows: the samples, then the extra points. `w` and `q` hold a coefficient for each.
            let rows: Vec<&[f64]> = samples.rows().chain(extra.rows()).collect();
            let dot = |a: &[f64], b: &[f64]| -> f64 {
                let pairs = (0..rows.len()).flat_map(|i| (0..rows.len()).map(move |j| (i, j)));
                pairs.map(|(i, j)| a[i] * b[j] * kernel.value(rows[i], rows[j])).sum()
            };
            let mean: Vec<f64> = (0..23).map(|i| if i < 20 { 1.0 / 20.0 } else { 0.0 }).collect();
            let mut w: Vec<f64> = mean.iter().map(|m| share * m).collect();
            w[20..].copy_from_slice(&on_extra);
            let mut q = vec![0.0; 23];
            if is_given {
                q[20..].copy_from_slice(&[1.0, 2.5, 0.0]);
            }
            for _ in 0..12 {
                let pick = herder.next().unwrap();
                let index = pick.index.unwrap();
                let unit: Vec<f64> = (0..23).map(|i| f64::from(u8::from(i == index))).collect();
                let scores: Vec<f64> = (0..20)
                    .map(|i| {
                        let w_at_i: f64 = (0..23).map(|j| w[j] * kernel.value(rows[i], rows[j])).sum();
                        w_at_i
                            - if kernel.has_constant_diagonal() {
                                0.0
                            } else {
                                kernel.value(rows[i], rows[i]) / 2.0
                            }
                    })
                    .collect();
                let best = scores.iter().copied().fold(f64::MIN, f64::max);
                assert!((pick.score - scores[index]).abs() < 1e-12 && best - scores[index] < 1e-12, "{text}");
                let offset: Vec<f64> = unit.iter().zip(&mean).map(|(u, m)| u - m).collect();
                let cosine = dot(&w, &offset) / (dot(&w, &w) * dot(&offset, &offset)).sqrt();
                match pick.margin {
                    Some(margin) => assert!((margin - cosine).abs() < 1e-6, "{text}: {margin} {cosine}"),
                    None => assert!(dot(&w, &w) < 1e-12, "{text}: a margin is missing"),
                }
                w.iter_mut().zip(&offset).for_each(|(w, c)| *w -= c);
                q[index] += 1.0;
                let norm = dot(&w, &w).max(0.0).sqrt();
                assert!(
                    (pick.weight_norm.unwrap() - norm).abs() < 1e-7,
                    "{text}: {:?} {norm}",
                    pick.weight_norm
                );
                let total: f64 = q.iter().sum();
                let gap: Vec<f64> = mean.iter().zip(&q).map(|(m, q)| m - q / total).collect();
                let squared = pick.squared_error.unwrap();
                assert!((squared - dot(&gap, &gap)).abs() < 1e-14 * 10.0, "{text}: {squared}");
            }
        }
    }
}

#[test]
fn errors_stay_right_after_thousands_of_picks() {
    let mut rng = rng(11);
    let samples = random_points(40, 2, &mut rng);
    let kernel = Kernel::gaussian(0.7).unwrap();
    let mu = Empirical::new(kernel.clone(), samples.clone()).unwrap();
    let mut herder = Herder::new(mu, Domain::Pool(samples.clone())).unwrap();
    let picks: Vec<usize> = herder.run(4000).iter().map(|pick| pick.index.unwrap()).collect();
    let last = herder.next().unwrap();
    let mut counts = vec![0.0; 40];
    picks.iter().chain(&last.index).for_each(|&i| counts[i] += 1.0 / 4001.0);
    let gap: Vec<f64> = counts.iter().map(|c| 1.0 / 40.0 - c).collect();
    let pairs = (0..40).flat_map(|i| (0..40).map(move |j| (i, j)));
    let direct: f64 =
        pairs.map(|(i, j)| gap[i] * gap[j] * kernel.value(samples.row(i), samples.row(j))).sum();
    // The gap written out has no cancellation; the running sums do, down to the stated floor.
    assert!((last.squared_error.unwrap() - direct).abs() < herder.pool().error_floor().powi(2));
    assert!((last.error.unwrap() / direct.sqrt() - 1.0).abs() < 1e-3, "{:?} {}", last.error, direct.sqrt());
}

#[test]
fn a_pool_of_one_and_a_target_of_one_are_exact() {
    let point = Points::from_rows(&[3.0, 4.0], 2).unwrap();
    for text in KERNELS {
        let mu = Empirical::new(text.parse().unwrap(), point.clone()).unwrap();
        let pick = Herder::new(mu, Domain::Pool(point.clone())).unwrap().next().unwrap();
        assert_eq!((pick.index, pick.error, pick.margin), (Some(0), Some(0.0), None), "{text}");
    }
}
