//! Marginals: the distribution function of every column, and the distance of a subset from it.
//!
//! u = F(x), the weighted distribution function of a column (the middle of its step where values tie), makes every column
//! alike: between two rows the kernel is c(u, v) = 1/3 + (u² + v²)/2 − max(u, v), averaged over the columns, and for equal
//! masses D² = ∫ (F_S − F)² is the Cramér–von Mises distance, taken over u. Since max(u, v) = (u + v + |u − v|)/2,
//!
//! > c(u, v) = g(u) + g(v) − |u − v|/2,  g(u) = 1/6 + u²/2 − u/2,
//!
//! and g changes nothing between equal masses: not the score with its −k(x, x)/2, not a swap, not a distance. So kernel
//! rows sum −|u − v|/2, one absolute difference for each column; where masses may differ, `weights.rs` adds g again
//! (`complete`). The mean over the target follows from sorting, without pairs, exactly with ties and weights: E |u − V|
//! = 2A(u) + 1/2 − u with A(u) = ∫₀ᵘ F, because E V = 1/2.

use std::sync::Arc;

use rayon::prelude::*;

use super::sorted::for_sorted_columns;
use crate::points::{normalised, unit_weights};
use crate::{Points, Result};

/// Columns whose places are found at once.
const AT_ONCE: usize = 8;

/// Distribution functions of the columns of weighted rows. Constant columns are left out. Clones share the numbers.
///
/// ```
/// use supersample::{Marginals, Points};
/// let rows = Points::from_rows(&[0.0, 1.0, 2.0, 3.0], 1)?;
/// let marginals = Marginals::new(&rows, None)?.expect("the column varies");
/// // The subset's function is 1/4 too high between the first two middles of steps, and 1/4 too low between the last.
/// let subset = Points::from_rows(&[0.0, 3.0], 1)?;
/// assert!((marginals.distance(&subset, None)?.powi(2) - 2.0 / 16.0 / 4.0).abs() < 1e-15);
/// assert_eq!(marginals.distance(&rows, None)?, 0.0);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Marginals(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    /// Constant ones included.
    dim: usize,
    columns: Vec<Column>,
    single_draw: f64,
}

/// Distribution function of one column.
#[derive(Debug)]
struct Column {
    /// Number of the column.
    index: usize,
    /// The values that have a weight, ascending, each once.
    values: Vec<f64>,
    /// F at each of these; the last is 1.
    reached: Vec<f64>,
}

impl Marginals {
    /// Computes the marginals of rows with given or equal weights. `None` if every column is constant.
    pub fn new(rows: &Points, weights: Option<&[f64]>) -> Result<Option<Marginals>> {
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        let column = |index: usize| Column::new(rows, index, shares.as_deref());
        let columns: Vec<Column> = (0..rows.dim()).into_par_iter().filter_map(column).collect();
        if columns.is_empty() {
            return Ok(None);
        }
        let single_draws: Vec<f64> = columns.par_iter().map(Column::single_draw).collect();
        let single_draw = single_draws.iter().sum::<f64>() / columns.len() as f64;
        Ok(Some(Marginals(Arc::new(Contents { dim: rows.dim(), columns, single_draw }))))
    }

    /// Number of columns that are not constant.
    pub fn columns(&self) -> usize {
        self.0.columns.len()
    }

    /// Expected squared distance of one independent draw: 1/6 without ties, less with them.
    pub fn single_draw(&self) -> f64 {
        self.0.single_draw
    }

    /// Returns the root mean square over the columns of the distance between the distribution functions of a subset and
    /// of all rows.
    ///
    /// The distance of a column is the root of ∫ (F_S − F)² over F. Weights of any sign are divided by their sum; T
    /// independent draws have about 0.408/√T without ties, and less with ties. Costs a sort of the subset and a pass over the rows for each column.
    pub fn distance(&self, subset: &Points, weights: Option<&[f64]>) -> Result<f64> {
        subset.expect_dim("the subset", "the data", self.0.dim)?;
        let shares = unit_weights(weights, "rows of the subset", subset.len())?;
        let of_column = |column: &Column| column.squared_distance_of(subset, shares.as_deref());
        Ok(self.mean_over_columns(of_column).sqrt())
    }

    /// Returns the [`distance`](Self::distance) of each of several subsets from rows, without keeping anything of the
    /// rows.
    ///
    /// Columns are sorted a few at a time and compared with all subsets. `None` if every column is constant.
    ///
    /// If the rows are a sample of the target, `sampled` is the squared distance of the sample in units of
    /// [`single_draw`](Self::single_draw) (1/m − 1/n for m of n rows), which is added to that of every subset;
    /// otherwise 0.
    pub fn distances(
        rows: &Points,
        weights: Option<&[f64]>,
        sampled: f64,
        subsets: &[(&Points, Option<&[f64]>)],
    ) -> Result<Option<Vec<f64>>> {
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        let mut weighted = Vec::with_capacity(subsets.len());
        for (subset, weights) in subsets {
            subset.expect_dim("the subset", "the data", rows.dim())?;
            weighted.push((*subset, unit_weights(*weights, "rows of the subset", subset.len())?));
        }
        Ok(distances_of(rows, shares.as_deref(), sampled, weighted.len(), |index, i| {
            let (subset, shares) = &weighted[i];
            let equal = 1.0 / subset.len() as f64;
            let share = move |row: usize| shares.as_ref().map_or(equal, |shares| shares[row]);
            Box::new(subset.rows().enumerate().map(move |(row, values)| (values[index], share(row))))
        }))
    }

    /// [`distances`](Self::distances) of sets of the rows themselves, which are given by position and not copied.
    pub(crate) fn distances_at(
        rows: &Points,
        weights: Option<&[f64]>,
        sampled: f64,
        sets: &[Vec<usize>],
    ) -> Result<Option<Vec<f64>>> {
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        Ok(distances_of(rows, shares.as_deref(), sampled, sets.len(), |index, i| {
            let share = 1.0 / sets[i].len() as f64;
            Box::new(sets[i].iter().map(move |&row| (rows.row(row)[index], share)))
        }))
    }

    /// These marginals where F is known at some values of each column, ascending; between them it keeps its shape.
    pub(crate) fn known_at(&self, known: &[Vec<(f64, f64)>]) -> Marginals {
        let Contents { dim, columns, .. } = &*self.0;
        let columns: Vec<Column> =
            columns.iter().map(|column| column.known_at(&known[column.index])).collect();
        let single_draw = columns.iter().map(Column::single_draw).sum::<f64>() / columns.len() as f64;
        Marginals(Arc::new(Contents { dim: *dim, columns, single_draw }))
    }

    /// Values that cut a column into this number of equal parts; `None` for a constant one.
    pub(crate) fn quantiles(&self, index: usize, parts: usize) -> Option<Vec<f64>> {
        let Column { values, reached, .. } = self.column(index)?;
        let at = |part: usize| reached.partition_point(|to| *to * (parts as f64) < part as f64);
        let mut found: Vec<f64> = (1..parts).map(|part| values[at(part).min(values.len() - 1)]).collect();
        found.dedup();
        Some(found)
    }

    /// F of a column at these values; `None` for a constant one.
    pub(crate) fn reached(&self, index: usize, at: &[f64]) -> Option<Vec<f64>> {
        let column = self.column(index)?;
        Some(at.iter().map(|value| column.reached_at(*value)).collect())
    }

    fn column(&self, index: usize) -> Option<&Column> {
        self.0.columns.iter().find(|column| column.index == index)
    }

    /// u of each row, column by column, and the mean of −|u − V|/2 there.
    pub(crate) fn view_and_means(&self, points: &Points) -> Result<(Points, Vec<f64>)> {
        points.expect_dim("the pool", "the data", self.0.dim)?;
        let columns = &self.0.columns;
        let count = columns.len() as f64;
        let mut view = vec![0.0; points.len() * columns.len()];
        let mut means = vec![0.0; points.len()];
        // Some columns at a time, so that no second copy of all of them is needed.
        for (block, some) in columns.chunks(AT_ONCE).enumerate() {
            let of_column = |column: &Column| -> Vec<Place> {
                let below = column.integrals();
                points.rows().map(|row| column.place(row[column.index], &below)).collect()
            };
            let places: Vec<Vec<Place>> = some.par_iter().map(of_column).collect();
            let rows = view.par_chunks_mut(columns.len()).zip(&mut means).enumerate();
            rows.with_min_len(1024).for_each(|(row, (view, mean))| {
                for (u, places) in view[block * AT_ONCE..].iter_mut().zip(&places) {
                    let place = places[row];
                    *u = place.u;
                    *mean -= (2.0 * place.below + 0.5 - place.u) / (2.0 * count);
                }
            });
        }
        Ok((Points::from_vec(view, columns.len())?, means))
    }

    /// g of each view, and the mean of g over the target.
    pub(super) fn completion(&self, view: &Points) -> (Vec<f64>, f64) {
        let count = view.dim() as f64;
        let g = |u: &f64| 1.0 / 6.0 + u * u / 2.0 - u / 2.0;
        let at_rows = view.rows().map(|view| view.iter().map(g).sum::<f64>() / count).collect();
        let of_column = |column: &Column| column.knots().map(|(u, share)| share * g(&u)).sum();
        (at_rows, self.mean_over_columns(of_column))
    }

    /// D² of rows of views with weights that sum to one.
    pub(crate) fn squared_distance_of_views(&self, view: &Points, rows: &[usize], weights: &[f64]) -> f64 {
        let of_column = |(place, column): (usize, &Column)| {
            column.squared_distance(rows.iter().zip(weights).map(|(&row, &w)| (view.row(row)[place], w)))
        };
        let squares: Vec<f64> = self.0.columns.par_iter().enumerate().map(of_column).collect();
        squares.iter().sum::<f64>() / squares.len() as f64
    }

    fn mean_over_columns(&self, of_column: impl Fn(&Column) -> f64 + Sync + Send) -> f64 {
        let all: Vec<f64> = self.0.columns.par_iter().map(of_column).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }
}

/// Values of a column of a subset, with shares that sum to one.
type SubsetValues<'a> = Box<dyn Iterator<Item = (f64, f64)> + 'a>;

/// Distances of subsets; `values` has those of a column of one of them. `None` if every column is constant.
fn distances_of<'a>(
    rows: &Points,
    shares: Option<&[f64]>,
    sampled: f64,
    subsets: usize,
    values: impl Fn(usize, usize) -> SubsetValues<'a> + Sync,
) -> Option<Vec<f64>> {
    let columns = for_sorted_columns(rows, shares, |index, column| -> Option<Vec<f64>> {
        let of_sample = sampled * column.single_draw();
        let of_subset = |i: usize| column.squared_distance_of(values(index, i)) + of_sample;
        (!column.is_constant()).then(|| (0..subsets).map(of_subset).collect())
    });
    let columns: Vec<Vec<f64>> = columns.into_iter().flatten().collect();
    let mean = |i: usize| columns.iter().map(|squares| squares[i]).sum::<f64>() / columns.len() as f64;
    (!columns.is_empty()).then(|| (0..subsets).map(|i| mean(i).sqrt()).collect())
}

/// Position of a value: u, and A(u) = ∫₀ᵘ F.
#[derive(Clone, Copy)]
struct Place {
    u: f64,
    below: f64,
}

impl Column {
    /// `None` if all rows with weight have one value.
    fn new(rows: &Points, index: usize, shares: Option<&[f64]>) -> Option<Column> {
        let column = rows.rows().map(|row| row[index]);
        let (mut values, mut reached): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut step = |value: f64, to: f64| match values.last() {
            // The two zeros are one value.
            Some(last) if *last == value => *reached.last_mut().expect("as many as values") = to,
            _ => {
                values.push(value);
                reached.push(to);
            }
        };
        match shares {
            None => {
                let mut sorted: Vec<f64> = column.collect();
                sorted.sort_unstable_by(f64::total_cmp);
                let count = sorted.len() as f64;
                sorted.iter().enumerate().for_each(|(i, &value)| step(value, (i + 1) as f64 / count));
            }
            Some(shares) => {
                let weighted = column.zip(shares.iter().copied()).filter(|(_, share)| *share > 0.0);
                let mut sorted: Vec<(f64, f64)> = weighted.collect();
                sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
                let mut sum = 0.0;
                for &(value, share) in &sorted {
                    sum += share;
                    step(value, sum);
                }
                reached.iter_mut().for_each(|to| *to /= sum);
            }
        }
        if values.len() < 2 {
            return None;
        }
        values.shrink_to_fit();
        reached.shrink_to_fit();
        Some(Column { index, values, reached })
    }

    fn reached_at(&self, value: f64) -> f64 {
        let place = self.values.partition_point(|known| *known <= value);
        place.checked_sub(1).map_or(0.0, |place| self.reached[place])
    }

    /// With F as known at these values, and linear in the present F between them.
    fn known_at(&self, known: &[(f64, f64)]) -> Column {
        let nodes = known.iter().map(|(value, to)| (self.reached_at(*value), *to));
        let nodes: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(nodes).chain([(1.0, 1.0)]).collect();
        let moved = |from: &f64| {
            let after = nodes.partition_point(|node| node.0 < *from).clamp(1, nodes.len() - 1);
            let ((x0, y0), (x1, y1)) = (nodes[after - 1], nodes[after]);
            if x1 > x0 { y0 + (y1 - y0) * (from - x0) / (x1 - x0) } else { y1 }
        };
        let mut reached: Vec<f64> = self.reached.iter().map(moved).collect();
        *reached.last_mut().expect("a column has values") = 1.0;
        Column { index: self.index, values: self.values.clone(), reached }
    }

    /// The middles u of the steps, ascending, each with its height.
    fn knots(&self) -> impl Iterator<Item = (f64, f64)> {
        let before = std::iter::once(0.0).chain(self.reached.iter().copied());
        before.zip(&self.reached).map(|(from, to)| (0.5 * (from + to), to - from))
    }

    /// A at each middle of a step.
    fn integrals(&self) -> Vec<f64> {
        let (mut below, mut last, mut height) = (0.0, 0.0, 0.0);
        let at_knot = |((u, _), to): ((f64, f64), &f64)| {
            below += height * (u - last);
            (last, height) = (u, *to);
            below
        };
        self.knots().zip(&self.reached).map(at_knot).collect()
    }

    /// F before and after value `k`.
    fn step(&self, k: usize) -> (f64, f64) {
        (if k == 0 { 0.0 } else { self.reached[k - 1] }, self.reached[k])
    }

    /// Position of a value among the values, or where it would be inserted.
    fn find(&self, value: f64) -> std::result::Result<usize, usize> {
        let k = self.values.partition_point(|other| *other < value);
        if self.values.get(k) == Some(&value) { Ok(k) } else { Err(k) }
    }

    /// u of a value.
    fn u(&self, value: f64) -> f64 {
        match self.find(value) {
            Ok(k) => {
                let (from, to) = self.step(k);
                0.5 * (from + to)
            }
            Err(0) => 0.0,
            Err(k) => self.reached[k - 1],
        }
    }

    /// u of a value and A there.
    fn place(&self, value: f64, integrals: &[f64]) -> Place {
        let below = match self.find(value) {
            Ok(k) => integrals[k],
            Err(0) => 0.0,
            // Beyond the middle of the last step, and before the next one begins.
            Err(k) => {
                let (from, to) = self.step(k - 1);
                integrals[k - 1] + to * 0.5 * (to - from)
            }
        };
        Place { u: self.u(value), below }
    }

    /// E c(u, u) − E c(u, v) = E |U − V|/2.
    fn single_draw(&self) -> f64 {
        let distances = self.knots().zip(self.integrals());
        distances.map(|((u, share), below)| share * (2.0 * below + 0.5 - u)).sum::<f64>() / 2.0
    }

    /// ∫ (F_S − F)² du of rows with shares that sum to one.
    fn squared_distance_of(&self, subset: &Points, shares: Option<&[f64]>) -> f64 {
        let equal = 1.0 / subset.len() as f64;
        let share = |row: usize| shares.map_or(equal, |shares| shares[row]);
        let values = subset.rows().enumerate();
        self.squared_distance(values.map(|(i, row)| (self.u(row[self.index]), share(i))))
    }

    /// ∫ (F_S − F)² du of places u with weights that sum to one.
    fn squared_distance(&self, subset: impl Iterator<Item = (f64, f64)>) -> f64 {
        let mut subset: Vec<(f64, f64)> = subset.collect();
        subset.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut subset = subset.into_iter().peekable();
        let (mut of_subset, mut of_all, mut last, mut squared) = (0.0, 0.0, 0.0, 0.0);
        let mut advance = |to: f64, of_subset: f64, of_all: f64| {
            let gap: f64 = of_subset - of_all;
            squared += gap * gap * (to - last);
            last = to;
        };
        for ((u, _), reached) in self.knots().zip(&self.reached) {
            while let Some((place, weight)) = subset.next_if(|(place, _)| *place <= u) {
                advance(place, of_subset, of_all);
                of_subset += weight;
            }
            advance(u, of_subset, of_all);
            of_all = *reached;
        }
        for (place, weight) in subset {
            advance(place, of_subset, of_all);
            of_subset += weight;
        }
        squared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_between_values_and_beyond_them_are_those_of_the_steps() {
        let rows = Points::from_rows(&[3.0, 1.0, 1.0, 0.0, -0.0, 5.0, 5.0, 5.0], 1).unwrap();
        let marginals = Marginals::new(&rows, None).unwrap().unwrap();
        let column = &marginals.0.columns[0];
        assert_eq!(
            (&column.values[..], &column.reached[..]),
            (&[0.0, 1.0, 3.0, 5.0][..], &[0.25, 0.5, 0.625, 1.0][..])
        );
        let integrals = column.integrals();
        for (value, u) in [
            (-1.0, 0.0),
            (0.0, 0.125),
            (0.5, 0.25),
            (1.0, 0.375),
            (3.0, 0.5625),
            (4.0, 0.625),
            (5.0, 0.8125),
            (6.0, 1.0),
        ] {
            let place = column.place(value, &integrals);
            assert_eq!(place.u, u, "{value}");
            // E |u − V| by the definition.
            let direct: f64 = column.knots().map(|(v, share)| share * (u - v).abs()).sum();
            assert!((2.0 * place.below + 0.5 - u - direct).abs() < 1e-15, "{value}: {direct}");
        }
    }

    #[test]
    fn constant_columns_are_left_out_and_rows_without_weight_do_not_count() {
        let rows = Points::from_rows(&[1.0, 7.0, 2.0, 7.0, 3.0, 8.0], 2).unwrap();
        let marginals = Marginals::new(&rows, Some(&[1.0, 1.0, 0.0])).unwrap().unwrap();
        assert_eq!(marginals.columns(), 1);
        assert!((marginals.single_draw() - 0.125).abs() < 1e-15);
        assert!(Marginals::new(&rows, Some(&[1.0, 0.0, 0.0])).unwrap().is_none());
        let far = Points::from_rows(&[3.0, 0.0], 2).unwrap();
        // F_S is 0 up to u = 1: ∫ F² = 1/2·1/4 + 1/4·1.
        assert!((marginals.distance(&far, None).unwrap().powi(2) - 0.375).abs() < 1e-15);
    }

    #[test]
    fn a_large_column_without_ties_has_a_sixth() {
        let rows = Points::from_vec((0..5000).map(|i| (f64::from(i) * 0.7).sin()).collect(), 1).unwrap();
        let marginals = Marginals::new(&rows, None).unwrap().unwrap();
        assert!((marginals.single_draw() - 1.0 / 6.0).abs() < 1e-7);
        let (_, means) = marginals.view_and_means(&rows).unwrap();
        let (g, mean_g) = marginals.completion(&marginals.view_and_means(&rows).unwrap().0);
        // ∫ c(u, v) dv = 0
        assert!(means.iter().zip(&g).all(|(mean, g)| (mean + g + mean_g).abs() < 1e-7));
    }
}
