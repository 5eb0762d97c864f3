//! Suspects among the columns: ids and weights that are about to be used as coordinates, and what else deserves a note.

use super::Draws;
use crate::selection::{is_id_like, is_weight_like};
use crate::{Note, Reading, Use};

/// Fewer rows than this count by chance.
const FEWEST_COUNTED: usize = 3;

impl Draws {
    /// Notes on what was left out and on columns that may not be what they are used as.
    pub(super) fn add_notes(&mut self, reading: &Reading<'_>) {
        let mut notes = Vec::new();
        if self.mean_rows > 0 {
            notes.push(Note::MeanRows { rows: self.mean_rows });
        }
        if self.dropped > 0 {
            notes.push(Note::MissingRows { rows: self.dropped, of: self.len() + self.dropped });
        }
        // Whoever lists the columns to use has looked at them.
        if reading.selection.only().is_none() {
            let named = |positions: Vec<usize>| {
                positions.into_iter().map(|i| self.names()[i].clone()).collect::<Vec<_>>()
            };
            let such = |of: &dyn Fn(&Use) -> bool| {
                named((0..self.names().len()).filter(|&i| of(&self.uses()[i])).collect())
            };
            let not_numbers = such(&|one| matches!(one, Use::Text | Use::Empty | Use::NotNumbers(_)));
            if !not_numbers.is_empty() {
                notes.push(Note::NotNumbers { columns: not_numbers });
            }
            let own = such(&|one| *one == Use::OwnWeight).into_iter().next();
            notes.extend(own.map(|column| Note::WeightsNotUsed { column }));
            let suspects = |is_one: &dyn Fn(usize, &str) -> bool| {
                let columns = self.choice.columns.iter().copied().enumerate();
                let parameters = columns.filter(|&(_, i)| self.uses()[i] == Use::Parameter);
                named(
                    parameters.filter(|&(slot, i)| is_one(slot, &self.names()[i])).map(|(_, i)| i).collect(),
                )
            };
            let ids = suspects(&|slot, name| is_id_like(name) || self.counts(slot));
            if !ids.is_empty() {
                notes.push(Note::LookLikeIds { columns: ids });
            }
            let weights = suspects(&|_, name| is_weight_like(name));
            if !weights.is_empty() {
                notes.push(Note::LookLikeWeights { columns: weights });
            }
        }
        self.notes.extend(notes);
    }

    /// Whether a parameter counts 0, 1, 2, … or 1, 2, 3, …: in the whole, in each file, or in each chain. The functions
    /// are still among the values.
    fn counts(&self, slot: usize) -> bool {
        let dim = self.choice.columns.len();
        let value = |row: usize| self.values[row * dim + slot];
        let first = value(0);
        if self.len() < FEWEST_COUNTED || first != 0.0 && first != 1.0 {
            return false;
        }
        (1..self.len()).all(|row| {
            let is_start = || self.chain_and_draw(row).1 == 1 && value(row) == first;
            value(row) == value(row - 1) + 1.0 || is_start()
        })
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
