//! Kernels: what each is called, what its bandwidth may be, and how it is written as text.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) use supersample_sum::Distance;
pub use supersample_sum::SteinBase;
use supersample_sum::{Shape, Stein};

use crate::{Error, Points, Result};

/// A positive definite kernel k(x, y), the inner product ⟨φ(x), φ(y)⟩ of eq. 6.
///
/// The bandwidth ℓ is always a length. With r the Euclidean distance of x and y and |x−y|₁ the sum of absolute
/// differences:
///
/// | text | k(x, y) | gradient at x = y |
/// |---|---|---|
/// | `gaussian(ℓ)` | exp(−r²/(2ℓ²)) | 0 |
/// | `gaussian(ℓ₁,ℓ₂,…)` | the mean of the Gaussians of bandwidth ℓ₁, ℓ₂, … | 0 |
/// | `laplace(ℓ)` | exp(−\|x−y\|₁/ℓ) | none; 0 is returned |
/// | `matern12(ℓ)` | exp(−r/ℓ) | none; 0 is returned |
/// | `matern32(ℓ)` | (1+√3 r/ℓ)·exp(−√3 r/ℓ) | 0 |
/// | `matern52(ℓ)` | (1+√5 r/ℓ+5r²/(3ℓ²))·exp(−√5 r/ℓ) | 0 |
/// | `imq(ℓ)` | (1+r²/ℓ²)^(−1/2) | 0 |
/// | `linear` | x·y | y |
/// | `energy` | −r | none; 0 is returned |
/// | `stein-imq`, `stein-gaussian` | a Stein kernel of rows that hold points and scores, made by a [`SteinTarget`](crate::SteinTarget) alone | s(y) in the scores |
///
/// k(x, x) = 1 for all but `linear` and the Stein kernels, and 0 for `energy`. A sum of Gaussians is divided by their number to keep that so: it picks the
/// same points as the plain sum.
///
/// `energy` has no bandwidth and sees differences at every scale, far tails included; its MMD is the energy distance, and
/// points that lower it are called support points. It is positive definite only on differences of equal mass. That is
/// all that choosing needs: with any g, k(x, y) + g(x) + g(y) gives the same score of eq. 8 up to a constant,
/// because (T+1)·g(x) − T·g(x) − g(x) = 0 where the last term is that of −k(x, x)/2, and the same E_T and worth. With
/// g(x) = ‖x − z‖ for any centre z it is positive definite, and where weights are solved for that one is used. What
/// has no equal masses, ‖w_T‖, the margin and weights whose sum is free, is not defined for it and is left out or refused.
///
/// ```
/// use supersample::Kernel;
/// let kernel = Kernel::gaussian(0.73)?;
/// assert_eq!(kernel.to_string(), "gaussian(0.73)");
/// assert_eq!("gaussian(0.73)".parse::<Kernel>()?, kernel);
/// assert_eq!(kernel.value(&[1.0, 2.0], &[1.0, 2.0]), 1.0);
/// assert!(Kernel::gaussian(-1.0).is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
// The variants are non_exhaustive so that they can be matched everywhere but made only by the checked constructors.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Kernel {
    /// exp(−r²/(2ℓ²))
    #[non_exhaustive]
    Gaussian {
        /// ℓ
        bandwidth: f64,
    },
    /// The mean of several Gaussians, one for each bandwidth.
    #[non_exhaustive]
    Gaussians {
        /// ℓ₁, ℓ₂, …
        bandwidths: Arc<[f64]>,
    },
    /// exp(−|x−y|₁/ℓ)
    #[non_exhaustive]
    Laplace {
        /// ℓ
        bandwidth: f64,
    },
    /// exp(−r/ℓ)
    #[non_exhaustive]
    Matern12 {
        /// ℓ
        bandwidth: f64,
    },
    /// (1+√3 r/ℓ)·exp(−√3 r/ℓ)
    #[non_exhaustive]
    Matern32 {
        /// ℓ
        bandwidth: f64,
    },
    /// (1+√5 r/ℓ+5r²/(3ℓ²))·exp(−√5 r/ℓ)
    #[non_exhaustive]
    Matern52 {
        /// ℓ
        bandwidth: f64,
    },
    /// (1+r²/ℓ²)^(−1/2)
    #[non_exhaustive]
    Imq {
        /// ℓ
        bandwidth: f64,
    },
    /// x·y
    Linear,
    /// −r
    Energy,
    /// A kernel whose mean under a density is zero, of rows that hold points and scores.
    Stein(SteinKernel),
}

/// A Stein kernel with its numbers, for rows that a [`SteinTarget`](crate::SteinTarget) has made.
#[derive(Clone, Debug, PartialEq)]
pub struct SteinKernel(pub(crate) Stein);

impl SteinKernel {
    /// The kernel that it is made of.
    pub fn base(&self) -> SteinBase {
        self.0.base
    }
}

impl Kernel {
    /// exp(−r²/(2ℓ²)), the paper's kernel.
    pub fn gaussian(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Gaussian { bandwidth: positive(bandwidth)? })
    }

    /// The mean of Gaussians of several bandwidths: sensitive to differences at each of these scales.
    pub fn gaussians(bandwidths: &[f64]) -> Result<Kernel> {
        match bandwidths {
            [] => Err(Error::BadBandwidth { value: f64::NAN }),
            [one] => Kernel::gaussian(*one),
            several => {
                several.iter().try_for_each(|&b| positive(b).map(|_| ()))?;
                Ok(Kernel::Gaussians { bandwidths: several.into() })
            }
        }
    }

    /// exp(−|x−y|₁/ℓ)
    pub fn laplace(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Laplace { bandwidth: positive(bandwidth)? })
    }

    /// exp(−r/ℓ)
    pub fn matern12(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Matern12 { bandwidth: positive(bandwidth)? })
    }

    /// (1+√3 r/ℓ)·exp(−√3 r/ℓ)
    pub fn matern32(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Matern32 { bandwidth: positive(bandwidth)? })
    }

    /// (1+√5 r/ℓ+5r²/(3ℓ²))·exp(−√5 r/ℓ)
    pub fn matern52(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Matern52 { bandwidth: positive(bandwidth)? })
    }

    /// (1+r²/ℓ²)^(−1/2), the inverse multiquadric.
    pub fn imq(bandwidth: f64) -> Result<Kernel> {
        Ok(Kernel::Imq { bandwidth: positive(bandwidth)? })
    }

    /// x·y: matches means only.
    pub fn linear() -> Kernel {
        Kernel::Linear
    }

    /// −r, whose MMD is the energy distance: no bandwidth, and equal masses only.
    pub fn energy() -> Kernel {
        Kernel::Energy
    }

    /// The Stein kernel of rows with these numbers.
    pub(crate) fn stein(stein: Stein) -> Kernel {
        Kernel::Stein(SteinKernel(stein))
    }

    /// The names a kernel can be asked for by, in the order of the table above.
    pub const NAMES: [&'static str; 8] =
        ["gaussian", "laplace", "matern12", "matern32", "matern52", "imq", "linear", "energy"];

    /// Whether the kernel of this name has a bandwidth.
    pub fn takes_bandwidth(name: &str) -> bool {
        Kernel::named(name, &[]).is_err()
    }

    /// The kernel of this name with these bandwidths: several for `gaussian`, none for `linear` and `energy`, one for
    /// the others.
    pub fn named(name: &str, bandwidths: &[f64]) -> Result<Kernel> {
        let unknown = |reason| Error::UnknownKernel { text: name.to_string(), reason };
        match (name, bandwidths) {
            ("gaussian", [_, ..]) => Kernel::gaussians(bandwidths),
            ("laplace", &[bandwidth]) => Kernel::laplace(bandwidth),
            ("matern12", &[bandwidth]) => Kernel::matern12(bandwidth),
            ("matern32", &[bandwidth]) => Kernel::matern32(bandwidth),
            ("matern52", &[bandwidth]) => Kernel::matern52(bandwidth),
            ("imq", &[bandwidth]) => Kernel::imq(bandwidth),
            ("linear", []) => Ok(Kernel::Linear),
            ("energy", []) => Ok(Kernel::Energy),
            ("linear", _) => Err(unknown("linear takes no bandwidth")),
            ("energy", _) => Err(unknown("energy takes no bandwidth")),
            (known, []) if Kernel::NAMES.contains(&known) => Err(unknown("it needs a bandwidth")),
            (known, _) if Kernel::NAMES.contains(&known) => {
                Err(unknown("only gaussian takes several bandwidths"))
            }
            _ => Err(unknown("there is no kernel of that name")),
        }
    }

    /// The kernel's name, without its bandwidth.
    pub fn name(&self) -> &'static str {
        match self {
            Kernel::Gaussian { .. } | Kernel::Gaussians { .. } => "gaussian",
            Kernel::Laplace { .. } => "laplace",
            Kernel::Matern12 { .. } => "matern12",
            Kernel::Matern32 { .. } => "matern32",
            Kernel::Matern52 { .. } => "matern52",
            Kernel::Imq { .. } => "imq",
            Kernel::Linear => "linear",
            Kernel::Energy => "energy",
            Kernel::Stein(kernel) => match kernel.base() {
                SteinBase::Imq => "stein-imq",
                SteinBase::Gaussian => "stein-gaussian",
            },
        }
    }

    /// The bandwidths: one for most kernels, several for a sum of Gaussians, none for the linear, energy and Stein kernels.
    pub fn bandwidths(&self) -> &[f64] {
        match self {
            Kernel::Gaussian { bandwidth }
            | Kernel::Laplace { bandwidth }
            | Kernel::Matern12 { bandwidth }
            | Kernel::Matern32 { bandwidth }
            | Kernel::Matern52 { bandwidth }
            | Kernel::Imq { bandwidth } => std::slice::from_ref(bandwidth),
            Kernel::Gaussians { bandwidths } => bandwidths,
            Kernel::Linear | Kernel::Energy | Kernel::Stein(_) => &[],
        }
    }

    /// k(x, y). Costs d.
    pub fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        self.shape().value(x, y)
    }

    /// k(x, x): 1 for every kernel but the linear one, the Stein kernels and `energy`, whose is 0.
    pub fn diagonal(&self, x: &[f64]) -> f64 {
        self.shape().diagonal(x)
    }

    /// Whether k(x, x) is the same for every x; where it is not, the greedy step needs the term −k(x, x)/2.
    pub fn has_constant_diagonal(&self) -> bool {
        self.constant_diagonal().is_some()
    }

    /// k(x, x), where it is the same for every x.
    pub fn constant_diagonal(&self) -> Option<f64> {
        self.shape().constant_diagonal()
    }

    /// Whether only distributions of equal mass can be compared: true for `energy`.
    pub fn needs_equal_masses(&self) -> bool {
        matches!(self, Kernel::Energy)
    }

    /// Adds `scale`·∇ₓk(x, y) to `gradient` and returns k(x, y). Costs d.
    pub fn add_gradient(&self, x: &[f64], y: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
        self.shape().add_gradient(x, y, scale, gradient)
    }

    /// The kernel as kernel sums see it: without a name, its bandwidths checked. The formulas are there.
    pub(crate) fn shape(&self) -> Shape<'_> {
        match *self {
            Kernel::Gaussian { bandwidth } => Shape::Gaussian { length: bandwidth },
            Kernel::Gaussians { ref bandwidths } => Shape::Gaussians { lengths: Cow::Borrowed(bandwidths) },
            Kernel::Laplace { bandwidth } => Shape::Laplace { length: bandwidth },
            Kernel::Matern12 { bandwidth } => Shape::Matern12 { length: bandwidth },
            Kernel::Matern32 { bandwidth } => Shape::Matern32 { length: bandwidth },
            Kernel::Matern52 { bandwidth } => Shape::Matern52 { length: bandwidth },
            Kernel::Imq { bandwidth } => Shape::Imq { length: bandwidth },
            Kernel::Linear => Shape::Linear,
            Kernel::Energy => Shape::Energy,
            Kernel::Stein(ref kernel) => Shape::Stein(kernel.0),
        }
    }
}

fn positive(bandwidth: f64) -> Result<f64> {
    // The square must be a normal number too, since the distance is divided by it.
    let square = bandwidth * bandwidth;
    if bandwidth > 0.0 && square.is_normal() {
        return Ok(bandwidth);
    }
    Err(Error::BadBandwidth { value: bandwidth })
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        for (i, bandwidth) in self.bandwidths().iter().enumerate() {
            write!(f, "{}{bandwidth}", if i == 0 { "(" } else { "," })?;
        }
        if self.bandwidths().is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Reads what [`Display`](fmt::Display) writes, for example `gaussian(0.73)`; spaces and capitals do not matter.
    fn from_str(text: &str) -> Result<Kernel> {
        let bad = |reason| Error::UnknownKernel { text: text.to_string(), reason };
        let lower = text.to_lowercase();
        let (name, bandwidths) = match lower.trim().split_once('(') {
            None => (lower.trim(), Vec::new()),
            Some((name, rest)) => {
                let inside =
                    rest.strip_suffix(')').ok_or_else(|| bad("the closing parenthesis is missing"))?;
                let numbers = inside.split(',').map(|number| number.trim().parse::<f64>());
                let numbers = numbers.collect::<std::result::Result<Vec<_>, _>>();
                (name.trim(), numbers.map_err(|_| bad("the bandwidth is not a number"))?)
            }
        };
        Kernel::named(name, &bandwidths).map_err(|error| match error {
            Error::UnknownKernel { reason, .. } => bad(reason),
            other => other,
        })
    }
}

/// The distance of each point from their mean: with it added on both sides, −‖x − y‖ is positive definite.
pub(crate) fn distances_from_centre(points: &Points) -> Vec<f64> {
    let mut centre = vec![0.0; points.dim()];
    for x in points.rows() {
        centre.iter_mut().zip(x).for_each(|(c, x)| *c += x / points.len() as f64);
    }
    points.rows().map(|x| Distance::SquaredEuclidean.between(x, &centre).sqrt()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Kernel> {
        let texts = "gaussian(0.7) gaussian(0.5,1,2) laplace(0.9) matern12(0.8) matern32(1.1) matern52(1.3) \
                     imq(0.6) linear energy";
        texts.split_whitespace().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn values_agree_with_the_formulas_worked_by_hand() {
        let (x, y) = ([1.0, 2.0], [4.0, 6.0]); // r = 5, |x−y|₁ = 7, x·y = 16
        let value = |text: &str| text.parse::<Kernel>().unwrap().value(&x, &y);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        close(value("gaussian(5)"), (-0.5f64).exp());
        close(value("gaussian(5,2.5)"), ((-0.5f64).exp() + (-2.0f64).exp()) / 2.0);
        close(value("laplace(7)"), (-1.0f64).exp());
        close(value("matern12(5)"), (-1.0f64).exp());
        close(value("matern32(5)"), (1.0 + 3f64.sqrt()) * (-(3f64.sqrt())).exp());
        close(value("matern52(5)"), (1.0 + 5f64.sqrt() + 5.0 / 3.0) * (-(5f64.sqrt())).exp());
        close(value("imq(5)"), 0.5f64.sqrt());
        close(value("linear"), 16.0);
        close(value("energy"), -5.0);
    }

    #[test]
    fn text_survives_a_round_trip() {
        for kernel in all() {
            assert!(Kernel::NAMES.contains(&kernel.name()));
            assert_eq!(Kernel::takes_bandwidth(kernel.name()), !kernel.bandwidths().is_empty());
            assert_eq!(kernel.to_string().parse::<Kernel>().unwrap(), kernel);
        }
        assert_eq!(" Gaussian( 0.5 , 1 ) ".parse::<Kernel>().unwrap().to_string(), "gaussian(0.5,1)");
    }

    #[test]
    fn bad_bandwidths_and_texts_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-200] {
            assert!(matches!(Kernel::gaussian(bad), Err(Error::BadBandwidth { .. })), "{bad}");
            assert!(Kernel::gaussians(&[1.0, bad]).is_err());
        }
        assert!(Kernel::gaussians(&[]).is_err());
        for (text, reason) in [
            ("gauss(1)", "no kernel of that name"),
            ("gaussian", "needs a bandwidth"),
            ("laplace(1,2)", "only gaussian takes several"),
            ("linear(1)", "takes no bandwidth"),
            ("energy(1)", "takes no bandwidth"),
            ("gaussian(1", "closing parenthesis"),
            ("gaussian(x)", "not a number"),
            ("", "no kernel of that name"),
        ] {
            let message = text.parse::<Kernel>().unwrap_err().to_string();
            assert!(message.contains(reason) && message.contains("gaussian(0.73)"), "{text}: {message}");
        }
    }
}
