//! The four functions of figures 3 and 4: the first three moments (eq. 17) and sin‖x‖, and their errors as T grows.

use supersample::target::GaussianMixture;
use supersample::{Points, metrics};

use crate::sine::expected_sine_of_norm;

/// The four functions, as they are named in tables.
pub(crate) const NAMES: [&str; 4] = ["moment1", "moment2", "moment3", "sine"];

/// The four functions, as they are named in pictures.
pub(crate) const TITLES: [&str; 4] = ["first moment", "second moment", "third moment", "sin |x|"];

/// The expectations of the four functions under some distribution.
#[derive(Clone)]
pub(crate) struct Truth {
    /// E xᵢᵐ for m = 1, 2, 3 and each coordinate i.
    moments: [Vec<f64>; 3],
    sine: f64,
}

fn sine_of_norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt().sin()
}

impl Truth {
    /// Under a mixture: moments in closed form, E sin‖x‖ by quadrature. Also the estimated error of the latter.
    pub(crate) fn of_mixture(mixture: &GaussianMixture) -> (Truth, f64) {
        let sine = expected_sine_of_norm(mixture);
        let moments = [1, 2, 3].map(|m| mixture.raw_moment(m));
        (Truth { moments, sine: sine.value }, sine.error)
    }

    /// Under weights on points; equal ones where none are given.
    pub(crate) fn of_points(points: &Points, weights: Option<&[f64]>) -> supersample::Result<Truth> {
        let moment = |m| metrics::moments(points, weights, m);
        let sine = metrics::integral(points, weights, sine_of_norm)?;
        Ok(Truth { moments: [moment(1)?, moment(2)?, moment(3)?], sine })
    }

    /// How far the expectations of another distribution are from these: eq. 17 for the moments, and for sin‖x‖ the
    /// absolute difference.
    pub(crate) fn errors_of(&self, other: &Truth) -> [f64; 4] {
        let mut errors = [0.0; 4];
        for (m, error) in errors.iter_mut().take(3).enumerate() {
            let squares: f64 =
                self.moments[m].iter().zip(&other.moments[m]).map(|(a, b)| (a - b).powi(2)).sum();
            *error = (squares / self.moments[m].len() as f64).sqrt();
        }
        errors[3] = (self.sine - other.sine).abs();
        errors
    }

    /// The errors of the first T rows with equal weights, for each T and each function: `errors[f][T − 1]`.
    pub(crate) fn running_errors<'a>(&self, rows: impl Iterator<Item = &'a [f64]>) -> [Vec<f64>; 4] {
        let dim = self.moments[0].len();
        let mut sums = Truth { moments: [1, 2, 3].map(|_| vec![0.0; dim]), sine: 0.0 };
        let mut errors: [Vec<f64>; 4] = Default::default();
        for (row, t) in rows.zip(1..) {
            for (m, sums) in sums.moments.iter_mut().enumerate() {
                sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x.powi(m as i32 + 1));
            }
            sums.sine += sine_of_norm(row);
            let scale = 1.0 / f64::from(t);
            let mean = Truth {
                moments: sums.moments.each_ref().map(|sums| sums.iter().map(|s| s * scale).collect()),
                sine: sums.sine * scale,
            };
            self.errors_of(&mean).into_iter().zip(&mut errors).for_each(|(e, list)| list.push(e));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_errors_are_those_of_the_library_for_every_prefix() {
        let mixture = GaussianMixture::random(4, 3, 2).unwrap();
        let (truth, sine_error) = Truth::of_mixture(&mixture);
        assert!(sine_error < 1e-5);
        let points = mixture.sample(50, 1).unwrap();
        let errors = truth.running_errors(points.rows());
        for t in [1, 7, 50] {
            let prefix = points.select(&(0..t).collect::<Vec<_>>()).unwrap();
            for m in 1..=3 {
                let direct = metrics::moment_error(&prefix, None, m, &mixture.raw_moment(m)).unwrap();
                assert!((errors[m as usize - 1][t - 1] - direct).abs() < 1e-12);
            }
            let direct = (metrics::integral(&prefix, None, sine_of_norm).unwrap() - truth.sine).abs();
            assert!((errors[3][t - 1] - direct).abs() < 1e-14);
        }
        let own = Truth::of_points(&points, None).unwrap();
        for (f, error) in truth.errors_of(&own).iter().enumerate() {
            assert!((error - errors[f][49]).abs() < 1e-12);
        }
        assert!(own.running_errors(points.rows()).iter().all(|e| e[49] < 1e-12));
    }
}
