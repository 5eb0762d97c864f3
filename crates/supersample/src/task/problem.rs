//! The problem: rows made ready to be matched, with their weights, the points they become and the kernel between them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::candidates::Sample;
use super::matched::FunctionsOfRows;
use super::{
    Advice, EmbeddingChoice, ErrorScale, Gathered, ProblemOptions, RowWeights, advice, default_landmarks,
    landmarks, scores,
};
use crate::bandwidth::MedianDistance;
use crate::quality::Reference;
use crate::scale::{Scale, Scaling};
use crate::{
    Device, Empirical, Error, Functions, Herder, Kernel, Landmarks, Marginals, MeanEmbedding, Part, Points,
    Pool, Precision, Result, SteinTarget, Watch, unwatched,
};

/// Rows made ready: the target to be matched, and the pool to choose from.
///
/// Making one scales the rows, finds the bandwidth and looks at the kernel. The long part, every row compared with every
/// other, is done by [`prepare`](Self::prepare), or by the first task that needs it, and is shared by all of them.
pub struct Problem {
    rows: Points,
    points: Points,
    shares: Option<Vec<f64>>,
    without_weight: Vec<usize>,
    scale: Scale,
    scaling: Scaling,
    median: Option<MedianDistance>,
    precision: Precision,
    mu: Arc<Empirical>,
    is_projected: bool,
    /// How many landmarks were asked for.
    pub(super) asked_landmarks: Option<usize>,
    pub(super) seed: u64,
    /// What is known of all rows, where those at hand are a sample of them.
    pub(super) gathered: Option<Gathered>,
    /// The landmarks that stand for μ, once the rows have been summed at them.
    pub(super) projected: OnceLock<Arc<Landmarks>>,
    /// The weight of the marginals, 0 where they are not matched.
    marginals: f64,
    functions: Option<FunctionsOfRows>,
    /// The density that is matched in place of the rows.
    pub(super) stein: Option<scores::OfRows>,
    advice: Vec<Advice>,
    /// How many rows a sample to choose from is to have, where somebody says.
    pub(super) asked_pool_rows: Option<usize>,
    /// The pool of all rows, once it was needed.
    pub(super) pool: OnceLock<Pool>,
    /// A sample of them, where they are very many.
    pub(super) sample: OnceLock<Sample>,
    reference: OnceLock<Reference>,
}

impl Problem {
    /// Rows of equal weight, in their own units. Refuses what [`Scaling`] and [`Kernel`] refuse.
    pub fn new(rows: Points, options: ProblemOptions) -> Result<Problem> {
        Problem::weighted(rows, RowWeights::Equal, options)
    }

    /// Rows with weights, in their own units. Rows of weight zero are part of the target, adding nothing to it, and out
    /// of the pool, unless the options let them in.
    pub fn weighted(rows: Points, weights: RowWeights, options: ProblemOptions) -> Result<Problem> {
        let shares = weights.shares(rows.len())?;
        let scaling = Scaling::fit(options.scale, rows.as_slice(), rows.dim(), shares.as_deref())?;
        Problem::ready(rows, shares, scaling, None, options)
    }

    /// Rows with their shares and their scaling; `gathered` has what is known of all rows where these are a sample of more.
    pub(super) fn ready(
        rows: Points,
        shares: Option<Vec<f64>>,
        scaling: Scaling,
        gathered: Option<Gathered>,
        options: ProblemOptions,
    ) -> Result<Problem> {
        options.check(shares.is_some())?;
        let ProblemOptions { scale, kernel, precision, pool_without_weight, marginals, functions, .. } =
            options;
        let is_projected =
            gathered.is_some() || options.embedding.is_projected(rows.len(), options.landmarks);
        let marginals = if has_one_row(&rows, shares.as_deref()) { 0.0 } else { marginals };
        let gathered_functions = gathered.as_ref().and_then(|gathered| gathered.functions.as_ref());
        let functions = match (functions, gathered_functions) {
            (None, None) => None,
            (_, Some(gathered)) => Some(FunctionsOfRows::of_gathered(gathered, options.functions_unit)?),
            (Some(given), None) => {
                Some(FunctionsOfRows::new(given, options.functions_unit, rows.len(), shares.as_deref())?)
            }
        };
        let without_weight: Vec<usize> = match (&shares, pool_without_weight) {
            (Some(shares), false) => (0..rows.len()).filter(|&row| shares[row] == 0.0).collect(),
            _ => Vec::new(),
        };
        let points = scaled(scale, &scaling, &rows)?;
        let stein = match options.scores {
            Some(given) => {
                scores::refuse_with(
                    gathered.is_some(),
                    shares.is_some(),
                    marginals > 0.0,
                    functions.is_some(),
                    options.landmarks.is_some() || options.embedding == EmbeddingChoice::Landmarks,
                )?;
                Some(scores::OfRows::new(given, &rows, &points, &scaling)?)
            }
            None => None,
        };
        let is_projected = is_projected && stein.is_none();
        let mut advice = match &gathered {
            None => advice::of_rows(shares.as_deref(), without_weight.len(), &scaling, rows.dim()),
            Some(gathered) => advice::of_gathered(gathered, scale, &scaling),
        };
        let (kernel, median, points) = match &stein {
            Some(stein) => (stein.target.kernel().clone(), None, stein.points.clone()),
            None => {
                let (kernel, median) = kernel.for_points(&points, shares.as_deref())?;
                (kernel, median, points)
            }
        };
        advice.extend(stein.iter().flat_map(|stein| stein.advice.iter().cloned()));
        advice.extend(advice::of_kernel(&kernel, &points, shares.as_deref()));
        let mu = match &shares {
            None => Empirical::new(kernel, points.clone())?,
            Some(shares) => Empirical::weighted(kernel, points.clone(), shares)?,
        };
        Ok(Problem {
            rows,
            points,
            shares,
            without_weight,
            scale,
            scaling,
            median,
            precision,
            mu: Arc::new(mu.precision(precision).on(options.device)),
            is_projected,
            asked_landmarks: options.landmarks,
            seed: options.seed,
            gathered,
            projected: OnceLock::new(),
            marginals,
            functions,
            stein,
            advice,
            asked_pool_rows: options.pool_rows,
            pool: OnceLock::new(),
            sample: OnceLock::new(),
            reference: OnceLock::new(),
        })
    }

    /// Takes μ on the rows as an earlier run of this very problem had computed it ([`recalled`](Self::recalled)), which
    /// saves the comparison of all rows. The numbers are taken on trust: wrong ones give wrong choices.
    pub fn recall(self, values: Vec<f64>) -> Result<Problem> {
        if self.stein.is_some() {
            let (found, expected) = (values.len(), 0);
            return if found == 0 { Ok(self) } else { Err(Error::RecalledCount { found, expected }) };
        }
        if self.gathered.is_some() {
            self.recall_sums(&values)?;
            return Ok(self);
        }
        if self.is_projected {
            let mu = landmarks::recall(&self.mu, self.precision, &values, self.seed)?;
            return Ok(Problem { projected: OnceLock::from(Arc::new(mu)), pool: OnceLock::new(), ..self });
        }
        let mu = Empirical::clone(&self.mu).recall(values)?;
        Ok(Problem { mu: Arc::new(mu), pool: OnceLock::new(), ..self })
    }

    /// μ on the rows, and where landmarks stand for it the sums at these, where they have been computed; nothing where scores
    /// say what is matched, since μ is 0.
    pub fn recalled(&self) -> Option<Cow<'_, [f64]>> {
        if self.stein.is_some() {
            return Some(Cow::Borrowed(&[]));
        }
        match self.is_projected {
            true if self.gathered.is_some() => self.recalled_sums().map(Cow::Owned),
            true => self.projected.get().map(|landmarks| Cow::Owned(landmarks.recalled())),
            false => self.mu.recalled().map(Cow::Borrowed),
        }
    }

    /// Whether the long part is done.
    pub fn is_prepared(&self) -> bool {
        if self.stein.is_some() {
            return self.pool.get().is_some();
        }
        if self.is_projected { self.projected.get().is_some() } else { self.mu.recalled().is_some() }
    }

    /// The long part: compares every row with every other, n²/2 kernel values, or with landmarks, watched. Free where it
    /// is done already. [`Break`](std::ops::ControlFlow::Break) ends it with [`Error::Interrupted`].
    pub fn prepare(&self, watch: Watch) -> Result<()> {
        self.prepare_for(None, watch)
    }

    /// What [`prepare`](Self::prepare) does, with as many landmarks as so many chosen rows ask for, where that is known.
    pub fn prepare_for(&self, chosen: Option<usize>, watch: Watch) -> Result<()> {
        if !self.is_projected {
            // μ = 0, of a density that is known by its score, needs no pairs.
            if self.stein.is_none() {
                self.mu.prepare(watch)?;
            }
            return self.pool().map(|_| ());
        }
        if self.projected.get().is_none() {
            if self.gathered.is_some() {
                return Err(Error::NotProjected);
            }
            let asked = self.asked_landmarks.map(|asked| asked.min(self.rows.len()));
            let count = asked.unwrap_or_else(|| default_landmarks(self.rows.len(), chosen));
            let mu = landmarks::project(&self.mu, self.precision, count, self.seed, watch)?;
            // Whoever was first: the landmarks are as good.
            let _ = self.projected.set(Arc::new(mu));
        }
        self.candidates(chosen, watch).map(|_| ())
    }

    /// How many landmarks were asked for, where anybody did, and the seed that they are chosen by.
    pub fn landmarks_asked(&self) -> (Option<usize>, u64) {
        (self.asked_landmarks, self.seed)
    }

    /// Whether landmarks stand for the mean embedding.
    pub fn is_projected(&self) -> bool {
        self.is_projected
    }

    /// The landmarks that stand for the mean embedding, once the problem is prepared.
    pub fn landmarks(&self) -> Option<&Landmarks> {
        self.projected.get().map(|landmarks| &**landmarks)
    }

    /// The rows as they were given.
    pub fn rows(&self) -> &Points {
        &self.rows
    }

    /// The scaled rows, whose distances count, with their scores beside them where these say what is matched.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The weights of the rows, which sum to one; `None` for equal ones.
    pub fn shares(&self) -> Option<&[f64]> {
        self.shares.as_deref()
    }

    /// The rows that are kept out of the pool because they have no weight, in ascending order.
    pub fn without_weight(&self) -> &[usize] {
        &self.without_weight
    }

    /// How many rows may be chosen.
    pub fn open_rows(&self) -> usize {
        self.rows.len() - self.without_weight.len()
    }

    /// The scale that was asked for.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// How the rows were scaled.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The kernel, its bandwidth in the units of the scaled points.
    pub fn kernel(&self) -> &Kernel {
        self.mu.kernel()
    }

    /// The median distance, where it is the bandwidth.
    pub fn median(&self) -> Option<MedianDistance> {
        self.median
    }

    /// The precision that was asked for.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The precision in use: double, although mixed was asked for, where the rows are few or spread too wide.
    pub fn precision_in_use(&self) -> Precision {
        if self.stein.is_some() {
            return Precision::Double;
        }
        if let (Some(_), Some(landmarks)) = (&self.gathered, self.landmarks()) {
            return landmarks.sums().sums().precision();
        }
        let projected = self.landmarks().and_then(Landmarks::samples);
        projected.unwrap_or(&self.mu).precision_in_use()
    }

    /// The mean embedding of the scaled rows, in the form that choices are made by: landmarks where these stand for it
    /// and the problem is prepared.
    pub fn embedding(&self) -> Arc<dyn MeanEmbedding> {
        if let Some(stein) = &self.stein {
            return stein.target.clone();
        }
        match self.projected.get() {
            Some(landmarks) => landmarks.clone(),
            None => self.mu.clone(),
        }
    }

    /// The scaled rows as samples with an exact mean embedding, whatever choices are made by.
    pub fn samples(&self) -> &Arc<Empirical> {
        &self.mu
    }

    /// The density that is matched in place of the rows, where their scores were given.
    pub fn stein(&self) -> Option<&SteinTarget> {
        self.stein.as_ref().map(|stein| &*stein.target)
    }

    /// What long sums run on.
    pub fn device(&self) -> &Device {
        self.mu.device()
    }

    /// Whether errors are not known while choosing, and are measured afterwards: where landmarks stand for μ, and on a GPU.
    pub(super) fn is_measured_afterwards(&self) -> bool {
        self.landmarks().is_some() || self.pool.get().is_some_and(Pool::is_on_gpu)
    }

    /// What to know of these rows and this kernel before believing any result.
    pub fn advice(&self) -> &[Advice] {
        &self.advice
    }

    /// What errors are measured against. Compares all rows first, where that is still to be done.
    pub fn error_scale(&self) -> Result<ErrorScale> {
        let pool = self.any_pool()?;
        let scale = ErrorScale::of(pool);
        let Some(landmarks) = self.landmarks() else { return Ok(scale) };
        // Errors are measured, so that what landmarks do not see is no part of them.
        let known = landmarks.squared_norm_error().map_or(0.0, |error| (3.0 * error).sqrt());
        Ok(ErrorScale { floor: pool.rounding_floor().max(known), ..scale })
    }

    /// A herder over the rows that may be chosen, without picks. Compares all rows first, where that is still to be done.
    pub fn herder(&self, unique: bool) -> Result<Herder> {
        self.pool()?;
        self.herder_over(self.all_candidates(&unwatched)?, unique)
    }

    /// All rows with μ at each of them, shared by every task. Compares them first, where that is still to be done.
    pub fn pool(&self) -> Result<&Pool> {
        if let Some(pool) = self.pool.get() {
            return Ok(pool);
        }
        if self.is_projected && self.projected.get().is_none() {
            self.prepare(&unwatched)?;
            return self.pool();
        }
        Ok(self.all_candidates(&unwatched)?.pool)
    }

    /// What is matched beside the joint distribution, with views of these rows or of all. Columns that are all constant have
    /// no marginals to match.
    pub(super) fn parts(&self, rows: Option<&[usize]>) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let some = |all: &Points| rows.map_or_else(|| Ok(all.clone()), |rows| all.select(rows));
        if self.marginals > 0.0
            && let Some(marginals) = Marginals::new(&self.rows, self.shares())?
        {
            parts.push(Part::marginals(&marginals, &some(&self.rows)?, self.marginals)?);
        }
        if let Some(FunctionsOfRows { functions, values, weight }) = &self.functions {
            parts.push(Part::functions(functions, &some(values)?, *weight)?);
        }
        Ok(parts)
    }

    /// The weight of the marginals in what is lowered; 0 where they are not matched.
    pub fn marginals(&self) -> f64 {
        self.marginals
    }

    /// The functions whose means are matched, their values at every row, and their weight in what is lowered.
    pub fn functions(&self) -> Option<(&Functions, &Points, f64)> {
        let all = self.functions.as_ref();
        all.map(|FunctionsOfRows { functions, values, weight }| (functions, values, *weight))
    }

    /// The rows gone through once, so that subsets can be held against them column by column.
    pub fn reference(&self) -> Result<&Reference> {
        if let Some(reference) = self.reference.get() {
            return Ok(reference);
        }
        let mut reference = Reference::new(self.rows.as_slice(), self.rows.dim(), self.shares())?;
        if let Some(gathered) = &self.gathered {
            reference = reference.with_moments(gathered.moments());
        }
        Ok(self.reference.get_or_init(|| reference))
    }

    /// Rows like those of the problem, in their own units, as points beside the scaled ones.
    pub fn scaled(&self, rows: &Points) -> Result<Points> {
        rows.expect_dim("the subset", "the data", self.rows.dim())?;
        if self.stein.is_some() {
            return Err(Error::Scores {
                what: "the subset has no scores",
                advice: "give the scores of its rows, or their numbers",
            });
        }
        scaled(self.scale, &self.scaling, rows)
    }
}

impl std::fmt::Debug for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Problem { rows, scale, advice, .. } = self;
        f.debug_struct("Problem")
            .field("rows", &rows.len())
            .field("dim", &rows.dim())
            .field("scale", scale)
            .field("kernel", self.kernel())
            .field("advice", advice)
            .finish_non_exhaustive()
    }
}

/// Whether all rows that weigh anything are one and the same, which leaves no marginals to match.
fn has_one_row(rows: &Points, shares: Option<&[f64]>) -> bool {
    let mut weighed = (0..rows.len()).filter(|&row| shares.is_none_or(|shares| shares[row] > 0.0));
    let first = weighed.next();
    first.is_none_or(|first| weighed.all(|row| rows.row(row) == rows.row(first)))
}

fn scaled(scale: Scale, scaling: &Scaling, rows: &Points) -> Result<Points> {
    match scale {
        // The same numbers, and no second copy of them.
        Scale::None => Ok(rows.clone()),
        _ => Points::from_vec(scaling.apply(rows.as_slice()), scaling.out_dim()),
    }
}
