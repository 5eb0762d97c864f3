//! Distribution functions of the columns of a stream: counted at some values of each column, by a sample between them.
//!
//! With few columns the marginals of a set are closer to those of all rows than those of a sample are, so that a sample alone would be
//! too coarse a target for them.

use rayon::prelude::*;

use crate::bytes::{Reader, Writer};
use crate::{Marginals, Points, Result};

/// Number of values of each column at which rows are counted.
const EDGES: usize = 256;

/// The weight of the rows between some values of each column.
#[derive(Clone, Debug)]
pub(super) struct ColumnCounts {
    columns: Vec<Column>,
}

#[derive(Clone, Debug, PartialEq)]
struct Column {
    /// Ascending.
    edges: Vec<f64>,
    /// The weight of the rows up to each edge and above the one before; and above the last.
    weights: Vec<f64>,
}

impl ColumnCounts {
    /// No rows yet, at values that cut a sample into equal parts.
    pub(super) fn of_sample(sample: &Points, shares: Option<&[f64]>) -> Result<ColumnCounts> {
        let marginals = Marginals::new(sample, shares)?;
        let column = |index: usize| {
            let found = marginals.as_ref().and_then(|marginals| marginals.quantiles(index, EDGES));
            let edges = found.unwrap_or_default();
            Column { weights: vec![0.0; edges.len() + 1], edges }
        };
        Ok(ColumnCounts { columns: (0..sample.dim()).map(column).collect() })
    }

    /// Adds rows, in their own units.
    pub(super) fn see(&mut self, rows: &[f64], weights: Option<&[f64]>) {
        let dim = self.columns.len();
        self.columns.par_iter_mut().enumerate().for_each(|(j, Column { edges, weights: all })| {
            let values = rows.iter().skip(j).step_by(dim);
            let place = |value: &f64| edges.partition_point(|edge| edge < value);
            match weights {
                None => values.for_each(|value| all[place(value)] += 1.0),
                Some(weights) => {
                    values.zip(weights).for_each(|(value, weight)| all[place(value)] += weight);
                }
            }
        });
    }

    /// Counts of these rows at the edges of `other`; the sample says what is between the own edges.
    pub(super) fn at(
        &self,
        other: ColumnCounts,
        sample: &Points,
        shares: Option<&[f64]>,
    ) -> Result<ColumnCounts> {
        let marginals = Marginals::new(sample, shares)?.map(|marginals| marginals.known_at(&self.known()));
        let columns = other.columns.into_iter().zip(&self.columns).enumerate();
        let columns = columns.map(|(index, (Column { edges, .. }, own))| {
            let total: f64 = own.weights.iter().sum();
            let reached = marginals.as_ref().and_then(|marginals| marginals.reached(index, &edges));
            let mut reached = reached.unwrap_or_else(|| vec![1.0; edges.len()]);
            reached.push(1.0);
            let below = std::iter::once(0.0).chain(reached.iter().copied());
            let weights = reached.iter().zip(below).map(|(to, from)| (to - from) * total).collect();
            Column { edges, weights }
        });
        Ok(ColumnCounts { columns: columns.collect() })
    }

    /// Whether another counts at the same values.
    pub(super) fn is_like(&self, other: &ColumnCounts) -> bool {
        self.columns.iter().zip(&other.columns).all(|(one, other)| one.edges == other.edges)
    }

    /// Adds other rows, counted at the same values.
    pub(super) fn add(&mut self, other: &ColumnCounts) {
        for (column, other) in self.columns.iter_mut().zip(&other.columns) {
            column.weights.iter_mut().zip(&other.weights).for_each(|(own, other)| *own += other);
        }
    }

    pub(super) fn reweigh(&mut self, factor: f64) {
        self.columns.iter_mut().flat_map(|column| &mut column.weights).for_each(|weight| *weight *= factor);
    }

    /// The values of each column with the distribution function there.
    pub(super) fn known(&self) -> Vec<Vec<(f64, f64)>> {
        let column = |Column { edges, weights }: &Column| {
            let (total, mut sum) = (weights.iter().sum::<f64>(), 0.0);
            let mut reached = |weight: &f64| {
                sum += weight;
                if total > 0.0 { sum / total } else { 0.0 }
            };
            edges.iter().zip(weights).map(|(edge, weight)| (*edge, reached(weight))).collect()
        };
        self.columns.iter().map(column).collect()
    }

    pub(super) fn write(&self, writer: &mut Writer) {
        for Column { edges, weights } in &self.columns {
            writer.word(edges.len() as u64);
            writer.numbers(edges);
            writer.numbers(weights);
        }
    }

    /// Reads the output of [`write`](Self::write); `None` for other bytes.
    pub(super) fn read(reader: &mut Reader<'_>, dim: usize) -> Option<ColumnCounts> {
        let mut column = || {
            let count = reader.count()?;
            Some(Column { edges: reader.numbers(count)?, weights: reader.numbers(count + 1)? })
        };
        Some(ColumnCounts { columns: (0..dim).map(|_| column()).collect::<Option<_>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_make_a_sample_as_good_as_all_rows() {
        let value = |i: usize| (i as f64 * 0.7).sin().powi(3);
        let rows: Vec<f64> = (0..40_000).flat_map(|i| [value(i), (value(i) * 9.0).round(), 5.0]).collect();
        let all = Points::from_rows(&rows, 3).unwrap();
        let exact = Marginals::new(&all, None).unwrap().unwrap();
        // A sample that is not even typical.
        let some =
            all.select(&(0..8000).filter(|i| i % 5 == 0 || value(*i) > 0.3).collect::<Vec<_>>()).unwrap();
        let (early, late) = rows.split_at(90_000);
        let mut counts = ColumnCounts::of_sample(&Points::from_rows(early, 3).unwrap(), None).unwrap();
        counts.see(early, None);
        let other = ColumnCounts::of_sample(&some, None).unwrap();
        let mut moved = counts.at(other.clone(), &some, None).unwrap();
        assert!(moved.is_like(&other) && !moved.is_like(&counts));
        moved.see(late, None);
        let mut apart = other.clone();
        apart.see(late, None);
        apart.add(&counts.at(other, &some, None).unwrap());
        counts.see(late, None);
        let sampled = Marginals::new(&some, None).unwrap().unwrap();
        let subset = all.select(&(0..200).collect::<Vec<_>>()).unwrap();
        let wanted = exact.distance(&subset, None).unwrap();
        for counts in [&counts, &moved, &apart] {
            let found = sampled.known_at(&counts.known()).distance(&subset, None).unwrap();
            assert!((found / wanted - 1.0).abs() < 0.01, "{found}, {wanted}");
        }
        let coarse = sampled.distance(&subset, None).unwrap();
        assert!((coarse / wanted - 1.0).abs() > 0.1, "{coarse}, {wanted}");
    }
}
