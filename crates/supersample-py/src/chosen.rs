//! Choosing from Python, and the result.

use numpy::PyReadonlyArray2;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use supersample::task::{
    self, Advice, CONTROL_ROWS, Corrected, ErrorScale, Errors, Measure, Method, Number, Overlap, Problem,
    Reached, Stop, Target, Weighed, stream,
};
use supersample::{Error, Points, Precision, Refined, Search};

use crate::advice::AdviceList;
use crate::arrays::{Column, Matrix, RowNumbers};
use crate::diagnose::Diagnosis;
use crate::error::refused;
use crate::options::Options;
use crate::source::PySource;
use crate::work::run;

/// Rows that are kept for plots.
const BACKGROUND: usize = 10_000;

/// What was chosen, how good it is, and what to know of it.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Chosen {
    /// In the order of choice; none in space.
    rows: RowNumbers,
    /// The rows themselves.
    points: Matrix,
    /// E_T after each choice.
    error: Column,
    /// `None` where they are equal.
    weights: Option<Column>,
    /// The errors that are known.
    errors: ErrorsByName,
    /// The standard error of the MMD, where landmarks approximate the mean embedding.
    mmd_error: Option<f64>,
    ended: &'static str,
    /// The goals that were not reached, in words: "an MMD of 0.01 was not".
    missed: Option<String>,
    refinement: Option<Refinement>,
    advice: AdviceList,
    /// How many rows, drawn at random, were chosen from.
    pool_rows: Option<usize>,
    /// How much of a target the rows can reach, where it is other rows.
    overlap: Option<OverlapOf>,
    /// Published numbers that are matched, and what the rows reach of them.
    published: Vec<ReachedOf>,
    /// How accurate the draws are that it was chosen from; `None` where that is not known.
    draws: Option<Py<Diagnosis>>,
    /// What it was chosen from; `None` in space.
    of: Option<Py<Of>>,
}

/// What was chosen from, or compared with.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct Of {
    n_rows: usize,
    kernel: (&'static str, Vec<f64>),
    scale: &'static str,
    precision: &'static str,
    landmarks: Option<usize>,
    /// The weights of the rows, which sum to one; `None` where they are equal or not all in memory.
    shares: Option<Column>,
    is_weighted: bool,
    /// The weights of marginals, of moments and of functions in what is matched.
    matched: (f64, f64, Option<f64>),
    /// How scores have corrected the rows.
    corrected: Option<CorrectedRows>,
    /// Some of the rows, at equal steps, and their weights.
    background: (Matrix, Option<Column>),
}

impl Of {
    pub(crate) fn new(target: &Target) -> Of {
        let problem = target.problem();
        let drawn = problem.drawn();
        let (rows, shares) = problem.target_rows();
        let some: Vec<usize> = (0..rows.len()).step_by(rows.len().div_ceil(BACKGROUND)).collect();
        let values = some.iter().flat_map(|&row| rows.row(row)).copied().collect();
        let weights = shares.map(|shares| Column(some.iter().map(|&row| shares[row]).collect()));
        Of {
            n_rows: drawn.map_or(problem.rows().len(), |drawn| drawn.rows()),
            kernel: named_kernel(problem),
            scale: problem.scale().into(),
            precision: if target.precision() == Precision::Double { "double" } else { "mixed" },
            landmarks: target.landmarks().map(|landmarks| landmarks.points().len()),
            // Those of other rows belong to none that can be chosen.
            shares: shares
                .filter(|_| drawn.is_none() && !problem.is_matching())
                .map(|shares| Column(shares.to_vec())),
            is_weighted: shares.is_some() && !problem.is_matching(),
            matched: (problem.marginals(), problem.moments(), problem.functions().map(|(.., weight)| weight)),
            corrected: problem.corrected().map(CorrectedRows::of),
            background: (Matrix(values, rows.dim()), weights),
        }
    }
}

/// A published number and what the rows reach of it; a dict for Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct ReachedOf {
    column: usize,
    number: &'static str,
    /// The level of a quantile.
    level: Option<f64>,
    /// The value whose share it is.
    value: Option<f64>,
    /// The other column of a correlation.
    with: Option<usize>,
    n: Option<f64>,
    published: f64,
    reached: f64,
    error: f64,
    standard_errors: Option<f64>,
    all_rows: f64,
}

impl ReachedOf {
    fn of(one: &Reached) -> ReachedOf {
        let number = one.published.number;
        let (level, value, with) = match number {
            Number::Quantile(_, level) => (Some(level), None, None),
            Number::Share(_, value) => (None, Some(value), None),
            Number::Correlation(_, other) => (None, None, Some(other)),
            _ => (None, None, None),
        };
        ReachedOf {
            column: number.column(),
            number: number.kind(),
            level,
            value,
            with,
            n: one.published.n,
            published: one.published.value,
            reached: one.reached,
            error: one.error(),
            standard_errors: one.standard_errors,
            all_rows: one.pool,
        }
    }
}

/// How much of a target rows can reach; a dict for Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct OverlapOf {
    rows: usize,
    unreached: f64,
    length: f64,
    /// The number of each column, and the share of the target outside the range of the rows in it.
    outside: Vec<(usize, f64)>,
    floor: f64,
    floor_draws: Option<f64>,
    sentence: String,
}

impl OverlapOf {
    fn of(overlap: &Overlap) -> OverlapOf {
        OverlapOf {
            rows: overlap.rows,
            unreached: overlap.unreached,
            length: overlap.length,
            outside: overlap.outside.clone(),
            floor: overlap.floor,
            floor_draws: overlap.floor_draws,
            sentence: overlap.sentence(),
        }
    }
}

/// How scores have corrected rows; a dict for Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct CorrectedRows {
    features: Option<&'static str>,
    count: usize,
    tried: &'static str,
    effective_share: f64,
    variance_left: f64,
}

impl CorrectedRows {
    fn of(corrected: &Corrected) -> CorrectedRows {
        CorrectedRows {
            features: corrected.features.map(Into::into),
            count: corrected.count,
            tried: corrected.tried.into(),
            effective_share: corrected.effective_share,
            variance_left: corrected.left,
        }
    }
}

/// The name of the kernel and its bandwidths, in the units of the scaled rows.
pub(crate) fn named_kernel(problem: &Problem) -> (&'static str, Vec<f64>) {
    match problem.is_gram() {
        true => ("precomputed", Vec::new()),
        false => (problem.kernel().name(), problem.kernel().bandwidths().to_vec()),
    }
}

/// Errors that Python sees as a dict, one entry for each measure.
#[derive(Clone, Copy)]
pub(crate) struct ErrorsByName(pub(crate) Errors);

impl<'py> IntoPyObject<'py> for &ErrorsByName {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let dict = PyDict::new(py);
        self.0.iter().try_for_each(|(measure, error)| dict.set_item(measure.key(), error))?;
        Ok(dict)
    }
}

/// What swaps and search have done; a dict for Python.
#[derive(Clone, IntoPyObject)]
pub(crate) struct Refinement {
    mmd_before: Option<f64>,
    mmd_swapped: Option<f64>,
    /// `None` without a search.
    mmd_searched: Option<f64>,
    /// The objective, where that is more than the MMD.
    objective: Option<Stages>,
    /// Whether the swaps began with herded rows, and not with those of a larger set.
    herded: bool,
    swaps: usize,
    sweeps: usize,
    kernel_rows: u64,
    converged: bool,
}

/// The objective before the swaps, after them and after the search; a dict for Python.
#[derive(Clone, IntoPyObject)]
struct Stages {
    before: f64,
    swapped: f64,
    /// `None` without a search.
    searched: Option<f64>,
}

impl Refinement {
    fn of(refined: Refined, has_goal: bool) -> Refinement {
        Refinement {
            mmd_before: refined.start_error,
            mmd_swapped: refined.swept_error,
            mmd_searched: refined.error.filter(|_| refined.searched),
            objective: refined.objective.map(|objective| Stages {
                before: objective.start,
                swapped: objective.swept,
                searched: refined.searched.then_some(objective.end),
            }),
            herded: !has_goal,
            swaps: refined.swaps,
            sweeps: refined.sweeps,
            kernel_rows: refined.kernel_rows,
            converged: refined.converged,
        }
    }
}

impl Chosen {
    /// Rows of a target, chosen by this rule.
    pub(crate) fn of(py: Python<'_>, target: &Target, chosen: task::Chosen, stop: &Stop) -> PyResult<Chosen> {
        let points = target.select(&chosen.rows).map_err(refused)?;
        let error = if target.problem().kernel().is_stein() { "KSD" } else { "MMD" };
        let mut found = Chosen::new(chosen, points, &target.error_scale(), stop, error)?;
        found.advice.0.splice(..0, target.problem().advice().iter().cloned());
        let drawn = target.problem().drawn().map(|drawn| drawn.pool().len());
        found.pool_rows = found.pool_rows.or(drawn);
        found.of = Some(Py::new(py, Of::new(target))?);
        found.draws = Diagnosis::of(py, target)?;
        Ok(found)
    }

    /// Points anywhere in space, with the weights that were found for them if any were asked for.
    pub(crate) fn placed(
        mut placed: task::Chosen,
        points: Points,
        weighed: Option<Weighed>,
        scale: &ErrorScale,
        stop: &Stop,
        error: &str,
    ) -> PyResult<Chosen> {
        let (weights, advice) = weighed.map_or((None, None), |found| (found.weights, found.advice));
        let mmd = weights.as_ref().map_or(placed.error(), |found| found.error);
        placed.errors = Errors::default().with(Measure::Mmd, mmd);
        placed.errors =
            placed.errors.with(Measure::EquivalentDraws, mmd.and_then(|mmd| scale.equivalent_draws(mmd)));
        (placed.weights, placed.rows) = (weights, Vec::new());
        placed.advice.extend(advice);
        Chosen::new(placed, points, scale, stop, error)
    }

    fn new(
        chosen: task::Chosen,
        points: Points,
        scale: &ErrorScale,
        stop: &Stop,
        error: &str,
    ) -> PyResult<Chosen> {
        chosen.mmd().ok_or(Error::UnknownNorm).map_err(refused)?;
        Ok(Chosen {
            missed: stop.is_missed(chosen.ended, chosen.error(), scale).then(|| stop.missed_in_words(error)),
            error: Column(chosen.trace.iter().filter_map(|pick| pick.error).collect()),
            rows: RowNumbers(chosen.rows),
            points: Matrix(points.as_slice().to_vec(), points.dim()),
            weights: chosen.weights.map(|found| Column(found.weights)),
            errors: ErrorsByName(chosen.errors),
            mmd_error: chosen.standard_error,
            ended: chosen.ended.into(),
            refinement: chosen.refined.map(|refined| Refinement::of(refined, stop.has_goal())),
            advice: AdviceList(chosen.advice),
            pool_rows: chosen.sampled_from,
            overlap: chosen.overlap.as_ref().map(OverlapOf::of),
            published: chosen.published.iter().map(ReachedOf::of).collect(),
            draws: None,
            of: None,
        })
    }

    /// With more advice than that of the choice.
    pub(crate) fn advised(mut self, advice: impl IntoIterator<Item = Advice>) -> Chosen {
        self.advice.0.extend(advice);
        self
    }
}

/// Chooses rows of an array, or of a source of batches.
#[pyfunction]
pub(crate) fn choose(py: Python<'_>, x: &Bound<'_, PyAny>, options: Options<'_>) -> PyResult<Chosen> {
    let choose = options.choose()?;
    let stop = choose.stop;
    let (target, chosen) = match x.extract::<PyReadonlyArray2<'_, f64>>() {
        Ok(x) => {
            let problem = options.problem(py, &x, choose)?;
            run(py, options.threads, cost(&problem, picks(&problem)), options.progress.as_ref(), |watch| {
                let target = problem.prepare(watch)?;
                let chosen = target.choose(watch)?;
                Ok((target, chosen))
            })?
        }
        Err(_) => stream::choose(&mut PySource::new(x, &options), choose)?,
    };
    Chosen::of(py, &target, chosen, &stop)
}

/// Coordinate differences that the mean embedding takes, and this number of kernel rows.
pub(crate) fn cost(problem: &Problem, picks: usize) -> f64 {
    let (rows, dim) = (problem.points().len() as f64, problem.points().dim() as f64);
    let embedding = match (problem.stein(), problem.uses_landmarks()) {
        // The mean of a Stein kernel is zero.
        (Some(_), _) => 0.0,
        (None, false) => 0.5 * rows * problem.samples().points().len() as f64 * dim,
        // Sums at landmarks and control rows, and values from the landmarks; as many as there are by default.
        (None, true) => {
            let landmarks = problem.choose().compute.landmarks.unwrap_or(2000);
            (2 * landmarks + CONTROL_ROWS) as f64 * rows * dim
        }
    };
    embedding + picks as f64 * rows * dim
}

/// Kernel rows that the choice of a problem takes.
fn picks(problem: &Problem) -> usize {
    let (rows, dim) = (problem.open_rows(), problem.points().dim());
    let places = problem.choose().stop.number.unwrap_or(rows);
    match &problem.choose().method {
        Method::Thin(refine) => {
            let by_size = || Search::sweeps_for(rows, places, dim);
            let sweeps = refine.search.map_or(0, |search| search.sweeps.unwrap_or_else(by_size));
            // A sweep visits every place once, and there are about ten of them before the search.
            places.saturating_mul(10 + sweeps)
        }
        _ => places,
    }
}
