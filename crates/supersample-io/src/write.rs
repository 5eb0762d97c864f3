//! Columns in memory to the bytes of any format.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

#[cfg(not(all(feature = "parquet", feature = "arrow")))]
use crate::Error;
use crate::format::{Format, Target};
use crate::frame::Frame;
use crate::text::quoted;
use crate::{Result, npy, npz};

impl Frame {
    /// Writes the columns as the target says, gzipped where it says so.
    pub fn write_as(self, target: Target, out: &mut dyn Write) -> Result<()> {
        if !(target.gzip && target.format == Format::Text) {
            return self.write(target.format, target.separator, out);
        }
        let mut packed = GzEncoder::new(out, Compression::default());
        self.write(target.format, target.separator, &mut packed)?;
        packed.finish()?;
        Ok(())
    }

    /// Writes the columns in this format.
    pub fn write(self, format: Format, separator: Option<u8>, out: &mut dyn Write) -> Result<()> {
        if format == Format::Text {
            return write_text(&self, separator.unwrap_or(b','), out);
        }
        let columns = self.columns.into_iter().map(|(name, column)| (name, column.typed())).collect();
        let frame = Frame { columns };
        match format {
            Format::Text => unreachable!("written above"),
            Format::Npy => npy::write_frame(&frame, out),
            Format::Npz => npz::write_frame(&frame, out),
            #[cfg(feature = "parquet")]
            Format::Parquet => crate::parquet::write_frame(&frame, out),
            #[cfg(not(feature = "parquet"))]
            Format::Parquet => Err(Error::NotBuilt { format: "Parquet", feature: "parquet" }),
            #[cfg(feature = "arrow")]
            Format::Arrow => crate::arrow::write_frame(&frame, out),
            #[cfg(not(feature = "arrow"))]
            Format::Arrow => Err(Error::NotBuilt { format: "Arrow IPC", feature: "arrow" }),
        }
    }
}

fn write_text(frame: &Frame, separator: u8, out: &mut dyn Write) -> Result<()> {
    let mut line = |cells: &mut dyn Iterator<Item = String>| -> Result<()> {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                out.write_all(&[separator])?;
            }
            out.write_all(quoted(&cell, separator).as_bytes())?;
        }
        Ok(out.write_all(b"\n")?)
    };
    line(&mut frame.columns.iter().map(|(name, _)| name.clone()))?;
    (0..frame.len()).try_for_each(|row| line(&mut frame.columns.iter().map(|(_, column)| column.text(row))))
}
