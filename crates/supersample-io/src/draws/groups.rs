//! Groups of rows by the values of a column.

use std::collections::HashMap;

use supersample::words::id_name;

use super::Draws;
use crate::error::refused;
use crate::{Error, Place, Result};

/// Distinct values of a column, and the value of each row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Groups {
    /// The values, in the order in which they first come. A whole number is written as one for any type.
    pub names: Vec<String>,
    /// For each row the position of its value among the names.
    pub of_row: Vec<usize>,
}

impl Draws {
    /// The rows by the values of the column that was asked for as [`group_column`](crate::Reading::group_column);
    /// `None` if none was. A file without a column `chain` has its own chains.
    pub fn groups(&self) -> Result<Option<Groups>> {
        self.group_column.map(|position| self.grouped_by(position)).transpose()
    }

    /// Whether a column says which chain each row is of.
    pub fn has_chain_column(&self) -> bool {
        self.chain_column().is_some()
    }

    fn chain_column(&self) -> Option<usize> {
        self.names().iter().position(|name| id_name(name) == Some("chain"))
    }

    /// The rows by chain: by a column of that name where there is one, else by the chains that the files are. Each file has
    /// its own chains: chain 1 of another file is another chain, since it comes from another run.
    pub fn by_chain(&self) -> Result<Groups> {
        let mut groups = self.grouped_by(self.chain_column())?;
        let (mut names, mut places): (Vec<String>, _) = (Vec::new(), HashMap::new());
        for (number, file) in self.files.iter().enumerate() {
            for group in &mut groups.of_row[file.first_row..file.first_row + file.rows()] {
                *group = *places.entry((number, *group)).or_insert_with_key(|&(_, group)| {
                    let name = groups.names[group].clone();
                    let is_new = !names.contains(&name);
                    names.push(if is_new { name } else { format!("{name} of file {}", number + 1) });
                    names.len() - 1
                });
            }
        }
        Ok(Groups { names, ..groups })
    }

    /// The rows by the values of the column at this position, or by the chains that the files are.
    fn grouped_by(&self, position: Option<usize>) -> Result<Groups> {
        let (mut names, mut of_row) = (Vec::new(), Vec::with_capacity(self.len()));
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut place_of = |label: String| {
            *places.entry(label).or_insert_with_key(|label| {
                names.push(label.clone());
                names.len() - 1
            })
        };
        let Some(position) = position else {
            let mut last = None;
            for row in 0..self.len() {
                let chain = self.chain_and_draw(row).0;
                let same = last.filter(|(other, _)| *other == chain);
                let (_, place) = *last.insert(same.unwrap_or_else(|| (chain, place_of(chain.to_string()))));
                of_row.push(place);
            }
            return Ok(Groups { names, of_row });
        };
        let name = &self.names()[position];
        let frame = self.columns(&[position], &Vec::from_iter(0..self.len()))?;
        let Some((_, cells)) = frame.columns.first() else {
            let kind = "neither numbers nor text".to_string();
            return Err(Error::NotNumbers { column: name.clone(), kind });
        };
        for row in 0..self.len() {
            let text = cells.text(row);
            if text.is_empty() {
                let file = self.file_of(row);
                let place = Place { row: file.own_row(row) + 1, line: None, column: name.clone() };
                let error = refused!(
                    "{place} is empty; every row needs a value there, so that rows can be grouped by it"
                );
                return Err(error.in_file(&file.path));
            }
            of_row.push(place_of(label(text)));
        }
        Ok(Groups { names, of_row })
    }
}

/// `1.0`, `1` and `01` are one label.
pub(super) fn label(text: String) -> String {
    match text.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && number.abs() < 1e15 => (number as i64).to_string(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use crate::{Column, Draws, Frame, OutputFormat, Reading};

    fn frame() -> Frame {
        let kinds = ["b", "a", "b", "c"].map(|kind| Some(kind.to_string())).to_vec();
        Frame {
            columns: vec![
                ("x".to_string(), Column::doubles([0.0, 1.0, 2.0, 4.0])),
                ("kind".to_string(), kinds.into()),
                ("class".to_string(), Column::doubles([2.0, 2.0, 7.0, 0.5])),
            ],
        }
    }

    fn names_and_rows(paths: &[&std::path::Path], column: &str) -> (Vec<String>, Vec<usize>) {
        let reading = Reading { group_column: Some(column), ..Reading::default() };
        let draws = Draws::read(paths, &reading).map_err(|error| error.to_string()).unwrap();
        let groups = draws.groups().unwrap().unwrap();
        assert_eq!(groups.of_row.len(), draws.len());
        (groups.names, groups.of_row)
    }

    #[test]
    fn chains_are_those_of_a_column_or_of_the_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        let by_chain = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Draws::read(&[&path, &path], &Reading::default()).unwrap().by_chain()
        };
        let column = by_chain("x,.chain\n1,3\n2,3\n4,5\n").unwrap();
        assert_eq!(column.names, ["3", "5", "3 of file 2", "5 of file 2"]);
        assert_eq!(column.of_row, [0, 0, 1, 2, 2, 3]);
        let files = by_chain("x\n1\n2\n").unwrap();
        assert_eq!((files.names, files.of_row), (vec!["1".to_string(), "2".to_string()], vec![0, 0, 1, 1]));
        assert!(by_chain("x,chain\n1,\n2,3\n").is_err());
    }

    #[test]
    fn every_format_gives_the_same_groups() {
        let folder = tempfile::tempdir().unwrap();
        for ending in ["csv", "csv.gz", "npz", "parquet", "arrow"] {
            let path = folder.path().join(format!("d.{ending}"));
            let mut bytes = Vec::new();
            frame().write_as(OutputFormat::of_path(&path).unwrap(), &mut bytes).unwrap();
            std::fs::write(&path, bytes).unwrap();
            // The other text column would be an error as a parameter.
            let mut numbers = Vec::new();
            let mut plain = frame();
            plain.columns.remove(1);
            plain.write_as(OutputFormat::of_path(&path).unwrap(), &mut numbers).unwrap();
            let (names, rows) = names_and_rows(&[&path], "kind");
            assert_eq!(
                (names, rows),
                (vec!["b".into(), "a".into(), "c".into()], vec![0, 1, 0, 2]),
                "{ending}"
            );
            std::fs::write(&path, numbers).unwrap();
            let (names, rows) = names_and_rows(&[&path], "class");
            assert_eq!(
                (names, rows),
                (vec!["2".into(), "7".into(), "0.5".into()], vec![0, 0, 1, 2]),
                "{ending}"
            );
            let (names, rows) = names_and_rows(&[&path, &path], "chain");
            assert_eq!(
                (names, rows),
                (vec!["1".into(), "2".into()], vec![0, 0, 0, 0, 1, 1, 1, 1]),
                "{ending}"
            );
        }
        let path = folder.path().join("d.npy");
        let mut bytes = Vec::new();
        let mut plain = frame();
        plain.columns.remove(1);
        plain.write_as(OutputFormat::of_path(&path).unwrap(), &mut bytes).unwrap();
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(names_and_rows(&[&path], "x2").1, [0, 0, 1, 2]);
    }

    #[test]
    fn a_group_column_is_no_parameter_and_has_no_holes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, ".chain,x,class\n1,2,3\n4,5,\n").unwrap();
        let reading = |column| Reading { group_column: Some(column), ..Reading::default() };
        let draws = Draws::read(&[&path], &reading("class")).unwrap();
        assert_eq!(draws.parameter_names(), ["x"]);
        let error = draws.groups().unwrap_err().to_string();
        assert!(error.contains("row 2, column 'class' is empty; every row needs a value there"), "{error}");
        // By the bare word for the id, as everywhere.
        assert!(Draws::read(&[&path], &reading("chain")).is_err());
        std::fs::write(&path, ".chain,x,class\n1,2,3\n4,5,6\n").unwrap();
        let groups = Draws::read(&[&path], &reading("chain")).unwrap().groups().unwrap().unwrap();
        assert_eq!(groups.names, ["1", "4"]);
        let error = Draws::read(&[&path], &reading("nope")).unwrap_err().to_string();
        assert!(error.contains("there is no column 'nope'"), "{error}");
        assert_eq!(Draws::read(&[&path], &Reading::default()).unwrap().groups().unwrap(), None);
    }
}
