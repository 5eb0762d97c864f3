//! Plans: the work to do, checked before it starts. After this folder no flag is read again.

mod balance;
mod choose;
mod draws;
mod each;
mod kernel;
mod limits;
mod matched;
mod outputs;
mod scores;
mod stream;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use supersample::AscentOptions;
use supersample::task::{Choose, KernelChoice, MOST_WEIGHTED, Method};
pub(crate) use supersample::task::{Ended, Stop};
use supersample::weights::WeightRule;
use supersample_io::Format;

pub(crate) use self::balance::{Balance, Ranges};
use self::choose::{embedded, matching, measured};
pub(crate) use self::draws::{DrawsPlan, OtherPlan, WeightsPlan};
use self::kernel::kernel_choice;
use self::outputs::check_distinct;
pub(crate) use self::outputs::{Outputs, followed, is_stdout};
pub(crate) use self::scores::{ScoreSource, Scores};
pub(crate) use self::stream::StreamPlan;
use crate::args::{
    CommonArgs, Count, EvalArgs, HerdArgs, InfoArgs, InputArgs, ResultArgs, SampleArgs, SizeArgs, ThinArgs,
    WeightsArg,
};
use crate::words::count;

/// Largest number of threads; with too many the system kills the process instead of returning an error.
const MOST_THREADS: usize = 1024;

/// Largest number of starts of `sample`, all of which are in memory.
const MOST_STARTS: usize = 10_000_000;

/// One run of `herd` or `thin`.
#[derive(Debug)]
pub(crate) struct ChoosePlan {
    pub(crate) draws: DrawsPlan,
    /// What is chosen and how. Rows in or out and groups join it once the rows are read.
    pub(crate) choose: Choose,
    pub(crate) balance: Balance,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) resume: Option<PathBuf>,
    /// The column whose values each get a set of their own.
    pub(crate) each: Option<String>,
    /// The columns and functions whose means calibrated weights meet; `None` for all.
    pub(crate) calibrate: Option<Vec<String>>,
    /// What the weights that are written sum to.
    pub(crate) total: f64,
    /// Whether what is written is in the order of the files, not of choice.
    pub(crate) sorted: bool,
    /// Whether the summary says how long each phase took, terminal or not.
    pub(crate) timing: bool,
    pub(crate) quiet: bool,
}

/// One run of `sample`.
#[derive(Debug)]
pub(crate) struct SamplePlan {
    pub(crate) file: PathBuf,
    pub(crate) stop: Stop,
    pub(crate) kernel: KernelChoice,
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
    /// How the target is prepared; nothing is chosen.
    pub(crate) choose: Choose,
    pub(crate) subset: PathBuf,
    /// The column of it that has row numbers.
    pub(crate) index_column: Option<String>,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) quiet: bool,
}

impl ChoosePlan {
    pub(crate) fn herd(args: HerdArgs) -> Result<ChoosePlan> {
        let HerdArgs { input, size, unique, seed, common } = args;
        let choose = Choose::herd_until(stop(size, None)?)?.unique(unique).seed(seed);
        ChoosePlan::new(choose, input, Balance::default(), common)
    }

    pub(crate) fn thin(args: ThinArgs) -> Result<ChoosePlan> {
        let ThinArgs { input, mut size, set, mut balance, common } = args;
        let each = balance.each.take();
        if each.is_some() {
            each::check(&common, matches!(size.number, Some(Count::Auto)))?;
        }
        // Lists of rows behind an @.
        let lists: Vec<PathBuf> = [&balance.include_rows, &balance.exclude_rows]
            .into_iter()
            .flatten()
            .filter_map(|rows| rows.strip_prefix('@'))
            .map(PathBuf::from)
            .collect();
        let balance = Balance {
            stratify: balance.stratify,
            quotas: balance.quota.map(|quotas| quotas.0),
            include: Ranges::new("--include-rows", balance.include_rows.as_deref())?,
            exclude: Ranges::new("--exclude-rows", balance.exclude_rows.as_deref())?,
        };
        let quotas =
            balance.quotas.as_ref().map(|all| all.iter().map(|(_, quota)| *quota).collect::<Vec<_>>());
        if let Some(quotas) = &quotas {
            size.number.get_or_insert(Count::Number(quotas.iter().sum()));
        }
        let choose = Choose::thin_until(stop(size, set.add)?)?;
        let choose = set.of(choose);
        if let (Method::Thin(refine), Some(_)) = (&choose.method, &quotas) {
            let mut refine = refine.clone();
            refine.quotas = quotas;
            refine.check_asked(choose.stop.number.filter(|_| !choose.stop.has_goal()))?;
        }
        let mut plan = ChoosePlan::new(choose, input, balance, common)?;
        if each.is_some() {
            (plan.draws.stratify, plan.each) = (each.clone(), each);
        }
        plan.outputs.inputs.extend(lists.iter().cloned());
        let mut written = plan.outputs.named();
        written.push(("--checkpoint", plan.checkpoint.as_deref()));
        check_distinct(&lists.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &written)?;
        Ok(plan)
    }

    fn new(choose: Choose, input: InputArgs, balance: Balance, common: CommonArgs) -> Result<ChoosePlan> {
        let InputArgs { files, reading } = input;
        let CommonArgs { functions, matched, scores, regular, kernel, embedding, result, run } = common;
        let ResultArgs { output, weights, calibrate, total, sorted, indices, trace, json, report } = result;
        let outputs = Outputs::new(output, indices, trace, json, report)?;
        ensure!(
            !run.checkpoint.as_deref().is_some_and(is_stdout),
            "--checkpoint cannot go to stdout; name a file"
        );
        let mut written = outputs.named();
        written.push(("--checkpoint", run.checkpoint.as_deref()));
        let targets = matched.match_file.iter().chain(&matched.match_summary);
        let others = functions.functions_file.iter().chain(&scores.scores).chain(targets);
        let inputs: Vec<&Path> = files.iter().chain(others).map(PathBuf::as_path).collect();
        check_distinct(&inputs, &written)?;
        if let Some(resume) = &run.resume {
            // It may well be the checkpoint, but nothing else that is written.
            check_distinct(&[resume.as_path()], &outputs.named()).context("--resume")?;
        }
        let outputs = outputs.reading(inputs.into_iter().chain(run.resume.as_deref()));
        let stop = choose.stop;
        let scores = Scores::new(scores, &kernel)?;
        let scores = Scores::regularised(scores, regular, stop.number)?;
        let unit = functions.functions_unit.clone();
        let draws = DrawsPlan::new(files, reading, functions, scores, balance.stratify.clone())?;
        let draws = draws.matching(&matched, &choose)?;
        let choose = measured(choose, kernel, unit.as_deref(), &draws)?;
        let mut choose = embedded(matching(choose, matched, &draws)?, embedding)?;
        choose.weights = weight_rule(weights, &stop, &outputs)?;
        let max_memory = run.max_memory.or_else(limits::of_account);
        (choose.compute.pool_rows, choose.compute.max_memory) = (run.pool_rows, max_memory);
        draws.check(&choose)?;
        let calibrate: Option<Vec<String>> =
            calibrate.map(|lists| lists.into_iter().flat_map(|list| list.0).collect());
        ensure!(
            calibrate.is_none() || weights == WeightsArg::Calibrated,
            "--calibrate has no effect without --weights calibrated"
        );
        ensure!(
            total.is_none() || weights != WeightsArg::Equal,
            "--total has no effect on equal weights, which are not written; use --weights calibrated, simplex or signed"
        );
        if let Some(total) = total {
            ensure!(total > 0.0 && total.is_finite(), "--total is {total}; give a positive number");
        }
        Ok(ChoosePlan {
            draws,
            choose,
            each: None,
            calibrate,
            total: total.unwrap_or(1.0),
            balance,
            threads: checked_threads(run.threads)?,
            outputs,
            checkpoint: run.checkpoint,
            resume: run.resume,
            sorted,
            timing: run.timing,
            quiet: run.quiet,
        })
    }
}

impl SamplePlan {
    pub(crate) fn new(args: SampleArgs) -> Result<SamplePlan> {
        AscentOptions::default().climbs(args.climbs).check()?;
        ensure!(args.starts > 0, "--starts is 0; at least one draw of the mixture is needed");
        let most = count(MOST_STARTS);
        ensure!(args.starts <= MOST_STARTS, "--starts is {}; at most {most} are drawn", count(args.starts));
        let outputs = Outputs::new(args.output, None, args.trace, args.json, None)?;
        check_distinct(&[&args.file], &outputs.named())?;
        let outputs = outputs.reading([args.file.as_path()]);
        let stop = stop(args.size, None)?;
        ensure!(stop.number.is_some(), "-n is needed: give the largest number of points");
        ensure!(
            args.weights != WeightsArg::Calibrated,
            "--weights calibrated is for rows of a file, whose means are known; use simplex or signed"
        );
        Ok(SamplePlan {
            file: args.file,
            kernel: kernel_choice(None, args.bandwidth.as_deref())?,
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

/// One run of `info`.
#[derive(Debug)]
pub(crate) struct InfoPlan {
    pub(crate) draws: DrawsPlan,
    pub(crate) choose: Choose,
    /// Where the JSON goes, where it is asked for; `-` is stdout.
    pub(crate) json: Option<PathBuf>,
    pub(crate) threads: Option<usize>,
}

impl InfoPlan {
    pub(crate) fn new(args: InfoArgs) -> Result<InfoPlan> {
        let InfoArgs { input: InputArgs { files, reading }, functions, kernel, json, threads } = args;
        let inputs: Vec<&Path> =
            files.iter().chain(&functions.functions_file).map(PathBuf::as_path).collect();
        check_distinct(&inputs, &[("--json", json.as_deref().filter(|path| path.as_os_str() != "-"))])?;
        let unit = functions.functions_unit.clone();
        let draws = DrawsPlan::new(files, reading, functions, None, None)?;
        let choose = measured(Choose::nothing(None), kernel, unit.as_deref(), &draws)?;
        Ok(InfoPlan { draws, choose, json, threads: checked_threads(threads)? })
    }
}

impl EvalPlan {
    pub(crate) fn new(args: EvalArgs) -> Result<EvalPlan> {
        let mut files = args.files;
        let subset = files.pop().filter(|_| !files.is_empty());
        let subset = subset.context("eval takes two files: all draws, then the subset; only one is named")?;
        let inputs =
            || files.iter().chain(&args.functions.functions_file).chain(&args.scores.scores).chain([&subset]);
        let stdins = inputs().filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- is stdin, which can be read only once");
        let outputs = Outputs::without_rows(args.json, args.report)?;
        let inputs: Vec<&Path> = inputs().map(PathBuf::as_path).collect();
        check_distinct(&inputs, &outputs.named())?;
        let outputs = outputs.reading(inputs);
        let unit = args.functions.functions_unit.clone();
        let scores = Scores::new(args.scores, &args.kernel)?;
        let draws = DrawsPlan::new(files, args.reading, args.functions, scores, None)?;
        let choose = measured(Choose::nothing(None), args.kernel, unit.as_deref(), &draws)?;
        let choose = embedded(choose, args.embedding)?;
        draws.check(&choose)?;
        Ok(EvalPlan {
            choose,
            draws,
            subset,
            index_column: args.index_column,
            threads: checked_threads(args.threads)?,
            outputs,
            quiet: args.quiet,
        })
    }
}

/// The rules that `-n`, `--add`, `--tol` and `--equivalent-draws` say.
fn stop(SizeArgs { number, tol, equivalent_draws }: SizeArgs, add: Option<f64>) -> Result<Stop> {
    let (number, is_auto) = match number {
        Some(Count::Auto) => (None, true),
        Some(Count::Number(number)) => (Some(number), false),
        None => (None, false),
    };
    Ok(Stop::asked(number, is_auto, tol, equivalent_draws, add)?)
}

/// The rule of the weights, if any; what is not possible is refused here.
fn weight_rule(weights: WeightsArg, stop: &Stop, outputs: &Outputs) -> Result<Option<WeightRule>> {
    let rule = match weights {
        WeightsArg::Equal => return Ok(None),
        WeightsArg::Simplex => WeightRule::Simplex,
        // Summing to one, so that they can be used as weights elsewhere.
        WeightsArg::Signed => WeightRule::Signed,
        WeightsArg::Calibrated => WeightRule::Calibrated,
    };
    let most = count(MOST_WEIGHTED);
    if let (Some(number), false, false) = (stop.number, stop.has_goal(), rule == WeightRule::Calibrated) {
        ensure!(
            number <= MOST_WEIGHTED,
            "--weights supports at most {most} points, but -n is {}",
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
        "an .npy file cannot store --weights; write another format with -o, such as .npz or .csv"
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
