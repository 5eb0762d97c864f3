//! The few running sums from which E_T, ‖w_T‖ and the margin of each pick follow in constant time.

/// Inner products of what has been chosen, kept up to date pick by pick.
///
/// Write c = Σ aⱼ φ(zⱼ) for the chosen points with their masses (1 for each pick), m = Σ aⱼ for their mass, and
/// f for the part of w0 that is a kernel expansion, so that eq. 4 reads w = f + (β + m)·μ − c, with β = 1 where w0
/// contains μ and 0 where it does not.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    /// β
    mean_share: f64,
    /// m
    mass: f64,
    /// ‖μ‖²
    squared_norm: Option<f64>,
    /// ⟨c, μ⟩
    chosen_mean: CompensatedSum,
    /// ‖c‖²
    chosen_norm: CompensatedSum,
    /// ‖f‖²
    function_norm: f64,
    /// ⟨f, μ⟩
    function_mean: f64,
    /// ⟨f, c⟩
    function_chosen: CompensatedSum,
}

/// What is known of one point when it is picked: μ(x), Σ aⱼ k(x, zⱼ) over what was chosen before, f(x) and k(x, x).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Evaluated {
    pub(crate) mu: f64,
    pub(crate) chosen: f64,
    pub(crate) function: f64,
    pub(crate) diagonal: f64,
}

/// ⟨c, μ⟩ and ‖c‖², summed over all that is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChosenTotals {
    pub(crate) mean: f64,
    pub(crate) norm: f64,
}

impl Ledger {
    pub(crate) fn new(
        mean_share: f64,
        squared_norm: Option<f64>,
        function_norm: f64,
        function_mean: f64,
    ) -> Ledger {
        Ledger {
            mean_share,
            mass: 0.0,
            squared_norm,
            chosen_mean: CompensatedSum::default(),
            chosen_norm: CompensatedSum::default(),
            function_norm,
            function_mean,
            function_chosen: CompensatedSum::default(),
        }
    }

    /// β + m, the factor of μ in w.
    pub(crate) fn share(&self) -> f64 {
        self.mean_share + self.mass
    }

    /// m
    pub(crate) fn mass(&self) -> f64 {
        self.mass
    }

    /// The same state with every inner product given afresh.
    pub(crate) fn restated(&self, squared_norm: f64, chosen: ChosenTotals, function_mean: f64) -> Ledger {
        let sum = |total: f64| CompensatedSum { sum: total, lost: 0.0 };
        Ledger {
            squared_norm: Some(squared_norm),
            chosen_mean: sum(chosen.mean),
            chosen_norm: sum(chosen.norm),
            function_mean,
            ..self.clone()
        }
    }

    /// Adds a point with this mass.
    pub(crate) fn choose(&mut self, mass: f64, x: Evaluated) {
        self.mass += mass;
        self.chosen_mean.add(mass * x.mu);
        self.chosen_norm.add(mass * 2.0 * x.chosen + mass * mass * x.diagonal);
        self.function_chosen.add(mass * x.function);
    }

    /// Eq. 9: E_T² = ‖μ‖² − (2/m)⟨c, μ⟩ + ‖c‖²/m². A difference of near-equal numbers, so rounding may leave a tiny
    /// negative value; it is not clamped here.
    pub(crate) fn squared_error(&self) -> Option<f64> {
        let (mean, norm) =
            (self.chosen_mean.total() / self.mass, self.chosen_norm.total() / self.mass.powi(2));
        Some(self.squared_norm? - 2.0 * mean + norm)
    }

    /// ‖w‖² for eq. 14; like the squared error it may come out as a tiny negative value.
    pub(crate) fn squared_weight_norm(&self) -> Option<f64> {
        let share = self.share();
        Some(
            self.function_norm
                + share * share * self.squared_norm?
                + self.chosen_norm.total()
                + 2.0 * share * self.function_mean
                - 2.0 * self.function_chosen.total()
                - 2.0 * share * self.chosen_mean.total(),
        )
    }

    /// Eq. 15 for a point about to be picked: the cosine between w and φ(x) − μ. `None` where either has no direction.
    pub(crate) fn margin(&self, x: Evaluated) -> Option<f64> {
        let squared_norm = self.squared_norm?;
        let share = self.share();
        let along_x = x.function + share * x.mu - x.chosen;
        let along_mu = self.function_mean + share * squared_norm - self.chosen_mean.total();
        let squared_w = self.squared_weight_norm()?;
        let squared_offset = x.diagonal - 2.0 * x.mu + squared_norm;
        let floor = 16.0 * f64::EPSILON;
        let known = squared_w > floor * share.max(1.0).powi(2) * squared_norm.abs()
            && squared_offset > floor * x.diagonal.abs().max(squared_norm.abs());
        known.then(|| (along_x - along_mu) / (squared_w * squared_offset).sqrt())
    }
}

/// Neumaier's compensated sum: the rounding of many additions does not build up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompensatedSum {
    sum: f64,
    lost: f64,
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
