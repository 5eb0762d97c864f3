//! Output files: opened before the work starts, and in place under their names only when all of it is done.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use tempfile::NamedTempFile;

use super::interrupt;

/// A file to be written. Dropped before [`finish`](Output::finish) it leaves no trace, and an old file as it was.
#[derive(Debug)]
pub(crate) struct Output {
    path: PathBuf,
    sink: Sink,
}

#[derive(Debug)]
enum Sink {
    /// Beside the file it will become, so that the rename stays on one file system.
    Beside(NamedTempFile),
    /// A device or a pipe, which a rename would replace by a plain file.
    Direct(File),
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Output> {
        let cannot_write = || format!("{} cannot be written", path.display());
        let direct = |path: &Path| -> Result<Output> {
            // Appending, because behind /dev/stderr there may be a file that others write to as well.
            let device = File::options().append(true).open(path).with_context(cannot_write)?;
            Ok(Output { path: path.to_path_buf(), sink: Sink::Direct(device) })
        };
        if is_device_path(path) {
            return direct(path);
        }
        // A link is followed, so that the file it leads to is replaced and not the link.
        let path = &path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let old = fs::metadata(path).ok();
        if let Some(old) = &old {
            ensure!(!old.is_dir(), "{}: it is a directory; name a file in it", cannot_write());
            // The rename would go through all the same.
            ensure!(!old.permissions().readonly(), "{}: it is read-only", cannot_write());
            if !old.is_file() {
                return direct(path);
            }
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        // Asked first, because the error of the temporary file would name that file, which nobody asked for.
        let place = fs::metadata(folder).with_context(cannot_write)?;
        ensure!(place.is_dir(), "{}: {} is not a directory", cannot_write(), folder.display());
        let mut builder = tempfile::Builder::new();
        builder.prefix(".supersample-");
        // Left to itself a temporary file is for its owner only; outputs are as readable as any other new file.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).with_context(cannot_write)?;
        interrupt::unfinished(file.path());
        if let Some(old) = old {
            fs::set_permissions(file.path(), old.permissions()).with_context(cannot_write)?;
        }
        Ok(Output { path: path.clone(), sink: Sink::Beside(file) })
    }

    /// Writes the contents, all of them.
    pub(crate) fn fill(&mut self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let file = match &mut self.sink {
            Sink::Beside(file) => file.as_file_mut(),
            Sink::Direct(file) => file,
        };
        let mut buffer = io::BufWriter::new(file);
        write(&mut buffer)
            .and_then(|()| Ok(buffer.flush()?))
            .with_context(|| format!("{} cannot be written", self.path.display()))
    }

    /// Puts the file in place.
    pub(crate) fn finish(self) -> Result<()> {
        match self.sink {
            Sink::Beside(file) => file
                .persist(&self.path)
                .map(|_| ())
                .map_err(|refusal| refusal.error)
                .with_context(|| format!("{} cannot be put in place", self.path.display())),
            Sink::Direct(_) => Ok(()),
        }
    }
}

/// Whether the path is the system's name for an open file, such as /dev/stdout, whatever lies behind it.
fn is_device_path(path: &Path) -> bool {
    let names_open_file = path.starts_with("/dev") || path.starts_with("/proc");
    names_open_file && !path.starts_with("/dev/shm")
}

/// Writes to stdout. A reader that has seen enough (`| head`) is no error.
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

/// To stderr. A reader who has closed it is not told.
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
        output.finish().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
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
        Output::create(&link).unwrap().finish().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(fs::read(&path).unwrap(), b"");

        Output::create(&new).unwrap().finish().unwrap();
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&new), mode(&plain));

        let mut null = Output::create(Path::new("/dev/null")).unwrap();
        null.fill(|out| Ok(out.write_all(b"gone")?)).unwrap();
        null.finish().unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
