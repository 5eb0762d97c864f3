//! The problem: rows made ready to be matched, with their weights, the points they become and the kernel between them.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use super::candidates::Sample;
use super::gather::GatheredFunctions;
use super::{
    Advice, EmbeddingChoice, ErrorScale, Gathered, RowScores, RowWeights, advice, default_landmarks,
    landmarks, scores,
};
use crate::bandwidth::MedianDistance;
use crate::points::expect_rows;
use crate::quality::Reference;
use crate::scale::{Scale, Scaling};
use crate::{
    Empirical, Error, Functions, Herder, Kernel, Landmarks, Marginals, MeanEmbedding, Part, Points, Pool,
    Precision, Result, SteinTarget, Watch, unwatched,
};

/// The weight of the marginals that suits thinning: a part of the attention that leaves nearly all of the joint MMD.
pub const MARGINALS: f64 = 0.1;

/// The weight of functions of interest, where none is given: as much as the joint distribution.
pub const FUNCTIONS: f64 = 1.0;

/// Which kernel.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum KernelChoice {
    /// This one, its bandwidth in the units of the scaled points.
    Given(Kernel),
    /// The one of this name ([`Kernel::NAMES`]).
    Named {
        /// The name.
        name: String,
        /// Its length; without effect on the linear and the energy kernel, which have none.
        bandwidth: Bandwidth,
    },
}

/// How long the bandwidth of a named kernel is.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Bandwidth {
    /// The median distance between two of the scaled points.
    #[default]
    Median,
    /// These lengths, in the units of the scaled points: one, or several for a sum of Gaussians.
    Lengths(Vec<f64>),
}

/// How rows are made ready.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ProblemOptions {
    /// How columns are brought to a common scale. Default [`Scale::Sd`].
    pub scale: Scale,
    /// The kernel. Default: gaussian, the median distance as its bandwidth.
    pub kernel: KernelChoice,
    /// The arithmetic of kernel values.
    pub precision: Precision,
    /// Whether rows of weight zero may be chosen too. Off by default: a row that stands for nothing would stand for a
    /// part of the whole.
    pub pool_without_weight: bool,
    /// Whether the mean embedding is exact, or projected on landmarks. Default: exact up to 100,000 rows.
    pub embedding: EmbeddingChoice,
    /// How many landmarks, which asks for some whatever the number of rows; by default twice the rows that are chosen
    /// ([`default_landmarks`]).
    pub landmarks: Option<usize>,
    /// How many rows, drawn at random, are chosen from where landmarks stand for the mean embedding; by default 200,000, or
    /// twenty for each that is to be chosen ([`default_pool_rows`](super::default_pool_rows)). Rows with weights, sets with
    /// constraints and runs without a number are chosen from all rows.
    pub pool_rows: Option<usize>,
    /// The seed of the rows that landmarks are chosen from, of the control rows, and of a sample to choose from.
    pub seed: u64,
    /// How much the distribution functions of the columns count beside the joint distribution (see [`Part`]); 0, the
    /// default, for nothing. [`MARGINALS`] suits thinning.
    pub marginals: f64,
    /// Functions of the rows whose means are matched too. None by default.
    pub functions: Option<FunctionValues>,
    /// The scores of the rows, where a density is to be matched and not the rows themselves. The kernel is then a Stein kernel,
    /// and [`kernel`](Self::kernel) has no effect.
    pub scores: Option<RowScores>,
}

/// Functions of the rows whose means are to be matched, in their own units: predictions, generated quantities, costs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionValues {
    /// All functions of the first row, then all of the second, …
    pub values: Vec<f64>,
    /// How many functions there are.
    pub count: usize,
    /// How much they count beside the joint distribution, whose weight is 1; positive.
    pub weight: f64,
}

impl FunctionValues {
    /// So many functions of each row, with weight [`FUNCTIONS`].
    pub fn new(values: Vec<f64>, count: usize) -> FunctionValues {
        FunctionValues { values, count, weight: FUNCTIONS }
    }

    /// These functions with this weight.
    pub fn weight(self, weight: f64) -> FunctionValues {
        FunctionValues { weight, ..self }
    }
}

impl Default for KernelChoice {
    fn default() -> KernelChoice {
        KernelChoice::Named { name: "gaussian".to_string(), bandwidth: Bandwidth::Median }
    }
}

impl ProblemOptions {
    /// Columns brought to this scale.
    pub fn scale(self, scale: Scale) -> ProblemOptions {
        ProblemOptions { scale, ..self }
    }

    /// This kernel, its bandwidth in the units of the scaled points.
    pub fn kernel(self, kernel: Kernel) -> ProblemOptions {
        ProblemOptions { kernel: KernelChoice::Given(kernel), ..self }
    }

    /// The kernel of this name with a bandwidth that is given or the median distance.
    pub fn named_kernel(self, name: &str, bandwidth: Bandwidth) -> ProblemOptions {
        ProblemOptions { kernel: KernelChoice::Named { name: name.to_string(), bandwidth }, ..self }
    }

    /// Kernel values in this precision.
    pub fn precision(self, precision: Precision) -> ProblemOptions {
        ProblemOptions { precision, ..self }
    }

    /// The mean embedding exact, or projected on landmarks.
    pub fn embedding(self, embedding: EmbeddingChoice) -> ProblemOptions {
        ProblemOptions { embedding, ..self }
    }

    /// So many landmarks, where the mean embedding is projected on landmarks.
    pub fn landmarks(self, landmarks: usize) -> ProblemOptions {
        ProblemOptions { landmarks: Some(landmarks), ..self }
    }

    /// The seed of the rows that landmarks are chosen from, and of the control rows.
    pub fn seed(self, seed: u64) -> ProblemOptions {
        ProblemOptions { seed, ..self }
    }

    /// So many rows, drawn at random, to choose from, where landmarks stand for the mean embedding.
    pub fn pool_rows(self, rows: usize) -> ProblemOptions {
        ProblemOptions { pool_rows: Some(rows), ..self }
    }

    /// Whether rows of weight zero may be chosen too.
    pub fn pool_without_weight(self, allowed: bool) -> ProblemOptions {
        ProblemOptions { pool_without_weight: allowed, ..self }
    }

    /// The distribution functions of the columns matched too, with this weight; 0 for not at all.
    pub fn marginals(self, weight: f64) -> ProblemOptions {
        ProblemOptions { marginals: weight, ..self }
    }

    /// The density with these scores matched, in place of the rows.
    pub fn scores(self, scores: RowScores) -> ProblemOptions {
        ProblemOptions { scores: Some(scores), ..self }
    }

    /// The means of these functions matched too.
    pub fn functions(self, functions: FunctionValues) -> ProblemOptions {
        ProblemOptions { functions: Some(functions), ..self }
    }
}

impl KernelChoice {
    /// The kernel for these points, which are scaled already, and the median distance where that was asked for.
    ///
    /// ```
    /// use supersample::Points;
    /// use supersample::task::KernelChoice;
    /// let points = Points::from_rows(&[0.0, 1.0, 3.0], 1)?;
    /// let (kernel, median) = KernelChoice::default().for_points(&points, None)?;
    /// assert_eq!((kernel.to_string().as_str(), median.unwrap().pairs), ("gaussian(2)", 3));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn for_points(
        &self,
        points: &Points,
        weights: Option<&[f64]>,
    ) -> Result<(Kernel, Option<MedianDistance>)> {
        match self {
            KernelChoice::Given(kernel) => Ok((kernel.clone(), None)),
            KernelChoice::Named { name, bandwidth: Bandwidth::Lengths(lengths) } => {
                Ok((Kernel::named(name, lengths)?, None))
            }
            KernelChoice::Named { name, .. } if !Kernel::takes_bandwidth(name) => {
                Ok((Kernel::named(name, &[])?, None))
            }
            KernelChoice::Named { name, bandwidth: Bandwidth::Median } => {
                // A name that is none is refused before the distances are taken.
                Kernel::named(name, &[1.0])?;
                let median = MedianDistance::of(points, weights)?;
                Ok((Kernel::named(name, &[median.length])?, Some(median)))
            }
        }
    }
}

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

/// Functions found to be fit to be matched, at every row.
struct FunctionsOfRows {
    functions: Functions,
    values: Points,
    weight: f64,
}

impl FunctionsOfRows {
    fn new(given: FunctionValues, rows: usize, shares: Option<&[f64]>) -> Result<FunctionsOfRows> {
        let FunctionValues { values, count, weight } = given;
        let values = Points::from_vec(values, count).map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFiniteFunction { row, column, value },
            error => error,
        })?;
        expect_rows("the functions", values.len(), rows)?;
        let weight = checked_weight(weight)?;
        Ok(FunctionsOfRows { functions: Functions::new(&values, shares)?, values, weight })
    }

    /// The functions of rows that are a sample of more, standardised by the moments of all of these.
    fn of_gathered(gathered: &GatheredFunctions) -> Result<FunctionsOfRows> {
        let functions = Functions::of_moments(&gathered.moments)?;
        let weight = checked_weight(gathered.weight)?;
        Ok(FunctionsOfRows { functions, values: gathered.values.clone(), weight })
    }
}

fn checked_weight(weight: f64) -> Result<f64> {
    if weight > 0.0 && weight.is_finite() {
        return Ok(weight);
    }
    let advice = "a weight is a positive number; leave the functions out where they are to count for nothing";
    Err(Error::BadOption { option: "the weight of the functions", value: weight, advice })
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
        let ProblemOptions { scale, kernel, precision, pool_without_weight, marginals, functions, .. } =
            options;
        if options.landmarks == Some(0) {
            let advice = "ask for at least one";
            return Err(Error::BadOption { option: "the number of landmarks", value: 0.0, advice });
        }
        if let (EmbeddingChoice::Exact, Some(asked)) = (options.embedding, options.landmarks) {
            let advice = "an exact embedding has none; leave the number out, or ask for landmarks";
            return Err(Error::BadOption { option: "the number of landmarks", value: asked as f64, advice });
        }
        let is_projected =
            gathered.is_some() || options.embedding.is_projected(rows.len(), options.landmarks);
        if !(marginals >= 0.0 && marginals.is_finite()) {
            let advice = "a weight is a positive number, or 0 to match the joint distribution alone";
            return Err(Error::BadOption { option: "the weight of the marginals", value: marginals, advice });
        }
        let marginals = if has_one_row(&rows, shares.as_deref()) { 0.0 } else { marginals };
        let gathered_functions = gathered.as_ref().and_then(|gathered| gathered.functions.as_ref());
        let functions = match (functions, gathered_functions) {
            (None, None) => None,
            (_, Some(gathered)) => Some(FunctionsOfRows::of_gathered(gathered)?),
            (Some(given), None) => Some(FunctionsOfRows::new(given, rows.len(), shares.as_deref())?),
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
            mu: Arc::new(mu.precision(precision)),
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
