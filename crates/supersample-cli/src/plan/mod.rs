//! What will be done, checked before anything is: after this file no flag is consulted again.

mod kernel;
mod outputs;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use supersample::scale::Scale;
use supersample::weights::WeightRule;
use supersample::{Precision, RefineOptions};
use supersample_io::{Format, Reading, Selection};

pub(crate) use self::kernel::KernelPlan;
pub(crate) use self::outputs::Outputs;
use self::outputs::check_distinct;
use crate::args::{
    EvalArgs, HerdArgs, KernelArgs, PrecisionArg, ReadingArgs, ResultArgs, RunArgs, SampleArgs, ScaleArg,
    SizeArgs, ThinArgs, WeightsArg,
};
use crate::balance::{Balance, Ranges};
use crate::choose::Stop;
use crate::numbers::count;
use crate::weighing::MOST_WEIGHTED;

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
    /// The column that choices are balanced over.
    pub(crate) per: Option<String>,
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
    /// What is asked of the rows beside being good.
    pub(crate) balance: Balance,
    /// The weights that the rows are given; `None` for equal ones.
    pub(crate) weigh: Option<WeightRule>,
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
    pub(crate) polish: bool,
    pub(crate) weigh: Option<WeightRule>,
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

impl ChoosePlan {
    pub(crate) fn herd(args: HerdArgs) -> Result<ChoosePlan> {
        let HerdArgs { input, size, unique, kernel, result, run } = args;
        ChoosePlan::new("herd", input.files, input.reading, size, unique, kernel, result, run)
    }

    pub(crate) fn thin(args: ThinArgs) -> Result<ChoosePlan> {
        let ThinArgs { input, mut size, repeats, search, seed, balance, kernel, result, run } = args;
        ensure!(
            seed.is_none() || search != Some(0),
            "--seed has no effect with --search 0; leave one of them out"
        );
        let refinement = match search {
            Some(0) => RefineOptions::default(),
            Some(sweeps) => RefineOptions::default().search(sweeps, seed.unwrap_or(0)),
            None => RefineOptions::default().search_by_size(seed.unwrap_or(0)),
        };
        let balance = Balance {
            per: balance.per,
            quotas: balance.quota.map(|quotas| quotas.0),
            include: Ranges::new("--include-rows", balance.include_rows.as_deref())?,
            exclude: Ranges::new("--exclude-rows", balance.exclude_rows.as_deref())?,
        };
        if let Some(total) = balance.total() {
            ensure!(
                size.tol.is_none() && size.worth.is_none(),
                "--quota fixes how many rows are chosen; leave out --tol and --worth, or the quotas"
            );
            let asked = *size.number.get_or_insert(total);
            ensure!(
                asked == total,
                "the quotas add up to {}, but -n is {}; make the two agree, or leave -n out",
                count(total),
                count(asked)
            );
        }
        let mut plan =
            ChoosePlan::new("thin", input.files, input.reading, size, !repeats, kernel, result, run)?;
        plan.draws.per = balance.per.clone();
        Ok(ChoosePlan { refinement: Some(refinement.repeats(repeats)), balance, ..plan })
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
        let ResultArgs { output, weights, indices, trace, json, report } = result;
        let outputs = Outputs::new(output, indices, trace, json, report)?;
        let mut written = outputs.named();
        written.push(("--checkpoint", run.checkpoint.as_deref()));
        let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        check_distinct(&inputs, &written)?;
        if let Some(resume) = &run.resume {
            // It may well be the checkpoint, but nothing else that is written.
            check_distinct(&[resume.as_path()], &outputs.named()).context("--resume")?;
        }
        let stop = Stop::new(size.number, size.tol, size.worth)?;
        Ok(ChoosePlan {
            verb,
            draws: DrawsPlan::new(files, reading, kernel, run.max_memory)?,
            unique,
            refinement: None,
            balance: Balance::default(),
            weigh: weight_rule(weights, &stop, &outputs)?,
            stop,
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
            kernel: KernelPlan::new("gaussian".to_string(), args.bandwidth.as_deref())?,
            climbs: args.climbs,
            starts: args.starts,
            seed: args.seed,
            polish: args.polish,
            weigh: weight_rule(args.weights, &stop, &outputs)?,
            stop,
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
            per: None,
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
            group_column: self.per.as_deref(),
            format: self.format,
            separator: self.separator,
            keep_warmup: self.warmup,
            ..Reading::default()
        }
    }
}

/// The rule of the weights to be found, where any are; what cannot be done or kept is refused here.
fn weight_rule(weights: WeightsArg, stop: &Stop, outputs: &Outputs) -> Result<Option<WeightRule>> {
    let rule = match weights {
        WeightsArg::Equal => return Ok(None),
        WeightsArg::Simplex => WeightRule::Simplex,
        // Summing to one, so that they go on being weights wherever the file goes.
        WeightsArg::Free => WeightRule::SumToOne,
    };
    let most = count(MOST_WEIGHTED);
    if let (Some(number), false) = (stop.number, stop.has_goal()) {
        ensure!(
            number <= MOST_WEIGHTED,
            "--weights takes at most {most} points, and -n is {}",
            count(number)
        );
    }
    if let Some(target) = outputs.target {
        check_room_for_weights(target.format)?;
    }
    Ok(Some(rule))
}

/// Whether rows in this format can have weights.
pub(crate) fn check_room_for_weights(format: Format) -> Result<()> {
    ensure!(
        format != Format::Npy,
        "an .npy file has no room for --weights; write another format with -o, such as .npz or .csv"
    );
    Ok(())
}

fn checked_threads(threads: Option<usize>) -> Result<Option<usize>> {
    if let Some(threads) = threads {
        ensure!(threads > 0, "--threads is 0; at least 1 is needed, or leave the flag out to use all cores");
        ensure!(threads <= MOST_THREADS, "--threads is {threads}; at most {MOST_THREADS} can be started");
    }
    Ok(threads)
}

#[cfg(test)]
mod tests;
