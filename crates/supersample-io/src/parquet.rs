//! Apache Parquet, column by column and without Arrow: flat columns of numbers, truth values and text.

use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, ConvertedType, LogicalType, Repetition, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;

use crate::draws::{Part, Source};
use crate::error::cell;
use crate::frame::{Column, Frame};
use crate::origin::{Handle, Origin};
use crate::{Error, Place, Reading, Result};

fn malformed(error: &ParquetError) -> Error {
    Error::Malformed { format: "Parquet", reason: error.to_string() }
}

/// A Parquet file after its first pass.
#[derive(Debug)]
pub(crate) struct ParquetSource {
    origin: Origin,
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
        // Grows with the bytes that are there, whatever length was asked for.
        let got = self.get_read(start)?.take(length as u64).read_to_end(&mut bytes)?;
        match got == length {
            true => Ok(bytes.into()),
            false => Err(ParquetError::EOF(format!("{length} bytes were expected and {got} found"))),
        }
    }
}

fn open(origin: &Origin) -> Result<SerializedFileReader<Handle>> {
    SerializedFileReader::new(origin.file()?).map_err(|error| malformed(&error))
}

/// The names of the columns; those with columns inside are refused, since a row has one cell for each.
fn names(reader: &SerializedFileReader<Handle>) -> Result<Vec<String>> {
    let schema = reader.metadata().file_metadata().schema_descr_ptr();
    let mut names = Vec::with_capacity(schema.num_columns());
    for column in schema.columns() {
        let name = column.path().parts()[0].clone();
        if column.max_rep_level() > 0 || column.path().parts().len() > 1 {
            return Err(Error::UnknownType { column: name, kind: "list or struct".to_string() });
        }
        names.push(name);
    }
    Ok(names)
}

pub(crate) fn read(origin: Origin, reading: &Reading<'_>) -> Result<Part> {
    let reader = open(&origin)?;
    let names = names(&reader)?;
    let groups = reader.metadata().row_groups();
    let counts: Vec<usize> =
        groups.iter().map(|group| usize::try_from(group.num_rows()).unwrap_or(0)).collect();
    let rows: usize = counts.iter().sum();
    if rows == 0 || names.is_empty() {
        return Err(Error::NoRows);
    }
    let parameters = reading.parameters(&names)?;
    let weight = reading.weight_position(&names)?;
    let dim = parameters.len();
    let mut values = Vec::new();
    let mut weights = weight.map(|_| Vec::new());
    let mut first = 0;
    for (group, &count) in counts.iter().enumerate() {
        // The room is taken as the rows turn out to be there, not on the word of the file.
        let wanted =
            parameters.iter().copied().map(|column| (column, false)).chain(weight.map(|w| (w, true)));
        for (slot, (position, is_weight)) in wanted.enumerate() {
            let column = column(&reader, group, position, &names[position])?;
            if column.len() != count {
                let reason = format!("row group {group} has {} of {count} rows", column.len());
                return Err(Error::Malformed { format: "Parquet", reason });
            }
            if slot == 0 {
                values.resize((first + count) * dim, 0.0);
            }
            for row in 0..count {
                let value = cell(
                    &column,
                    row,
                    || Place { row: first + row + 1, line: None, column: names[position].clone() },
                    is_weight,
                )?;
                match (&mut weights, is_weight) {
                    (Some(weights), true) => weights.push(value),
                    _ => values[(first + row) * dim + slot] = value,
                }
            }
        }
        first += count;
    }
    Ok(Part::plain(names, parameters, values, weights, Source::Parquet(ParquetSource { origin })))
}

/// How many rows and parameters the footer promises.
pub(crate) fn expected(origin: &Origin, reading: &Reading<'_>) -> Result<Option<(usize, usize)>> {
    let reader = open(origin)?;
    let rows = reader.metadata().file_metadata().num_rows();
    let parameters = reading.parameters(&names(&reader)?)?.len();
    Ok(usize::try_from(rows).ok().map(|rows| (rows, parameters)))
}

/// One column of one row group.
fn column(reader: &SerializedFileReader<Handle>, group: usize, position: usize, name: &str) -> Result<Column> {
    let metadata = reader.metadata().row_group(group);
    let rows = usize::try_from(metadata.num_rows()).unwrap_or(0);
    let descriptor = metadata.column(position).column_descr_ptr();
    let optional = descriptor.max_def_level() > 0;
    let unknown = |kind: String| Error::UnknownType { column: name.to_string(), kind };
    // Numbers that stand for something else (times, decimals) would lose their meaning on the way.
    match (descriptor.logical_type_ref(), descriptor.converted_type()) {
        (
            None
            | Some(LogicalType::String | LogicalType::Integer { .. } | LogicalType::Enum | LogicalType::Json),
            _,
        ) => {}
        (Some(other), _) => return Err(unknown(format!("{other:?}"))),
    }
    if matches!(descriptor.converted_type(), ConvertedType::DECIMAL | ConvertedType::INTERVAL) {
        return Err(unknown(descriptor.converted_type().to_string()));
    }
    let row_group = reader.get_row_group(group).map_err(|error| malformed(&error))?;
    match row_group.get_column_reader(position).map_err(|error| malformed(&error))? {
        ColumnReader::DoubleColumnReader(reader) => Ok(Column::Double(cells(reader, rows, optional, |v| v)?)),
        ColumnReader::FloatColumnReader(reader) => Ok(Column::Single(cells(reader, rows, optional, |v| v)?)),
        ColumnReader::Int64ColumnReader(reader) => Ok(Column::Integer(cells(reader, rows, optional, |v| v)?)),
        ColumnReader::Int32ColumnReader(reader) => {
            Ok(Column::Integer(cells(reader, rows, optional, i64::from)?))
        }
        ColumnReader::BoolColumnReader(reader) => Ok(Column::Boolean(cells(reader, rows, optional, |v| v)?)),
        ColumnReader::ByteArrayColumnReader(reader) => {
            let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
            Ok(Column::Text(cells(reader, rows, optional, text)?))
        }
        _ => Err(unknown(descriptor.physical_type().to_string())),
    }
}

/// The cells of a column; a level of 0 says that one is missing and has no value.
fn cells<T: DataType, U>(
    mut reader: ColumnReaderImpl<T>,
    rows: usize,
    optional: bool,
    convert: impl Fn(T::T) -> U,
) -> Result<Vec<Option<U>>> {
    let mut found = Vec::new();
    while found.len() < rows {
        let (mut levels, mut values) = (Vec::new(), Vec::new());
        let wanted = (rows - found.len()).min(1 << 16);
        let (records, ..) = reader
            .read_records(wanted, optional.then_some(&mut levels), None, &mut values)
            .map_err(|error| malformed(&error))?;
        if records == 0 {
            break;
        }
        if !optional {
            found.extend(values.into_iter().map(|value| Some(convert(value))));
            continue;
        }
        let mut values = values.into_iter();
        let present =
            levels.into_iter().map(|level| if level > 0 { values.next().map(&convert) } else { None });
        found.extend(present);
    }
    Ok(found)
}

impl ParquetSource {
    /// All cells of one column.
    pub(crate) fn column(&self, name: &str, position: usize) -> Result<Column> {
        let reader = open(&self.origin)?;
        let mut joined = Frame::default();
        for group in 0..reader.num_row_groups() {
            let cells = column(&reader, group, position, name)?;
            joined.append(Frame { columns: vec![(name.to_string(), cells)] });
        }
        Ok(joined.columns.pop().ok_or(Error::NoRows)?.1)
    }

    pub(crate) fn frame(&self, rows: &[usize]) -> Result<Frame> {
        let reader = open(&self.origin)?;
        let mut frame = Frame::default();
        for (position, name) in names(&reader)?.into_iter().enumerate() {
            let mut picked = Frame::default();
            let (mut first, mut order) = (0, Vec::new());
            for group in 0..reader.num_row_groups() {
                let count = usize::try_from(reader.metadata().row_group(group).num_rows()).unwrap_or(0);
                let here: Vec<usize> =
                    (0..rows.len()).filter(|&i| (first..first + count).contains(&rows[i])).collect();
                if !here.is_empty() {
                    let local: Vec<usize> = here.iter().map(|&i| rows[i] - first).collect();
                    let column = column(&reader, group, position, &name)?.pick(&local);
                    picked.append(Frame { columns: vec![(name.clone(), column)] });
                    order.extend(here);
                }
                first += count;
            }
            let mut positions = vec![0; rows.len()];
            order.iter().enumerate().for_each(|(at, &i)| positions[i] = at);
            let (name, column) = picked.columns.remove(0);
            frame.columns.push((name, column.pick(&positions)));
        }
        Ok(frame)
    }
}

/// One row group, Snappy as most tools write it.
pub(crate) fn write_frame(frame: &Frame, out: &mut dyn Write) -> Result<()> {
    let mut bytes = Vec::new();
    write_bytes(frame, &mut bytes).map_err(|error| malformed(&error))?;
    Ok(out.write_all(&bytes)?)
}

fn write_bytes(frame: &Frame, bytes: &mut Vec<u8>) -> parquet::errors::Result<()> {
    let field = |(name, column): &(String, Column)| {
        let (physical, logical) = match column {
            Column::Double(_) => (Physical::DOUBLE, None),
            Column::Single(_) => (Physical::FLOAT, None),
            Column::Integer(_) => (Physical::INT64, None),
            Column::Boolean(_) => (Physical::BOOLEAN, None),
            Column::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        builder.with_logical_type(logical).build().map(Arc::new)
    };
    let fields = frame.columns.iter().map(field).collect::<parquet::errors::Result<_>>()?;
    let schema = Arc::new(Type::group_type_builder("schema").with_fields(fields).build()?);
    let properties = Arc::new(WriterProperties::builder().set_compression(Compression::SNAPPY).build());
    let mut writer = SerializedFileWriter::new(bytes, schema, properties)?;
    let mut group = writer.next_row_group()?;
    for (_, column) in &frame.columns {
        match column {
            Column::Double(cells) => write_column::<DoubleType, _, _>(&mut group, cells, |v| *v)?,
            Column::Single(cells) => write_column::<FloatType, _, _>(&mut group, cells, |v| *v)?,
            Column::Integer(cells) => write_column::<Int64Type, _, _>(&mut group, cells, |v| *v)?,
            Column::Boolean(cells) => write_column::<BoolType, _, _>(&mut group, cells, |v| *v)?,
            Column::Text(cells) => {
                write_column::<ByteArrayType, _, _>(&mut group, cells, |v| ByteArray::from(v.as_str()))?;
            }
        }
    }
    group.close()?;
    writer.close().map(|_| ())
}

fn write_column<T: DataType, U, W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    cells: &[Option<U>],
    convert: impl Fn(&U) -> T::T,
) -> parquet::errors::Result<()> {
    let values: Vec<T::T> = cells.iter().flatten().map(convert).collect();
    let levels: Vec<i16> = cells.iter().map(|cell| i16::from(cell.is_some())).collect();
    let mut column = group.next_column()?.expect("there is a column in the schema for each in the frame");
    column.typed::<T>().write_batch(&values, Some(&levels), None)?;
    column.close()
}
