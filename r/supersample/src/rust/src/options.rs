//! The arguments of R as the library's `Choose` and its rows.

use supersample::task::{
    Bandwidth, Calibrate, Choose, KernelChoice, Method, RowScores, RowWeights, Rows, Stop, TargetChoice,
};
use supersample::weights::WeightRule;
use supersample::{Chains, Error, Points, Preconditioner};

use crate::given::Given;
use crate::refusal::{Refusal, Result};

/// The choice that was asked for. A new argument is a line here.
pub(crate) fn choice(given: &Given) -> Result<Choose> {
    let number = given.count("n")?;
    let is_auto = given.flag("auto")? == Some(true);
    let (tol, add) = (given.number("tol")?, given.number("add")?);
    let equivalent_draws = given.number("equivalent_draws")?;
    let stop = || Stop::asked(number, is_auto, tol, equivalent_draws, add);
    let mut choose = match given.text("method")? {
        Some("herd") => Choose::herd_until(stop()?)?,
        Some("thin") => Choose::thin_until(stop()?)?.search(given.count("search")?),
        _ => Choose::nothing(number),
    };
    if let Some(unique) = given.flag("unique")? {
        choose = choose.unique(unique);
    }
    if let Method::Thin(refine) = &mut choose.method {
        refine.include = given.places("include")?.unwrap_or_default();
        refine.exclude = given.places("exclude")?.unwrap_or_default();
        refine.groups = given.places("groups")?;
        let quotas = given.numbers("quotas")?;
        refine.quotas = quotas.map(|quotas| quotas.iter().map(|&quota| quota as usize).collect());
    }
    choose.weights = rule(given)?;
    if let (Some(columns), functions) =
        (given.places("calibrate_columns")?, given.places("calibrate_functions")?)
    {
        choose.calibrate = Calibrate::only(columns, functions.unwrap_or_default());
    }
    choose.target = given.word("target")?;
    choose.objective.marginals = given.number("marginals")?;
    choose.objective.moments = given.number("moments")?;
    choose.objective.functions = given.number("functions_weight")?.unwrap_or(choose.objective.functions);
    choose.distance.scale = given.word("scale")?;
    choose.distance.kernel = kernel(given)?;
    choose.distance.precision = given.word("precision")?.unwrap_or_default();
    choose.compute.landmarks = given.count("landmarks")?;
    choose.compute.pool_rows = given.count("pool_rows")?;
    if let Some(unit) = given.word("functions_unit")? {
        choose = choose.functions_unit(unit);
    }
    if let Some(embedding) = given.word("embedding")? {
        choose = choose.embedding(embedding);
    }
    let seed = given.number("seed")?.unwrap_or_default() as u64;
    Ok(choose.diagnosis(given.flag("diagnosis")?.unwrap_or(true)).seed(seed))
}

/// Whether the density behind the scores is matched itself, with a kernel of its own.
fn is_density(given: &Given) -> Result<bool> {
    Ok(given.word("target")? == Some(TargetChoice::Density) && given.matrix("scores")?.is_some())
}

fn kernel(given: &Given) -> Result<KernelChoice> {
    let lengths = given.numbers("bandwidth")?.map(<[f64]>::to_vec);
    if is_density(given)? {
        return Ok(KernelChoice::default());
    }
    let bandwidth = lengths.map_or(Bandwidth::Median, Bandwidth::Lengths);
    Ok(KernelChoice::Named { family: given.word("kernel")?, bandwidth })
}

/// The rule for the weights of chosen rows; `None` for equal ones.
fn rule(given: &Given) -> Result<Option<WeightRule>> {
    match given.text("weights")? {
        None | Some("equal") => Ok(None),
        Some("simplex") => Ok(Some(WeightRule::Simplex)),
        Some("signed") => Ok(Some(WeightRule::Signed)),
        Some("calibrated") => Ok(Some(WeightRule::Calibrated)),
        Some(name) => Err(Refusal::Words(format!(
            "weights is \"{name}\"; choose \"equal\", \"simplex\", \"signed\" or \"calibrated\""
        ))),
    }
}

/// The rows with the weights, chains, functions, scores and target that were given.
pub(crate) fn rows(given: &Given) -> Result<Rows> {
    let (values, dim) = given.rows("x")?;
    let weights = weights_of(given.numbers("sample_weight")?, given.numbers("log_weight")?);
    let points = Points::from_rows(values, dim)?;
    let count = points.len();
    let mut rows = Rows::weighted(points, weights)?;
    match given.numbers("chains")? {
        None => {}
        Some(&[chains]) => rows = rows.chains(Chains::equal(chains as usize, count)?)?,
        Some(labels) => {
            let labels: Vec<u64> = labels.iter().map(|&label| label as u64).collect();
            rows = rows.chains(Chains::of_labels(&labels))?;
        }
    }
    if let Some((values, count)) = given.matrix("functions")? {
        rows = rows.functions(values.to_vec(), count)?;
    }
    if let Some(scores) = scores(given)? {
        rows = rows.scores(scores);
    }
    if let Some((values, dim)) = given.matrix("match")? {
        let weights = weights_of(given.numbers("match_weight")?, given.numbers("match_log_weight")?);
        let mut other = Rows::weighted(Points::from_rows(values, dim)?, weights)?;
        if let Some((values, count)) = given.matrix("match_functions")? {
            other = other.functions(values.to_vec(), count)?;
        }
        rows = rows.matching(other);
    }
    Ok(rows)
}

fn scores(given: &Given) -> Result<Option<RowScores>> {
    let Some((values, dim)) = given.matrix("scores")? else { return Ok(None) };
    let (_, expected) = given.rows("x")?;
    if dim != expected {
        let (what, against) = ("a score", "its row");
        return Err(Error::DimensionMismatch { what, found: dim, against, expected }.into());
    }
    let mut scores = RowScores::new(values.to_vec());
    if is_density(given)? {
        let preconditioner = match given.number("preconditioner_length")? {
            Some(length) => Preconditioner::Length(length),
            None => given.word("preconditioner")?.unwrap_or_default(),
        };
        scores = scores.kernel(given.word("kernel")?.unwrap_or_default(), preconditioner);
    }
    if let Some(log_density) = given.numbers("log_density")? {
        scores = scores.regularised(log_density.to_vec(), given.number("regularise")?.unwrap_or_default());
    }
    Ok(Some(scores))
}

/// Weights of rows, of which at most one kind was given.
fn weights_of<'a>(weights: Option<&'a [f64]>, logs: Option<&'a [f64]>) -> RowWeights<'a> {
    match (weights, logs) {
        (None, None) => RowWeights::Equal,
        (Some(weights), _) => RowWeights::Weights(weights),
        (None, Some(logs)) => RowWeights::Logs(logs),
    }
}
