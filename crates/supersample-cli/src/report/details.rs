//! Details of a run that not every run has: swaps, weights, balance, the joint descent of points.

use supersample::Refined;
use supersample::task::{Diagnosis, ErrorScale, Errors, Measure, Overlap, Reached};
use supersample::weights::{OptimalWeights, WeightRule};

use crate::words::{are, count, counted, listed, significant};

/// Other results of the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// Gain of swaps and search.
    pub(crate) refinement: Option<Refinement>,
    /// The weights that were found for the result; `None` for equal ones.
    pub(crate) weighing: Option<Weighing>,
    /// Constraints on the rows.
    pub(crate) balanced: Option<Balanced>,
    pub(crate) polishing: Option<Polishing>,
    /// How much of the target the rows can reach, where the target is other rows.
    pub(crate) overlap: Option<Overlap>,
    /// Published numbers and what the rows reach of them; empty where rows are matched.
    pub(crate) published: Vec<Reached>,
}

/// Improvement of a set by swaps and search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refinement {
    /// Whether the swaps began with herded rows. A search for the fewest rows may have begun with rows of a larger set.
    pub(crate) is_herded: bool,
    /// Its MMD with equal weights at each stage, and what it took.
    pub(crate) set: Refined,
}

/// Optimal weights, and the errors without them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighing {
    pub(crate) rule: WeightRule,
    /// One for each point, in the order of choice; they sum to one.
    pub(crate) found: OptimalWeights,
    /// The errors of the same points with equal weights.
    pub(crate) equal: Errors,
}

/// Constraints on the rows, as fulfilled.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Balanced {
    /// The column, and how many rows were chosen of each of its values.
    pub(crate) groups: Option<(String, Vec<(String, usize)>)>,
    pub(crate) included: usize,
    pub(crate) excluded: usize,
}

/// Outcome of the polish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Polishing {
    /// The MMD before it.
    pub(crate) start_error: Option<f64>,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

impl Refinement {
    /// The MMD after the search; `None` if there was none.
    pub(super) fn searched_error(&self) -> Option<f64> {
        self.set.error.filter(|_| self.set.searched)
    }

    /// `MMD 0.0187 (herding) → 0.0092 (swaps) → 0.0088 (search)`; `name` is what errors are called and `mmd` how they are
    /// written.
    pub(super) fn in_words(&self, name: &str, mmd: impl Fn(f64) -> String) -> String {
        let set = &self.set;
        let stages = [
            (if self.is_herded { "herding" } else { "start" }, set.start_error),
            ("swaps", set.swept_error),
            ("search", self.searched_error()),
        ];
        let stages: Vec<String> = stages
            .iter()
            .filter_map(|(stage, error)| Some(format!("{} ({stage})", mmd((*error)?))))
            .collect();
        format!("{name} {}", stages.join(" → "))
    }

    /// What it took, and the objective at each stage: `212 swaps in 3 sweeps before the search; objective 0.3 → 0.12 → 0.11`.
    pub(super) fn effort(&self) -> String {
        let (set, searched) = (&self.set, self.searched_error());
        let before = if searched.is_some() { " before the search" } else { "" };
        let objective = set.objective.map(|objective| {
            let ends = [Some(objective.start), Some(objective.swept), searched.map(|_| objective.end)];
            let ends: Vec<String> = ends.into_iter().flatten().map(significant).collect();
            format!("; objective {}", ends.join(" → "))
        });
        let (swaps, sweeps) = (counted(set.swaps, "swap"), counted(set.sweeps, "sweep"));
        format!("{swaps} in {sweeps}{before}{}", objective.unwrap_or_default())
    }
}

impl Weighing {
    /// Weights that were found by this rule; `equal` are the errors with equal ones, but for the MMD.
    pub(crate) fn new(
        rule: WeightRule,
        found: OptimalWeights,
        equal: Errors,
        scale: &ErrorScale,
        draws: Option<Diagnosis>,
    ) -> Weighing {
        let equivalent = found.equal_error.and_then(|error| scale.equivalent_draws(error));
        let of_posterior = draws.zip(equivalent).map(|(found, draws)| found.of_posterior(draws));
        let equal = equal.with(Measure::Mmd, found.equal_error).with(Measure::EquivalentDraws, equivalent);
        let equal = equal.with(Measure::PosteriorDraws, of_posterior);
        Weighing { rule, found, equal }
    }

    /// The word of the flag.
    pub(super) fn rule_name(&self) -> &'static str {
        self.rule.into()
    }

    pub(super) fn zeros(&self) -> usize {
        self.found.weights.iter().filter(|weight| **weight == 0.0).count()
    }

    pub(super) fn negatives(&self) -> usize {
        self.found.weights.iter().filter(|weight| **weight < 0.0).count()
    }

    /// `simplex weights: 69 of 100 are 0 (drop these rows, or select fewer)`.
    pub(super) fn in_words(&self, noun: &str) -> String {
        let of = |number: usize| {
            format!("{} of {} {}", count(number), count(self.found.weights.len()), are(number))
        };
        let mut remarks = Vec::new();
        match self.zeros() {
            0 => {}
            1 => remarks.push(format!("{} 0 (drop this {noun}, or select fewer)", of(1))),
            zeros => remarks.push(format!("{} 0 (drop these {noun}s, or select fewer)", of(zeros))),
        }
        if self.negatives() > 0 {
            remarks.push(format!("{} negative", of(self.negatives())));
        }
        // The simplex always has a little jitter.
        if self.rule != WeightRule::Simplex && self.found.jitter > 0.0 {
            let jitter = significant(self.found.jitter);
            remarks.push(format!("{jitter} was added to the diagonal of the kernel matrix"));
        }
        let remarks = if remarks.is_empty() { String::new() } else { format!(": {}", remarks.join("; ")) };
        format!("{} weights{remarks}", self.rule_name())
    }
}

impl Balanced {
    /// `stratified by chain (1: 25, 2: 25, …); 3 rows included by request`.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        if let Some((column, counts)) = &self.groups {
            let counts: Vec<String> =
                counts.iter().map(|(name, number)| format!("{name}: {}", count(*number))).collect();
            words.push(format!("stratified by {column} ({})", listed(&counts)));
        }
        for (number, what) in [(self.included, "included"), (self.excluded, "excluded")] {
            if number > 0 {
                words.push(format!("{} {what} by request", counted(number, "row")));
            }
        }
        words.join("; ")
    }
}

impl Polishing {
    /// `polished in 90 steps: MMD 0.0589 → 0.0194`.
    pub(super) fn in_words(&self, error: Option<f64>) -> String {
        let errors = self
            .start_error
            .zip(error)
            .map(|(before, after)| format!(": MMD {} → {}", significant(before), significant(after)));
        let short = if self.converged { "" } else { " (not converged)" };
        format!("polished in {}{short}{}", counted(self.steps, "step"), errors.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{refined, weighing};

    #[test]
    fn each_stage_of_a_set_has_its_error() {
        let mut set = refined();
        (set.start_error, set.swept_error, set.error) = (Some(0.0187), Some(0.0092), Some(0.0088));
        (set.sweeps, set.swaps, set.searched, set.objective) = (3, 212, true, None);
        let searched = Refinement { is_herded: true, set };
        let stages = "MMD 0.0187 (herding) → 0.00920 (swaps) → 0.00880 (search)";
        assert_eq!(searched.in_words("MMD", significant), stages);
        assert_eq!(searched.effort(), "212 swaps in 3 sweeps before the search");
        let (mut parts, mut objective) = (searched.clone(), refined().objective.unwrap());
        (objective.start, objective.swept, objective.end) = (0.3, 0.12, 0.11);
        parts.set.objective = Some(objective);
        assert_eq!(parts.in_words("MMD", significant), stages);
        assert_eq!(
            parts.effort(),
            "212 swaps in 3 sweeps before the search; objective 0.300 → 0.120 → 0.110"
        );
        let mut swapped = Refinement { is_herded: false, ..searched };
        (swapped.set.searched, swapped.set.swaps, swapped.set.sweeps) = (false, 1, 1);
        assert_eq!(swapped.in_words("KSD", significant), "KSD 0.0187 (start) → 0.00920 (swaps)");
        assert_eq!(swapped.effort(), "1 swap in 1 sweep");
    }

    #[test]
    fn weights_that_are_zero_or_negative_are_counted() {
        let mut signed = weighing(WeightRule::Signed, vec![1.5, -0.5, 0.0]);
        signed.found.jitter = 1e-9;
        assert_eq!(
            signed.in_words("row"),
            "signed weights: 1 of 3 is 0 (drop this row, or select fewer); 1 of 3 is negative; 1.00e-9 was added to the \
             diagonal of the kernel matrix"
        );
        let simplex = weighing(WeightRule::Simplex, vec![0.5, 0.5]);
        assert_eq!(simplex.in_words("row"), "simplex weights");
    }

    #[test]
    fn strata_and_fixed_rows_are_counted() {
        let groups = vec![("a".to_string(), 2), ("b".to_string(), 1000)];
        let balanced = Balanced { groups: Some(("kind".to_string(), groups)), included: 1, excluded: 0 };
        assert_eq!(balanced.in_words(), "stratified by kind (a: 2, b: 1,000); 1 row included by request");
        let balanced = Balanced { groups: None, included: 0, excluded: 12 };
        assert_eq!(balanced.in_words(), "12 rows excluded by request");
    }
}
