//! Output files: opened before the work starts, and each in place under its name only when it is complete.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Error, Result, anyhow, ensure};
use tempfile::NamedTempFile;

use super::interrupt;
use crate::plan::{followed, is_stdout};

/// How the names of files begin and end that are being written, with this many random letters and digits between. Only
/// files of such a name are swept.
const PREFIX: &str = ".supersample-";
const SUFFIX: &str = ".tmp";
const RANDOM: usize = 12;

/// Names in place of one that is too long.
const SHORT_NAME: &str = "supersample";

/// A file to be written. Dropped before [`finish`](Output::finish) it leaves no trace, and an old file unchanged.
#[derive(Debug)]
pub(crate) struct Output {
    /// As the user has written it.
    name: PathBuf,
    /// With links followed.
    path: PathBuf,
    /// Whether there was a file of this name before the run.
    is_old: bool,
    /// Whether it is an archive that is unpacked to a folder.
    is_folder: bool,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// In the folder of its final file, so that the rename stays on one file system.
    Temporary(NamedTempFile),
    /// A device or a pipe, which a rename would replace by a plain file.
    Direct(File),
    Stdout,
}

/// Where an output has ended up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Placed {
    /// Under its own name.
    AsNamed,
    /// Under this name, because the older and complete file was to be kept.
    BesideOld(PathBuf),
}

impl Output {
    pub(crate) fn create(name: &Path) -> Result<Output> {
        let made = |path: &Path, is_old: bool, sink: Sink| {
            let is_folder = is_store(path);
            Ok(Output { name: name.to_path_buf(), path: path.to_path_buf(), is_old, is_folder, sink })
        };
        if is_stdout(name) {
            return made(name, false, Sink::Stdout);
        }
        // Appending, because behind /dev/stderr there may be a file that others write to as well.
        let device =
            |path: &Path| File::options().append(true).open(path).with_context(|| cannot_write(name));
        if is_device_path(name) {
            return made(name, false, Sink::Direct(device(name)?));
        }
        if is_store(name) {
            ensure!(
                fs::symlink_metadata(name).is_err(),
                "{}: it exists, and a Zarr store is not replaced; remove it, or name another",
                cannot_write(name)
            );
            let file = beside(name, folder_of(name)).with_context(|| cannot_write(name))?;
            return made(name, false, Sink::Temporary(file));
        }
        let names_folder = name.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
        ensure!(!names_folder, "{}: this is the name of a directory; name a file in it", cannot_write(name));
        // A link is followed, so that the file it leads to is replaced or made, and not the link.
        let path = followed(name);
        let old = fs::metadata(&path).ok();
        if let Some(old) = &old {
            ensure!(!old.is_dir(), "{}: it is a directory; name a file in it", cannot_write(name));
            // The rename would go through all the same.
            ensure!(!old.permissions().readonly(), "{}: it is read-only", cannot_write(name));
            if !old.is_file() {
                return made(&path, false, Sink::Direct(device(&path)?));
            }
        }
        let file = beside(&path, folder_of(name)).with_context(|| cannot_write(name))?;
        if let Some(old) = &old {
            fs::set_permissions(file.path(), old.permissions()).with_context(|| cannot_write(name))?;
        }
        made(&path, old.is_some(), Sink::Temporary(file))
    }

    /// As the user has written it.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Writes the contents, all of them.
    pub(crate) fn fill(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let file = match &mut self.sink {
            Sink::Temporary(file) => file.as_file_mut(),
            Sink::Direct(file) => file,
            Sink::Stdout => return to_stdout(write),
        };
        let mut buffer = io::BufWriter::new(file);
        write(&mut buffer).and_then(|()| Ok(buffer.flush()?)).with_context(|| cannot_write(&self.name))
    }

    /// Puts the file in place and on the disk. The `is_partial` result of an interrupted run does not replace an older
    /// file: it gets another name.
    pub(crate) fn finish(self, is_partial: bool) -> Result<Placed> {
        let Sink::Temporary(file) = self.sink else { return Ok(Placed::AsNamed) };
        let in_place = || format!("{} cannot be put in place", self.name.display());
        if self.is_folder {
            unpack(&file, &self.path).with_context(in_place)?;
            return Ok(Placed::AsNamed);
        }
        // Before the rename: a name that outlives a power cut must lead to the contents.
        file.as_file().sync_all().with_context(in_place)?;
        let placed = if is_partial && self.is_old {
            put_beside(file, &self.path, "partial")
                .map(|at| Placed::BesideOld(self.name.with_file_name(at.file_name().unwrap_or_default())))
        } else {
            file.persist(&self.path).map(|_| Placed::AsNamed).map_err(|refusal| (refusal.error, refusal.file))
        };
        // What is finished is not thrown away because of its name.
        let placed = placed.map_err(|(error, file)| match kept(file, &self.path) {
            Some(at) => anyhow!("{}: {error}; its contents are in {}", in_place(), at.display()),
            None => anyhow!("{}: {error}", in_place()),
        })?;
        // The new name itself. Where folders cannot be synchronised there is nothing more to be done.
        if cfg!(unix) {
            let _ = File::open(folder_of(&self.path)).and_then(|folder| folder.sync_all());
        }
        Ok(placed)
    }
}

/// Whether the output is a Zarr store, which is a folder.
fn is_store(path: &Path) -> bool {
    cfg!(feature = "zarr") && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zarr"))
}

/// Unpacks an archive to a folder, which appears whole.
#[cfg(feature = "zarr")]
fn unpack(archive: &NamedTempFile, path: &Path) -> Result<()> {
    let make = || {
        let made = tempfile::Builder::new().prefix(PREFIX).suffix(SUFFIX).tempdir_in(folder_of(path));
        made.map_err(|refusal| without_path(refusal, folder_of(path)))
    };
    let folder = interrupt::unfinished(make, |folder| folder.path().to_path_buf())?;
    let store = folder.path().join("store");
    supersample_io::unpack_store(archive.path(), &store)?;
    ensure!(fs::symlink_metadata(path).is_err(), "it was made by another program in the meantime");
    Ok(fs::rename(&store, path)?)
}

#[cfg(not(feature = "zarr"))]
fn unpack(_: &NamedTempFile, _: &Path) -> Result<()> {
    unreachable!("no output is a store")
}

fn cannot_write(name: &Path) -> String {
    format!("{} cannot be written", name.display())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An empty file in the folder of this one, locked for as long as this process writes to it; errors call the folder by
/// the name that the user gave it.
fn beside(path: &Path, folder_name: &Path) -> Result<NamedTempFile> {
    let folder = folder_of(path);
    // Asked first, because the error would name the temporary file.
    let place = fs::metadata(folder)?;
    ensure!(place.is_dir(), "{} is not a directory", folder_name.display());
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM);
    // Left to itself a temporary file is for its owner only; outputs are as readable as any other new file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    loop {
        let make = || builder.tempfile_in(folder).map_err(|refusal| without_path(refusal, folder_name));
        let file = interrupt::unfinished(make, |file| file.path().to_path_buf())?;
        // Without locks there is no sweep either.
        let _ = file.as_file().lock();
        // Another run may have swept it away in the moment before it was locked.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Why a file cannot be made in a folder, without the name of the temporary file.
fn without_path(refusal: io::Error, folder: &Path) -> Error {
    match refusal.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            anyhow!("no file can be made in {}: {}", folder.display(), refusal.kind())
        }
        // The path behind the reason is that of the temporary file.
        _ => anyhow!("{}", refusal.to_string().split(" at path ").next().unwrap_or_default()),
    }
}

/// Puts a file next to another that is not replaced: `o.partial.csv`, or the first of `o.partial-2.csv`, … that is
/// free; under a short name where such a name is too long. The file comes back where none can be had.
fn put_beside(
    mut file: NamedTempFile,
    path: &Path,
    mark: &str,
) -> std::result::Result<PathBuf, (io::Error, NamedTempFile)> {
    let short = match path.extension() {
        Some(ending) => Path::new(SHORT_NAME).with_extension(ending),
        None => PathBuf::from(SHORT_NAME),
    };
    let mut refused = io::Error::from(io::ErrorKind::AlreadyExists);
    for name in [path, &short] {
        for number in 1..10_000 {
            let at = path.with_file_name(marked_name(name, mark, number));
            match file.persist_noclobber(&at) {
                Ok(_) => return Ok(at),
                Err(refusal) => (refused, file) = (refusal.error, refusal.file),
            }
            if refused.kind() != io::ErrorKind::AlreadyExists {
                break;
            }
        }
    }
    Err((refused, file))
}

/// Keeps a finished file that cannot have its own name, under another that no run sweeps if possible; returns where.
fn kept(file: NamedTempFile, path: &Path) -> Option<PathBuf> {
    put_beside(file, path, "kept").or_else(|(_, file)| file.keep().map(|(_, at)| at)).ok()
}

/// The name of a file that is put next to one of this name; the ending keeps its meaning.
fn marked_name(path: &Path, mark: &str, number: usize) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (inner, packing) = match name.rsplit_once('.') {
        Some((inner, packing @ ("gz" | "zst"))) => (inner.to_string(), format!(".{packing}")),
        _ => (name, String::new()),
    };
    let mark = if number == 1 { mark.to_string() } else { format!("{mark}-{number}") };
    match inner.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()) {
        Some((stem, ending)) => format!("{stem}.{mark}.{ending}{packing}"),
        None => format!("{inner}.{mark}{packing}"),
    }
}

/// Removes temporary files of killed runs from the folder of an output: files that [`beside`] has named, without a lock,
/// and not among the inputs. Errors are ignored.
pub(crate) fn sweep(output: &Path, inputs: &[PathBuf]) {
    if is_stdout(output) || is_device_path(output) {
        return;
    }
    let path = followed(output);
    let Ok(entries) = fs::read_dir(folder_of(&path)) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_temporary);
        let is_input = || inputs.iter().any(|input| followed(input) == followed(&entry.path()));
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) || is_input() {
            continue;
        }
        // Files of other users usually cannot be opened for writing. Files in use are locked; the lock of a dead
        // process is gone.
        let Ok(file) = File::options().write(true).open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether [`beside`] gives such names.
fn is_temporary(name: &str) -> bool {
    let random = name.strip_prefix(PREFIX).and_then(|name| name.strip_suffix(SUFFIX));
    random.is_some_and(|random| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Whether the path is the system's name for an open file, such as /dev/stdout.
fn is_device_path(path: &Path) -> bool {
    let names_open_file = path.starts_with("/dev") || path.starts_with("/proc");
    names_open_file && !path.starts_with("/dev/shm")
}

/// Writes to stdout. A closed pipe (`| head`) is not an error.
pub(crate) fn to_stdout(write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let mut buffer = io::BufWriter::new(io::stdout().lock());
    match write(&mut buffer).and_then(|()| Ok(buffer.flush()?)) {
        Err(error) if is_broken_pipe(&error) => {
            // Dropped whole, the buffer would try to write the rest once more.
            let _ = buffer.into_parts();
            Ok(())
        }
        written => written.context("stdout cannot be written"),
    }
}

/// Whether stdout may have been closed when the program was started. In its place Rust opens /dev/null for reading and
/// writing, where all is lost without an error. Some who want that, such as Python's DEVNULL, open it so as well.
pub(crate) fn stdout_may_be_closed() -> bool {
    let leads_nowhere = fs::read_link("/proc/self/fd/1").is_ok_and(|path| path == Path::new("/dev/null"));
    let about = fs::read_to_string("/proc/self/fdinfo/1").unwrap_or_default();
    let flags = about.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u64::from_str_radix(flags.trim(), 8).ok()).unwrap_or(0);
    let is_read_and_written = flags & 3 == 2;
    leads_nowhere && is_read_and_written
}

/// Prints to stderr; errors are ignored.
pub(crate) fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| match cause.downcast_ref::<supersample_io::Error>() {
        Some(supersample_io::Error::Unwritable(error)) => broken(error),
        _ => cause.downcast_ref::<io::Error>().is_some_and(broken),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_at_the_end_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.fill(|out| Ok(out.write_all(b"new")?)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

        let mut output = Output::create(&path).unwrap();
        output.fill(|out| Ok(out.write_all(b"new")?)).unwrap();
        output.finish(false).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn parts_go_beside_what_was_there_and_keep_the_ending() {
        let name = |name: &str, number| marked_name(Path::new(name), "partial", number);
        assert_eq!(name("a/o.csv", 1), "o.partial.csv");
        assert_eq!(name("a.b.parquet", 2), "a.b.partial-2.parquet");
        assert_eq!(
            (name("o.csv.gz", 1), name("o.zst", 1)),
            ("o.partial.csv.gz".into(), "o.partial.zst".into())
        );
        assert_eq!(
            (name("plain", 1), name(".hidden", 1)),
            ("plain.partial".into(), ".hidden.partial".into())
        );

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o.csv");
        // Nothing was there when it was opened: the name is free for a part, too.
        let first = Output::create(&path).unwrap();
        assert_eq!(first.finish(true).unwrap(), Placed::AsNamed);
        let second = Output::create(&path).unwrap();
        let placed = second.finish(true).unwrap();
        assert_eq!(placed, Placed::BesideOld(folder.path().join("o.partial.csv")));
    }

    #[test]
    fn only_what_this_program_has_named_and_nobody_uses_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let running = Output::create(&at("o.csv")).unwrap();
        let (left, input) = (".supersample-left1left2Le.tmp", ".supersample-inputINPUT12.tmp");
        let own = [".supersample-draws.csv", ".supersample-left", ".supersampled", "o.csv", input];
        for name in own.into_iter().chain([left]) {
            fs::write(at(name), "").unwrap();
        }
        sweep(&at("o.csv"), &[at(input)]);
        assert!(own.iter().all(|name| at(name).exists()) && !at(left).exists());
        // The sixth is the one that is being written.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 6);
        running.finish(false).unwrap();
    }

    #[test]
    fn what_cannot_have_its_name_is_kept_under_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("o.csv");
        let mut output = Output::create(&path).unwrap();
        output.fill(|out| Ok(out.write_all(b"rows")?)).unwrap();
        // A folder of the name cannot be replaced by a file.
        fs::create_dir(&path).unwrap();
        let error = format!("{:#}", output.finish(false).unwrap_err());
        let kept = folder.path().join("o.kept.csv");
        assert!(error.ends_with(&format!("; its contents are in {}", kept.display())), "{error}");
        assert_eq!(fs::read(kept).unwrap(), b"rows");
        // There is no room for `.partial` in this name.
        let path = folder.path().join(format!("{}.csv", "x".repeat(250)));
        fs::write(&path, "old").unwrap();
        let mut output = Output::create(&path).unwrap();
        output.fill(|out| Ok(out.write_all(b"part")?)).unwrap();
        let short = folder.path().join("supersample.partial.csv");
        assert_eq!(output.finish(true).unwrap(), Placed::BesideOld(short.clone()));
        assert_eq!((fs::read(path).unwrap(), fs::read(short).unwrap()), (b"old".to_vec(), b"part".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_survive_and_devices_are_not_replaced() {
        use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let (path, link, new) =
            (folder.path().join("a"), folder.path().join("link"), folder.path().join("new"));
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&path, &link).unwrap();
        Output::create(&link).unwrap().finish(false).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read(&path).unwrap(), b"");

        Output::create(&new).unwrap().finish(false).unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&plain));

        let mut null = Output::create(Path::new("/dev/null")).unwrap();
        null.fill(|out| Ok(out.write_all(b"gone")?)).unwrap();
        null.finish(false).unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
