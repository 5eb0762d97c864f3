//! Results of the library as lists of R.

use extendr_api::prelude::*;
use supersample::task::{Advice, Diagnosis, Errors, Problem, Target};
use supersample::words::{Names, Style};
use supersample::{Precision, Refined};

/// What is there, or NULL.
pub(crate) fn or_null<T: Into<Robj>>(value: Option<T>) -> Robj {
    value.map_or(().into(), Into::into)
}

/// Errors as a numeric vector with the words of the measures as names; NA where one is not known.
pub(crate) fn errors(errors: &Errors) -> Robj {
    let (names, values): (Vec<&str>, Vec<Rfloat>) = errors
        .iter()
        .map(|(measure, error)| (measure.key(), error.map_or(Rfloat::na(), Rfloat::from)))
        .unzip();
    let mut vector = Doubles::from_values(values).into_robj();
    // A vector always takes as many names as it has numbers.
    let _ = vector.set_names(names);
    vector
}

/// The sentences of advice, and whether each is a note and not a warning.
pub(crate) fn advice<'a>(pieces: impl IntoIterator<Item = &'a Advice>, names: &Names<'_>) -> Robj {
    let (sentences, notes): (Vec<String>, Vec<bool>) =
        pieces.into_iter().map(|piece| (piece.sentence(Style::R, names), piece.is_note())).unzip();
    list!(sentence = sentences, is_note = notes).into()
}

pub(crate) fn diagnosis(found: &Diagnosis) -> List {
    list!(
        draws = found.draws as f64,
        chains = found.chains as f64,
        chains_assumed = found.is_assumed,
        kernel_ess = found.kernel_ess,
        disagreement = or_null(found.disagreement),
        sentence = found.sentence()
    )
}

/// What was chosen from, or compared with.
pub(crate) fn of(target: &Target) -> List {
    let problem = target.problem();
    let precision = if target.precision() == Precision::Double { "double" } else { "mixed" };
    list!(
        n_rows = problem.rows().len() as f64,
        kernel = problem.kernel().name(),
        bandwidth = problem.kernel().bandwidths().to_vec(),
        scale = Into::<&'static str>::into(problem.scale()),
        precision = precision,
        landmarks = or_null(target.landmarks().map(|landmarks| landmarks.points().len() as f64)),
        is_stein = problem.kernel().is_stein(),
        objective = objective(problem)
    )
}

/// The objective in words: joint MMD + 0.1 × marginals + 0.08 × moments.
fn objective(problem: &Problem) -> String {
    let functions = problem.functions().map(|(.., weight)| weight);
    let parts = [("marginals", problem.marginals()), ("moments", problem.moments())];
    let parts = parts.into_iter().filter(|(_, weight)| *weight > 0.0);
    let parts = parts.chain(functions.map(|weight| ("functions", weight)));
    let error = if problem.kernel().is_stein() { "KSD" } else { "joint MMD" };
    parts.fold(error.to_string(), |said, (name, weight)| format!("{said} + {weight} \u{d7} {name}"))
}

/// The MMD of each stage of a set.
pub(crate) fn stages(refined: &Refined, has_goal: bool) -> List {
    list!(
        herding = or_null(refined.start_error.filter(|_| !has_goal)),
        swaps = or_null(refined.swept_error),
        search = or_null(refined.error.filter(|_| refined.searched))
    )
}
