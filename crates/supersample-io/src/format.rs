//! File formats: one row of a table for each. They are recognised by their first bytes, otherwise by the ending of the
//! name.

use std::fmt;
use std::io::Write;
use std::path::Path;
use std::str::FromStr;

use crate::frame::{Column, Frame};
#[cfg(feature = "netcdf")]
use crate::netcdf;
use crate::origin::Origin;
use crate::reading::Missing;
use crate::source::{Dress, ExpectedSize, FileRead, Holds, Sink};
#[cfg(feature = "zarr")]
use crate::zarr;
use crate::{Error, Reading, Result, arrow, npy, npz, parquet, text};

/// File format of draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Lines of text: CSV and TSV with any separator, CmdStan's files, each of them plain or compressed with gzip or
    /// Zstandard.
    Text,
    /// One NumPy array: rows by parameters, or chains by draws by parameters. It has no names.
    Npy,
    /// Several NumPy arrays by name, each with one entry (or one row of entries) for each draw.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC (also called Feather 2), as a file or as a stream.
    Arrow,
    /// NetCDF: files of ArviZ and xarray, with groups or without, and the HDF5 files of emcee.
    #[cfg(feature = "netcdf")]
    NetCdf,
    /// Zarr: a folder of ArviZ, xarray or nutpie. Rows are written as an archive of that folder.
    #[cfg(feature = "zarr")]
    Zarr,
}

/// Description of a format.
pub(crate) struct Codec {
    pub(crate) format: Format,
    /// Its name in a sentence.
    pub(crate) title: &'static str,
    /// Names; the first is shown.
    names: &'static [&'static str],
    endings: &'static [&'static str],
    /// Whether a file begins like one.
    has_magic: fn(&[u8]) -> bool,
    pub(crate) read: fn(Origin, &Reading<'_>, Missing, &mut dyn Sink) -> Result<FileRead>,
    /// Size from the head of the file; `None` if the head does not tell.
    pub(crate) expected: fn(&Origin, &Reading<'_>) -> Result<Option<ExpectedSize>>,
    /// Whether a column can be held, and how.
    pub(crate) holds: fn(&Column) -> Holds,
    /// Columns that can be held.
    pub(crate) write: fn(&Frame, &Dress, &mut dyn Write) -> Result<()>,
}

const CODECS: &[Codec] = &[
    Codec {
        format: Format::Text,
        title: "CSV",
        names: &["csv", "tsv", "stan"],
        endings: &["csv", "tsv", "txt", "dat"],
        has_magic: |_| false,
        read: text::read,
        expected: text::expected,
        holds: Holds::in_text,
        write: text::write_frame,
    },
    Codec {
        format: Format::Npy,
        title: "npy",
        names: &["npy"],
        endings: &["npy"],
        has_magic: |start| start.starts_with(b"\x93NUMPY"),
        read: npy::read,
        expected: npy::expected,
        holds: |_| Holds::AsItIs,
        write: npy::write_frame,
    },
    Codec {
        format: Format::Npz,
        title: "npz",
        names: &["npz"],
        endings: &["npz"],
        has_magic: |start| start.starts_with(b"PK\x03\x04"),
        read: npz::read,
        expected: npz::expected,
        holds: Holds::in_text,
        write: npz::write_frame,
    },
    Codec {
        format: Format::Parquet,
        title: "Parquet",
        names: &["parquet"],
        endings: &["parquet", "pq"],
        has_magic: |start| start.starts_with(b"PAR1"),
        read: parquet::read,
        expected: parquet::expected,
        holds: parquet::holds,
        write: parquet::write_frame,
    },
    Codec {
        format: Format::Arrow,
        title: "Arrow IPC",
        names: &["arrow"],
        endings: &["arrow", "arrows", "feather", "ipc"],
        // A stream begins with the mark of a message and its length, which is small.
        has_magic: |start| {
            matches!(
                start,
                [b'A', b'R', b'R', b'O', b'W', b'1', ..] | [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..]
            )
        },
        read: arrow::read,
        expected: arrow::expected,
        holds: |_| Holds::AsItIs,
        write: arrow::write_frame,
    },
    #[cfg(feature = "netcdf")]
    Codec {
        format: Format::NetCdf,
        title: "NetCDF",
        names: &["netcdf"],
        endings: &["nc", "nc4"],
        has_magic: |start| {
            matches!(start, [0x89, b'H', b'D', b'F', b'\r', b'\n', ..] | [b'C', b'D', b'F', 1 | 2 | 5, ..])
        },
        read: netcdf::read,
        expected: netcdf::expected,
        holds: Holds::in_text,
        write: netcdf::write_frame,
    },
    #[cfg(feature = "zarr")]
    Codec {
        format: Format::Zarr,
        title: "Zarr",
        names: &["zarr"],
        endings: &["zarr"],
        // A folder has no first bytes.
        has_magic: |_| false,
        read: zarr::read,
        expected: zarr::expected,
        holds: Holds::in_text,
        write: zarr::write_frame,
    },
];

impl Format {
    /// Names that [`FromStr`] accepts.
    pub const NAMES: &'static [&'static str] = &[
        "csv",
        "tsv",
        "stan",
        "npy",
        "npz",
        "parquet",
        "arrow",
        #[cfg(feature = "netcdf")]
        "netcdf",
        #[cfg(feature = "zarr")]
        "zarr",
    ];

    pub(crate) fn codec(self) -> &'static Codec {
        CODECS.iter().find(|codec| codec.format == self).expect("every format has a row")
    }

    /// Returns the format of the first bytes of a file; `None` for text and for an empty file.
    pub(crate) fn of_magic(start: &[u8]) -> Option<Format> {
        CODECS.iter().find(|codec| (codec.has_magic)(start)).map(|codec| codec.format)
    }

    /// Returns the format of the ending of a name, with or without `.gz` or `.zst`.
    pub fn of_path(path: &Path) -> Option<Format> {
        OutputFormat::of_path(path).map(|output| output.format)
    }

    /// Whether arrays of the format have named dimensions.
    pub fn has_dimensions(self) -> bool {
        matches!(self.codec().names[0], "netcdf" | "zarr")
    }

    /// Whether the format is text.
    pub fn is_text(self) -> bool {
        self == Format::Text
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.codec().names[0])
    }
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Format, Self::Err> {
        let found = CODECS.iter().find(|codec| codec.names.contains(&text));
        found.map(|codec| codec.format).ok_or(match text {
            "netcdf" | "zarr" => "this program was built without this format",
            _ => "the formats are csv, tsv, stan, npy, npz, parquet, arrow, netcdf and zarr",
        })
    }
}

/// Compression of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Packing {
    /// gzip, `.gz`.
    Gzip,
    /// Zstandard, `.zst`.
    Zstd,
}

impl Packing {
    /// Compression of the first bytes of a file.
    pub(crate) fn of_magic(start: &[u8]) -> Option<Packing> {
        match start {
            [0x1f, 0x8b, ..] => Some(Packing::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Packing::Zstd),
            _ => None,
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Packing::Gzip => "gzip",
            Packing::Zstd => "Zstandard",
        })
    }
}

/// Output format of chosen rows: the format, and separator and compression of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputFormat {
    /// The format.
    pub format: Format,
    /// Between the fields of text; `None` for the input's, or a comma.
    pub separator: Option<u8>,
    /// Compression, only of text.
    pub packing: Option<Packing>,
}

impl OutputFormat {
    /// Returns the output format of the ending of a name; `None` if it has none.
    pub fn of_path(path: &Path) -> Option<OutputFormat> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let endings = [(".gz", Packing::Gzip), (".zst", Packing::Zstd)];
        let packed = endings
            .into_iter()
            .find_map(|(ending, packing)| Some((name.strip_suffix(ending)?, Some(packing))));
        let (name, packing) = packed.unwrap_or((&name, None));
        let (_, ending) = name.rsplit_once('.')?;
        let format = CODECS.iter().find(|codec| codec.endings.contains(&ending))?.format;
        Some(OutputFormat { format, separator: (ending == "tsv").then_some(b'\t'), packing })
    }

    /// Returns the format without compression.
    pub fn plain(format: Format) -> OutputFormat {
        OutputFormat { format, separator: None, packing: None }
    }
}

/// Returns an error, with a remedy, for known kinds of files that are not read.
pub(crate) fn refuse_foreign(start: &[u8]) -> Result<()> {
    let unpack = "unpack it first (gzip and Zstandard are read as they are)";
    let export = "save it as CSV, Parquet or .npz";
    let load = "load it in Python and save the draws as .npz, Parquet or CSV";
    #[cfg(not(feature = "netcdf"))]
    let xarray = "read it with ArviZ, xarray or h5py and save the draws as .npz, Parquet or CSV";
    let (kind, remedy) = match start {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => ("an xz archive", unpack),
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => ("a bzip2 archive", unpack),
        [b'7', b'z', 0xbc, 0xaf, ..] => ("a 7z archive", unpack),
        [0x04, 0x22, 0x4d, 0x18, ..] => ("an LZ4 archive", unpack),
        #[cfg(not(feature = "netcdf"))]
        [0x89, b'H', b'D', b'F', b'\r', b'\n', ..] => ("an HDF5 or NetCDF file", xarray),
        #[cfg(not(feature = "netcdf"))]
        [b'C', b'D', b'F', 1 | 2 | 5, ..] => ("a NetCDF file", xarray),
        [b'F', b'E', b'A', b'1', ..] => (
            "a Feather file of version 1",
            "write it again as version 2 (any pyarrow since 0.17, pandas since 1.1), or as Parquet",
        ),
        [0x80, 2..=5, b'c' | b'}' | b']' | 0x8a..=0x95, ..] => ("a Python pickle", load),
        [0xd0, 0xcf, 0x11, 0xe0, ..] => ("an Excel workbook", export),
        [b'O', b'b', b'j', 1, ..] => ("an Avro file", export),
        [b'O', b'R', b'C', 0..=31, ..] => ("an ORC file", export),
        [b'R', b'D', b'X' | b'A', b'2' | b'3', b'\n', ..] | [b'X' | b'A', b'\n', 0, 0, 0, 2 | 3, ..] => {
            ("a file of R objects", "save the draws in R with write.csv or arrow::write_parquet")
        }
        _ => return Ok(()),
    };
    Err(Error::Foreign { kind, remedy })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_and_first_bytes_tell_the_format() {
        for (name, format) in [
            ("a.csv", Some(Format::Text)),
            ("a.TSV.gz", Some(Format::Text)),
            ("a.b.npz", Some(Format::Npz)),
            ("a.feather", Some(Format::Arrow)),
            ("a.pq", Some(Format::Parquet)),
            ("a", None),
            ("a.xlsx", None),
        ] {
            assert_eq!(Format::of_path(Path::new(name)), format, "{name}");
        }
        assert_eq!(Format::of_magic(b"PAR1"), Some(Format::Parquet));
        assert_eq!(Format::of_magic(b"mu,tau\n"), None);
        assert_eq!(Format::of_magic(b""), None);
        let output = OutputFormat::of_path(Path::new("x.tsv.gz")).unwrap();
        assert_eq!((output.separator, output.packing), (Some(b'\t'), Some(Packing::Gzip)));
        let output = OutputFormat::of_path(Path::new("x.CSV.zst")).unwrap();
        assert_eq!((output.separator, output.packing), (None, Some(Packing::Zstd)));
        for &name in Format::NAMES {
            name.parse::<Format>().unwrap();
        }
        assert!("xls".parse::<Format>().is_err());
    }

    #[test]
    fn files_of_other_kinds_are_told_what_they_are() {
        for (start, words) in [
            (&b"\xfd7zXZ\0"[..], "this is an xz archive; unpack it first"),
            (b"BZh91AY&SY", "this is a bzip2 archive"),
            #[cfg(not(feature = "netcdf"))]
            (b"\x89HDF\r\n\x1a\n", "this is an HDF5 or NetCDF file; read it with ArviZ"),
            #[cfg(not(feature = "netcdf"))]
            (b"CDF\x01\0", "this is a NetCDF file"),
            (b"FEA1\0\0\0\0", "this is a Feather file of version 1; write it again as version 2"),
            (b"\x80\x04\x95\x10", "this is a Python pickle; load it"),
            (b"RDX3\nX\n", "this is a file of R objects"),
        ] {
            let error = refuse_foreign(start).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
        for text in ["mu,tau\n", "BZh9,tau\n", "ORC,x\n", "CDF,x\n", "X\n1\n", ""] {
            refuse_foreign(text.as_bytes()).unwrap();
        }
    }
}
