//! The second pass: chosen rows with all their columns, out of the files they came from.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::{Draws, File, Source};
use crate::format::{Format, Target};
use crate::frame::{Column, Frame};
use crate::selection::id_name;
use crate::text::quoted;
use crate::{Result, npy};

impl Draws {
    /// These rows (counted from 0 over all files) with all their columns, in the order given.
    pub fn frame(&self, rows: &[usize]) -> Result<Frame> {
        // Each file is visited once, and its rows are put back in their places afterwards.
        let mut joined = Frame::default();
        let mut order = Vec::with_capacity(rows.len());
        for file in &self.files {
            let range = file.first_row..file.first_row + file.rows;
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            if here.is_empty() {
                continue;
            }
            let local: Vec<usize> = here.iter().map(|&i| rows[i] - file.first_row).collect();
            let frame = file.source.frame(&self.names, &local).map_err(|error| error.in_file(&file.path))?;
            joined.append(frame);
            order.extend(here);
        }
        let mut positions = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(at, &i)| positions[i] = at);
        joined.columns.iter_mut().for_each(|(_, column)| *column = column.pick(&positions));
        Ok(joined)
    }

    /// Writes these rows (counted from 0 over all files) with all their columns, in the order given; a row may be given
    /// more than once. From text to text of the same separator each row goes out character for character.
    ///
    /// Behind the columns of the file come `chain` and `draw` from 1 and `row` from 0, each unless the file has such a
    /// column, and `weight` where weights are given. An .npy file has no names and holds the parameters alone.
    ///
    /// # Panics
    /// If a row is not in the files.
    #[track_caller]
    pub fn write_rows(
        &self,
        rows: &[usize],
        weights: Option<&[f64]>,
        target: Target,
        out: &mut dyn Write,
    ) -> Result<()> {
        assert!(rows.iter().all(|&row| row < self.len()), "a row is not in the files");
        if target.gzip && target.format == Format::Text {
            let mut packed = GzEncoder::new(out, Compression::default());
            self.write_rows(rows, weights, Target { gzip: false, ..target }, &mut packed)?;
            packed.finish()?;
            return Ok(());
        }
        let added = self.added_columns(rows, weights);
        match (target.format, self.same_text(target)) {
            (Format::Text, Some(separator)) => self.write_verbatim(rows, &added, separator, out),
            (Format::Npy, _) => npy::write_rows(&self.values, self.dim(), rows, self.npy_is_single(), out),
            (Format::Npz, _) if self.files.iter().all(|file| matches!(file.source, Source::Npz(_))) => {
                self.write_npz(rows, &added, out)
            }
            (format, _) => {
                let mut frame = self.frame(rows)?;
                frame.columns.extend(added);
                frame.write(format, target.separator, out)
            }
        }
    }

    /// The separator of the text files that can go out as they came in; `None` where they cannot.
    fn same_text(&self, target: Target) -> Option<u8> {
        let separator = |file: &File| match &file.source {
            Source::Text(text) => Some(text.separator()),
            _ => None,
        };
        let first = separator(&self.files[0])?;
        let same = self.files.iter().all(|file| separator(file) == Some(first));
        let wanted = target.separator.is_none_or(|wanted| wanted == first);
        (same && wanted && target.format == Format::Text).then_some(first)
    }

    fn npy_is_single(&self) -> bool {
        self.files.iter().all(|file| matches!(&file.source, Source::Npy(npy) if npy.is_single()))
    }

    fn added_columns(&self, rows: &[usize], weights: Option<&[f64]>) -> Vec<(String, Column)> {
        let ids: Vec<(usize, usize)> = rows.iter().map(|&row| self.chain_and_draw(row)).collect();
        let mut added = vec![
            ("chain".to_string(), Column::integers(ids.iter().map(|&(chain, _)| chain))),
            ("draw".to_string(), Column::integers(ids.iter().map(|&(_, draw)| draw))),
            ("row".to_string(), Column::integers(rows.iter().copied())),
        ];
        // CmdStan, posterior and ArviZ call the draw an iteration as well.
        let has = |id: &str| self.names.iter().any(|name| id_name(name) == Some(id));
        added.retain(|(id, _)| !(has(id) || id == "draw" && has("iteration")));
        if let Some(weights) = weights {
            let taken = self.names.iter().any(|name| name == "weight");
            let name = if taken { "supersample_weight" } else { "weight" };
            added.push((name.to_string(), Column::doubles(weights.iter().copied())));
        }
        added
    }

    fn write_verbatim(
        &self,
        rows: &[usize],
        added: &[(String, Column)],
        separator: u8,
        out: &mut dyn Write,
    ) -> Result<()> {
        let Source::Text(first) = &self.files[0].source else {
            unreachable!("only text is written verbatim")
        };
        out.write_all(first.header())?;
        for (name, _) in added {
            out.write_all(&[separator])?;
            out.write_all(quoted(name, separator).as_bytes())?;
        }
        out.write_all(first.line_break())?;
        let mut records: Vec<Vec<u8>> = vec![Vec::new(); rows.len()];
        for file in &self.files {
            let Source::Text(text) = &file.source else { unreachable!("only text is written verbatim") };
            let range = file.first_row..file.first_row + file.rows;
            let here: Vec<usize> = (0..rows.len()).filter(|&i| range.contains(&rows[i])).collect();
            let local: Vec<usize> = here.iter().map(|&i| rows[i] - file.first_row).collect();
            let found = text.records(&local).map_err(|error| error.in_file(&file.path))?;
            here.into_iter().zip(found).for_each(|(i, record)| records[i] = record);
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

    /// Arrays go out as they came in, each with the chosen entries; one that spans files needs one shape and type.
    fn write_npz(&self, rows: &[usize], added: &[(String, Column)], out: &mut dyn Write) -> Result<()> {
        if self.files.len() > 1 {
            let mut frame = self.frame(rows)?;
            frame.columns.extend(added.to_vec());
            return frame.write(Format::Npz, None, out);
        }
        let Source::Npz(npz) = &self.files[0].source else { unreachable!("asked before") };
        npz.write_rows(rows, added, out)
    }
}
