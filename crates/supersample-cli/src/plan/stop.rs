//! Stop rules: how many, how small an error, worth how many independent draws; and why a run ended.

use anyhow::{Result, ensure};

/// When to stop.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Stop {
    /// At most so many.
    pub(crate) number: Option<usize>,
    /// At the first error of at most this.
    pub(crate) tol: Option<f64>,
    /// At the first error that as many independent draws would have.
    pub(crate) worth: Option<f64>,
}

/// Why choosing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    Number,
    Tolerance,
    Worth,
    /// Every row was chosen once.
    Exhausted,
    Interrupted,
}

impl Stop {
    pub(crate) fn new(number: Option<usize>, tol: Option<f64>, worth: Option<f64>) -> Result<Stop> {
        ensure!(number != Some(0), "-n is 0; ask for at least 1 row");
        ensure!(
            number.or(tol.map(|_| 1)).or(worth.map(|_| 1)).is_some(),
            "say how many: a number with -n, an error with --tol, or a number of independent draws with --worth"
        );
        let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value.is_finite());
        ensure!(positive(tol), "--tol is {}; an error is a positive number", tol.unwrap_or_default());
        ensure!(positive(worth), "--worth is {}; give a positive number of draws", worth.unwrap_or_default());
        Ok(Stop { number, tol, worth })
    }

    /// Whether an error was asked for, which may or may not be reached.
    pub(crate) fn has_goal(&self) -> bool {
        self.tol.is_some() || self.worth.is_some()
    }

    /// The error that is enough and the rule that says so; of two rules the easier.
    pub(crate) fn goal(&self, single_draw: Option<f64>) -> Option<(f64, Ended)> {
        let tolerance = self.tol.map(|tol| (tol, Ended::Tolerance));
        let worth =
            self.worth.zip(single_draw).map(|(worth, single)| ((single / worth).sqrt(), Ended::Worth));
        [tolerance, worth].into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The rule that this error meets; `single_draw` is the expected squared error of one independent draw.
    pub(crate) fn met_by(&self, error: Option<f64>, single_draw: Option<f64>) -> Option<Ended> {
        let error = error?;
        if self.tol.is_some_and(|tol| error <= tol) {
            return Some(Ended::Tolerance);
        }
        // Multiplied out, so that an error of 0 needs no special word.
        let is_worth = |worth: f64| single_draw.is_some_and(|single| worth * error * error <= single);
        self.worth.is_some_and(is_worth).then_some(Ended::Worth)
    }
}

impl Ended {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Ended::Number => "number",
            Ended::Tolerance => "tolerance",
            Ended::Worth => "worth",
            Ended::Exhausted => "exhausted",
            Ended::Interrupted => "interrupt",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        assert!(Stop::new(Some(0), None, None).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Stop::new(None, Some(bad), None).is_err() && Stop::new(None, None, Some(bad)).is_err());
        }
    }
}
