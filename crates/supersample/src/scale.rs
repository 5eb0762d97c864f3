//! Scaling of columns before distances are taken: none, unit spread, or the paper's whitening.

mod correlation;
mod directions;
mod moments;
mod running;

use rayon::prelude::*;

pub(crate) use self::correlation::correlations;
pub use self::moments::Moments;
pub(crate) use self::running::RunningMoments;
use crate::bytes::{Reader, Writer};
use crate::columns::for_columns;
use crate::points::{self, Points};
use crate::quantile::median;
use crate::watch::{Watch, unwatched};
use crate::{Error, Result};

/// Rows that a thread scales at once.
const ROWS_AT_ONCE: usize = 256;
/// Largest number of columns for `pca`; eigenvectors of more take minutes.
const MOST_FOR_PCA: usize = 2000;

/// The median absolute deviation of a normal distribution times this is its standard deviation.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// Scaling of columns.
///
/// ```
/// use supersample::scale::Scale;
/// assert_eq!("mad".parse(), Ok(Scale::Mad));
/// assert!("iqr".parse::<Scale>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scale {
    /// No scaling: for columns in the same units.
    None,
    /// Unit standard deviation.
    #[default]
    Sd,
    /// Median 0, and median absolute deviation times 1.4826 equal to 1: like [`Sd`](Self::Sd) for normal columns, but
    /// robust to outliers. A column with more than half of its weight at one value is scaled by [`Sd`](Self::Sd).
    Mad,
    /// Mean 0 and mean absolute deviation 1, the usual scale in Stein thinning.
    Aad,
    /// Whitening: centred, rotated and scaled to uncorrelated columns of unit variance, as in section 4.2 of the paper;
    /// directions without spread are dropped.
    Pca,
}

supersample_sum::words!(Scale, "a scale": None "none", Sd "sd", Mad "mad", Aad "aad", Pca "pca");

impl Scale {
    /// Effect on columns, as the end of a sentence that starts with *columns*.
    pub const fn effect(self) -> &'static str {
        match self {
            Scale::None => "not scaled",
            Scale::Sd => "scaled to unit sd",
            Scale::Mad => "divided by 1.4826 × the median absolute deviation",
            Scale::Aad => "scaled to unit mean deviation",
            Scale::Pca => "whitened",
        }
    }

    /// Whether it needs only means and standard deviations, so that rows can come in batches.
    pub const fn needs_moments_alone(self) -> bool {
        matches!(self, Scale::None | Scale::Sd)
    }
}

/// Map from given rows to scaled points: x ↦ A·((x − centre)/unit).
///
/// ```
/// use supersample::scale::{Scale, Scaling};
/// let metres_and_grams = [1.0, 100.0, 3.0, 500.0];
/// let scaling = Scaling::fit(Scale::Sd, &metres_and_grams, 2, None)?;
/// assert_eq!(scaling.apply(&metres_and_grams), [-1.0, -1.0, 1.0, 1.0]);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scaling {
    centre: Vec<f64>,
    /// Divisor of each column; 1 for constant columns.
    unit: Vec<f64>,
    /// Rows of a matrix, for `pca`.
    directions: Option<Vec<Vec<f64>>>,
    constant: Vec<usize>,
    without_mad: Vec<usize>,
    dropped: usize,
    dim: usize,
}

impl Scaling {
    /// Computes the scaling of rows of `dim` numbers, with given or equal weights.
    ///
    /// Variances divide by n, not n − 1: the rows are the whole of the distribution to be matched, not a sample from it.
    pub fn fit(scale: Scale, values: &[f64], dim: usize, weights: Option<&[f64]>) -> Result<Scaling> {
        Scaling::fit_watched(scale, values, dim, weights, &unwatched)
    }

    /// [`fit`](Self::fit), watched: eigenvectors of a thousand columns take a while.
    pub fn fit_watched(
        scale: Scale,
        values: &[f64],
        dim: usize,
        weights: Option<&[f64]>,
        watch: Watch,
    ) -> Result<Scaling> {
        Points::check(values, dim)?;
        let shares =
            weights.map(|weights| points::normalised(weights, "rows", values.len() / dim)).transpose()?;
        let shares = shares.as_deref();
        let mut scaling = Scaling {
            centre: vec![0.0; dim],
            unit: vec![1.0; dim],
            directions: None,
            constant: Vec::new(),
            without_mad: Vec::new(),
            dropped: 0,
            dim,
        };
        if scale == Scale::None {
            return Ok(scaling);
        }
        if scale == Scale::Pca && dim > MOST_FOR_PCA {
            return Err(Error::TooManyColumns { dim, most: MOST_FOR_PCA });
        }
        let moments = Moments::of_columns(values, dim, shares);
        let of_column = |j: usize, column: &mut [f64]| {
            let moments = moments[j]?;
            if scale == Scale::Aad {
                return Some((
                    Moments { sd: mean_deviation(column, moments.mean, shares), ..moments },
                    false,
                ));
            }
            let robust = robust_moments(column, shares);
            Some((robust.unwrap_or(moments), robust.is_none()))
        };
        let columns = match scale {
            Scale::Mad | Scale::Aad => for_columns(values, dim, |x| x, of_column),
            _ => moments.into_iter().map(|moments| Some((moments?, false))).collect(),
        };
        for (j, column) in columns.into_iter().enumerate() {
            match column {
                Some((Moments { mean, sd }, is_without_mad)) => {
                    (scaling.centre[j], scaling.unit[j]) = (mean, sd);
                    if is_without_mad {
                        scaling.without_mad.push(j);
                    }
                }
                None => {
                    scaling.centre[j] = values[j];
                    scaling.constant.push(j);
                }
            }
        }
        if scale == Scale::Pca {
            scaling.whiten(values, shares, watch)?;
        }
        Ok(scaling)
    }

    /// Scaling to unit standard deviation of columns with these moments, `None` for a constant one, whose first value
    /// is known.
    pub(crate) fn of_moments(moments: &[Option<Moments>], firsts: &[f64]) -> Scaling {
        let constant = (0..moments.len()).filter(|&j| moments[j].is_none()).collect();
        let centre = moments.iter().zip(firsts).map(|(column, first)| column.map_or(*first, |m| m.mean));
        Scaling {
            centre: centre.collect(),
            unit: moments.iter().map(|column| column.map_or(1.0, |m| m.sd)).collect(),
            directions: None,
            constant,
            without_mad: Vec::new(),
            dropped: 0,
            dim: moments.len(),
        }
    }

    /// Writes the data that [`apply`](Self::apply) needs.
    pub(crate) fn write(&self, writer: &mut Writer) {
        writer.numbers(&self.centre);
        writer.numbers(&self.unit);
        let directions = self.directions.as_deref();
        writer.word(directions.map_or(u64::MAX, |directions| directions.len() as u64));
        directions.unwrap_or_default().iter().for_each(|direction| writer.numbers(direction));
    }

    /// Reads the output of [`write`](Self::write); `None` for other bytes.
    pub(crate) fn read(reader: &mut Reader, dim: usize) -> Option<Scaling> {
        let (centre, unit) = (reader.numbers(dim)?, reader.numbers(dim)?);
        let directions = match reader.word()? {
            u64::MAX => None,
            count => Some((0..count).map(|_| reader.numbers(dim)).collect::<Option<Vec<_>>>()?),
        };
        let (constant, without_mad, dropped) = (Vec::new(), Vec::new(), 0);
        Some(Scaling { centre, unit, directions, constant, without_mad, dropped, dim })
    }

    /// The moments of the columns, of a scaling to unit standard deviation.
    pub(crate) fn moments(&self) -> Vec<Option<Moments>> {
        let columns = self.centre.iter().zip(&self.unit);
        let mut moments: Vec<_> = columns.map(|(&mean, &sd)| Some(Moments { mean, sd })).collect();
        self.constant.iter().for_each(|&j| moments[j] = None);
        moments
    }

    /// Number of coordinates of a scaled point.
    pub fn out_dim(&self) -> usize {
        self.directions.as_ref().map_or(self.dim, Vec::len)
    }

    /// What is subtracted from each column before it is divided.
    pub(crate) fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// Divisor of each column; `None` if columns are mixed (`pca`).
    pub fn units(&self) -> Option<&[f64]> {
        self.directions.is_none().then_some(&self.unit)
    }

    /// Constant columns, which scaling sets to 0.
    pub fn constant(&self) -> &[usize] {
        &self.constant
    }

    /// The columns that [`Scale::Mad`] scaled to unit standard deviation, because more than half of their weight has one
    /// value; constant columns not counted.
    pub fn without_mad(&self) -> &[usize] {
        &self.without_mad
    }

    /// Number of directions that [`Scale::Pca`] dropped because they have no spread, without constant columns.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Scales rows with the same columns.
    pub fn apply(&self, values: &[f64]) -> Vec<f64> {
        let out_dim = self.out_dim();
        let mut scaled = vec![0.0; values.len() / self.dim * out_dim];
        // Column j of the directions in row j, so that sums over columns run along memory.
        let turned: Option<Vec<f64>> = self.directions.as_ref().map(|directions| {
            (0..self.dim).flat_map(|j| directions.iter().map(move |direction| direction[j])).collect()
        });
        let chunks =
            scaled.par_chunks_mut(ROWS_AT_ONCE * out_dim).zip(values.par_chunks(ROWS_AT_ONCE * self.dim));
        chunks.for_each(|(scaled, values)| {
            for (scaled, row) in scaled.chunks_exact_mut(out_dim).zip(values.chunks_exact(self.dim)) {
                // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
                let numbers = row.iter().zip(self.centre.iter().zip(&self.unit));
                let numbers = numbers.map(|(x, (centre, unit))| (x * 0.5 - centre * 0.5) / unit * 2.0);
                match &turned {
                    None => scaled.iter_mut().zip(numbers).for_each(|(scaled, x)| *scaled = x),
                    Some(turned) => {
                        for (line, x) in turned.chunks_exact(out_dim).zip(numbers) {
                            scaled.iter_mut().zip(line).for_each(|(scaled, a)| *scaled += a * x);
                        }
                    }
                }
            }
        });
        scaled
    }

    /// Scales scores of rows with the same columns: if x ↦ Ax, then s ↦ A⁻ᵀs. Dropped directions lose their part of the
    /// score.
    ///
    /// ```
    /// use supersample::scale::{Scale, Scaling};
    /// let rows = [1.0, 100.0, 3.0, 500.0];
    /// let scaling = Scaling::fit(Scale::Sd, &rows, 2, None)?;
    /// assert_eq!(scaling.apply_to_scores(&[0.5, 0.01, -0.5, 0.0]), [0.5, 2.0, -0.5, 0.0]); // times 1 and 200
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn apply_to_scores(&self, scores: &[f64]) -> Vec<f64> {
        let mut scaled = Vec::with_capacity(scores.len() / self.dim * self.out_dim());
        let mut row_scaled = vec![0.0; self.dim];
        for row in scores.chunks_exact(self.dim) {
            for ((scaled, s), unit) in row_scaled.iter_mut().zip(row).zip(&self.unit) {
                *scaled = s * unit;
            }
            match &self.directions {
                None => scaled.extend_from_slice(&row_scaled),
                // An axis is a unit vector divided by a standard deviation; here it must be multiplied by it.
                Some(directions) => scaled.extend(directions.iter().map(|axis| {
                    let square: f64 = axis.iter().map(|a| a * a).sum();
                    let along: f64 = axis.iter().zip(&row_scaled).map(|(a, s)| a * s).sum();
                    if square > 0.0 { along / square } else { 0.0 }
                })),
            }
        }
        scaled
    }

    /// The directions of the correlation matrix, each divided by its standard deviation. Columns of unit variance
    /// first, because then no unit of measurement decides which directions count as degenerate.
    fn whiten(&mut self, values: &[f64], shares: Option<&[f64]>, watch: Watch) -> Result<()> {
        let dim = self.dim;
        let moments = self.moments();
        let axes = match values.len() / dim < dim {
            true => directions::of_rows(values, &moments, shares, watch),
            false => directions::of_columns(values, &moments, shares, watch),
        };
        let axes = axes.ok_or(Error::Interrupted)?;
        self.dropped = dim - self.constant.len() - axes.len().min(dim - self.constant.len());
        self.directions = match axes.is_empty() {
            // Every column is constant, so all points are equal: one coordinate is enough.
            true => Some(vec![vec![0.0; dim]]),
            false => Some(axes),
        };
        Ok(())
    }
}

/// The mean absolute deviation of a column, which is not constant, from its mean.
fn mean_deviation(column: &[f64], mean: f64, shares: Option<&[f64]>) -> f64 {
    let share = |i: usize| shares.map_or(1.0 / column.len() as f64, |shares| shares[i]);
    // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
    let deviations = column.iter().enumerate().map(|(i, x)| (x * 0.5 - mean * 0.5).abs() * share(i));
    deviations.sum::<f64>() * 2.0
}

/// Median and median absolute deviation instead of mean and sd; `None` if the deviation is 0.
fn robust_moments(column: &[f64], shares: Option<&[f64]>) -> Option<Moments> {
    let column = || column.iter().copied();
    let centre = median(column(), shares)?;
    // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
    let half = median(column().map(|x| (x * 0.5 - centre * 0.5).abs()), shares)?;
    let sd = half * (2.0 * NORMAL_MAD);
    (sd > 0.0 && sd.is_finite()).then_some(Moments { mean: centre, sd })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sd_scaled(values: &[f64], dim: usize) -> Vec<f64> {
        Scaling::fit(Scale::Sd, values, dim, None).unwrap().apply(values)
    }

    #[test]
    fn the_mean_absolute_deviation_is_worked_by_hand() {
        let values = [0.0, 1.0, 5.0]; // mean 2, deviations 2, 1, 3
        let scaling = Scaling::fit(Scale::Aad, &values, 1, None).unwrap();
        assert_eq!(scaling.apply(&values), [-1.0, -0.5, 1.5]);
        let weighted = Scaling::fit(Scale::Aad, &values, 1, Some(&[1.0, 2.0, 1.0])).unwrap();
        let scaled = weighted.apply(&values); // mean 7/4, deviations 7/4, 3/4, 13/4 weigh 1, 2, 1: 13/8
        assert!((scaled[0] + 14.0 / 13.0).abs() < 1e-15 && (scaled[2] - 2.0).abs() < 1e-15, "{scaled:?}");
    }

    /// s·dx is what a step dx changes log p by, in any coordinates.
    #[test]
    fn scores_follow_every_scale() {
        // Of full rank, so that no direction is left out.
        let values: Vec<f64> = (0..90).map(|i| (f64::from(i * i % 37) * 0.7).sin()).collect();
        let step = [0.3, -0.2, 0.5];
        let score = [1.5, 0.7, -2.0];
        let want: f64 = step.iter().zip(&score).map(|(a, b)| a * b).sum();
        for scale in Scale::ALL {
            let scaling = Scaling::fit(scale, &values, 3, None).unwrap();
            let moved: Vec<f64> = values[..3].iter().zip(&step).map(|(x, d)| x + d).collect();
            let (from, to) = (scaling.apply(&values[..3]), scaling.apply(&moved));
            let scores = scaling.apply_to_scores(&score);
            let got: f64 = from.iter().zip(&to).zip(&scores).map(|((a, b), s)| (b - a) * s).sum();
            assert!((got - want).abs() < 1e-12, "{scale:?}: {got} {want}");
        }
    }

    #[test]
    fn whitening_can_be_ended_from_either_side_and_other_scales_do_not_ask() {
        use std::ops::ControlFlow;
        let values: Vec<f64> = (0..60).map(|i| (f64::from(i * i % 37) * 0.7).sin()).collect();
        for (scale, is_watched) in [(Scale::Pca, true), (Scale::Sd, false)] {
            for dim in [3, 12] {
                let ended =
                    Scaling::fit_watched(scale, &values, dim, None, &|_| ControlFlow::Break(())).map(|_| ());
                assert_eq!(ended, if is_watched { Err(Error::Interrupted) } else { Ok(()) }, "{dim}");
            }
        }
    }

    #[test]
    fn mean_and_sd_are_0_and_1_at_any_magnitude() {
        assert_eq!(sd_scaled(&[1.0, 3.0], 1), [-1.0, 1.0]);
        assert_eq!(sd_scaled(&[-1.7e308, 1.7e308], 1), [-1.0, 1.0]);
        assert_eq!(sd_scaled(&[1e15, 1e15 + 1.0], 1), [-1.0, 1.0]);
        let values = sd_scaled(&[0.3, 0.1, 0.7, 12.0, -4.5], 1);
        assert!(values.iter().sum::<f64>().abs() < 1e-14);
        assert!((values.iter().map(|value| value * value).sum::<f64>() / 5.0 - 1.0).abs() < 1e-14);
        let tiny = sd_scaled(&[0.0, 1e-300], 1);
        assert!((tiny[0] + 1.0).abs() < 1e-12 && (tiny[1] - 1.0).abs() < 1e-12, "{tiny:?}");
    }

    #[test]
    fn a_few_wild_values_do_not_move_a_robust_scale() {
        // Median 3, deviations 2, 1, 0, 1, 1e12 − 3, of which the median is 1.
        let values = [1.0, 2.0, 3.0, 4.0, 1e12];
        let scaling = Scaling::fit(Scale::Mad, &values, 1, None).unwrap();
        assert_eq!(scaling.without_mad(), []);
        let scaled = scaling.apply(&values);
        for (got, want) in scaled.iter().zip([-2.0, -1.0, 0.0, 1.0]) {
            assert!((got - want / NORMAL_MAD).abs() < 1e-15, "{scaled:?}");
        }
        // Of normal draws it is the mean and the sd.
        let normal =
            crate::target::IndependentNormals::new(&[5.0], &[3.0]).unwrap().sample(20_000, 1).unwrap();
        let scaled = Scaling::fit(Scale::Mad, normal.as_slice(), 1, None).unwrap().apply(normal.as_slice());
        let Moments { mean, sd } = Moments::of(&scaled, 1, 0, None).unwrap();
        assert!(mean.abs() < 0.03 && (sd - 1.0).abs() < 0.03, "{mean} {sd}");
        let huge = Scaling::fit(Scale::Mad, &[-1.7e308, 0.0, 1.7e308], 1, None).unwrap();
        assert!(huge.apply(&[-1.7e308, 1.7e308]).iter().all(|value| value.is_finite()));
    }

    #[test]
    fn a_column_without_a_deviation_falls_back_to_its_sd() {
        // One column is 0 but for one row, one is constant, one is as good as any.
        let values = [0.0, 7.0, 1.0, 0.0, 7.0, 2.0, 0.0, 7.0, 4.0, 6.0, 7.0, 9.0];
        let robust = Scaling::fit(Scale::Mad, &values, 3, None).unwrap();
        let plain = Scaling::fit(Scale::Sd, &values, 3, None).unwrap();
        assert_eq!((robust.without_mad(), robust.constant()), (&[0][..], &[1][..]));
        let column = |scaled: Vec<f64>, j: usize| scaled.into_iter().skip(j).step_by(3).collect::<Vec<_>>();
        for j in [0, 1] {
            assert_eq!(column(robust.apply(&values), j), column(plain.apply(&values), j));
        }
        assert_ne!(column(robust.apply(&values), 2), column(plain.apply(&values), 2));
    }

    #[test]
    fn a_robust_scale_takes_a_weight_of_two_as_two_rows() {
        let weighted =
            Scaling::fit(Scale::Mad, &[1.0, 5.0, 9.0, 1e9], 1, Some(&[2.0, 1.0, 1.0, 0.0])).unwrap();
        let repeated = Scaling::fit(Scale::Mad, &[1.0, 1.0, 5.0, 9.0], 1, None).unwrap();
        let (a, b) = (weighted.apply(&[0.0, 1.0, 9.0]), repeated.apply(&[0.0, 1.0, 9.0]));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-12), "{a:?} {b:?}");
    }

    #[test]
    fn constant_columns_are_found_and_set_to_zero() {
        assert_eq!(Moments::of(&[0.1; 7], 1, 0, None), None);
        assert_eq!(Moments::of(&[0.0, -0.0], 1, 0, None), None);
        let values = [0.1, 2.0, 0.1, 4.0];
        let scaling = Scaling::fit(Scale::Sd, &values, 2, None).unwrap();
        assert_eq!((scaling.apply(&values), scaling.constant()), (vec![0.0, -1.0, 0.0, 1.0], &[0][..]));
    }

    #[test]
    fn a_weight_of_two_is_two_rows() {
        let weighted = Moments::of(&[1.0, 5.0, 9.0], 1, 0, Some(&[0.5, 0.25, 0.25])).unwrap();
        let repeated = Moments::of(&[1.0, 1.0, 5.0, 9.0], 1, 0, None).unwrap();
        assert!((weighted.mean - repeated.mean).abs() < 1e-14 && (weighted.sd - repeated.sd).abs() < 1e-14);
        assert_eq!(Moments::of(&[1.0, 5.0], 1, 0, Some(&[1.0, 0.0])), None);
    }

    #[test]
    fn whitened_columns_are_uncorrelated_and_degenerate_directions_go() {
        // Three columns of which the third is the sum of the others, and a constant one.
        let mut values = Vec::new();
        for i in 0..200 {
            let (x, y) = ((i as f64 * 0.7).sin(), (i as f64 * 1.3).cos() + 0.5 * (i as f64 * 0.7).sin());
            values.extend([x, 1000.0 * y, x + 1000.0 * y, 3.0]);
        }
        let scaling = Scaling::fit(Scale::Pca, &values, 4, None).unwrap();
        assert_eq!((scaling.out_dim(), scaling.dropped, &scaling.constant), (2, 1, &vec![3]));
        let points = scaling.apply(&values);
        for (a, b, expected) in [(0, 0, 1.0), (1, 1, 1.0), (0, 1, 0.0)] {
            let moment: f64 = points.chunks_exact(2).map(|row| row[a] * row[b]).sum::<f64>() / 200.0;
            assert!((moment - expected).abs() < 1e-10, "{a} {b} {moment}");
        }
        let flat = Scaling::fit(Scale::Pca, &[2.0, 2.0], 1, None).unwrap();
        assert_eq!(flat.apply(&[2.0, 2.0]), [0.0, 0.0]);
    }
}
