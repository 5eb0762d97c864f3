//! The objective: what was matched beside the joint distribution, and how much each counted.

use supersample::FunctionsUnit;

use crate::words::listed;

/// What is matched beside the joint distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectiveTerms {
    /// The names of the functions whose means are compared.
    pub(crate) functions: Vec<String>,
    /// The unit of their errors.
    pub(crate) functions_unit: FunctionsUnit,
    /// `None` where nothing was chosen.
    pub(crate) objective: Option<ObjectiveWeights>,
}

/// How much each part counted beside the joint distribution, which counts 1; 0 is not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectiveWeights {
    pub(crate) marginals: f64,
    pub(crate) functions: f64,
    /// The log-density that is preferred to be large, beside the squared KSD of scores.
    pub(crate) log_density: f64,
    /// The means and variances of the columns, where rows are corrected by scores.
    pub(crate) moments: f64,
}

impl ObjectiveTerms {
    /// Whether the objective is more than the MMD.
    pub(super) fn has_terms(&self) -> bool {
        let counts = |of: ObjectiveWeights| [of.marginals, of.functions, of.log_density, of.moments];
        self.objective.is_some_and(|objective| counts(objective).into_iter().any(|weight| weight > 0.0))
    }

    /// `objective: joint MMD + 0.1 × marginals + 1 × functions`, and which functions; nothing where the MMD is all there is.
    pub(super) fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let objective = self.objective.filter(|_| self.has_terms());
        if let Some(ObjectiveWeights { log_density, .. }) =
            objective.filter(|objective| objective.log_density > 0.0)
        {
            lines.push(format!("objective: KSD, regularised by {log_density} × log-density"));
        } else if let Some(ObjectiveWeights { marginals, functions, moments, .. }) = objective {
            let parts = [(marginals, "marginals"), (functions, "functions"), (moments, "moments")];
            let parts = parts.into_iter().filter(|part| part.0 > 0.0);
            let parts: String = parts.map(|(weight, name)| format!(" + {weight} × {name}")).collect();
            lines.push(format!("objective: joint MMD{parts}"));
        }
        if !self.functions.is_empty() {
            let unit = match self.functions_unit {
                FunctionsUnit::Common => ", in a common unit",
                _ => "",
            };
            lines.push(format!("functions: {}{unit}", listed(&self.functions)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objective_is_reported_as_a_sum() {
        let told = |marginals, functions, names: &[&str]| {
            let objective = Some(ObjectiveWeights { marginals, functions, log_density: 0.0, moments: 0.0 });
            let functions = names.iter().map(|name| name.to_string()).collect();
            ObjectiveTerms { functions, objective, ..ObjectiveTerms::default() }.in_words()
        };
        assert_eq!(told(0.0, 0.0, &[]), Vec::<String>::new());
        assert_eq!(told(0.4, 0.0, &[]), ["objective: joint MMD + 0.4 × marginals"]);
        let corrected = ObjectiveWeights { marginals: 0.1, functions: 0.0, log_density: 0.0, moments: 0.04 };
        let corrected = ObjectiveTerms { objective: Some(corrected), ..ObjectiveTerms::default() };
        assert_eq!(corrected.in_words(), ["objective: joint MMD + 0.1 × marginals + 0.04 × moments"]);
        assert_eq!(
            told(0.5, 2.0, &["y.1", "y.2"]),
            ["objective: joint MMD + 0.5 × marginals + 2 × functions", "functions: y.1, y.2"]
        );
        assert_eq!(told(0.0, 0.0, &["y"]), ["functions: y"]);
        let objective =
            Some(ObjectiveWeights { marginals: 0.0, functions: 0.0, log_density: 0.05, moments: 0.0 });
        let regularised = ObjectiveTerms { objective, ..ObjectiveTerms::default() };
        assert_eq!(regularised.in_words(), ["objective: KSD, regularised by 0.05 × log-density"]);
        let subset = ObjectiveTerms { functions: vec!["y".to_string()], ..ObjectiveTerms::default() };
        assert_eq!(subset.in_words(), ["functions: y"]);
        let in_common = ObjectiveTerms { functions_unit: FunctionsUnit::Common, ..subset };
        assert_eq!(in_common.in_words(), ["functions: y, in a common unit"]);
    }
}
