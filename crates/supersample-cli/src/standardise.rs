//! Columns brought to mean 0 and standard deviation 1.

/// The column less its mean, divided by its standard deviation; `None` where all values are the same.
///
/// The standard deviation divides by n, not n − 1: the rows are the whole of the distribution to be matched, not a
/// sample from it.
pub(crate) fn standardised(column: &[f64]) -> Option<Vec<f64>> {
    // Compared, not computed: the sd of a constant that has no exact mean would be tiny, not 0.
    if column.iter().all(|value| *value == column[0]) {
        return None;
    }
    // A power of two divides without rounding, and keeps the squares of huge or tiny values in range.
    let largest = column.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    let unit = largest.log2().floor().clamp(-1000.0, 1000.0).exp2();
    let count = column.len() as f64;
    let mut values: Vec<f64> = column.iter().map(|value| value / unit).collect();
    // The second round takes out what the first mean lost to rounding, which shows where the mean dwarfs the sd.
    for _ in 0..2 {
        let mean = values.iter().sum::<f64>() / count;
        values.iter_mut().for_each(|value| *value -= mean);
    }
    let sd = (values.iter().map(|value| value * value).sum::<f64>() / count).sqrt();
    values.iter_mut().for_each(|value| *value /= sd);
    Some(values)
}

/// Column `j` of numbers in row order.
pub(crate) fn column(values: &[f64], dim: usize, j: usize) -> Vec<f64> {
    values.iter().skip(j).step_by(dim).copied().collect()
}

/// All columns standardised, in row order, and which of them are constant: those are centred, that is to say 0.
pub(crate) fn standardised_columns(values: &[f64], dim: usize) -> (Vec<f64>, Vec<usize>) {
    let mut scaled = vec![0.0; values.len()];
    let mut constant = Vec::new();
    for j in 0..dim {
        match standardised(&column(values, dim, j)) {
            Some(column) => {
                scaled.iter_mut().skip(j).step_by(dim).zip(column).for_each(|(to, from)| *to = from)
            }
            None => constant.push(j),
        }
    }
    (scaled, constant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_sd_are_0_and_1_at_any_magnitude() {
        assert_eq!(standardised(&[1.0, 3.0]).unwrap(), [-1.0, 1.0]);
        assert_eq!(standardised(&[-1.7e308, 1.7e308]).unwrap(), [-1.0, 1.0]);
        assert_eq!(standardised(&[0.0, 5e-324]).unwrap(), [-1.0, 1.0]);
        assert_eq!(standardised(&[1e15, 1e15 + 1.0]).unwrap(), [-1.0, 1.0]);
        let values = standardised(&[0.3, 0.1, 0.7, 12.0, -4.5]).unwrap();
        assert!(values.iter().sum::<f64>().abs() < 1e-15);
        assert!((values.iter().map(|value| value * value).sum::<f64>() / 5.0 - 1.0).abs() < 1e-15);
    }

    #[test]
    fn constant_columns_are_found_and_set_to_zero() {
        assert_eq!(standardised(&[0.1; 7]), None);
        assert_eq!(standardised(&[0.0, -0.0]), None);
        assert_eq!(standardised(&[5.0]), None);
        let (scaled, constant) = standardised_columns(&[0.1, 2.0, 0.1, 4.0], 2);
        assert_eq!((scaled, constant), (vec![0.0, -1.0, 0.0, 1.0], vec![0]));
    }
}
