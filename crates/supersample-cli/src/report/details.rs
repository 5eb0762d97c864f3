//! Details of a run that not every run has: swaps, weights, balance, the joint descent of points.

use supersample::Refined;
use supersample::task::{ErrorScale, Errors, Measure};
use supersample::weights::{OptimalWeights, WeightRule};

use crate::words::{are, count, counted, listed, significant};

/// What else was done and asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Details {
    /// What swaps and the search have gained.
    pub(crate) refinement: Option<Refinement>,
    /// The weights that were found for the result; `None` for equal ones.
    pub(crate) weighing: Option<Weighing>,
    /// What else was asked of the rows.
    pub(crate) balanced: Option<Balanced>,
    pub(crate) polishing: Option<Polishing>,
}

/// How a set was made better.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refinement {
    /// Whether the swaps began with herded rows. A search for the fewest rows may have begun with rows of a larger set.
    pub(crate) is_herded: bool,
    /// Its MMD with equal weights at each stage, and what it took.
    pub(crate) set: Refined,
}

/// The weights that were found, and the errors without them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Weighing {
    pub(crate) rule: WeightRule,
    /// One for each point, in the order of choice; they sum to one.
    pub(crate) found: OptimalWeights,
    /// The errors of the same points with equal weights.
    pub(crate) equal: Errors,
}

/// What was asked of the rows beside being good, as it was met.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Balanced {
    /// The column, and how many rows were chosen of each of its values.
    pub(crate) groups: Option<(String, Vec<(String, usize)>)>,
    pub(crate) included: usize,
    pub(crate) excluded: usize,
}

/// What the joint descent of all points has done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Polishing {
    /// The MMD before it.
    pub(crate) start_error: Option<f64>,
    pub(crate) steps: usize,
    pub(crate) converged: bool,
}

impl Refinement {
    /// The MMD after the search; `None` where there was none.
    pub(super) fn searched_error(&self) -> Option<f64> {
        self.set.error.filter(|_| self.set.searched)
    }

    /// `herded 0.0187, swapped 0.0092, searched 0.0088 (212 swaps in 3 sweeps beside the search)`; `name` is what errors
    /// are called and `mmd` how they are written.
    pub(super) fn in_words(&self, name: &str, mmd: impl Fn(f64) -> String) -> String {
        let (set, searched) = (&self.set, self.searched_error());
        let stages = [
            (if self.is_herded { "herded" } else { "began at" }, set.start_error),
            ("swapped", set.swept_error),
            ("searched", searched),
        ];
        let stages: Vec<String> =
            stages.iter().filter_map(|(stage, error)| Some(format!("{stage} {}", mmd((*error)?)))).collect();
        let beside = if searched.is_some() { " beside the search" } else { "" };
        let (swaps, sweeps) = (counted(set.swaps, "swap"), counted(set.sweeps, "sweep"));
        let objective = set.objective.map(|objective| {
            let ends = [Some(objective.start), Some(objective.swept), searched.map(|_| objective.end)];
            let ends: Vec<String> = ends.into_iter().flatten().map(significant).collect();
            format!("; objective: {}", ends.join(", "))
        });
        let objective = objective.unwrap_or_default();
        format!("{name} {}{objective} ({swaps} in {sweeps}{beside})", stages.join(", "))
    }
}

impl Weighing {
    /// Weights that were found by this rule; `equal` are the errors with equal ones, but for the MMD.
    pub(crate) fn new(
        rule: WeightRule,
        found: OptimalWeights,
        equal: Errors,
        scale: &ErrorScale,
    ) -> Weighing {
        let draws = found.equal_error.and_then(|error| scale.equivalent_draws(error));
        let equal = equal.with(Measure::Mmd, found.equal_error).with(Measure::EquivalentDraws, draws);
        Weighing { rule, found, equal }
    }

    /// The word of the flag.
    pub(super) fn rule_name(&self) -> &'static str {
        if self.rule == WeightRule::Simplex { "simplex" } else { "signed" }
    }

    pub(super) fn zeros(&self) -> usize {
        self.found.weights.iter().filter(|weight| **weight == 0.0).count()
    }

    pub(super) fn negatives(&self) -> usize {
        self.found.weights.iter().filter(|weight| **weight < 0.0).count()
    }

    /// `simplex weights (69 of 100 are 0): 31 rows do the work; drop the others, or ask for fewer`.
    pub(super) fn in_words(&self, noun: &str) -> String {
        let mut remarks = Vec::new();
        for (number, what) in [(self.zeros(), "0"), (self.negatives(), "negative")] {
            if number > 0 {
                remarks.push(format!(
                    "{} of {} {} {what}",
                    count(number),
                    count(self.found.weights.len()),
                    are(number)
                ));
            }
        }
        // The simplex always has a little, which says nothing of the points.
        if self.rule != WeightRule::Simplex && self.found.jitter > 0.0 {
            remarks.push(format!(
                "{} added to the diagonal of the kernel matrix",
                significant(self.found.jitter)
            ));
        }
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        let idle = match self.zeros() {
            0 => String::new(),
            zeros => {
                let busy = self.found.weights.len() - zeros;
                let work = if busy == 1 { "does the work" } else { "do the work" };
                format!(": {} {work}; drop the others, or ask for fewer", counted(busy, noun))
            }
        };
        format!("{} weights{remarks}{idle}", self.rule_name())
    }
}

impl Balanced {
    /// `balanced by chain (1: 25, 2: 25, …); 3 rows had to be in`.
    pub(super) fn in_words(&self) -> String {
        let mut words = Vec::new();
        if let Some((column, counts)) = &self.groups {
            let counts: Vec<String> =
                counts.iter().map(|(name, number)| format!("{name}: {}", count(*number))).collect();
            words.push(format!("balanced by {column} ({})", listed(&counts)));
        }
        for (number, what) in [(self.included, "in"), (self.excluded, "out")] {
            if number > 0 {
                words.push(format!("{} had to be {what}", counted(number, "row")));
            }
        }
        words.join("; ")
    }
}

impl Polishing {
    /// `polished in 90 steps: MMD 0.0589 before, 0.0194 after`.
    pub(super) fn in_words(&self, error: Option<f64>) -> String {
        let errors = self.start_error.zip(error).map(|(before, after)| {
            format!(": MMD {} before, {} after", significant(before), significant(after))
        });
        let short = if self.converged { "" } else { ", not to the end" };
        format!("polished in {}{short}{}", counted(self.steps, "step"), errors.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{refined, weighing};

    #[test]
    fn each_stage_of_a_set_is_told_with_its_error() {
        let mut set = refined();
        (set.start_error, set.swept_error, set.error) = (Some(0.0187), Some(0.0092), Some(0.0088));
        (set.sweeps, set.swaps, set.searched, set.objective) = (3, 212, true, None);
        let searched = Refinement { is_herded: true, set };
        assert_eq!(
            searched.in_words("MMD", significant),
            "MMD herded 0.0187, swapped 0.00920, searched 0.00880 (212 swaps in 3 sweeps beside the search)"
        );
        let (mut parts, mut objective) = (searched.clone(), refined().objective.unwrap());
        (objective.start, objective.swept, objective.end) = (0.3, 0.12, 0.11);
        parts.set.objective = Some(objective);
        assert_eq!(
            parts.in_words("MMD", significant),
            "MMD herded 0.0187, swapped 0.00920, searched 0.00880; objective: 0.300, 0.120, 0.110 (212 swaps in 3 \
             sweeps beside the search)"
        );
        let mut swapped = Refinement { is_herded: false, ..searched };
        (swapped.set.searched, swapped.set.swaps, swapped.set.sweeps) = (false, 1, 1);
        assert_eq!(
            swapped.in_words("MMD", significant),
            "MMD began at 0.0187, swapped 0.00920 (1 swap in 1 sweep)"
        );
    }

    #[test]
    fn weights_are_told_with_those_that_are_odd() {
        let mut signed = weighing(WeightRule::Signed, vec![1.5, -0.5, 0.0]);
        signed.found.jitter = 1e-9;
        assert_eq!(
            signed.in_words("row"),
            "signed weights (1 of 3 is 0; 1 of 3 is negative; 1.00e-9 added to the diagonal of the kernel matrix): 2 rows do \
             the work; drop the others, or ask for fewer"
        );
        let simplex = weighing(WeightRule::Simplex, vec![0.5, 0.5]);
        assert_eq!(simplex.in_words("row"), "simplex weights");
    }

    #[test]
    fn balance_is_told_as_far_as_it_was_asked_for() {
        let groups = vec![("a".to_string(), 2), ("b".to_string(), 1000)];
        let balanced = Balanced { groups: Some(("kind".to_string(), groups)), included: 1, excluded: 0 };
        assert_eq!(balanced.in_words(), "balanced by kind (a: 2, b: 1,000); 1 row had to be in");
        let balanced = Balanced { groups: None, included: 0, excluded: 12 };
        assert_eq!(balanced.in_words(), "12 rows had to be out");
    }
}
