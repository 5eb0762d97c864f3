//! Terms of the objective in addition to the joint distribution, with their weights.

use supersample::FunctionsUnit;

use crate::words::listed;

/// Terms of the objective in addition to the joint distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectiveTerms {
    /// The names of the functions whose means are compared.
    pub(crate) functions: Vec<String>,
    /// The unit of their errors.
    pub(crate) functions_unit: FunctionsUnit,
    /// `None` if nothing was chosen.
    pub(crate) objective: Option<ObjectiveWeights>,
}

/// Weight of each term relative to the joint distribution, which has weight 1; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ObjectiveWeights {
    pub(crate) marginals: f64,
    /// Of the means and variances of the columns.
    pub(crate) moments: f64,
    pub(crate) functions: f64,
    /// Of the log-density, relative to the squared KSD.
    pub(crate) log_density: f64,
}

impl ObjectiveTerms {
    /// Whether the objective is more than the MMD.
    pub(super) fn has_terms(&self) -> bool {
        self.objective.is_some_and(|ObjectiveWeights { marginals, moments, functions, log_density }| {
            [marginals, moments, functions, log_density].into_iter().any(|weight| weight > 0.0)
        })
    }

    /// `objective: joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions`; `None` where the MMD is all there is.
    pub(super) fn in_words(&self) -> Option<String> {
        let ObjectiveWeights { marginals, moments, functions, log_density } =
            self.objective.filter(|_| self.has_terms())?;
        if log_density > 0.0 {
            return Some(format!("objective: KSD, regularised by {log_density} × log-density"));
        }
        let parts = [(marginals, "marginals"), (moments, "moments"), (functions, "functions")];
        let parts = parts.into_iter().filter(|part| part.0 > 0.0);
        let parts: String = parts.map(|(weight, name)| format!(" + {weight} × {name}")).collect();
        Some(format!("objective: joint MMD{parts}"))
    }

    /// `functions: y.1, y.2`; `None` without any.
    pub(super) fn functions_in_words(&self) -> Option<String> {
        let unit = match self.functions_unit {
            FunctionsUnit::Common => ", scaled by a pooled sd",
            _ => "",
        };
        (!self.functions.is_empty()).then(|| format!("functions: {}{unit}", listed(&self.functions)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_objective_is_reported_as_a_sum() {
        let terms = |marginals, functions, names: &[&str]| {
            let moments = functions / 4.0;
            let objective = Some(ObjectiveWeights { marginals, moments, functions, log_density: 0.0 });
            let functions = names.iter().map(|name| name.to_string()).collect();
            ObjectiveTerms { functions, objective, ..ObjectiveTerms::default() }
        };
        assert_eq!(
            (terms(0.0, 0.0, &[]).in_words(), terms(0.0, 0.0, &[]).functions_in_words()),
            (None, None)
        );
        let words = terms(0.4, 0.0, &[]).in_words();
        assert_eq!(words.unwrap(), "objective: joint MMD + 0.4 × marginals");
        let both = terms(0.5, 2.0, &["y.1", "y.2"]);
        assert_eq!(
            both.in_words().unwrap(),
            "objective: joint MMD + 0.5 × marginals + 0.5 × moments + 2 × functions"
        );
        assert_eq!(both.functions_in_words().unwrap(), "functions: y.1, y.2");
        let objective =
            Some(ObjectiveWeights { marginals: 0.0, moments: 0.0, functions: 0.0, log_density: 0.05 });
        let regularised = ObjectiveTerms { objective, ..ObjectiveTerms::default() };
        assert_eq!(regularised.in_words().unwrap(), "objective: KSD, regularised by 0.05 × log-density");
        let subset = ObjectiveTerms { functions: vec!["y".to_string()], ..ObjectiveTerms::default() };
        assert_eq!((subset.in_words(), subset.functions_in_words().unwrap()), (None, "functions: y".into()));
        let in_common = ObjectiveTerms { functions_unit: FunctionsUnit::Common, ..subset };
        assert_eq!(in_common.functions_in_words().unwrap(), "functions: y, scaled by a pooled sd");
    }
}
