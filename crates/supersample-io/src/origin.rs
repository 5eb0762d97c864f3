//! Bytes of an input that can be read twice: a file, or a copy of a pipe.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use flate2::read::MultiGzDecoder;
use rawzip::ReaderAt;

use crate::format::Packing;
use crate::{Error, Result};

/// Bytes that can be read several times: for the numbers, and for the chosen rows.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    place: Place,
    packing: Option<Packing>,
    len: u64,
    modified: Option<SystemTime>,
    /// Bytes of a packed file that the last reader has taken.
    unpacked: Arc<AtomicU64>,
}

/// The copies of pipes by their names, which can be read only once.
static SPOOLS: Mutex<BTreeMap<PathBuf, Origin>> = Mutex::new(BTreeMap::new());

fn spools() -> MutexGuard<'static, BTreeMap<PathBuf, Origin>> {
    SPOOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the bytes are.
#[derive(Debug, Clone)]
enum Place {
    Path(PathBuf),
    /// A copy of a pipe, in an unnamed file that the system removes when the program ends.
    Spool(Arc<File>),
    /// A Zarr store.
    #[cfg(feature = "zarr")]
    Folder(PathBuf),
}

impl Origin {
    /// Opens a file, or standard input where the name is `-`. A pipe is copied to a temporary file once, and
    /// opening it again gives the copy.
    pub(crate) fn open(path: &Path) -> Result<Origin> {
        if let Some(origin) = spools().get(path) {
            return Ok(origin.clone());
        }
        if path.as_os_str() == "-" {
            return Origin::spool_once(path, &mut io::stdin().lock());
        }
        // Reading a directory fails too, but each system words it differently and none says what to do.
        if path.is_dir() {
            return Origin::of_folder(path);
        }
        let mut file = File::open(path).map_err(Error::Unreadable)?;
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        if !metadata.is_file() {
            return Origin::spool_once(path, &mut file);
        }
        Origin::new(Place::Path(path.to_path_buf()), file)
    }

    #[cfg(feature = "zarr")]
    fn of_folder(path: &Path) -> Result<Origin> {
        if !crate::zarr::is_store(path) {
            return Err(Error::Directory);
        }
        let (len, modified) = crate::zarr::extent(path).map_err(Error::Unreadable)?;
        let place = Place::Folder(path.to_path_buf());
        Ok(Origin { place, packing: None, len, modified, unpacked: Arc::default() })
    }

    #[cfg(not(feature = "zarr"))]
    fn of_folder(_: &Path) -> Result<Origin> {
        Err(Error::Directory)
    }

    /// When a file of the store was changed last.
    #[cfg(feature = "zarr")]
    pub(crate) fn modified(&self) -> Option<SystemTime> {
        self.modified
    }

    /// The folder of a Zarr store.
    #[cfg(feature = "zarr")]
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder(path) => Some(path),
            _ => None,
        }
    }

    fn spool_once(path: &Path, from: &mut dyn Read) -> Result<Origin> {
        let origin = Origin::spool(from)?;
        spools().insert(path.to_path_buf(), origin.clone());
        Ok(origin)
    }

    fn spool(from: &mut dyn Read) -> Result<Origin> {
        let mut spool = tempfile::tempfile().map_err(Error::Spool)?;
        io::copy(from, &mut spool).map_err(Error::Spool)?;
        spool.flush().map_err(Error::Spool)?;
        let file = spool.try_clone().map_err(Error::Spool)?;
        Origin::new(Place::Spool(Arc::new(spool)), file)
    }

    fn new(place: Place, file: File) -> Result<Origin> {
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        let mut magic = Vec::new();
        Handle::new(Arc::new(file)).take(4).read_to_end(&mut magic).map_err(Error::Unreadable)?;
        let packing = Packing::of_magic(&magic);
        let (len, modified) = (metadata.len(), metadata.modified().ok());
        Ok(Origin { place, packing, len, modified, unpacked: Arc::default() })
    }

    /// The bytes from this offset on, unpacked; where the offset is not 0 the file must not be packed.
    pub(crate) fn reader(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        let Some(packing) = self.packing else {
            return match &self.place {
                // Opened anew, the file has a position of its own, and the system reads straight into the buffer.
                Place::Path(_) => {
                    let mut file = self.open_again()?;
                    file.seek(SeekFrom::Start(offset)).map_err(Error::Unreadable)?;
                    Ok(Box::new(file))
                }
                Place::Spool(_) => Ok(Box::new(Handle { at: offset, ..self.file()? })),
                #[cfg(feature = "zarr")]
                Place::Folder(_) => Err(Error::Directory),
            };
        };
        assert_eq!(offset, 0, "a packed file can only be read from its start");
        self.unpacked.store(0, Ordering::Relaxed);
        let file = Handle { counter: Some(self.unpacked.clone()), ..self.file()? };
        match packing {
            Packing::Gzip => Ok(Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, file)))),
            Packing::Zstd => Ok(Box::new(zstd::Decoder::new(file).map_err(Error::Unreadable)?)),
        }
    }

    /// The file itself, for formats that seek.
    pub(crate) fn file(&self) -> Result<Handle> {
        self.open_again().map(Handle::new)
    }

    /// The file, which must be the one that was opened first.
    fn open_again(&self) -> Result<Arc<File>> {
        let file = match &self.place {
            Place::Path(path) => Arc::new(File::open(path).map_err(Error::Unreadable)?),
            Place::Spool(file) => file.clone(),
            #[cfg(feature = "zarr")]
            Place::Folder(_) => return Err(Error::Directory),
        };
        let metadata = file.metadata().map_err(Error::Unreadable)?;
        if metadata.len() != self.len || metadata.modified().ok() != self.modified {
            return Err(Error::Changed);
        }
        Ok(file)
    }

    /// Compression of the file.
    pub(crate) fn packing(&self) -> Option<Packing> {
        self.packing
    }

    /// Number of bytes of a compressed file that the last reader has taken.
    pub(crate) fn unpacked(&self) -> u64 {
        self.unpacked.load(Ordering::Relaxed)
    }

    /// Number of bytes, compressed or not.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// The first bytes, unpacked; fewer where there are no more.
    pub(crate) fn start(&self, count: usize) -> Result<Vec<u8>> {
        let mut start = Vec::new();
        self.reader(0)?.take(count as u64).read_to_end(&mut start).map_err(Error::Unreadable)?;
        Ok(start)
    }
}

/// A file with a position of its own: several may read one file, which need not have a name.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    file: Arc<File>,
    at: u64,
    /// Counter of the bytes that are read.
    counter: Option<Arc<AtomicU64>>,
}

impl Handle {
    fn new(file: Arc<File>) -> Handle {
        Handle { file, at: 0, counter: None }
    }

    pub(crate) fn size(&self) -> io::Result<u64> {
        self.file.metadata().map(|metadata| metadata.len())
    }
}

impl ReaderAt for Handle {
    fn read_at(&self, buffer: &mut [u8], at: u64) -> io::Result<usize> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(&*self.file, buffer, at);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, at);
    }
}

impl Read for Handle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.read_at(buffer, self.at)?;
        self.at += got as u64;
        if let Some(counter) = &self.counter {
            counter.fetch_add(got as u64, Ordering::Relaxed);
        }
        Ok(got)
    }
}

impl Seek for Handle {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

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
        let (mut one, mut other) = (origin.file().unwrap(), origin.file().unwrap());
        one.seek(SeekFrom::End(-2)).unwrap();
        let (mut end, mut all) = (String::new(), String::new());
        one.read_to_string(&mut end).unwrap();
        other.read_to_string(&mut all).unwrap();
        assert_eq!((end.as_str(), all.as_str()), ("1\n", "a\n1\n"));
    }
}
