//! Outputs of a plan: the formats of the files, and that none of them is another or an input.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use supersample_io::{OutputFormat, Packing};

/// Endings that promise a format which rows are not written in.
const FOREIGN: [&str; 35] = [
    "avro", "bin", "bz2", "db", "dta", "h5", "hdf", "hdf5", "html", "json", "jsonl", "lz4", "mat", "ndjson",
    "ods", "orc", "pdf", "pickle", "pkl", "png", "pt", "rda", "rdata", "rds", "sas7bdat", "sav", "sqlite",
    "svg", "toml", "xls", "xlsx", "xml", "xz", "yaml", "zip",
];

/// Files to be written. A path that [`is_stdout`] is stdout.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    /// `None` for stdout, or where a verb writes no rows.
    pub(crate) rows: Option<PathBuf>,
    /// What the ending of that file asks for.
    pub(crate) target: Option<OutputFormat>,
    pub(crate) indices: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
    /// Files that are read, which no run may remove.
    pub(crate) inputs: Vec<PathBuf>,
}

impl Outputs {
    /// Of a verb that writes rows.
    pub(super) fn new(
        rows: Option<PathBuf>,
        indices: Option<PathBuf>,
        trace: Option<PathBuf>,
        json: Option<PathBuf>,
        report: Option<PathBuf>,
    ) -> Result<Outputs> {
        let rows = rows.filter(|path| !is_stdout(path));
        let target = rows.as_deref().and_then(OutputFormat::of_path);
        if let (Some(rows), Some(OutputFormat { format, packing: Some(packing), .. })) = (&rows, target) {
            let (done, ending) = match packing {
                Packing::Zstd => ("compressed", ".zst"),
                _ => ("gzipped", ".gz"),
            };
            ensure!(
                format.is_text(),
                "{}: only text can be {done}; remove {ending} from the name",
                rows.display()
            );
        }
        if let Some(ending) = rows.as_deref().and_then(foreign_ending) {
            bail!(
                "-o: rows are not written as .{ending}; the endings are .csv, .tsv and .txt (also with .gz or \
                 .zst), .npy, .npz, .parquet, .arrow, .nc and .zarr"
            );
        }
        let outputs = Outputs { rows, target, indices, trace, json, report, inputs: Vec::new() };
        outputs.check_stdout(outputs.rows.is_none().then_some("the rows"))?;
        Ok(outputs)
    }

    /// Of a verb that writes no rows.
    pub(super) fn without_rows(json: Option<PathBuf>, report: Option<PathBuf>) -> Result<Outputs> {
        let outputs = Outputs { json, report, ..Outputs::default() };
        outputs.check_stdout(None)?;
        Ok(outputs)
    }

    /// Adds the files that are read.
    pub(super) fn reading<'a>(mut self, inputs: impl IntoIterator<Item = &'a Path>) -> Outputs {
        self.inputs.extend(inputs.into_iter().map(Path::to_path_buf));
        self
    }

    /// Stdout takes one thing only.
    fn check_stdout(&self, rows: Option<&'static str>) -> Result<()> {
        let others = self.named().into_iter().filter(|(_, path)| path.is_some_and(is_stdout));
        let mut there = rows.into_iter().chain(others.map(|(flag, _)| flag));
        if let (Some(one), Some(other)) = (there.next(), there.next()) {
            let remedy = if one == "the rows" { "-o FILE" } else { "a file" };
            bail!("{one} and {other} would both go to stdout; name {remedy} for one of them");
        }
        Ok(())
    }

    /// Whether rows that go to stdout are all there is.
    pub(crate) fn are_only_stdout(&self) -> bool {
        self.named().iter().all(|(_, path)| path.is_none())
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
        inputs.iter().filter(|path| !stdin(path)).map(|path| ("the input", followed(path))).collect();
    for (flag, path) in outputs {
        let Some(path) = path else { continue };
        if is_stdout(path) {
            continue;
        }
        let here = followed(path);
        if let Some((other, _)) = taken.iter().find(|(_, there)| *there == here) {
            bail!("{flag} and {other} are the same file, {}; name another", path.display());
        }
        taken.push((flag, here));
    }
    Ok(())
}

/// Whether an output of this name goes to stdout.
pub(crate) fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// The file that a name leads to, which need not exist, not even at the end of a link.
pub(crate) fn followed(path: &Path) -> PathBuf {
    // No file system follows more links than this.
    const MOST_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Ok(next) = path.read_link() else { break };
        path = path.with_file_name(next);
    }
    resolved(&path)
}

/// The ending of this name, if rows are not written in its format.
fn foreign_ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    FOREIGN.contains(&ending.as_str()).then_some(ending)
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
