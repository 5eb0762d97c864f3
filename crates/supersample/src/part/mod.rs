//! Parts: terms of the objective in addition to the joint distribution. Each has its own view of a row, kernel and
//! mean.
//!
//! With v = E k(x, x) − ‖μ‖² of each, the expected squared error of one independent draw, the objective is
//!
//! > D² = D_joint²/v_joint + Σ over parts of weight · D_part²/v_part,
//!
//! so that weights are relative to the joint distribution. Times v_joint this is the squared MMD of one kernel, the
//! joint one plus weight·v_joint/v_part times that of each part. A [`Pool`](crate::Pool) computes this sum; herding,
//! sweeps, search and weights do not know about parts, and without parts nothing changes, to the bit.
//!
//! The MMD, equivalent draws, stop rules and E_T of a pick are those of the joint part. The reported errors of parts
//! are computed from distribution functions and means in f64, so the f32 of a part's kernel rows can change a choice
//! but not a reported number. Points that are not rows of the pool have no view: herding in space, the polish and
//! starts from given points take no parts.
//!
//! The kernel of a part may be positive definite only on differences of equal mass, like the energy kernel: adding
//! g(x) + g(y) to k(x, y) changes no choice and no distance.

mod axes;
mod functions;
mod marginals;
mod moments;
mod order;
mod places;
mod sorted;
mod views;

use std::borrow::Cow;
use std::sync::Arc;

use rayon::prelude::*;
use supersample_sum::{Levels, Quadratic, Shape, Term};

pub use self::functions::{Functions, FunctionsUnit};
pub use self::marginals::Marginals;
pub use self::moments::ColumnMoments;
use self::places::Placed;
pub(crate) use self::places::Places;
pub(crate) use self::views::{FEW, Views};
use crate::linalg::dot;
use crate::points::expect_rows;
use crate::sum::{Packed, Precision};
use crate::words::Opt;
use crate::{Error, Points, Result};

/// The views of all rows, for kernel rows.
#[derive(Clone)]
pub(crate) enum PackedViews {
    /// The numbers themselves.
    Numbers(Packed),
    /// Distribution functions in whole levels.
    Levels(Arc<Levels>),
    /// Nothing: the kernel is a function of the packed coordinates of the rows.
    Quadratic,
}

/// What the kernel row of a part adds to that of the joint part.
pub(crate) enum Added<'a> {
    Numbers(Cow<'a, [f64]>, f64),
    Levels(Vec<u16>, f64),
    Quadratic(Quadratic),
}

impl PackedViews {
    /// The numbers, if these are packed.
    pub(crate) fn numbers(&self) -> Option<&Packed> {
        if let PackedViews::Numbers(packed) = self { Some(packed) } else { None }
    }

    /// What is added, over these views.
    pub(crate) fn term<'a>(&'a self, added: &'a Added<'_>) -> Term<'a> {
        match (self, added) {
            (PackedViews::Numbers(packed), Added::Numbers(y, factor)) => {
                Term::Kernel { points: packed.host(), y, factor: *factor }
            }
            (PackedViews::Levels(points), Added::Levels(y, factor)) => {
                Term::Levels { points, y, factor: *factor }
            }
            (_, Added::Quadratic(of)) => Term::Quadratic(of),
            _ => unreachable!("it was made for these views"),
        }
    }
}

/// One term of the objective in addition to the joint distribution, for the rows of one pool. Clones share its numbers.
///
/// ```
/// use supersample::{Empirical, Herder, Kernel, Marginals, Part, Points, Pool};
/// let draws = Points::from_vec((0..400).map(|i| (i as f64 * 0.7).sin()).collect(), 2)?;
/// let alone = Pool::new(Empirical::new(Kernel::gaussian(0.8)?, draws.clone())?, draws.clone())?;
/// let marginals = Marginals::new(&draws, None)?.expect("a column that varies");
/// let both = alone.clone().with_parts(vec![Part::marginals(&marginals, &draws, 0.4)?])?;
/// let cdf = |pool: &Pool| -> supersample::Result<f64> {
///     let rows: Vec<usize> = Herder::over(pool.clone()).run(10).iter().filter_map(|pick| pick.index).collect();
///     marginals.distance(&draws.select(&rows)?, None)
/// };
/// assert!(cdf(&both)? < cdf(&alone)?);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Part {
    target: Target,
    weight: f64,
    /// View of each row, on which the kernel acts.
    views: Views,
    /// The mean embedding at each row; `None` if it is 0.
    means: Option<Arc<[f64]>>,
    squared_norm: f64,
    single_draw: f64,
}

#[derive(Clone, Debug)]
enum Target {
    /// Distribution functions, in which the rows have these places.
    Marginals(Places),
    /// Functions whose means over the target are 0, by the name of the part.
    Means(&'static str),
}

impl Part {
    /// Creates the part of the columns' distribution functions.
    ///
    /// D² is the mean over the columns of the squared distance of [`Marginals`]. `points` are the rows of the pool, in
    /// the units of the rows that `marginals` are of.
    pub fn marginals(marginals: &Marginals, points: &Points, weight: f64) -> Result<Part> {
        Part::placed(marginals.placed(points)?, weight)
    }

    /// The part of the distribution functions of these rows, of these shares, for a pool of `some` of them or all; `None` if every
    /// column is constant. The same as by [`Marginals`], with less work and memory.
    pub(crate) fn own_marginals(
        rows: &Points,
        shares: Option<&[f64]>,
        some: Option<&[usize]>,
        weight: f64,
    ) -> Result<Option<Part>> {
        places::check_rows(rows.len())?;
        Places::among(rows, shares, some).map(|placed| Part::placed(placed, weight)).transpose()
    }

    fn placed(Placed { places, means, single_draw }: Placed, weight: f64) -> Result<Part> {
        Ok(Part {
            weight: checked(weight)?,
            views: Views::Places(places.clone()).or_points()?,
            target: Target::Marginals(places),
            means: Some(means.into()),
            squared_norm: -single_draw,
            single_draw,
        })
    }

    /// Creates the part of the means of functions.
    ///
    /// D² is their mean squared error in their units. `values` has a row for each row of the pool and a column for each
    /// function. If 64 functions or more vary in less than half as many directions, rows are chosen by these
    /// directions, which leave out at most 1e-5 of the variance; [`Functions::error`] is always that of all functions.
    pub fn functions(functions: &Functions, values: &Points, weight: f64) -> Result<Part> {
        Part::of_means("functions", functions.view(values)?, weight)
    }

    /// Creates the part of the means and variances of the columns.
    ///
    /// D² is the squared distance of [`ColumnMoments`]. `points` are the rows of the pool, in the units of the rows that
    /// `moments` are of.
    pub fn moments(moments: &ColumnMoments, points: &Points, weight: f64) -> Result<Part> {
        let views = Views::Moments(moments.of_columns(points)?, points.clone()).or_points()?;
        Ok(Part { views, ..Part::of_means("moments", points.clone(), weight)? })
    }

    /// Creates the part of functions whose means are zero over the target: `view` has them at each row of the pool, in units such that
    /// their squares sum to one over the target.
    pub(crate) fn of_means(name: &'static str, view: Points, weight: f64) -> Result<Part> {
        let (target, weight, views) = (Target::Means(name), checked(weight)?, Views::Points(view));
        Ok(Part { target, weight, views, means: None, squared_norm: 0.0, single_draw: 1.0 })
    }

    /// Name: marginals, moments, functions or published numbers.
    pub fn name(&self) -> &'static str {
        match self.target {
            Target::Marginals(_) => "marginals",
            Target::Means(name) => name,
        }
    }

    /// Weight relative to the joint distribution, which has weight 1.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// Expected squared distance of one independent draw: 1/6 for marginals without ties, 1 for functions, and for moments 1,
    /// that of normal columns.
    pub fn single_draw(&self) -> f64 {
        self.single_draw
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.views.len()
    }

    /// View of a row.
    pub(crate) fn view(&self, row: usize) -> Cow<'_, [f64]> {
        self.views.row(row)
    }

    /// Its kernel.
    pub(crate) fn kernel(&self) -> Shape {
        match self.target {
            // The mean over the columns of −|u − v|/2.
            Target::Marginals(_) => Shape::Manhattan { length: 2.0 * self.views.dim() as f64 },
            Target::Means(_) => Shape::Linear,
        }
    }

    /// k(x, x), where it varies.
    pub(crate) fn diagonal(&self) -> Option<Vec<f64>> {
        let varies = self.kernel().constant_diagonal().is_none();
        let square = |row: usize| dot(&self.view(row), &self.view(row));
        varies.then(|| (0..self.rows()).into_par_iter().map(square).collect())
    }

    /// The mean embedding at each row; `None` if it is 0.
    pub(crate) fn means(&self) -> Option<&[f64]> {
        self.means.as_deref()
    }

    /// Squared norm of the mean embedding; negative for a kernel of equal masses.
    pub(crate) fn squared_norm(&self) -> f64 {
        self.squared_norm
    }

    /// g at each row, where k(x, y) + g(x) + g(y) is positive definite for any masses, and the mean of g over the
    /// target; `None` if k is.
    pub(crate) fn completion(&self) -> Option<(Vec<f64>, f64)> {
        match &self.target {
            Target::Marginals(places) => Some(places.completion()),
            Target::Means(_) => None,
        }
    }

    /// The views packed for kernel rows in this precision.
    pub(crate) fn packed(&self, precision: Precision) -> Packed {
        Packed::forced(self.kernel(), &self.views, precision)
    }

    /// The views in the precision and on the device of the rows they are added to; very many in a form that takes less
    /// memory, where there is one.
    pub(crate) fn packed_with(&self, rows: &Packed, points: &Points) -> PackedViews {
        match &self.views {
            Views::Places(places) if rows.is_single_on_host() => {
                PackedViews::Levels(Arc::new(Levels::new(places.len(), places.dim(), |i, j| places.u(i, j))))
            }
            Views::Moments(moments, own)
                if rows.is_single_on_host() && own.is_same_as(points) && moments.is_quadratic() =>
            {
                PackedViews::Quadratic
            }
            views => PackedViews::Numbers(rows.forced_with(self.kernel(), views)),
        }
    }

    /// What is added to the kernel row of `row` among rows that are packed so, with this factor.
    pub(crate) fn added(&self, packed: &PackedViews, row: usize, factor: f64, rows: &Packed) -> Added<'_> {
        match (packed, &self.views) {
            (PackedViews::Levels(_), Views::Places(places)) => {
                // The mean over the columns of −|u − v|/2.
                let factor = -factor / (2.0 * places.dim() as f64 * Levels::COUNT);
                Added::Levels(places.row(row).map(Levels::of).collect(), factor)
            }
            (PackedViews::Quadratic, Views::Moments(moments, points)) => {
                Added::Quadratic(moments.quadratic(points.row(row), factor, rows.coordinates()))
            }
            _ => Added::Numbers(self.view(row), factor),
        }
    }

    /// The part for some of the rows, with views in the form that they have: of `all` points of the pool, these are `some`.
    pub(crate) fn select_as_is(&self, rows: &[usize], all: &Points, some: &Points) -> Result<Part> {
        let views = match &self.views {
            Views::Moments(moments, own) if own.is_same_as(all) => {
                Views::Moments(moments.clone(), some.clone())
            }
            views => views.select(rows)?,
        };
        Ok(Part { views, ..self.select(rows)? })
    }

    /// The part for some of the rows.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Part> {
        let means = self.means().map(|means| rows.iter().map(|&row| means[row]).collect());
        let target = match &self.target {
            Target::Marginals(places) => Target::Marginals(places.select(rows)),
            Target::Means(name) => Target::Means(name),
        };
        let views = self.views.select(rows)?.or_points()?;
        Ok(Part { target, views, means, ..self.clone() })
    }

    /// The squared distance D² of rows with weights that sum to one, in f64 and without pairs of rows.
    pub(crate) fn squared_distance(&self, rows: &[usize], weights: &[f64]) -> f64 {
        match &self.target {
            Target::Marginals(places) => places.squared_distance(rows, weights),
            Target::Means(_) => {
                let mut mean = vec![0.0; self.views.dim()];
                for (&row, weight) in rows.iter().zip(weights) {
                    mean.iter_mut().zip(&*self.view(row)).for_each(|(mean, f)| *mean += weight * f);
                }
                dot(&mean, &mean)
            }
        }
    }

    /// The views of all rows.
    pub(crate) fn views(&self) -> Result<Points> {
        self.views.points()
    }

    /// The views of some rows.
    pub(crate) fn views_of(&self, rows: &[usize]) -> Result<Points> {
        self.views.select(rows)?.points()
    }

    pub(crate) fn expect_rows(&self, expected: usize) -> Result<()> {
        expect_rows(self.name(), self.rows(), expected)
    }
}

fn checked(weight: f64) -> Result<f64> {
    if weight > 0.0 && weight.is_finite() {
        return Ok(weight);
    }
    let advice = "give a positive number, or leave the part out";
    Err(Error::BadOption { option: Opt::PartWeight, value: weight, advice })
}
