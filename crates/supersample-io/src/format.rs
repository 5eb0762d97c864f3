//! Which format a file has: told by its first bytes where they say so, else by the ending of its name.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How draws are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Lines of text: CSV and TSV with any separator, CmdStan's files, each of them plain or gzipped.
    Text,
    /// One NumPy array: rows by parameters, or chains by draws by parameters. It has no names.
    Npy,
    /// Several NumPy arrays by name, each with one entry (or one row of entries) for each draw.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC (also called Feather 2), as a file or as a stream.
    Arrow,
}

impl Format {
    /// The words [`FromStr`] knows.
    pub const NAMES: [&'static str; 7] = ["csv", "tsv", "stan", "npy", "npz", "parquet", "arrow"];

    /// The format the first bytes of a file give away; `None` for text, and for nothing at all.
    pub(crate) fn of_magic(start: &[u8]) -> Option<Format> {
        match start {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Format::Npy),
            [b'P', b'K', 3, 4, ..] => Some(Format::Npz),
            [b'P', b'A', b'R', b'1', ..] => Some(Format::Parquet),
            [b'A', b'R', b'R', b'O', b'W', b'1', ..] => Some(Format::Arrow),
            // A stream begins with the mark of a message and its length, which is small.
            [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..] => Some(Format::Arrow),
            _ => None,
        }
    }

    /// The format the ending of a name stands for, with or without `.gz` after it.
    pub fn of_path(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        let (_, ending) = name.rsplit_once('.')?;
        match ending {
            "csv" | "tsv" | "txt" | "dat" => Some(Format::Text),
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Format::Arrow),
            _ => None,
        }
    }

    /// Whether a terminal can show it.
    pub fn is_text(self) -> bool {
        self == Format::Text
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text => "csv",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
        })
    }
}

impl FromStr for Format {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Format, Self::Err> {
        match text {
            "csv" | "tsv" | "stan" => Ok(Format::Text),
            "npy" => Ok(Format::Npy),
            "npz" => Ok(Format::Npz),
            "parquet" => Ok(Format::Parquet),
            "arrow" => Ok(Format::Arrow),
            _ => Err("the formats are csv, tsv, stan, npy, npz, parquet and arrow"),
        }
    }
}

/// Where chosen rows go: the format, and how its text is dressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// The format.
    pub format: Format,
    /// Between the fields of text; `None` for the input's, or a comma.
    pub separator: Option<u8>,
    /// Whether text is gzipped.
    pub gzip: bool,
}

impl Target {
    /// What the ending of a name asks for; `None` where it says nothing.
    pub fn of_path(path: &Path) -> Option<Target> {
        let format = Format::of_path(path)?;
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let gzip = name.ends_with(".gz");
        let separator = name.trim_end_matches(".gz").ends_with(".tsv").then_some(b'\t');
        Some(Target { format, separator, gzip })
    }

    /// The format as it is, uncompressed.
    pub fn plain(format: Format) -> Target {
        Target { format, separator: None, gzip: false }
    }
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
        let target = Target::of_path(Path::new("x.tsv.gz")).unwrap();
        assert_eq!((target.separator, target.gzip), (Some(b'\t'), true));
        for name in Format::NAMES {
            name.parse::<Format>().unwrap();
        }
        assert!("xls".parse::<Format>().is_err());
    }
}
