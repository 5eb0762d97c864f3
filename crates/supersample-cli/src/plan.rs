//! What will be done, checked before anything is: after this file no flag is consulted again.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use supersample::{Kernel, Points, bandwidth};
use supersample_io::Selection;

use crate::args::{HerdArgs, Scale};

/// More threads than any machine has cores; beyond some number the system starts to kill us instead of refusing.
const MOST_THREADS: usize = 1024;

/// One run of the verb `herd`.
#[derive(Debug)]
pub(crate) struct HerdPlan {
    pub(crate) input: PathBuf,
    pub(crate) selection: Selection,
    pub(crate) number: usize,
    pub(crate) scale: Scale,
    pub(crate) kernel: KernelPlan,
    pub(crate) unique: bool,
    /// `None`: as many as there are cores.
    pub(crate) threads: Option<usize>,
    /// `None`: stdout.
    pub(crate) output: Option<PathBuf>,
    pub(crate) indices: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) summary: bool,
}

/// A kernel that is known, or known but for the bandwidth that the points will give.
#[derive(Debug, PartialEq)]
pub(crate) enum KernelPlan {
    Given(Kernel),
    Median { name: String },
}

impl HerdPlan {
    pub(crate) fn new(args: HerdArgs) -> Result<HerdPlan> {
        ensure!(args.number > 0, "-n is 0; ask for at least 1 row");
        if let Some(threads) = args.threads {
            ensure!(
                threads > 0,
                "--threads is 0; at least 1 is needed, or leave the flag out to use all cores"
            );
            ensure!(threads <= MOST_THREADS, "--threads is {threads}; at most {MOST_THREADS} can be started");
        }
        let selection = match (args.columns, args.exclude) {
            (Some(only), _) => Selection::Only(only.0),
            (None, Some(except)) => Selection::Except(except.0),
            (None, None) => Selection::Default,
        };
        let output = args.output.filter(|path| path.as_os_str() != "-");
        let named = [("-o", &output), ("--indices", &args.indices), ("--trace", &args.trace)];
        check_distinct(&args.file, &named)?;
        Ok(HerdPlan {
            kernel: KernelPlan::new(args.kernel, args.bandwidth.as_deref())?,
            input: args.file,
            selection,
            number: args.number,
            scale: args.scale,
            unique: args.unique,
            threads: args.threads,
            output,
            indices: args.indices,
            trace: args.trace,
            summary: !args.quiet,
        })
    }
}

impl KernelPlan {
    fn new(name: String, bandwidth: Option<&str>) -> Result<KernelPlan> {
        let takes_bandwidth = name != Kernel::linear().name();
        match bandwidth {
            Some(_) if !takes_bandwidth => {
                bail!("--bandwidth has no effect on the {name} kernel; leave it out or choose another kernel")
            }
            None if !takes_bandwidth => Ok(KernelPlan::Given(Kernel::linear())),
            None | Some("median") => Ok(KernelPlan::Median { name }),
            Some(text) => {
                let Ok(length) = text.trim().parse::<f64>() else {
                    bail!("--bandwidth '{text}' is neither a number nor the word median")
                };
                Ok(KernelPlan::Given(Kernel::named(&name, &[length]).context("--bandwidth")?))
            }
        }
    }

    /// The kernel for these points, which are scaled already.
    pub(crate) fn for_points(&self, points: &Points) -> Result<Kernel> {
        match self {
            KernelPlan::Given(kernel) => Ok(kernel.clone()),
            KernelPlan::Median { name } => {
                let median = bandwidth::median(points);
                Kernel::named(name, &[median]).context("the median distance cannot be used; give --bandwidth")
            }
        }
    }

    pub(crate) fn is_median(&self) -> bool {
        matches!(self, KernelPlan::Median { .. })
    }
}

/// No output may overwrite the input or another output.
fn check_distinct(input: &Path, outputs: &[(&str, &Option<PathBuf>)]) -> Result<()> {
    let mut taken = vec![("the input", resolved(input))];
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Verb};

    fn plan(flags: &str) -> Result<HerdPlan> {
        let words = format!("supersample herd draws.csv {flags}");
        let Verb::Herd(args) = Args::try_parse_from(words.split_whitespace())?.verb;
        HerdPlan::new(args)
    }

    fn refused(flags: &str) -> String {
        format!("{:#}", plan(flags).unwrap_err())
    }

    #[test]
    fn the_defaults_are_those_of_the_help() {
        let plan = plan("-n 3").unwrap();
        assert_eq!(plan.kernel, KernelPlan::Median { name: "gaussian".to_string() });
        assert_eq!((plan.scale, plan.selection, plan.number), (Scale::Sd, Selection::Default, 3));
        assert!(plan.summary && !plan.unique && plan.output.is_none() && plan.threads.is_none());
    }

    #[test]
    fn bandwidths_are_lengths_or_the_word_median() {
        let kernel = |flags: &str| plan(flags).unwrap().kernel;
        assert_eq!(kernel("-n 1 --bandwidth 2.5"), KernelPlan::Given(Kernel::gaussian(2.5).unwrap()));
        assert_eq!(kernel("-n 1 --kernel linear"), KernelPlan::Given(Kernel::linear()));
        assert_eq!(
            kernel("-n 1 --kernel imq --bandwidth median"),
            KernelPlan::Median { name: "imq".to_string() }
        );
        assert_eq!(
            refused("-n 1 --bandwidth abc"),
            "--bandwidth 'abc' is neither a number nor the word median"
        );
        for length in ["0", "-1", "nan", "inf"] {
            let message = refused(&format!("-n 1 --bandwidth {length}"));
            assert!(message.starts_with("--bandwidth: bandwidth "), "{message}");
            assert!(message.contains("is not a positive finite number"), "{message}");
        }
        assert_eq!(
            refused("-n 1 --kernel linear --bandwidth 2"),
            "--bandwidth has no effect on the linear kernel; leave it out or choose another kernel"
        );
    }

    #[test]
    fn outputs_must_be_files_of_their_own() {
        assert_eq!(
            refused("-n 1 -o ./draws.csv"),
            "-o and the input are the same file, ./draws.csv; name another"
        );
        assert_eq!(refused("-n 1 -o x --trace ./x"), "--trace and -o are the same file, ./x; name another");
        assert!(refused("-n 1 --indices -").starts_with("--indices cannot be written to stdout"));
        assert!(plan("-n 1 -o - --indices a --trace b").unwrap().output.is_none());
    }

    #[test]
    fn nothing_cannot_be_asked_for() {
        assert_eq!(refused("-n 0"), "-n is 0; ask for at least 1 row");
        assert!(refused("-n 1 --threads 0").starts_with("--threads is 0;"));
        assert_eq!(refused("-n 1 --threads 9999"), "--threads is 9999; at most 1024 can be started");
        assert!(refused("-n -4").contains("invalid value '-4' for '--number <T>': write a whole number"));
        assert!(refused("-n 1 --columns a --exclude b").contains("cannot be used with"));
    }
}
