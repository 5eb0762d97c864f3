//! Plans: what will be done, checked before anything is. After this folder no flag is consulted again.

mod balance;
mod draws;
mod kernel;
mod matched;
mod outputs;
mod scores;
mod stop;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use supersample::task::{KernelChoice, MARGINALS, MOST_WEIGHTED, as_many_herded};
use supersample::weights::WeightRule;
use supersample::{Family, RefineOptions};
use supersample_io::Format;

pub(crate) use self::balance::{Balance, Ranges};
pub(crate) use self::draws::{DrawsPlan, WeightsPlan};
use self::kernel::kernel_choice;
pub(crate) use self::matched::Matched;
use self::outputs::check_distinct;
pub(crate) use self::outputs::{Outputs, followed, is_stdout};
pub(crate) use self::scores::{ScoreSource, Scores};
use self::stop::stop;
pub(crate) use self::stop::{Ended, Stop};
use crate::args::{
    CommonArgs, EvalArgs, HerdArgs, InfoArgs, InputArgs, ResultArgs, SampleArgs, SizeArgs, ThinArgs,
    WeightsArg,
};
use crate::words::count;

/// More threads than any machine has cores; beyond some number the system starts to kill us instead of refusing.
const MOST_THREADS: usize = 1024;

/// One run of `herd` or `thin`.
#[derive(Debug)]
pub(crate) struct ChoosePlan {
    pub(crate) draws: DrawsPlan,
    pub(crate) stop: Stop,
    pub(crate) unique: bool,
    /// How the rows are made better as a set, for `thin`; `None` for `herd`.
    pub(crate) set: Option<SetPlan>,
    /// The weights that the rows are given; `None` for equal ones.
    pub(crate) weigh: Option<WeightRule>,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) checkpoint: Option<PathBuf>,
    pub(crate) resume: Option<PathBuf>,
    /// The files are read in batches, and so many of their rows are chosen from.
    pub(crate) pool_rows: Option<usize>,
    /// Whether what is written is in the order of the files, not of choice.
    pub(crate) sorted: bool,
    /// Whether the summary says how long each phase took, terminal or not.
    pub(crate) timing: bool,
    pub(crate) quiet: bool,
}

/// How rows are made better as a set.
#[derive(Debug)]
pub(crate) struct SetPlan {
    pub(crate) options: RefineOptions,
    /// What is asked of the rows beside being good.
    pub(crate) balance: Balance,
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
    pub(crate) subset: PathBuf,
    /// The column of it that has row numbers.
    pub(crate) index_column: Option<String>,
    pub(crate) threads: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) quiet: bool,
}

impl ChoosePlan {
    pub(crate) fn herd(args: HerdArgs) -> Result<ChoosePlan> {
        let HerdArgs { input, size, unique, common } = args;
        ChoosePlan::new(input, size, unique, common, None)
    }

    pub(crate) fn thin(args: ThinArgs) -> Result<ChoosePlan> {
        let ThinArgs { input, mut size, repeats, search, seed, balance, common } = args;
        ensure!(
            seed.is_none() || search != Some(0),
            "--seed has no effect with --search 0; leave one of them out"
        );
        let options = RefineOptions::default().search_asked(search, seed.unwrap_or(0));
        // Lists of rows behind an @.
        let lists: Vec<PathBuf> = [&balance.include_rows, &balance.exclude_rows]
            .into_iter()
            .flatten()
            .filter_map(|rows| rows.strip_prefix('@'))
            .map(PathBuf::from)
            .collect();
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
        let set = SetPlan { options: options.repeats(repeats), balance };
        let plan = ChoosePlan::new(input, size, !repeats, common, Some(set))?;
        let mut written = plan.outputs.named();
        written.push(("--checkpoint", plan.checkpoint.as_deref()));
        check_distinct(&lists.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &written)?;
        Ok(plan)
    }

    fn new(
        input: InputArgs,
        size: SizeArgs,
        unique: bool,
        common: CommonArgs,
        set: Option<SetPlan>,
    ) -> Result<ChoosePlan> {
        let InputArgs { files, reading } = input;
        let CommonArgs { matched, scores, regular, kernel, embedding, result, run } = common;
        let ResultArgs { output, weights, sorted, indices, trace, json, report } = result;
        let outputs = Outputs::new(output, indices, trace, json, report)?;
        ensure!(
            !run.checkpoint.as_deref().is_some_and(is_stdout),
            "--checkpoint cannot go to stdout; name a file"
        );
        let mut written = outputs.named();
        written.push(("--checkpoint", run.checkpoint.as_deref()));
        let others = reading.functions_file.iter().chain(&scores.scores);
        let inputs: Vec<&Path> = files.iter().chain(others).map(PathBuf::as_path).collect();
        check_distinct(&inputs, &written)?;
        if let Some(resume) = &run.resume {
            // It may well be the checkpoint, but nothing else that is written.
            check_distinct(&[resume.as_path()], &outputs.named()).context("--resume")?;
        }
        ensure!(run.pool_rows != Some(0), "--pool-rows is 0; there must be rows to choose from");
        let stop = stop(size.number, size.tol, size.worth)?;
        let per = set.as_ref().and_then(|set| set.balance.per.clone());
        // A set is chosen to be reported; a sequence is the paper's.
        let marginals = if set.is_some() { MARGINALS } else { 0.0 };
        let draws = DrawsPlan::new(files, reading, kernel, Some(scores), run.max_memory, per)?;
        ensure!(
            draws.scores.is_none() || run.pool_rows.is_none(),
            "--pool-rows and scores do not go together: with scores all rows are read; leave it out"
        );
        let seed = set.as_ref().and_then(|set| set.options.search).map_or(0, |search| search.seed);
        Ok(ChoosePlan {
            draws: draws.matching(matched, marginals)?.regularised(regular, stop.number)?.embedded(
                embedding,
                seed,
                if set.is_some() { as_many_herded(stop.number) } else { stop.number },
            )?,
            unique,
            set,
            weigh: weight_rule(weights, &stop, &outputs)?,
            stop,
            threads: checked_threads(run.threads)?,
            outputs,
            checkpoint: run.checkpoint,
            resume: run.resume,
            pool_rows: run.pool_rows,
            sorted,
            timing: run.timing,
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
        let stop = stop(args.size.number, args.size.tol, args.size.worth)?;
        ensure!(
            stop.number.is_some(),
            "-n is needed: in space there is no end of points; say how many at most"
        );
        Ok(SamplePlan {
            file: args.file,
            kernel: kernel_choice(Family::Gaussian, args.bandwidth.as_deref())?,
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
    /// Where the JSON goes, where it is asked for; `-` is stdout.
    pub(crate) json: Option<PathBuf>,
    pub(crate) threads: Option<usize>,
}

impl InfoPlan {
    pub(crate) fn new(args: InfoArgs) -> Result<InfoPlan> {
        let InfoArgs { input: InputArgs { files, reading }, kernel, json, threads } = args;
        let inputs: Vec<&Path> = files.iter().chain(&reading.functions_file).map(PathBuf::as_path).collect();
        check_distinct(&inputs, &[("--json", json.as_deref().filter(|path| path.as_os_str() != "-"))])?;
        let draws = DrawsPlan::new(files, reading, kernel, None, None, None)?;
        Ok(InfoPlan { draws, json, threads: checked_threads(threads)? })
    }
}

impl EvalPlan {
    pub(crate) fn new(args: EvalArgs) -> Result<EvalPlan> {
        let mut files = args.files;
        let subset = files.pop().filter(|_| !files.is_empty());
        let subset = subset.context("eval takes two files: all draws, then the subset; only one is named")?;
        let inputs =
            || files.iter().chain(&args.reading.functions_file).chain(&args.scores.scores).chain([&subset]);
        let stdins = inputs().filter(|file| file.as_os_str() == "-").count();
        ensure!(stdins <= 1, "- stands for stdin, which can be read only once");
        let outputs = Outputs::without_rows(args.json, args.report)?;
        let inputs: Vec<&Path> = inputs().map(PathBuf::as_path).collect();
        check_distinct(&inputs, &outputs.named())?;
        Ok(EvalPlan {
            draws: DrawsPlan::new(files, args.reading, args.kernel, Some(args.scores), None, None)?
                .embedded(args.embedding, 0, None)?,
            subset,
            index_column: args.index_column,
            threads: checked_threads(args.threads)?,
            outputs,
            quiet: args.quiet,
        })
    }
}

/// The rule of the weights to be found, where any are; what cannot be done or kept is refused here.
fn weight_rule(weights: WeightsArg, stop: &Stop, outputs: &Outputs) -> Result<Option<WeightRule>> {
    let rule = match weights {
        WeightsArg::Equal => return Ok(None),
        WeightsArg::Simplex => WeightRule::Simplex,
        // Summing to one, so that they go on being weights wherever the file goes.
        WeightsArg::Free => WeightRule::Signed,
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
