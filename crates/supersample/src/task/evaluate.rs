//! Evaluation: how good a subset is, whoever made it.

use super::{Chosen, Comparison, Problem};
use crate::points::expect_rows;
use crate::quality::Quality;
use crate::weights::OptimalWeights;
use crate::{Error, Functions, Marginals, Points, Result, Watch, metrics};

/// All there is to say of a subset.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// The MMD, with weights where the subset has some.
    pub error: f64,
    /// The standard error of it, where ‖μ‖² is an estimate.
    pub standard_error: Option<f64>,
    /// How many independent draws have this expected squared error; a bound where the error is rounding.
    pub worth: Option<f64>,
    /// The root mean square over the columns of the distance between the distribution functions of the subset and of all
    /// rows; about 0.408/√T for T independent draws. `None` where all columns are constant.
    pub cdf: Option<f64>,
    /// The root mean square error of the means of the functions of interest, in their units; `None` where there
    /// are none, or where the functions of the subset are not known.
    pub functions: Option<f64>,
    /// The errors column by column.
    pub quality: Quality,
    /// The errors of other subsets of this size; `None` where there are too few rows for one.
    pub comparison: Option<Comparison>,
}

impl Problem {
    /// All about a subset whose rows are in the units of the data, with weights where it has some: of either sign, used
    /// as they are for the MMD and divided by their sum for the errors of columns.
    ///
    /// ```
    /// use supersample::{Points, unwatched};
    /// use supersample::task::{Problem, ProblemOptions};
    /// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin()).collect();
    /// let problem = Problem::new(Points::from_rows(&rows, 2)?, ProblemOptions::default())?;
    /// let found = problem.evaluate(&Points::from_rows(&rows[..40], 2)?, None, &unwatched)?;
    /// assert_eq!(found, problem.evaluate_rows(&(0..20).collect::<Vec<_>>(), None, &unwatched)?);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn evaluate(&self, subset: &Points, weights: Option<&[f64]>, watch: Watch) -> Result<Evaluation> {
        let error = self.mmd(subset, weights, watch)?;
        self.with_error(error, subset, weights, watch)
    }

    /// [`evaluate`](Self::evaluate) of a subset with the scores of its rows, in the units of the data, where a density is
    /// matched: the error is then its KSD.
    pub fn evaluate_with_scores(
        &self,
        subset: &Points,
        scores: &Points,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<Evaluation> {
        let error = self.error_at(&self.with_scores(subset, scores)?, weights, watch)?;
        self.with_error(error, subset, weights, watch)
    }

    /// [`evaluate`](Self::evaluate) of a subset whose functions of interest are known: a row for each of its rows.
    pub fn evaluate_with_functions(
        &self,
        subset: &Points,
        functions: &Points,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<Evaluation> {
        expect_rows("the functions of the subset", functions.len(), subset.len())?;
        let (of_all, ..) = self.functions().ok_or(Error::NoFunctions)?;
        let functions = Some(of_all.error(functions, weights)?);
        Ok(Evaluation { functions, ..self.evaluate(subset, weights, watch)? })
    }

    /// All about a subset that is given by row numbers, with weights where it has some. The errors of functions of
    /// interest are known for these, and for others by
    /// [`evaluate_with_functions`](Self::evaluate_with_functions).
    pub fn evaluate_rows(&self, rows: &[usize], weights: Option<&[f64]>, watch: Watch) -> Result<Evaluation> {
        let functions = self.functions_error(rows, weights)?;
        let error = self.error_at(&self.points().select(rows)?, weights, watch)?;
        let subset = self.rows().select(rows)?;
        Ok(Evaluation { functions, ..self.with_error(error, &subset, weights, watch)? })
    }

    /// [`evaluate`](Self::evaluate) of a subset at which μ is known, as [`PassSums`](super::PassSums) give it for rows that
    /// are not in memory.
    pub fn evaluate_measured(
        &self,
        subset: &Points,
        weights: Option<&[f64]>,
        means: &[f64],
        watch: Watch,
    ) -> Result<Evaluation> {
        let error = metrics::mmd_measured(&*self.embedding(), &self.scaled(subset)?, weights, means)?;
        self.with_error(error, subset, weights, watch)
    }

    /// All about the rows of a run, whose MMD is known already, with the weights that were found for them if any.
    pub fn summarise(
        &self,
        chosen: &Chosen,
        weights: Option<&OptimalWeights>,
        watch: Watch,
    ) -> Result<Evaluation> {
        let comparison = self.compare(chosen.rows.len(), watch)?;
        Ok(Evaluation { comparison, ..self.summarise_alone(chosen, weights)? })
    }

    /// All about the rows of a run but the comparison with other subsets, which takes the time.
    pub fn summarise_alone(&self, chosen: &Chosen, weights: Option<&OptimalWeights>) -> Result<Evaluation> {
        let error = weights.map_or(chosen.error(), |weights| weights.error).ok_or(Error::UnknownNorm)?;
        let given = weights;
        let weights = weights.map(|weights| weights.weights.as_slice());
        // Of equal weights it is known already.
        let (cdf, functions) = match given {
            None => (chosen.cdf, chosen.functions),
            Some(_) => {
                (self.cdf_of_rows(&chosen.rows, weights)?, self.functions_error(&chosen.rows, weights)?)
            }
        };
        let scale = self.error_scale()?;
        Ok(Evaluation {
            error,
            standard_error: scale.standard_error(error),
            worth: scale.worth(error),
            cdf,
            functions,
            quality: self.quality(&self.rows().select(&chosen.rows)?, weights)?,
            comparison: None,
        })
    }

    /// The MMD of a subset whose rows are in the units of the data, with weights of any sign taken as they are, or equal
    /// ones. Compares all rows first, where that is still to be done; then T·n and T² kernel values.
    pub fn mmd(&self, subset: &Points, weights: Option<&[f64]>, watch: Watch) -> Result<f64> {
        self.error_at(&self.scaled(subset)?, weights, watch)
    }

    /// The KSD of a subset with the scores of its rows, both in the units of the data, where a density is matched.
    pub fn ksd(
        &self,
        subset: &Points,
        scores: &Points,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<f64> {
        self.error_at(&self.with_scores(subset, scores)?, weights, watch)
    }

    /// The error of points beside the scaled ones.
    fn error_at(&self, points: &Points, weights: Option<&[f64]>, watch: Watch) -> Result<f64> {
        self.prepare_for(Some(points.len()), watch)?;
        metrics::mmd_of_points(&*self.embedding(), points, weights, watch)
    }

    /// The errors of a subset column by column, with weights of any sign or equal ones.
    pub fn quality(&self, subset: &Points, weights: Option<&[f64]>) -> Result<Quality> {
        subset.expect_dim("the subset", "the data", self.rows().dim())?;
        self.reference()?.quality(subset.as_slice(), weights)
    }

    /// The distance of the distribution functions of a subset in the units of the data, with weights of any sign divided by
    /// their sum, or equal ones; see [`Evaluation::cdf`].
    pub fn cdf(&self, subset: &Points, weights: Option<&[f64]>) -> Result<Option<f64>> {
        Ok(self.cdfs(&[(subset, weights)])?[0])
    }

    /// The error of the means of the functions of interest over these rows; see [`Evaluation::functions`].
    pub fn functions_error(&self, rows: &[usize], weights: Option<&[f64]>) -> Result<Option<f64>> {
        let of_rows = |(functions, values, _): (&Functions, &Points, f64)| {
            functions.error(&values.select(rows)?, weights)
        };
        self.functions().map(of_rows).transpose()
    }

    pub(super) fn cdf_of_rows(&self, rows: &[usize], weights: Option<&[f64]>) -> Result<Option<f64>> {
        self.cdf(&self.rows().select(rows)?, weights)
    }

    /// The distances of several sets of rows.
    pub(super) fn cdfs_of_rows(&self, sets: &[Vec<usize>]) -> Result<Vec<Option<f64>>> {
        let subsets = sets.iter().map(|rows| self.rows().select(rows)).collect::<Result<Vec<_>>>()?;
        self.cdfs(&subsets.iter().map(|subset| (subset, None)).collect::<Vec<_>>())
    }

    fn cdfs(&self, subsets: &[(&Points, Option<&[f64]>)]) -> Result<Vec<Option<f64>>> {
        // Distances from a sample would leave out how far the sample is from all rows.
        let sampled = self.gathered().map_or(0.0, |gathered| {
            let count = self.rows().len() as f64;
            let of_sample = self.shares().map_or(1.0 / count, |shares| shares.iter().map(|s| s * s).sum());
            (of_sample - 1.0 / gathered.effective_size).max(0.0)
        });
        let known = Marginals::distances(self.rows(), self.shares(), sampled, subsets)?;
        Ok(known.map_or(vec![None; subsets.len()], |known| known.into_iter().map(Some).collect()))
    }

    fn with_error(
        &self,
        error: f64,
        subset: &Points,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<Evaluation> {
        let scale = self.error_scale()?;
        Ok(Evaluation {
            error,
            standard_error: scale.standard_error(error),
            worth: scale.worth(error),
            cdf: self.cdfs(&[(subset, weights)])?[0],
            functions: None,
            quality: self.quality(subset, weights)?,
            comparison: self.compare(subset.len(), watch)?,
        })
    }
}
