//! Notes on suspicious columns: ids and weights that would be used as coordinates.

use super::Draws;
use crate::selection::{is_id_like, is_weight_like};
use crate::{Note, Reading, Use};

/// Fewer rows than this count by chance.
const FEWEST_COUNTED: usize = 3;
/// A column that restarts more often than this is not checked further.
const MOST_CHAINS: usize = 10_000;

impl Draws {
    /// Notes on what was left out and on columns that may not be what they are used as.
    pub(super) fn add_notes(&mut self, reading: &Reading<'_>, counting: &Counting) {
        let (mean_rows, dropped) = (self.mean_rows(), self.dropped_na());
        let mut notes = Vec::new();
        notes.extend((mean_rows > 0).then_some(Note::MeanRows { rows: mean_rows }));
        notes.extend((dropped > 0).then_some(Note::MissingRows { rows: dropped, of: self.len() + dropped }));
        // Columns listed by name are intended.
        if reading.selection.only().is_none() {
            let such = |of: &dyn Fn(usize, &Use) -> bool| -> Option<Vec<String>> {
                let positions = (0..self.names().len()).filter(|&i| of(i, &self.uses()[i]));
                let columns: Vec<String> = positions.map(|i| self.names()[i].clone()).collect();
                (!columns.is_empty()).then_some(columns)
            };
            let not_numbers = such(&|_, one| matches!(one, Use::Text | Use::Empty | Use::NotNumbers(_)));
            notes.extend(not_numbers.map(|columns| Note::NotNumbers { columns }));
            let own = such(&|_, one| *one == Use::OwnWeight).and_then(|mut columns| columns.drain(..).next());
            notes.extend(own.map(|column| Note::WeightsNotUsed { column }));
            let is_id = |i: usize| is_id_like(&self.names()[i]) || self.counts(i, counting);
            let ids = such(&|i, one| *one == Use::Parameter && is_id(i));
            notes.extend(ids.map(|columns| Note::LookLikeIds { columns }));
            let weights = such(&|i, one| *one == Use::Parameter && is_weight_like(&self.names()[i]));
            notes.extend(weights.map(|columns| Note::LookLikeWeights { columns }));
        }
        self.notes.extend(notes);
    }

    /// Whether a parameter counts 0, 1, 2, … or 1, 2, 3, …: in the whole, in each file, or in each chain.
    fn counts(&self, position: usize, counting: &Counting) -> bool {
        // Slots are those of all numbers, functions among them.
        let slot = self.choice.columns.binary_search(&position).ok();
        let column = counting.columns.iter().flatten().find(|column| Some(column.slot) == slot);
        self.len() >= FEWEST_COUNTED
            && column.is_some_and(|column| column.starts.iter().all(|&row| self.chain_and_draw(row).1 == 1))
    }
}

/// The parameters that have counted from 0 or 1 so far, while rows go by.
#[derive(Debug, Default)]
pub(super) struct Counting {
    /// None before the first row.
    columns: Option<Vec<CountingColumn>>,
    rows: usize,
}

/// A parameter that has counted so far.
#[derive(Debug)]
struct CountingColumn {
    slot: usize,
    first: f64,
    last: f64,
    /// Rows at which it has begun again; whether chains begin there is known only once the file has been read.
    starts: Vec<usize>,
}

impl Counting {
    /// Checks the next rows; the first that does not count removes its column from the list, so this costs almost
    /// nothing.
    pub(super) fn see(&mut self, values: &[f64], dim: usize) {
        if values.is_empty() {
            return;
        }
        let counts = |slot: usize| values[slot] == 0.0 || values[slot] == 1.0;
        let column = |slot: usize| {
            let first = values[slot];
            CountingColumn { slot, first, last: first - 1.0, starts: Vec::new() }
        };
        let columns =
            self.columns.get_or_insert_with(|| (0..dim).filter(|&slot| counts(slot)).map(column).collect());
        let first_row = self.rows;
        self.rows += values.len() / dim;
        columns.retain_mut(|column| {
            let cells = values.iter().skip(column.slot).step_by(dim).enumerate();
            for (i, &value) in cells {
                if value != column.last + 1.0 {
                    if value != column.first || column.starts.len() == MOST_CHAINS {
                        return false;
                    }
                    column.starts.push(first_row + i);
                }
                column.last = value;
            }
            true
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{Draws, Note, Reading, Selection};

    fn notes(text: &str, selection: Selection) -> Vec<Note> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("d.csv");
        std::fs::write(&path, text).unwrap();
        let draws = Draws::read(&[&path, &path], &Reading { selection, ..Reading::default() }).unwrap();
        draws.notes().to_vec()
    }

    #[test]
    fn ids_and_weights_that_are_used_are_noted() {
        let text = "a,nr,iter,lp,weight,note\n0.5,1,7,-1,0.25,x\n0.25,2,9,-2,0.5,y\n4,3,8,-3,0.25,z\n";
        let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert_eq!(
            notes(text, Selection::Default),
            [
                Note::NotNumbers { columns: owned(&["note"]) },
                Note::WeightsNotUsed { column: "weight".to_string() },
                Note::LookLikeIds { columns: owned(&["nr", "iter"]) },
                Note::LookLikeWeights { columns: owned(&["lp"]) },
            ]
        );
        assert_eq!(notes(text, Selection::Only(owned(&["a", "nr", "lp"]))), []);
        let left = Selection::Except(owned(&["nr", "iter", "lp", "note", "weight"]));
        assert_eq!(notes(text, left), []);
    }
}
