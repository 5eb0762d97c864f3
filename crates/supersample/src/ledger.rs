//! The ledger: the few running sums from which E_T, ‖w_T‖ and the margin of each pick follow in constant time. All of them
//! are of the joint part, whatever is matched beside it.

use std::sync::Arc;

use crate::embedding::{ErrorTerms, MeanEmbedding, NormFrom};
use crate::pool::Evaluated;
use crate::sum::Packed;
use crate::{KernelExpansion, Points};

/// Inner products of what has been chosen, kept up to date pick by pick, and the chosen points themselves.
///
/// Write c = Σ aⱼ φ(zⱼ) for the chosen points with their masses (1 for each pick), m = Σ aⱼ for their mass, and
/// f for the part of w0 that is a kernel expansion, so that eq. 4 reads w = f + (β + m)·μ − c, with β = 1 where w0
/// contains μ and 0 where it does not.
///
/// The products are those of the running scores, in f32 where these are, until E_T becomes too small for that; then they
/// are restated in f64, and stay so (`embedding/error_terms.rs`). The picks do not change by it, only what is said of them.
#[derive(Clone)]
pub(crate) struct Ledger {
    mu: Arc<dyn MeanEmbedding>,
    /// β
    beta: f64,
    /// m
    mass: f64,
    /// ‖μ‖²
    squared_norm: Option<f64>,
    /// ⟨c, μ⟩
    chosen_mean: CompensatedSum,
    /// ‖c‖²
    chosen_norm: CompensatedSum,
    function: Option<FunctionTerms>,
    /// The chosen points z one after the other, and their masses a.
    values: Vec<f64>,
    masses: Vec<f64>,
    /// Where ‖μ‖² comes from once the products are in f64, and the chosen points packed for that.
    restated: Option<NormFrom>,
    precise: Option<Packed>,
    /// Whether E_T is to be right where it is too small for f32.
    is_careful: bool,
}

/// Inner products of f.
#[derive(Clone)]
struct FunctionTerms {
    f: KernelExpansion,
    /// ‖f‖²
    norm: f64,
    /// ⟨f, μ⟩
    mean: f64,
    /// ⟨f, c⟩
    chosen: CompensatedSum,
}

impl Ledger {
    /// Nothing chosen, w = β·μ.
    pub(crate) fn new(mu: Arc<dyn MeanEmbedding>, beta: f64) -> Ledger {
        Ledger {
            squared_norm: mu.squared_norm(),
            mu,
            beta,
            mass: 0.0,
            chosen_mean: CompensatedSum::default(),
            chosen_norm: CompensatedSum::default(),
            function: None,
            values: Vec::new(),
            masses: Vec::new(),
            restated: None,
            precise: None,
            is_careful: true,
        }
    }

    /// Nothing chosen, w = f, whose expectation under the target is `mean`.
    pub(crate) fn with_function(mu: Arc<dyn MeanEmbedding>, f: KernelExpansion, mean: f64) -> Ledger {
        let norm = f.squared_norm();
        let function = Some(FunctionTerms { f, norm, mean, chosen: CompensatedSum::default() });
        Ledger { function, ..Ledger::new(mu, 0.0) }
    }

    /// This ledger with E_T as the running scores have it, however small: for choices that nobody reports.
    pub(crate) fn careless(self) -> Ledger {
        Ledger { is_careful: false, ..self }
    }

    /// β + m, the factor of μ in w.
    pub(crate) fn mean_factor(&self) -> f64 {
        self.beta + self.mass
    }

    /// The chosen points z, one after the other, and their masses a.
    pub(crate) fn chosen(&self) -> (&[f64], &[f64]) {
        (&self.values, &self.masses)
    }

    /// The chosen points; `None` before the first.
    pub(crate) fn chosen_points(&self) -> Option<Points> {
        Points::from_vec(self.values.clone(), self.mu.dim()).ok()
    }

    /// The part f of w0.
    pub(crate) fn function(&self) -> Option<&KernelExpansion> {
        self.function.as_ref().map(|terms| &terms.f)
    }

    /// Σ aⱼ k(x, zⱼ) over what is chosen, in f64.
    pub(crate) fn sum_at(&self, x: &[f64]) -> f64 {
        let (kernel, chosen) = (self.mu.kernel(), self.values.chunks_exact(x.len()).zip(&self.masses));
        chosen.map(|(z, a)| a * kernel.value(x, z)).sum()
    }

    /// Adds a point with this mass and returns its margin (eq. 15). `precise_mu` is μ(x) in f64, asked for only where the
    /// products are.
    pub(crate) fn choose(
        &mut self,
        x: &[f64],
        mass: f64,
        known: Evaluated,
        precise_mu: impl FnOnce() -> f64,
    ) -> Option<f64> {
        let known = match self.restated {
            None => known,
            Some(_) => Evaluated { mu: precise_mu(), chosen: self.precise_sum_at(x), ..known },
        };
        let margin = self.margin(known);
        self.mass += mass;
        self.chosen_mean.add(mass * known.mu);
        self.chosen_norm.add(mass * 2.0 * known.chosen + mass * mass * known.diagonal);
        if let Some(function) = &mut self.function {
            function.chosen.add(mass * known.function);
        }
        self.values.extend_from_slice(x);
        self.masses.push(mass);
        if let Some(precise) = &mut self.precise {
            ErrorTerms::of(&*self.mu).push(precise, x);
        }
        self.restate_if_needed();
        margin
    }

    /// Eq. 9: E_T² = ‖μ‖² − (2/m)⟨c, μ⟩ + ‖c‖²/m². A difference of near-equal numbers, so rounding may leave a tiny
    /// negative value; it is not clamped here.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        let (mean, norm) =
            (self.chosen_mean.total() / self.mass, self.chosen_norm.total() / self.mass.powi(2));
        Some(self.squared_norm? - 2.0 * mean + norm)
    }

    /// ‖w‖² for eq. 14; like the squared error it may come out as a tiny negative value. w has the mass of one point, so
    /// that its norm is not defined where only differences of equal mass have one.
    pub(crate) fn squared_weight_norm(&self) -> Option<f64> {
        if self.mu.kernel().needs_equal_masses() {
            return None;
        }
        let factor = self.mean_factor();
        let (norm, mean, chosen) = self.function_products();
        Some(
            norm + factor * factor * self.squared_norm? + self.chosen_norm.total() + 2.0 * factor * mean
                - 2.0 * chosen
                - 2.0 * factor * self.chosen_mean.total(),
        )
    }

    /// Eq. 15 for a point about to be picked: the cosine between w and φ(x) − μ. `None` where either has no direction.
    fn margin(&self, x: Evaluated) -> Option<f64> {
        let squared_norm = self.squared_norm?;
        let factor = self.mean_factor();
        let along_x = x.function + factor * x.mu - x.chosen;
        let along_mu = self.function_products().1 + factor * squared_norm - self.chosen_mean.total();
        let squared_w = self.squared_weight_norm()?;
        let squared_offset = x.diagonal - 2.0 * x.mu + squared_norm;
        let floor = 16.0 * f64::EPSILON;
        let known = squared_w > floor * factor.max(1.0).powi(2) * squared_norm.abs()
            && squared_offset > floor * x.diagonal.abs().max(squared_norm.abs());
        known.then(|| (along_x - along_mu) / (squared_w * squared_offset).sqrt())
    }

    /// ‖f‖², ⟨f, μ⟩ and ⟨f, c⟩.
    fn function_products(&self) -> (f64, f64, f64) {
        let products = |terms: &FunctionTerms| (terms.norm, terms.mean, terms.chosen.total());
        self.function.as_ref().map_or((0.0, 0.0, 0.0), products)
    }

    /// States every product in f64 if E_T² has come within reach of the rounding of f32.
    fn restate_if_needed(&mut self) {
        let Some(squared) = self.squared_error().filter(|_| self.is_careful) else { return };
        let terms = ErrorTerms::of(&*self.mu);
        let needed = terms.norm_needed(squared, self.mass);
        let Some(from) = needed.filter(|_| needed > self.restated) else { return };
        let chosen = self.chosen_points().expect("something has been chosen");
        let against =
            |values: Vec<f64>, masses: &[f64]| values.iter().zip(masses).map(|(v, a)| v * a).sum::<f64>();
        self.chosen_mean = against(terms.values(&chosen), &self.masses).into();
        self.chosen_norm = against(terms.sums(&chosen, &chosen, &self.masses), &self.masses).into();
        self.squared_norm = terms.squared_norm(from);
        if let Some(FunctionTerms { f, mean, .. }) = &mut self.function {
            *mean = against(
                terms.double_values(f.points(), &crate::unwatched).expect("nobody ends it"),
                f.coefficients(),
            );
        }
        self.precise = Some(terms.precise(&chosen));
        self.restated = Some(from);
    }

    /// Σ aⱼ k(x, zⱼ) over what is chosen, in f64, the points as f32 has rounded them where it has.
    fn precise_sum_at(&self, x: &[f64]) -> f64 {
        let precise = self.precise.as_ref().expect("the products are in f64");
        ErrorTerms::of(&*self.mu).sum_over(precise, &self.masses, x)
    }
}

/// Neumaier's compensated sum: the rounding of many additions does not build up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl From<f64> for CompensatedSum {
    fn from(sum: f64) -> CompensatedSum {
        CompensatedSum { sum, lost: 0.0 }
    }
}

impl CompensatedSum {
    pub(crate) fn add(&mut self, term: f64) {
        let total = self.sum + term;
        let (large, small) = if self.sum.abs() >= term.abs() { (self.sum, term) } else { (term, self.sum) };
        self.lost += (large - total) + small;
        self.sum = total;
    }

    pub(crate) fn total(&self) -> f64 {
        self.sum + self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compensated_sum_keeps_what_plain_addition_loses() {
        let mut sum = CompensatedSum::default();
        for term in [1.0, 1e100, 1.0, -1e100] {
            sum.add(term);
        }
        assert_eq!(sum.total(), 2.0);
    }
}
