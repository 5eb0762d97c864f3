//! Weights and values of what is matched beside the joint distribution: marginals, and functions of interest.

use super::gather::GatheredFunctions;
use crate::points::expect_rows;
use crate::words::Opt;
use crate::{Error, Functions, FunctionsUnit, Points, Result};

/// The weight of the marginals that suits thinning: a part of the attention that leaves nearly all of the joint MMD.
pub const MARGINALS: f64 = 0.1;

/// The weight of functions of interest, where none is given: as much as the joint distribution.
pub const FUNCTIONS: f64 = 1.0;

/// Functions of the rows whose means are to be matched, in their own units: predictions, generated quantities, costs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FunctionValues {
    /// All functions of the first row, then all of the second, …
    pub values: Vec<f64>,
    /// How many functions there are.
    pub count: usize,
    /// How much they count beside the joint distribution, whose weight is 1; positive.
    pub weight: f64,
}

impl FunctionValues {
    /// So many functions of each row, with weight [`FUNCTIONS`].
    pub fn new(values: Vec<f64>, count: usize) -> FunctionValues {
        FunctionValues { values, count, weight: FUNCTIONS }
    }

    /// These functions with this weight.
    pub fn weight(self, weight: f64) -> FunctionValues {
        FunctionValues { weight, ..self }
    }
}

/// Functions found to be fit to be matched, at every row.
pub(super) struct FunctionsOfRows {
    pub(super) functions: Functions,
    pub(super) values: Points,
    pub(super) weight: f64,
}

impl FunctionsOfRows {
    pub(super) fn new(
        given: FunctionValues,
        unit: FunctionsUnit,
        rows: usize,
        shares: Option<&[f64]>,
    ) -> Result<FunctionsOfRows> {
        let FunctionValues { values, count, weight } = given;
        let values = Points::from_vec(values, count).map_err(|error| match error {
            Error::NonFinite { row, column, value } => Error::NonFiniteFunction { row, column, value },
            error => error,
        })?;
        expect_rows("the functions", values.len(), rows)?;
        let weight = checked_weight(weight)?;
        Ok(FunctionsOfRows { functions: Functions::in_unit(&values, shares, unit)?, values, weight })
    }

    /// The functions of rows that are a sample of more, standardised by the moments of all of these.
    pub(super) fn of_gathered(gathered: &GatheredFunctions, unit: FunctionsUnit) -> Result<FunctionsOfRows> {
        let functions = Functions::of_moments(&gathered.moments, gathered.values.row(0), unit)?;
        let weight = checked_weight(gathered.weight)?;
        Ok(FunctionsOfRows { functions, values: gathered.values.clone(), weight })
    }
}

pub(super) fn checked_weight(weight: f64) -> Result<f64> {
    if weight > 0.0 && weight.is_finite() {
        return Ok(weight);
    }
    let advice = "give a positive number, or leave the functions out";
    Err(Error::BadOption { option: Opt::FunctionsWeight, value: weight, advice })
}
