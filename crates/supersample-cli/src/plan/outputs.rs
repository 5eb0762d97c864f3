//! Outputs of a plan: the formats of the files, and that none of them is another or an input.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use supersample_io::{OutputFormat, Packing};

/// Files to be written; `None` is stdout for the rows, and not at all for the others.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) rows: Option<PathBuf>,
    /// What the ending of that file asks for.
    pub(crate) target: Option<OutputFormat>,
    pub(crate) indices: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
}

impl Outputs {
    pub(super) fn new(
        rows: Option<PathBuf>,
        indices: Option<PathBuf>,
        trace: Option<PathBuf>,
        json: Option<PathBuf>,
        report: Option<PathBuf>,
    ) -> Result<Outputs> {
        let rows = rows.filter(|path| path.as_os_str() != "-");
        let target = rows.as_deref().and_then(OutputFormat::of_path);
        if let (Some(rows), Some(OutputFormat { format, packing: Some(packing), .. })) = (&rows, target) {
            let (done, ending) = match packing {
                Packing::Zstd => ("packed", ".zst"),
                _ => ("gzipped", ".gz"),
            };
            ensure!(format.is_text(), "{}: only text is {done}; take {ending} off the name", rows.display());
        }
        Ok(Outputs { rows, target, indices, trace, json, report })
    }

    /// The files with the flags that named them.
    pub(super) fn named(&self) -> Vec<(&'static str, Option<&Path>)> {
        vec![
            ("-o", self.rows.as_deref()),
            ("--indices", self.indices.as_deref()),
            ("--trace", self.trace.as_deref()),
            ("--json", self.json.as_deref()),
            ("--report", self.report.as_deref()),
        ]
    }
}

/// No output may overwrite the input or another output.
pub(super) fn check_distinct(inputs: &[&Path], outputs: &[(&'static str, Option<&Path>)]) -> Result<()> {
    let stdin = |path: &&&Path| path.as_os_str() == "-";
    let mut taken: Vec<(&str, PathBuf)> =
        inputs.iter().filter(|path| !stdin(path)).map(|path| ("the input", resolved(path))).collect();
    for (flag, path) in outputs {
        let Some(path) = path else { continue };
        ensure!(
            path.as_os_str() != "-",
            "{flag} cannot be written to stdout, where the rows go; name a file"
        );
        let here = resolved(path);
        if let Some((other, _)) = taken.iter().find(|(_, there)| *there == here) {
            bail!("{flag} and {other} are the same file, {}; name another", path.display());
        }
        taken.push((flag, here));
    }
    Ok(())
}

/// The path with links and dots taken out, so that two spellings of one file compare equal; the file need not exist.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    let folder = path.parent().filter(|folder| *folder != OsStr::new("")).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}
