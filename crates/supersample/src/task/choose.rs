//! All options of a choice in one value, which every front end builds and passes on whole. The defaults are set here.

use super::{Calibrate, EmbeddingChoice, KernelChoice, STEIN_SCALE, Stop};
use crate::scale::Scale;
use crate::weights::WeightRule;
use crate::words::Opt;
use crate::{Device, Error, FunctionsUnit, Precision, RefineOptions, Result};

/// The largest weight of a part of the objective.
const MOST_WEIGHT: f64 = 1e9;

/// Default weight of the marginals of a set. It improves quantiles and costs little of the joint MMD.
const MARGINALS: f64 = 0.1;

/// Default weight of the means and variances of the columns of a set, which is too narrow without.
const MOMENTS: f64 = 0.08;

/// Default weight of functions of interest: the same as the joint distribution.
const FUNCTIONS: f64 = 1.0;

/// Most columns of which swaps gain by more landmarks even if moments are matched.
const FEW_COLUMNS: usize = 16;

/// Options of a choice of rows: size, method, weights, objective, distance, compute.
///
/// The defaults are those of the command and of the Python package.
///
/// ```
/// use supersample::task::{Choose, Method};
/// let thin = Choose::thin(100)?;
/// assert!(matches!(&thin.method, Method::Thin(refine) if refine.search.is_some()));
/// assert_eq!((thin.marginals_weight(), Choose::herd(100)?.marginals_weight()), (0.1, 0.0));
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Choose {
    /// Stop rules: how many rows.
    pub stop: Stop,
    /// Method: a herded sequence, or the best set.
    pub method: Method,
    /// Rule for the weights of the chosen rows; `None` for equal weights.
    pub weights: Option<WeightRule>,
    /// The means that calibrated weights meet; no effect on other weights.
    pub calibrate: Calibrate,
    /// Target, where rows have scores: the density behind them by corrected weights, the rows, or the density alone.
    /// Default: [`TargetChoice::Corrected`] with scores, the rows without.
    pub target: Option<TargetChoice>,
    /// Objective: what is matched.
    pub objective: Objective,
    /// How distances between rows are taken.
    pub distance: Distance,
    /// How and where the choice is computed.
    pub compute: Compute,
}

/// What is to be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TargetChoice {
    /// The rows as they are, with the weights that they are given.
    Rows,
    /// The rows with weights that take out what scores can tell of their error ([`Corrected`](super::Corrected)).
    Corrected,
    /// The density that the scores are of, whatever the rows are: Stein thinning.
    Density,
}

supersample_sum::words!(
    TargetChoice, "a target": Rows "rows", Corrected "corrected", Density "density",
);

/// Method of choosing rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Kernel herding, the paper's sequence.
    Herd {
        /// Whether every row may be chosen only once.
        unique: bool,
    },
    /// The best set of rows: herding, then swaps, then a search.
    Thin(RefineOptions),
}

/// Terms of the objective in addition to the joint distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Objective {
    /// The weight of the distribution functions of the columns (see [`Part`](crate::Part)); 0 for none. Default: 0.1
    /// for a set, 0 for a herded sequence and with the target density.
    pub marginals: Option<f64>,
    /// The weight of the means and variances of the columns (see [`ColumnMoments`](crate::ColumnMoments)); 0 for none.
    /// Default: 0.08 for a set, 0 for a herded sequence and with the target density.
    pub moments: Option<f64>,
    /// The weight of the functions of interest, if the rows have any ([`Rows::functions`](super::Rows::functions)).
    pub functions: f64,
    /// The unit of the errors of their means.
    pub functions_unit: FunctionsUnit,
}

/// How distances between rows are taken.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Distance {
    /// How columns are scaled. Default: [`Scale::Sd`]; with the target density, [`STEIN_SCALE`].
    pub scale: Option<Scale>,
    /// The kernel. Default: gaussian, or [`MATCHING_KERNEL`](super::MATCHING_KERNEL) where other rows are matched, with
    /// the median distance as its bandwidth. No effect with the target density, which has a Stein kernel.
    pub kernel: KernelChoice,
    /// The arithmetic of kernel values.
    pub precision: Precision,
}

/// How and where a choice is computed.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Compute {
    /// Whether the mean embedding is exact or approximated with landmarks. Default: exact up to 100,000 rows.
    pub embedding: EmbeddingChoice,
    /// Number of landmarks; a given number turns landmarks on. Default: two for each row of a herded sequence, four for
    /// each row of a set.
    pub landmarks: Option<usize>,
    /// Number of candidates, drawn at random, when landmarks are used. Default: 200,000, or 20 for each chosen row.
    /// With row weights, with constraints, or without a number, all rows in memory are candidates.
    pub pool_rows: Option<usize>,
    /// Memory limit in bytes. Default: none.
    pub max_memory: Option<u64>,
    /// Random seed of the search, landmarks, control rows and candidates.
    pub seed: u64,
    /// Device for long sums. Default: the CPU.
    pub device: Device,
    /// Whether rows of weight zero may be chosen. Off by default.
    pub pool_without_weight: bool,
    /// Whether the accuracy of the rows as draws is left out, which takes as long as a small choice. Off by default.
    pub no_diagnosis: bool,
}

impl Default for Objective {
    fn default() -> Objective {
        Objective {
            marginals: None,
            moments: None,
            functions: FUNCTIONS,
            functions_unit: FunctionsUnit::Each,
        }
    }
}

impl Method {
    /// Options of the swaps and the search; `None` for a herded sequence.
    pub fn refine(&self) -> Option<&RefineOptions> {
        match self {
            Method::Herd { .. } => None,
            Method::Thin(refine) => Some(refine),
        }
    }

    /// Whether there are included rows, excluded rows or groups. Constraints refer to all rows.
    pub(super) fn is_constrained(&self) -> bool {
        self.refine().is_some_and(|refine| {
            let RefineOptions { include, exclude, groups, quotas, .. } = refine;
            !include.is_empty() || !exclude.is_empty() || groups.is_some() || quotas.is_some()
        })
    }
}

impl Choose {
    /// Chooses `n` rows by kernel herding. Rows may repeat, and only the joint distribution is matched.
    pub fn herd(n: usize) -> Result<Choose> {
        Choose::herd_until(Stop::after(n)?)
    }

    /// Chooses the best set of `n` distinct rows. Marginals and moments are matched too, and a search
    /// follows the swaps.
    pub fn thin(n: usize) -> Result<Choose> {
        Choose::thin_until(Stop::after(n)?)
    }

    /// Chooses rows by kernel herding until a stop rule holds.
    pub fn herd_until(stop: Stop) -> Result<Choose> {
        stop.check()?;
        Ok(Choose::plain(stop))
    }

    /// Chooses the best set of rows, with the size that the stop rules give.
    pub fn thin_until(stop: Stop) -> Result<Choose> {
        stop.check()?;
        let method = Method::Thin(RefineOptions::default().search_by_size(0));
        Ok(Choose { method, ..Choose::plain(stop) })
    }

    /// Chooses nothing: for evaluating given subsets of about this size.
    pub fn nothing(size: Option<usize>) -> Choose {
        Choose::plain(Stop { number: size, ..Stop::default() })
    }

    fn plain(stop: Stop) -> Choose {
        Choose {
            stop,
            method: Method::Herd { unique: false },
            weights: None,
            calibrate: Calibrate::default(),
            target: None,
            objective: Objective::default(),
            distance: Distance::default(),
            compute: Compute::default(),
        }
    }

    /// Sets whether each row may be chosen only once.
    pub fn unique(mut self, unique: bool) -> Choose {
        match &mut self.method {
            Method::Herd { unique: only_once } => *only_once = unique,
            Method::Thin(refine) => refine.repeats = !unique,
        }
        self
    }

    /// Sets the options of swaps and search; no effect on a herded sequence.
    pub fn refine(mut self, refine: RefineOptions) -> Choose {
        if let Method::Thin(own) = &mut self.method {
            *own = refine;
        }
        self
    }

    /// Sets the number of annealed sweeps of the search: 0 for none, `None` for the default by size. No effect on a
    /// herded sequence.
    pub fn search(mut self, sweeps: Option<usize>) -> Choose {
        let seed = self.compute.seed;
        if let Method::Thin(refine) = &mut self.method {
            refine.search = None;
            *refine = std::mem::take(refine).search_asked(sweeps, seed);
        }
        self
    }

    /// Sets the random seed.
    pub fn seed(mut self, seed: u64) -> Choose {
        self.compute.seed = seed;
        if let Method::Thin(RefineOptions { search: Some(search), .. }) = &mut self.method {
            search.seed = seed;
        }
        self
    }

    /// Sets the rule for the weights of the chosen rows.
    pub fn weighed(self, rule: WeightRule) -> Choose {
        Choose { weights: Some(rule), ..self }
    }

    /// Sets calibrated weights, which meet these means.
    pub fn calibrated(self, calibrate: Calibrate) -> Choose {
        Choose { weights: Some(WeightRule::Calibrated), calibrate, ..self }
    }

    /// Sets the target; it needs scores unless it is the rows.
    pub fn target(self, target: TargetChoice) -> Choose {
        Choose { target: Some(target), ..self }
    }

    /// Sets the weight of the marginals; 0 for none.
    pub fn marginals(mut self, weight: f64) -> Choose {
        self.objective.marginals = Some(weight);
        self
    }

    /// Sets the weight of the means and variances of the columns; 0 for none.
    pub fn moments(mut self, weight: f64) -> Choose {
        self.objective.moments = Some(weight);
        self
    }

    /// Sets the weight of the functions of interest.
    pub fn functions_weight(mut self, weight: f64) -> Choose {
        self.objective.functions = weight;
        self
    }

    /// Sets the unit of the errors of the functions' means.
    pub fn functions_unit(mut self, unit: FunctionsUnit) -> Choose {
        self.objective.functions_unit = unit;
        self
    }

    /// Sets the scale of the columns.
    pub fn scale(mut self, scale: Scale) -> Choose {
        self.distance.scale = Some(scale);
        self
    }

    /// Sets the kernel.
    pub fn kernel(mut self, kernel: impl Into<KernelChoice>) -> Choose {
        self.distance.kernel = kernel.into();
        self
    }

    /// Sets the precision of kernel values.
    pub fn precision(mut self, precision: Precision) -> Choose {
        self.distance.precision = precision;
        self
    }

    /// Sets whether the mean embedding is exact or approximated with landmarks.
    pub fn embedding(mut self, embedding: EmbeddingChoice) -> Choose {
        self.compute.embedding = embedding;
        self
    }

    /// Sets the number of landmarks.
    pub fn landmarks(mut self, landmarks: usize) -> Choose {
        self.compute.landmarks = Some(landmarks);
        self
    }

    /// Sets the number of candidates when landmarks are used.
    pub fn pool_rows(mut self, rows: usize) -> Choose {
        self.compute.pool_rows = Some(rows);
        self
    }

    /// Sets the memory limit in bytes.
    pub fn max_memory(mut self, bytes: u64) -> Choose {
        self.compute.max_memory = Some(bytes);
        self
    }

    /// Sets the device for long sums.
    pub fn device(mut self, device: Device) -> Choose {
        self.compute.device = device;
        self
    }

    /// Sets whether rows of weight zero may be chosen.
    pub fn pool_without_weight(mut self, allowed: bool) -> Choose {
        self.compute.pool_without_weight = allowed;
        self
    }

    /// Sets whether the accuracy of the rows as draws is estimated in addition to the choice.
    pub fn diagnosis(mut self, wanted: bool) -> Choose {
        self.compute.no_diagnosis = !wanted;
        self
    }

    /// Checks the options that do not depend on the rows. `Problem` does so too; a front end calls it before it reads
    /// any rows.
    pub fn check(&self) -> Result<()> {
        let refuse = |option, value, advice| Err(Error::BadOption { option, value, advice });
        let Compute { embedding, landmarks, pool_rows, .. } = self.compute;
        if landmarks == Some(0) {
            return refuse(Opt::Landmarks, 0.0, "ask for at least one");
        }
        if let (EmbeddingChoice::Exact, Some(asked)) = (embedding, landmarks) {
            let advice = "an exact embedding has none; leave the number out, or ask for landmarks";
            return refuse(Opt::Landmarks, asked as f64, advice);
        }
        if pool_rows == Some(0) {
            return refuse(Opt::PoolRows, 0.0, "there must be rows to choose from");
        }
        if self.stop.add.is_some() && self.method.refine().is_none() {
            return Err(Error::AutoSize {
                what: "a herded sequence",
                advice: "use thin, which chooses sets",
            });
        }
        let functions = self.objective.functions;
        let parts = [
            (Opt::Marginals, self.marginals_weight(), "give a number of at least 0; 0 turns it off"),
            (Opt::Moments, self.moments_weight(), "give a number of at least 0; 0 turns it off"),
            (Opt::FunctionsWeight, functions, "give a positive number, or leave the functions out"),
        ];
        for (option, weight, advice) in parts {
            if !(weight >= 0.0 && weight.is_finite()) || (weight == 0.0 && option == Opt::FunctionsWeight) {
                return refuse(option, weight, advice);
            }
            if weight > MOST_WEIGHT {
                return refuse(option, weight, "above 1e9 nothing else counts; give a smaller number");
            }
        }
        let size = self.stop.number.filter(|_| !self.stop.has_goal());
        self.method.refine().map_or(Ok(()), |refine| refine.check_asked(size))
    }

    /// Whether every row may be chosen only once.
    pub fn is_unique(&self) -> bool {
        match &self.method {
            Method::Herd { unique } => *unique,
            Method::Thin(refine) => !refine.repeats,
        }
    }

    /// The weight of the marginals.
    pub fn marginals_weight(&self) -> f64 {
        self.objective.marginals.unwrap_or(match self.method {
            Method::Herd { .. } => 0.0,
            Method::Thin(_) => MARGINALS,
        })
    }

    /// The weight of the means and variances of the columns.
    pub fn moments_weight(&self) -> f64 {
        self.objective.moments.unwrap_or(match self.method {
            Method::Herd { .. } => 0.0,
            Method::Thin(_) => MOMENTS,
        })
    }

    /// The target of rows with scores, or without.
    pub fn target_in_use(&self, has_scores: bool) -> TargetChoice {
        self.target.unwrap_or(if has_scores { TargetChoice::Corrected } else { TargetChoice::Rows })
    }

    /// The scale of the columns.
    pub fn scale_in_use(&self) -> Scale {
        self.distance.scale.unwrap_or_default()
    }

    /// Returns the choice with the defaults for a density.
    pub(super) fn with_density(mut self) -> Choose {
        self.objective.marginals.get_or_insert(0.0);
        self.objective.moments.get_or_insert(0.0);
        self.distance.scale.get_or_insert(STEIN_SCALE);
        self
    }

    /// Refuses what has no meaning where other rows are matched than those to choose from.
    pub fn check_match(&self) -> Result<()> {
        if self.stop.add.is_some() {
            return Err(Error::AutoSize {
                what: "another target",
                advice: "the rows to choose from may be no draws of it; give a number",
            });
        }
        Ok(())
    }

    /// Returns the choice with the defaults for a Gram matrix; options that need coordinates are an error.
    pub(super) fn with_gram(mut self) -> Result<Choose> {
        let Compute { embedding, landmarks, pool_rows, device, .. } = &self.compute;
        let (no_columns, no_distances) =
            ("rows have no columns then; leave it out", "all values are given; leave it out");
        let refused = [
            (self.objective.marginals.is_some_and(|weight| weight > 0.0), Opt::Marginals, no_columns),
            (self.objective.moments.is_some_and(|weight| weight > 0.0), Opt::Moments, no_columns),
            (self.distance.scale.is_some_and(|scale| scale != Scale::None), Opt::Scale, no_columns),
            (landmarks.is_some(), Opt::Landmarks, no_distances),
            (*embedding == EmbeddingChoice::Landmarks, Opt::Embedding, no_distances),
            (pool_rows.is_some(), Opt::PoolRows, no_distances),
            (device.is_gpu(), Opt::Device, "the matrix stays on the CPU; leave it out"),
        ];
        if let Some((_, option, advice)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            return Err(Error::NotTogether { option, with: "a Gram matrix", advice });
        }
        if self.stop.add.is_some() {
            return Err(Error::AutoSize {
                what: "a Gram matrix",
                advice: "its rows have no columns; give a number",
            });
        }
        (self.objective.marginals, self.objective.moments) = (Some(0.0), Some(0.0));
        self.distance.scale = Some(Scale::None);
        Ok(self)
    }

    /// Number of landmarks for this number of rows in memory and of columns; `None` if all pairs are compared.
    pub fn landmarks_of(&self, rows: usize, columns: usize) -> Option<usize> {
        let Compute { embedding, landmarks, .. } = self.compute;
        embedding.uses_landmarks(rows, landmarks).then(|| self.landmark_count(rows, columns))
    }

    /// Number of landmarks for this number of rows and columns, if landmarks are used.
    pub(super) fn landmark_count(&self, rows: usize, columns: usize) -> usize {
        self.compute
            .landmarks
            .unwrap_or_else(|| super::landmarks::default_count(rows, self.demand(columns)))
            .min(rows)
    }

    /// Number of landmarks of a stream, at which every row is summed: two for each row, because a sample stands for what they miss. Four are
    /// chosen from their sums when rows are chosen.
    pub(super) fn stream_landmarks(&self, rows: usize) -> usize {
        let default = || super::landmarks::default_count(rows, self.stop.number);
        self.compute.landmarks.unwrap_or_else(default).min(rows)
    }

    /// Number of herded rows that need as many landmarks as this choice. Swaps continue until they exploit what
    /// landmarks miss, so a set needs four landmarks for each row and a herded sequence two. Moments of many columns leave swaps
    /// too little to exploit: `--landmarks 1024` and `2048` have the same MMD at K of `bench/peers/large.py`; with `--moments 0`
    /// 0.0096 and 0.0092, and at J 0.0101 and 0.0095.
    fn demand(&self, columns: usize) -> Option<usize> {
        match self.method {
            Method::Thin(_) if columns <= FEW_COLUMNS || self.moments_weight() == 0.0 => {
                self.stop.number.map(|number| number.saturating_mul(2))
            }
            _ => self.stop.number,
        }
    }
}
