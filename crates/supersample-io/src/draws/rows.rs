//! Second pass: chosen rows with all their columns, read from their files.

use std::io::Write;
use std::path::Path;

use supersample::words::{OWN_WEIGHTS, id_name};

use super::{Draws, File};
use crate::format::{Format, OutputFormat};
use crate::frame::{Column, Frame, Gathered};
use crate::npy::NpySource;
use crate::npz::NpzSource;
use crate::source::Dress;
use crate::text::{TextSource, quoted};
#[cfg(any(feature = "netcdf", feature = "zarr"))]
use crate::tree::TreeSource;
use crate::write::packed;
use crate::{Error, Note, Result, npy};

/// The error of reading this file; what cannot be written is not its fault.
fn of_input(error: Error, path: &Path) -> Error {
    match error {
        Error::Unwritable(_) => error,
        error => error.in_file(path),
    }
}

impl Draws {
    /// Returns these rows (counted from 0 over all files) with all their columns, in the given order.
    pub fn frame(&self, rows: &[usize]) -> Result<Frame> {
        self.columns(&Vec::from_iter(0..self.names().len()), rows)
    }

    /// The columns of these positions, in these rows.
    pub(super) fn columns(&self, positions: &[usize], rows: &[usize]) -> Result<Frame> {
        let mut gathered = Gathered::new(rows);
        for file in &self.files {
            gathered.add(file.first_row..file.first_row + file.rows(), |places| {
                let own: Vec<usize> =
                    places.iter().map(|&place| file.own_row(file.first_row + place)).collect();
                let frame = file.source().frame(self.names(), positions, &own);
                frame.map_err(|error| error.in_file(&file.path))
            })?;
        }
        gathered.finish()
    }

    /// Returns notes about columns that this format writes as text or cannot hold. An error is the one that
    /// [`write_rows`](Self::write_rows) would return, available before the work.
    pub fn check_output(&self, output: OutputFormat) -> Result<Vec<Note>> {
        let format = output.format;
        // Text goes out as it is, and arrays keep their types among themselves.
        let is_kept = format == Format::Npy
            || self.same_text(output).is_some()
            || format == Format::Npz
                && self.files.len() == 1
                && self.files[0].source_as::<NpzSource>().is_some();
        if is_kept {
            return Ok(Vec::new());
        }
        #[cfg(any(feature = "netcdf", feature = "zarr"))]
        if let Some((file, tree)) = self.same_tree(format) {
            tree.cut(&[0], None).map_err(|error| error.in_file(&file.path))?;
            let columns = tree.not_written();
            return Ok(Vec::from_iter((!columns.is_empty()).then_some(Note::NotWritten { columns, format })));
        }
        let frame = self.frame(&[0])?;
        let mut notes = frame.notes_for(format);
        let is_there = |name: &String| frame.columns.iter().any(|(other, _)| other == name);
        let columns: Vec<String> = self.names().iter().filter(|name| !is_there(name)).cloned().collect();
        if !columns.is_empty() {
            notes.push(Note::NotWritten { columns, format });
        }
        // Any other error of a type also occurs with one row.
        self.write_rows(&[0], None, output, &mut std::io::sink())?;
        Ok(notes)
    }

    /// Writes these rows (counted from 0 over all files) with all their columns, in the order given; a row may be given
    /// more than once. From text to text of the same separator each row goes out character for character.
    ///
    /// Behind the columns of the file come `chain` and `draw` from 1 and `row` from 0, each unless the file has such a
    /// column, and `weight` where weights are given. An .npy file has no names and holds only the parameters and the
    /// functions. Columns that the format cannot hold are left out; see [`check_output`](Self::check_output).
    ///
    /// # Panics
    /// If a row is not in the files.
    #[track_caller]
    pub fn write_rows(
        &self,
        rows: &[usize],
        weights: Option<&[f64]>,
        output: OutputFormat,
        out: &mut dyn Write,
    ) -> Result<()> {
        assert!(rows.iter().all(|&row| row < self.len()), "a row is not in the files");
        packed(output, out, |out| self.write_unpacked(rows, weights, output, out))
    }

    fn write_unpacked(
        &self,
        rows: &[usize],
        weights: Option<&[f64]>,
        output: OutputFormat,
        out: &mut dyn Write,
    ) -> Result<()> {
        let added = self.added_columns(rows, weights);
        if let Some(texts) = self.same_text(output) {
            return self.write_verbatim(rows, &added, &texts, out);
        }
        #[cfg(any(feature = "netcdf", feature = "zarr"))]
        if let Some((file, tree)) = self.same_tree(output.format) {
            let own: Vec<usize> = rows.iter().map(|&row| file.own_row(row)).collect();
            return tree
                .write_rows(&own, weights, output.format, out)
                .map_err(|error| of_input(error, &file.path));
        }
        match (output.format, &self.files[..]) {
            (Format::Npy, _) => match self.same_arrays() {
                Some(descr) => self.write_arrays(rows, descr, out),
                None => npy::write_numbers(&self.columns(&self.choice.columns, rows)?, out),
            },
            (Format::Npz, [file]) if file.source_as::<NpzSource>().is_some() => {
                let own: Vec<usize> = rows.iter().map(|&row| file.own_row(row)).collect();
                let npz = file.source_as::<NpzSource>().expect("asked before");
                npz.write_rows(&own, &added, out).map_err(|error| of_input(error, &file.path))
            }
            (format, files) => {
                let mut frame = self.frame(rows)?;
                frame.columns.extend(added);
                let dress = Dress {
                    separator: output.separator,
                    is_untyped: files.iter().any(|file| file.source_as::<TextSource>().is_some()),
                    remarks: files[0].source().remarks(),
                };
                frame.write_dressed(format, &dress, out)
            }
        }
    }

    /// The files of text that can go out as they came in; `None` if they cannot.
    fn same_text(&self, output: OutputFormat) -> Option<Vec<(&File, &TextSource)>> {
        let texts: Option<Vec<_>> =
            self.files.iter().map(|file| Some((file, file.source_as::<TextSource>()?))).collect();
        let texts = texts.filter(|_| output.format == Format::Text)?;
        let first = texts[0].1.separator();
        let same = texts.iter().all(|(_, text)| text.separator() == first);
        (same && output.separator.is_none_or(|wanted| wanted == first)).then_some(texts)
    }

    /// The file whose groups can go out reduced to the rows; `None` if there are several files, or another format.
    #[cfg(any(feature = "netcdf", feature = "zarr"))]
    fn same_tree(&self, format: Format) -> Option<(&File, &TreeSource)> {
        let [file] = &self.files[..] else { return None };
        file.source_as::<TreeSource>().filter(|_| format.has_dimensions()).map(|tree| (file, tree))
    }

    /// The type of arrays that can go out as they came in; `None` if they cannot.
    fn same_arrays(&self) -> Option<&str> {
        let first = self.files[0].source_as::<NpySource>()?.descr()?;
        let same = |file: &File| file.source_as::<NpySource>().and_then(|npy| npy.descr()) == Some(first);
        self.files.iter().all(same).then_some(first)
    }

    fn write_arrays(&self, rows: &[usize], descr: &str, out: &mut dyn Write) -> Result<()> {
        out.write_all(&npy::header(descr, &[rows.len(), self.choice.columns.len()]))?;
        for &row in rows {
            let file = self.file_of(row);
            let npy = file.source_as::<NpySource>().ok_or(Error::Changed)?;
            let bytes = npy.cells(&[file.own_row(row)], &self.choice.columns);
            out.write_all(&bytes.map_err(|error| error.in_file(&file.path))?)?;
        }
        Ok(())
    }

    fn added_columns(&self, rows: &[usize], weights: Option<&[f64]>) -> Vec<(String, Column)> {
        let ids: Vec<(usize, usize)> = rows.iter().map(|&row| self.chain_and_draw(row)).collect();
        let mut added = vec![
            ("chain".to_string(), Column::integers(ids.iter().map(|&(chain, _)| chain))),
            ("draw".to_string(), Column::integers(ids.iter().map(|&(_, draw)| draw))),
            ("row".to_string(), Column::integers(rows.iter().map(|&row| self.row_number(row)))),
        ];
        // CmdStan, posterior and ArviZ call the draw an iteration as well.
        let has = |id: &str| self.names().iter().any(|name| id_name(name) == Some(id));
        added.retain(|(id, _)| !(has(id) || id == "draw" && has("iteration")));
        if let Some(weights) = weights {
            let taken = self.names().iter().any(|name| name == OWN_WEIGHTS[0]);
            let name = OWN_WEIGHTS[usize::from(taken)];
            added.push((name.to_string(), Column::doubles(weights.iter().copied())));
        }
        added
    }

    fn write_verbatim(
        &self,
        rows: &[usize],
        added: &[(String, Column)],
        texts: &[(&File, &TextSource)],
        out: &mut dyn Write,
    ) -> Result<()> {
        let first = texts[0].1;
        let separator = first.separator();
        out.write_all(first.header())?;
        for (name, _) in added {
            out.write_all(&[separator])?;
            out.write_all(quoted(name, separator).as_bytes())?;
        }
        out.write_all(first.line_break())?;
        let mut records: Vec<Vec<u8>> = vec![Vec::new(); rows.len()];
        for (file, text) in texts {
            let range = file.first_row..file.first_row + file.rows();
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            let local: Vec<usize> = here.iter().map(|&i| file.own_row(rows[i])).collect();
            let found = text.records(&local, &mut |at, record| records[here[at]] = record.to_vec());
            found.map_err(|error| error.in_file(&file.path))?;
        }
        for (i, record) in records.iter().enumerate() {
            out.write_all(record)?;
            for (_, column) in added {
                out.write_all(&[separator])?;
                out.write_all(column.text(i).as_bytes())?;
            }
            out.write_all(first.line_break())?;
        }
        Ok(())
    }
}
