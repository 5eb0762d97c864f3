//! Stop rules, why a run ended, and the scale of its errors.

use crate::words::{Opt, exact};
use crate::{Error, Pool, Result};

/// What points may add to the errors of the draws, where no other part is asked for.
const ADDED: f64 = 0.1;

/// When to stop choosing: the first rule that holds ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stop {
    /// Largest number of points.
    pub number: Option<usize>,
    /// Largest error: choosing stops at the first error of at most this.
    pub tol: Option<f64>,
    /// Equivalent draws: choosing stops at the first error that this number of independent draws would have.
    pub equivalent_draws: Option<f64>,
    /// At the fewest points that add at most this part to each error that the draws have themselves; instead of the other
    /// rules, and for sets of rows alone.
    pub add: Option<f64>,
}

/// A goal: an accuracy that ends a run where it is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Goal {
    /// The option that sets it.
    pub option: Opt,
    /// The value that was asked for; `None` where it was not.
    pub value: Option<f64>,
    /// How a run ends that reaches it.
    pub ended: Ended,
    /// Its name, after "the".
    pub name: &'static str,
    /// What its value is: "an error".
    pub meaning: &'static str,
    /// What to give in place of a value that makes no sense.
    advice: &'static str,
}

/// Why choosing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// The number of points was reached.
    Number,
    /// The error is small enough.
    Tolerance,
    /// The points are as accurate as enough independent draws.
    EquivalentDraws,
    /// The points add little to the errors that the draws have themselves.
    Enough,
    /// Every row that may be chosen was chosen once.
    Exhausted,
    /// The caller ended it.
    Interrupted,
}

/// Scale of errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorScale {
    /// Expected squared error of one independent draw, E k(x, x) − ‖μ‖²; `None` if not known.
    pub single_draw: Option<f64>,
    /// Floor: errors up to this are rounding.
    pub floor: f64,
    /// The standard error of ‖μ‖², where that is an estimate.
    pub norm_error: Option<f64>,
}

impl Stop {
    /// Creates stop rules; at least one is needed. Returns the errors of [`check`](Self::check).
    pub fn new(number: Option<usize>, tol: Option<f64>, equivalent_draws: Option<f64>) -> Result<Stop> {
        let stop = Stop { number, tol, equivalent_draws, add: None };
        stop.check()?;
        Ok(stop)
    }

    /// Stops after `number` points.
    pub fn after(number: usize) -> Result<Stop> {
        Stop::new(Some(number), None, None)
    }

    /// Stops at an error of at most this.
    pub fn at_error(tol: f64) -> Result<Stop> {
        Stop::new(None, Some(tol), None)
    }

    /// When the points are as accurate as `draws` independent draws.
    pub fn at_equivalent_draws(draws: f64) -> Result<Stop> {
        Stop::new(None, None, Some(draws))
    }

    /// At the fewest points that add at most the part `add` to each error that the draws have themselves, 0.1 by default: to the
    /// MMD, to the means, standard deviations and distribution functions of the columns, and to the means of functions.
    ///
    /// ```
    /// use supersample::task::{Choose, Ended, Problem, Stop};
    /// use supersample::{Points, unwatched};
    /// let rows = (0..600).map(|i| (f64::from(i * i) * 0.7).sin()).collect();
    /// let problem = Problem::new(Points::from_vec(rows, 2)?, Choose::thin_until(Stop::auto(None)?)?)?;
    /// let chosen = problem.prepare(&unwatched)?.choose(&unwatched)?;
    /// assert!(chosen.ended == Ended::Enough && chosen.rows.len() < 300);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn auto(add: Option<f64>) -> Result<Stop> {
        let stop = Stop { add: Some(add.unwrap_or(ADDED)), ..Stop::default() };
        stop.check()?;
        Ok(stop)
    }

    /// Creates the rules that a user asks for: a number, or `is_auto` with the part `add`, and goals.
    ///
    /// A front end that has all four as options calls this, so that combinations without a meaning are refused once.
    pub fn asked(
        number: Option<usize>,
        is_auto: bool,
        tol: Option<f64>,
        equivalent_draws: Option<f64>,
        add: Option<f64>,
    ) -> Result<Stop> {
        match (is_auto, add) {
            (true, _) if tol.is_some() || equivalent_draws.is_some() => Err(Error::AutoSize {
                what: "a tolerance or a number of equivalent draws",
                advice: "leave these out",
            }),
            (true, add) => Stop::auto(add),
            (false, Some(_)) => Err(Error::NotTogether {
                option: Opt::Add,
                with: "a size other than auto",
                advice: "leave it out",
            }),
            (false, None) => Stop::new(number, tol, equivalent_draws),
        }
    }

    /// Whether there is a rule, the number is not 0, and error and equivalent draws are positive and finite.
    pub fn check(&self) -> Result<()> {
        if self.number == Some(0) {
            return Err(Error::EmptySet);
        }
        if self.number.is_none() && !self.has_goal() {
            return Err(Error::NoStopRule);
        }
        for Goal { option, value, advice, .. } in self.goals() {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(Error::BadOption { option, value, advice });
            }
        }
        Ok(())
    }

    /// Returns all goals that exist, with the values that were asked for. A new goal needs an entry here, and a line in
    /// [`goal`](Self::goal) and [`met_by`](Self::met_by).
    pub fn goals(&self) -> [Goal; 3] {
        [
            Goal {
                option: Opt::Tol,
                value: self.tol,
                ended: Ended::Tolerance,
                name: "tolerance",
                meaning: "an error",
                advice: "an error is a positive number",
            },
            Goal {
                option: Opt::EquivalentDraws,
                value: self.equivalent_draws,
                ended: Ended::EquivalentDraws,
                name: "number of equivalent draws",
                meaning: "a number of independent draws",
                advice: "give a positive number of draws",
            },
            Goal {
                option: Opt::Add,
                value: self.add,
                ended: Ended::Enough,
                name: "accuracy of the draws",
                meaning: "a share of the errors of the draws",
                advice: "give a positive part of the error, such as 0.1",
            },
        ]
    }

    /// Whether there is a rule about the error, which may or may not be reached.
    pub fn has_goal(&self) -> bool {
        self.goals().iter().any(|goal| goal.value.is_some())
    }

    /// Returns the error to reach and its rule; of two rules the easier.
    pub fn goal(&self, scale: &ErrorScale) -> Option<(f64, Ended)> {
        let tolerance = self.tol.map(|tol| (tol, Ended::Tolerance));
        let draws = self.equivalent_draws.zip(scale.single_draw);
        let draws = draws.map(|(draws, single)| ((single / draws).sqrt(), Ended::EquivalentDraws));
        [tolerance, draws].into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// Returns the missed goals in words: "an MMD of 0.01 was not", "neither … nor … was"; the error is an MMD or a
    /// KSD.
    pub fn missed_in_words(&self, error: &str) -> String {
        let asked = self.goals().into_iter().filter_map(|goal| Some(goal.in_words(goal.value?, error)));
        match asked.collect::<Vec<_>>().as_slice() {
            [one] => format!("{one} was not"),
            several => format!("neither {} was", several.join(" nor ")),
        }
    }

    /// Returns the rule that this error fulfils.
    pub fn met_by(&self, error: Option<f64>, scale: &ErrorScale) -> Option<Ended> {
        let error = error?;
        if self.tol.is_some_and(|tol| error <= tol) {
            return Some(Ended::Tolerance);
        }
        // Multiplied out, so that an error of 0 needs no special case.
        let is_enough = |draws: f64| scale.single_draw.is_some_and(|single| draws * error * error <= single);
        self.equivalent_draws.is_some_and(is_enough).then_some(Ended::EquivalentDraws)
    }

    /// Whether a rule about the error was not reached by a run that ended in this way, at this error with equal
    /// weights.
    pub fn is_missed(&self, ended: Ended, error: Option<f64>, scale: &ErrorScale) -> bool {
        // An interrupted set can be good enough without being the smallest.
        let is_met = ended == Ended::Interrupted && self.met_by(error, scale).is_some();
        self.has_goal() && !is_met && !ended.is_goal()
    }
}

impl Goal {
    /// "an MMD of 0.01", "a goal of 500 equivalent draws".
    fn in_words(&self, value: f64, error: &str) -> String {
        match self.option {
            // An MMD, but a KSD.
            Opt::Tol => format!("{} {error} of {}", if error == "MMD" { "an" } else { "a" }, exact(value)),
            Opt::Add => format!("an added error of at most {} of that of the draws", exact(value)),
            option => format!("a goal of {} {}", exact(value), option.to_string().replace('_', " ")),
        }
    }
}

impl Ended {
    /// Whether a goal was reached.
    pub fn is_goal(self) -> bool {
        Stop::default().goals().iter().any(|goal| goal.ended == self)
    }
}

supersample_sum::words!(
    Ended, "an end": Number "number", Tolerance "tolerance", EquivalentDraws "equivalent_draws", Enough "enough", Exhausted "exhausted",
    Interrupted "interrupt",
);

impl ErrorScale {
    /// Returns the scale of errors over this pool, or in space from these starts.
    pub fn of(pool: &Pool) -> ErrorScale {
        let mu = pool.embedding();
        let (single_draw, norm_error) = (mu.single_draw(), mu.squared_norm_error());
        ErrorScale { single_draw, floor: pool.error_floor(), norm_error }
    }

    /// Standard error of an error, from that of ‖μ‖² and the rounding of E²; `None` if ‖μ‖² is exact.
    pub fn standard_error(&self, error: f64) -> Option<f64> {
        self.norm_error.map(|of_norm| {
            // The other terms of E² are at most (E + ‖μ‖)², and the rounding of ‖μ‖² is part of its error.
            let s = of_norm.hypot(4.0 * f64::EPSILON * error * error);
            // E² ± s gives ± s/(2E), or ± √s if E is not larger than that.
            if s > 0.0 { s / (2.0 * error).max(s.sqrt()) } else { 0.0 }
        })
    }

    /// Whether an error is rounding.
    pub fn is_noise(&self, error: f64) -> bool {
        error <= self.floor
    }

    /// Returns the number of independent draws with this expected squared error, a bound if it is rounding. `None` if
    /// that is not known, or if even the floor is equivalent to less than one draw: then the spread of the rows is
    /// itself rounding.
    pub fn equivalent_draws(&self, error: f64) -> Option<f64> {
        let draws = self.single_draw? / error.max(self.floor).powi(2);
        (draws.is_finite() && !(self.is_noise(error) && draws < 1.0)).then_some(draws)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCALE: ErrorScale = ErrorScale { single_draw: Some(0.5), floor: 1e-7, norm_error: None };

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        assert_eq!(Stop::after(0), Err(Error::EmptySet));
        assert_eq!(Stop::new(None, None, None), Err(Error::NoStopRule));
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(Stop::at_error(bad), Err(Error::BadOption { option: Opt::Tol, .. })));
            assert!(matches!(
                Stop::at_equivalent_draws(bad),
                Err(Error::BadOption { option: Opt::EquivalentDraws, .. })
            ));
        }
    }

    #[test]
    fn of_two_goals_the_easier_counts_and_either_is_met_in_its_own_words() {
        let both = Stop::new(None, Some(0.01), Some(200.0)).unwrap();
        let by_draws = (0.5 / 200.0_f64).sqrt();
        assert_eq!(both.goal(&SCALE), Some((by_draws, Ended::EquivalentDraws)));
        assert_eq!(both.met_by(Some(0.04), &SCALE), Some(Ended::EquivalentDraws));
        assert_eq!(both.met_by(Some(0.01), &SCALE), Some(Ended::Tolerance));
        assert_eq!(both.met_by(Some(0.06), &SCALE), None);
        assert_eq!((both.met_by(None, &SCALE), Stop::after(3).unwrap().goal(&SCALE)), (None, None));
        assert_eq!(
            Stop::at_equivalent_draws(1e30).unwrap().met_by(Some(0.0), &SCALE),
            Some(Ended::EquivalentDraws)
        );
    }

    #[test]
    fn a_goal_is_missed_unless_a_rule_of_errors_ended_the_run() {
        let stop = Stop::new(Some(10), Some(0.01), None).unwrap();
        assert!(stop.is_missed(Ended::Number, Some(0.02), &SCALE));
        assert!(!stop.is_missed(Ended::Tolerance, Some(0.01), &SCALE));
        assert!(stop.is_missed(Ended::Interrupted, Some(0.02), &SCALE));
        assert!(!stop.is_missed(Ended::Interrupted, Some(0.009), &SCALE));
        assert!(!Stop::after(10).unwrap().is_missed(Ended::Interrupted, Some(0.02), &SCALE));
    }

    #[test]
    fn missed_goals_are_named() {
        let one = Stop::new(Some(10), Some(0.01), None).unwrap();
        assert_eq!(one.missed_in_words("MMD"), "an MMD of 0.01 was not");
        let both = Stop::new(Some(10), Some(1e-9), Some(500.0)).unwrap();
        assert_eq!(
            both.missed_in_words("KSD"),
            "neither a KSD of 1e-9 nor a goal of 500 equivalent draws was"
        );
    }

    #[test]
    fn the_error_of_an_estimated_norm_is_carried_over() {
        assert_eq!(SCALE.standard_error(0.1), None);
        let estimated = ErrorScale { norm_error: Some(1e-6), ..SCALE };
        assert!((estimated.standard_error(0.01).unwrap() - 5e-5).abs() < 1e-18);
        assert_eq!(estimated.standard_error(0.0), Some(1e-3));
        assert_eq!(ErrorScale { norm_error: Some(0.0), ..SCALE }.standard_error(0.0), Some(0.0));
        // Where ‖μ‖² is next to nothing, the rounding of E² is left: two units in the last place of E.
        let nothing = ErrorScale { norm_error: Some(1e-30), ..SCALE };
        assert_eq!(nothing.standard_error(0.5), Some(f64::EPSILON));
    }

    #[test]
    fn the_equivalent_draws_of_noise_are_a_bound() {
        assert!((SCALE.equivalent_draws(0.1).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(SCALE.equivalent_draws(1e-9), SCALE.equivalent_draws(1e-7));
        assert!(SCALE.is_noise(1e-9) && !SCALE.is_noise(2e-7));
        // The rows are nearly equal: their spread is below the floor.
        let flat = ErrorScale { single_draw: Some(1e-16), ..SCALE };
        assert_eq!(flat.equivalent_draws(1e-8), None);
        let exact = ErrorScale { floor: 0.0, ..SCALE };
        assert_eq!(
            (exact.equivalent_draws(0.0), ErrorScale { single_draw: None, ..SCALE }.equivalent_draws(0.1)),
            (None, None)
        );
    }
}
