//! Stop rules, why a run ended, and the scale that its errors are read on.

use crate::words::Opt;
use crate::{Error, Pool, Result};

/// When to stop choosing: the first rule that holds ends it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Stop {
    /// At most so many points.
    pub number: Option<usize>,
    /// At the first error of at most this.
    pub tol: Option<f64>,
    /// At the first error that so many independent draws would have.
    pub equivalent_draws: Option<f64>,
}

/// Why choosing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// There are as many points as were asked for.
    Number,
    /// The error is small enough.
    Tolerance,
    /// The points are as accurate as enough independent draws.
    EquivalentDraws,
    /// Every row that may be chosen was chosen once.
    Exhausted,
    /// The caller ended it.
    Interrupted,
}

/// What an error is measured against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ErrorScale {
    /// The expected squared error of one independent draw, E k(x, x) − ‖μ‖²; `None` where it is not known.
    pub single_draw: Option<f64>,
    /// Errors up to this are rounding.
    pub floor: f64,
    /// The standard error of ‖μ‖², where that is an estimate.
    pub norm_error: Option<f64>,
}

impl Stop {
    /// These rules, of which there must be one; [`check`](Self::check) says what they may be.
    pub fn new(number: Option<usize>, tol: Option<f64>, equivalent_draws: Option<f64>) -> Result<Stop> {
        let stop = Stop { number, tol, equivalent_draws };
        stop.check()?;
        Ok(stop)
    }

    /// After so many points.
    pub fn after(number: usize) -> Result<Stop> {
        Stop::new(Some(number), None, None)
    }

    /// At an error of at most this.
    pub fn at_error(tol: f64) -> Result<Stop> {
        Stop::new(None, Some(tol), None)
    }

    /// When the points are as accurate as `draws` independent draws.
    pub fn at_equivalent_draws(draws: f64) -> Result<Stop> {
        Stop::new(None, None, Some(draws))
    }

    /// Whether there is a rule, the number is not 0, and error and equivalent draws are positive and finite.
    pub fn check(&self) -> Result<()> {
        if self.number == Some(0) {
            return Err(Error::EmptySet);
        }
        if self.number.is_none() && !self.has_goal() {
            return Err(Error::NoStopRule);
        }
        let rules = [
            (Opt::Tol, self.tol, "an error is a positive number"),
            (Opt::EquivalentDraws, self.equivalent_draws, "give a positive number of draws"),
        ];
        for (option, value, advice) in rules {
            if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
                return Err(Error::BadOption { option, value, advice });
            }
        }
        Ok(())
    }

    /// Whether an error was asked for, which may or may not be reached.
    pub fn has_goal(&self) -> bool {
        self.tol.is_some() || self.equivalent_draws.is_some()
    }

    /// The error that is enough and the rule that says so; of two rules the easier.
    pub fn goal(&self, scale: &ErrorScale) -> Option<(f64, Ended)> {
        let tolerance = self.tol.map(|tol| (tol, Ended::Tolerance));
        let draws = self.equivalent_draws.zip(scale.single_draw);
        let draws = draws.map(|(draws, single)| ((single / draws).sqrt(), Ended::EquivalentDraws));
        [tolerance, draws].into_iter().flatten().max_by(|(a, _), (b, _)| a.total_cmp(b))
    }

    /// The rule that this error meets.
    pub fn met_by(&self, error: Option<f64>, scale: &ErrorScale) -> Option<Ended> {
        let error = error?;
        if self.tol.is_some_and(|tol| error <= tol) {
            return Some(Ended::Tolerance);
        }
        // Multiplied out, so that an error of 0 needs no special word.
        let is_enough = |draws: f64| scale.single_draw.is_some_and(|single| draws * error * error <= single);
        self.equivalent_draws.is_some_and(is_enough).then_some(Ended::EquivalentDraws)
    }

    /// Whether an error was asked for and not reached by a run that ended so, at this error of equal weights.
    pub fn is_missed(&self, ended: Ended, error: Option<f64>, scale: &ErrorScale) -> bool {
        let reached = match ended {
            Ended::Tolerance | Ended::EquivalentDraws => true,
            // A set can be good enough before it is as small as it could be.
            Ended::Interrupted => self.met_by(error, scale).is_some(),
            Ended::Number | Ended::Exhausted => false,
        };
        self.has_goal() && !reached
    }
}

supersample_sum::words!(
    Ended, "an end": Number "number", Tolerance "tolerance", EquivalentDraws "equivalent_draws", Exhausted "exhausted",
    Interrupted "interrupt",
);

impl ErrorScale {
    /// Of errors over this pool, or in space from these starts.
    pub fn of(pool: &Pool) -> ErrorScale {
        let mu = pool.embedding();
        let (single_draw, norm_error) = (mu.single_draw(), mu.squared_norm_error());
        ErrorScale { single_draw, floor: pool.error_floor(), norm_error }
    }

    /// The standard error of this error, whose square has that of ‖μ‖²; `None` where ‖μ‖² is exact.
    pub fn standard_error(&self, error: f64) -> Option<f64> {
        // E² ± s: ± s/(2E), and ± √s where E is no more than that.
        self.norm_error.map(|s| if s > 0.0 { s / (2.0 * error).max(s.sqrt()) } else { 0.0 })
    }

    /// Whether an error is rounding.
    pub fn is_noise(&self, error: f64) -> bool {
        error <= self.floor
    }

    /// How many independent draws have this expected squared error, a bound where it is rounding. `None` where that is
    /// not known, and where even the floor is equivalent to less than one draw: then the spread of the rows is itself
    /// rounding.
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
    fn the_error_of_an_estimated_norm_is_carried_over() {
        assert_eq!(SCALE.standard_error(0.1), None);
        let estimated = ErrorScale { norm_error: Some(1e-6), ..SCALE };
        assert!((estimated.standard_error(0.01).unwrap() - 5e-5).abs() < 1e-18);
        assert_eq!(estimated.standard_error(0.0), Some(1e-3));
        assert_eq!(ErrorScale { norm_error: Some(0.0), ..SCALE }.standard_error(0.0), Some(0.0));
    }

    #[test]
    fn the_equivalent_draws_of_noise_are_a_bound() {
        assert!((SCALE.equivalent_draws(0.1).unwrap() - 50.0).abs() < 1e-9);
        assert_eq!(SCALE.equivalent_draws(1e-9), SCALE.equivalent_draws(1e-7));
        assert!(SCALE.is_noise(1e-9) && !SCALE.is_noise(2e-7));
        // The rows are nearly the same: their spread is below the floor.
        let flat = ErrorScale { single_draw: Some(1e-16), ..SCALE };
        assert_eq!(flat.equivalent_draws(1e-8), None);
        let exact = ErrorScale { floor: 0.0, ..SCALE };
        assert_eq!(
            (exact.equivalent_draws(0.0), ErrorScale { single_draw: None, ..SCALE }.equivalent_draws(0.1)),
            (None, None)
        );
    }
}
