//! Flags to plans, and the words for flags that make no sense.

use clap::Parser;
use supersample::scale::Scale;
use supersample::{Family, FunctionsUnit};
use supersample_io::Selection;

use supersample::task::{Bandwidth, KernelChoice};

use super::matched::Functions;
use super::*;
use crate::args::{Args, Verb};
use crate::words::said;

fn plan(flags: &str) -> Result<ChoosePlan> {
    let words = format!("supersample herd draws.csv {flags}");
    let Verb::Herd(args) = Args::try_parse_from(words.split_whitespace())?.verb else { unreachable!() };
    ChoosePlan::herd(args)
}

fn refused(flags: &str) -> String {
    said(&plan(flags).unwrap_err())
}

#[test]
fn a_plan_without_flags_has_the_defaults() {
    let plan = plan("-n 3").unwrap();
    assert_eq!(plan.choose, Choose::herd(3).unwrap());
    assert_eq!(plan.draws.selection, Selection::Default);
    assert!(!plan.quiet && plan.outputs.rows.is_none() && plan.threads.is_none());
    assert_eq!(plan.draws.weights, WeightsPlan::Equal);
}

#[test]
fn bandwidths_are_lengths_or_the_word_median() {
    let kernel = |flags: &str| plan(flags).unwrap().choose.distance.kernel;
    assert_eq!(
        kernel("-n 1 --bandwidth 2.5"),
        KernelChoice::Named { family: None, bandwidth: Bandwidth::Lengths(vec![2.5]) }
    );
    assert_eq!(
        kernel("-n 1 --kernel linear"),
        KernelChoice::Named { family: Some(Family::Linear), bandwidth: Bandwidth::Median }
    );
    assert_eq!(
        kernel("-n 1 --kernel imq --bandwidth median"),
        KernelChoice::Named { family: Some(Family::Imq), bandwidth: Bandwidth::Median }
    );
    assert_eq!(refused("-n 1 --bandwidth abc"), "--bandwidth 'abc' is neither a number nor the word median");
    for length in ["0", "-1", "nan", "inf"] {
        let message = refused(&format!("-n 1 --bandwidth {length}"));
        let length = length.replace("nan", "NaN");
        let rest = "give a positive length in the units of the scaled columns";
        assert_eq!(message, format!("--bandwidth is {length}; {rest}"));
    }
    assert!(
        refused("-n 1 --bandwidth 1e300").starts_with("--bandwidth is 1e300, whose square is out of range;")
    );
    assert_eq!(
        refused("-n 1 --kernel linear --bandwidth 2"),
        "--bandwidth has no effect on the linear kernel; leave it out or choose another kernel"
    );
}

#[test]
fn lists_of_columns_add_up_and_go_together() {
    let selection = |flags: &str| plan(flags).unwrap().draws.selection;
    let owned = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    assert_eq!(
        selection("-n 1 --columns a,b --columns c* --exclude b --exclude d"),
        Selection::new(Some(owned(&["a", "b", "c*"])), Some(owned(&["b", "d"])))
    );
    assert_eq!(selection("-n 1 --exclude b"), Selection::Except(owned(&["b"])));
    assert_eq!(plan("-n 1 --scale mad").unwrap().choose.distance.scale, Some(Scale::Mad));
    let draws = plan("-n 1 --shape draw,chain --drop-na").unwrap().draws;
    assert_eq!((draws.shape, draws.drop_na), (Some(supersample_io::Shape::DrawChain), true));
}

#[test]
fn outputs_must_be_files_of_their_own() {
    assert_eq!(
        refused("-n 1 -o ./draws.csv"),
        "-o and the input are the same file, ./draws.csv; name another"
    );
    assert_eq!(refused("-n 1 -o x --trace ./x"), "--trace and -o are the same file, ./x; name another");
    assert_eq!(refused("-n 1 -o x --checkpoint x"), "--checkpoint and -o are the same file, x; name another");
    assert!(refused("-n 1 --json r --resume r").contains("are the same file"));
    assert!(plan("-n 1 --checkpoint c --resume c").is_ok());
    assert!(refused("-n 1 --indices -").starts_with("the rows and --indices would both go to stdout"));
    assert!(plan("-n 1 -o - --indices a --trace b").unwrap().outputs.rows.is_none());
    assert!(refused("-n 1 -o x.npy.gz").contains("only text can be gzipped"));
}

#[test]
fn nothing_cannot_be_asked_for() {
    assert_eq!(refused("-n 0"), "-n is 0; ask for at least 1");
    assert!(refused("-n 1 --threads 0").starts_with("--threads is 0;"));
    assert_eq!(refused("-n 1 --threads 9999"), "--threads is 9999; at most 1024 can be started");
    assert!(refused("-n -4").contains("invalid value '-4' for '--number <T>': write a whole number"));
    assert!(refused("-n 1 --weight-column a --log-weight-column b").contains("cannot be used with"));
    assert!(refused("-n 1 --format npy --separator ;").contains("--separator has no effect on npy files"));
    assert!(refused("").starts_with("give the size: "));
    assert!(plan("--tol 0.01").is_ok() && plan("--equivalent-draws 500").is_ok());
}

#[test]
fn parts_count_by_default_and_as_told() {
    let weights =
        |choose: &Choose| (choose.marginals_weight(), choose.moments_weight(), choose.objective.functions);
    let matched = |flags: &str| weights(&plan(flags).unwrap().choose);
    assert_eq!(matched("-n 1"), (0.0, 0.0, 1.0));
    assert_eq!(matched("-n 1 --marginals 0.7 --moments 0.2"), (0.7, 0.2, 1.0));
    let words = "supersample thin draws.csv -n 1 --functions a,b* --functions-file f.csv --functions-weight 2 \
                 --functions-unit common";
    let Verb::Thin(args) = Args::try_parse_from(words.split_whitespace()).unwrap().verb else {
        unreachable!()
    };
    let ChoosePlan { draws, choose, .. } = ChoosePlan::thin(args).unwrap();
    let thin = Choose::thin(1).unwrap();
    assert_eq!(weights(&choose), (thin.marginals_weight(), thin.moments_weight(), 2.0));
    assert_eq!(choose.objective.functions_unit, FunctionsUnit::Common);
    let columns = ["a", "b*"].map(str::to_string).to_vec();
    assert_eq!(draws.functions, Functions { columns, file: Some("f.csv".into()) });
    for bad in ["-1", "nan", "inf"] {
        assert!(
            ["marginals", "moments"].iter().all(|part| {
                refused(&format!("-n 1 --{part} {bad}")).contains("; give a number of at least 0")
            }),
            "{bad}"
        );
        let flags = format!("-n 1 --functions a --functions-weight {bad}");
        assert!(refused(&flags).contains("; give a positive number, or leave the functions out"), "{bad}");
    }
    assert!(refused("-n 1 --functions a --functions-weight 0").starts_with("--functions-weight is 0; "));
    assert!(
        refused("-n 1 --functions-weight 2")
            .starts_with("--functions-weight has no effect without functions")
    );
    assert!(refused("-n 1 --functions-file ./draws.csv -o draws.csv").contains("are the same file"));
    assert!(refused("-n 1 --functions-file x.csv -o x.csv").contains("-o and the input are the same file"));
}

#[test]
fn a_seed_goes_with_any_search_and_with_herd() {
    assert_eq!(plan("-n 1 --seed 3").unwrap().choose.compute.seed, 3);
    let words = "supersample thin draws.csv -n 1 --search 0 --seed 3";
    let Verb::Thin(args) = Args::try_parse_from(words.split_whitespace()).unwrap().verb else {
        unreachable!()
    };
    let plan = ChoosePlan::thin(args).unwrap();
    let search = plan.choose.method.refine().unwrap().search;
    assert_eq!((plan.choose.compute.seed, search), (3, None));
}

#[test]
fn what_the_library_refuses_is_refused_before_any_file_is_read() {
    for (flags, words) in [
        ("--landmarks 0", "--landmarks is 0; ask for at least one"),
        ("--landmarks 9 --embedding exact", "--landmarks is 9; an exact embedding has none; "),
        ("--pool-rows 0", "--pool-rows is 0; there must be rows to choose from"),
        (
            "--scores s.csv --target density --pool-rows 9",
            "--pool-rows cannot be used with --target density; all rows are read; ",
        ),
        (
            "--scores s.csv --target density --marginals 1",
            "--marginals cannot be used with --target density; ",
        ),
        (
            "--scores s.csv --target density --functions a",
            "--functions cannot be used with --target density; ",
        ),
        (
            "--scores s.csv --target density --landmarks 9",
            "--landmarks cannot be used with --target density; ",
        ),
        (
            "--scores s.csv --target density --weight-column w",
            "--weight-column (or --log-weight-column) cannot be used with --target density",
        ),
        (
            "--scores s.csv --target density --log-weight-column w",
            "--weight-column (or --log-weight-column) cannot be used with --target density",
        ),
        ("--scores s.csv --target density --bandwidth -1", "--bandwidth is -1; give a positive length "),
        (
            "--scores s.csv --target density --bandwidth x",
            "--bandwidth 'x' is neither a number nor the word median",
        ),
        (
            "--scores s.csv --target density --log-density lp__ --regularise 0",
            "--regularise is 0; give a positive number",
        ),
    ] {
        let message = refused(&format!("-n 1 {flags}"));
        assert!(message.starts_with(words), "{message}");
    }
}
