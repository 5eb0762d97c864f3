//! Herding and thinning from Python, and all that is told of the rows they choose.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use supersample::task::{self, Advice, Ended, ErrorScale, HerdOptions, Problem, Stop, ThinOptions, Weighed};
use supersample::weights::WeightRule;
use supersample::{Error, Pick, RefineOptions, Refined, Result, Search, Watch};

use crate::advice::Told;
use crate::arrays::{Column, RowNumbers, counted};
use crate::error::refused;
use crate::samples::Samples;
use crate::work::run;

/// The rule of this name; `None` for equal weights.
pub(crate) fn rule_of(name: &str) -> PyResult<Option<WeightRule>> {
    match name {
        "equal" => Ok(None),
        "simplex" => Ok(Some(WeightRule::Simplex)),
        "free" => Ok(Some(WeightRule::Signed)),
        _ => Err(PyValueError::new_err(format!("weights is '{name}'; choose equal, simplex or free"))),
    }
}

/// What was chosen, how good it is, and what to know of it.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Chosen {
    /// In the order of choice; none in space.
    rows: RowNumbers,
    /// E_T after each choice.
    error: Column,
    /// `None` where they are equal.
    weights: Option<Column>,
    mmd: f64,
    /// The standard error of it, where landmarks stand for the mean embedding.
    mmd_error: Option<f64>,
    /// How many landmarks.
    landmarks: Option<usize>,
    /// How many rows, drawn at random, were chosen from.
    pool_rows: Option<usize>,
    worth: Option<f64>,
    /// The distance of the distribution functions, with the weights; `None` in space.
    cdf: Option<f64>,
    /// The error of the means of the functions, with the weights; `None` where there are none.
    functions: Option<f64>,
    ended: &'static str,
    /// Whether an error was asked for and not reached.
    missed: bool,
    refinement: Option<Refinement>,
    advice: Told,
}

/// What swaps and search have done; a dict for Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct Refinement {
    mmd_before: Option<f64>,
    mmd_swapped: Option<f64>,
    /// `None` without a search.
    mmd_searched: Option<f64>,
    /// What was lowered, where that is more than the MMD.
    lowered: Option<Stages>,
    /// Whether the swaps began with herded rows, and not with those of a larger set.
    herded: bool,
    swaps: usize,
    sweeps: usize,
    kernel_rows: u64,
    converged: bool,
}

/// What was lowered before the swaps, after them and after the search; a dict for Python.
#[derive(Clone, IntoPyObject)]
struct Stages {
    before: f64,
    swapped: f64,
    /// `None` without a search.
    searched: Option<f64>,
}

impl Refinement {
    pub(crate) fn of(refined: Refined, stop: &Stop) -> Refinement {
        Refinement {
            mmd_before: refined.start_error,
            mmd_swapped: refined.swept_error,
            mmd_searched: refined.error.filter(|_| refined.searched),
            lowered: refined.lowered.map(|lowered| Stages {
                before: lowered.start,
                swapped: lowered.swept,
                searched: refined.searched.then_some(lowered.end),
            }),
            herded: !stop.has_goal(),
            swaps: refined.swaps,
            sweeps: refined.sweeps,
            kernel_rows: refined.kernel_rows,
            converged: refined.converged,
        }
    }
}

impl Chosen {
    /// With what swaps and search have done.
    pub(crate) fn refined(self, refinement: Option<Refinement>) -> Chosen {
        Chosen { refinement, ..self }
    }

    /// Picks, with the weights that were found for them if any were asked for.
    pub(crate) fn new(
        trace: &[Pick],
        ended: Ended,
        weighed: Option<Weighed>,
        scale: ErrorScale,
        stop: Option<&Stop>,
    ) -> Result<Chosen> {
        let error: Vec<f64> = trace.iter().filter_map(|pick| pick.error).collect();
        let (weights, advice) = weighed.map_or((None, None), |found| (found.weights, found.advice));
        let equal = error.last().copied();
        let mmd = weights.as_ref().map_or(equal, |found| found.error).ok_or(Error::UnknownNorm)?;
        Ok(Chosen {
            rows: RowNumbers(trace.iter().filter_map(|pick| pick.index).collect()),
            error: Column(error),
            weights: weights.map(|found| Column(found.weights)),
            mmd,
            mmd_error: scale.standard_error(mmd),
            landmarks: None,
            pool_rows: None,
            worth: scale.worth(mmd),
            cdf: None,
            functions: None,
            ended: ended.into(),
            missed: stop.is_some_and(|stop| stop.is_missed(ended, equal, &scale)),
            refinement: None,
            advice: Told(advice.into_iter().collect()),
        })
    }

    /// Chosen from so many rows that were drawn at random.
    pub(crate) fn sampled_from(self, pool_rows: Option<usize>) -> Chosen {
        Chosen { pool_rows, ..self }
    }

    /// With what the library has to say of this choice.
    pub(crate) fn advised(mut self, advice: Option<Advice>) -> Chosen {
        self.advice.0.extend(advice);
        self
    }

    /// Rows of a problem, weighed by this rule.
    pub(crate) fn of(
        problem: &Problem,
        trace: &[Pick],
        ended: Ended,
        rule: Option<WeightRule>,
        stop: Option<&Stop>,
        watch: Watch,
    ) -> Result<Chosen> {
        if ended == Ended::Interrupted {
            // Python has raised the reason by now.
            return Err(Error::Interrupted);
        }
        let rows: Vec<usize> = trace.iter().filter_map(|pick| pick.index).collect();
        let weighed = rule.map(|rule| problem.weigh(&rows, rule, watch)).transpose()?;
        let mut chosen = Chosen::new(trace, ended, weighed, problem.error_scale()?, stop)?;
        chosen.landmarks = problem.landmarks().map(|landmarks| landmarks.points().len());
        chosen.advice.0.splice(..0, problem.advice().iter().cloned());
        if !rows.is_empty() {
            let weights = chosen.weights.as_ref().map(|weights| weights.0.as_slice());
            chosen.cdf = problem.cdf(&problem.rows().select(&rows)?, weights)?;
            chosen.functions = problem.functions_error(&rows, weights)?;
        }
        Ok(chosen)
    }
}

/// Rows one after the other by kernel herding, until a rule holds.
#[pyfunction]
#[pyo3(signature = (samples, n, *, tol, worth, unique, weights, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn herd(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    n: Option<usize>,
    tol: Option<f64>,
    worth: Option<f64>,
    unique: bool,
    weights: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Chosen> {
    let stop = Stop::new(n, tol, worth).map_err(refused)?;
    let (rule, samples) = (rule_of(weights)?, samples.get());
    let problem = &samples.problem;
    let size = samples.cost() + samples.cost_of(n.unwrap_or(problem.open_rows()));
    run(py, threads, size, progress.as_ref(), |watch| {
        let task::Chosen { trace, ended, advice, sampled_from, .. } =
            problem.herd(&stop, &HerdOptions::default().unique(unique), watch)?;
        Ok(Chosen::of(problem, &trace, ended, rule, Some(&stop), watch)?
            .advised(advice)
            .sampled_from(sampled_from))
    })
}

/// The best rows as a set: herding, swaps, a search.
#[pyfunction]
#[pyo3(signature = (samples, n, *, tol, worth, repeats, search, seed, include, exclude, groups, quotas, weights, threads, progress))]
#[expect(clippy::too_many_arguments, reason = "one for each keyword of the Python function")]
pub(crate) fn thin(
    py: Python<'_>,
    samples: &Bound<'_, Samples>,
    n: Option<usize>,
    tol: Option<f64>,
    worth: Option<f64>,
    repeats: bool,
    search: Option<usize>,
    seed: u64,
    include: PyReadonlyArray1<'_, i64>,
    exclude: PyReadonlyArray1<'_, i64>,
    groups: Option<PyReadonlyArray1<'_, i64>>,
    quotas: Option<Vec<usize>>,
    weights: &str,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Chosen> {
    let stop = Stop::new(n, tol, worth).map_err(refused)?;
    let (rule, samples) = (rule_of(weights)?, samples.get());
    let problem = &samples.problem;
    let (include, exclude) = (counted(&include), counted(&exclude));
    let mut refine = RefineOptions::default().repeats(repeats).include(&include).exclude(&exclude);
    refine = refine.search_asked(search, seed);
    (refine.groups, refine.quotas) = (groups.as_ref().map(counted), quotas);
    let options = ThinOptions::default().refine(refine);
    // A sweep visits every place once, and there are about ten of them beside those of the search.
    let (rows, dim) = (problem.open_rows(), problem.points().dim());
    let places = n.unwrap_or(rows);
    let sweeps = search.unwrap_or_else(|| Search::sweeps_for(rows, places, dim));
    let size = samples.cost() + samples.cost_of(places.saturating_mul(10 + sweeps));
    run(py, threads, size, progress.as_ref(), |watch| {
        let task::Chosen { trace, ended, refined, advice, sampled_from, .. } =
            problem.thin(&stop, &options, watch)?;
        let chosen = Chosen::of(problem, &trace, ended, rule, Some(&stop), watch)?.advised(advice);
        let chosen = chosen.sampled_from(sampled_from);
        Ok(chosen.refined(refined.map(|refined| Refinement::of(refined, &stop))))
    })
}
