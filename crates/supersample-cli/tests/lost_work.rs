//! Work that must not be lost: files in the way, outputs that fail, signals, and what killed runs leave behind.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};

use assert_cmd::cargo::cargo_bin;
use supersample_io::{Column, Format, Frame, OutputFormat};

use crate::desk::{Desk, Running, json, numbers, output, posterior, signal, skipped, spawn, wait_for};

/// A run that chooses for days; it has begun when its checkpoint is there.
const LONG: &str = "herd d.csv -n 3000000 -o o.csv --indices i.txt --json s.json";

fn desk_with(rows: usize) -> Desk {
    let desk = Desk::new();
    desk.write("d.csv", posterior(rows));
    desk
}

/// The status and what was said on stderr.
fn ended(child: Running) -> (Option<i32>, String) {
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    (status.code(), String::from_utf8(stderr).unwrap())
}

/// A line of what the system tells of a process.
fn status_of(child: &Child, key: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix(key)?.strip_prefix(':')?.trim().to_string()))
}

#[test]
fn an_existing_checkpoint_is_gone_on_from_or_left_alone() {
    let desk = desk_with(600);
    desk.ran("herd d.csv -n 60 -q --indices whole.txt -o whole.csv");
    desk.ran("herd d.csv -n 20 -q --checkpoint ck -o o.csv");
    let (_, text) = desk.ran("herd d.csv -n 60 --checkpoint ck --indices i.txt -o o.csv");
    assert!(text.starts_with("ck: continuing from the 20 rows of an earlier run\n"), "{text}");
    assert_eq!(desk.read("i.txt"), desk.read("whole.txt"));
    // Fewer rows than are kept take nothing away from it, with or without --resume.
    let kept = fs::read(desk.path("ck")).unwrap();
    desk.ran("herd d.csv -n 7 -q --checkpoint ck -o o.csv");
    desk.ran("herd d.csv -n 7 -q --checkpoint ck --resume ck -o o.csv");
    assert_eq!(fs::read(desk.path("ck")).unwrap(), kept);
    // Of two checkpoints of one run the longer is gone on from.
    desk.ran("herd d.csv -n 5 -q --checkpoint short -o o.csv");
    desk.ran("herd d.csv -n 5 -q --checkpoint ck --resume short -o o.csv");
    assert_eq!(fs::read(desk.path("ck")).unwrap(), kept);
    assert_eq!(
        desk.refused("d.csv -n 60 --checkpoint ck --bandwidth 2"),
        "ck: the checkpoint belongs to other data, another kernel or other options; name another file, or remove \
         this one"
    );
    assert_eq!(fs::read(desk.path("ck")).unwrap(), kept);
    desk.write("half", &kept[..100]);
    assert!(
        desk.refused("d.csv -n 9 --checkpoint half").starts_with("half: this is not a complete checkpoint")
    );
    desk.write("notes.txt", "precious\n");
    // Refused before the draws are looked for.
    assert_eq!(
        desk.refused("none.csv -n 60 --checkpoint notes.txt"),
        "notes.txt: this file is not a checkpoint; name another file, or remove this one"
    );
    assert_eq!(desk.read("notes.txt"), "precious\n");
    // There is nothing to lose in an empty file, as `mktemp` makes them.
    desk.write("empty", "");
    desk.ran("herd d.csv -n 60 -q --checkpoint empty -o o.csv");
    assert_eq!(fs::read(desk.path("empty")).unwrap(), kept);
}

#[cfg(target_os = "linux")]
#[test]
fn ignored_signals_stay_ignored() {
    let desk = desk_with(600);
    let command = format!("trap '' HUP INT; exec \"$0\" {LONG} --checkpoint ck");
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).arg(cargo_bin!("supersample")).current_dir(desk.folder());
    let child = Running::start(shell.stderr(Stdio::piped()));
    wait_for("the checkpoint", || desk.path("ck").exists());
    let mask = |key: &str| u64::from_str_radix(&status_of(&child, key).unwrap(), 16).unwrap();
    let (hup, int, term) = (1, 1 << 1, 1 << 14);
    assert_eq!(mask("SigIgn") & (hup | int | term), hup | int);
    assert_eq!(mask("SigCgt") & (hup | int | term), term);
    signal(&child, "-HUP");
    signal(&child, "-INT");
    // This one still ends it with the rows so far.
    signal(&child, "-TERM");
    let (code, text) = ended(child);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("interrupted: these are the first "), "{text}");
    assert!(!numbers(&desk.read("i.txt")).is_empty());
}

#[test]
fn files_that_no_run_has_made_are_never_removed() {
    let desk = desk_with(60);
    for name in ["ck.lock", ".supersample-note"] {
        desk.write(name, "precious\n");
    }
    desk.write("run.lock", posterior(60));
    desk.write(".supersample-draws.csv", posterior(60));
    desk.write(".supersample-inc", "3\n");
    desk.ran("herd d.csv -n 5 -q -o o.csv --checkpoint ck");
    desk.ran("herd run.lock -n 5 -q -o o.csv --checkpoint run");
    desk.ran("herd .supersample-draws.csv -n 5 -q -o o.csv");
    desk.ran("thin d.csv -n 5 -q --include-rows @.supersample-inc -o o.csv");
    // As a killed run would have named it, had somebody not made an input of it.
    desk.write(".supersample-abcdefghijkl.tmp", posterior(60));
    desk.ran("herd .supersample-abcdefghijkl.tmp -n 5 -q -o o.csv --checkpoint other");
    desk.write("note", "x\n");
    assert_eq!(desk.read(".supersample-abcdefghijkl.tmp"), posterior(60));
    assert!(desk.refused("d.csv -n 5 --checkpoint note").contains("not a checkpoint"));
    for name in ["ck.lock", ".supersample-note"] {
        assert_eq!(desk.read(name), "precious\n");
    }
    for name in ["run.lock", ".supersample-draws.csv"] {
        assert_eq!(desk.read(name), posterior(60), "{name}");
    }
    assert_eq!(desk.read(".supersample-inc"), "3\n");
    assert!(!desk.files().iter().any(|name| name.starts_with(".supersample-lock")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_file_sizes_is_an_error_that_costs_no_other_file() {
    let desk = desk_with(2000);
    // The page and the rows are larger than a block, the row numbers are not.
    let line = "ulimit -f 1; exec \"$0\" herd d.csv -n 100 -q -o o.csv --indices i.txt --report r.html --checkpoint ck";
    let mut shell = Command::new("bash");
    shell.args(["-c", line]).arg(cargo_bin!("supersample")).current_dir(desk.folder());
    let Output { status, stderr, .. } = output(&mut shell);
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{text}");
    assert!(text.contains("o.csv cannot be written: File too large (os error 27)"), "{text}");
    assert!(text.ends_with("still written: i.txt\n"), "{text}");
    assert_eq!(numbers(&desk.read("i.txt")).len(), 100);
    assert_eq!(desk.files(), ["d.csv", "i.txt"]);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_older_results_alone() {
    let desk = desk_with(600);
    desk.write("o.csv", "precious\n");
    desk.write("o.partial.csv", "precious too\n");
    desk.write("s.json", "{}\n");
    let child = spawn(&desk, &format!("{LONG} -q --checkpoint ck"));
    wait_for("the checkpoint", || desk.path("ck").exists());
    signal(&child, "-INT");
    let (code, text) = ended(child);
    assert_eq!(code, Some(130), "{text}");
    assert_eq!(
        text,
        "interrupted: o.csv was kept, and the partial result is o.partial-2.csv\n\
         interrupted: s.json was kept, and the partial result is s.partial.json\n"
    );
    assert_eq!((desk.read("o.csv"), desk.read("s.json")), ("precious\n".to_string(), "{}\n".to_string()));
    assert_eq!(desk.read("o.partial.csv"), "precious too\n");
    // Where there was none the name is as asked.
    let rows = numbers(&desk.read("i.txt")).len();
    assert_eq!(desk.read("o.partial-2.csv").lines().count(), rows + 1);
    assert_eq!(json(&desk, "s.partial.json")["result"]["complete"], serde_json::json!(false));
    // A run that comes to its end replaces them.
    desk.ran("herd d.csv -n 5 -q -o o.csv --json s.json");
    assert_eq!(
        (desk.read("o.csv").lines().count(), json(&desk, "s.json")["result"]["count"].as_u64()),
        (6, Some(5))
    );
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_fails_costs_no_other() {
    let desk = desk_with(300);
    // A device that is always full stands for the disk.
    for flag in ["--trace", "--json", "--report"] {
        let Output { status, stderr, .. } =
            desk.run(&format!("herd d.csv -n 30 {flag} /dev/full --indices i.txt -o o.csv"));
        let text = String::from_utf8(stderr).unwrap();
        assert_eq!(status.code(), Some(2), "{text}");
        assert!(text.starts_with("chose 30 of 300 rows"), "{text}");
        assert!(
            text.ends_with(
                "supersample: /dev/full cannot be written: No space left on device (os error 28); still written: \
                 o.csv (the rows), i.txt\n"
            ),
            "{text}"
        );
        assert_eq!((desk.read("o.csv").lines().count(), numbers(&desk.read("i.txt")).len()), (31, 30));
        assert_eq!(desk.files(), ["d.csv", "i.txt", "o.csv"]);
        fs::remove_file(desk.path("o.csv")).unwrap();
        fs::remove_file(desk.path("i.txt")).unwrap();
    }
    let message = desk.refused("d.csv -n 30 -q -o /dev/full --indices i.txt");
    assert_eq!(
        message,
        "/dev/full cannot be written: No space left on device (os error 28); still written: i.txt"
    );
    assert_eq!(numbers(&desk.read("i.txt")).len(), 30);
}

#[cfg(unix)]
#[test]
fn a_checkpoint_that_fails_does_not_end_the_run() {
    let desk = desk_with(600);
    fs::create_dir(desk.path("away")).unwrap();
    let child = spawn(&desk, &format!("{LONG} -q --checkpoint away/ck"));
    wait_for("the checkpoint", || desk.path("away/ck").exists());
    fs::remove_dir_all(desk.path("away")).unwrap();
    signal(&child, "-INT");
    let (code, text) = ended(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("supersample: away/ck cannot be written: "), "{text}");
    assert!(text.ends_with("still written: o.csv (the rows), i.txt, s.json\n"), "{text}");
    assert_eq!(desk.read("o.csv").lines().count(), numbers(&desk.read("i.txt")).len() + 1);
}

#[cfg(unix)]
#[test]
fn an_input_that_changes_costs_only_the_rows() {
    let desk = desk_with(600);
    let child = spawn(&desk, &format!("{LONG} -q --checkpoint ck"));
    wait_for("the checkpoint", || desk.path("ck").exists());
    desk.write("d.csv", posterior(500));
    signal(&child, "-INT");
    let (code, text) = ended(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.starts_with("supersample: o.csv cannot be written: d.csv"), "{text}");
    assert!(text.ends_with("; still written: i.txt, s.json\n"), "{text}");
    assert!(!desk.path("o.csv").exists());
    assert_eq!(
        json(&desk, "s.json")["result"]["rows"].as_array().unwrap().len(),
        numbers(&desk.read("i.txt")).len()
    );
}

#[test]
fn what_goes_to_stdout_goes_there_alone() {
    let desk = desk_with(300);
    let (stdout, _) = desk.ran("herd d.csv -n 3 -q -o o.csv --json -");
    let report: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(report["result"]["count"].as_u64(), Some(3));
    let (stdout, _) = desk.ran("eval d.csv o.csv -q --json -");
    let report: serde_json::Value = serde_json::from_slice(&stdout).unwrap();
    assert_eq!(report["verb"].as_str(), Some("eval"));
    let (stdout, _) = desk.ran("herd d.csv -n 3 -q -o o.csv --indices -");
    assert_eq!(numbers(&String::from_utf8(stdout).unwrap()).len(), 3);
    let (stdout, _) = desk.ran("herd d.csv -n 3 -q -o o.csv --report /dev/stdout");
    assert!(stdout.starts_with(b"<!"));
    for flags in ["--json -", "--json /dev/stdout", "-o - --json -", "-o /dev/stdout --json /dev/fd/1"] {
        assert_eq!(
            desk.refused(&format!("d.csv -n 3 {flags}")),
            "the rows and --json would both go to stdout; name -o FILE for one of them"
        );
    }
    assert_eq!(
        desk.refused("d.csv -n 3 -o o.csv --json - --trace -"),
        "--trace and --json would both go to stdout; name a file for one of them"
    );
    assert_eq!(desk.refused("d.csv -n 3 --checkpoint -"), "--checkpoint cannot go to stdout; name a file");
}

#[test]
fn names_that_promise_something_else_are_refused() {
    let desk = desk_with(30);
    for name in ["x.xlsx", "x.json", "x.H5", "x.csv.xz"] {
        let message = desk.refused(&format!("d.csv -n 3 -o {name}"));
        assert!(message.contains("the endings are .csv, .tsv"), "{message}");
    }
    for name in ["plain", "x.draws"] {
        desk.ran(&format!("herd d.csv -n 3 -q -o {name}"));
        assert!(desk.read(name).starts_with("mu,tau"));
    }
    assert_eq!(
        desk.refused("none.csv -n 3 -o nodir/"),
        "nodir/ cannot be written: this is the name of a directory; name a file in it"
    );
    desk.write("inc", "3\n");
    let Output { status, stderr, .. } =
        desk.run("thin d.csv -n 3 --include-rows @inc --indices ./inc -o o.csv");
    assert_eq!(status.code(), Some(2));
    assert!(String::from_utf8(stderr).unwrap().contains("--indices and the input are the same file"));
    assert_eq!(desk.read("inc"), "3\n");
}

#[cfg(target_os = "linux")]
#[test]
fn folders_links_and_a_closed_stdout() {
    let desk = desk_with(30);
    // Nobody makes files there, not even the administrator.
    assert_eq!(
        desk.refused("d.csv -n 3 -o /sys/o.csv"),
        "/sys/o.csv cannot be written: no file can be made in /sys: permission denied"
    );
    std::os::unix::fs::symlink("target.csv", desk.path("link.csv")).unwrap();
    desk.ran("herd d.csv -n 3 -q -o link.csv");
    assert!(fs::symlink_metadata(desk.path("link.csv")).unwrap().is_symlink());
    assert_eq!(desk.read("target.csv").lines().count(), 4);

    let shell = |words: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("\"$0\" herd d.csv -n 3 -q {words}")]).arg(cargo_bin!("supersample"));
        let Output { status, stderr, .. } = output(command.current_dir(desk.folder()));
        (status.code(), String::from_utf8(stderr).unwrap())
    };
    // Both look the same to the program: Python opens /dev/null for reading and writing.
    for closed in [">&-", "1<>/dev/null"] {
        let (code, text) = shell(closed);
        assert_eq!(code, Some(0), "{text}");
        assert!(text.starts_with("warning: stdout is closed or /dev/null, so the rows are lost; "), "{text}");
    }
    assert_eq!(shell("> /dev/null"), (Some(0), String::new()));
    assert_eq!(shell("-o o.csv >&-"), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn what_a_killed_run_leaves_is_gone_after_the_next() {
    let desk = desk_with(600);
    let child = spawn(&desk, &format!("{LONG} -q --checkpoint ck"));
    wait_for("the checkpoint", || desk.path("ck").exists());
    // The files of a run that goes on are nobody else's to remove.
    let hidden = || desk.files().into_iter().filter(|name| name.starts_with('.')).collect::<Vec<_>>();
    let unfinished = hidden();
    assert!(unfinished.len() >= 3, "{unfinished:?}");
    desk.ran("herd d.csv -n 5 -q -o other.csv");
    let left = hidden();
    assert!(unfinished.iter().filter(|name| left.contains(name)).count() >= 3, "{unfinished:?} {left:?}");
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    let is_lock = |name: &String| name.starts_with(".supersample-lock-");
    assert!(hidden().iter().any(is_lock) && !hidden().iter().all(is_lock));
    desk.ran("herd d.csv -n 5 -q --checkpoint ck -o o.csv");
    assert_eq!(desk.files(), ["ck", "d.csv", "o.csv", "other.csv"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_stdin_is_read_leaves_nothing() {
    let desk = Desk::new();
    fs::create_dir(desk.path("temporary")).unwrap();
    let mut command = Command::new(cargo_bin!("supersample"));
    command.args(["herd", "-", "-n", "3", "-o", "o.csv"]).current_dir(desk.folder());
    command.env("TMPDIR", desk.path("temporary"));
    let mut child = Running::start(command.stdin(Stdio::piped()).stderr(Stdio::piped()));
    // More than a pipe holds, so that it has been read when this returns; and the end never comes.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(posterior(60_000).as_bytes()).unwrap();
    signal(&child, "-INT");
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "supersample: interrupted; nothing was written\n");
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(desk.path("temporary")).unwrap().count(), 0);
    assert_eq!(desk.files(), ["temporary"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_weights_are_found_gives_the_rows_without() {
    let desk = desk_with(4000);
    let words = "herd d.csv -n 4000 --unique --weights simplex -o o.csv --indices i.txt --json s.json --checkpoint \
                 ck";
    let child = spawn(&desk, words);
    // Once all rows are herded they are all in the checkpoint, after μ.
    let is_herded = |about: fs::Metadata| about.len() > 8 * (4000 + 4000);
    wait_for("the search for weights", || fs::metadata(desk.path("ck")).is_ok_and(is_herded));
    signal(&child, "-INT");
    let (code, text) = ended(child);
    assert_eq!(code, Some(130), "{text}");
    assert!(text.contains("interrupted before the weights were computed, so they are equal"), "{text}");
    assert_eq!((numbers(&desk.read("i.txt")).len(), desk.read("o.csv").lines().count()), (4000, 4001));
    assert!(!desk.read("o.csv").lines().next().unwrap().contains("weight"));
    let report = json(&desk, "s.json");
    assert_eq!(
        (&report["result"]["complete"], &report["result"]["weights"]),
        (&serde_json::json!(false), &serde_json::Value::Null)
    );
}

#[cfg(unix)]
#[test]
fn after_an_interrupt_nothing_is_compared_any_more() {
    let desk = desk_with(3000);
    let child = spawn(&desk, "thin d.csv -n 60 --search 100000000 -o o.csv --json s.json --checkpoint ck");
    // Once all rows are herded they are all in the checkpoint, after μ.
    let is_herded = |about: fs::Metadata| about.len() > 8 * (3000 + 60);
    wait_for("the search", || fs::metadata(desk.path("ck")).is_ok_and(is_herded));
    signal(&child, "-INT");
    let (code, text) = ended(child);
    assert_eq!(code, Some(130), "{text}");
    assert!(
        text.contains("no comparison with random or evenly spaced rows: the run was interrupted"),
        "{text}"
    );
    let report = json(&desk, "s.json");
    assert_eq!(report["random"], serde_json::Value::Null);
    assert!(report["result"]["mmd"].as_f64().unwrap() > 0.0);
}

#[test]
fn rows_numbers_and_weights_are_sorted_together() {
    let desk = desk_with(300);
    let words = "herd d.csv -n 30 --unique --weights simplex -q";
    desk.ran(&format!("{words} -o a.csv --indices a.txt"));
    desk.ran(&format!("{words} --sorted -o b.csv --indices b.txt --trace b.t"));
    let (chosen, sorted) = (numbers(&desk.read("a.txt")), numbers(&desk.read("b.txt")));
    assert!(!chosen.is_sorted() && sorted.is_sorted());
    let by_row = |rows: &[usize], name: &str| {
        let text = desk.read(name);
        let lines: Vec<Vec<String>> =
            text.lines().skip(1).map(|line| line.split(',').map(str::to_string).collect()).collect();
        let mut found: Vec<_> = rows.iter().copied().zip(lines).collect();
        found.sort_by_key(|(row, _)| *row);
        found
    };
    for ((row, line), (other_row, other)) in by_row(&chosen, "a.csv").iter().zip(by_row(&sorted, "b.csv")) {
        let (weight, numbers) = line.split_last().unwrap();
        let (other_weight, other_numbers) = other.split_last().unwrap();
        assert_eq!((*row, numbers), (other_row, other_numbers));
        // The order of the sums differs.
        let value = |text: &str| text.parse::<f64>().unwrap();
        assert!((value(weight) - value(other_weight)).abs() < 1e-6, "{row}: {weight}, {other_weight}");
    }
    // The trace stays the story of the choice.
    let first = desk.read("b.t").lines().nth(1).unwrap().split(',').nth(1).unwrap().to_string();
    assert_eq!(first, chosen[0].to_string());
}

#[test]
fn the_phases_are_timed_on_request() {
    let desk = desk_with(60);
    let (_, text) = desk.ran("thin d.csv -n 5 --timing -o o.csv");
    let last = text.lines().last().unwrap();
    let phases: Vec<&str> = last.split(", ").map(|phase| phase.split(' ').next().unwrap()).collect();
    assert_eq!(phases, ["read", "compared", "chose", "evaluated", "wrote"], "{last}");
    let (_, text) = desk.ran("thin d.csv -n 5 -o o.csv");
    assert!(!text.contains("compared"), "{text}");
}

/// The most memory that a run has taken when its rows begin to come, in bytes, and its estimate.
#[cfg(target_os = "linux")]
fn memory_of(desk: &Desk, words: &str) -> (f64, f64) {
    let mut child = spawn(desk, words);
    // More rows than a pipe holds come to stdout, so that the process waits for us with all of its work done.
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0]).unwrap();
    let peak = status_of(&child, "VmHWM").expect("the run waits for its reader");
    stdout.read_to_end(&mut Vec::new()).unwrap();
    let (code, text) = ended(child);
    assert_eq!(code, Some(0), "{text}");
    let needed = text.strip_prefix("the run needs about ").and_then(|text| text.split(" MiB").next());
    let peak = peak.trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0;
    (peak, needed.unwrap_or_else(|| panic!("{text}")).parse().unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn runs_stay_within_their_memory() {
    let desk = desk_with(20_000);
    desk.write("few.csv", posterior(300));
    let (peak, needed) = memory_of(&desk, "herd few.csv -n 3000 --max-memory 4G");
    assert!(peak <= needed && needed <= 2.0 * peak, "{needed} MiB were promised, {peak} were taken");
    // A matrix of the weights: refused where there is no room for it, counted where there is.
    assert!(
        desk.refused("d.csv -n 1500 --unique --weights simplex --max-memory 40M")
            .contains("the run needs about")
    );
    let (peak, needed) = memory_of(&desk, "herd d.csv -n 1500 --unique --weights simplex --max-memory 4G");
    assert!(peak <= needed && needed <= 2.5 * peak, "{needed} MiB were promised, {peak} were taken");
    // The kernel rows that are kept: fewer where there is less room, and the same rows.
    let words = "thin d.csv -n 1000 --search 0 --indices";
    let (peak, needed) = memory_of(&desk, &format!("{words} a.txt --max-memory 4G"));
    // The estimate is printed to three digits.
    assert!(peak <= 1.005 * needed && needed > 80.0, "{needed} MiB were promised, {peak} were taken");
    let (peak, needed) = memory_of(&desk, &format!("{words} b.txt --max-memory 60M"));
    assert!(peak <= 60.0 && needed <= 60.0, "{needed} MiB were promised, {peak} were taken");
    assert_eq!(desk.read("a.txt"), desk.read("b.txt"));
    // A record batch of 48 MB is read at once; its rows as numbers are no second copy of it.
    let column = |step: f64| Column::doubles((0..1_200_000).map(|i| (f64::from(i) * step).sin()));
    let columns = (1..6).map(|i| (format!("x{i}"), column(0.1 * f64::from(i)))).collect();
    let mut bytes = Vec::new();
    Frame { columns }.write_as(OutputFormat::plain(Format::Arrow), &mut bytes).unwrap();
    desk.write("d.arrow", bytes);
    let (peak, needed) = memory_of(&desk, "herd d.arrow -n 1000 --max-memory 140M");
    assert!(peak <= 1.15 * needed && needed <= 140.0, "{needed} MiB were promised, {peak} were taken");
}

/// A call of the system for each number of the chosen rows would take longer than to choose them.
#[cfg(target_os = "linux")]
#[test]
fn chosen_rows_of_a_wide_array_are_read_by_row() {
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    let desk = Desk::new();
    let wide: String = (0..60)
        .map(|row| {
            (0..300).map(|column| format!("{}", (row * column) % 97)).collect::<Vec<_>>().join(",") + "\n"
        })
        .collect();
    let names: Vec<String> = (0..300).map(|column| format!("c{column}")).collect();
    desk.write("wide.csv", names.join(",") + "\n" + &wide);
    desk.ran("herd wide.csv -n 60 --unique --sorted -q -o wide.npy");
    for out in ["o.npy", "o.csv"] {
        let mut traced = Command::new("strace");
        traced.args(["-f", "-qq", "-e", "trace=pread64", "-o", "calls"]).arg(cargo_bin("supersample"));
        traced.args(["herd", "wide.npy", "-n", "40", "-q", "-o", out]).current_dir(desk.folder());
        if !is_there || !output(&mut traced).status.success() {
            return skipped("strace", "there is no strace that may look at processes");
        }
        let calls = desk.read("calls").lines().count();
        assert!(calls < 1000, "{out}: {calls} calls for 40 rows of 300 numbers");
    }
}

/// A power cut cannot be had in a test; what the system is asked for, in which order, can be seen.
#[cfg(target_os = "linux")]
#[test]
fn contents_are_on_the_disk_before_their_name_is() {
    let desk = desk_with(60);
    let command = cargo_bin("supersample");
    let words = "herd d.csv -n 5 -q -o o.csv --json s.json --checkpoint ck";
    let mut traced = Command::new("strace");
    traced
        .args(["-f", "-y", "-e", "trace=fsync,rename,renameat,renameat2,linkat", "-o", "calls"])
        .arg(command)
        .args(words.split(' '))
        .current_dir(desk.folder());
    let is_there = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !is_there || !output(&mut traced).status.success() {
        return skipped("strace", "there is no strace that may look at processes");
    }
    let calls = desk.read("calls");
    let calls: Vec<&str> = calls.lines().collect();
    for name in ["o.csv", "s.json", "ck"] {
        let ends = format!("/{name}\"");
        let renames = (1..calls.len()).filter(|&i| calls[i].contains("rename") && calls[i].contains(&ends));
        let mut count = 0;
        for i in renames {
            // fsync(8</folder/.supersample-x>), then rename("/folder/.supersample-x", "/folder/o.csv"), then fsync(8</folder>).
            let temporary = calls[i - 1].split(['<', '>']).nth(1).unwrap();
            let is_synced = calls[i - 1].contains("fsync(") && calls[i].contains(&format!("\"{temporary}\""));
            assert!(is_synced && calls[i + 1].contains("fsync("), "{calls:#?}");
            count += 1;
        }
        assert!(count > 0, "{name}: {calls:#?}");
    }
}
