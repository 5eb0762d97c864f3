//! Apache Arrow IPC, as a file or as a stream.

mod check;

use std::collections::HashMap;
use std::io::{BufReader, Write};

use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};

use self::check::Heads;
use crate::frame::Frame;
use crate::guard::guarded;
use crate::origin::Origin;
use crate::reading::Missing;
use crate::source::{Dress, ExpectedSize, FileRead, Sink, Source};
use crate::table::{self, Batches};
use crate::{Error, Reading, Result};

const TITLE: &str = "Arrow IPC";

fn malformed(error: impl std::fmt::Display) -> Error {
    Error::Malformed { format: TITLE, reason: error.to_string() }
}

/// An Arrow file after its first pass.
#[derive(Debug)]
struct ArrowSource {
    origin: Origin,
    schema: SchemaRef,
}

/// Types of the columns, and an iterator over the batches of a file or stream, with these columns or all.
fn batches(origin: &Origin, columns: Option<&[usize]>) -> Result<(SchemaRef, Batches)> {
    let (file, columns) = (BufReader::new(origin.file()?), columns.map(<[usize]>::to_vec));
    if check::is_file(origin)? {
        let reader = FileReader::try_new(file, columns).map_err(malformed)?;
        return Ok((reader.schema(), Box::new(reader.map(|batch| batch.map_err(malformed)))));
    }
    let reader = StreamReader::try_new(file, columns).map_err(malformed)?;
    Ok((reader.schema(), Box::new(reader.map(|batch| batch.map_err(malformed)))))
}

/// Reads a file or stream of Arrow, a batch of its own at a time.
pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    guarded(TITLE, || {
        let all = check::check(&origin)?.rows;
        let (schema, batches) = batches(&origin, None)?;
        let choice = table::choose(&schema, reading)?;
        let rows = table::read(batches, &choice, missing, |position| position, all, sink)?;
        Ok(FileRead::plain(choice, rows, Box::new(ArrowSource { origin, schema })))
    })
}

/// Size that the heads of the batches give.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    guarded(TITLE, || {
        let Heads { rows, largest } = check::check(origin)?;
        let rows = usize::try_from(rows).unwrap_or(usize::MAX);
        let size = table::expected(rows, &batches(origin, None)?.0, reading)?;
        Ok(Some(ExpectedSize { block_bytes: largest, ..size }))
    })
}

impl Source for ArrowSource {
    fn frame(&self, _: &[String], columns: &[usize], rows: &[usize]) -> Result<Frame> {
        guarded(TITLE, || table::frame(batches(&self.origin, Some(columns))?.1, rows))
    }

    fn remarks(&self) -> HashMap<String, String> {
        self.schema.metadata().clone().into()
    }
}

/// One batch, in the file format.
pub(crate) fn write_frame(frame: &Frame, dress: &Dress, out: &mut dyn Write) -> Result<()> {
    let mut bytes = Vec::new();
    let write = |bytes: &mut Vec<u8>| -> std::result::Result<(), ArrowError> {
        let batch = table::batch(frame, &dress.remarks)?;
        let mut writer = FileWriter::try_new(bytes, &batch.schema())?;
        writer.write(&batch)?;
        writer.finish()
    };
    write(&mut bytes).map_err(malformed)?;
    Ok(out.write_all(&bytes)?)
}
