//! Surveys: what files hold and how they would be used. Cells that are not numbers are counted instead of being an
//! error.

use std::path::Path;

use super::Draws;
use crate::reading::Missing;
use crate::{Format, Note, Reading, Result, Use};

/// Content of files, and how they would be used.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Survey {
    /// The format of the first file.
    pub format: Format,
    /// Number of rows, including those with missing values.
    pub rows: usize,
    /// Number of rows with a cell in a used column that is not a finite number.
    pub incomplete_rows: usize,
    /// Number of chains.
    pub chains: usize,
    /// Number of warm-up rows that were left out.
    pub warmup: usize,
    /// Number of rows that were left out as the mean of an approximation.
    pub mean_rows: usize,
    /// The columns in the order of the file.
    pub columns: Vec<ColumnSurvey>,
    /// Assumptions.
    pub notes: Vec<Note>,
}

/// Content of one column.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ColumnSurvey {
    /// Its name.
    pub name: String,
    /// Use of the column, or why it is not used.
    pub used_as: Use,
    /// Number of cells that are not finite numbers; 0 if it is not used as numbers.
    pub missing: usize,
    /// The smallest and the largest of its numbers; `None` if it is not used as numbers or has none. Both are equal
    /// for a constant column.
    pub range: Option<(f64, f64)>,
}

impl Survey {
    /// Reads all files and counts the cells that would be errors in [`Draws::read`]. A file that is not a table is an
    /// error as there.
    pub fn read(paths: &[impl AsRef<Path>], reading: &Reading<'_>) -> Result<Survey> {
        let draws = Draws::read_with(paths, reading, Missing::AnyKept)?;
        let (rows, dim) = (draws.len(), draws.choice.columns.len());
        let weights = draws.weights();
        let is_whole = |row: usize| {
            let of_row = &draws.values[row * dim..(row + 1) * dim];
            !of_row.iter().any(|value| value.is_nan())
                && !weights.is_some_and(|weights| weights[row].is_nan())
        };
        let column = |(position, name): (usize, &String)| {
            let slot = draws.choice.columns.binary_search(&position).ok();
            let cells: Option<Vec<f64>> = match (slot, weights) {
                (Some(slot), _) => Some((0..rows).map(|row| draws.values[row * dim + slot]).collect()),
                (None, Some(weights)) if draws.choice.weight == Some(position) => Some(weights.to_vec()),
                _ => None,
            };
            let cells = cells.unwrap_or_default();
            let numbers = || cells.iter().copied().filter(|value| !value.is_nan());
            ColumnSurvey {
                name: name.clone(),
                used_as: draws.uses()[position].clone(),
                missing: cells.len() - numbers().count(),
                range: numbers().next().map(|first| {
                    numbers().fold((first, first), |(least, most), value| (least.min(value), most.max(value)))
                }),
            }
        };
        Ok(Survey {
            format: draws.format(),
            rows,
            incomplete_rows: (0..rows).filter(|&row| !is_whole(row)).count(),
            chains: draws.chains(),
            warmup: draws.warmup(),
            mean_rows: draws.mean_rows(),
            columns: draws.names().iter().enumerate().map(column).collect(),
            notes: draws.notes().to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_and_constants_are_counted_column_by_column() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, "chain,a,b,c,w,note\n1,1,5,NA,1,x\n1,,5,2,2,y\n2,inf,5,x,3,z\n").unwrap();
        let reading = Reading { weight_column: Some("w"), ..Reading::default() };
        assert!(Draws::read(&[&path], &reading).is_err());
        let survey = Survey::read(&[&path, &path], &reading).unwrap();
        assert_eq!((survey.rows, survey.incomplete_rows, survey.chains), (6, 6, 2));
        let constant = |(least, most): (f64, f64)| (least == most).then_some(least);
        let columns: Vec<(&str, &Use, usize, Option<f64>)> = survey
            .columns
            .iter()
            .map(|column| {
                (column.name.as_str(), &column.used_as, column.missing, column.range.and_then(constant))
            })
            .collect();
        assert_eq!(
            columns,
            [
                ("chain", &Use::Id, 0, None),
                ("a", &Use::Parameter, 4, Some(1.0)),
                ("b", &Use::Parameter, 0, Some(5.0)),
                ("c", &Use::Parameter, 4, Some(2.0)),
                ("w", &Use::Weight, 0, None),
                ("note", &Use::Text, 0, None),
            ]
        );
        assert_eq!(survey.columns[4].range, Some((1.0, 3.0)));
    }
}
