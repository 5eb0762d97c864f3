//! Errors of a set of points: the MMD, its equivalent draws, and errors of integrals.

use std::borrow::Cow;

use crate::embedding::{ErrorTerms, MeanEmbedding, Values, as_density, as_landmarks, as_samples};
use crate::expansion::{KernelExpansion, as_expansion, expect_same_kernel};
use crate::{Empirical, Error, Points, Result, Watch, points, unwatched};

/// Returns the squared MMD ‖μ_p − μ_q‖² between two mean embeddings, of weighted points or of targets.
///
/// A difference of near-equal numbers: when p and q nearly agree, rounding of about 1e-15 may make it negative, and it
/// is returned as it is. Between two sets of points it costs every pair once, in f64.
pub fn squared_mmd(p: &dyn MeanEmbedding, q: &dyn MeanEmbedding) -> Result<f64> {
    let norm = |mu: &dyn MeanEmbedding| ErrorTerms::of(mu).double_squared_norm().ok_or(Error::UnknownNorm);
    Ok(norm(p)? - 2.0 * inner_product(p, q)? + norm(q)?)
}

/// Returns the MMD ‖μ_p − μ_q‖ (eq. 9); 0 if rounding makes [`squared_mmd`] negative.
///
/// ```
/// use supersample::target::IndependentNormals;
/// use supersample::{ClosedForm, Empirical, Kernel, Points, metrics};
/// let kernel = Kernel::gaussian(1.0)?;
/// let normal = ClosedForm::normals(kernel.clone(), IndependentNormals::new(&[0.0], &[1.0])?)?;
/// let three = Empirical::new(kernel, Points::from_rows(&[-1.0, 0.0, 1.0], 1)?)?;
/// assert!(metrics::mmd(&normal, &three)? < 0.1);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn mmd(p: &dyn MeanEmbedding, q: &dyn MeanEmbedding) -> Result<f64> {
    Ok(squared_mmd(p, q)?.max(0.0).sqrt())
}

/// Returns the MMD between a target and points with weights of any sign; 1/T each if none are given.
///
/// Costs T·n and T² kernel values in f64. ‖μ‖² is taken from herding over the samples, corrected for single precision;
/// [`mmd`] would compute it again in f64 from all n² pairs. If `watch` ends it, the result is [`Error::Interrupted`].
///
/// ```
/// use supersample::{Empirical, Kernel, Points, metrics, unwatched};
/// let draws = Points::from_rows(&[0.0, 1.0, 2.0], 1)?;
/// let mu = Empirical::new(Kernel::gaussian(1.0)?, draws)?;
/// let two = Points::from_rows(&[0.0, 2.0], 1)?;
/// let equal = metrics::mmd_of_points(&mu, &two, None, &unwatched)?;
/// assert!(metrics::mmd_of_points(&mu, &two, Some(&[0.4, 0.6]), &unwatched)? > equal);
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn mmd_of_points(
    mu: &dyn MeanEmbedding,
    points: &Points,
    weights: Option<&[f64]>,
    watch: Watch,
) -> Result<f64> {
    let weights = fit(mu, points, weights)?;
    Ok(ErrorTerms::of(mu).squared_error(points, &weights, watch)?.max(0.0).sqrt())
}

/// [`mmd_of_points`] with better values of μ at the points than the target has.
pub(crate) fn mmd_measured(
    mu: &dyn MeanEmbedding,
    points: &Points,
    weights: Option<&[f64]>,
    means: &[f64],
) -> Result<f64> {
    let weights = fit(mu, points, weights)?;
    if means.len() != points.len() {
        return Err(Error::RecalledCount { found: means.len(), expected: points.len() });
    }
    let terms = ErrorTerms::of(mu);
    let norm = mu.squared_norm().ok_or(Error::UnknownNorm)?;
    let against = |values: &[f64]| values.iter().zip(weights.iter()).map(|(v, w)| v * w).sum::<f64>();
    let squared = norm - 2.0 * against(means) + against(&terms.sums(points, points, &weights));
    Ok(squared.max(0.0).sqrt())
}

/// Returns the weights of points, 1/T each if none are given, or why they do not fit this target.
fn fit<'a>(mu: &dyn MeanEmbedding, points: &Points, weights: Option<&'a [f64]>) -> Result<Cow<'a, [f64]>> {
    points.expect_dim("the points", "the target", mu.dim())?;
    let Some(weights) = weights else {
        return Ok(Cow::Owned(vec![1.0 / points.len() as f64; points.len()]));
    };
    if weights.len() != points.len() {
        let (found, expected) = (weights.len(), points.len());
        return Err(Error::WeightCount { what: "points", found, expected });
    }
    if let Some(index) = weights.iter().position(|w| !w.is_finite()) {
        return Err(Error::NonFiniteNumber { what: "weight", index, value: weights[index] });
    }
    let total: f64 = weights.iter().sum();
    if Values::of(mu).needs_equal_masses() && (total - 1.0).abs() > 1e-9 {
        return Err(Error::UnequalMasses {
            kernel: mu.kernel().to_string(),
            what: "the weights do not sum to one",
            advice: "divide them by their sum, or take another kernel",
        });
    }
    Ok(Cow::Borrowed(weights))
}

/// Returns ⟨μ_p, μ_q⟩ = E over x of p and y of q of k(x, y).
pub fn inner_product(p: &dyn MeanEmbedding, q: &dyn MeanEmbedding) -> Result<f64> {
    expect_same_kernel(p.kernel(), q.kernel())?;
    if p.dim() != q.dim() {
        let (found, expected) = (q.dim(), p.dim());
        return Err(Error::DimensionMismatch { what: "one target", found, against: "the other", expected });
    }
    if let Some(samples) = as_samples(p) {
        return mean_over(samples, q);
    }
    if let Some(samples) = as_samples(q) {
        return mean_over(samples, p);
    }
    // The mean of the other over the samples behind landmarks, or the sum of the other over the landmarks.
    for (one, other) in [(p, q), (q, p)] {
        if let Some(landmarks) = as_landmarks(one) {
            return Ok(match landmarks.samples() {
                Some(samples) => mean_over(samples, other)?,
                None => {
                    let values = ErrorTerms::of(other).double_values(landmarks.points(), &unwatched)?;
                    values.iter().zip(landmarks.coefficients()).map(|(value, a)| value * a).sum()
                }
            });
        }
    }
    match (as_expansion(p), as_expansion(q), as_density(p), as_density(q)) {
        (Some(expansion), ..) => expansion.expectation(q),
        (_, Some(expansion), ..) => expansion.expectation(p),
        (.., Some(p), Some(q)) => p.inner_product(q),
        _ => Err(Error::NoClosedForm {
            what: "the inner product of these two targets",
            kernel: p.kernel().to_string(),
            dim: p.dim(),
            advice: "draw samples from one of them and use Empirical",
        }),
    }
}

fn mean_over(samples: &Empirical, mu: &dyn MeanEmbedding) -> Result<f64> {
    Ok(samples.mean_of(&ErrorTerms::of(mu).double_values(samples.points(), &unwatched)?))
}

/// Returns the number of independent draws with the same expected squared MMD: (E k(x, x) − ‖μ‖²)/E². `None` for an
/// error of zero, which no number of draws has.
pub fn equivalent_draws(mu: &dyn MeanEmbedding, error: f64) -> Option<f64> {
    let draws = mu.single_draw()? / (error * error);
    draws.is_finite().then_some(draws)
}

/// Returns the Koksma–Hlawka bound (eq. 16) on |E_p f − E_q f|: ‖f‖·‖μ_p − μ_q‖.
pub fn koksma_hlawka(f: &KernelExpansion, p: &dyn MeanEmbedding, q: &dyn MeanEmbedding) -> Result<f64> {
    expect_same_kernel(f.kernel(), p.kernel())?;
    f.points().expect_dim("the expansion", "the target", p.dim())?;
    Ok(f.norm() * mmd(p, q)?)
}

/// Returns the mean of x_i^m over weighted points, for each coordinate i; equal weights if none are given.
pub fn moments(points: &Points, weights: Option<&[f64]>, m: u32) -> Result<Vec<f64>> {
    let mut moments = vec![0.0; points.dim()];
    for (row, weight) in weighted(points, weights)? {
        let powers = row.iter().map(|x| x.powi(m as i32));
        moments.iter_mut().zip(powers).for_each(|(moment, power)| *moment += weight * power);
    }
    Ok(moments)
}

/// Returns the root mean square over the coordinates of the error of the m-th moments (eq. 17).
pub fn moment_error(points: &Points, weights: Option<&[f64]>, m: u32, truth: &[f64]) -> Result<f64> {
    points.expect_dim("the points", "the true moments", truth.len())?;
    let moments = moments(points, weights, m)?;
    let squares: f64 = moments.iter().zip(truth).map(|(got, want)| (got - want).powi(2)).sum();
    Ok((squares / truth.len() as f64).sqrt())
}

/// Returns the mean of f over weighted points; equal weights if none are given.
pub fn integral(points: &Points, weights: Option<&[f64]>, f: impl Fn(&[f64]) -> f64) -> Result<f64> {
    Ok(weighted(points, weights)?.map(|(row, weight)| weight * f(row)).sum())
}

fn weighted<'a>(
    points: &'a Points,
    weights: Option<&[f64]>,
) -> Result<impl Iterator<Item = (&'a [f64], f64)> + use<'a>> {
    let weights = match weights {
        Some(weights) => points::normalised(weights, "points", points.len())?,
        None => vec![1.0 / points.len() as f64; points.len()],
    };
    Ok(points.rows().zip(weights))
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;
    use crate::target::GaussianMixture;
    use crate::{Kernel, Precision, Progress, unwatched};

    fn line(values: &[f64]) -> Points {
        Points::from_rows(values, 1).unwrap()
    }

    #[test]
    fn the_mmd_of_two_weighted_sets_is_the_double_sum() {
        let kernel = crate::Family::Laplace.kernel(&[0.7]).unwrap();
        let (a, wa) = (line(&[0.0, 0.4, 1.0]), [1.0, 1.0, 2.0]);
        let (b, wb) = (line(&[0.2, 3.0]), [0.5, 0.5]);
        let p = Empirical::weighted(kernel.clone(), a.clone(), &wa).unwrap();
        let q = Empirical::weighted(kernel.clone(), b.clone(), &wb).unwrap();
        let signed: Vec<(f64, f64)> = a
            .as_slice()
            .iter()
            .zip(wa.map(|w| w / 4.0))
            .map(|(x, w)| (*x, w))
            .chain(b.as_slice().iter().zip(wb).map(|(x, w)| (*x, -w)))
            .collect();
        let pairs = signed.iter().flat_map(|s| signed.iter().map(move |t| (s, t)));
        let direct: f64 = pairs.map(|((x, v), (y, w))| v * w * kernel.value(&[*x], &[*y])).sum();
        assert!((squared_mmd(&p, &q).unwrap() - direct).abs() < 1e-15);
        assert!((mmd(&q, &p).unwrap() - direct.sqrt()).abs() < 1e-15);
        assert!(mmd(&p, &p).unwrap() < 1e-7);
    }

    #[test]
    fn points_of_any_weights_are_measured_in_either_precision() {
        let mixture = GaussianMixture::random(3, 2, 1).unwrap();
        let draws = mixture.sample(Precision::MIXED_FROM + 100, 3).unwrap();
        let kernel = Kernel::gaussian(1.0).unwrap();
        let mixed = Empirical::new(kernel.clone(), draws.clone()).unwrap();
        let double = mixed.clone().precision(Precision::Double);
        assert_eq!(mixed.precision_in_use(), Precision::Mixed);
        let points = draws.select(&(0..40).collect::<Vec<_>>()).unwrap();
        let signed: Vec<f64> = (0..40).map(|i| if i % 7 == 0 { -0.01 } else { 0.03 }).collect();
        let direct = |weights: &[f64]| {
            let mut z = vec![0.0; 40];
            double.values_into(&points, &mut z);
            let mut squared = double.squared_norm().unwrap();
            for (x, (w, z)) in points.rows().zip(weights.iter().zip(&z)) {
                let row: f64 = points.rows().zip(weights).map(|(y, v)| v * kernel.value(x, y)).sum();
                squared += w * (row - 2.0 * z);
            }
            squared.sqrt()
        };
        let mmd_of = |mu: &Empirical, points: &Points, weights: Option<&[f64]>| {
            mmd_of_points(mu, points, weights, &unwatched)
        };
        for weights in [None, Some(&signed[..])] {
            let want = direct(weights.unwrap_or(&[1.0 / 40.0; 40]));
            let (a, b) = (mmd_of(&mixed, &points, weights), mmd_of(&double, &points, weights));
            assert!((b.unwrap() - want).abs() < 1e-12, "{want}");
            assert!((a.unwrap() / want - 1.0).abs() < 1e-3, "{want}");
        }
        // All samples as points: nothing but rounding is left. They are many, so that it can be ended on the way.
        let ended = mmd_of_points(&double, &draws, None, &|progress| match progress {
            Progress::Measuring { done: 1.., .. } => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        assert_eq!(ended, Err(Error::Interrupted));
        assert!(mmd_of(&mixed, &draws, None).unwrap() < 1e-6);
        assert!(matches!(mmd_of(&mixed, &points, Some(&[1.0])), Err(Error::WeightCount { .. })));
        let bad = mmd_of(&mixed, &points, Some(&[f64::NAN; 40]));
        assert!(matches!(bad, Err(Error::NonFiniteNumber { .. })));
        // Too far out for single precision with these samples.
        let far = Points::from_rows(&[1e9, 0.0], 2).unwrap();
        let (a, b) = (mmd_of(&mixed, &far, None).unwrap(), mmd_of(&double, &far, None).unwrap());
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }

    #[test]
    fn two_targets_and_a_large_sample_of_one_agree() {
        let kernel = Kernel::gaussian(1.0).unwrap();
        let p = GaussianMixture::random(3, 2, 1).unwrap();
        let q = GaussianMixture::random(4, 2, 2).unwrap();
        let draws = Empirical::new(kernel.clone(), p.sample(4000, 3).unwrap()).unwrap();
        let p = crate::ClosedForm::mixture(kernel.clone(), p).unwrap();
        let q = crate::ClosedForm::mixture(kernel, q).unwrap();
        // 4000 draws miss the target by about 1/√4000 = 0.016.
        let (exact, sampled) = (mmd(&p, &q).unwrap(), mmd(&draws, &q).unwrap());
        assert!((exact - sampled).abs() < 0.02 && exact > 0.1, "{exact} {sampled}");
    }

    #[test]
    fn the_equivalent_draws_of_iid_draws_are_their_number() {
        let kernel = Kernel::gaussian(1.0).unwrap();
        let mixture = GaussianMixture::random(3, 2, 1).unwrap();
        let mu = crate::ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap();
        let squares = (0..400).map(|seed| {
            let draws = Empirical::new(kernel.clone(), mixture.sample(50, seed).unwrap()).unwrap();
            squared_mmd(&mu, &draws).unwrap()
        });
        let typical = (squares.sum::<f64>() / 400.0).sqrt();
        let draws = equivalent_draws(&mu, typical).unwrap();
        assert!((draws / 50.0 - 1.0).abs() < 0.1, "{draws}");
    }

    #[test]
    fn the_koksma_hlawka_bound_holds_and_is_attained_by_the_witness() {
        let kernel = crate::Family::Matern52.kernel(&[1.0]).unwrap();
        let p = Empirical::new(kernel.clone(), line(&[0.0, 1.0, 2.0, 5.0])).unwrap();
        let q = Empirical::new(kernel.clone(), line(&[0.5, 3.0])).unwrap();
        let gap = |f: &KernelExpansion| (f.expectation(&p).unwrap() - f.expectation(&q).unwrap()).abs();
        let f = KernelExpansion::new(kernel.clone(), line(&[0.1, 2.2]), vec![1.0, -3.0]).unwrap();
        assert!(gap(&f) <= koksma_hlawka(&f, &p, &q).unwrap());
        // The witness μ_p − μ_q turns Cauchy–Schwarz into an equality.
        let centres = line(&[0.0, 1.0, 2.0, 5.0, 0.5, 3.0]);
        let witness =
            KernelExpansion::new(kernel, centres, vec![0.25, 0.25, 0.25, 0.25, -0.5, -0.5]).unwrap();
        assert!((gap(&witness) - koksma_hlawka(&witness, &p, &q).unwrap()).abs() < 1e-14);
    }

    #[test]
    fn moments_and_integrals_follow_their_definitions() {
        let points = Points::from_rows(&[1.0, 2.0, 3.0, 4.0], 2).unwrap();
        assert_eq!(moments(&points, None, 2).unwrap(), [5.0, 10.0]);
        assert_eq!(moments(&points, Some(&[3.0, 1.0]), 1).unwrap(), [1.5, 2.5]);
        assert_eq!(moment_error(&points, None, 1, &[2.0, 3.0 + 2.0]).unwrap(), 2f64.sqrt());
        assert_eq!(integral(&points, None, |x| x[0] * x[1]).unwrap(), 7.0);
        assert!(moment_error(&points, None, 1, &[2.0]).is_err());
        assert!(integral(&points, Some(&[1.0]), |x| x[0]).is_err());
    }

    #[test]
    fn things_that_cannot_be_compared_are_refused() {
        let p = Empirical::new(Kernel::gaussian(1.0).unwrap(), line(&[0.0])).unwrap();
        let other_kernel = Empirical::new(Kernel::gaussian(2.0).unwrap(), line(&[0.0])).unwrap();
        let plane = Points::from_rows(&[0.0, 0.0], 2).unwrap();
        let other_space = Empirical::new(Kernel::gaussian(1.0).unwrap(), plane).unwrap();
        assert!(matches!(mmd(&p, &other_kernel), Err(Error::KernelMismatch { .. })));
        assert!(matches!(mmd(&p, &other_space), Err(Error::DimensionMismatch { .. })));
        assert_eq!(equivalent_draws(&p, 0.0), None);
    }
}
