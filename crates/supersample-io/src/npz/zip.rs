//! Zip archives, as far as .npz needs them: arrays that are stored or deflated, checked by their CRC-32.

use std::io::{ErrorKind, Read, Write};
#[cfg(feature = "zarr")]
use std::path::Path;

use flate2::read::DeflateDecoder;
use rawzip::path::EntryPath;
use rawzip::{
    CompressionMethod, RECOMMENDED_BUFFER_SIZE, ZipArchive, ZipArchiveEntryWayfinder, ZipArchiveWriter,
    ZipLocator,
};

use crate::npy::Header;
use crate::origin::{Handle, Origin};
use crate::words::shown;
use crate::{Error, Result};

pub(super) fn malformed(reason: impl ToString) -> Error {
    Error::Malformed { format: "npz", reason: reason.to_string() }
}

/// One array of the archive.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Without the ending .npy.
    pub(super) name: String,
    is_deflated: bool,
    place: ZipArchiveEntryWayfinder,
}

/// An array in memory.
pub(super) struct Array {
    pub(super) header: Header,
    pub(super) bytes: Vec<u8>,
}

/// An archive and a way to its bytes.
pub(super) struct Archive(ZipArchive<Handle>);

impl Archive {
    pub(super) fn open(origin: &Origin) -> Result<Archive> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let found = ZipLocator::new().locate_in_reader(origin.file()?, &mut buffer, origin.len());
        found.map(Archive).map_err(|(_, error)| malformed(error))
    }

    /// The arrays that its directory lists.
    pub(super) fn members(&self) -> Result<Vec<Member>> {
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        let (mut entries, mut members, mut others) = (self.0.entries(&mut buffer), Vec::new(), Vec::new());
        while let Some(entry) = entries.next_entry().map_err(malformed)? {
            let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
            let method = entry.compression_method();
            let is_deflated = method == CompressionMethod::DEFLATE;
            match name.strip_suffix(".npy") {
                Some(array) if is_deflated || method == CompressionMethod::STORE => {
                    members.push(Member { name: array.to_string(), is_deflated, place: entry.wayfinder() });
                }
                Some(_) => {
                    return Err(malformed(format!(
                        "'{}' is packed by another method than deflate",
                        shown(&name)
                    )));
                }
                None => others.push(name),
            }
        }
        if (members.len() + others.len()) as u64 != self.0.entries_hint() {
            return Err(malformed("its directory is cut short"));
        }
        if members.is_empty() { Err(foreign(&others)) } else { Ok(members) }
    }

    /// The bytes of a member, unpacked; they end in an error where they do not fit the CRC-32 of the directory.
    fn stream(&self, member: &Member) -> Result<Box<dyn Read + '_>> {
        let entry = self.0.get_entry(member.place).map_err(malformed)?;
        let packed = entry.reader();
        match member.is_deflated {
            true => Ok(Box::new(entry.verifying_reader(DeflateDecoder::new(packed)))),
            false => Ok(Box::new(entry.verifying_reader(packed))),
        }
    }

    pub(super) fn header(&self, member: &Member) -> Result<Header> {
        Header::read(&mut self.stream(member)?)
    }

    pub(super) fn load(&self, member: &Member) -> Result<Array> {
        let damaged = |what: &dyn ToString| {
            malformed(format!("'{}' is damaged: {}", shown(&member.name), what.to_string()))
        };
        let mut stream = self.stream(member)?;
        let header = Header::read(&mut stream)?;
        header.check_length(member.place.uncompressed_size_hint())?;
        let (mut bytes, wanted) = (Vec::new(), (header.count()? * header.size) as u64);
        // Grows with the bytes that are there. The one byte more that is asked for is where the end is checked.
        stream.take(wanted + 1).read_to_end(&mut bytes).map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => Error::NoMemory { bytes: wanted },
            _ => damaged(&error),
        })?;
        match bytes.len() as u64 == wanted {
            true => Ok(Array { header, bytes }),
            false => Err(damaged(&"its length is not what its header says")),
        }
    }
}

/// Unpacks the files of an archive of [`archive`] to a folder.
#[cfg(feature = "zarr")]
pub(crate) fn unpack(origin: &Origin, folder: &Path) -> Result<()> {
    let zip = Archive::open(origin)?;
    let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
    let mut entries = zip.0.entries(&mut buffer);
    std::fs::create_dir_all(folder)?;
    while let Some(entry) = entries.next_entry().map_err(malformed)? {
        let name = String::from_utf8_lossy(entry.file_path().as_bytes()).into_owned();
        if name.split('/').any(|part| part.is_empty() || part == "..") {
            return Err(malformed(format!("'{}' is no name of a file", shown(&name))));
        }
        let member = Member { name: name.clone(), is_deflated: false, place: entry.wayfinder() };
        let path = folder.join(&name);
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::io::copy(&mut zip.stream(&member)?, &mut std::fs::File::create(path)?)?;
    }
    Ok(())
}

/// What a zip archive without arrays is.
fn foreign(names: &[String]) -> Error {
    let has = |end: &str| names.iter().any(|name| name.to_ascii_lowercase().ends_with(end));
    let (kind, remedy) = match () {
        () if has("[content_types].xml") => {
            ("an Excel workbook or another office file", "save the sheet as CSV")
        }
        () if has(".zarray") || has("zarr.json") => {
            ("a Zarr store", "read it with ArviZ or xarray and save the draws as .npz, Parquet or CSV")
        }
        () if has("data.pkl") => ("a PyTorch file", "load it in Python and save the draws as .npz"),
        () if names.is_empty() => return malformed("it holds no arrays"),
        () => (
            "a zip archive without arrays",
            "unpack it and name the file within (gzip and Zstandard are read as they are)",
        ),
    };
    Error::Foreign { kind, remedy }
}

/// An archive of these files, not compressed, put together in memory: the chosen rows are few.
pub(crate) fn archive(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Vec<u8> {
    let mut zip = ZipArchiveWriter::new(Vec::new());
    let mut add = |name: String, bytes: &[u8]| {
        // As it is where every program reads it alike; else marked as UTF-8.
        let path = match name.is_ascii() {
            true => EntryPath::verbatim(name.into_bytes()),
            false => EntryPath::conformant(name),
        };
        let (mut entry, config) = zip.new_file(path).start()?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes)?;
        let (_, descriptor) = writer.finish()?;
        entry.finish(descriptor)
    };
    for (name, bytes) in files {
        add(name, &bytes).expect("memory takes everything");
    }
    zip.finish().expect("memory takes everything")
}
