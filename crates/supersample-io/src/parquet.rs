//! Apache Parquet, read and written as Arrow arrays.

use std::collections::{BTreeSet, HashMap};
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, Length};

use crate::frame::{Column, Frame};
use crate::guard::guarded;
use crate::origin::{Handle, Origin};
use crate::reading::Missing;
use crate::source::{Dress, ExpectedSize, FileRead, Holds, Sink, Source};
use crate::table::{self, Batches};
use crate::{Error, Reading, Result};

const TITLE: &str = "Parquet";
/// Rows unpacked at a time.
const BATCH: usize = 8192;
/// Longest cell of a fixed length; the reader allocates a batch of them without a check.
const LONGEST_CELL: i32 = 1 << 16;

fn malformed(error: impl std::fmt::Display) -> Error {
    Error::Malformed { format: TITLE, reason: error.to_string() }
}

impl Length for Handle {
    fn len(&self) -> u64 {
        self.size().unwrap_or(0)
    }
}

impl ChunkReader for Handle {
    type T = BufReader<Handle>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let mut file = self.clone();
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(file))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        let mut bytes = Vec::new();
        // Grows with the bytes that exist, not with the requested length.
        let got = self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
        match got == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("{length} bytes were expected and {got} found"))),
        }
    }
}

type Builder = ParquetRecordBatchReaderBuilder<Handle>;

fn open(origin: &Origin) -> Result<Builder> {
    let builder = Builder::try_new(origin.file()?).map_err(malformed)?;
    let chunks = builder.metadata().row_groups().iter().flat_map(|group| group.columns());
    for chunk in chunks {
        if matches!(chunk.compression(), Compression::BROTLI(_) | Compression::LZO) {
            let kind = "a Parquet file packed by Brotli or LZO";
            return Err(Error::Foreign { kind, remedy: "write it again packed by zstd, snappy or gzip" });
        }
        let descriptor = chunk.column_descr();
        let is_fixed = descriptor.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY;
        if is_fixed && !(0..=LONGEST_CELL).contains(&descriptor.type_length()) {
            return Err(malformed(format!("cells of {} bytes are too long", descriptor.type_length())));
        }
    }
    Ok(builder)
}

fn batches(builder: Builder) -> Result<Batches> {
    let reader = builder.with_batch_size(BATCH).build().map_err(malformed)?;
    Ok(Box::new(reader.map(|batch| batch.map_err(malformed))))
}

/// A Parquet file after its first pass.
#[derive(Debug)]
struct ParquetSource {
    origin: Origin,
    schema: SchemaRef,
}

/// Reads a Parquet file, some thousand rows at a time.
pub(crate) fn read(
    origin: Origin,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    guarded(TITLE, || {
        let builder = open(&origin)?;
        let schema = builder.schema().clone();
        let choice = table::choose(&schema, reading)?;
        // Only the wanted columns are unpacked, in the order of the file.
        let mut wanted: Vec<usize> = choice.wanted().map(|(position, _)| position).collect();
        wanted.sort_unstable();
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied());
        let place_of = |position: usize| wanted.partition_point(|&other| other < position);
        let all = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
        let batches = batches(builder.with_projection(mask))?;
        let rows = table::read(batches, &choice, missing, place_of, all, sink)?;
        Ok(FileRead::plain(choice, rows, Box::new(ParquetSource { origin, schema })))
    })
}

/// Size that the footer gives.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    guarded(TITLE, || {
        let builder = open(origin)?;
        let rows = builder.metadata().file_metadata().num_rows();
        let rows = usize::try_from(rows).ok();
        rows.map(|rows| table::expected(rows, builder.schema(), reading)).transpose()
    })
}

impl Source for ParquetSource {
    fn frame(&self, _: &[String], columns: &[usize], rows: &[usize]) -> Result<Frame> {
        guarded(TITLE, || {
            let builder = open(&self.origin)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
            // Whole row groups are read: where a page is damaged, skipping rows within one may never end.
            let (mut ends, mut first) = (Vec::new(), 0_usize);
            for group in builder.metadata().row_groups() {
                first = first.saturating_add(usize::try_from(group.num_rows()).unwrap_or(0));
                ends.push(first);
            }
            let group_of = |row: usize| ends.partition_point(|&end| end <= row);
            let groups = Vec::from_iter(BTreeSet::from_iter(rows.iter().map(|&row| group_of(row))));
            // Where the rows of each of these groups begin in the file, and where among what is read.
            let (mut begins, mut read) = (HashMap::new(), 0);
            for &group in &groups {
                let begin = group.checked_sub(1).map_or(0, |before| ends[before]);
                begins.insert(group, (begin, read));
                read += ends.get(group).ok_or(Error::Changed)? - begin;
            }
            let place = |&row: &usize| {
                let (begin, read) = begins[&group_of(row)];
                row - begin + read
            };
            let places: Vec<usize> = rows.iter().map(place).collect();
            let builder = builder.with_projection(mask).with_row_groups(groups);
            table::frame(batches(builder)?, &places)
        })
    }

    fn remarks(&self) -> HashMap<String, String> {
        self.schema.metadata().clone().into()
    }
}

/// A few types of Arrow have no place in Parquet.
pub(crate) fn holds(column: &Column) -> Holds {
    let schema = Arc::new(Schema::new(vec![column.field("")]));
    let writer = guarded(TITLE, || ArrowWriter::try_new(Vec::new(), schema, None).map_err(malformed));
    writer.map_or_else(|_| Holds::in_text(column), |_| Holds::AsItIs)
}

/// One row group, Snappy as most tools write it.
pub(crate) fn write_frame(frame: &Frame, dress: &Dress, out: &mut dyn Write) -> Result<()> {
    guarded(TITLE, || {
        let mut bytes = Vec::new();
        let batch = table::batch(frame, &dress.remarks).map_err(malformed)?;
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let mut writer =
            ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).map_err(malformed)?;
        writer.write(&batch).map_err(malformed)?;
        writer.close().map_err(malformed)?;
        Ok(bytes)
    })
    .and_then(|bytes| Ok(out.write_all(&bytes)?))
}
