//! Where the bytes of an input come from, and how they are had a second time: a file, or what came through a pipe.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use tempfile::NamedTempFile;

use crate::{Error, Result};

/// Bytes that can be read twice: once for the numbers, once more for the chosen rows.
#[derive(Debug)]
pub(crate) struct Origin {
    path: PathBuf,
    /// What came through a pipe is kept here, and goes when the origin goes.
    _spool: Option<NamedTempFile>,
    is_gzip: bool,
    len: u64,
    modified: Option<SystemTime>,
}

impl Origin {
    /// Opens a file, or standard input where the name is `-`. A pipe is copied to a temporary file first.
    pub(crate) fn open(path: &Path) -> Result<Origin> {
        if path.as_os_str() == "-" {
            return Origin::spool(&mut io::stdin().lock());
        }
        // Reading a directory fails too, but each system words it differently and none says what to do.
        if path.is_dir() {
            return Err(Error::Directory);
        }
        let mut file = File::open(path).map_err(Error::Unreadable)?;
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        if !metadata.is_file() {
            return Origin::spool(&mut file);
        }
        Origin::of_file(path.to_path_buf(), None)
    }

    fn spool(from: &mut dyn Read) -> Result<Origin> {
        let mut spool = NamedTempFile::new().map_err(Error::Spool)?;
        io::copy(from, spool.as_file_mut()).map_err(Error::Spool)?;
        Origin::of_file(spool.path().to_path_buf(), Some(spool))
    }

    fn of_file(path: PathBuf, spool: Option<NamedTempFile>) -> Result<Origin> {
        let mut file = File::open(&path).map_err(Error::Unreadable)?;
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        let mut magic = [0; 2];
        let is_gzip = file.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
        Ok(Origin { path, _spool: spool, is_gzip, len: metadata.len(), modified: metadata.modified().ok() })
    }

    /// The bytes from this offset on, decompressed; where the offset is not 0 the file must not be gzipped.
    pub(crate) fn reader(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        let mut file = self.file()?;
        if self.is_gzip {
            assert_eq!(offset, 0, "a gzipped file can only be read from its start");
            return Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file))));
        }
        file.seek(SeekFrom::Start(offset)).map_err(Error::Unreadable)?;
        Ok(Box::new(file))
    }

    /// The file itself, for formats that seek. It must be the one that was opened first.
    pub(crate) fn file(&self) -> Result<File> {
        let file = File::open(&self.path).map_err(Error::Unreadable)?;
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        if metadata.len() != self.len || metadata.modified().ok() != self.modified {
            return Err(Error::Changed);
        }
        Ok(file)
    }

    pub(crate) fn is_gzip(&self) -> bool {
        self.is_gzip
    }

    /// How many bytes there are, compressed or not.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The first bytes, decompressed; fewer where there are no more.
    pub(crate) fn start(&self, count: usize) -> Result<Vec<u8>> {
        let mut start = Vec::new();
        self.reader(0)?.take(count as u64).read_to_end(&mut start).map_err(Error::Unreadable)?;
        Ok(start)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_that_changes_between_the_passes_is_noticed() {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(b"a\n1\n").unwrap();
        let origin = Origin::open(file.path()).unwrap();
        assert_eq!(origin.start(2).unwrap(), b"a\n");
        file.write_all(b"2\n").unwrap();
        assert!(matches!(origin.start(2), Err(Error::Changed)));
    }

    #[test]
    fn a_pipe_is_kept_and_can_be_read_twice() {
        let origin = Origin::spool(&mut &b"a\n1\n"[..]).unwrap();
        assert_eq!(
            (origin.start(100).unwrap(), origin.start(100).unwrap()),
            (b"a\n1\n".to_vec(), b"a\n1\n".to_vec())
        );
    }
}
