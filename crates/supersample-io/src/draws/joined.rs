//! Rows of another file that belong to the rows of the draws: by the ids that both have, else by their order.

use std::collections::HashMap;
use std::path::Path;

use supersample::words::id_name;

use super::groups::label;
use super::{Draws, Missing};
use crate::error::refused;
use crate::origin::Origin;
use crate::reading::Choice;
use crate::source::Sink;
use crate::words::shown;
use crate::{Error, Reading, Result, Selection};

/// Which row of another file belongs to each row of the draws.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Joined {
    /// For each used row of the draws the row of the other file.
    pub rows: Vec<usize>,
    /// The ids by which rows in another order were found; empty where the order is that of the draws.
    pub by: Vec<&'static str>,
}

/// Ids of rows that are unique together, the surest first.
const KEYS: [&[&str]; 3] = [&["row"], &["chain", "draw"], &["chain", "iteration"]];

impl Draws {
    /// The names of all columns of a file, of which only the head is read.
    pub fn names_in(path: &Path, reading: &Reading<'_>) -> Result<Vec<String>> {
        struct Names(Option<Vec<String>>);
        impl Sink for Names {
            fn begin(&mut self, choice: &Choice) -> Result<()> {
                self.0 = Some(choice.names.clone());
                Err(Error::Ended)
            }

            fn take(&mut self, _: &[f64], _: &[f64], _: f64) -> Result<()> {
                Ok(())
            }
        }
        // Listed by name, no column is left out for what it holds.
        let selection = Selection::Only(vec!["*".to_string()]);
        let mut names = Names(None);
        let read = Draws::gather(
            &[path],
            &Reading { selection, ..reading.clone() },
            Missing::of(reading),
            &mut names,
        );
        match (names.0, read) {
            (Some(names), _) => Ok(names),
            (None, read) => Err(read.err().unwrap_or(Error::Empty)),
        }
    }

    /// The first bytes of a file or a pipe, unpacked; at most this number.
    pub fn start_of(path: &Path, bytes: usize) -> Result<Vec<u8>> {
        Origin::open(path).and_then(|origin| origin.start(bytes)).map_err(|error| error.in_file(path))
    }

    /// Finds the row of another file for each row of these: a file that has one row for each row of these files, those
    /// that were left out for a missing value included. Where both have a column `row`, or `chain` and `draw`, these
    /// say which; rows that cannot be found by them are an error.
    ///
    /// A `row` of the other file alone counts these rows, from 0 or 1, if it has every number once.
    pub fn joined(&self, other: &Draws) -> Result<Joined> {
        let in_order: Vec<usize> = (0..self.len()).map(|row| self.row_number(row)).collect();
        for ids in KEYS {
            let Some(theirs) = other.labels(ids, &Vec::from_iter(0..other.len()))? else { continue };
            let (own, is_told) = match self.labels(ids, &Vec::from_iter(0..self.len()))? {
                Some(own) => (own, true),
                None if ids.iter().any(|id| self.has_id(id)) => continue,
                None => (self.counted(ids, &theirs), false),
            };
            let differs = (0..self.len()).find(|&row| own[row] != theirs[in_order[row]]);
            let Some(differs) = differs else { break };
            let mut places = HashMap::new();
            let is_unique = theirs.iter().enumerate().all(|(row, key)| places.insert(key, row).is_none());
            let rows: Option<Vec<usize>> = own.iter().map(|key| places.get(key).copied()).collect();
            match rows.filter(|_| is_unique) {
                Some(rows) => return Ok(Joined { rows, by: ids.to_vec() }),
                None if is_told => {
                    let row = in_order[differs];
                    return Err(refused!(
                        "its rows are in another order than the draws: row {} has {} {}, and that of the draws has {}; \
                         each must be there once to find the rows by it, so write them in the order of the draws, or \
                         leave the column out",
                        row + 1,
                        ids.join(", "),
                        shown(&theirs[row].join(", ")),
                        shown(&own[differs].join(", "))
                    ));
                }
                // The numbers are about something else.
                None => {}
            }
        }
        Ok(Joined { rows: in_order, by: Vec::new() })
    }

    fn has_id(&self, id: &str) -> bool {
        self.id_position(id).is_some()
    }

    fn id_position(&self, id: &str) -> Option<usize> {
        self.names().iter().position(|name| id_name(name) == Some(id))
    }

    /// The ids of these rows; `None` if not all of them have a column.
    fn labels(&self, ids: &[&str], rows: &[usize]) -> Result<Option<Vec<Vec<String>>>> {
        let positions: Option<Vec<usize>> = ids.iter().map(|id| self.id_position(id)).collect();
        let Some(positions) = positions else { return Ok(None) };
        let mut all = vec![Vec::with_capacity(ids.len()); rows.len()];
        for position in positions {
            let frame = self.columns(&[position], rows)?;
            let Some((_, cells)) = frame.columns.first() else { return Ok(None) };
            all.iter_mut().enumerate().for_each(|(row, labels)| labels.push(label(cells.text(row))));
        }
        Ok(Some(all))
    }

    /// The ids that the rows have by their place in the files, counted as the other file does.
    fn counted(&self, ids: &[&str], theirs: &[Vec<String>]) -> Vec<Vec<String>> {
        let first = usize::from(!theirs.iter().any(|key| key == &["0"]));
        (0..self.len())
            .map(|row| match ids {
                ["row"] => vec![(self.row_number(row) + first).to_string()],
                _ => {
                    let (chain, draw) = self.chain_and_draw(row);
                    vec![chain.to_string(), draw.to_string()]
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The draws, the file to join, and the result.
    fn joined(draws: &str, other: &str) -> std::result::Result<Joined, String> {
        let folder = tempfile::tempdir().unwrap();
        let read = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Draws::read(&[path], &Reading { drop_na: name == "d.csv", ..Reading::default() }).unwrap()
        };
        let (draws, other) = (read("d.csv", draws), read("o.csv", other));
        draws.joined(&other).map_err(|error| error.to_string())
    }

    fn rows(draws: &str, other: &str) -> Vec<usize> {
        joined(draws, other).unwrap().rows
    }

    #[test]
    fn rows_are_found_by_the_ids_that_both_have() {
        let draws = "chain,draw,a\n1,1,5\n1,2,6\n2,1,7\n2,2,8\n";
        assert_eq!(rows(draws, "f\n1\n2\n3\n4\n"), [0, 1, 2, 3]);
        let by = joined(draws, ".chain,Draw,f\n1,1,0\n2,1,0\n1.0,2,0\n2,2,0\n").unwrap();
        assert_eq!((by.rows, by.by), (vec![0, 2, 1, 3], vec!["chain", "draw"]));
        assert_eq!(joined(draws, "chain,draw,f\n1,1,0\n1,2,0\n2,1,0\n2,2,0\n").unwrap().by, [""; 0]);
        // One of the two is not enough, and nothing is known of their order.
        assert_eq!(rows(draws, "chain,f\n1,1\n2,2\n1,3\n2,4\n"), [0, 1, 2, 3]);
        let refused = joined(draws, "chain,draw,f\n1,1,0\n1,1,0\n2,1,0\n2,2,0\n").unwrap_err();
        assert!(
            refused.starts_with("its rows are in another order than the draws: row 2 has chain, draw 1, 1")
        );
    }

    #[test]
    fn a_row_number_counts_the_draws_where_they_have_none() {
        let draws = "a\n5\n6\nNA\n8\n";
        assert_eq!(rows(draws, "row,f\n3,0\n2,0\n1,0\n0,0\n"), [3, 2, 0]);
        assert_eq!(rows(draws, "row,f\n4,0\n3,0\n2,0\n1,0\n"), [3, 2, 0]);
        // These number something else.
        assert_eq!(rows(draws, "row,f\n9,0\n9,0\n8,0\n7,0\n"), [0, 1, 3]);
        assert_eq!(rows("row,a\n7,5\n9,6\n8,4\n", "row,f\n9,0\n7,0\n8,0\n"), [1, 0, 2]);
        assert!(joined("row,a\n7,5\n9,6\n8,4\n", "row,f\n0,0\n1,0\n2,0\n").is_err());
    }

    #[test]
    fn names_are_read_without_the_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.csv");
        std::fs::write(&path, "mean,sd_log__,note\n1,NA,x\n").unwrap();
        assert_eq!(Draws::names_in(&path, &Reading::default()).unwrap(), ["mean", "sd_log__", "note"]);
        assert!(Draws::names_in(&folder.path().join("none"), &Reading::default()).is_err());
    }
}
