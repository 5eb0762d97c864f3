//! Parts: what was matched beside the joint distribution, and how much each counted.

use supersample::FunctionsUnit;

use crate::words::listed;

/// What is matched beside the joint distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Parts {
    /// The names of the functions whose means are compared.
    pub(crate) functions: Vec<String>,
    /// The unit of their errors.
    pub(crate) functions_unit: FunctionsUnit,
    /// `None` where nothing was chosen.
    pub(crate) lowered: Option<Lowered>,
}

/// How much each part counted beside the joint distribution, which counts 1; 0 is not at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lowered {
    pub(crate) marginals: f64,
    pub(crate) functions: f64,
    /// The log-density that is preferred to be large, beside the squared KSD of scores.
    pub(crate) log_density: f64,
}

impl Parts {
    /// Whether choosing has lowered more than the MMD.
    pub(super) fn are_lowered(&self) -> bool {
        let counts = |lowered: Lowered| [lowered.marginals, lowered.functions, lowered.log_density];
        self.lowered.is_some_and(|lowered| counts(lowered).into_iter().any(|weight| weight > 0.0))
    }

    /// `lowered: joint + 0.1 × marginals + 1 × functions`, and which functions; nothing where the MMD is all there is.
    pub(super) fn in_words(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let lowered = self.lowered.filter(|_| self.are_lowered());
        if let Some(Lowered { log_density, .. }) = lowered.filter(|lowered| lowered.log_density > 0.0) {
            lines.push(format!("lowered: KSD, regularised by {log_density} × log-density"));
        } else if let Some(Lowered { marginals, functions, .. }) = lowered {
            let parts =
                [(marginals, "marginals"), (functions, "functions")].into_iter().filter(|part| part.0 > 0.0);
            let parts: String = parts.map(|(weight, name)| format!(" + {weight} × {name}")).collect();
            lines.push(format!("lowered: joint{parts}"));
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
    fn what_was_lowered_is_told_as_a_sum() {
        let told = |marginals, functions, names: &[&str]| {
            let lowered = Some(Lowered { marginals, functions, log_density: 0.0 });
            let functions = names.iter().map(|name| name.to_string()).collect();
            Parts { functions, lowered, ..Parts::default() }.in_words()
        };
        assert_eq!(told(0.0, 0.0, &[]), Vec::<String>::new());
        assert_eq!(told(0.4, 0.0, &[]), ["lowered: joint + 0.4 × marginals"]);
        assert_eq!(
            told(0.5, 2.0, &["y.1", "y.2"]),
            ["lowered: joint + 0.5 × marginals + 2 × functions", "functions: y.1, y.2"]
        );
        assert_eq!(told(0.0, 0.0, &["y"]), ["functions: y"]);
        let lowered = Some(Lowered { marginals: 0.0, functions: 0.0, log_density: 0.05 });
        let regularised = Parts { lowered, ..Parts::default() };
        assert_eq!(regularised.in_words(), ["lowered: KSD, regularised by 0.05 × log-density"]);
        let subset = Parts { functions: vec!["y".to_string()], ..Parts::default() };
        assert_eq!(subset.in_words(), ["functions: y"]);
        let in_common = Parts { functions_unit: FunctionsUnit::Common, ..subset };
        assert_eq!(in_common.in_words(), ["functions: y, in a common unit"]);
    }
}
