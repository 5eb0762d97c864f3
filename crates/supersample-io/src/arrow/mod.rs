//! Apache Arrow IPC, as a file or as a stream.

mod check;

use std::collections::HashMap;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileDecoder, FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::{ArrowError, SchemaRef};

use self::check::Heads;
use crate::frame::Frame;
use crate::guard::guarded;
use crate::origin::{Handle, Origin};
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

/// The batches of a file. Each is read into memory of its own: the reader of arrow-ipc asks for aligned memory, for which
/// glibc seldom uses what earlier batches have given back, so that a run would hold many times its largest batch.
struct Blocks {
    file: Handle,
    decoder: FileDecoder,
    blocks: std::vec::IntoIter<Block>,
}

impl Blocks {
    fn read(&mut self, block: &Block) -> Result<Option<RecordBatch>> {
        let sizes = [block.offset(), i64::from(block.metaDataLength()), block.bodyLength()];
        let [Ok(at), Ok(head), Ok(body)] = sizes.map(usize::try_from) else {
            return Err(malformed("a block of rows is cut short"));
        };
        // The lengths have been checked against that of the file.
        let mut bytes = vec![0; head + body];
        self.file.seek(SeekFrom::Start(at as u64)).map_err(Error::Unreadable)?;
        self.file.read_exact(&mut bytes).map_err(Error::Unreadable)?;
        self.decoder.read_record_batch(block, &bytes.into()).map_err(malformed)
    }
}

impl Iterator for Blocks {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let block = self.blocks.next()?;
        self.read(&block).transpose()
    }
}

/// Types of the columns, and an iterator over the batches of a file or stream, with these columns or all.
fn batches(origin: &Origin, columns: Option<&[usize]>) -> Result<(SchemaRef, Batches)> {
    let (file, columns) = (BufReader::new(origin.file()?), columns.map(<[usize]>::to_vec));
    if check::is_file(origin)? {
        let footer = check::footer(origin)?;
        let footer = root_as_footer(&footer).map_err(malformed)?;
        if footer.dictionaries().is_none_or(|all| all.is_empty()) {
            let schema = FileReader::try_new(file, None).map_err(malformed)?.schema();
            let decoder = FileDecoder::new(schema.clone(), footer.version());
            let (schema, decoder) = match columns {
                Some(columns) => {
                    let some = Arc::new(schema.project(&columns).map_err(malformed)?);
                    (some, decoder.with_projection(columns))
                }
                None => (schema, decoder),
            };
            let blocks: Vec<Block> = footer.recordBatches().into_iter().flatten().copied().collect();
            return Ok((
                schema,
                Box::new(Blocks { file: origin.file()?, decoder, blocks: blocks.into_iter() }),
            ));
        }
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
