//! Summary of a parameter in its own units: of all rows and of the subset.

use supersample::quality::{ColumnErrors, ColumnSummary};

/// Mean, standard deviation and quantiles of one column, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) mean: Option<f64>,
    pub(crate) sd: Option<f64>,
    /// At the levels of the report.
    pub(crate) quantiles: [Option<f64>; 5],
}

/// One column twice: of all rows, and of the subset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ComparedColumn {
    pub(crate) all: Summary,
    pub(crate) subset: Summary,
    /// The unit of its errors.
    pub(crate) unit: f64,
}

impl ComparedColumn {
    /// The subset's own numbers follow from all rows' and its errors, which are in their standard deviations.
    pub(crate) fn new(all: ColumnSummary, errors: &ColumnErrors) -> ComparedColumn {
        let ColumnSummary { mean, sd, quantiles, .. } = all;
        let moved = |from: f64, error: Option<f64>| error.map(|error| from + error * sd);
        ComparedColumn {
            all: Summary { mean: Some(mean), sd: Some(sd), quantiles: quantiles.map(Some) },
            subset: Summary {
                mean: moved(mean, errors.mean),
                sd: moved(sd, errors.sd),
                quantiles: std::array::from_fn(|q| moved(quantiles[q], errors.quantiles[q])),
            },
            unit: sd,
        }
    }
}

#[cfg(test)]
mod tests {
    use supersample::quality::Reference;

    use super::*;

    #[test]
    fn the_numbers_of_a_subset_are_its_own() {
        let reference = Reference::new(&[0.0, 1.0, 2.0, 3.0, 14.0], 1, None).unwrap();
        let quality = reference.quality(&[1.0, 3.0, 5.0], None).unwrap();
        let beside = ComparedColumn::new(reference.column(0).unwrap(), &quality.columns[0]);
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        near(beside.all.mean, 4.0);
        near(beside.subset.mean, 3.0);
        near(beside.subset.sd, (8.0_f64 / 3.0).sqrt());
        near(beside.subset.quantiles[2], 3.0);
        near(beside.all.quantiles[2], 2.0);
        // Of rows with negative weights only the mean is known.
        let signed = reference.quality(&[1.0, 3.0], Some(&[-1.0, 2.0])).unwrap();
        let beside = ComparedColumn::new(reference.column(0).unwrap(), &signed.columns[0]);
        near(beside.subset.mean, 5.0);
        assert_eq!((beside.subset.sd, beside.subset.quantiles), (None, [None; 5]));
    }
}
