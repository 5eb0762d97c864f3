//! Evaluation: the errors of any subset.

use super::{Chosen, Comparison, Errors, Measure, Target};
use crate::points::expect_rows;
use crate::quality::{Quality, random_rows};
use crate::{Error, Functions, Marginals, Points, Result, Watch, metrics};

/// All errors of a subset, with a comparison.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Errors of the subset, with its weights.
    pub errors: Errors,
    /// The standard error of the MMD, where ‖μ‖² is an estimate.
    pub standard_error: Option<f64>,
    /// The errors column by column.
    pub quality: Quality,
    /// Errors of other subsets of this size; `None` if there are too few rows.
    pub comparison: Option<Comparison>,
}

impl Evaluation {
    /// The MMD.
    pub fn mmd(&self) -> f64 {
        self.errors.get(Measure::Mmd).unwrap_or(f64::NAN)
    }
}

/// Subset to evaluate: row numbers, or points in the units of the rows.
///
/// ```
/// use supersample::task::{Choose, Problem, Subset};
/// use supersample::{Points, unwatched};
/// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
/// let target = Problem::new(Points::from_rows(&rows, 2)?, Choose::nothing(Some(20)))?.prepare(&unwatched)?;
/// let found = target.evaluate(&Subset::of_points(Points::from_rows(&rows[..40], 2)?), &unwatched)?;
/// let numbers: Vec<usize> = (0..20).collect();
/// assert_eq!(found, target.evaluate(&Subset::of_rows(&numbers), &unwatched)?);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Subset<'a> {
    of: Of<'a>,
    weights: Option<&'a [f64]>,
    functions: Option<Points>,
    scores: Option<Points>,
    means: Option<&'a [f64]>,
}

#[derive(Clone, Debug)]
enum Of<'a> {
    Rows(&'a [usize]),
    Points(Points),
}

impl<'a> Subset<'a> {
    /// Creates a subset of row numbers; functions and scores are known.
    pub fn of_rows(rows: &'a [usize]) -> Subset<'a> {
        Subset { of: Of::Rows(rows), weights: None, functions: None, scores: None, means: None }
    }

    /// Creates a subset of points, in the units of the rows.
    pub fn of_points(points: Points) -> Subset<'a> {
        Subset { of: Of::Points(points), weights: None, functions: None, scores: None, means: None }
    }

    /// Sets weights of either sign. The MMD uses them as they are; the errors of columns divide them by their sum.
    pub fn weights(self, weights: Option<&'a [f64]>) -> Subset<'a> {
        Subset { weights, ..self }
    }

    /// Sets the functions of interest of the points: one row for each.
    pub fn functions(self, values: Points) -> Subset<'a> {
        Subset { functions: Some(values), ..self }
    }

    /// Sets the scores of the points, in the units of the rows.
    pub fn scores(self, scores: Points) -> Subset<'a> {
        Subset { scores: Some(scores), ..self }
    }

    /// Sets the values of μ at the points, as summed by a pass over rows that are not in memory
    /// ([`PassSums`](super::stream::PassSums)).
    pub fn means(self, means: &'a [f64]) -> Subset<'a> {
        Subset { means: Some(means), ..self }
    }
}

impl Target {
    /// Evaluates a subset: its MMD, its errors by column, and the errors of other subsets of its size.
    pub fn evaluate(&self, subset: &Subset<'_>, watch: Watch) -> Result<Evaluation> {
        let mmd = self.mmd(subset, watch)?;
        let (points, weights) = (self.points_of(subset)?, subset.weights);
        let functions = match (&subset.of, &subset.functions) {
            (Of::Rows(rows), None) => self.functions_error(rows, weights)?,
            (_, None) => None,
            (_, Some(values)) => {
                expect_rows("the functions of the subset", values.len(), points.len())?;
                let (of_all, ..) = self.problem().functions().ok_or(Error::NoFunctions)?;
                Some(of_all.error(values, weights)?)
            }
        };
        let errors = Errors::default()
            .with(Measure::Cdf, self.cdfs(&[(&points, weights)])?[0])
            .with(Measure::FunctionsError, functions);
        let scale = self.error_scale();
        // Without a diagnosis its numbers are left out.
        if let Err(Error::Interrupted) = self.diagnosis(watch) {
            return Err(Error::Interrupted);
        }
        let errors = self.with_equivalents(errors.with(Measure::Mmd, mmd), &scale);
        let quality = self.quality(&points, weights)?;
        Ok(Evaluation {
            errors: errors.with_quality(&quality),
            standard_error: scale.standard_error(mmd),
            quality,
            comparison: self.compare(points.len(), watch)?,
        })
    }

    /// Evaluates the rows of a run. Their MMD, distribution functions and functions of interest are already known.
    pub fn summarise(&self, chosen: &Chosen, watch: Watch) -> Result<Evaluation> {
        let comparison = self.compare(chosen.rows.len(), watch)?;
        Ok(Evaluation { comparison, ..self.summarise_alone(chosen)? })
    }

    /// Evaluates the rows of a run without the comparison with other subsets, which takes most of the time.
    pub fn summarise_alone(&self, chosen: &Chosen) -> Result<Evaluation> {
        chosen.mmd().ok_or(Error::UnknownNorm)?;
        let weights = chosen.weights.as_ref().map(|found| found.weights.as_slice());
        let quality = self.quality(&self.select(&chosen.rows)?, weights)?;
        Ok(Evaluation {
            errors: chosen.errors.with_quality(&quality),
            standard_error: chosen.standard_error,
            quality,
            comparison: None,
        })
    }

    /// Returns the MMD of a subset, or the KSD if the target is a density. Weights are taken as they are. Costs T·n +
    /// T² kernel values.
    pub fn mmd(&self, subset: &Subset<'_>, watch: Watch) -> Result<f64> {
        let problem = self.problem();
        let points = match (&subset.of, &subset.scores) {
            (Of::Rows(rows), None) => problem.points().select(&self.places(rows)?)?,
            (Of::Points(points), None) => problem.scaled(points)?,
            (_, Some(scores)) => problem.with_scores(&self.points_of(subset)?, scores)?,
        };
        match subset.means {
            Some(means) => metrics::mmd_measured(&*self.embedding(), &points, subset.weights, means),
            None => metrics::mmd_of_points(&*self.embedding(), &points, subset.weights, watch),
        }
    }

    /// Returns the errors of points by column, in the units of the rows, with weights of any sign or equal ones.
    pub fn quality(&self, points: &Points, weights: Option<&[f64]>) -> Result<Quality> {
        points.expect_dim("the subset", "the data", self.problem().rows().dim())?;
        self.reference()?.quality(points.as_slice(), weights)
    }

    /// Returns the expected errors of quantiles and correlations of the sample that is in memory, where rows come in
    /// batches: these errors of a subset are relative to that sample, not to all rows. `None` if all rows are in memory.
    ///
    /// Half of a uniform sample differs from the sample about as much as the sample from all rows.
    pub fn sample_errors(&self) -> Result<Option<Errors>> {
        const HALVES: u64 = 4;
        let problem = self.problem();
        let (rows, shares) = (problem.rows(), problem.shares());
        let Some(gathered) = problem.gathered().filter(|gathered| gathered.rows() > rows.len()) else {
            return Ok(None);
        };
        let of_sample = shares.map_or(1.0 / rows.len() as f64, |shares| shares.iter().map(|s| s * s).sum());
        let rest = (1.0 - 1.0 / gathered.effective_size() / of_sample).max(0.0);
        let mut squares = [(0.0, 0.0); 2];
        for seed in 0..HALVES {
            let half = random_rows(rows.len(), None, rows.len() / 2, seed)?;
            let own = shares.map(|shares| half.iter().map(|&row| shares[row]).collect::<Vec<f64>>());
            if own.as_ref().is_some_and(|own| own.iter().sum::<f64>() <= 0.0) {
                continue;
            }
            let quality = self.reference()?.quality(rows.select(&half)?.as_slice(), own.as_deref())?;
            for ((sum, count), error) in
                squares.iter_mut().zip([quality.quantile_rms(), quality.correlation_rms])
            {
                *sum += error.map_or(0.0, |error| error * error);
                *count += f64::from(u8::from(error.is_some()));
            }
        }
        let [quantile, correlation] =
            squares.map(|(sum, count)| (count > 0.0).then(|| (sum / count * rest).sqrt()));
        Ok(Some(Errors::default().with(Measure::Quantile, quantile).with(Measure::Correlation, correlation)))
    }

    /// Returns the errors of rows with equal weights, without the MMD.
    pub fn errors_of_rows(&self, rows: &[usize]) -> Result<Errors> {
        let quality = self.quality(&self.select(rows)?, None)?;
        Ok(Errors::default()
            .with(Measure::Cdf, self.cdf_of_rows(rows, None)?)
            .with(Measure::FunctionsError, self.functions_error(rows, None)?)
            .with_quality(&quality))
    }

    fn points_of(&self, subset: &Subset<'_>) -> Result<Points> {
        match &subset.of {
            Of::Rows(rows) => self.select(rows),
            Of::Points(points) => Ok(points.clone()),
        }
    }

    pub(super) fn functions_error(&self, rows: &[usize], weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.functions_error_at(&self.places(rows)?, weights)
    }

    /// Error of the means of the functions of interest over the rows at these positions.
    pub(super) fn functions_error_at(
        &self,
        places: &[usize],
        weights: Option<&[f64]>,
    ) -> Result<Option<f64>> {
        let of_rows = |(functions, values, _): (&Functions, &Points, f64)| {
            functions.error(&values.select(places)?, weights)
        };
        self.problem().functions().map(of_rows).transpose()
    }

    pub(super) fn cdf_of_rows(&self, rows: &[usize], weights: Option<&[f64]>) -> Result<Option<f64>> {
        Ok(self.cdfs(&[(&self.select(rows)?, weights)])?[0])
    }

    /// Distances of the distribution functions of several sets of rows, given by position.
    pub(super) fn cdfs_at(&self, sets: &[Vec<usize>]) -> Result<Vec<Option<f64>>> {
        let problem = self.problem();
        if problem.is_gram() {
            return Ok(vec![None; sets.len()]);
        }
        // The rows to choose from are not among those that are matched.
        if problem.is_matching() {
            let chosen = sets.iter().map(|set| problem.rows().select(set)).collect::<Result<Vec<_>>>()?;
            return self.cdfs(&chosen.iter().map(|rows| (rows, None)).collect::<Vec<_>>());
        }
        let known = Marginals::distances_at(problem.rows(), problem.shares(), self.sampled(), sets)?;
        Ok(known.map_or(vec![None; sets.len()], |known| known.into_iter().map(Some).collect()))
    }

    fn cdfs(&self, subsets: &[(&Points, Option<&[f64]>)]) -> Result<Vec<Option<f64>>> {
        let problem = self.problem();
        if problem.is_gram() {
            // Rows without columns have no distribution functions.
            return Ok(vec![None; subsets.len()]);
        }
        let (rows, shares) = problem.target_rows();
        let known = Marginals::distances(rows, shares, self.sampled(), subsets)?;
        Ok(known.map_or(vec![None; subsets.len()], |known| known.into_iter().map(Some).collect()))
    }

    /// What the distance from a sample lacks: the distance of the sample from all rows.
    fn sampled(&self) -> f64 {
        let problem = self.problem();
        problem.gathered().map_or(0.0, |gathered| {
            let count = problem.rows().len() as f64;
            let of_sample = problem.shares().map_or(1.0 / count, |shares| shares.iter().map(|s| s * s).sum());
            (of_sample - 1.0 / gathered.effective_size()).max(0.0)
        })
    }
}
