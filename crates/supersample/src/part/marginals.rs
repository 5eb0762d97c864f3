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

use super::places::{At, Placed, Places, Steps, check_rows};
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
    /// F at the values of each of these.
    steps: Arc<Vec<Steps>>,
    single_draw: f64,
}

/// Values of one column.
#[derive(Clone, Debug)]
struct Column {
    /// Number of the column.
    index: usize,
    /// The values that have a weight, ascending, each once.
    values: Vec<f64>,
}

impl Marginals {
    /// Computes the marginals of rows with given or equal weights. `None` if every column is constant.
    pub fn new(rows: &Points, weights: Option<&[f64]>) -> Result<Option<Marginals>> {
        check_rows(rows.len())?;
        let shares = weights.map(|weights| normalised(weights, "rows", rows.len())).transpose()?;
        let column = |index: usize| Column::new(rows, index, shares.as_deref());
        let found: Vec<(Column, Steps)> = (0..rows.dim()).into_par_iter().filter_map(column).collect();
        Ok((!found.is_empty()).then(|| Marginals::of_columns(rows.dim(), found)))
    }

    fn of_columns(dim: usize, columns: impl IntoIterator<Item = (Column, Steps)>) -> Marginals {
        let (columns, steps): (Vec<Column>, Vec<Steps>) = columns.into_iter().unzip();
        let single_draw = |steps: &Steps| steps.single_draw(&steps.integrals());
        let single_draws: Vec<f64> = steps.par_iter().map(single_draw).collect();
        let single_draw = single_draws.iter().sum::<f64>() / columns.len() as f64;
        Marginals(Arc::new(Contents { dim, columns, steps: steps.into(), single_draw }))
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
        let equal = 1.0 / subset.len() as f64;
        let share = |row: usize| shares.as_ref().map_or(equal, |shares| shares[row]);
        let of_column = |(column, steps): (&Column, &Steps)| {
            let values = subset.rows().enumerate();
            steps
                .squared_distance(values.map(|(i, row)| (steps.u(column.place(row[column.index])), share(i))))
        };
        let columns = self.0.columns.par_iter().zip(&*self.0.steps);
        let squares: Vec<f64> = columns.map(of_column).collect();
        Ok((squares.iter().sum::<f64>() / squares.len() as f64).sqrt())
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
        let moved = |column: &Column, steps: &Steps| column.known_at(steps, &known[column.index]);
        let columns = self.0.columns.iter().zip(&*self.0.steps);
        Marginals::of_columns(
            self.0.dim,
            columns.map(|(column, steps)| (column.clone(), moved(column, steps))),
        )
    }

    /// Values that cut a column into this number of equal parts; `None` for a constant one.
    pub(crate) fn quantiles(&self, index: usize, parts: usize) -> Option<Vec<f64>> {
        let (column, steps) = self.column(index)?;
        let at = |part: usize| steps.first_above(part as f64 / parts as f64);
        let mut found: Vec<f64> = (1..parts).map(|part| column.values[at(part)]).collect();
        found.dedup();
        Some(found)
    }

    /// F of a column at these values; `None` for a constant one.
    pub(crate) fn reached(&self, index: usize, at: &[f64]) -> Option<Vec<f64>> {
        let (column, steps) = self.column(index)?;
        Some(at.iter().map(|value| column.reached_at(steps, *value)).collect())
    }

    fn column(&self, index: usize) -> Option<(&Column, &Steps)> {
        self.0.columns.iter().zip(&*self.0.steps).find(|(column, _)| column.index == index)
    }

    /// The places of points, and the mean of −|u − V|/2 at each.
    pub(crate) fn placed(&self, points: &Points) -> Result<Placed> {
        points.expect_dim("the pool", "the data", self.0.dim)?;
        let count = self.0.columns.len() as f64;
        let mut means = vec![0.0; points.len()];
        let of_column = |(column, steps): (&Column, &Steps)| -> (Vec<u32>, Vec<f64>) {
            let integrals = steps.integrals();
            let places: Vec<u32> = points.rows().map(|row| column.place(row[column.index])).collect();
            let term = |&place: &u32| {
                let At { u, below } = steps.at(place, &integrals);
                (2.0 * below + 0.5 - u) / (2.0 * count)
            };
            let terms = places.iter().map(term).collect();
            (places, terms)
        };
        let mut places = Vec::with_capacity(self.0.columns.len());
        let columns: Vec<(&Column, &Steps)> = self.0.columns.iter().zip(&*self.0.steps).collect();
        // Some columns at a time, so that the terms of all of them are never in memory.
        for some in columns.chunks(AT_ONCE) {
            let found: Vec<(Vec<u32>, Vec<f64>)> = some.par_iter().copied().map(of_column).collect();
            for (own, terms) in found {
                means.iter_mut().zip(&terms).for_each(|(mean, term)| *mean -= term);
                places.push(own);
            }
        }
        let places = Places::new(self.0.steps.clone(), places);
        Ok(Placed { places, means, single_draw: self.0.single_draw })
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

impl Column {
    /// `None` if all rows with weight have one value.
    fn new(rows: &Points, index: usize, shares: Option<&[f64]>) -> Option<(Column, Steps)> {
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
                sorted.iter().enumerate().for_each(|(i, &value)| step(value, (i + 1) as f64));
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
        let steps = match shares {
            None if values.len() == rows.len() => Steps::Equal(values.len()),
            None => Steps::counted(&reached),
            Some(_) => Steps::Reached(reached),
        };
        Some((Column { index, values }, steps))
    }

    fn reached_at(&self, steps: &Steps, value: f64) -> f64 {
        let place = self.values.partition_point(|known| *known <= value);
        place.checked_sub(1).map_or(0.0, |place| steps.reached(place))
    }

    /// F as known at these values, and linear in the present F between them.
    fn known_at(&self, steps: &Steps, known: &[(f64, f64)]) -> Steps {
        let nodes = known.iter().map(|(value, to)| (self.reached_at(steps, *value), *to));
        let nodes: Vec<(f64, f64)> = std::iter::once((0.0, 0.0)).chain(nodes).chain([(1.0, 1.0)]).collect();
        let moved = |from: f64| {
            let after = nodes.partition_point(|node| node.0 < from).clamp(1, nodes.len() - 1);
            let ((x0, y0), (x1, y1)) = (nodes[after - 1], nodes[after]);
            if x1 > x0 { y0 + (y1 - y0) * (from - x0) / (x1 - x0) } else { y1 }
        };
        let mut reached: Vec<f64> = (0..steps.count()).map(|k| moved(steps.reached(k))).collect();
        *reached.last_mut().expect("a column has values") = 1.0;
        Steps::Reached(reached)
    }

    /// The place of a value.
    fn place(&self, value: f64) -> u32 {
        let k = self.values.partition_point(|other| *other < value);
        Steps::place(if self.values.get(k) == Some(&value) { Ok(k) } else { Err(k) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_rows_than_places_have_numbers_for_are_refused() {
        assert!(check_rows(2_147_483_647).is_ok());
        let error = check_rows(2_147_483_648).unwrap_err();
        assert!(
            error.to_string().contains("at most 2147483647 rows in memory, but there are 2147483648"),
            "{error}"
        );
    }

    #[test]
    fn places_between_values_and_beyond_them_are_those_of_the_steps() {
        let rows = Points::from_rows(&[3.0, 1.0, 1.0, 0.0, -0.0, 5.0, 5.0, 5.0], 1).unwrap();
        let marginals = Marginals::new(&rows, None).unwrap().unwrap();
        let (column, steps) = (&marginals.0.columns[0], &marginals.0.steps[0]);
        assert_eq!(column.values, [0.0, 1.0, 3.0, 5.0]);
        assert_eq!(steps, &Steps::Counted(vec![2, 4, 5, 8]));
        let weighted = Marginals::new(&rows, Some(&[0.5; 8])).unwrap().unwrap();
        assert_eq!(weighted.0.steps[0], Steps::Reached(vec![0.25, 0.5, 0.625, 1.0]));
        for k in 0..4 {
            assert_eq!(steps.reached(k), weighted.0.steps[0].reached(k));
            let share = steps.reached(k);
            assert_eq!(steps.first_above(share), weighted.0.steps[0].first_above(share));
        }
        let integrals = steps.integrals();
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
            let place = steps.at(column.place(value), &integrals);
            assert_eq!(place.u, u, "{value}");
            // E |u − V| by the definition.
            let direct: f64 = steps.knots().map(|(v, [from, to])| (to - from) * (u - v).abs()).sum();
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
        let Placed { places, means, .. } = marginals.placed(&rows).unwrap();
        let (g, mean_g) = places.completion();
        // ∫ c(u, v) dv = 0
        assert!(means.iter().zip(&g).all(|(mean, g)| (mean + g + mean_g).abs() < 1e-7));
    }
    /// Places of rows among themselves against those that are looked up value by value, with ties, the two zeros, a constant
    /// column, and rows without weight.
    #[test]
    fn rows_have_the_same_places_among_themselves_as_looked_up() {
        let value = |i: usize, j: usize| match j {
            0 => (i as f64 * 0.7).sin(),
            1 => (i % 7) as f64 * if i.is_multiple_of(2) { 1.0 } else { -1.0 },
            2 => 4.0,
            _ => ((i * i) % 31) as f64 * 1e300,
        };
        let rows: Vec<f64> = (0..3000).flat_map(|i| (0..4).map(move |j| value(i, j))).collect();
        let rows = Points::from_vec(rows, 4).unwrap();
        let weights: Vec<f64> = (0..3000).map(|i| (i % 3) as f64).collect();
        let shares = normalised(&weights, "rows", 3000).unwrap();
        let some: Vec<usize> = (5..2900).step_by(11).collect();
        for (weights, some) in
            [(None, None), (Some(&shares), None), (None, Some(&some)), (Some(&shares), Some(&some))]
        {
            let weights = weights.map(Vec::as_slice);
            let looked_up = Marginals::new(&rows, weights).unwrap().unwrap();
            let pool = some.map_or(rows.clone(), |some| rows.select(some).unwrap());
            let one = looked_up.placed(&pool).unwrap();
            let other = Places::among(&rows, weights, some.map(Vec::as_slice)).unwrap();
            assert_eq!((one.places.dim(), other.places.dim(), other.places.len()), (3, 3, pool.len()));
            let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-13, "{a} {b}");
            near(one.single_draw, other.single_draw);
            for row in 0..pool.len() {
                near(one.means[row], other.means[row]);
                one.places.row(row).zip(other.places.row(row)).for_each(|(a, b)| near(a, b));
            }
            let (set, equal) = ([3, 90, 17, 201], [0.25; 4]);
            near(one.places.squared_distance(&set, &equal), other.places.squared_distance(&set, &equal));
            near(
                one.places.squared_distance(&set, &equal).sqrt(),
                looked_up.distance(&pool.select(&set).unwrap(), None).unwrap(),
            );
            assert!(other.places.select(&set).row(1).eq(other.places.row(90)));
        }
        let same = Points::from_vec(vec![2.0; 6], 2).unwrap();
        assert!(Places::among(&same, None, None).is_none());
    }
}
