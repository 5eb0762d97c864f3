//! Moments: the mean and the variance of every column, the sum of the variances, and the covariances of few columns.
//!
//! With z the numbers of a column in standard deviations from their mean, the functions are z and z² − 1 of every column, the
//! sum of z² − 1 over all columns, and the products of pairs of columns, where these are not more than the others. Chosen rows are
//! too narrow in nearly every column at once, which a column alone hardly shows and the sum does: so it is a function of its own.
//!
//! **Units.** z and the products are divided by their standard deviations. Of a heavy tail that of z² is huge, and an error of its
//! variance would count next to nothing; in the unit of a normal column it would count for more than all others. The unit is the geometric
//! mean of the two.

use std::sync::Arc;

use rayon::prelude::*;
use supersample_sum::{Coordinates, Quadratic};

use super::views::Views;
use crate::points::{normalised, unit_weights};
use crate::scale::{Moments, Scaling};
use crate::{Points, Result};

/// Rows without weight may be any distance away. No row of a share above 1e-12 is farther than this, in standard deviations, and
/// f32 holds its fourth power.
const FAR: f64 = 1e6;

/// Products are matched for up to this number of columns, where they are not more than the other functions.
const MOST_MULTIPLIED: usize = 5;

/// Rows that one thread sums up at a time; it fixes the order of the sums.
const ROWS: usize = 4096;

/// Means and variances of the columns of weighted rows. Constant columns are left out. Clones share the numbers.
///
/// The distance of a subset is the root of D², the mean of three squared errors: of the means and of the variances, each the mean
/// over the columns, and of the sum of the variances; for up to five columns of a fourth, that of the covariances. Errors are in units such
/// that one independent draw has an expected D² of 1 if the columns are normal, and of more if they have heavy tails.
///
/// ```
/// use supersample::{ColumnMoments, Points};
/// let rows = Points::from_rows(&[-3.0, -1.0, 0.0, 1.0, 3.0], 1)?;
/// let moments = ColumnMoments::new(&rows, None)?.expect("the column varies");
/// let error = |rows: &[f64]| moments.distance(&Points::from_rows(rows, 1)?, None);
/// assert!(error(&[-2.0, 2.0])? < 1e-12); // the same mean and variance
/// assert!(error(&[-1.0, 1.0])? > 0.1);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ColumnMoments(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    /// Constant columns included.
    dim: usize,
    columns: Vec<Column>,
    /// Number of columns whose z² − 1 varies.
    squares: usize,
    /// Unit of the sum of z² − 1 over the columns; 0 where that is constant, or where there is one column.
    total_unit: f64,
    products: Vec<Product>,
}

/// The product of two columns.
#[derive(Clone, Debug)]
struct Product {
    /// Their places among the columns.
    of: [usize; 2],
    mean: f64,
    unit: f64,
}

#[derive(Debug)]
struct Column {
    index: usize,
    moments: Moments,
    /// Unit of z² − 1; 0 if it is constant, as for two values that are as frequent.
    square_unit: f64,
}

impl ColumnMoments {
    /// Computes the moments of rows with given or equal weights. `None` if every column is constant.
    pub fn new(rows: &Points, weights: Option<&[f64]>) -> Result<Option<ColumnMoments>> {
        ColumnMoments::of_rows(&Moments::of_rows(rows, weights)?, rows, weights)
    }

    /// [`new`](Self::new), with the means and variances of these rows.
    pub(crate) fn of_rows(
        moments: &[Option<Moments>],
        rows: &Points,
        weights: Option<&[f64]>,
    ) -> Result<Option<ColumnMoments>> {
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        Ok(ColumnMoments::of_sample(moments, rows, shares.as_deref()))
    }

    /// Means and variances of all rows; units and covariances are those of a sample of them with these shares.
    pub(crate) fn of_sample(
        moments: &[Option<Moments>],
        sample: &Points,
        shares: Option<&[f64]>,
    ) -> Option<ColumnMoments> {
        let column = |(index, moments): (usize, &Option<Moments>)| {
            Some(Column { index, moments: (*moments)?, square_unit: 0.0 })
        };
        let mut columns: Vec<Column> = moments.iter().enumerate().filter_map(column).collect();
        if columns.is_empty() {
            return None;
        }
        let means = Means::of(&columns, sample, shares);
        // The rounding of a constant is not a spread.
        let unit = |squared: f64| if squared > 1e-12 { squared.sqrt() } else { 0.0 };
        // With the unit of as many normal columns.
        let between = |squared: f64, columns: usize| (unit(squared) * (2.0 * columns as f64).sqrt()).sqrt();
        for (column, mean) in columns.iter_mut().zip(&means.squares) {
            column.square_unit = between(*mean, 1);
        }
        let total_unit = if columns.len() > 1 { between(means.total, columns.len()) } else { 0.0 };
        let product = |(of, [mean, square]): (_, &[f64; 2])| Product {
            of,
            mean: *mean,
            unit: unit(square - mean * mean),
        };
        let products = pairs(columns.len()).zip(&means.products).map(product);
        let products = products.filter(|product| product.unit > 0.0).collect();
        let squares = columns.iter().filter(|column| column.square_unit > 0.0).count();
        Some(ColumnMoments(Arc::new(Contents { dim: sample.dim(), columns, squares, total_unit, products })))
    }

    /// Returns the distance of a subset from the rows; weights of any sign are divided by their sum.
    pub fn distance(&self, subset: &Points, weights: Option<&[f64]>) -> Result<f64> {
        let view = self.view(subset)?;
        let shares = unit_weights(weights, "rows of the subset", subset.len())?;
        let equal = 1.0 / subset.len() as f64;
        let mut errors = vec![0.0; view.dim()];
        for (row, view) in view.rows().enumerate() {
            let share = shares.as_ref().map_or(equal, |shares| shares[row]);
            errors.iter_mut().zip(view).for_each(|(error, f)| *error += share * f);
        }
        Ok(errors.iter().map(|error| error * error).sum::<f64>().sqrt())
    }

    /// The functions of each row in their units, times the root of the weight of each in D².
    fn view(&self, points: &Points) -> Result<Points> {
        Views::Moments(self.of_columns(points)?, points.clone()).points()
    }

    /// Moments for rows whose columns have been scaled, so that nothing of rows in other units is needed; `None` where the
    /// scaling mixes columns.
    pub(crate) fn scaled_by(&self, scaling: &Scaling) -> Option<ColumnMoments> {
        let units = scaling.units()?;
        let Contents { dim, columns, squares, total_unit, products } = &*self.0;
        let scaled = |column: &Column| {
            let (Moments { mean, sd }, unit) = (column.moments, units[column.index]);
            let mean = (mean * 0.5 - scaling.centre()[column.index] * 0.5) / unit * 2.0;
            Column { moments: Moments { mean, sd: sd / unit }, ..*column }
        };
        Some(ColumnMoments(Arc::new(Contents {
            dim: *dim,
            columns: columns.iter().map(scaled).collect(),
            squares: *squares,
            total_unit: *total_unit,
            products: products.clone(),
        })))
    }

    /// The kernel between a row and any other, times `factor`, as a function of the other's packed coordinates.
    ///
    /// # Panics
    /// If it is not [quadratic](Self::is_quadratic).
    pub(super) fn quadratic(&self, row: &[f64], factor: f64, coordinates: &Coordinates) -> Quadratic {
        assert!(self.is_quadratic(), "products of columns are no function of one column each");
        let Contents { dim, columns, total_unit, .. } = &*self.0;
        let [of_mean, of_square, of_total, _] = self.roots();
        let z: Vec<f64> = columns.iter().map(|column| column.standardised(row)).collect();
        let of_total = if *total_unit > 0.0 { (of_total / total_unit).powi(2) } else { 0.0 };
        let of_total = of_total * z.iter().map(|z| z * z - 1.0).sum::<f64>();
        let mut of = Quadratic { constant: 0.0, linear: vec![0.0; *dim], square: vec![0.0; *dim] };
        for (column, own) in columns.iter().zip(&z) {
            // a·z + b·(z² − 1), where z = slope·c + start.
            let Column { index, moments: Moments { mean, sd }, square_unit } = *column;
            let of_own = if square_unit > 0.0 { (of_square / square_unit).powi(2) } else { 0.0 };
            let (a, b) = (factor * of_mean * of_mean * own, factor * (of_own * (own * own - 1.0) + of_total));
            let (slope, start) = (1.0 / (coordinates.unit() * sd), (coordinates.centre()[index] - mean) / sd);
            of.constant += a * start + b * (start * start - 1.0);
            of.linear[index] = slope * (a + 2.0 * b * start);
            of.square[index] = slope * slope * b;
        }
        of
    }

    /// Whether the kernel is a sum over the columns of quadratic functions: no products of columns are matched.
    pub(super) fn is_quadratic(&self) -> bool {
        self.0.products.is_empty()
    }

    /// The root of the weight that each function of a kind has in D²: of means, squares, their sum, and products.
    fn roots(&self) -> [f64; 4] {
        let Contents { columns, squares, total_unit, products, .. } = &*self.0;
        let kinds = 1 + (*squares).min(1) + usize::from(*total_unit > 0.0) + products.len().min(1);
        [columns.len(), *squares, 1, products.len()].map(|count| 1.0 / ((kinds * count.max(1)) as f64).sqrt())
    }

    /// These moments, for rows of as many columns.
    pub(super) fn of_columns(&self, points: &Points) -> Result<ColumnMoments> {
        points.expect_dim("the pool", "the data", self.0.dim)?;
        Ok(self.clone())
    }

    /// Number of functions.
    pub(super) fn view_dim(&self) -> usize {
        let Contents { columns, total_unit, products, .. } = &*self.0;
        columns.len() + self.0.squares + usize::from(*total_unit > 0.0) + products.len()
    }

    /// Writes the functions of a row in their units, times the root of the weight of each in D².
    pub(super) fn write_view(&self, row: &[f64], view: &mut [f64]) {
        let Contents { columns, total_unit, products, .. } = &*self.0;
        let [of_mean, of_square, of_total, of_product] = self.roots();
        let (z, others) = view.split_at_mut(columns.len());
        z.iter_mut().zip(columns).for_each(|(z, column)| *z = column.standardised(row));
        let varying = columns.iter().zip(&*z).filter(|(column, _)| column.square_unit > 0.0);
        let squares = varying.map(|(column, z)| of_square * (z * z - 1.0) / column.square_unit);
        let sum = z.iter().map(|z| z * z - 1.0).sum::<f64>();
        let total = (*total_unit > 0.0).then(|| of_total * sum / total_unit);
        let product =
            |Product { of: [a, b], mean, unit }: &Product| of_product * (z[*a] * z[*b] - mean) / unit;
        let values = squares.chain(total).chain(products.iter().map(product));
        others.iter_mut().zip(values).for_each(|(out, value)| *out = value);
        z.iter_mut().for_each(|z| *z *= of_mean);
    }
}

impl Column {
    fn standardised(&self, row: &[f64]) -> f64 {
        let Moments { mean, sd } = self.moments;
        // Halved first, so that the difference of two huge numbers of opposite sign stays finite.
        ((row[self.index] * 0.5 - mean * 0.5) / sd * 2.0).clamp(-FAR, FAR)
    }
}

/// Pairs of columns whose products are matched.
fn pairs(columns: usize) -> impl Iterator<Item = [usize; 2]> {
    let columns = if columns <= MOST_MULTIPLIED { columns } else { 0 };
    (0..columns).flat_map(|b| (0..b).map(move |a| [a, b]))
}

/// Means over rows.
struct Means {
    /// Of (z² − 1)² of each column.
    squares: Vec<f64>,
    /// Of the square of the sum of z² − 1.
    total: f64,
    /// Of the product of each of the [`pairs`], and of its square.
    products: Vec<[f64; 2]>,
}

impl Means {
    fn of(columns: &[Column], rows: &Points, shares: Option<&[f64]>) -> Means {
        let (dim, multiplied) = (rows.dim(), pairs(columns.len()).count());
        let none =
            || Means { squares: vec![0.0; columns.len()], total: 0.0, products: vec![[0.0; 2]; multiplied] };
        let of_some = |(at, some): (usize, &[f64])| -> Means {
            let (mut sums, mut z) = (none(), vec![0.0; columns.len()]);
            for (i, row) in some.chunks_exact(dim).enumerate() {
                let share = shares.map_or(1.0 / rows.len() as f64, |shares| shares[at * ROWS + i]);
                if share > 0.0 {
                    z.iter_mut().zip(columns).for_each(|(z, column)| *z = column.standardised(row));
                    let mut total = 0.0;
                    for (z, sum) in z.iter().zip(&mut sums.squares) {
                        total += z * z - 1.0;
                        *sum += share * (z * z - 1.0).powi(2);
                    }
                    sums.total += share * total * total;
                    for ([a, b], [sum, square]) in pairs(columns.len()).zip(&mut sums.products) {
                        let product = z[a] * z[b];
                        *sum += share * product;
                        *square += share * product * product;
                    }
                }
            }
            sums
        };
        let some: Vec<Means> = rows.as_slice().par_chunks(ROWS * dim).enumerate().map(of_some).collect();
        some.iter().fold(none(), |mut all, some| {
            all.squares.iter_mut().zip(&some.squares).for_each(|(all, sum)| *all += sum);
            all.total += some.total;
            let products = all.products.iter_mut().flatten().zip(some.products.iter().flatten());
            products.for_each(|(all, sum)| *all += sum);
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(values: &[f64], dim: usize) -> Points {
        Points::from_rows(values, dim).unwrap()
    }

    #[test]
    fn functions_have_mean_zero_and_their_units() {
        // The second column has two values that are as frequent, the last is constant.
        let values: Vec<f64> =
            (0..40).flat_map(|i| [f64::from(i).sin(), f64::from(i % 2), f64::from(i * i), 7.0]).collect();
        let rows = rows(&values, 4);
        let weights: Vec<f64> = (0..40).map(|i| if i % 4 < 2 { 1.0 } else { 2.0 }).collect();
        for weights in [None, Some(&weights[..])] {
            let moments = ColumnMoments::new(&rows, weights).unwrap().unwrap();
            let view = moments.view(&rows).unwrap();
            assert_eq!(view.dim(), 3 + 2 + 1 + 3);
            let shares = weights.map_or(vec![1.0; 40], <[f64]>::to_vec);
            let total: f64 = shares.iter().sum();
            let mean = |f: &dyn Fn(&[f64]) -> f64| {
                view.rows().zip(&shares).map(|(v, w)| w * f(v)).sum::<f64>() / total
            };
            for j in 0..view.dim() {
                assert!(mean(&|view| view[j]).abs() < 1e-14, "{j}");
            }
            // Four kinds; of three columns z, and three products.
            let square = |j: usize| 12.0 * mean(&|view| view[j] * view[j]);
            for j in [0, 1, 2, 6, 7, 8] {
                assert!((square(j) - 1.0).abs() < 1e-12, "{j}");
            }
            // Of a function with standard deviation s, s²/(s·√2), and of the sum s²/(s·√6): two squares vary.
            let z = |j: usize| view.rows().map(move |view| view[j] * 12f64.sqrt());
            let root = |squares: Vec<f64>| {
                let mean = squares.iter().zip(&shares).map(|(x, w)| w * x).sum::<f64>() / total;
                squares.iter().zip(&shares).map(|(x, w)| w * (x - mean).powi(2) / total).sum::<f64>().sqrt()
            };
            let of_square = root(z(2).map(|z| z * z).collect());
            assert!((square(4) / 12.0 * 8.0 - of_square / 2f64.sqrt()).abs() < 1e-12);
            let of_sum = root(z(0).zip(z(1)).zip(z(2)).map(|((a, b), c)| a * a + b * b + c * c).collect());
            assert!((square(5) / 12.0 * 4.0 - of_sum / 6f64.sqrt()).abs() < 1e-12);
        }
    }

    #[test]
    fn constants_have_no_moments_and_far_rows_without_weight_stay_finite() {
        assert!(ColumnMoments::new(&rows(&[2.0, 2.0], 1), None).unwrap().is_none());
        let far = rows(&[0.0, 1.0, 3.0, 1e308], 1);
        let weighted = ColumnMoments::new(&far, Some(&[1.0, 1.0, 1.0, 0.0])).unwrap().unwrap();
        assert!(weighted.view(&far).unwrap().as_slice().iter().all(|f| f.abs() < 1e13));
        let huge = rows(&[1e308, -1e308, 5e307], 1);
        let moments = ColumnMoments::new(&huge, None).unwrap().unwrap();
        assert!(moments.distance(&huge, None).unwrap() < 1e-12);
    }

    #[test]
    fn a_sample_takes_its_means_and_variances_from_all_rows() {
        let all: Vec<f64> = (0..600).map(|i| (f64::from(i) * 0.7).sin() + f64::from(i % 3)).collect();
        let all = rows(&all, 2);
        let moments: Vec<_> = (0..2).map(|j| Moments::of(all.as_slice(), 2, j, None)).collect();
        let sample = all.select(&(0..20).collect::<Vec<_>>()).unwrap();
        let of_sample = ColumnMoments::of_sample(&moments, &sample, None).unwrap();
        // All but the covariance, which is that of the sample.
        let view = of_sample.view(&all).unwrap();
        let error = |j: usize| (view.rows().map(|view| view[j]).sum::<f64>() / 300.0).abs();
        assert!((0..5).all(|j| error(j) < 1e-12) && error(5) > 1e-3);
        assert!(of_sample.distance(&sample, None).unwrap() > 1e-3);
    }
}
