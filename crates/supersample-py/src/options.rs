//! Options of Python: one mapping, which becomes the library's `Choose` and its rows.

use std::path::Path;
use std::str::FromStr;

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::task::{
    Bandwidth, Calibrate, Choose, KernelChoice, Method, Problem, RowScores, RowWeights, Rows, Size, Stop,
    Summary, TargetChoice,
};
use supersample::weights::WeightRule;
use supersample::{Chains, Device, Error, Gram, Points, Precision, Preconditioner, SteinBase};
use supersample_io::summary::SummaryFile;

use crate::arrays::{counted, numbers, rows};
use crate::error::{named, refused, unreadable};
use crate::threads::{checked, pool};
use crate::work::run;

/// About how often scores that correct rows go through them, by columns.
const PASSES: usize = 40;

/// What Python was asked for; `None` is the default of the library. A new keyword is a field here and a line in
/// [`choose`](Self::choose).
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options<'py> {
    /// herd, thin, or `None` where nothing is chosen.
    method: Option<String>,
    pub(crate) n: Option<usize>,
    /// Whether the number of rows follows from the errors of the draws, and how much rows may add to these.
    auto: Option<bool>,
    add: Option<f64>,
    tol: Option<f64>,
    equivalent_draws: Option<f64>,
    pub(crate) unique: Option<bool>,
    repeats: Option<bool>,
    search: Option<usize>,
    pub(crate) seed: Option<u64>,
    include: Option<PyReadonlyArray1<'py, i64>>,
    exclude: Option<PyReadonlyArray1<'py, i64>>,
    groups: Option<PyReadonlyArray1<'py, i64>>,
    quotas: Option<Vec<usize>>,
    weights: Option<String>,
    /// The columns and the functions whose means calibrated weights meet; `None` for all.
    calibrate: Option<(Vec<usize>, Vec<usize>)>,
    marginals: Option<f64>,
    moments: Option<f64>,
    functions: Option<PyReadonlyArray2<'py, f64>>,
    functions_weight: Option<f64>,
    functions_unit: Option<String>,
    kernel: Option<String>,
    /// The lengths; `None` is the median distance.
    pub(crate) bandwidth: Option<Vec<f64>>,
    pub(crate) scale: Option<String>,
    precision: Option<String>,
    embedding: Option<String>,
    landmarks: Option<usize>,
    pool_rows: Option<usize>,
    max_memory: Option<u64>,
    device: Option<String>,
    pub(crate) sample_weight: Option<PyReadonlyArray1<'py, f64>>,
    log_weight: Option<PyReadonlyArray1<'py, f64>>,
    chains: Option<GivenChains<'py>>,
    /// Other rows that are matched, with their weights and functions.
    match_rows: Option<PyReadonlyArray2<'py, f64>>,
    match_weight: Option<PyReadonlyArray1<'py, f64>>,
    match_functions: Option<PyReadonlyArray2<'py, f64>>,
    /// Gives the three above as soon as the columns of rows in batches are known, and the number of rows and columns of the first.
    pub(crate) match_later: Option<Py<PyAny>>,
    match_size: Option<(usize, usize)>,
    /// Published numbers that are matched: a text or the path of a file, and the names of the columns.
    match_summary: Option<(bool, String, Vec<String>)>,
    /// Whether the accuracy of the draws is estimated.
    diagnosis: Option<bool>,
    /// rows, corrected or density.
    target: Option<String>,
    scores: Option<PyReadonlyArray2<'py, f64>>,
    preconditioner: Option<GivenPreconditioner>,
    log_density: Option<PyReadonlyArray1<'py, f64>>,
    regularise: Option<f64>,
    second_derivatives: Option<PyReadonlyArray2<'py, f64>>,
    /// Whether the array holds kernel values between rows, and not the rows.
    gram: Option<bool>,
    pub(crate) threads: Option<usize>,
    pub(crate) progress: Option<Py<PyAny>>,
}

/// How many chains of equal length, the number of each row's chain, or the lengths of chains.
#[derive(FromPyObject)]
enum GivenChains<'py> {
    Count(usize),
    Labels(PyReadonlyArray1<'py, i64>),
    Lengths(Vec<usize>),
}

impl GivenChains<'_> {
    fn of(&self, rows: usize) -> supersample::Result<Chains> {
        match self {
            GivenChains::Count(count) => Chains::equal(*count, rows),
            GivenChains::Labels(labels) => Ok(Chains::of_labels(&counted(labels))),
            GivenChains::Lengths(lengths) => Chains::of_lengths(lengths, rows),
        }
    }
}

/// A length, or a name.
#[derive(FromPyObject)]
enum GivenPreconditioner {
    Length(f64),
    Named(String),
}

/// What a word names, where one was given.
fn word<T: FromStr<Err: Into<Error>>>(word: &Option<String>) -> PyResult<Option<T>> {
    word.as_deref().map(named).transpose()
}

impl Options<'_> {
    /// The choice that was asked for.
    pub(crate) fn choose(&self) -> PyResult<Choose> {
        let stop = || Stop::asked(self.n, self.auto == Some(true), self.tol, self.equivalent_draws, self.add);
        let chosen = match self.method.as_deref() {
            Some("herd") => stop().and_then(Choose::herd_until),
            Some("thin") => stop().and_then(Choose::thin_until).map(|thin| thin.search(self.search)),
            _ => Ok(Choose::nothing(self.n)),
        };
        let mut choose = chosen.map_err(refused)?;
        if let Some(unique) = self.unique.or(self.repeats.map(|repeats| !repeats)) {
            choose = choose.unique(unique);
        }
        if let Method::Thin(refine) = &mut choose.method {
            let listed = |rows: &Option<PyReadonlyArray1<'_, i64>>| rows.as_ref().map(counted);
            refine.include = listed(&self.include).unwrap_or_default();
            refine.exclude = listed(&self.exclude).unwrap_or_default();
            (refine.groups, refine.quotas) = (listed(&self.groups), self.quotas.clone());
        }
        choose.weights = self.rule()?;
        if let Some((columns, functions)) = &self.calibrate {
            choose.calibrate = Calibrate::only(columns.clone(), functions.clone());
        }
        choose.target = word(&self.target)?;
        (choose.objective.marginals, choose.objective.moments) = (self.marginals, self.moments);
        choose.objective.functions = self.functions_weight.unwrap_or(choose.objective.functions);
        choose.distance.scale = word(&self.scale)?;
        choose.distance.kernel = self.kernel()?;
        choose.distance.precision = self.precision()?;
        choose.compute.landmarks = self.landmarks;
        choose.compute.pool_rows = self.pool_rows;
        choose.compute.max_memory = self.max_memory;
        if let Some((rows, columns)) = self.match_size {
            choose = choose.with_room_for(Size { rows, columns, ..Size::default() }).map_err(refused)?;
        }
        if let Some(unit) = word(&self.functions_unit)? {
            choose = choose.functions_unit(unit);
        }
        if let Some(embedding) = word(&self.embedding)? {
            choose = choose.embedding(embedding);
        }
        if let Some(device) = word(&self.device)? {
            choose = choose.device(device);
        }
        Ok(choose.diagnosis(self.diagnosis.unwrap_or(true)).seed(self.seed.unwrap_or_default()))
    }

    /// The kernel, by default that of the library.
    pub(crate) fn kernel(&self) -> PyResult<KernelChoice> {
        if self.is_density() {
            return Ok(KernelChoice::default());
        }
        let bandwidth = self.bandwidth.clone().map_or(Bandwidth::Median, Bandwidth::Lengths);
        Ok(KernelChoice::Named { family: word(&self.kernel)?, bandwidth })
    }

    /// Whether the density behind the scores is matched itself.
    fn is_density(&self) -> bool {
        self.scores.is_some() && self.target.as_deref() == Some(TargetChoice::Density.into())
    }

    /// The precision, by default that of the library.
    pub(crate) fn precision(&self) -> PyResult<Precision> {
        Ok(word(&self.precision)?.unwrap_or_default())
    }

    /// The rule for the weights of chosen points; `None` for equal ones.
    pub(crate) fn rule(&self) -> PyResult<Option<WeightRule>> {
        match self.weights.as_deref() {
            None | Some("equal") => Ok(None),
            Some("simplex") => Ok(Some(WeightRule::Simplex)),
            Some("signed") => Ok(Some(WeightRule::Signed)),
            Some("calibrated") => Ok(Some(WeightRule::Calibrated)),
            Some(name) => Err(PyValueError::new_err(format!(
                "weights is '{name}'; choose equal, simplex, signed or calibrated"
            ))),
        }
    }

    /// The base of a Stein kernel and its preconditioner, by default those of the library.
    pub(crate) fn stein_kernel(&self) -> PyResult<(SteinBase, Preconditioner)> {
        let base = word(&self.kernel)?.unwrap_or_default();
        let preconditioner = match &self.preconditioner {
            None => Preconditioner::default(),
            Some(GivenPreconditioner::Length(length)) => Preconditioner::Length(*length),
            Some(GivenPreconditioner::Named(name)) => named(name)?,
        };
        Ok((base, preconditioner))
    }

    /// These rows with the weights, functions, scores and target that were given.
    pub(crate) fn rows(&self, py: Python<'_>, x: &PyReadonlyArray2<'_, f64>) -> PyResult<Rows> {
        let (values, dim) = rows(x)?;
        let (weights, logs) = (numbers(&self.sample_weight), numbers(&self.log_weight));
        let functions = self.functions.as_ref().map(rows).transpose()?;
        let chains = self.chains.as_ref().map(|chains| chains.of(values.len() / dim.max(1)));
        let chains = chains.transpose().map_err(refused)?;
        let (scores, is_gram) = (self.scores()?, self.gram.unwrap_or_default());
        let other = self.match_rows.as_ref().map(rows).transpose()?;
        let other_weights = numbers(&self.match_weight);
        let other_functions = self.match_functions.as_ref().map(rows).transpose()?;
        let summary = self.summary()?;
        // On our own pool, because the global one does not survive a fork.
        let pool = pool(1)?;
        let made = py.detach(|| {
            pool.install(|| {
                let weights = weights_of(weights.as_deref(), logs.as_deref());
                let mut given = match is_gram {
                    true => of_gram(values, dim, weights)?,
                    false => Rows::weighted(Points::from_rows(values, dim)?, weights)?,
                };
                if let Some(chains) = chains {
                    given = given.chains(chains)?;
                }
                if let Some((values, count)) = functions {
                    given = given.functions(values.to_vec(), count)?;
                }
                if let Some((scores, score_dim)) = scores {
                    if score_dim != dim {
                        let (what, found, against) = ("a score", score_dim, "its row");
                        return Err(Error::DimensionMismatch { what, found, against, expected: dim });
                    }
                    given = given.scores(scores);
                }
                if let Some((values, dim)) = other {
                    given = given.matching(target(values, dim, other_weights.as_deref(), other_functions)?);
                }
                if let Some(summary) = summary {
                    given = given.matching_summary(summary);
                }
                Ok(given)
            })
        });
        made.map_err(refused)
    }

    /// The published numbers that are matched.
    fn summary(&self) -> PyResult<Option<Summary>> {
        let Some((is_path, text, names)) = &self.match_summary else { return Ok(None) };
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found = match is_path {
            true => SummaryFile::read(Path::new(text)),
            false => SummaryFile::from_text(text),
        };
        found.and_then(|found| found.numbers(&names)).map(Some).map_err(|error| match error {
            supersample_io::Error::Invalid(error) => refused(error),
            error => unreadable(&error),
        })
    }

    /// The problem of these rows. It takes milliseconds unless scores correct the rows.
    pub(crate) fn problem(
        &self,
        py: Python<'_>,
        x: &PyReadonlyArray2<'_, f64>,
        choose: Choose,
    ) -> PyResult<Problem> {
        let (given, (values, dim)) = (self.rows(py, x)?, rows(x)?);
        let pool = pool(1)?;
        if self.scores.is_some() && choose.target_in_use(true) == TargetChoice::Corrected {
            let size = (values.len() * dim * PASSES) as f64;
            return run(py, self.threads, size, self.progress.as_ref(), |watch| {
                Problem::watched(given, choose, watch)
            });
        }
        py.detach(|| pool.install(|| Problem::new(given, choose))).map_err(refused)
    }

    /// The scores that were given, and how many numbers each has.
    fn scores(&self) -> PyResult<Option<(RowScores, usize)>> {
        let Some(scores) = &self.scores else { return Ok(None) };
        let (base, preconditioner) =
            if self.is_density() { self.stein_kernel()? } else { Default::default() };
        let (values, dim) = rows(scores)?;
        let mut given = RowScores::new(values.to_vec()).kernel(base, preconditioner);
        if let Some(log_density) = numbers(&self.log_density) {
            given = given.regularised(log_density, self.regularise.unwrap_or_default());
        }
        if let Some(second) = &self.second_derivatives {
            given = given.second_derivatives(rows(second)?.0.to_vec());
        }
        Ok(Some((given, dim)))
    }
}

/// Rows that are matched in place of those to choose from.
pub(crate) fn target(
    values: &[f64],
    dim: usize,
    weights: Option<&[f64]>,
    functions: Option<(&[f64], usize)>,
) -> supersample::Result<Rows> {
    let other = Rows::weighted(Points::from_rows(values, dim)?, weights_of(weights, None))?;
    match functions {
        Some((values, count)) => other.functions(values.to_vec(), count),
        None => Ok(other),
    }
}

/// Rows that are known by their kernel values alone.
fn of_gram(values: &[f64], rows: usize, weights: RowWeights<'_>) -> supersample::Result<Rows> {
    let matrix = values.to_vec();
    Ok(Rows::of_gram(match weights.shares(rows)? {
        None => Gram::new(matrix, rows)?,
        Some(shares) => Gram::weighted(matrix, rows, &shares)?,
    }))
}

/// The weights of rows, of which at most one kind was given.
pub(crate) fn weights_of<'a>(weights: Option<&'a [f64]>, logs: Option<&'a [f64]>) -> RowWeights<'a> {
    match (weights, logs) {
        (None, None) => RowWeights::Equal,
        (Some(weights), _) => RowWeights::Weights(weights),
        (None, Some(logs)) => RowWeights::Logs(logs),
    }
}

/// Whether rows in single precision are gone through in batches, so that they stay in it.
#[pyfunction]
pub(crate) fn goes_in_batches(options: Options<'_>, rows: usize) -> PyResult<bool> {
    Ok(options.choose()?.goes_in_batches(rows))
}

/// How many rows are drawn to choose from, of rows in batches that have this number of columns and functions.
#[pyfunction]
pub(crate) fn drawn_rows(
    options: Options<'_>,
    columns: usize,
    functions: usize,
    is_weighted: bool,
) -> PyResult<usize> {
    let size = Size { columns, functions, is_weighted, ..Size::default() };
    let (choose, pool) = (options.choose()?, pool(checked(options.threads)?)?);
    pool.install(|| choose.drawn_rows(size)).map_err(refused)
}

/// Refuses what no rows in batches can be chosen with, before any are read.
#[pyfunction]
pub(crate) fn check_in_batches(options: Options<'_>) -> PyResult<()> {
    let choose = options.choose()?;
    choose.check().and_then(|()| choose.refuse_in_batches()).map_err(refused)
}

/// The name of the device that goes by this word, cpu or gpu; an error where there is none.
#[pyfunction]
pub(crate) fn device_name(py: Python<'_>, name: &str) -> PyResult<String> {
    let device: Device = py.detach(|| name.parse()).map_err(refused)?;
    Ok(device.to_string())
}
