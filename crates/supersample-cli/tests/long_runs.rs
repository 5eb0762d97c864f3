//! Runs that are stopped, killed, continued, or that find no room.

use std::fs;
use std::process::Command;
use std::time::Duration;

use crate::desk::{Desk, json, numbers, output, posterior, signal, skipped, spawn, wait_for};

#[test]
fn a_run_goes_on_from_its_checkpoint_to_the_same_rows() {
    let desk = Desk::new();
    // Enough rows for single precision, so that both paths through the precisions are the same.
    desk.write("d.csv", posterior(17_000));
    desk.ran("herd d.csv -n 60 -q --indices whole.txt -o whole.csv --trace whole.t");
    desk.ran("herd d.csv -n 20 -q --checkpoint ck -o part.csv");
    desk.ran("herd d.csv -n 60 -q --resume ck --checkpoint ck --indices i.txt -o o.csv --trace t.t");
    assert_eq!(desk.read("i.txt"), desk.read("whole.txt"));
    assert_eq!((desk.read("o.csv"), desk.read("t.t")), (desk.read("whole.csv"), desk.read("whole.t")));
    // Fewer than are kept: a prefix.
    desk.ran("herd d.csv -n 7 -q --resume ck --indices i.txt -o o.csv");
    assert!(desk.read("whole.txt").starts_with(&desk.read("i.txt")));
    for other in ["--unique", "--bandwidth 2", "--scale none", "--kernel imq", "--columns mu,tau"] {
        let message = desk.refused(&format!("d.csv -n 60 --resume ck {other}"));
        assert!(
            message.starts_with("ck: the checkpoint belongs to other data, another kernel or other options"),
            "{message}"
        );
    }
    desk.write("other.csv", posterior(17_001));
    assert!(desk.refused("other.csv -n 60 --resume ck").contains("belongs to other data"));
    desk.write("half", &fs::read(desk.path("ck")).unwrap()[..100]);
    assert_eq!(
        desk.refused("d.csv -n 60 --resume half"),
        "half: this is not a complete checkpoint; start again without --resume"
    );
    assert!(desk.refused("d.csv -n 60 --resume none").starts_with("none: the checkpoint cannot be read"));
    assert!(!desk.files().iter().any(|name| name.starts_with(".supersample")));
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_writes_its_prefix_and_says_so() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    // So many rows that it cannot be over before the signal comes; the checkpoint shows that choosing has begun.
    let child = spawn(&desk, "herd d.csv -n 3000000 -o o.csv --indices i.txt --checkpoint ck --json s.json");
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(Duration::from_millis(300));
    // A second run on the same checkpoint is turned away meanwhile.
    assert_eq!(
        desk.refused("d.csv -n 5 --checkpoint ck"),
        "ck: another run is using this checkpoint; wait for it, or name another file"
    );
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let rows = numbers(&desk.read("i.txt"));
    assert!(!rows.is_empty() && rows.len() < 3_000_000);
    assert!(text.contains("interrupted: these are the first "), "{text}");
    let report = json(&desk, "s.json");
    assert_eq!(
        (&report["result"]["complete"], report["result"]["ended_by"].as_str()),
        (&serde_json::json!(false), Some("interrupt"))
    );
    // And it goes on to the rows of an unbroken run.
    let more = rows.len() + 10;
    desk.ran(&format!("herd d.csv -n {more} -q --resume ck --indices j.txt -o o.csv"));
    desk.ran(&format!("herd d.csv -n {more} -q --indices k.txt -o o.csv"));
    assert_eq!(desk.read("j.txt"), desk.read("k.txt"));
    assert!(desk.read("j.txt").starts_with(&desk.read("i.txt")));
}

/// A shell's background jobs ignore Ctrl-C, and so do the tests among them; the processes that they start must not.
#[cfg(target_os = "linux")]
#[test]
fn tests_of_signals_pass_where_signals_are_ignored() {
    let shell = "trap '' INT HUP TERM; exec \"$0\" --exact long_runs::an_interrupted_run_writes_its_prefix_and_says_so";
    let again = output(Command::new("sh").args(["-c", shell]).arg(std::env::current_exe().unwrap()));
    let text = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && text.contains("1 passed"), "{text}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_search_ends_with_the_best_set_so_far() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    // A search that would take days; herding and the first sweeps are over in a fraction of a second.
    let words = "thin d.csv -n 60 --search 100000000 -o o.csv --indices i.txt --checkpoint ck --json s.json";
    let child = spawn(&desk, words);
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(Duration::from_millis(2500));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(text.contains("\ninterrupted: these 60 rows are the best subset so far\n"), "{text}");
    let mut rows = numbers(&desk.read("i.txt"));
    rows.sort_unstable();
    rows.dedup();
    assert_eq!((rows.len(), desk.read("o.csv").lines().count()), (60, 61));
    let report = json(&desk, "s.json");
    assert_eq!(
        (&report["result"]["complete"], report["result"]["ended_by"].as_str()),
        (&serde_json::json!(false), Some("interrupt"))
    );
    // The search was under way: the set is better than herding and sweeps of no more than one moment would give.
    desk.ran("herd d.csv -n 60 --unique -q -o o.csv --json h.json");
    let mmd = |report: &serde_json::Value| report["result"]["mmd"].as_f64().unwrap();
    assert!(mmd(&report) < mmd(&json(&desk, "h.json")), "{text}");
    assert_eq!(desk.files(), ["ck", "d.csv", "h.json", "i.txt", "o.csv", "s.json"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_while_rows_are_compared_ends_at_once_and_leaves_nothing() {
    use std::io::{BufRead, BufReader, Read};
    let desk = Desk::new();
    desk.write("d.csv", posterior(150_000));
    for words in [
        "herd d.csv -n 5 -o o.csv --checkpoint ck --max-memory 9G --precision double --embedding exact",
        "thin d.csv -n 5 -o o.csv --report r.html --max-memory 9G --precision double --embedding exact",
    ] {
        let mut child = spawn(&desk, words);
        let mut words_of_it = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        // Said after the file is read and before its ten thousand million pairs are visited.
        words_of_it.read_line(&mut line).unwrap();
        assert!(line.starts_with("the run needs about "), "{line}");
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "-INT");
        let mut rest = String::new();
        words_of_it.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "supersample: interrupted; nothing was written\n");
        assert_eq!(child.wait().unwrap().code(), Some(130));
        assert_eq!(desk.files(), ["d.csv"], "{words}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_choice_within_constraints_writes_its_rows() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(30_000));
    let words = "thin d.csv -n 20000 --search 0 --exclude-rows 7 -o o.csv --indices i.txt --checkpoint ck";
    let child = spawn(&desk, words);
    wait_for("the checkpoint", || desk.path("ck").exists());
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-INT");
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let rows = numbers(&desk.read("i.txt"));
    assert!(!rows.is_empty() && rows.len() < 20_000 && !rows.contains(&7), "{text}");
    assert!(text.contains("are the best subset so far"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_killed_run_leaves_the_old_file() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(3000));
    desk.write("o.csv", "precious\n");
    let child = spawn(&desk, "herd d.csv -n 3000000 -q -o o.csv --checkpoint ck");
    wait_for("the checkpoint", || desk.path("ck").exists());
    signal(&child, "-KILL");
    child.wait_with_output().unwrap();
    assert_eq!(desk.read("o.csv"), "precious\n");
    // The lock of a dead run holds nobody up, and its checkpoint is whole.
    desk.ran("herd d.csv -n 5 -q --resume ck --checkpoint ck -o o.csv");
    assert_eq!(desk.read("o.csv").lines().count(), 6);
}

/// Kills the command while it writes, again and again: each time the file is the old one or the new one.
#[cfg(unix)]
#[test]
fn a_file_is_never_half_written() {
    let desk = Desk::new();
    desk.write("d.csv", "x,y\n1,2\n3,4\n5,7\n");
    desk.ran("herd d.csv -n 40000 -q -o whole.csv");
    let whole = desk.read("whole.csv");
    for delay in [0, 5, 10, 20, 40, 60, 90, 130] {
        desk.write("o.csv", "old\n");
        let mut child = spawn(&desk, "herd d.csv -n 40000 -q -o o.csv");
        std::thread::sleep(Duration::from_millis(delay));
        let _ = child.kill();
        child.wait().unwrap();
        let found = desk.read("o.csv");
        assert!(found == "old\n" || found == whole, "{} bytes after {delay} ms", found.len());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    fs::create_dir(desk.path("small")).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(desk.path("small"))
        .output();
    if !mount.is_ok_and(|output| output.status.success()) {
        return skipped("mount", "a tmpfs cannot be mounted here");
    }
    desk.write("small/o.csv", "precious\n");
    let message = desk.refused("d.csv -n 300 -q -o small/o.csv");
    let left = (desk.read("small/o.csv"), fs::read_dir(desk.path("small")).unwrap().count());
    assert!(Command::new("umount").arg(desk.path("small")).status().unwrap().success());
    assert!(
        message.ends_with("small/o.csv cannot be written: No space left on device (os error 28)"),
        "{message}"
    );
    assert_eq!(left, ("precious\n".to_string(), 1));
}

#[cfg(unix)]
#[test]
fn files_without_permission_are_named() {
    use std::os::unix::fs::PermissionsExt;
    let desk = Desk::new();
    desk.write("d.csv", posterior(20));
    let shut = |name: &str, mode: u32| {
        fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).unwrap()
    };
    desk.write("o.csv", "precious\n");
    shut("o.csv", 0o444);
    assert_eq!(desk.refused("d.csv -n 2 -o o.csv"), "o.csv cannot be written: it is read-only");
    shut("d.csv", 0o000);
    // The administrator may read everything, and containers often run as one.
    if fs::File::open(desk.path("d.csv")).is_ok() {
        skipped("user", "this user may read everything");
    } else {
        assert!(desk.refused("d.csv -n 2").starts_with("d.csv: the file cannot be read: Permission denied"));
    }
    shut("d.csv", 0o644);
}

#[test]
fn memory_is_estimated_and_limited() {
    let desk = Desk::new();
    desk.write("d.csv", posterior(300));
    let (_, summary) = desk.ran("herd d.csv -n 3 --max-memory 1G -o o.csv");
    assert!(summary.starts_with("the run needs about 28.1 MiB of memory\nchose 3 of 300 rows"), "{summary}");
    assert_eq!(
        desk.refused("d.csv -n 3 --max-memory 10M"),
        "the run needs about 28.1 MiB, and --max-memory allows 10.0 MiB; use fewer --columns, or allow more"
    );
    // The amount that a refusal names is enough, in memory and in batches.
    desk.write("wide.csv", posterior(4000));
    for words in ["thin wide.csv -n 1500 --search 0", "herd wide.csv -n 1000", "thin d.csv -n 5"] {
        let run = |limit: &str| desk.run(&format!("{words} -q -o o.csv --max-memory {limit}"));
        let refusal = String::from_utf8(run("3M").stderr).unwrap();
        let amount = refusal.split("needs about ").nth(1).and_then(|rest| rest.split(" MiB").next()).unwrap();
        let amount = format!("{}K", (amount.parse::<f64>().unwrap() * 1024.0).round());
        let again = run(&amount);
        assert!(again.status.success(), "{words} {amount}: {}", String::from_utf8_lossy(&again.stderr));
    }
}
