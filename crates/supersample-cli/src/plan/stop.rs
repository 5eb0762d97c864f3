//! Stop rules as they are asked for, refused in the words of the flags.

use anyhow::{Result, ensure};
pub(crate) use supersample::task::{Ended, Stop};

use crate::args::SizeArgs;

/// The rules that `-n`, `--tol` and `--worth` say.
pub(super) fn stop(size: SizeArgs) -> Result<Stop> {
    let SizeArgs { number, tol, worth } = size;
    ensure!(number != Some(0), "-n is 0; ask for at least 1 row");
    ensure!(
        number.is_some() || tol.is_some() || worth.is_some(),
        "say how many: a number with -n, an error with --tol, or a number of independent draws with --worth"
    );
    let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0 && value.is_finite());
    ensure!(positive(tol), "--tol is {}; an error is a positive number", tol.unwrap_or_default());
    ensure!(positive(worth), "--worth is {}; give a positive number of draws", worth.unwrap_or_default());
    Ok(Stop::new(number, tol, worth)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_that_make_no_sense_are_refused() {
        let stop = |number, tol, worth| stop(SizeArgs { number, tol, worth });
        assert!(stop(Some(0), None, None).is_err() && stop(None, None, None).is_err());
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(stop(None, Some(bad), None).is_err() && stop(None, None, Some(bad)).is_err());
        }
    }
}
