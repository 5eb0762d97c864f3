//! What is chosen and how: one value that the command, Python, Dask, scikit-learn and R build and pass on whole.

use super::{EmbeddingChoice, KernelChoice, STEIN_SCALE, Stop};
use crate::scale::Scale;
use crate::weights::WeightRule;
use crate::words::Opt;
use crate::{Device, Error, FunctionsUnit, Precision, RefineOptions, Result};

/// The weight of the marginals of a set: a part of the attention that leaves nearly all of the joint MMD.
const MARGINALS: f64 = 0.1;

/// The weight of functions of interest: as much as the joint distribution.
const FUNCTIONS: f64 = 1.0;

/// A choice of rows: how many, by which method, to match what, by which distance, computed how.
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
    /// How many rows.
    pub stop: Stop,
    /// One after the other, or the best as a set.
    pub method: Method,
    /// The weights that the chosen rows get; `None` for equal ones.
    pub weights: Option<WeightRule>,
    /// What is matched where rows have scores: the density behind them by corrected weights, the rows, or the density alone. Default:
    /// [`TargetChoice::Corrected`] with scores, the rows without.
    pub target: Option<TargetChoice>,
    /// How much of what is matched counts.
    pub objective: Objective,
    /// How distances between rows are taken.
    pub distance: Distance,
    /// How and where it is computed.
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

/// How rows are chosen.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// One after the other by kernel herding, the paper's sequence.
    Herd {
        /// Whether every row may be chosen only once.
        unique: bool,
    },
    /// The best rows as a set: herding, then swaps, then a search.
    Thin(RefineOptions),
}

/// What is matched: the joint distribution, and these in addition.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Objective {
    /// The weight of the distribution functions of the columns (see [`Part`](crate::Part)); 0 for none. Default: 0.1 for a set,
    /// none for a herded sequence and with the target density.
    pub marginals: Option<f64>,
    /// The weight of the functions of interest, where the rows have some ([`Rows::functions`](super::Rows::functions)).
    pub functions: f64,
    /// The unit of the errors of their means.
    pub functions_unit: FunctionsUnit,
}

/// How distances between rows are taken.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Distance {
    /// How columns are brought to a common scale. Default: [`Scale::Sd`], and [`STEIN_SCALE`] with the target density.
    pub scale: Option<Scale>,
    /// The kernel. Default: gaussian, with the median distance as its bandwidth. Without effect with the target density, which
    /// comes with a Stein kernel.
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
    /// How many landmarks, which asks for some whatever the number of rows. Default: twice the rows that are herded, and four
    /// times those of a set that is refined.
    pub landmarks: Option<usize>,
    /// How many rows, drawn at random, are chosen from where there are landmarks. Default: 200,000, or twenty for each
    /// row that is chosen. Rows with weights, sets with constraints and runs without a number are chosen from all rows in memory.
    pub pool_rows: Option<usize>,
    /// The most bytes that a run may take. Default: no limit.
    pub max_memory: Option<u64>,
    /// The seed of everything that is drawn at random: the search, landmarks, control rows, the rows that are chosen from.
    pub seed: u64,
    /// What long sums run on. Default: the CPU.
    pub device: Device,
    /// Whether rows of weight zero may be chosen too. Off by default.
    pub pool_without_weight: bool,
}

impl Default for Objective {
    fn default() -> Objective {
        Objective { marginals: None, functions: FUNCTIONS, functions_unit: FunctionsUnit::Each }
    }
}

impl Method {
    /// The swaps and the search of a set; `None` for a herded sequence.
    pub fn refine(&self) -> Option<&RefineOptions> {
        match self {
            Method::Herd { .. } => None,
            Method::Thin(refine) => Some(refine),
        }
    }

    /// Whether rows must be in or out, or come from groups, which is asked of all rows.
    pub(super) fn is_constrained(&self) -> bool {
        self.refine().is_some_and(|refine| {
            let RefineOptions { include, exclude, groups, quotas, .. } = refine;
            !include.is_empty() || !exclude.is_empty() || groups.is_some() || quotas.is_some()
        })
    }
}

impl Choose {
    /// `n` rows one after the other by kernel herding, in which rows may repeat: the joint distribution is matched alone.
    pub fn herd(n: usize) -> Result<Choose> {
        Choose::herd_until(Stop::after(n)?)
    }

    /// The best `n` rows as a set, which are distinct: marginals are matched too, and a search follows the swaps.
    pub fn thin(n: usize) -> Result<Choose> {
        Choose::thin_until(Stop::after(n)?)
    }

    /// Rows one after the other by kernel herding until a rule holds.
    pub fn herd_until(stop: Stop) -> Result<Choose> {
        stop.check()?;
        Ok(Choose::plain(stop))
    }

    /// The best rows as a set, as many as the rules say.
    pub fn thin_until(stop: Stop) -> Result<Choose> {
        stop.check()?;
        let method = Method::Thin(RefineOptions::default().search_by_size(0));
        Ok(Choose { method, ..Choose::plain(stop) })
    }

    /// Nothing: a target for subsets of about this size that somebody else has chosen.
    pub fn nothing(size: Option<usize>) -> Choose {
        Choose::plain(Stop { number: size, ..Stop::default() })
    }

    fn plain(stop: Stop) -> Choose {
        Choose {
            stop,
            method: Method::Herd { unique: false },
            weights: None,
            target: None,
            objective: Objective::default(),
            distance: Distance::default(),
            compute: Compute::default(),
        }
    }

    /// Each row at most once, or as often as it fits.
    pub fn unique(mut self, unique: bool) -> Choose {
        match &mut self.method {
            Method::Herd { unique: only_once } => *only_once = unique,
            Method::Thin(refine) => refine.repeats = !unique,
        }
        self
    }

    /// The set with these swaps and this search; without effect on a herded sequence.
    pub fn refine(mut self, refine: RefineOptions) -> Choose {
        if let Method::Thin(own) = &mut self.method {
            *own = refine;
        }
        self
    }

    /// A search of this number of annealed sweeps: none for 0, as long as the size of the set allows for `None`; without
    /// effect on a herded sequence.
    pub fn search(mut self, sweeps: Option<usize>) -> Choose {
        let seed = self.compute.seed;
        if let Method::Thin(refine) = &mut self.method {
            refine.search = None;
            *refine = std::mem::take(refine).search_asked(sweeps, seed);
        }
        self
    }

    /// The seed of everything that is drawn at random.
    pub fn seed(mut self, seed: u64) -> Choose {
        self.compute.seed = seed;
        if let Method::Thin(RefineOptions { search: Some(search), .. }) = &mut self.method {
            search.seed = seed;
        }
        self
    }

    /// Unequal weights for the chosen rows, by this rule.
    pub fn weighed(self, rule: WeightRule) -> Choose {
        Choose { weights: Some(rule), ..self }
    }

    /// This target; it needs scores unless it is the rows.
    pub fn target(self, target: TargetChoice) -> Choose {
        Choose { target: Some(target), ..self }
    }

    /// The weight of the marginals; 0 for none.
    pub fn marginals(mut self, weight: f64) -> Choose {
        self.objective.marginals = Some(weight);
        self
    }

    /// The weight of the functions of interest.
    pub fn functions_weight(mut self, weight: f64) -> Choose {
        self.objective.functions = weight;
        self
    }

    /// The unit of the errors of the functions' means.
    pub fn functions_unit(mut self, unit: FunctionsUnit) -> Choose {
        self.objective.functions_unit = unit;
        self
    }

    /// Columns brought to this scale.
    pub fn scale(mut self, scale: Scale) -> Choose {
        self.distance.scale = Some(scale);
        self
    }

    /// This kernel.
    pub fn kernel(mut self, kernel: impl Into<KernelChoice>) -> Choose {
        self.distance.kernel = kernel.into();
        self
    }

    /// Kernel values in this precision.
    pub fn precision(mut self, precision: Precision) -> Choose {
        self.distance.precision = precision;
        self
    }

    /// The mean embedding exact, or approximated with landmarks.
    pub fn embedding(mut self, embedding: EmbeddingChoice) -> Choose {
        self.compute.embedding = embedding;
        self
    }

    /// This number of landmarks.
    pub fn landmarks(mut self, landmarks: usize) -> Choose {
        self.compute.landmarks = Some(landmarks);
        self
    }

    /// Chosen from this number of rows, drawn at random, where there are landmarks.
    pub fn pool_rows(mut self, rows: usize) -> Choose {
        self.compute.pool_rows = Some(rows);
        self
    }

    /// The run kept within this number of bytes.
    pub fn max_memory(mut self, bytes: u64) -> Choose {
        self.compute.max_memory = Some(bytes);
        self
    }

    /// Long sums on this device.
    pub fn device(mut self, device: Device) -> Choose {
        self.compute.device = device;
        self
    }

    /// Whether rows of weight zero may be chosen too.
    pub fn pool_without_weight(mut self, allowed: bool) -> Choose {
        self.compute.pool_without_weight = allowed;
        self
    }

    /// Refuses what no rows could be chosen with. A problem asks it too; a front end that asks it first refuses before it
    /// reads any rows.
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
        let (marginals, functions) = (self.marginals_weight(), self.objective.functions);
        if !(marginals >= 0.0 && marginals.is_finite()) {
            return refuse(
                Opt::Marginals,
                marginals,
                "give a number of at least 0, of which 0 is not at all",
            );
        }
        if !(functions > 0.0 && functions.is_finite()) {
            let advice = "give a positive number, or leave the functions out";
            return refuse(Opt::FunctionsWeight, functions, advice);
        }
        Ok(())
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

    /// The target of rows with scores, or without.
    pub fn target_in_use(&self, has_scores: bool) -> TargetChoice {
        self.target.unwrap_or(if has_scores { TargetChoice::Corrected } else { TargetChoice::Rows })
    }

    /// The scale of the columns.
    pub fn scale_in_use(&self) -> Scale {
        self.distance.scale.unwrap_or_default()
    }

    /// The choice with the defaults that go with a density.
    pub(super) fn with_density(mut self) -> Choose {
        self.objective.marginals.get_or_insert(0.0);
        self.distance.scale.get_or_insert(STEIN_SCALE);
        self
    }

    /// The choice with the defaults of rows that are known by their kernel values alone; what needs coordinates is refused.
    pub(super) fn with_gram(mut self) -> Result<Choose> {
        let Compute { embedding, landmarks, pool_rows, device, .. } = &self.compute;
        let (no_columns, no_distances) =
            ("rows have no columns then; leave it out", "all values are given; leave it out");
        let refused = [
            (self.objective.marginals.is_some_and(|weight| weight > 0.0), Opt::Marginals, no_columns),
            (self.distance.scale.is_some_and(|scale| scale != Scale::None), Opt::Scale, no_columns),
            (landmarks.is_some(), Opt::Landmarks, no_distances),
            (*embedding == EmbeddingChoice::Landmarks, Opt::Embedding, no_distances),
            (pool_rows.is_some(), Opt::PoolRows, no_distances),
            (device.is_gpu(), Opt::Device, "the matrix stays on the CPU; leave it out"),
        ];
        if let Some((_, option, advice)) = refused.into_iter().find(|(is_asked, ..)| *is_asked) {
            return Err(Error::GramOption { option, advice });
        }
        self.objective.marginals = Some(0.0);
        self.distance.scale = Some(Scale::None);
        Ok(self)
    }

    /// How many landmarks this number of rows in memory is compared with; `None` where they are compared with each other.
    pub fn landmarks_of(&self, rows: usize) -> Option<usize> {
        let Compute { embedding, landmarks, .. } = self.compute;
        embedding.uses_landmarks(rows, landmarks).then(|| self.landmark_count(rows))
    }

    /// How many landmarks a target of this number of rows has, if it has some.
    pub(super) fn landmark_count(&self, rows: usize) -> usize {
        self.compute
            .landmarks
            .unwrap_or_else(|| super::landmarks::default_count(rows, self.demand()))
            .min(rows)
    }

    /// How many herded rows ask for as many landmarks. Swaps go on until they find what landmarks do not see, so that a set
    /// is worth four landmarks a row where a herded sequence is worth two.
    fn demand(&self) -> Option<usize> {
        match self.method {
            Method::Herd { .. } => self.stop.number,
            Method::Thin(_) => self.stop.number.map(|number| number.saturating_mul(2)),
        }
    }
}
