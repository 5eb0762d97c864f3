//! What people read, letter by letter: the help, the tables, the JSON and the complaints. `SNAPSHOTS=write cargo test`
//! writes them anew.

use std::fs;
use std::path::Path;

use crate::desk::Desk;

/// Compares with the file of this name, or writes it where that is asked for.
#[track_caller]
fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots").join(name);
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "write") {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} differs; it is now\n{text}\nwrite it with SNAPSHOTS=write cargo test");
}

/// Numbers to four digits and without the machine, since the last digits differ between instruction sets.
fn settled(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        // The value of a key, or an entry of a list, which has nothing but spaces before it.
        let start = line.find(": ").map_or(line.len() - line.trim_start().len(), |at| at + 2);
        let (head, tail) = line.split_at(start);
        let number = tail.trim_end_matches(',');
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') => {
                out += &format!("{head}{value:.3e}{}\n", if tail.ends_with(',') { "," } else { "" });
            }
            _ if line.contains("\"version\"") => out += "  \"version\": …,\n",
            _ if line.contains("\"instruction_set\"") => out += "  \"instruction_set\": …,\n",
            _ => out += &format!("{line}\n"),
        }
    }
    out
}

#[test]
fn help() {
    let desk = Desk::new();
    for words in ["", "herd", "thin", "stream", "sample", "eval", "info"] {
        let name = if words.is_empty() { "supersample" } else { words };
        for (flag, length) in [("--help", ""), ("-h", "_short")] {
            let (text, _) = desk.ran(format!("{words} {flag}").trim());
            snapshot(&format!("help_{name}{length}.txt"), &String::from_utf8(text).unwrap());
        }
    }
}

#[test]
fn tables_and_json() {
    let desk = Desk::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/eight_schools.csv");
    fs::copy(example, desk.path("eight_schools.csv")).unwrap();
    desk.write("m.toml", "[[component]]\nweight = 1\nmean = [0, 0]\ncovariance = [[1, 0], [0, 1]]\n");
    for (name, words) in [
        ("herd", "herd eight_schools.csv -n 100 -o chosen.csv --json s.json"),
        (
            "herd_unique_pca",
            "herd eight_schools.csv -n 10 --unique --scale pca --kernel imq -o o.csv --json s.json",
        ),
        ("thin", "thin eight_schools.csv -n 100 -o o.csv --json s.json"),
        ("thin_tol", "thin eight_schools.csv --tol 0.1 -o o.csv --json s.json"),
        (
            "thin_weights",
            "thin eight_schools.csv -n 20 --weights simplex --stratify chain --include-rows 3,7 --exclude-rows 10-19 -o o.csv \
             --json s.json",
        ),
        ("thin_functions", "thin eight_schools.csv -n 50 --functions theta.7,theta.8 -o o.csv --json s.json"),
        ("herd_signed", "herd eight_schools.csv -n 20 --weights signed -o o.csv --json s.json"),
        (
            "sample_polish",
            "sample m.toml -n 16 --bandwidth 1 --polish --weights simplex -o p.csv --json s.json",
        ),
        ("sample", "sample m.toml -n 16 --bandwidth 1 -o p.csv --json s.json"),
        ("eval", "eval eight_schools.csv chosen.csv --json s.json"),
    ] {
        let (_, table) = desk.ran(words);
        snapshot(&format!("{name}.txt"), &table);
        snapshot(&format!("{name}.json"), &settled(&desk.read("s.json")));
    }
}

#[test]
fn info() {
    let desk = Desk::with_draws();
    desk.write("holes.csv", "a,b,flat,weight,name\n1,2,5,1,x\n,3,5,1,y\n4,7,5,1,z\n");
    let mut text = String::new();
    for words in ["draws.csv", "holes.csv", "holes.csv --drop-na --weight-column weight --exclude b"] {
        let (told, _) = desk.ran(&format!("info {words} --threads 2"));
        text += &format!("$ supersample info {words}\n");
        text += &String::from_utf8(told).unwrap();
        text += "\n";
    }
    snapshot("info.txt", &text);
    let (told, _) = desk.ran("info holes.csv --threads 2 --json -");
    snapshot("info.json", &settled(&String::from_utf8(told).unwrap()));
}

#[test]
fn complaints() {
    let desk = Desk::with_draws();
    desk.write("empty.csv", "");
    desk.write("header.csv", "a,b\n");
    desk.write("nan.csv", format!("mu,tau\n{}1,NaN\n", "1,2\n".repeat(811)));
    desk.write("ragged.csv", "a,b\n1,2\n3\n");
    desk.write("quote.csv", "a,b\n1,\"2\n3,4\n");
    desk.write("latin.csv", b"a\n\xe9\n");
    desk.write("numbers.csv", "0.5,0.25\n1,2\n");
    desk.write("twice.csv", "a,a\n1,2\n");
    desk.write("ids.csv", "chain,draw\n1,2\n");
    desk.write("words.csv", "a\nx\n");
    desk.write("bad.npy", b"\x93NUMPY\x01\x00\x10\x00");
    desk.write("bad.npz", b"PK\x03\x04");
    desk.write("bad.parquet", b"PAR1PAR1");
    desk.write("bad.arrow", b"ARROW1\0\0");
    desk.write("m.toml", "[[component]]\nweight = 1\nmean = [0]\n");
    desk.write("logs.csv", "mu,none,nan,inf\n1,-inf,0,0\n2,-inf,nan,inf\n");
    desk.write("rows.csv", "row\n3\n99\n");
    let mut text = String::new();
    for words in [
        "herd none.csv -n 1",
        "herd . -n 1",
        "herd empty.csv -n 1",
        "herd header.csv -n 1",
        "herd nan.csv -n 1",
        "herd ragged.csv -n 1",
        "herd quote.csv -n 1",
        "herd latin.csv -n 1",
        "herd numbers.csv -n 1",
        "herd twice.csv -n 1",
        "herd ids.csv -n 1",
        "herd words.csv -n 1",
        "herd bad.npy -n 1",
        "herd bad.npz -n 1",
        "herd bad.parquet -n 1",
        "herd bad.arrow -n 1",
        "herd draws.csv -n 1 --columns *te",
        "herd draws.csv -n 1 --columns nope",
        "herd draws.csv ragged.csv -n 1 --columns mu",
        "herd draws.csv header.csv -n 1 --columns mu",
        "herd draws.csv -n 0 --columns mu",
        "herd draws.csv --columns mu",
        "herd draws.csv -n 1 --columns mu --tol -1",
        "herd draws.csv -n 1 --columns mu --tol 2%",
        "herd draws.csv -n 1 --columns mu --equivalent-draws 0",
        "herd draws.csv -n 1 --columns mu --shape rows",
        "herd draws.csv -n 1 --columns mu --shape chains",
        "herd draws.csv -n 1 --columns mu --scale robust",
        "herd draws.csv -n 1 --columns mu --kernel cosine",
        "herd draws.csv -n 1 --columns mu --bandwidth 0",
        "herd draws.csv -n 1 --columns mu --bandwidth 1e300",
        "herd draws.csv -n 1 --columns mu --kernel linear --bandwidth 1",
        "herd draws.csv -n 1 --columns mu --separator ab",
        "herd draws.csv -n 1 --columns mu --format xls",
        "herd draws.csv -n 1 --columns mu --max-memory much",
        "herd draws.csv -n 1 --columns mu --max-memory 1K",
        "herd draws.csv -n 1 --columns mu --warmup",
        "herd draws.csv -n 1 --columns mu --weight-column mu",
        "herd draws.csv -n 1 --columns mu --weight-column lp__",
        "herd logs.csv -n 1 --columns mu --log-weight-column none",
        "herd logs.csv -n 1 --columns mu --log-weight-column nan",
        "herd logs.csv -n 1 --columns mu --log-weight-column inf",
        "herd logs.csv -n 1 --columns mu --weight-column none",
        "herd draws.csv -n 1 --columns mu -o draws.csv",
        "herd draws.csv -n 1 --columns mu -o nowhere/o.csv",
        "herd draws.csv -n 1 --columns mu -o o.npz.gz",
        "herd draws.csv -n 1 --columns mu --trace -",
        "herd draws.csv -n 1 --columns mu --resume none",
        "herd draws.csv -n 1 --columns mu --resume draws.csv",
        "herd - - -n 1",
        "thin draws.csv -n 3 --columns mu --stratify nope",
        "thin draws.csv -n 3 --columns tau --stratify mu",
        "thin draws.csv --tol 0.1 --columns tau --stratify mu",
        "thin draws.csv -n 3 --columns mu --quota a=1",
        "thin draws.csv --columns mu --stratify chain --quota 0=1,7=2",
        "thin draws.csv --columns mu --stratify chain --quota 0=31",
        "thin draws.csv -n 9 --columns mu --stratify chain --quota 0=1,1=2",
        "thin draws.csv --tol 0.1 --columns mu --stratify chain --quota 0=1,1=2",
        "thin draws.csv --columns mu --stratify chain --quota 0=one",
        "thin draws.csv --columns mu --stratify chain --quota 1=2 --include-rows 0",
        "thin draws.csv --columns mu --stratify .chain --quota 0=2,0=3",
        "thin draws.csv -n 3 --columns mu --include-rows 60",
        "thin draws.csv -n 3 --columns mu --exclude-rows 5-4",
        "thin draws.csv -n 3 --columns mu --exclude-rows @none.txt",
        "thin draws.csv -n 3 --columns mu --exclude-rows @header.csv",
        "thin draws.csv -n 3 --columns mu --include-rows 0-9",
        "thin draws.csv -n 3 --columns mu --include-rows 0-2 --exclude-rows 2",
        "thin draws.csv -n 30 --columns mu --exclude-rows 0-49",
        "thin draws.csv -n 3 --columns mu --weights best",
        "thin draws.csv -n 6000 --columns mu --weights signed",
        "herd draws.csv -n 3 --columns mu --weights signed -o o.npy",
        "sample m.toml -n 1",
        "sample none.toml -n 1",
        "sample m.toml --tol 0.1",
        "sample m.toml -n 1 --climbs 0",
        "eval draws.csv",
        "eval draws.csv nan.csv --columns mu,tau",
        "eval draws.csv words.csv --columns mu",
        "eval draws.csv rows.csv --columns mu --index-column row",
        "eval draws.csv rows.csv --columns mu",
        "info none.csv",
        "info ragged.csv",
        "frobnicate",
    ] {
        let output = desk.run(words);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{words}");
        text += &format!("$ supersample {words}\n{}\n", String::from_utf8(output.stderr).unwrap());
    }
    snapshot("complaints.txt", &text);
}
