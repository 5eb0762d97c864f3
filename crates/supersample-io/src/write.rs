//! Writes columns in memory in any format.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::format::{Format, OutputFormat, Packing};
use crate::frame::{Column, Frame};
use crate::source::{Dress, Holds};
use crate::{Note, Result};

impl Frame {
    /// Writes the columns in this format, compressed if it says so. Columns that it cannot hold are left out; see
    /// [`Draws::check_output`](crate::Draws::check_output).
    pub fn write_as(self, output: OutputFormat, out: &mut dyn Write) -> Result<()> {
        let dress = Dress { separator: output.separator, ..Dress::default() };
        packed(output, out, |out| self.write_dressed(output.format, &dress, out))
    }

    pub(crate) fn write_dressed(self, format: Format, dress: &Dress, out: &mut dyn Write) -> Result<()> {
        let codec = format.codec();
        let held = |(name, column): (String, Column)| match (codec.holds)(&column) {
            Holds::AsItIs if dress.is_untyped && format != Format::Text => Some((name, column.typed())),
            Holds::AsItIs => Some((name, column)),
            Holds::AsText => Some((name, column.as_text())),
            Holds::Not => None,
        };
        (codec.write)(&Frame { columns: self.columns.into_iter().filter_map(held).collect() }, dress, out)
    }

    /// Which columns would not go out as they are.
    pub(crate) fn notes_for(&self, format: Format) -> Vec<Note> {
        let such = |holds: Holds| -> Vec<String> {
            let of = |(_, column): &&(String, Column)| (format.codec().holds)(column) == holds;
            self.columns.iter().filter(of).map(|(name, _)| name.clone()).collect()
        };
        let (as_text, left_out) = (such(Holds::AsText), such(Holds::Not));
        let as_text = (!as_text.is_empty()).then_some(Note::WrittenAsText { columns: as_text, format });
        let left_out = (!left_out.is_empty()).then_some(Note::NotWritten { columns: left_out, format });
        as_text.into_iter().chain(left_out).collect()
    }
}

/// Writes through the packer that the format asks for; only text is packed.
pub(crate) fn packed(
    output: OutputFormat,
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    match output.packing.filter(|_| output.format == Format::Text) {
        None => write(out),
        Some(Packing::Gzip) => {
            let mut packer = GzEncoder::new(out, Compression::default());
            write(&mut packer)?;
            packer.finish()?;
            Ok(())
        }
        Some(Packing::Zstd) => {
            let mut packer = zstd::Encoder::new(out, 0)?;
            write(&mut packer)?;
            packer.finish()?;
            Ok(())
        }
    }
}
