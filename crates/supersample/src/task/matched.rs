//! Values of what is matched in addition to the joint distribution: marginals, and functions of interest.

use super::stream::GatheredFunctions;
use super::{Choose, Objective};
use crate::scale::Moments;
use crate::{Functions, FunctionsUnit, Marginals, Part, Points, Result};

/// What a problem matches in addition to the joint distribution.
#[derive(Clone)]
pub(super) struct Matched {
    /// The weight of the marginals, 0 where they are not matched.
    pub(super) marginals: f64,
    pub(super) functions: Option<FunctionsOfRows>,
    /// The columns and the squares of their deviations, where rows are corrected.
    pub(super) moments: Option<FunctionsOfRows>,
}

/// Functions that can be matched, with their values at every row.
#[derive(Clone)]
pub(super) struct FunctionsOfRows {
    pub(super) functions: Functions,
    pub(super) values: Points,
    pub(super) weight: f64,
}

impl FunctionsOfRows {
    pub(super) fn new(values: Points, shares: Option<&[f64]>, choose: &Choose) -> Result<FunctionsOfRows> {
        let Objective { functions: weight, functions_unit, .. } = choose.objective;
        let functions = Functions::in_unit(&values, shares, functions_unit)?;
        Ok(FunctionsOfRows { functions, values, weight })
    }

    /// The means and variances of these rows as functions: each column that is not constant, and the squares of its deviations.
    /// `None` where there are none that vary.
    pub(super) fn moments(rows: &Points, shares: Option<&[f64]>, weight: f64) -> Option<FunctionsOfRows> {
        let moments: Vec<(usize, Moments)> = (0..rows.dim())
            .filter_map(|j| Some((j, Moments::of(rows.as_slice(), rows.dim(), j, shares)?)))
            .collect();
        let of_row = |row: &[f64]| {
            let standard = moments.iter().map(|(j, of)| (row[*j] - of.mean) / of.sd).collect::<Vec<f64>>();
            let squares: Vec<f64> = standard.iter().map(|z| z * z).collect();
            [standard, squares].concat()
        };
        let values = Points::from_vec(rows.rows().flat_map(of_row).collect(), 2 * moments.len()).ok()?;
        let functions = Functions::in_unit(&values, shares, FunctionsUnit::Each).ok()?;
        Some(FunctionsOfRows { functions, values, weight })
    }

    /// The functions of rows that are a sample of more, standardised by the moments of all of these.
    pub(super) fn of_gathered(gathered: &GatheredFunctions, choose: &Choose) -> Result<FunctionsOfRows> {
        let Objective { functions: weight, functions_unit, .. } = choose.objective;
        let functions = Functions::of_moments(&gathered.moments, gathered.values.row(0), functions_unit)?;
        Ok(FunctionsOfRows { functions, values: gathered.values.clone(), weight })
    }
}

impl Matched {
    /// The parts of a pool of these of the rows, or of all. Columns that are all constant have no marginals to match.
    pub(super) fn parts(
        &self,
        rows: &Points,
        shares: Option<&[f64]>,
        some: Option<&[usize]>,
    ) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let selected = |all: &Points| some.map_or_else(|| Ok(all.clone()), |rows| all.select(rows));
        if self.marginals > 0.0
            && let Some(marginals) = Marginals::new(rows, shares)?
        {
            parts.push(Part::marginals(&marginals, &selected(rows)?, self.marginals)?);
        }
        for FunctionsOfRows { functions, values, weight } in self.functions.iter().chain(&self.moments) {
            parts.push(Part::functions(functions, &selected(values)?, *weight)?);
        }
        Ok(parts)
    }
}
