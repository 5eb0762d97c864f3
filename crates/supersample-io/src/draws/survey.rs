//! Surveys: what files hold and how they would be used. Cells that are not numbers are counted instead of being an
//! error.

use std::path::Path;

use super::Draws;
use crate::reading::{Choice, Missing};
use crate::source::Sink;
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
        let mut tally = Tally::default();
        let draws = Draws::gather(paths, reading, Missing::AnyKept, &mut tally)?;
        let column = |(position, name): (usize, &String)| {
            let slot = draws.choice.columns.binary_search(&position).ok();
            let cells = match slot {
                Some(slot) => tally.columns[slot],
                None if draws.choice.weight == Some(position) => tally.weights,
                None => Cells::default(),
            };
            let (name, used_as) = (name.clone(), draws.uses()[position].clone());
            ColumnSurvey { name, used_as, missing: cells.missing, range: cells.range }
        };
        Ok(Survey {
            format: draws.format(),
            rows: draws.len(),
            incomplete_rows: tally.incomplete,
            chains: draws.chains(),
            warmup: draws.warmup(),
            mean_rows: draws.mean_rows(),
            columns: draws.names().iter().enumerate().map(column).collect(),
            notes: draws.notes().to_vec(),
        })
    }
}

/// What was seen of a column.
#[derive(Debug, Clone, Copy, Default)]
struct Cells {
    missing: usize,
    range: Option<(f64, f64)>,
}

impl Cells {
    fn see(&mut self, value: f64) {
        if value.is_nan() {
            self.missing += 1;
        } else {
            let (least, most) = self.range.unwrap_or((value, value));
            self.range = Some((least.min(value), most.max(value)));
        }
    }
}

/// Counts while rows go by, of which none is kept.
#[derive(Debug, Default)]
struct Tally {
    columns: Vec<Cells>,
    weights: Cells,
    incomplete: usize,
}

impl Sink for Tally {
    fn begin(&mut self, choice: &Choice) -> Result<()> {
        self.columns.resize(choice.columns.len(), Cells::default());
        Ok(())
    }

    fn take(&mut self, values: &[f64], weights: &[f64], _: f64) -> Result<()> {
        for (row, values) in values.chunks_exact(self.columns.len()).enumerate() {
            self.columns.iter_mut().zip(values).for_each(|(column, value)| column.see(*value));
            let weight = weights.get(row).copied();
            weight.into_iter().for_each(|weight| self.weights.see(weight));
            let is_whole = !values.iter().copied().chain(weight).any(f64::is_nan);
            self.incomplete += usize::from(!is_whole);
        }
        Ok(())
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
