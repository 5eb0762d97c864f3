//! Kernels: the table of families (names, lengths, formulas), and kernels with checked lengths.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

pub(crate) use supersample_sum::Distance;
pub use supersample_sum::SteinBase;
use supersample_sum::{Shape, Stein, either, words};

use crate::{Error, Points, Result};

/// Family of kernels: a kernel without its lengths.
///
/// ```
/// use supersample::Family;
/// let family: Family = "imq".parse()?;
/// assert_eq!(family.kernel(&[2.0])?.to_string(), "imq(2)");
/// assert!(!Family::Energy.has_length() && "cauchy".parse::<Family>().is_err());
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Family {
    /// exp(−r²/(2ℓ²)), the paper's kernel.
    #[default]
    Gaussian,
    /// exp(−|x−y|₁/ℓ)
    Laplace,
    /// exp(−r/ℓ)
    Matern12,
    /// (1+√3 r/ℓ)·exp(−√3 r/ℓ)
    Matern32,
    /// (1+√5 r/ℓ+5r²/(3ℓ²))·exp(−√5 r/ℓ)
    Matern52,
    /// (1+r²/ℓ²)^(−1/2), the inverse multiquadric.
    Imq,
    /// x·y
    Linear,
    /// −r
    Energy,
}

words!(
    Family, "a kernel": Gaussian "gaussian", Laplace "laplace", Matern12 "matern12", Matern32 "matern32",
    Matern52 "matern52", Imq "imq", Linear "linear", Energy "energy",
);

impl Family {
    /// Largest number of lengths, and the formula in plain text.
    const fn row(self) -> (usize, &'static str) {
        match self {
            Family::Gaussian => (usize::MAX, "exp(-r^2/(2 l^2)), or the mean of several"),
            Family::Laplace => (1, "exp(-|x-y|/l), with the sum of absolute differences"),
            Family::Matern12 => (1, "exp(-r/l), the roughest of the Matern kernels"),
            Family::Matern32 => (1, "(1 + sqrt(3) r/l) exp(-sqrt(3) r/l)"),
            Family::Matern52 => (1, "(1 + sqrt(5) r/l + 5r^2/(3 l^2)) exp(-sqrt(5) r/l)"),
            Family::Imq => (1, "(1 + r^2/l^2)^(-1/2), the inverse multiquadric, whose tails are heavy"),
            Family::Linear => (0, "x . y, which matches means only"),
            Family::Energy => (0, "-r, the energy distance, which has no length and sees far tails"),
        }
    }

    /// Largest number of lengths it takes: 0, 1, or any.
    pub const fn most_lengths(self) -> usize {
        self.row().0
    }

    /// Whether the family has a length.
    pub const fn has_length(self) -> bool {
        self.most_lengths() > 0
    }

    /// Formula in plain text: r is the Euclidean distance of x and y, l the length.
    pub const fn formula(self) -> &'static str {
        self.row().1
    }

    /// Returns the kernel of this family with these lengths.
    pub fn kernel(self, lengths: &[f64]) -> Result<Kernel> {
        let found = lengths.len();
        if found > self.most_lengths() || (found == 0 && self.has_length()) {
            return Err(Error::LengthCount { family: self, found });
        }
        // The square must be a normal number too, since the distance is divided by it.
        let is_length = |length: f64| length > 0.0 && (length * length).is_normal();
        if let Some(&value) = lengths.iter().find(|length| !is_length(**length)) {
            return Err(Error::BadBandwidth { value });
        }
        let lengths: Arc<[f64]> = lengths.into();
        let length = lengths.first().copied().unwrap_or(f64::NAN);
        let shape = match self {
            Family::Gaussian if found > 1 => Shape::Gaussians { lengths: lengths.clone() },
            Family::Gaussian => Shape::Gaussian { length },
            Family::Laplace => Shape::Laplace { length },
            Family::Matern12 => Shape::Matern12 { length },
            Family::Matern32 => Shape::Matern32 { length },
            Family::Matern52 => Shape::Matern52 { length },
            Family::Imq => Shape::Imq { length },
            Family::Linear => Shape::Linear,
            Family::Energy => Shape::Energy,
        };
        Ok(Kernel { name: self.into(), lengths, shape })
    }
}

/// Message for a wrong number of lengths.
pub(crate) fn length_count(family: Family, found: usize) -> String {
    let several: Vec<&str> =
        Family::ALL.into_iter().filter(|family| family.most_lengths() > 1).map(Into::into).collect();
    match family.most_lengths() {
        0 => format!("{family} takes no bandwidth; leave it out"),
        _ if found == 0 => format!("{family} needs a bandwidth; write for example {family}(1)"),
        _ => format!("{family} takes one bandwidth, not {found}; only {} takes several", either(&several)),
    }
}

/// Example text for each family, as [`Kernel`] parses it.
pub(crate) fn examples() -> String {
    let texts = Family::ALL.into_iter().flat_map(|family| match family.most_lengths() {
        0 => vec![family.to_string()],
        1 => vec![format!("{family}(1)")],
        _ => vec![format!("{family}(0.73)"), format!("{family}(0.5,1,2)")],
    });
    either(&texts.collect::<Vec<_>>())
}

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
/// | `stein-imq`, `stein-gaussian` | a Stein kernel of rows that hold points and scores, made only by a [`SteinTarget`](crate::SteinTarget) | s(y) in the scores |
///
/// k(x, x) = 1 for all but `linear` and the Stein kernels, and 0 for `energy`. A sum of Gaussians is divided by their number to keep that so: it picks the
/// same points as the plain sum.
///
/// `energy` has no bandwidth and sees differences at every scale, far tails included; its MMD is the energy distance,
/// and points that minimise it are called support points. It is positive definite only on differences of equal mass.
/// That is all that choosing needs: with any g, k(x, y) + g(x) + g(y) gives the same score of eq. 8 up to a constant,
/// because (T+1)·g(x) − T·g(x) − g(x) = 0 where the last term is that of −k(x, x)/2, and the same E_T and equivalent
/// draws. With g(x) = ‖x − z‖ for any centre z it is positive definite; optimal weights use that form. Quantities
/// without equal masses (‖w_T‖, the margin, weights with any sum) are not defined for it: they are left out, or an
/// error.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    name: &'static str,
    lengths: Arc<[f64]>,
    /// The kernel as `supersample-sum` takes it, with checked lengths. The formulas are in that crate.
    shape: Shape,
}

impl Kernel {
    /// exp(−r²/(2ℓ²)), the paper's kernel.
    pub fn gaussian(bandwidth: f64) -> Result<Kernel> {
        Family::Gaussian.kernel(&[bandwidth])
    }

    /// Mean of Gaussians of several bandwidths, sensitive to differences at each of these scales.
    pub fn gaussians(bandwidths: &[f64]) -> Result<Kernel> {
        Family::Gaussian.kernel(bandwidths)
    }

    /// x·y: matches means only.
    pub fn linear() -> Kernel {
        Family::Linear.kernel(&[]).expect("it takes no length")
    }

    /// −r, whose MMD is the energy distance: no bandwidth, and equal masses only.
    pub fn energy() -> Kernel {
        Family::Energy.kernel(&[]).expect("it takes no length")
    }

    /// The Stein kernel of rows with these numbers.
    pub(crate) fn stein(stein: Stein) -> Kernel {
        let name = match stein.base {
            SteinBase::Imq => "stein-imq",
            SteinBase::Gaussian => "stein-gaussian",
        };
        Kernel { name, lengths: [].into(), shape: Shape::Stein(stein) }
    }

    /// Name without the bandwidth: that of the family, or of the Stein kernel.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The bandwidths: one for most kernels, several for a sum of Gaussians, none for the linear, energy and Stein kernels.
    pub fn bandwidths(&self) -> &[f64] {
        &self.lengths
    }

    /// Whether rows under this kernel hold points and scores.
    pub fn is_stein(&self) -> bool {
        matches!(self.shape, Shape::Stein(_))
    }

    /// k(x, y). Costs d.
    pub fn value(&self, x: &[f64], y: &[f64]) -> f64 {
        self.shape.value(x, y)
    }

    /// k(x, x). It is 0 for `energy`, varies for `linear` and Stein kernels, and is 1 for all others.
    pub fn diagonal(&self, x: &[f64]) -> f64 {
        self.shape.diagonal(x)
    }

    /// Whether k(x, x) is the same for every x. If not, the greedy step needs the term −k(x, x)/2.
    pub fn has_constant_diagonal(&self) -> bool {
        self.constant_diagonal().is_some()
    }

    /// k(x, x) if it is the same for every x, otherwise `None`.
    pub fn constant_diagonal(&self) -> Option<f64> {
        self.shape.constant_diagonal()
    }

    /// Whether only distributions of equal mass can be compared: true for `energy`.
    pub fn needs_equal_masses(&self) -> bool {
        self.shape == Shape::Energy
    }

    /// Adds `scale`·∇ₓk(x, y) to `gradient` and returns k(x, y). Costs d.
    pub fn add_gradient(&self, x: &[f64], y: &[f64], scale: f64, gradient: &mut [f64]) -> f64 {
        self.shape.add_gradient(x, y, scale, gradient)
    }

    /// The kernel as kernel sums see it.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        for (i, bandwidth) in self.lengths.iter().enumerate() {
            write!(f, "{}{bandwidth}", if i == 0 { "(" } else { "," })?;
        }
        if self.lengths.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

impl FromStr for Kernel {
    type Err = Error;

    /// Parses the text that [`Display`](fmt::Display) writes, for example `gaussian(0.73)`. Spaces and capitals do not
    /// matter.
    fn from_str(text: &str) -> Result<Kernel> {
        let bad = |reason| Error::UnknownKernel { text: text.to_string(), reason };
        let lower = text.to_lowercase();
        let (name, lengths) = match lower.trim().split_once('(') {
            None => (lower.trim(), Vec::new()),
            Some((name, rest)) => {
                let inside =
                    rest.strip_suffix(')').ok_or_else(|| bad("the closing parenthesis is missing"))?;
                let numbers = inside.split(',').map(|number| number.trim().parse::<f64>());
                let numbers = numbers.collect::<std::result::Result<Vec<_>, _>>();
                (name.trim(), numbers.map_err(|_| bad("the bandwidth is not a number"))?)
            }
        };
        let family: Family = name.parse().map_err(|_| bad("there is no kernel of that name"))?;
        family.kernel(&lengths)
    }
}

/// The distance of each point from their mean, plus the mean of these distances: with it added on both sides, −‖x − y‖ is
/// positive definite. Without the mean distance a point at the centre would have a row of zeros.
pub(crate) fn distances_from_centre(points: &Points) -> Vec<f64> {
    let mut centre = vec![0.0; points.dim()];
    for x in points.rows() {
        centre.iter_mut().zip(x).for_each(|(c, x)| *c += x / points.len() as f64);
    }
    let distances = points.rows().map(|x| Distance::SquaredEuclidean.between(x, &centre).sqrt());
    let distances: Vec<f64> = distances.collect();
    let mean = distances.iter().map(|distance| distance / points.len() as f64).sum::<f64>();
    distances.into_iter().map(|distance| distance + mean).collect()
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
    fn every_family_has_a_kernel_a_formula_and_a_place_in_the_table() {
        let source = include_str!("kernel.rs");
        for family in Family::ALL {
            let lengths = &[0.7, 1.5][..family.most_lengths().min(2)];
            assert_eq!(family.kernel(lengths).unwrap().name(), family.to_string());
            assert!(all().iter().any(|kernel| kernel.name() == family.to_string()), "{family}");
            assert!(!family.formula().is_empty() && family.formula().is_ascii(), "{family}");
            let row = if family.has_length() {
                format!("/// | `{family}(ℓ)` |")
            } else {
                format!("/// | `{family}` |")
            };
            assert!(source.contains(&row), "{family}");
        }
        assert!("nonsense".parse::<Family>().is_err() && "stein-imq".parse::<Family>().is_err());
    }

    #[test]
    fn text_survives_a_round_trip() {
        for kernel in all() {
            let family: Family = kernel.name().parse().unwrap();
            assert_eq!(family.has_length(), !kernel.bandwidths().is_empty());
            assert_eq!(family.kernel(kernel.bandwidths()).unwrap(), kernel);
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
            (
                "gauss(1)",
                "no kernel of that name; write for example gaussian(0.73), gaussian(0.5,1,2), laplace(1), ",
            ),
            ("gaussian", "gaussian needs a bandwidth; write for example gaussian(1)"),
            ("laplace(1,2)", "laplace takes one bandwidth, not 2; only gaussian takes several"),
            ("linear(1)", "linear takes no bandwidth"),
            ("energy(1)", "energy takes no bandwidth"),
            ("gaussian(1", "closing parenthesis is missing; write for example"),
            ("gaussian(x)", "not a number; write for example"),
            ("stein-imq", "no kernel of that name"),
            ("", "imq(1), linear or energy"),
        ] {
            let message = text.parse::<Kernel>().unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
