//! Means and standard deviations of columns whose rows come in batches.

use rayon::prelude::*;

use super::Moments;
use crate::bytes::{Reader, Writer};

/// Moments of the rows so far, of weights that need not sum to one.
#[derive(Debug, Clone)]
pub(crate) struct RunningMoments {
    columns: Vec<Column>,
}

/// One column, in units of a power of two, which divides without rounding and keeps the squares of huge or tiny values
/// in range. Values are stored as differences from the first, so that a mean much larger than the sd costs no digits.
#[derive(Debug, Clone, Copy)]
struct Column {
    unit: f64,
    total: f64,
    /// Less the first value.
    mean: f64,
    /// Σ w·(x − mean)².
    square: f64,
    /// First value of a row with weight, and whether all others are equal to it.
    first: Option<f64>,
    is_constant: bool,
}

impl RunningMoments {
    pub(crate) fn new(dim: usize) -> RunningMoments {
        let column = Column { unit: 0.0, total: 0.0, mean: 0.0, square: 0.0, first: None, is_constant: true };
        RunningMoments { columns: vec![column; dim] }
    }

    /// Adds rows, with weights or all of weight one.
    pub(crate) fn see(&mut self, values: &[f64], weights: Option<&[f64]>) {
        let dim = self.columns.len();
        self.columns.par_iter_mut().enumerate().for_each(|(j, column)| {
            let cells = values.iter().skip(j).step_by(dim).copied();
            match weights {
                None => column.see(|| cells.clone().map(|value| (value, 1.0))),
                Some(weights) => {
                    column.see(|| cells.clone().zip(weights.iter().copied()).filter(|&(_, w)| w > 0.0));
                }
            }
        });
    }

    /// Multiplies all weights so far by a factor.
    pub(crate) fn reweigh(&mut self, factor: f64) {
        for column in &mut self.columns {
            column.total *= factor;
            column.square *= factor;
        }
    }

    /// Adds the moments of other rows, which come after these and whose weights are in the same unit.
    pub(crate) fn merge(&mut self, other: &RunningMoments) {
        self.columns.iter_mut().zip(&other.columns).for_each(|(column, other)| column.merge(other));
    }

    pub(crate) fn write(&self, writer: &mut Writer) {
        for Column { unit, total, mean, square, first, is_constant } in &self.columns {
            writer.numbers(&[*unit, *total, *mean, *square, first.unwrap_or(0.0)]);
            writer.word(u64::from(first.is_some()) + 2 * u64::from(*is_constant));
        }
    }

    /// Reads the output of [`write`](Self::write); `None` for other bytes.
    pub(crate) fn read(reader: &mut Reader, dim: usize) -> Option<RunningMoments> {
        let mut column = || {
            let [unit, total, mean, square, first] = reader.numbers(5)?.try_into().ok()?;
            let flags = reader.word()?;
            let first = (flags & 1 == 1).then_some(first);
            Some(Column { unit, total, mean, square, first, is_constant: flags & 2 == 2 })
        };
        let columns = (0..dim).map(|_| column()).collect::<Option<_>>()?;
        Some(RunningMoments { columns })
    }

    /// The moments of each column; `None` for one that is constant.
    pub(crate) fn moments(&self) -> Vec<Option<Moments>> {
        let one = |column: &Column| {
            let sd = (column.square / column.total).sqrt() * column.unit;
            let mean = column.first.unwrap_or(0.0) / column.unit + column.mean;
            (!column.is_constant && column.total > 0.0).then_some(Moments { mean: mean * column.unit, sd })
        };
        self.columns.iter().map(one).collect()
    }

    /// The first value of each column; 0 if no row has weight.
    pub(crate) fn firsts(&self) -> Vec<f64> {
        self.columns.iter().map(|column| column.first.unwrap_or(0.0)).collect()
    }
}

impl Column {
    /// Adds a batch of rows with weight: its own moments, then those of both together.
    fn see<I: Iterator<Item = (f64, f64)>>(&mut self, batch: impl Fn() -> I) {
        let Some((first, _)) = batch().next() else { return };
        let first = *self.first.get_or_insert(first);
        self.is_constant = self.is_constant && batch().all(|(value, _)| value == first);
        let largest = batch().fold(0.0_f64, |largest, (value, _)| largest.max(value.abs()));
        self.grow(largest.log2().floor().clamp(-1000.0, 1000.0).exp2());
        let unit = self.unit;
        let total: f64 = batch().map(|(_, weight)| weight).sum();
        let less_first = |value: f64| value / unit - first / unit;
        let mut mean = 0.0;
        // The second round removes the rounding of the first, which matters if the mean is much larger than the sd.
        for _ in 0..2 {
            mean += batch().map(|(value, weight)| (less_first(value) - mean) * weight).sum::<f64>() / total;
        }
        let square: f64 = batch().map(|(value, weight)| (less_first(value) - mean).powi(2) * weight).sum();
        self.add(total, mean, square);
    }

    /// Adds other rows with weight, after these.
    fn merge(&mut self, other: &Column) {
        let Some(other_first) = other.first else { return };
        let Some(first) = self.first else {
            *self = *other;
            return;
        };
        self.is_constant = self.is_constant && other.is_constant && first == other_first;
        self.grow(other.unit);
        let factor = other.unit / self.unit;
        let apart = other_first / self.unit - first / self.unit;
        self.add(other.total, other.mean * factor + apart, other.square * (factor * factor));
    }

    /// A unit of at least this.
    fn grow(&mut self, unit: f64) {
        if self.unit > 0.0 && unit > self.unit {
            let factor = self.unit / unit;
            self.mean *= factor;
            self.square *= factor * factor;
        }
        self.unit = unit.max(self.unit);
    }

    /// Adds rows of this weight, mean (less the first value) and sum of squares, in the unit of this column.
    fn add(&mut self, total: f64, mean: f64, square: f64) {
        let (both, apart) = (self.total + total, mean - self.mean);
        if both == 0.0 {
            // The weight of these rows is negligible compared with the largest weight.
            return;
        }
        self.mean += apart * (total / both);
        self.square += square + apart * apart * (self.total * (total / both));
        self.total = both;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_batches(values: &[f64], dim: usize, weights: Option<&[f64]>, rows: usize) -> Vec<Option<Moments>> {
        let mut running = RunningMoments::new(dim);
        for (i, batch) in values.chunks(rows * dim).enumerate() {
            let end = |weights: &[f64]| (i * rows + batch.len() / dim).min(weights.len());
            running.see(batch, weights.map(|weights| &weights[i * rows..end(weights)]));
        }
        running.moments()
    }

    /// Each batch alone, through bytes, then merged in order.
    fn in_parts(values: &[f64], dim: usize, weights: Option<&[f64]>, rows: usize) -> Vec<Option<Moments>> {
        let mut all = RunningMoments::new(dim);
        for (i, batch) in values.chunks(rows * dim).enumerate() {
            let mut part = RunningMoments::new(dim);
            part.see(batch, weights.map(|weights| &weights[i * rows..i * rows + batch.len() / dim]));
            let mut writer = Writer::new(b"supersample ts1\n");
            part.write(&mut writer);
            let bytes = writer.finish();
            let mut reader = Reader::new(&bytes, b"supersample ts1\n").unwrap();
            all.merge(&RunningMoments::read(&mut reader, dim).unwrap());
        }
        all.moments()
    }

    #[test]
    fn batches_have_the_moments_of_all_rows() {
        let wave = |i: usize, speed: f64| (i as f64 * speed).sin();
        let columns: [&dyn Fn(usize) -> f64; 5] = [
            &|i| wave(i, 0.7),
            // The mean dwarfs the sd, the values are huge, tiny, or mostly the same.
            &|i| 1e9 + wave(i, 1.3),
            &|i| 1.7e308 * wave(i, 0.3),
            &|i| 1e-300 * wave(i, 0.9),
            &|i| f64::from(u8::from(i == 777)),
        ];
        let n = 1000;
        let values: Vec<f64> = (0..n).flat_map(|i| columns.iter().map(move |column| column(i))).collect();
        let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64).collect();
        for weights in [None, Some(&weights[..])] {
            for rows in [1, 7, 500, 1000] {
                let found = [in_batches(&values, 5, weights, rows), in_parts(&values, 5, weights, rows)];
                for (j, found) in found.into_iter().flat_map(|found| found.into_iter().enumerate()) {
                    let shares = weights.map(|w| crate::points::normalised(w, "rows", n).unwrap());
                    let wanted = Moments::of(&values, 5, j, shares.as_deref()).unwrap();
                    let found = found.unwrap();
                    assert!((found.sd / wanted.sd - 1.0).abs() < 1e-9, "{j} {rows} {found:?} {wanted:?}");
                    // A mean much larger than the sd limits the digits of the sd.
                    let digits = 1e-9 + 4.0 * f64::EPSILON * (wanted.mean / wanted.sd).abs();
                    assert!(((found.mean - wanted.mean) / wanted.sd).abs() < digits, "{j} {rows}");
                }
            }
        }
    }

    #[test]
    fn a_constant_is_compared_and_not_computed() {
        let values = [0.1, 5.0, 0.1, 6.0, 0.1, 7.0, 9.0, 8.0];
        assert!(in_batches(&values, 2, None, 1)[0].is_some());
        assert_eq!(in_batches(&values, 2, Some(&[1.0, 1.0, 1.0, 0.0]), 1)[0], None);
        assert_eq!(in_batches(&values[..6], 2, None, 2)[0], None);
        assert!(in_parts(&values, 2, None, 1)[0].is_some());
        assert_eq!(in_parts(&values, 2, Some(&[1.0, 1.0, 1.0, 0.0]), 1)[0], None);
    }

    #[test]
    fn weights_can_be_counted_anew() {
        let mut once = RunningMoments::new(1);
        once.see(&[1.0, 2.0, 4.0], Some(&[0.5, 0.25, 1.0]));
        let mut anew = RunningMoments::new(1);
        anew.see(&[1.0, 2.0], Some(&[1.0, 0.5]));
        anew.reweigh(0.5);
        anew.see(&[4.0], Some(&[1.0]));
        let (once, anew) = (once.moments()[0].unwrap(), anew.moments()[0].unwrap());
        assert!((once.mean - anew.mean).abs() < 1e-15 && (once.sd - anew.sd).abs() < 1e-15);
    }
}
