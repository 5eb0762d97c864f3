//! When choosing ends: so many, a small enough error, or a large enough worth.

use pyo3::PyResult;
use pyo3::exceptions::PyValueError;

/// The rules; the first that holds ends the choosing.
#[derive(Clone, Copy)]
pub(crate) struct Stop {
    /// At most so many.
    pub(crate) number: usize,
    tol: Option<f64>,
    worth: Option<f64>,
}

impl Stop {
    pub(crate) fn new(number: usize, tol: Option<f64>, worth: Option<f64>) -> PyResult<Stop> {
        for (name, value, what) in [("tol", tol, "an error"), ("worth", worth, "a number of draws")] {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(PyValueError::new_err(format!("{name} is {value}; {what} is a positive number")));
            }
        }
        Ok(Stop { number, tol, worth })
    }

    /// The rule that this error meets; `single_draw` is the expected squared error of one independent draw.
    pub(crate) fn met_by(&self, error: f64, single_draw: Option<f64>) -> Option<&'static str> {
        if self.tol.is_some_and(|tol| error <= tol) {
            return Some("tolerance");
        }
        // Multiplied out, so that an error of 0 needs no special word.
        let is_worth = |worth: f64| single_draw.is_some_and(|single| worth * error * error <= single);
        self.worth.is_some_and(is_worth).then_some("worth")
    }

    /// The error that is enough and the rule that says so; of two rules the easier.
    pub(crate) fn goal(&self, single_draw: Option<f64>) -> Option<(f64, &'static str)> {
        let tolerance = self.tol.map(|tol| (tol, "tolerance"));
        let worth = self.worth.zip(single_draw).map(|(worth, single)| ((single / worth).sqrt(), "worth"));
        [tolerance, worth].into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }
}
