//! What will be done, checked before anything is: after this file no flag is consulted again.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use supersample::scale::Scale;
use supersample::{Kernel, Points, Precision, RefineOptions, bandwidth};
use supersample_io::{Format, Reading, Selection, Target};

use crate::args::{
    EvalArgs, HerdArgs, KernelArgs, PrecisionArg, ReadingArgs, ResultArgs, RunArgs, SampleArgs, ScaleArg,
    SizeArgs, ThinArgs,
};
use crate::choose::Stop;

/// More threads than any machine has cores; beyond some number the system starts to kill us instead of refusing.
const MOST_THREADS: usize = 1024;

/// The draws, how they are read and how their distances are taken.
#[derive(Debug)]
pub(crate) struct DrawsPlan {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) selection: Selection,
    pub(crate) format: Option<Format>,
    pub(crate) separator: Option<u8>,
    pub(crate) warmup: bool,
    pub(crate) weights: WeightsPlan,
    pub(crate) scale: Scale,
    pub(crate) kernel: KernelPlan,
    pub(crate) precision: Precision,
    pub(crate) max_memory: Option<u64>,
}

/// Where the weights of the rows come from.
#[derive(Debug, PartialEq)]
pub(crate) enum WeightsPlan {
    Equal,
    Column(String),
    LogColumn(String),
}

/// One run of `herd` or `thin`.
#[derive(Debug)]
pub(crate) struct ChoosePlan {
    pub(crate) verb: &'static str,
    pub(crate) draws: DrawsPlan,
    pub(crate) stop: Stop,
    pub(crate) unique: bool,
    /// How the rows are made better as a set, where they are.
    pub(crate) refinement: Option<RefineOptions>,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) resume: Option<PathBuf>,
    pub(crate) quiet: bool,
}

/// One run of `sample`.
#[derive(Debug)]
pub(crate) struct SamplePlan {
    pub(crate) file: PathBuf,
    pub(crate) stop: Stop,
    pub(crate) kernel: KernelPlan,
    pub(crate) climbs: usize,
    pub(crate) starts: usize,
    pub(crate) seed: u64,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) quiet: bool,
}

/// One run of `eval`.
#[derive(Debug)]
pub(crate) struct EvalPlan {
    pub(crate) draws: DrawsPlan,
    pub(crate) subset: PathBuf,
    /// The column of it that has row numbers.
    pub(crate) index_column: Option<String>,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) quiet: bool,
}

/// Files to be written; `None` is stdout for the rows, and not at all for the others.
#[derive(Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) rows: Option<PathBuf>,
    /// What the ending of that file asks for.
    pub(crate) target: Option<Target>,
    pub(crate) indices: Option<PathBuf>,
    pub(crate) trace: Option<PathBuf>,
    pub(crate) json: Option<PathBuf>,
    pub(crate) report: Option<PathBuf>,
}

/// A kernel that is known, or known but for the bandwidth that the points will give.
#[derive(Debug, PartialEq)]
pub(crate) enum KernelPlan {
    Given(Kernel),
    Median { name: String },
}

impl ChoosePlan {
    pub(crate) fn herd(args: HerdArgs) -> Result<ChoosePlan> {
        let HerdArgs { input, size, unique, kernel, result, run } = args;
        ChoosePlan::new("herd", input.files, input.reading, size, unique, kernel, result, run)
    }

    pub(crate) fn thin(args: ThinArgs) -> Result<ChoosePlan> {
        let ThinArgs { input, size, repeats, search, seed, kernel, result, run } = args;
        ensure!(seed.is_none() || search > 0, "--seed has no effect with --search 0; leave one of them out");
        let refinement = match search {
            0 => RefineOptions::default(),
            sweeps => RefineOptions::default().search(sweeps, seed.unwrap_or(0)),
        };
        let plan = ChoosePlan::new("thin", input.files, input.reading, size, !repeats, kernel, result, run)?;
        Ok(ChoosePlan { refinement: Some(refinement.repeats(repeats)), ..plan })
    }

    #[expect(clippy::too_many_arguments, reason = "one for each group of flags, called from two places")]
    fn new(
        verb: &'static str,
        files: Vec<PathBuf>,
        reading: ReadingArgs,
        size: SizeArgs,
        unique: bool,
        kernel: KernelArgs,
        result: ResultArgs,
        run: RunArgs,
    ) -> Result<ChoosePlan> {
        let ResultArgs { output, indices, trace, json, report } = result;
        let outputs = Outputs::new(output, indices, trace, json, report)?;
        let mut written = outputs.named();
        written.push(("--checkpoint", run.checkpoint.as_deref()));
        let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        check_distinct(&inputs, &written)?;
        if let Some(resume) = &run.resume {
            // It may well be the checkpoint, but nothing else that is written.
            check_distinct(&[resume.as_path()], &outputs.named()).context("--resume")?;
        }
        Ok(ChoosePlan {
            verb,
            draws: DrawsPlan::new(files, reading, kernel, run.max_memory)?,
            stop: Stop::new(size.number, size.tol, size.worth)?,
            unique,
            refinement: None,
            threads: checked_threads(run.threads)?,
            outputs,
            checkpoint: run.checkpoint,
            resume: run.resume,
            quiet: run.quiet,
        })
    }
}

impl SamplePlan {
    pub(crate) fn new(args: SampleArgs) -> Result<SamplePlan> {
        ensure!(args.climbs > 0, "--climbs is 0; climb from at least one start");
        ensure!(args.starts > 0, "--starts is 0; at least one draw of the mixture is needed");
        let outputs = Outputs::new(args.output, None, args.trace, args.json, None)?;
        check_distinct(&[&args.file], &outputs.named())?;
        let stop = Stop::new(args.size.number, args.size.tol, args.size.worth)?;
        ensure!(
            stop.number.is_some(),
            "-n is needed: in space there is no end of points; say how many at most"
        );
        Ok(SamplePlan {
            file: args.file,
            stop,
            kernel: KernelPlan::new("gaussian".to_string(), args.bandwidth.as_deref())?,
            climbs: args.climbs,
            starts: args.starts,
            seed: args.seed,
            threads: checked_threads(args.threads)?,
            outputs,
            quiet: args.quiet,
        })
    }
}

impl EvalPlan {
    pub(crate) fn new(args: EvalArgs) -> Result<EvalPlan> {
        let mut files = args.files;
        let subset = files.pop().expect("at least two files are asked for");
        let stdins = files.iter().chain([&subset]).filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- stands for stdin, which can be read only once");
        let outputs = Outputs::new(None, None, None, args.json, args.report)?;
        let inputs: Vec<&Path> = files.iter().chain([&subset]).map(PathBuf::as_path).collect();
        check_distinct(&inputs, &outputs.named())?;
        Ok(EvalPlan {
            draws: DrawsPlan::new(files, args.reading, args.kernel, None)?,
            subset,
            index_column: args.index_column,
            threads: checked_threads(args.threads)?,
            outputs,
            quiet: args.quiet,
        })
    }
}

impl DrawsPlan {
    fn new(
        files: Vec<PathBuf>,
        reading: ReadingArgs,
        kernel: KernelArgs,
        max_memory: Option<u64>,
    ) -> Result<DrawsPlan> {
        let stdins = files.iter().filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- stands for stdin, which can be read only once");
        let selection = match (reading.columns, reading.exclude) {
            (Some(only), _) => Selection::Only(only.0),
            (None, Some(except)) => Selection::Except(except.0),
            (None, None) => Selection::Default,
        };
        let weights = match (reading.weight_column, reading.log_weight_column) {
            (Some(name), _) => WeightsPlan::Column(name),
            (None, Some(name)) => WeightsPlan::LogColumn(name),
            (None, None) => WeightsPlan::Equal,
        };
        let format = reading.format.map(|name| name.parse().expect("clap has checked the name"));
        if let (Some(format), true) = (format, reading.separator.is_some()) {
            ensure!(format == Format::Text, "--separator has no effect on {format} files; leave it out");
        }
        Ok(DrawsPlan {
            files,
            selection,
            format,
            separator: reading.separator,
            warmup: reading.warmup,
            weights,
            scale: match kernel.scale {
                ScaleArg::None => Scale::None,
                ScaleArg::Sd => Scale::Sd,
                ScaleArg::Pca => Scale::Pca,
            },
            kernel: KernelPlan::new(kernel.kernel, kernel.bandwidth.as_deref())?,
            precision: match kernel.precision {
                PrecisionArg::Mixed => Precision::Mixed,
                PrecisionArg::Double => Precision::Double,
            },
            max_memory,
        })
    }

    pub(crate) fn reading(&self) -> Reading<'_> {
        let weight_column = match &self.weights {
            WeightsPlan::Equal => None,
            WeightsPlan::Column(name) | WeightsPlan::LogColumn(name) => Some(name.as_str()),
        };
        Reading {
            selection: self.selection.clone(),
            weight_column,
            group_column: None,
            format: self.format,
            separator: self.separator,
            keep_warmup: self.warmup,
        }
    }
}

impl Outputs {
    fn new(
        rows: Option<PathBuf>,
        indices: Option<PathBuf>,
        trace: Option<PathBuf>,
        json: Option<PathBuf>,
        report: Option<PathBuf>,
    ) -> Result<Outputs> {
        let rows = rows.filter(|path| path.as_os_str() != "-");
        let target = rows.as_deref().and_then(Target::of_path);
        if let (Some(rows), Some(Target { format, gzip: true, .. })) = (&rows, target) {
            ensure!(format.is_text(), "{}: only text is gzipped; take .gz off the name", rows.display());
        }
        Ok(Outputs { rows, target, indices, trace, json, report })
    }

    /// The files with the flags that named them.
    fn named(&self) -> Vec<(&'static str, Option<&Path>)> {
        vec![
            ("-o", self.rows.as_deref()),
            ("--indices", self.indices.as_deref()),
            ("--trace", self.trace.as_deref()),
            ("--json", self.json.as_deref()),
            ("--report", self.report.as_deref()),
        ]
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
    pub(crate) fn for_points(&self, points: &Points, shares: Option<&[f64]>) -> Result<Kernel> {
        match self {
            KernelPlan::Given(kernel) => Ok(kernel.clone()),
            KernelPlan::Median { name } => {
                let median = match shares {
                    Some(shares) => bandwidth::weighted_median(points, shares)?,
                    None => bandwidth::median(points),
                };
                Kernel::named(name, &[median]).context("the median distance cannot be used; give --bandwidth")
            }
        }
    }

    pub(crate) fn is_median(&self) -> bool {
        matches!(self, KernelPlan::Median { .. })
    }
}

fn checked_threads(threads: Option<usize>) -> Result<Option<usize>> {
    if let Some(threads) = threads {
        ensure!(threads > 0, "--threads is 0; at least 1 is needed, or leave the flag out to use all cores");
        ensure!(threads <= MOST_THREADS, "--threads is {threads}; at most {MOST_THREADS} can be started");
    }
    Ok(threads)
}

/// No output may overwrite the input or another output.
fn check_distinct(inputs: &[&Path], outputs: &[(&'static str, Option<&Path>)]) -> Result<()> {
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Verb};

    fn plan(flags: &str) -> Result<ChoosePlan> {
        let words = format!("supersample herd draws.csv {flags}");
        let Verb::Herd(args) = Args::try_parse_from(words.split_whitespace())?.verb else { unreachable!() };
        ChoosePlan::herd(args)
    }

    fn refused(flags: &str) -> String {
        format!("{:#}", plan(flags).unwrap_err())
    }

    #[test]
    fn the_defaults_are_those_of_the_help() {
        let plan = plan("-n 3").unwrap();
        assert_eq!(plan.draws.kernel, KernelPlan::Median { name: "gaussian".to_string() });
        assert_eq!(
            (plan.draws.scale, &plan.draws.selection, plan.stop.number),
            (Scale::Sd, &Selection::Default, Some(3))
        );
        assert!(!plan.quiet && !plan.unique && plan.outputs.rows.is_none() && plan.threads.is_none());
        assert_eq!(plan.draws.weights, WeightsPlan::Equal);
    }

    #[test]
    fn bandwidths_are_lengths_or_the_word_median() {
        let kernel = |flags: &str| plan(flags).unwrap().draws.kernel;
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
        assert_eq!(
            refused("-n 1 -o x --checkpoint x"),
            "--checkpoint and -o are the same file, x; name another"
        );
        assert!(refused("-n 1 --json r --resume r").contains("are the same file"));
        assert!(plan("-n 1 --checkpoint c --resume c").is_ok());
        assert!(refused("-n 1 --indices -").starts_with("--indices cannot be written to stdout"));
        assert!(plan("-n 1 -o - --indices a --trace b").unwrap().outputs.rows.is_none());
        assert!(refused("-n 1 -o x.npy.gz").contains("only text is gzipped"));
    }

    #[test]
    fn nothing_cannot_be_asked_for() {
        assert_eq!(refused("-n 0"), "-n is 0; ask for at least 1 row");
        assert!(refused("-n 1 --threads 0").starts_with("--threads is 0;"));
        assert_eq!(refused("-n 1 --threads 9999"), "--threads is 9999; at most 1024 can be started");
        assert!(refused("-n -4").contains("invalid value '-4' for '--number <T>': write a whole number"));
        assert!(refused("-n 1 --columns a --exclude b").contains("cannot be used with"));
        assert!(refused("-n 1 --weight-column a --log-weight-column b").contains("cannot be used with"));
        assert!(
            refused("-n 1 --format npy --separator ;").contains("--separator has no effect on npy files")
        );
        assert!(refused("").starts_with("say how many: "));
        assert!(plan("--tol 0.01").is_ok() && plan("--worth 500").is_ok());
    }
}
