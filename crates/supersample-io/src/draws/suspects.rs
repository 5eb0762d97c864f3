//! Notes on suspicious columns: ids and weights that would be used as coordinates.

use supersample::words::{ColumnNote, Counting};

use super::Draws;
use crate::{Note, Reading, Use};

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
            let counting = counting.columns(|row| self.chain_and_draw(row).1 == 1);
            let about = self.names().iter().zip(self.uses()).enumerate().map(|(i, (name, one))| {
                // Slots are those of all numbers, functions among them.
                let slot = self.choice.columns.binary_search(&i);
                (name.as_str(), one, slot.is_ok_and(|slot| counting.contains(&slot)))
            });
            let named = about.filter(|(_, one, _)| matches!(one, Use::Parameter | Use::OwnWeight));
            let named = named.map(|(name, one, counts)| (name, *one == Use::Parameter, counts));
            notes.extend(ColumnNote::about(named).into_iter().map(Note::Columns));
        }
        self.notes.extend(notes);
    }
}

#[cfg(test)]
mod tests {
    use supersample::words::ColumnNote;

    use crate::{Draws, Note, Reading, Selection};

    fn notes(text: &str, selection: Selection) -> Vec<Note> {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["d.csv", "e.csv"].map(|name| folder.path().join(name));
        paths.iter().for_each(|path| std::fs::write(path, text).unwrap());
        let draws = Draws::read(&paths, &Reading { selection, ..Reading::default() }).unwrap();
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
                Note::Columns(ColumnNote::WeightsNotUsed("weight".to_string())),
                Note::Columns(ColumnNote::LookLikeIds(owned(&["nr", "iter"]))),
                Note::Columns(ColumnNote::LookLikeWeights(owned(&["lp"]))),
            ]
        );
        assert_eq!(notes(text, Selection::Only(owned(&["a", "nr", "lp"]))), []);
        let left = Selection::Except(owned(&["nr", "iter", "lp", "note", "weight"]));
        assert_eq!(notes(text, left), []);
    }
}
