//! Ledger: the running sums that give E_T, ‖w_T‖ and the margin of each pick in constant time. All of them are those of
//! the joint part.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Points;
use crate::embedding::{ErrorTerms, MeanEmbedding, NormFrom, Values};
use crate::pool::Evaluated;
use crate::sum::Packed;

/// Inner products of the chosen points, updated at each pick, and the points themselves.
///
/// Write c = Σ aⱼ φ(zⱼ) for the chosen points with their masses (1 for each pick) and m = Σ aⱼ for their mass, so that
/// eq. 4 reads w = (1 + m)·μ − c.
///
/// The products are those of the running scores, in f32 where these are, until E_T becomes too small for that; then
/// they are computed again in f64, and stay so (`embedding/error_terms.rs`). This changes the reported errors, not the
/// picks.
#[derive(Clone)]
pub(crate) struct Ledger {
    mu: Arc<dyn MeanEmbedding>,
    /// m
    mass: f64,
    /// ‖μ‖²
    squared_norm: Option<f64>,
    /// ⟨c, μ⟩
    chosen_mean: CompensatedSum,
    /// ‖c‖²
    chosen_norm: CompensatedSum,
    /// Coordinates of the chosen points z, and their masses a. A row that is picked again adds to its mass, so that a long
    /// run takes no more memory, and no more time for a pick, than the pool has rows.
    values: Vec<f64>,
    masses: Vec<f64>,
    /// Where each picked row is among them.
    places: HashMap<usize, usize>,
    /// Source of ‖μ‖² once the products are in f64, and the chosen points packed for them.
    restated: Option<NormFrom>,
    precise: Option<Packed>,
    /// Whether E_T must be correct when it is too small for f32.
    is_careful: bool,
}

impl Ledger {
    /// Nothing chosen, w = μ.
    pub(crate) fn new(mu: Arc<dyn MeanEmbedding>) -> Ledger {
        Ledger {
            squared_norm: mu.squared_norm(),
            mu,
            mass: 0.0,
            chosen_mean: CompensatedSum::default(),
            chosen_norm: CompensatedSum::default(),
            values: Vec::new(),
            masses: Vec::new(),
            places: HashMap::new(),
            restated: None,
            precise: None,
            is_careful: true,
        }
    }

    /// Computes E_T in the precision of the scores, however small it becomes. For picks whose errors are not reported.
    pub(crate) fn with_fast_errors(self) -> Ledger {
        Ledger { is_careful: false, ..self }
    }

    /// 1 + m, the factor of μ in w.
    pub(crate) fn mean_factor(&self) -> f64 {
        1.0 + self.mass
    }

    /// Coordinates of the chosen points z, and their masses a.
    pub(crate) fn chosen(&self) -> (&[f64], &[f64]) {
        (&self.values, &self.masses)
    }

    /// The chosen points, each picked row once; `None` before the first.
    pub(crate) fn chosen_points(&self) -> Option<Points> {
        Points::from_vec(self.values.clone(), self.mu.dim()).ok()
    }

    /// Σ aⱼ k(x, zⱼ) over what is chosen, in f64.
    pub(crate) fn sum_at(&self, x: &[f64]) -> f64 {
        let (kernel, chosen) = (Values::of(&*self.mu), self.values.chunks_exact(x.len()).zip(&self.masses));
        chosen.map(|(z, a)| a * kernel.value(x, z)).sum()
    }

    /// Adds a point with this mass, a row of the pool if it is one, and returns its margin (eq. 15). `precise_mu` is μ(x) in
    /// f64, called only if the products are f64.
    pub(crate) fn choose(
        &mut self,
        x: &[f64],
        row: Option<usize>,
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
        match row.and_then(|row| self.places.get(&row)) {
            Some(&place) => self.masses[place] += mass,
            None => self.keep(x, row, mass),
        }
        self.restate_if_needed();
        margin
    }

    /// Keeps a point that has not been chosen before.
    fn keep(&mut self, x: &[f64], row: Option<usize>, mass: f64) {
        if let Some(row) = row {
            self.places.insert(row, self.masses.len());
        }
        self.values.extend_from_slice(x);
        self.masses.push(mass);
        if let Some(precise) = &mut self.precise {
            ErrorTerms::of(&*self.mu).push(precise, x);
        }
    }

    /// Eq. 9: E_T² = ‖μ‖² − (2/m)⟨c, μ⟩ + ‖c‖²/m². A difference of near-equal numbers, so rounding may leave a tiny
    /// negative value; it is not clamped here.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        let (mean, norm) =
            (self.chosen_mean.total() / self.mass, self.chosen_norm.total() / self.mass.powi(2));
        Some(self.squared_norm? - 2.0 * mean + norm)
    }

    /// ‖w‖² for eq. 14; like the squared error it may come out as a tiny negative value. w has the mass of one point,
    /// so its norm is not defined for a kernel of equal masses.
    pub(crate) fn squared_weight_norm(&self) -> Option<f64> {
        if Values::of(&*self.mu).needs_equal_masses() {
            return None;
        }
        let factor = self.mean_factor();
        let norms = factor * factor * self.squared_norm? + self.chosen_norm.total();
        Some(norms - 2.0 * factor * self.chosen_mean.total())
    }

    /// Eq. 15 for a point about to be picked: the cosine between w and φ(x) − μ. `None` if either has no direction.
    fn margin(&self, x: Evaluated) -> Option<f64> {
        let squared_norm = self.squared_norm?;
        let factor = self.mean_factor();
        let along_x = factor * x.mu - x.chosen;
        let along_mu = factor * squared_norm - self.chosen_mean.total();
        let squared_w = self.squared_weight_norm()?;
        let squared_offset = x.diagonal - 2.0 * x.mu + squared_norm;
        let floor = 16.0 * f64::EPSILON;
        let known = squared_w > floor * factor.max(1.0).powi(2) * squared_norm.abs()
            && squared_offset > floor * x.diagonal.abs().max(squared_norm.abs());
        known.then(|| (along_x - along_mu) / (squared_w * squared_offset).sqrt())
    }

    /// Computes every product again in f64 if E_T² comes near the rounding of f32.
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
        self.precise = Some(terms.precise(&chosen));
        self.restated = Some(from);
    }

    /// Σ aⱼ k(x, zⱼ) over what is chosen, in f64, the points rounded to f32 if f32 is in use.
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
    fn rows_that_are_picked_again_take_no_more_memory() {
        let points = Points::from_rows(&[0.0, 1.0, 3.0], 1).unwrap();
        let mu = crate::Empirical::new(crate::Kernel::gaussian(1.0).unwrap(), points.clone()).unwrap();
        let mut herder = crate::Herder::new(mu, crate::Domain::Pool(points)).unwrap();
        let picks = herder.run(1000);
        let (values, masses) = herder.ledger().chosen();
        assert_eq!((values.len(), masses.iter().sum::<f64>()), (3, 1000.0));
        // In the order of the picks, each as often as it was picked.
        let chosen = herder.chosen().unwrap();
        assert!(chosen.len() == 1000 && chosen.rows().zip(&picks).all(|(x, pick)| *x == *pick.point));
    }

    #[test]
    fn a_compensated_sum_keeps_what_plain_addition_loses() {
        let mut sum = CompensatedSum::default();
        for term in [1.0, 1e100, 1.0, -1e100] {
            sum.add(term);
        }
        assert_eq!(sum.total(), 2.0);
    }
}
