//! Scores: draws that are corrected by them, or a density in place of the draws, from a file, from columns, from CmdStan's diagnostic files, and what is refused.

use std::path::{Path, PathBuf};

use supersample::task::{Choose, Problem, RowScores, Rows, TargetChoice};
use supersample::{Points, unwatched};

use crate::desk::{Desk, numbers, skipped};

/// Normal-looking draws of a (mean 2) and b (sd 10), the first fifth of a far out, and their scores.
fn rows() -> Vec<[f64; 4]> {
    let one = |i: usize| {
        let (u, v) = ((i as f64 * 0.754_877_666).fract(), (i as f64 * 0.569_840_290).fract());
        let (radius, angle) = ((-2.0 * (1.0 - u).ln()).sqrt(), std::f64::consts::TAU * v);
        let (mut x, y) = (radius * angle.cos(), radius * angle.sin());
        if i < 60 {
            x += 8.0;
        }
        [2.0 + x, 10.0 * y, -x, -y / 10.0]
    };
    (0..300).map(one).collect()
}

fn csv(head: &str, columns: impl Fn(&[f64; 4]) -> Vec<f64>) -> String {
    let line =
        |row: &[f64; 4]| columns(row).iter().map(|x| format!("{x}")).collect::<Vec<_>>().join(",") + "\n";
    format!("{head}\n") + &rows().iter().map(line).collect::<String>()
}

fn with_scores() -> Desk {
    let desk = Desk::new();
    desk.write("draws.csv", csv("a,b", |row| vec![row[0], row[1]]));
    // In another order, with a column nobody has asked for.
    desk.write("scores.csv", csv("b,c,a", |row| vec![row[3], 1.0 + row[0].sin(), row[2]]));
    desk.write("both.csv", csv("a,s_a,b,s_b", |row| vec![row[0], row[2], row[1], row[3]]));
    desk.write("turned.csv", csv("a,b", |row| vec![-row[2], -row[3]]));
    // As CmdStan writes it: unconstrained parameters, momenta, the gradient of the potential.
    desk.write(
        "diagnostic.csv",
        csv("lp__,a,b,p_a,p_b,g_a,g_b", |row| {
            vec![1.0, row[0], row[1], row[0].sin(), row[1].cos(), -row[2], -row[3]]
        }),
    );
    desk
}

fn chosen(desk: &Desk, words: &str) -> (Vec<usize>, String) {
    let (_, told) = desk.ran(&format!("{words} --indices i.txt -o o.csv"));
    (numbers(&desk.read("i.txt")), told)
}

#[track_caller]
fn refused(desk: &Desk, words: &str) -> String {
    let output = desk.run(words);
    assert_eq!(output.status.code(), Some(2), "{words}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_file_columns_and_a_diagnostic_file_give_the_same_rows_without_the_burn_in() {
    let desk = with_scores();
    let (plain, _) = chosen(&desk, "thin draws.csv -n 20");
    assert!(plain.iter().any(|&row| row < 60));
    let (rows, told) = chosen(&desk, "thin draws.csv -n 20 --scores scores.csv --target density");
    assert!(rows.len() == 20 && rows.iter().all(|&row| row >= 60), "{rows:?}");
    assert!(told.contains("KSD") && !told.contains("MMD"), "{told}");
    assert!(told.contains("kernel stein-imq, columns scaled to unit mean deviation"), "{told}");
    assert!(told.contains("the scores: not used: c"), "{told}");
    assert!(told.contains("the rows are not draws of the density: the mean"), "{told}");
    let (by_prefix, _) = chosen(&desk, "thin both.csv -n 20 --score-prefix s_ --target density");
    assert_eq!(by_prefix, rows);
    let (diagnostic, told) = chosen(&desk, "thin diagnostic.csv -n 20 --score-prefix g_ --target density");
    assert_eq!(diagnostic, rows);
    assert!(told.contains("by 2 parameters (a, b; not used: lp__, p_a, p_b"), "{told}");
    assert!(told.contains("gradient of the potential; scores are their negative"), "{told}");
    let (beside, told) = chosen(&desk, "thin draws.csv -n 20 --scores diagnostic.csv --target density");
    assert_eq!(beside, rows);
    assert!(told.contains("scores are their negative"), "{told}");
    // Other kernels and scales are others.
    for flags in [
        "--kernel gaussian",
        "--preconditioner median",
        "--preconditioner covariance",
        "--bandwidth 0.3",
        "--scale sd",
    ] {
        let (other, _) =
            chosen(&desk, &format!("thin draws.csv -n 20 --scores scores.csv --target density {flags}"));
        assert!(other != rows && other.iter().all(|&row| row >= 60), "{flags}: {other:?}");
    }
    let (weighed, told) =
        chosen(&desk, "herd draws.csv -n 20 --scores scores.csv --target density --weights simplex");
    assert!(weighed.len() == 20 && told.contains("with equal weights"), "{told}");
}

#[test]
fn a_run_is_kept_and_continued_and_a_subset_is_evaluated() {
    let desk = with_scores();
    let (whole, _) = chosen(&desk, "herd draws.csv -n 30 --scores scores.csv --target density");
    let (_, _) = chosen(&desk, "herd draws.csv -n 12 --scores scores.csv --target density --checkpoint c");
    let (rest, told) =
        chosen(&desk, "herd draws.csv -n 30 --scores scores.csv --target density --checkpoint c");
    assert_eq!(rest, whole);
    assert!(told.contains("continuing from the 12 rows of an earlier run"), "{told}");
    let other = refused(&desk, "herd draws.csv -n 30 --scores turned.csv --target density --resume c");
    assert!(other.contains("c: "), "{other}");
    let (_, found) = desk.ran("eval draws.csv i.txt --scores scores.csv --target density --json e.json");
    assert!(found.contains("KSD") && found.contains("random 30 rows"), "{found}");
    desk.ran("herd both.csv -n 30 --score-prefix s_ --target density -o rows.csv --json h.json");
    desk.ran("eval both.csv rows.csv --score-prefix s_ --target density --json r.json");
    for (name, file, prefix) in [("e.json", Some("scores.csv"), None), ("h.json", None, Some("s_"))] {
        let report = crate::desk::json(&desk, name);
        assert_eq!(report["embedding"]["kind"], "scores", "{name}");
        let scores = &report["scores"];
        assert_eq!((scores["file"].as_str(), scores["prefix"].as_str()), (file, prefix), "{name}");
        assert_eq!(scores["preconditioner"], "identity", "{name}");
    }
    let ksd = |name: &str| crate::desk::json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    let (by_numbers, by_rows, herded) = (ksd("e.json"), ksd("r.json"), ksd("h.json"));
    assert!((by_numbers - by_rows).abs() < 1e-6 * by_rows && (herded - by_rows).abs() < 1e-6 * by_rows);
    let unknown = refused(&desk, "eval draws.csv draws.csv --scores scores.csv --target density");
    assert!(unknown.contains("its scores are not known; --scores has a row for each row"), "{unknown}");
}

/// Rows without those that are far out, so that they are draws of the density.
fn good_rows() -> Desk {
    let desk = Desk::new();
    let good = |head: &str, columns: &dyn Fn(&[f64; 4]) -> Vec<f64>| {
        let all = csv(head, columns);
        let lines: Vec<&str> = all.lines().collect();
        lines[..1].iter().chain(&lines[61..]).map(|line| format!("{line}\n")).collect::<String>()
    };
    desk.write("draws.csv", good("a,b", &|row| vec![row[0], row[1]]));
    desk.write("scores.csv", good("a,b", &|row| vec![row[2], row[3]]));
    desk.write("both.csv", good("a,s_a,b,s_b,f", &|row| vec![row[0], row[2], row[1], row[3], row[0].exp()]));
    desk.write("turned.csv", good("a,b", &|row| vec![-row[2], -row[3]]));
    desk.write("constrained.csv", good("a,b", &|row| vec![row[0].exp(), row[1]]));
    desk.write("weighted.csv", good("a,b,w", &|row| vec![row[0], row[1], 1.0 + row[1].cos()]));
    desk.write(
        "diagnostic.csv",
        good("lp__,a,b,p_a,p_b,g_a,g_b", &|row| vec![1.0, row[0], row[1], 0.1, 0.2, -row[2], -row[3]]),
    );
    desk
}

#[test]
fn draws_are_corrected_by_their_scores_as_the_library_does_it() {
    let desk = good_rows();
    let (rows, told) = chosen(&desk, "thin draws.csv -n 20 --scores scores.csv --json c.json");
    assert!(told.contains("MMD") && told.contains(", corrected by scores"), "{told}");
    assert!(told.contains("weighted so that 4 Stein features (scores and squares) have mean 0"), "{told}");
    let found = &crate::desk::json(&desk, "c.json")["corrected"];
    assert_eq!((found["features"].as_str(), found["count"].as_u64()), (Some("squares"), Some(4)));
    assert!(found["effective_share"].as_f64().unwrap() > 0.9, "{found}");
    let good = &self::rows()[60..];
    let points = Points::from_vec(good.iter().flat_map(|row| [row[0], row[1]]).collect(), 2).unwrap();
    let scores = RowScores::new(good.iter().flat_map(|row| [row[2], row[3]]).collect());
    let problem = Problem::new(Rows::new(points).scores(scores), Choose::thin(20).unwrap()).unwrap();
    let want = problem.prepare(&unwatched).unwrap().choose(&unwatched).unwrap();
    assert_eq!(rows, want.rows);
    for same in [
        "thin draws.csv -n 20 --scores scores.csv --target corrected",
        "thin both.csv -n 20 --score-prefix s_ --columns a,b",
        "thin diagnostic.csv -n 20 --score-prefix g_",
        "thin constrained.csv -n 20 --scores diagnostic.csv",
    ] {
        assert_eq!(chosen(&desk, same).0, rows, "{same}");
    }
    let (_, told) = chosen(&desk, "thin constrained.csv -n 20 --scores diagnostic.csv");
    assert!(told.contains("the unconstrained parameters of the diagnostic file are matched"), "{told}");
    let (plain, _) = chosen(&desk, "thin draws.csv -n 20");
    assert_ne!(plain, rows);
    assert_eq!(chosen(&desk, "thin draws.csv -n 20 --scores scores.csv --target rows").0, plain);
    // Whatever goes with rows goes with corrected ones.
    for flags in [
        "--kernel laplace --bandwidth 2",
        "--scale pca",
        "--weights simplex",
        "--landmarks 50",
        "--marginals 0",
    ] {
        let words = format!("thin draws.csv -n 20 --scores scores.csv {flags}");
        assert_eq!(chosen(&desk, &words).0.len(), 20, "{flags}");
    }
    let (_, told) = chosen(&desk, "thin both.csv -n 20 --score-prefix s_ --columns a,b --functions f");
    assert!(told.contains("functions: f"), "{told}");
    assert_eq!(
        chosen(&desk, "herd weighted.csv -n 9 --columns a,b --scores scores.csv --weight-column w").0.len(),
        9
    );
}

#[test]
fn corrected_runs_are_kept_continued_and_evaluated() {
    let desk = good_rows();
    let (whole, _) = chosen(&desk, "herd draws.csv -n 30 --scores scores.csv --json h.json");
    chosen(&desk, "herd draws.csv -n 12 --scores scores.csv --checkpoint c");
    let (rest, told) = chosen(&desk, "herd draws.csv -n 30 --scores scores.csv --checkpoint c");
    assert_eq!(rest, whole);
    assert!(told.contains("continuing from the 12 rows of an earlier run"), "{told}");
    assert!(refused(&desk, "herd draws.csv -n 30 --resume c").contains("c: "));
    desk.ran("eval draws.csv i.txt --scores scores.csv --json e.json");
    desk.ran("eval draws.csv o.csv --scores scores.csv --json r.json");
    let mmd = |name: &str| crate::desk::json(&desk, name)["result"]["mmd"].as_f64().unwrap();
    assert!((mmd("e.json") - mmd("h.json")).abs() < 1e-9 && (mmd("r.json") - mmd("h.json")).abs() < 1e-9);
    // A subset needs no scores of its own.
    desk.ran("eval both.csv draws.csv --score-prefix s_ --columns a,b");
    for (words, message) in [
        ("thin draws.csv -n 5 --target corrected", "--target corrected needs the scores of the rows"),
        ("thin draws.csv -n 5 --target density", "--target density needs the scores of the rows"),
        ("thin draws.csv -n 5 --scores turned.csv", "the scores of column 'a' are not those of its rows: "),
        ("thin draws.csv -n 5 --scores turned.csv", "; they have the sign of a potential, -log p"),
        (
            "thin draws.csv -n 5 --scores scores.csv --pool-rows 50",
            "--scores or --score-prefix needs all rows in memory",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --preconditioner median",
            "no effect without --target density",
        ),
        (
            "thin diagnostic.csv -n 5 --score-prefix g_ --log-density lp__",
            "no effect without --target density",
        ),
    ] {
        let told = refused(&desk, words);
        assert!(told.contains(message), "{words}: {told}");
    }
}

/// The log-density of a row that has these scores, up to a constant: of N(2, 1) and N(0, 100).
fn log_density(row: &[f64; 4]) -> f64 {
    -0.5 * row[2] * row[2] - 50.0 * row[3] * row[3]
}

#[test]
fn a_regularised_choice_is_that_of_the_library_and_says_so() {
    let desk = with_scores();
    desk.write("lp.csv", csv("lp__,a,b", |row| vec![log_density(row), row[0], row[1]]));
    desk.write(
        "with_lp.csv",
        csv("lp__,a,s_a,b,s_b", |row| vec![log_density(row), row[0], row[2], row[1], row[3]]),
    );
    let lines = desk.read("lp.csv");
    let (_, rest) = lines.lines().nth(1).unwrap().split_once(',').unwrap();
    for (value, said) in [("-inf", "-inf"), ("", "empty")] {
        desk.write("zero.csv", lines.replacen(lines.lines().nth(1).unwrap(), &format!("{value},{rest}"), 1));
        assert_eq!(
            desk.refused("zero.csv -n 20 --scores scores.csv --target density --log-density lp__"),
            format!(
                "--log-density: zero.csv: row 1 (line 2), column 'lp__' is {said}; draws of the density have a finite \
                 one, so remove the row"
            )
        );
    }
    let (plain, _) = chosen(&desk, "herd lp.csv -n 20 --scores scores.csv --target density");
    let (default, told) = chosen(
        &desk,
        "herd lp.csv -n 20 --scores scores.csv --target density --log-density lp__ --json l.json",
    );
    assert!(told.contains("objective: KSD, regularised by 0.05 × log-density"), "{told}");
    assert_eq!(crate::desk::json(&desk, "l.json")["objective"]["log_density"], 0.05);
    for (weight, found) in [
        (0.05, default.clone()),
        (
            0.05,
            chosen(&desk, "herd with_lp.csv -n 20 --score-prefix s_ --target density --log-density lp__").0,
        ),
        (
            0.5,
            chosen(
                &desk,
                "herd lp.csv -n 20 --scores scores.csv --target density --log-density lp__ --regularise 0.5",
            )
            .0,
        ),
    ] {
        let rows = rows();
        let scores = RowScores::new(rows.iter().flat_map(|row| [row[2], row[3]]).collect());
        let scores = scores.regularised(rows.iter().map(log_density).collect(), weight);
        let points = Points::from_vec(rows.iter().flat_map(|row| [row[0], row[1]]).collect(), 2).unwrap();
        let problem = Problem::new(
            Rows::new(points).scores(scores),
            Choose::herd(20).unwrap().target(TargetChoice::Density),
        )
        .unwrap();
        let want = problem.prepare(&unwatched).unwrap().choose(&unwatched).unwrap();
        assert_eq!(found, want.rows, "{weight}");
        assert_ne!(found, plain);
    }
    // A set has the plain KSD in its table, and goes on from its own checkpoint only.
    let (_, told) =
        chosen(&desk, "thin lp.csv -n 20 --scores scores.csv --target density --log-density lp__");
    assert!(
        told.contains("\nobjective: KSD, regularised by 0.05 × log-density; KSD ")
            && !told.contains("exceed"),
        "{told}"
    );
    chosen(
        &desk,
        "herd lp.csv -n 5 --scores scores.csv --target density --log-density lp__ --regularise 0.05 --checkpoint c",
    );
    let again = "herd lp.csv -n 20 --scores scores.csv --target density --log-density lp__ --resume c";
    assert_eq!(chosen(&desk, again).0, default);
    let longer = "herd lp.csv -n 30 --scores scores.csv --target density --log-density lp__ --checkpoint c";
    let told = refused(&desk, longer);
    assert!(
        told.contains("with the same --regularise, which is 1/n by default: c: the checkpoint"),
        "{told}"
    );
    for other in [
        "herd lp.csv -n 20 --scores scores.csv --target density --resume c",
        "herd lp.csv -n 20 --scores scores.csv --target density --log-density lp__ --regularise 0.1 --resume c",
    ] {
        assert!(refused(&desk, other).contains("c: "), "{other}");
    }
    for (words, message) in [
        ("herd lp.csv -n 5 --log-density lp__", "--log-density has no effect without --scores"),
        ("herd lp.csv -n 5 --regularise 1", "--regularise has no effect without --scores"),
        (
            "herd lp.csv -n 5 --scores scores.csv --target density --regularise 1",
            "no effect without --log-density",
        ),
        (
            "herd lp.csv -n 5 --scores scores.csv --target density --log-density lp__ --regularise 0",
            "--regularise is 0; give a positive number, or leave the log-density out",
        ),
        (
            "herd lp.csv --tol 0.5 --scores scores.csv --target density --log-density lp__",
            "give the weight of the log-density",
        ),
        (
            "herd lp.csv -n 5 --scores scores.csv --target density --log-density lq__",
            "there is no column 'lq__'",
        ),
        (
            "herd lp.csv -n 5 --scores scores.csv --target density --log-density l*",
            "--log-density: 'l*' matches several columns; give the name of one",
        ),
        ("eval lp.csv i.txt --scores scores.csv --target density --log-density lp__", "unexpected argument"),
    ] {
        let told = refused(&desk, words);
        assert!(told.contains(message), "{words}: {told}");
    }
}

#[test]
fn odd_scores_are_named_and_a_second_run_writes_the_same_file() {
    let desk = with_scores();
    desk.write("zero.csv", csv("a,b", |_| vec![0.0, 0.0]));
    desk.write("whole.csv", csv("a,b", |row| vec![row[2].round(), row[3].round()]));
    desk.write("other.csv", csv("b,a", |row| vec![row[2], row[3]]));
    desk.write("holes.csv", csv("a,b", |row| vec![row[2], if row[0] > 3.0 { f64::NAN } else { row[3] }]));
    desk.write("huge.csv", csv("a,b", |row| vec![row[2] * 1e200, row[3]]));
    // A column for each row and a row for each column.
    let line = |j: usize| rows().iter().map(|row| row[j].to_string()).collect::<Vec<_>>().join(",") + "\n";
    let head = (0..300).map(|i| format!("r{i}")).collect::<Vec<_>>().join(",") + "\n";
    desk.write("turned_over.csv", head + &line(2) + &line(3));
    desk.write("one.csv", "a,b\n1,2\n");
    desk.write("one_score.csv", "b,a\n-0.5,1\n");
    let told = chosen(&desk, "thin draws.csv -n 5 --scores zero.csv --target density").1;
    assert!(told.contains("warning: the scores of columns a, b are unrelated to the rows"), "{told}");
    let told = chosen(&desk, "thin draws.csv -n 5 --scores other.csv --target density").1;
    assert!(told.contains("warning: the scores of column a are unrelated to the rows"), "{told}");
    assert_eq!(chosen(&desk, "thin draws.csv -n 5 --scores whole.csv --target density").0.len(), 5);
    assert_eq!(chosen(&desk, "thin one.csv -n 1 --scores one_score.csv --target density").0, [0]);
    let (all, told) = chosen(&desk, "thin draws.csv -n 1000 --scores scores.csv --target density");
    assert!(all.len() == 300 && told.contains("300"), "{told}");
    for (file, message) in [
        ("holes.csv", "holes.csv: "),
        ("huge.csv --target density", "too large to be summed"),
        ("huge.csv", "; they are of another scale, or draws of another density: --target density "),
        ("turned_over.csv", "there are 2 rows, but the draws have 300 rows"),
    ] {
        let told = refused(&desk, &format!("thin draws.csv -n 5 --scores {file} -o kept.csv"));
        assert!(told.contains(message), "{file}: {told}");
    }
    let run = || chosen(&desk, "thin draws.csv -n 5 --scores scores.csv --target density").0;
    let (first, rows) = (run(), desk.read("o.csv"));
    assert_eq!((run(), desk.read("o.csv")), (first, rows));
    assert!(!desk.files().contains(&"kept.csv".to_string()));
}

#[test]
fn what_makes_no_sense_is_refused_in_the_words_of_the_flags() {
    let desk = with_scores();
    desk.write("few.csv", "a,b\n1,2\n");
    desk.write("constrained.csv", csv("a,b", |row| vec![row[0].exp(), row[1]]));
    for (words, message) in [
        (
            "thin draws.csv -n 5 --scores few.csv --target density",
            "there are 1 row, but the draws have 300 rows",
        ),
        ("thin draws.csv -n 5 --scores draws.csv --score-prefix g_", "cannot be used with"),
        ("thin both.csv -n 5 --score-prefix x_ --target density", "x_"),
        ("thin both.csv -n 5 --score-prefix s_a --target density", "parameter 'a' has no score"),
        (
            "eval constrained.csv draws.csv --scores diagnostic.csv",
            "its unconstrained parameters are not known",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --kernel laplace",
            "with --target density use imq or gaussian",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --marginals 0.1",
            "--marginals cannot be used with --target density",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --functions b",
            "functions cannot be used with --target density",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --weight-column b",
            "--log-weight-column) cannot be used with --target density",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --landmarks 10",
            "landmarks cannot be used with --target density",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --pool-rows 10",
            "--pool-rows cannot be used with --target density",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --bandwidth -1",
            "--bandwidth is -1; give a positive length",
        ),
        (
            "thin draws.csv -n 5 --scores scores.csv --target density --bandwidth 1 --preconditioner median",
            "leave it or --preconditioner out",
        ),
        ("thin draws.csv -n 5 --preconditioner median", "--preconditioner has no effect without --scores"),
        ("thin draws.csv -n 5 --scores scores.csv --target density -o scores.csv", "scores.csv"),
        ("thin draws.csv -n 5 --scores none.csv --target density", "none.csv"),
    ] {
        let told = refused(&desk, words);
        assert!(told.contains(message), "{words}: {told}");
    }
    let (_, told) = chosen(&desk, "thin draws.csv -n 5 --scores turned.csv --target density");
    assert!(told.contains("warning: the scores of columns a, b point away from the rows"), "{told}");
}

/// A real file of CmdStan 2.37, where it is at hand: the prior of k is normal(0, 5), so that its score has −k/25 in it.
#[test]
fn a_real_diagnostic_file_is_read_as_it_is() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/found");
    let folder = std::env::var_os("SUPERSAMPLE_FOUND").map_or(beside, PathBuf::from);
    let file = folder.join("cmdstan-diagnostic.csv");
    let Ok(text) = std::fs::read(&file) else {
        return skipped("files", format!("there is no {}", file.display()));
    };
    let desk = Desk::new();
    desk.write("diagnostic.csv", text);
    let (rows, told) = chosen(&desk, "thin diagnostic.csv -n 20 --score-prefix g_ --target density");
    assert!(rows.len() == 20 && told.contains("by 10 parameters (k, m, delta.1"), "{told}");
    assert!(told.contains("scores are their negative") && !told.contains("point away"), "{told}");
    // The log-density that CmdStan writes is that of the same space, so that it can regularise.
    let (_, told) =
        chosen(&desk, "thin diagnostic.csv -n 20 --score-prefix g_ --target density --log-density lp__");
    assert!(told.contains("regularised by 0.05 × log-density"), "{told}");
    // Beside the draws that go with it: sigma_obs is positive there and its logarithm here, so that it is left out.
    let lines = desk.read("diagnostic.csv");
    let mut table = lines.lines().filter(|line| !line.starts_with('#')).map(|line| line.split(','));
    let head: Vec<&str> = table.next().unwrap().collect();
    let output = |constrained: bool| {
        let cell = |(name, cell): (&&str, &str)| match (*name, constrained) {
            ("sigma_obs", true) => cell.parse::<f64>().unwrap().exp().to_string(),
            _ => cell.to_string(),
        };
        let line =
            |row: Vec<&str>| head.iter().zip(row).take(17).map(cell).collect::<Vec<_>>().join(",") + "\n";
        let rows: String = table.clone().map(|row| line(row.collect())).collect();
        head[..17].join(",") + "\n" + &rows
    };
    desk.write("output.csv", output(true));
    desk.write("unconstrained.csv", output(false));
    let (beside, told) = chosen(&desk, "thin output.csv -n 20 --scores diagnostic.csv --target density");
    assert_eq!(beside, rows);
    assert!(told.contains("the unconstrained parameters of the diagnostic file are matched"), "{told}");
    // Enough draws, and good ones: nothing is doubted.
    let (_, told) = chosen(&desk, "thin diagnostic.csv -n 20 --score-prefix g_");
    assert!(told.contains("corrected by "), "{told}");
    let (beside, told) =
        chosen(&desk, "thin unconstrained.csv -n 20 --scores diagnostic.csv --target density");
    assert_eq!(beside, rows);
    assert!(told.contains("scores are their negative"), "{told}");
    let (some, _) =
        chosen(&desk, "thin output.csv -n 20 --scores diagnostic.csv --target density --exclude sigma_obs");
    assert_eq!(some.len(), 20);
    let (_, told) =
        desk.ran("eval output.csv i.txt --scores diagnostic.csv --target density --exclude sigma_obs");
    assert!(told.contains("KSD") && told.contains("random 20 rows"), "{told}");
}

#[test]
fn scores_are_found_by_name_and_by_row_and_only_theirs_are_read() {
    let desk = Desk::new();
    let value = |i: usize, j: usize| ((i * 7 + j * 3) as f64 * 0.7).sin();
    let rows = |order: &dyn Fn(usize) -> usize, sign: f64, more: &str| {
        let line = |i: usize| format!("{i},{},{},{more}\n", sign * value(i, 0), sign * value(i, 1));
        (0..200).map(|at| line(order(at))).collect::<String>()
    };
    // As PyMC calls them; a name that ends so is an id elsewhere.
    let header = "row,mean,sd_log__,note\n";
    desk.write("d.csv", header.to_string() + &rows(&|at| at, 1.0, "1"));
    desk.write("s.csv", header.to_string() + &rows(&|at| at, -1.0, "1"));
    desk.write("turned.csv", header.to_string() + &rows(&|at| 199 - at, -1.0, "NA"));
    let run = |file: &str| {
        let words = "thin d.csv --columns mean,sd_log__ -n 5 --target density -o o.csv --indices i.txt";
        let (_, told) = desk.ran(&format!("{words} --scores {file}"));
        (desk.read("i.txt"), told)
    };
    let ((rows, _), (same, told)) = (run("s.csv"), run("turned.csv"));
    assert_eq!(rows, same);
    assert!(told.contains("the scores: rows are matched by row, not by their order"), "{told}");
    // A missing score is not cured by dropping rows; without its parameter it is.
    desk.write("hole.csv", desk.read("s.csv").replacen("0,-0,", "0,NA,", 1));
    let words = "thin d.csv --columns mean,sd_log__ -n 5 --scores hole.csv --target density -o o.csv";
    let told = refused(&desk, words);
    assert!(
        told.contains("every parameter needs a score in every row, so fix it, or leave the parameter out"),
        "{told}"
    );
    desk.ran(&format!("{words} --exclude mean"));
}
