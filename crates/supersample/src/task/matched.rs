//! Terms of the objective in addition to the joint distribution: marginals, moments, and functions of interest.

use std::sync::Arc;

use super::stream::GatheredFunctions;
use super::summary::Fitted;
use super::{Choose, Objective};
use crate::{ColumnMoments, Functions, Marginals, Part, Points, Result};

/// Values of a column, ascending, with the distribution function there.
pub(super) type Known = Vec<(f64, f64)>;

/// Terms of a problem's objective in addition to the joint distribution.
#[derive(Clone)]
pub(super) struct Matched {
    /// The weight of the marginals, 0 where they are not matched.
    pub(super) marginals: f64,
    /// The distribution function of each column at some values, where the rows are a sample of those that are matched.
    pub(super) known: Option<Arc<Vec<Known>>>,
    /// The means and variances of the columns, with their weight.
    pub(super) moments: Option<(ColumnMoments, f64)>,
    pub(super) functions: Option<FunctionsOfRows>,
    /// Published numbers.
    pub(super) fitted: Option<Fitted>,
}

/// Functions that can be matched, with their values at every row.
#[derive(Clone)]
pub(super) struct FunctionsOfRows {
    pub(super) functions: Functions,
    pub(super) values: Points,
    pub(super) weight: f64,
}

impl FunctionsOfRows {
    /// Functions with these values at the rows, and `aimed` at the rows that are matched, of these shares.
    pub(super) fn new(
        values: Points,
        aimed: &Points,
        shares: Option<&[f64]>,
        choose: &Choose,
    ) -> Result<FunctionsOfRows> {
        let Objective { functions: weight, functions_unit, .. } = choose.objective;
        let functions = Functions::in_unit(aimed, shares, functions_unit)?;
        Ok(FunctionsOfRows { functions, values, weight })
    }

    /// Functions of rows that are a sample of more, standardised by the moments of all rows.
    pub(super) fn of_gathered(gathered: &GatheredFunctions, choose: &Choose) -> Result<FunctionsOfRows> {
        let Objective { functions: weight, functions_unit, .. } = choose.objective;
        let functions = Functions::of_moments(&gathered.moments, gathered.values.row(0), functions_unit)?;
        Ok(FunctionsOfRows { functions, values: gathered.values.clone(), weight })
    }
}

/// The rows that are matched, in their own units, with their weights. Every part is built from these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aimed<'a> {
    pub(super) rows: &'a Points,
    pub(super) shares: Option<&'a [f64]>,
}

impl Matched {
    /// Parts of a pool of some rows, or of all. If all columns are constant there are no marginals to match.
    ///
    /// Where the rows of the pool have been selected, `chosen` has them.
    pub(super) fn parts(
        &self,
        Aimed { rows, shares }: Aimed<'_>,
        pool: &Points,
        some: Option<&[usize]>,
        chosen: Option<&Points>,
    ) -> Result<Vec<Part>> {
        let mut parts = Vec::new();
        let selected = |all: &Points| match (some, chosen) {
            (None, _) => Ok(all.clone()),
            (Some(_), Some(chosen)) if all.is_same_as(pool) => Ok(chosen.clone()),
            (Some(rows), _) => all.select(rows),
        };
        if self.marginals > 0.0 {
            parts.extend(match &self.known {
                None if rows.is_same_as(pool) => Part::own_marginals(rows, shares, some, self.marginals)?,
                known => Marginals::new(rows, shares)?
                    .map(|marginals| {
                        let marginals =
                            known.as_ref().map_or(marginals.clone(), |known| marginals.known_at(known));
                        Part::marginals(&marginals, &selected(pool)?, self.marginals)
                    })
                    .transpose()?,
            });
        }
        if let Some((moments, weight)) = &self.moments {
            parts.push(Part::moments(moments, &selected(pool)?, *weight)?);
        }
        if let Some(FunctionsOfRows { functions, values, weight }) = &self.functions {
            parts.push(Part::functions(functions, &selected(values)?, *weight)?);
        }
        if let Some(fitted) = &self.fitted {
            parts.extend(fitted.part(&selected(pool)?)?);
        }
        Ok(parts)
    }
}
