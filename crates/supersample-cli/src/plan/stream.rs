//! Plan of a stream: rows that are read once.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use supersample::task::Choose;

use super::choose::measured;
use super::outputs::check_distinct;
use super::{DrawsPlan, Outputs, checked_threads, limits};
use crate::args::{FunctionArgs, InputArgs, StreamArgs};

/// One run of `stream`.
#[derive(Debug)]
pub(crate) struct StreamPlan {
    pub(crate) draws: DrawsPlan,
    pub(crate) choose: Choose,
    /// The outputs are written anew after this number of rows.
    pub(crate) every: Option<usize>,
    pub(crate) outputs: Outputs,
    pub(crate) threads: Option<usize>,
    pub(crate) quiet: bool,
}

impl StreamPlan {
    pub(crate) fn new(args: StreamArgs) -> Result<StreamPlan> {
        let InputArgs { files, reading } = args.input;
        ensure!(args.every != Some(0), "--every is 0; give a number of rows");
        let outputs = Outputs::new(args.output, args.indices, None, None, None)?;
        let inputs: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
        check_distinct(&inputs, &outputs.named())?;
        let outputs = outputs.reading(inputs);
        let none = FunctionArgs { functions: None, functions_file: None, functions_unit: None };
        let draws = DrawsPlan::new(files, reading, none, None, None)?;
        let choose = Choose::thin(args.number)?.search(args.search).seed(args.seed);
        let mut choose = measured(choose, args.kernel, None, &draws)?;
        (choose.objective.marginals, choose.objective.moments) = (args.marginals, args.moments);
        choose.compute.landmarks = args.landmarks;
        choose.compute.pool_rows = args.pool_rows;
        choose.compute.max_memory = args.max_memory.or_else(limits::of_account);
        choose.check()?;
        let threads = checked_threads(args.threads)?;
        Ok(StreamPlan { draws, choose, every: args.every, outputs, threads, quiet: args.quiet })
    }
}
