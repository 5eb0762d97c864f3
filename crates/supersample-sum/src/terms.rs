//! TermsInLane that are added to a kernel row while its points are in the cache: other kernels of the same points.
//!
//! A kernel row reads every number of every point, and of many wide points these come from memory. So what is added is
//! computed block by block, right after the kernel itself, and in a form that reads little: a quadratic function of the
//! coordinates reads nothing more, and distances of levels read two bytes a number.

use std::ops::Range;

use fearless_simd::Simd;
use fearless_simd::prelude::*;
use rayon::prelude::*;

use crate::kernel_row::fill_range;
use crate::lanes::{Lane, Vector};
use crate::level::{dispatch, level};
use crate::packed::Packed;
use crate::panels::WIDTH;

/// A kernel row that is added to that of other packed points, which are as many.
#[derive(Clone, Debug)]
pub enum Term<'a> {
    /// `factor` times the kernel row of `y` over these points, which are packed in the same precision.
    Kernel {
        /// The points.
        points: &'a Packed,
        /// The point whose row it is.
        y: &'a [f64],
        /// The factor.
        factor: f64,
    },
    /// A quadratic function of the packed coordinates of the points themselves.
    Quadratic(&'a Quadratic),
    /// `factor`·Σⱼ |uⱼ − vⱼ| in whole levels.
    Levels {
        /// The levels u of the points.
        points: &'a Levels,
        /// The levels v.
        y: &'a [u16],
        /// The factor.
        factor: f64,
    },
}

/// The function constant + Σⱼ cⱼ·(linearⱼ + squareⱼ·cⱼ) of packed coordinates c, which are (x − centre)·unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    /// The constant.
    pub constant: f64,
    /// Factor of each coordinate.
    pub linear: Vec<f64>,
    /// Factor of the square of each.
    pub square: Vec<f64>,
}

/// Numbers between 0 and 1 in whole levels of two bytes, 32 points side by side.
#[derive(Clone, Debug)]
pub struct Levels {
    /// `[panel][column][point in panel]`
    data: Vec<[u16; SIDE_BY_SIDE]>,
    dim: usize,
}

/// Points in a panel of levels: a whole vector on the widest instruction set.
const SIDE_BY_SIDE: usize = 32;

/// Columns whose differences are summed in two bytes.
const COLUMNS: usize = 4;

impl Levels {
    /// Number of levels from 0 to 1: the differences of four columns add up to a number of two bytes.
    pub const COUNT: f64 = (u16::MAX / COLUMNS as u16) as f64;

    /// The level of a number between 0 and 1.
    pub fn of(number: f64) -> u16 {
        (number * Levels::COUNT).round() as u16
    }

    /// The levels of `len` points in each of `dim` columns.
    pub fn new(len: usize, dim: usize, number: impl Fn(usize, usize) -> f64 + Sync) -> Levels {
        /// Panels written at once, column by column, as the numbers are where they come from.
        const SOME: usize = 32;
        let mut data = vec![[0; SIDE_BY_SIDE]; len.div_ceil(SIDE_BY_SIDE) * dim];
        data.par_chunks_mut(SOME * dim.max(1)).enumerate().for_each(|(some, panels)| {
            for column in 0..dim {
                for (i, places) in panels[column..].iter_mut().step_by(dim).enumerate() {
                    let first = (some * SOME + i) * SIDE_BY_SIDE;
                    let points = first..len.min(first + SIDE_BY_SIDE);
                    places
                        .iter_mut()
                        .zip(points)
                        .for_each(|(level, i)| *level = Levels::of(number(i, column)));
                }
            }
        });
        Levels { data, dim }
    }

    /// Adds `factor`·Σⱼ |uⱼ − vⱼ| for the points of a range that begins a panel.
    #[inline(always)]
    fn add<S: Simd, T: Lane>(&self, simd: S, y: &[u16], factor: T, range: Range<usize>, row: &mut [T]) {
        debug_assert!(range.start.is_multiple_of(SIDE_BY_SIDE));
        let panels = self.data[range.start / SIDE_BY_SIDE * self.dim..].chunks_exact(self.dim);
        let (lanes, half) = (S::u16s::LEN, S::u32s::LEN);
        let mut sums = [0_u32; SIDE_BY_SIDE];
        for (row, panel) in row.chunks_mut(SIDE_BY_SIDE).zip(panels) {
            for lane in (0..SIDE_BY_SIDE).step_by(lanes) {
                let mut low = S::u32s::splat(simd, 0);
                let mut high = low;
                for (panel, y) in panel.chunks(COLUMNS).zip(y.chunks(COLUMNS)) {
                    let mut differences = S::u16s::splat(simd, 0);
                    for (levels, y) in panel.iter().zip(y) {
                        let u = S::u16s::from_slice(simd, &levels[lane..lane + lanes]);
                        let v = S::u16s::splat(simd, *y);
                        differences += u.max(v) - u.min(v);
                    }
                    let (a, b) = differences.widen();
                    low += a;
                    high += b;
                }
                low.store_slice(&mut sums[lane..lane + half]);
                high.store_slice(&mut sums[lane + half..lane + lanes]);
            }
            let add = |(value, sum): (&mut T, &u32)| *value += factor * T::from_f64(f64::from(*sum));
            match row.first_chunk_mut::<SIDE_BY_SIDE>() {
                Some(row) => row.iter_mut().zip(&sums).for_each(add),
                None => row.iter_mut().zip(&sums).for_each(add),
            }
        }
    }
}

/// Panels that a quadratic function is computed of at once, so that no sum waits for another.
const ABREAST: usize = 4;

/// Adds the function for the points of these panels of `dim` columns, which may be more than the coordinates.
#[inline(always)]
fn add_quadratic<S: Simd, T: Lane>(
    simd: S,
    of: &Quadratic,
    factors: &[[T; 2]],
    panels: &[T],
    dim: usize,
    row: &mut [T],
) {
    let lanes = Vector::<S, T>::LEN;
    let constant = Vector::<S, T>::splat(simd, T::from_f64(of.constant));
    let mut values = [T::ZERO; ABREAST * WIDTH];
    for (row, panels) in row.chunks_mut(ABREAST * WIDTH).zip(panels.chunks(ABREAST * dim * WIDTH)) {
        for lane in (0..WIDTH).step_by(lanes) {
            let mut sums = [constant; ABREAST];
            if panels.len() == ABREAST * dim * WIDTH {
                for (j, [linear, square]) in factors.iter().enumerate() {
                    let linear = Vector::<S, T>::splat(simd, *linear);
                    for (i, sum) in sums.iter_mut().enumerate() {
                        let at = (i * dim + j) * WIDTH + lane;
                        let c = Vector::<S, T>::from_slice(simd, &panels[at..at + lanes]);
                        *sum = c.mul_add(Vector::<S, T>::splat(simd, *square), linear).mul_add(c, *sum);
                    }
                }
            } else {
                for (sum, panel) in sums.iter_mut().zip(panels.chunks_exact(dim * WIDTH)) {
                    for ([linear, square], c) in factors.iter().zip(panel.chunks_exact(WIDTH)) {
                        let c = Vector::<S, T>::from_slice(simd, &c[lane..lane + lanes]);
                        let linear = Vector::<S, T>::splat(simd, *linear);
                        *sum = c.mul_add(Vector::<S, T>::splat(simd, *square), linear).mul_add(c, *sum);
                    }
                }
            }
            for (values, sum) in values.chunks_exact_mut(WIDTH).zip(sums) {
                sum.store_slice(&mut values[lane..lane + lanes]);
            }
        }
        row.iter_mut().zip(&values).for_each(|(row, value)| *row += *value);
    }
}

/// TermsInLane with their numbers in the lane of the row.
pub(crate) struct TermsInLane<'a, T> {
    terms: &'a [Term<'a>],
    /// Of each quadratic function, the two factors of each coordinate.
    factors: Vec<Vec<[T; 2]>>,
}

impl<'a, T: Lane> TermsInLane<'a, T> {
    pub(crate) fn new(terms: &'a [Term<'a>]) -> TermsInLane<'a, T> {
        let factors = |term: &Term<'_>| match term {
            Term::Quadratic(Quadratic { linear, square, .. }) => {
                linear.iter().zip(square).map(|(a, b)| [T::from_f64(*a), T::from_f64(*b)]).collect()
            }
            _ => Vec::new(),
        };
        TermsInLane { terms, factors: terms.iter().map(factors).collect() }
    }

    /// Adds the terms to the row of the points of a range that begins a panel; `panels` are those of the range, of `dim`
    /// columns.
    pub(crate) fn add(&self, range: Range<usize>, panels: &[T], dim: usize, row: &mut [T]) {
        for (term, factors) in self.terms.iter().zip(&self.factors) {
            match term {
                Term::Kernel { points, y, factor } => {
                    fill_range(points, y, Some(*factor), range.clone(), T::any_row(row));
                }
                Term::Quadratic(of) => {
                    dispatch!(level(), simd => add_quadratic(simd, of, factors, panels, dim, row));
                }
                Term::Levels { points, y, factor } => {
                    dispatch!(level(), simd => points.add(simd, y, T::from_f64(*factor), range.clone(), row));
                }
            }
        }
    }
}
