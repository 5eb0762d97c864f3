//! Places: where rows stand in the distribution functions of the columns, four bytes for each number.
//!
//! Between two values of a column F is constant, and at a value it has a step, of which a row there has the middle. So the
//! number of the step, or of the gap before it, is all that is needed of a row: u follows from it to the last bit.

use std::cmp::Ordering;
use std::sync::{Arc, OnceLock};

use rayon::prelude::*;

use super::order::Ordered;
use super::sorted::key;
use crate::Points;
use crate::columns::by_blocks;
use crate::{Error, Result};

/// Distribution function at the values of a column that have a weight, ascending, each once.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Steps {
    /// This number of values, each with the same mass.
    Equal(usize),
    /// Number of rows of equal mass up to each value, where values tie.
    Counted(Vec<u32>),
    /// F at each value; the last is 1.
    Reached(Vec<f64>),
}

/// u of a value, and A(u) = ∫₀ᵘ F.
#[derive(Clone, Copy)]
pub(super) struct At {
    pub(super) u: f64,
    pub(super) below: f64,
}

/// Rows whose means one thread adds up at a time.
const ROWS: usize = 1 << 12;

/// Largest number of rows whose places have four bytes.
const MOST_ROWS: usize = (u32::MAX / 2) as usize;

/// Checks that the places of this number of rows have four bytes.
pub(super) fn check_rows(rows: usize) -> Result<()> {
    if rows > MOST_ROWS {
        return Err(Error::TooManyRows { rows, most: MOST_ROWS });
    }
    Ok(())
}

impl Steps {
    pub(super) fn count(&self) -> usize {
        match self {
            Steps::Equal(count) => *count,
            Steps::Counted(counts) => counts.len(),
            Steps::Reached(reached) => reached.len(),
        }
    }

    /// The first value at which F is at least `share`, or the last.
    pub(super) fn first_above(&self, share: f64) -> usize {
        let last = self.count() - 1;
        match self {
            Steps::Equal(count) => ((share * *count as f64).ceil() as usize).saturating_sub(1).min(last),
            Steps::Counted(counts) => {
                let rows = f64::from(counts[last]);
                counts.partition_point(|to| f64::from(*to) / rows < share).min(last)
            }
            Steps::Reached(reached) => reached.partition_point(|to| *to < share).min(last),
        }
    }

    /// F at value `k`.
    pub(super) fn reached(&self, k: usize) -> f64 {
        match self {
            Steps::Equal(count) => (k + 1) as f64 / *count as f64,
            Steps::Counted(counts) => f64::from(counts[k]) / f64::from(counts[counts.len() - 1]),
            Steps::Reached(reached) => reached[k],
        }
    }

    /// F before value `k`.
    fn before(&self, k: usize) -> f64 {
        if k == 0 { 0.0 } else { self.reached(k - 1) }
    }

    /// The middles u of the steps, ascending, each with F before and after it.
    pub(super) fn knots(&self) -> impl Iterator<Item = (f64, [f64; 2])> {
        let ends = (0..self.count()).scan(0.0, |before, k| {
            let reached = self.reached(k);
            Some([std::mem::replace(before, reached), reached])
        });
        ends.map(|[from, to]| (0.5 * (from + to), [from, to]))
    }

    /// A at each middle of a step.
    pub(super) fn integrals(&self) -> Vec<f64> {
        let (mut below, mut last, mut height) = (0.0, 0.0, 0.0);
        let at_knot = |(u, [_, to]): (f64, [f64; 2])| {
            below += height * (u - last);
            (last, height) = (u, to);
            below
        };
        self.knots().map(at_knot).collect()
    }

    /// E c(u, u) − E c(u, v) = E |U − V|/2, from the [`integrals`](Self::integrals).
    pub(super) fn single_draw(&self, integrals: &[f64]) -> f64 {
        let distances = self.knots().zip(integrals);
        distances.map(|((u, [from, to]), below)| (to - from) * (2.0 * below + 0.5 - u)).sum::<f64>() / 2.0
    }

    /// Steps from whole numbers of rows up to each value.
    pub(super) fn counted(reached: &[f64]) -> Steps {
        Steps::Counted(reached.iter().map(|rows| *rows as u32).collect())
    }

    /// The place of value `k`, or of what lies right before it.
    pub(super) fn place(k: std::result::Result<usize, usize>) -> u32 {
        let place = match k {
            Ok(k) => 2 * k + 1,
            Err(k) => 2 * k,
        };
        u32::try_from(place).expect("the number of rows has been checked")
    }

    /// u of a place.
    pub(super) fn u(&self, place: u32) -> f64 {
        let k = (place / 2) as usize;
        if place % 2 == 1 { 0.5 * (self.before(k) + self.reached(k)) } else { self.before(k) }
    }

    /// u of a place and A there.
    pub(super) fn at(&self, place: u32, integrals: &[f64]) -> At {
        let k = (place / 2) as usize;
        let below = match (place % 2, k) {
            (1, k) => integrals[k],
            (_, 0) => 0.0,
            // Beyond the middle of the last step, and before the next one begins.
            (_, k) => {
                let (from, to) = (self.before(k - 1), self.reached(k - 1));
                integrals[k - 1] + to * 0.5 * (to - from)
            }
        };
        At { u: self.u(place), below }
    }

    /// ∫ (F_S − F)² du of places u with weights that sum to one.
    pub(super) fn squared_distance(&self, subset: impl Iterator<Item = (f64, f64)>) -> f64 {
        let mut subset: Vec<(f64, f64)> = subset.collect();
        subset.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut subset = subset.into_iter().peekable();
        let (mut of_subset, mut of_all, mut last, mut squared) = (0.0, 0.0, 0.0, 0.0);
        let mut advance = |to: f64, of_subset: f64, of_all: f64| {
            let gap: f64 = of_subset - of_all;
            squared += gap * gap * (to - last);
            last = to;
        };
        for (u, [_, reached]) in self.knots() {
            while let Some((place, weight)) = subset.next_if(|(place, _)| *place <= u) {
                advance(place, of_subset, of_all);
                of_subset += weight;
            }
            advance(u, of_subset, of_all);
            of_all = reached;
        }
        for (place, weight) in subset {
            advance(place, of_subset, of_all);
            of_subset += weight;
        }
        squared
    }
}

/// Places of rows in the columns that vary. Clones share the numbers.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    steps: Arc<Vec<Steps>>,
    /// Of each column those of all rows.
    places: Arc<Vec<Vec<u32>>>,
}

/// Places of rows, the mean of −|u − V|/2 at each of them, and the expected squared distance of one draw.
pub(crate) struct Placed {
    pub(crate) places: Places,
    pub(crate) means: Vec<f64>,
    pub(crate) single_draw: f64,
}

impl Places {
    pub(super) fn new(steps: Arc<Vec<Steps>>, places: Vec<Vec<u32>>) -> Places {
        Places { steps, places: places.into() }
    }

    /// Places of rows among themselves, of these shares, or of only `some` of the rows; `None` if every column is constant.
    /// Columns are sorted a few at a time.
    pub(crate) fn among(rows: &Points, shares: Option<&[f64]>, some: Option<&[usize]>) -> Option<Placed> {
        let varying = varying_columns(rows, shares) as f64;
        let mut means = vec![0.0; some.map_or(rows.len(), <[usize]>::len)];
        let (mut steps, mut places, mut single_draws) = (Vec::new(), Vec::new(), Vec::new());
        let have_weight = shares.is_none_or(|shares| shares.iter().all(|share| *share > 0.0));
        // Columns without ties are all alike.
        let untied = OnceLock::new();
        let of_column = |_, column: &mut [i64]| {
            let (own, places) = sorted_places(column, shares, some)?;
            let terms = || Arc::new(MeanTerms::of(&own, varying, have_weight));
            let terms = match own {
                Steps::Equal(_) => untied.get_or_init(terms).clone(),
                _ => terms(),
            };
            Some((own, places, terms))
        };
        by_blocks(rows.as_slice(), rows.dim(), key, of_column, |some| {
            let some: Vec<(Steps, Vec<u32>, Arc<MeanTerms>)> = some.into_iter().flatten().collect();
            means.par_chunks_mut(ROWS).enumerate().for_each(|(at, means)| {
                for (_, places, terms) in &some {
                    let places = &places[at * ROWS..];
                    means.iter_mut().zip(places).for_each(|(mean, place)| *mean -= terms.at(*place));
                }
            });
            for (own, of_rows, terms) in some {
                single_draws.push(terms.single_draw);
                places.push(of_rows);
                steps.push(own);
            }
        });
        let single_draw = single_draws.iter().sum::<f64>() / single_draws.len() as f64;
        (!steps.is_empty()).then(|| Placed { places: Places::new(steps.into(), places), means, single_draw })
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.places.first().map_or(0, Vec::len)
    }

    /// Number of columns.
    pub(crate) fn dim(&self) -> usize {
        self.steps.len()
    }

    /// u of a row in a column.
    pub(crate) fn u(&self, row: usize, column: usize) -> f64 {
        self.steps[column].u(self.places[column][row])
    }

    /// u of a row in each column.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = f64> {
        (0..self.dim()).map(move |column| self.u(row, column))
    }

    pub(super) fn select(&self, rows: &[usize]) -> Places {
        let some = |all: &Vec<u32>| rows.iter().map(|&row| all[row]).collect();
        Places { steps: self.steps.clone(), places: Arc::new(self.places.iter().map(some).collect()) }
    }

    /// g of each row, and the mean of g over the target.
    pub(super) fn completion(&self) -> (Vec<f64>, f64) {
        let count = self.dim() as f64;
        let g = |u: f64| 1.0 / 6.0 + u * u / 2.0 - u / 2.0;
        let at_rows = (0..self.len()).map(|row| self.row(row).map(g).sum::<f64>() / count).collect();
        let of_column = |steps: &Steps| steps.knots().map(|(u, [from, to])| (to - from) * g(u)).sum::<f64>();
        (at_rows, self.steps.iter().map(of_column).sum::<f64>() / count)
    }

    /// D² of rows with weights that sum to one.
    pub(crate) fn squared_distance(&self, rows: &[usize], weights: &[f64]) -> f64 {
        let of_column = |column: usize| {
            let places = rows.iter().zip(weights).map(|(&row, &weight)| (self.u(row, column), weight));
            self.steps[column].squared_distance(places)
        };
        let squares: Vec<f64> = (0..self.dim()).into_par_iter().map(of_column).collect();
        squares.iter().sum::<f64>() / squares.len() as f64
    }
}

/// What a row adds to the mean of −|u − V|/2 over the columns, by its place in one of them.
struct MeanTerms {
    /// At each value.
    at: Vec<f64>,
    /// Before each value, where there are rows without weight.
    before: Vec<f64>,
    single_draw: f64,
}

impl MeanTerms {
    fn of(steps: &Steps, columns: f64, have_weight: bool) -> MeanTerms {
        let integrals = steps.integrals();
        let term = |place: std::result::Result<usize, usize>| {
            let At { u, below } = steps.at(Steps::place(place), &integrals);
            (2.0 * below + 0.5 - u) / (2.0 * columns)
        };
        let at = (0..steps.count()).map(|k| term(Ok(k))).collect();
        let gaps = if have_weight { 0 } else { steps.count() + 1 };
        let before = (0..gaps).map(|k| term(Err(k))).collect();
        MeanTerms { at, before, single_draw: steps.single_draw(&integrals) }
    }

    fn at(&self, place: u32) -> f64 {
        let k = (place / 2) as usize;
        if place % 2 == 1 { self.at[k] } else { self.before[k] }
    }
}

/// The steps of a column, given by the keys of its values, and the place of each row or of some; `None` if all rows with
/// weight have one value.
fn sorted_places(keys: &[i64], shares: Option<&[f64]>, some: Option<&[usize]>) -> Option<(Steps, Vec<u32>)> {
    let mut places = vec![0; keys.len()];
    let steps = match shares {
        None => {
            let ordered = Ordered::new(keys);
            let (mut rows, mut reached) = (0, Vec::new());
            for ties in ordered.ties() {
                let place = Steps::place(Ok(reached.len()));
                rows += ties.len() as u32;
                reached.push(rows);
                ties.for_each(|row| places[row] = place);
            }
            match reached.len() {
                0 | 1 => return None,
                count if count == keys.len() => Steps::Equal(count),
                _ => {
                    reached.shrink_to_fit();
                    Steps::Counted(reached)
                }
            }
        }
        Some(shares) => weighted_steps(keys, shares, &mut places)?,
    };
    let places = some.map(|some| some.iter().map(|&row| places[row]).collect()).unwrap_or(places);
    Some((steps, places))
}

/// The steps of a column of rows with shares, and their places; `None` if all with weight have one value.
///
/// Comparisons sort the rows: the sum of the shares of equal values depends on their order in the last bit.
fn weighted_steps(keys: &[i64], shares: &[f64], places: &mut [u32]) -> Option<Steps> {
    let mut column: Vec<(i64, u32)> = keys.iter().copied().zip(0..).collect();
    column.sort_unstable_by_key(|(key, _)| *key);
    let (mut mass, mut reached) = (0.0, Vec::new());
    for ties in column.chunk_by(|a, b| a.0 == b.0) {
        let own: f64 = ties.iter().map(|&(_, row)| shares[row as usize]).sum();
        let place = if own > 0.0 { Ok(reached.len()) } else { Err(reached.len()) };
        if own > 0.0 {
            mass += own;
            reached.push(mass);
        }
        ties.iter().for_each(|&(_, row)| places[row as usize] = Steps::place(place));
    }
    if reached.len() < 2 {
        return None;
    }
    reached.iter_mut().for_each(|reached| *reached /= mass);
    reached.shrink_to_fit();
    Some(Steps::Reached(reached))
}

/// Number of columns in which rows with weight differ.
fn varying_columns(rows: &Points, shares: Option<&[f64]>) -> usize {
    let has_weight = |row: &usize| shares.is_none_or(|shares| shares[*row] > 0.0);
    let mut weighed = (0..rows.len()).filter(has_weight);
    let Some(first) = weighed.next().map(|first| rows.row(first)) else { return 0 };
    let mut alike: Vec<usize> = (0..rows.dim()).collect();
    for row in weighed {
        if alike.is_empty() {
            break;
        }
        let row = rows.row(row);
        // The two zeros are one value.
        alike.retain(|&j| row[j].partial_cmp(&first[j]) == Some(Ordering::Equal));
    }
    rows.dim() - alike.len()
}
