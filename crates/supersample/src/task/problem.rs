//! Problem: scaled rows with a kernel and everything known before the long work.

use std::sync::Arc;

use super::matched::{Aimed, FunctionsOfRows, Matched, MatchedMoments};
use super::mean::Mean;
use super::rows::effective_size;
use super::stream::Gathered;
use super::summary::{self, Fitted};
use super::{
    Advice, Choose, Corrected, EmbeddingChoice, Rows, Size, Summary, Target, TargetChoice, advice, corrected,
    scores,
};
use crate::bandwidth::MedianDistance;
use crate::scale::{Moments, Scale, Scaling};
use crate::words::Opt;
use crate::{
    Chains, ColumnMoments, Device, Empirical, Error, Functions, Gram, Kernel, MeanEmbedding, Points,
    Precision, Result, SteinTarget, Watch, unwatched,
};

/// Rows made ready to be matched: scaled, with a kernel. Nothing has been compared yet; that is what
/// [`prepare`](Self::prepare) does, which gives the [`Target`].
#[derive(Clone)]
pub struct Problem {
    pub(super) choose: Choose,
    /// The rows to choose from, in their own units.
    pub(super) rows: Points,
    pub(super) shares: Option<Vec<f64>>,
    /// The scaled rows to choose from.
    points: Points,
    /// The rows that are matched and their shares, where they are others than those to choose from.
    other: Option<(Points, Option<Vec<f64>>)>,
    /// `None` where nothing is known of them.
    pub(super) chains: Option<Chains>,
    scaling: Scaling,
    /// Means and standard deviations of the columns of the rows that are matched, where these are in memory.
    pub(super) column_moments: Option<Arc<[Option<Moments>]>>,
    median: Option<MedianDistance>,
    /// The scaled rows that are matched, with the kernel.
    pub(super) samples: Arc<Empirical>,
    pub(super) matched: Matched,
    pub(super) kind: Kind,
    /// The rows that must not be chosen because they have no weight, in ascending order.
    pub(super) closed: Vec<usize>,
    advice: Vec<Advice>,
    /// How the rows were corrected by their scores.
    corrected: Option<Corrected>,
    /// The first pass over all rows, where those to choose from are a sample of them and other rows are the target.
    drawn: Option<Arc<Gathered>>,
}

/// Kind of target.
#[derive(Clone)]
pub(super) enum Kind {
    /// All rows, all pairs compared.
    Exact,
    /// All rows, compared with landmarks.
    Landmarks,
    /// Rows in batches; those in memory are a sample.
    Batches(Arc<Gathered>),
    /// The density of the rows' scores.
    Density(scores::OfRows),
    /// All rows, known only by their kernel values.
    Gram(Arc<Gram>),
}

impl Problem {
    /// Creates a problem: scales the rows and chooses the kernel. Returns the errors of [`Scaling`] and [`Kernel`].
    pub fn new(rows: impl Into<Rows>, choose: Choose) -> Result<Problem> {
        Problem::watched(rows, choose, &unwatched)
    }

    /// [`new`](Self::new), watched: the correction of rows by their scores and the whitening of many columns take a while.
    pub fn watched(rows: impl Into<Rows>, choose: Choose, watch: Watch) -> Result<Problem> {
        let rows = rows.into();
        if let Some(other) = &rows.other {
            rows.check_other(other)?;
            choose.check_match()?;
        }
        if rows.summary.is_some() {
            rows.check_summary()?;
            choose.check_match()?;
        }
        let Rows { points, mut shares, functions, scores, gram, chains, other, summary } = rows;
        let target = choose.target_in_use(scores.is_some());
        if scores.is_none() && target != TargetChoice::Rows {
            return Err(Error::NoScores { target });
        }
        if gram.is_some() && scores.is_some() {
            let advice = "rows have no coordinates then; leave them out";
            return Err(Error::NotTogether { option: Opt::Scores, with: "a Gram matrix", advice });
        }
        if let Some(scores) = &scores {
            choose.check_scores(scores, shares.is_some(), functions.is_some())?;
        }
        let (mut corrected, mut told) = (None, Vec::new());
        let scores = match (target, scores) {
            (TargetChoice::Corrected, Some(scores)) => {
                choose.check()?;
                let found = corrected::correct(&points, shares.take(), scores, watch)?;
                (shares, told) = (found.shares, found.advice);
                corrected = Some(found.record);
                None
            }
            (TargetChoice::Density, scores) => scores,
            _ => None,
        };
        let choose = match (&scores, &gram) {
            (Some(_), _) => choose.with_density(),
            (None, Some(_)) => choose.with_gram()?,
            (None, None) => choose,
        };
        choose.check()?;
        let fitted = match summary {
            Some(summary) => {
                let (weighted, fitted) =
                    summary::fit(&points, shares.take(), summary, choose.stop.number, watch)?;
                shares = Some(weighted);
                Some(fitted)
            }
            None => None,
        };
        let (other, functions_of_other) = match other.map(|other| *other) {
            Some(Rows { points, shares, functions, .. }) => (Some((points, shares)), functions),
            None => (None, None),
        };
        let aimed = aimed(&points, shares.as_deref(), &other);
        let (numbers, dim) = (aimed.rows.as_slice(), aimed.rows.dim());
        let scaling = Scaling::fit_watched(choose.scale_in_use(), numbers, dim, aimed.shares, watch)?;
        let functions = functions
            .map(|values| {
                let of_aimed = functions_of_other.unwrap_or_else(|| values.clone());
                FunctionsOfRows::new(values, &of_aimed, aimed.shares, &choose)
            })
            .transpose()?;
        let uses_landmarks =
            choose.compute.embedding.uses_landmarks(aimed.rows.len(), choose.compute.landmarks);
        let kind = match scores {
            Some(scores) => Kind::Density(scores::OfRows::new(
                scores,
                &points,
                &scaled(&scaling, &choose, &points)?,
                &scaling,
            )?),
            None if gram.is_some() => Kind::Gram(Arc::new(gram.expect("it was just seen"))),
            None if uses_landmarks => Kind::Landmarks,
            None => Kind::Exact,
        };
        let given = Given { rows: points, shares, other, fitted };
        let mut problem = Problem::ready(given, scaling, functions, kind, choose)?;
        problem.advice.extend(told);
        Ok(Problem { chains, corrected, ..problem })
    }

    /// Creates a problem whose candidates are the drawn rows and whose target is all gathered rows.
    ///
    /// If other rows are the target ([`Gathered::matching`]), the drawn rows are only chosen from. Else columns are scaled by the standard deviations of all rows; by the sample if the scale needs medians or whole
    /// matrices (see the advice). If the sample holds all rows, it is the problem of these.
    pub fn of_gathered(gathered: Gathered, choose: Choose) -> Result<Problem> {
        choose.check()?;
        if gathered.is_whole() {
            return Problem::new(gathered.drawn()?, choose);
        }
        if gathered.other.is_some() {
            // The target is in memory, so no further pass is needed.
            let problem = Problem::new(gathered.drawn()?, choose)?;
            return Ok(Problem { drawn: Some(Arc::new(gathered)), ..problem });
        }
        if choose.compute.embedding == EmbeddingChoice::Exact {
            return Err(Error::NotInMemory { what: "an exact mean embedding" });
        }
        let shares = gathered.pool_shares()?;
        let scaling = match choose.scale_in_use() {
            Scale::Sd => gathered.scaling(),
            scale => {
                Scaling::fit(scale, gathered.pool().as_slice(), gathered.pool().dim(), shares.as_deref())?
            }
        };
        Problem::of_scaled(gathered, scaling, choose)
    }

    /// [`of_gathered`](Self::of_gathered) with a scaling that is known.
    pub(super) fn of_scaled(gathered: Gathered, scaling: Scaling, choose: Choose) -> Result<Problem> {
        let shares = gathered.pool_shares()?;
        let functions = gathered.functions.as_ref();
        let functions =
            functions.map(|functions| FunctionsOfRows::of_gathered(functions, &choose)).transpose()?;
        let rows = gathered.pool().clone();
        let given = Given { rows, shares, other: None, fitted: None };
        Problem::ready(given, scaling, functions, Kind::Batches(Arc::new(gathered)), choose)
    }

    fn ready(
        Given { rows, shares, other, fitted }: Given,
        scaling: Scaling,
        functions: Option<FunctionsOfRows>,
        kind: Kind,
        choose: Choose,
    ) -> Result<Problem> {
        let aimed = aimed(&rows, shares.as_deref(), &other);
        let closed: Vec<usize> = match (&shares, choose.compute.pool_without_weight) {
            (Some(shares), false) => (0..rows.len()).filter(|&row| shares[row] == 0.0).collect(),
            _ => Vec::new(),
        };
        let mut advice = match &kind {
            Kind::Batches(gathered) => advice::of_gathered(gathered, choose.scale_in_use(), &scaling),
            _ => advice::of_rows(aimed.shares, closed.len(), &scaling, rows.dim()),
        };
        let (kernel, median, points) = match &kind {
            Kind::Density(stein) => {
                advice.extend(stein.advice.iter().cloned());
                (stein.target.kernel().clone(), None, stein.points.clone())
            }
            // Distances are never taken: the values are in the matrix.
            Kind::Gram(_) => (Kernel::linear(), None, rows.clone()),
            _ => {
                let points = scaled(&scaling, &choose, aimed.rows)?;
                let asked = match &other {
                    Some(_) => &choose.distance.kernel.for_matching(),
                    None => &choose.distance.kernel,
                };
                let (kernel, median) = asked.for_points(&points, aimed.shares)?;
                (kernel, median, points)
            }
        };
        advice.extend(advice::of_kernel(&kernel, &points, aimed.shares));
        let column_moments: Option<Arc<[Option<Moments>]>> = match &kind {
            Kind::Batches(_) | Kind::Gram(_) => None,
            _ if choose.scale_in_use() == Scale::Sd => Some(scaling.moments().into()),
            _ => Some(Moments::of_rows(aimed.rows, aimed.shares)?.into()),
        };
        if !matches!(kind, Kind::Density(_) | Kind::Gram(_)) {
            let chosen = choose.stop.number.filter(|_| choose.method.refine().is_some());
            let moments = column_moments.as_deref();
            advice.extend(advice::of_columns(aimed, moments, chosen, choose.scale_in_use()));
        }
        let to_choose_from = match &other {
            Some(_) => scaled(&scaling, &choose, &rows)?,
            None => points.clone(),
        };
        let samples = match aimed.shares {
            None => Empirical::new(kernel, points)?,
            Some(shares) => Empirical::weighted(kernel, points, shares)?,
        };
        let samples = samples.precision(choose.distance.precision).on(choose.compute.device.clone());
        let marginals = if has_one_row(aimed) { 0.0 } else { choose.marginals_weight() };
        let moments = match (choose.moments_weight(), &kind) {
            (0.0, _) => None,
            // Those of all rows, which are not in memory.
            (weight, Kind::Batches(gathered)) => {
                ColumnMoments::of_sample(gathered.moments(), &rows, aimed.shares)
                    .map(|moments| MatchedMoments::new(moments, &scaling, weight))
            }
            (weight, _) => match &column_moments {
                Some(known) => ColumnMoments::of_rows(known, aimed.rows, aimed.shares)?,
                None => ColumnMoments::new(aimed.rows, aimed.shares)?,
            }
            .map(|moments| MatchedMoments::new(moments, &scaling, weight)),
        };
        let choose = choose.within_memory(Size {
            rows: rows.len() + other.as_ref().map_or(0, |(rows, _)| rows.len()),
            columns: rows.dim(),
            functions: functions.as_ref().map_or(0, |functions| functions.values.dim())
                + fitted.as_ref().map_or(0, Fitted::count),
            is_weighted: shares.is_some(),
            // Rows that were corrected have done with their scores.
            has_scores: matches!(kind, Kind::Density(_)),
        })?;
        Ok(Problem {
            rows,
            shares,
            points: to_choose_from,
            other,
            chains: None,
            scaling,
            column_moments,
            median,
            samples: Arc::new(samples),
            matched: Matched { marginals, known: None, moments, functions, fitted },
            kind,
            closed,
            advice,
            choose,
            corrected: None,
            drawn: None,
        })
    }

    /// This problem of a stream: with its advice, the median distance that its bandwidth was, and what is known of its columns.
    pub(super) fn of_stream(
        mut self,
        advice: impl IntoIterator<Item = Advice>,
        median: Option<MedianDistance>,
        known: Vec<Vec<(f64, f64)>>,
    ) -> Problem {
        self.advice.retain(|advice| !matches!(advice, Advice::ScaledBySample { .. }));
        self.advice.extend(advice);
        self.matched.known = Some(Arc::new(known));
        Problem { median, ..self }
    }

    /// Compares every row with every other (n²/2 kernel values) or with landmarks, and returns the target.
    ///
    /// This takes most of the time. [`Break`](std::ops::ControlFlow::Break) ends it with [`Error::Interrupted`]. Rows
    /// in batches need a pass: [`stream::prepare`](super::stream::prepare).
    pub fn prepare(&self, watch: Watch) -> Result<Target> {
        let mean = Mean::of_rows(self, watch)?;
        Target::new(self.clone(), mean, watch)
    }

    /// Returns the target with μ from an earlier run of the same problem ([`Target::recalled`]), without comparing rows
    /// again. The numbers are not checked: wrong ones give wrong choices.
    pub fn recall(&self, numbers: Vec<f64>, watch: Watch) -> Result<Target> {
        let mean = Mean::recalled(self, numbers)?;
        Target::new(self.clone(), mean, watch)
    }

    /// Options of the choice. With a memory limit, fewer kernel rows may be kept than was asked for.
    pub fn choose(&self) -> &Choose {
        &self.choose
    }

    /// Rows to choose from that are in memory, in their own units.
    pub fn rows(&self) -> &Points {
        &self.rows
    }

    /// Scaled rows to choose from, on which distances are taken; with scores, each row has its score appended.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The rows that are matched, with their weights: those to choose from, unless others are the target.
    pub fn target_rows(&self) -> (&Points, Option<&[f64]>) {
        let Aimed { rows, shares } = self.aimed();
        (rows, shares)
    }

    /// Whether the rows that are matched are others than those to choose from ([`Rows::matching`]).
    pub fn is_matching(&self) -> bool {
        self.other.is_some()
    }

    /// The published numbers that are matched, if any ([`Rows::matching_summary`]).
    pub fn summary(&self) -> Option<&Summary> {
        self.matched.fitted.as_ref().map(|fitted| &fitted.summary)
    }

    pub(super) fn aimed(&self) -> Aimed<'_> {
        aimed(&self.rows, self.shares(), &self.other)
    }

    /// The weights of the rows to choose from, which sum to one; `None` for equal ones.
    pub fn shares(&self) -> Option<&[f64]> {
        self.shares.as_deref()
    }

    /// Effective sample size of the weights of what is matched; `None` for equal weights.
    pub fn effective_size(&self) -> Option<f64> {
        let shares = self.aimed().shares?;
        Some(self.gathered().map_or_else(|| effective_size(shares), Gathered::effective_size))
    }

    /// Rows of weight zero, which are not chosen, in ascending order.
    pub fn without_weight(&self) -> &[usize] {
        &self.closed
    }

    /// Number of rows that may be chosen.
    pub fn open_rows(&self) -> usize {
        self.rows.len() - self.closed.len()
    }

    /// Scaling of the rows.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The scale of the columns.
    pub fn scale(&self) -> Scale {
        self.choose.scale_in_use()
    }

    /// The kernel, its bandwidth in the units of the scaled points.
    pub fn kernel(&self) -> &Kernel {
        self.samples.kernel()
    }

    /// Median distance, if it is the bandwidth.
    pub fn median(&self) -> Option<MedianDistance> {
        self.median
    }

    /// Scaled rows as samples with an exact mean embedding, also when rows are chosen with landmarks.
    pub fn samples(&self) -> &Arc<Empirical> {
        &self.samples
    }

    /// Whether the mean embedding is approximated with landmarks.
    pub fn uses_landmarks(&self) -> bool {
        matches!(self.kind, Kind::Landmarks | Kind::Batches(_))
    }

    /// Number of landmarks of a target that is prepared; `None` if all pairs are compared.
    pub fn landmark_count(&self) -> Option<usize> {
        let rows = if self.gathered().is_some() { self.open_rows() } else { self.rows.len() };
        self.uses_landmarks().then(|| self.choose.landmark_count(rows, self.rows.dim()))
    }

    /// Number of landmarks behind `numbers` numbers that [`recall`](Self::recall) takes; `None` if all pairs are compared.
    pub fn landmarks_recalled(&self, numbers: usize) -> Option<usize> {
        let controls = match &self.kind {
            Kind::Batches(gathered) => gathered.controls().len(),
            _ => super::landmarks::controls_of(self.rows.len()),
        };
        let other = 2 + controls;
        self.uses_landmarks().then(|| numbers.saturating_sub(other))
    }

    /// Results of the first pass over all rows, if those in memory are a sample.
    pub fn gathered(&self) -> Option<&Gathered> {
        match &self.kind {
            Kind::Batches(gathered) => Some(gathered),
            _ => None,
        }
    }

    /// Results of the first pass over all rows, if those to choose from are a sample of them.
    pub fn drawn(&self) -> Option<&Gathered> {
        self.gathered().or(self.drawn.as_deref())
    }

    /// The density that is matched instead of the rows, if scores were given.
    pub fn stein(&self) -> Option<&SteinTarget> {
        match &self.kind {
            Kind::Density(stein) => Some(&stein.target),
            _ => None,
        }
    }

    /// How the rows were corrected by their scores, if they were.
    pub fn corrected(&self) -> Option<&Corrected> {
        self.corrected.as_ref()
    }

    /// Whether the rows are known only by their kernel values; they then have no coordinates and no kernel.
    pub fn is_gram(&self) -> bool {
        matches!(self.kind, Kind::Gram(_))
    }

    /// Whether all rows that weigh anything are one and the same.
    pub(super) fn has_one_row(&self) -> bool {
        has_one_row(self.aimed())
    }

    /// What long sums run on.
    pub fn device(&self) -> &Device {
        self.samples.device()
    }

    /// The asked precision.
    pub fn precision(&self) -> Precision {
        self.choose.distance.precision
    }

    /// Warnings and notes about these rows and this kernel.
    pub fn advice(&self) -> &[Advice] {
        &self.advice
    }

    /// Weight of the marginals in the objective; 0 if they are not matched.
    pub fn marginals(&self) -> f64 {
        self.matched.marginals
    }

    /// Weight of the means and variances of the columns in the objective; 0 if they are not matched.
    pub fn moments(&self) -> f64 {
        self.matched.moments.as_ref().map_or(0.0, |moments| moments.weight)
    }

    /// The functions whose means are matched, their values at every row, and their weight.
    pub fn functions(&self) -> Option<(&Functions, &Points, f64)> {
        let all = self.matched.functions.as_ref();
        all.map(|FunctionsOfRows { functions, values, weight }| (functions, values, *weight))
    }

    /// Scales rows that are in the units of the problem's rows.
    pub fn scaled(&self, rows: &Points) -> Result<Points> {
        rows.expect_dim("the subset", "the data", self.rows.dim())?;
        if let Kind::Density(_) = self.kind {
            return Err(Error::Scores {
                what: "the subset has no scores",
                advice: "give the scores of its rows, or their numbers",
            });
        }
        scaled(&self.scaling, &self.choose, rows)
    }
}

impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Problem { rows, choose, advice, .. } = self;
        f.debug_struct("Problem")
            .field("rows", &rows.len())
            .field("dim", &rows.dim())
            .field("scale", &choose.scale_in_use())
            .field("kernel", self.kernel())
            .field("advice", advice)
            .finish_non_exhaustive()
    }
}

/// Rows to choose from with their shares, and those that are matched where they are others.
struct Given {
    rows: Points,
    shares: Option<Vec<f64>>,
    other: Option<(Points, Option<Vec<f64>>)>,
    fitted: Option<Fitted>,
}

/// What is matched: the rows themselves, or others.
fn aimed<'a>(
    rows: &'a Points,
    shares: Option<&'a [f64]>,
    other: &'a Option<(Points, Option<Vec<f64>>)>,
) -> Aimed<'a> {
    match other {
        Some((rows, shares)) => Aimed { rows, shares: shares.as_deref() },
        None => Aimed { rows, shares },
    }
}

/// Whether all rows with weight are equal, so that there are no marginals to match.
fn has_one_row(Aimed { rows, shares }: Aimed<'_>) -> bool {
    let mut weighed = (0..rows.len()).filter(|&row| shares.is_none_or(|shares| shares[row] > 0.0));
    let first = weighed.next();
    first.is_none_or(|first| weighed.all(|row| rows.row(row) == rows.row(first)))
}

fn scaled(scaling: &Scaling, choose: &Choose, rows: &Points) -> Result<Points> {
    match choose.scale_in_use() {
        // No copy is needed.
        Scale::None => Ok(rows.clone()),
        _ => Points::from_vec(scaling.apply(rows.as_slice()), scaling.out_dim()),
    }
}
