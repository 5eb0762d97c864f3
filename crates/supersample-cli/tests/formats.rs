//! Every format in and out through the command, the files of chains, and everything that can be wrong with a file.

use std::io::Write;
use std::process::{Command, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use supersample_io::{Column, Draws, Format, Frame, OutputFormat, Reading};

use crate::desk::{Desk, Running};

/// 40 rows of two parameters, an id and a text column, as a frame.
fn frame() -> Frame {
    let x = |i: usize| (i as f64 * 2.399_963).cos() * (1.0 + i as f64 / 40.0);
    let texts: Vec<Option<String>> = (0..40).map(|i| Some(format!("say \"{i}\", ok"))).collect();
    Frame {
        columns: vec![
            ("mu".to_string(), Column::doubles((0..40).map(x))),
            ("tau".to_string(), (0..40).map(|i| Some(x(i + 7) as f32)).collect::<Vec<_>>().into()),
            ("chain".to_string(), Column::integers((0..40).map(|i| 1 + i / 10))),
            ("note".to_string(), texts.into()),
        ],
    }
}

fn write(desk: &Desk, name: &str, frame: Frame) {
    let mut bytes = Vec::new();
    frame.write_as(OutputFormat::of_path(name.as_ref()).unwrap(), &mut bytes).unwrap();
    desk.write(name, bytes);
}

const ENDINGS: [&str; 7] = ["csv", "tsv", "csv.gz", "tsv.gz", "npz", "parquet", "arrow"];

#[test]
fn every_format_goes_to_every_format_with_the_same_rows() {
    let desk = Desk::new();
    let mut expected: Option<Vec<String>> = None;
    for from in ENDINGS {
        write(&desk, &format!("draws.{from}"), frame());
        for to in ENDINGS {
            desk.done(&format!("draws.{from} -n 9 --exclude note -q -o chosen.{to} --indices i.txt"));
            let indices: Vec<String> = desk.read("i.txt").lines().map(str::to_string).collect();
            // Single precision makes no difference to what is chosen here.
            assert_eq!(*expected.get_or_insert(indices.clone()), indices, "{from} to {to}");
            let reading = Reading {
                selection: supersample_io::Selection::Only(vec!["mu".into(), "tau".into()]),
                ..Reading::default()
            };
            let chosen = Draws::read(&[desk.path(&format!("chosen.{to}"))], &reading).unwrap();
            assert_eq!(chosen.names(), ["mu", "tau", "chain", "note", "draw", "row"], "{from} to {to}");
            let cells = chosen.frame(&(0..9).collect::<Vec<_>>()).unwrap();
            let original = frame();
            for (t, row) in indices.iter().map(|row| row.parse::<usize>().unwrap()).enumerate() {
                let [mu, tau, chain, note, draw, own] = &cells.columns[..] else { panic!("{from} to {to}") };
                assert_eq!(mu.1.number(t), original.columns[0].1.number(row), "{from} to {to}");
                assert!((tau.1.number(t).unwrap() - original.columns[1].1.number(row).unwrap()).abs() < 1e-7);
                assert_eq!(chain.1.number(t), Some((1 + row / 10) as f64), "{from} to {to}");
                assert_eq!((draw.1.number(t), own.1.number(t)), (Some((row + 1) as f64), Some(row as f64)));
                assert_eq!(note.1.text(t), format!("say \"{row}\", ok"), "{from} to {to}");
            }
        }
    }
}

#[test]
fn arrays_without_names_come_and_go_as_they_are() {
    let desk = Desk::new();
    let value = |i: usize, j: usize| ((i * 3 + j) as f64 * 0.7).sin();
    // (type, Fortran order): the same 20 × 3 numbers, written by hand as NumPy would.
    for (descr, fortran) in
        [("<f8", false), ("<f8", true), (">f8", false), ("<f4", false), ("<f4", true), (">f4", true)]
    {
        let mut header = format!(
            "{{'descr': '{descr}', 'fortran_order': {}, 'shape': (20, 3), }}",
            if fortran { "True" } else { "False" }
        );
        while (header.len() + 11) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        for at in 0..60 {
            let (i, j) = if fortran { (at % 20, at / 20) } else { (at / 3, at % 3) };
            match descr {
                "<f8" => bytes.extend(value(i, j).to_le_bytes()),
                ">f8" => bytes.extend(value(i, j).to_be_bytes()),
                "<f4" => bytes.extend((value(i, j) as f32).to_le_bytes()),
                _ => bytes.extend((value(i, j) as f32).to_be_bytes()),
            }
        }
        desk.write("draws.npy", bytes);
        desk.done("draws.npy -n 5 -q -o chosen.npy --indices i.txt");
        let rows: Vec<usize> = desk.read("i.txt").lines().map(|line| line.parse().unwrap()).collect();
        let chosen = Draws::read(&[desk.path("chosen.npy")], &Reading::default()).unwrap();
        let single = descr.ends_with('4');
        assert_eq!((chosen.len(), chosen.parameter_names()), (5, vec!["x1", "x2", "x3"]), "{descr}");
        for (row, values) in rows.iter().zip(chosen.values().chunks_exact(3)) {
            for (j, found) in values.iter().enumerate() {
                let wanted = if single { f64::from(value(*row, j) as f32) } else { value(*row, j) };
                assert_eq!(*found, wanted, "{descr} {fortran}");
            }
        }
        let raw = std::fs::read(desk.path("chosen.npy")).unwrap();
        assert_eq!(raw.len(), 128 + 15 * if single { 4 } else { 8 }, "{descr}");
        // With a name for each column they become a table.
        desk.done("draws.npy -n 5 -q -o chosen.csv");
        assert!(desk.read("chosen.csv").starts_with("x1,x2,x3,chain,draw,row\n"));
    }
}

#[test]
fn an_array_of_chains_by_draws_by_parameters_keeps_its_chains() {
    let desk = Desk::new();
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    let header = format!("{:<117}\n", "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 1), }");
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    (0..6).for_each(|i| bytes.extend(f64::from(i).to_le_bytes()));
    desk.write("draws.npy", bytes);
    let (_, summary) = desk.done("draws.npy -n 6 --unique -o chosen.csv");
    assert!(summary.starts_with("chose 6 of 6 rows"), "{summary}");
    let text = desk.read("chosen.csv");
    for line in ["0.0,1,1,0", "2.0,1,3,2", "3.0,2,1,3", "5.0,2,3,5"] {
        assert!(text.contains(line), "{text}");
    }
}

/// A file as CmdStan writes it, by chain: `warmup` rows of it before the adaptation block.
fn stan_chain(id: usize, warmup: usize) -> String {
    let save = usize::from(warmup > 0);
    let mut text = format!(
        "# stan_version_major = 2\n# stan_version_minor = 36\n# model = m_model\n# method = sample (Default)\n#   sample\n\
         #     num_samples = 50\n#     num_warmup = {}\n#     save_warmup = {save}\n#     thin = 1 (Default)\n\
         #     algorithm = hmc (Default)\n#         metric = diag_e (Default)\n# id = {id}\n\
         lp__,accept_stat__,stepsize__,mu,theta.1.1,theta.1.2\n",
        if warmup > 0 { warmup } else { 1000 }
    );
    let row = |i: usize, shift: f64| {
        let x = (i as f64 * 2.4 + id as f64).sin() + shift;
        format!("-{}.5,0.9,0.7,{x},{},{}\n", i % 9, x * 2.0 + (i as f64).cos(), (i as f64 * 0.3).cos())
    };
    (0..warmup).for_each(|i| text += &row(i, 100.0));
    text += "# Adaptation terminated\n# Step size = 0.7\n# Diagonal elements of inverse mass matrix:\n# 1.1, 0.9, \
             1.0\n";
    (0..50).for_each(|i| text += &row(i, 0.0));
    text + "# \n#  Elapsed Time: 0.1 seconds (Warm-up)\n#                0.2 seconds (Sampling)\n# \n"
}

#[test]
fn four_cmdstan_chains_are_one_run() {
    let desk = Desk::new();
    (1..=4).for_each(|id| desk.write(&format!("out_{id}.csv"), stan_chain(id, 20)));
    let files = "out_1.csv out_2.csv out_3.csv out_4.csv";
    let (rows, summary) = desk.done(&format!("{files} -n 30 --indices i.txt"));
    assert!(
        summary.starts_with(
            "chose 30 of 200 rows in 4 files by 3 parameters (mu, theta.1.1, theta.1.2; not used: lp__, \
             accept_stat__, stepsize__; 80 rows of warm-up left out)\n"
        ) || summary.starts_with("chose 30 of 200 rows ("),
        "{summary}"
    );
    let mut lines = rows.lines();
    assert_eq!(lines.next(), Some("lp__,accept_stat__,stepsize__,mu,theta.1.1,theta.1.2,chain,draw,row"));
    let mut chains = std::collections::HashSet::new();
    for (line, index) in lines.zip(desk.read("i.txt").lines()) {
        let cells: Vec<&str> = line.split(',').collect();
        let row: usize = index.parse().unwrap();
        assert_eq!(cells[6..], [(row / 50 + 1).to_string(), (row % 50 + 1).to_string(), row.to_string()]);
        assert!(cells[3].parse::<f64>().unwrap() < 50.0, "a warm-up row was chosen: {line}");
        chains.insert(row / 50);
    }
    assert_eq!(chains.len(), 4);
    // The whole vector by its name, and the warm-up rows on request.
    let (_, summary) = desk.done(&format!("{files} -n 3 --columns theta"));
    assert!(summary.contains(" by 2 parameters (theta.1.1, theta.1.2; "), "{summary}");
    let (_, summary) = desk.done(&format!("{files} -n 3 --warmup"));
    assert!(summary.starts_with("chose 3 of 280 rows"), "{summary}");
    assert_eq!(desk.files().len(), 5);
    desk.write("out_3.csv", stan_chain(3, 0).replace("theta.1.2", "theta.2.1"));
    assert_eq!(
        desk.refused(&format!("{files} -n 3")),
        "out_3.csv: the columns are not those of out_1.csv: 'theta.1.2' is missing; chains of one run have the same \
         columns"
    );
}

#[test]
fn warm_up_flags_without_effect_are_refused() {
    let desk = Desk::with_draws();
    assert_eq!(
        desk.refused("draws.csv -n 1 --columns mu --warmup"),
        "--warmup has no effect: the files do not mark warm-up rows; leave it out"
    );
    write(&desk, "d.npz", frame());
    assert!(desk.refused("d.npz -n 1 --exclude note --separator ;").contains("has no effect on npz files"));
}

#[test]
fn a_file_cut_in_a_row_is_refused_with_the_row() {
    let desk = Desk::new();
    let text = stan_chain(1, 0);
    let cut = text.rfind("-4.5").unwrap();
    desk.write("cut.csv", &text[..cut + 10]);
    let message = desk.refused("cut.csv -n 3");
    assert!(message.starts_with("cut.csv: row 50 (line 67) has "), "{message}");
    let end = text[cut..].find('\n').unwrap() + cut;
    desk.write("cut.csv", &text[..end - 3]);
    assert_eq!(
        desk.refused("cut.csv -n 3"),
        "cut.csv: the file ends in the middle of line 67, so the run that wrote it was stopped; delete that line to \
         use the rows above"
    );
    for ending in ["npz", "parquet", "arrow"] {
        write(&desk, &format!("whole.{ending}"), frame());
        let bytes = std::fs::read(desk.path(&format!("whole.{ending}"))).unwrap();
        desk.write(&format!("cut.{ending}"), &bytes[..bytes.len() * 2 / 3]);
        let message = desk.refused(&format!("cut.{ending} -n 1"));
        assert!(message.starts_with(&format!("cut.{ending}: ")), "{message}");
        assert!(message.contains("the file is not a valid"), "{message}");
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all("a,b\n1,2\n".repeat(9999).as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    desk.write("cut.csv.gz", &packed[..packed.len() / 2]);
    assert!(desk.refused("cut.csv.gz -n 1").starts_with("cut.csv.gz: the file cannot be read: "));
}

#[test]
fn a_missing_value_is_named_in_every_format() {
    let desk = Desk::new();
    for ending in ENDINGS.into_iter().chain(["nc"]) {
        let mut holed = frame();
        let cells: Vec<Option<f64>> =
            (0..40).map(|i| holed.columns[0].1.number(i).filter(|_| i != 11)).collect();
        holed.columns[0].1 = cells.into();
        write(&desk, &format!("holed.{ending}"), holed);
        let message = desk.refused(&format!("holed.{ending} -n 3 --exclude note"));
        assert!(message.starts_with(&format!("holed.{ending}: row 12")), "{message}");
        assert!(message.contains("column 'mu' is "), "{message}");
        desk.done(&format!("holed.{ending} -n 3 --exclude note,mu -q -o out.{ending}"));
    }
}

#[test]
fn content_decides_the_format_and_can_be_overruled() {
    let desk = Desk::new();
    write(&desk, "a.parquet", frame());
    std::fs::rename(desk.path("a.parquet"), desk.path("a.csv")).unwrap();
    desk.done("a.csv -n 3 --exclude note -q -o out.csv");
    assert!(desk.read("out.csv").starts_with("mu,tau,chain,note,draw,row\n"));
    assert!(desk.refused("a.csv -n 3 --format csv").starts_with("a.csv: "));
    desk.write("b.parquet", "x\n1\n2\n");
    assert!(desk.refused("b.parquet -n 1").contains("not a valid Parquet file"));
    desk.done("b.parquet -n 1 --format csv -q -o out.csv");
    desk.write("colon.txt", "a:b\n1:2\n3:5\n");
    desk.done("colon.txt -n 1 --separator : -q -o out.csv");
    assert!(desk.read("out.csv").starts_with("a:b:chain:draw:row\n"));
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let desk = Desk::with_draws();
    write(&desk, "d.parquet", frame());
    for (name, flags) in [("draws.csv", "--columns mu"), ("d.parquet", "--columns mu")] {
        let (expected, _) = desk.ran(&format!("herd {name} -n 5 -q {flags}"));
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("supersample"));
        command.current_dir(desk.folder()).args(format!("herd - -n 5 -q {flags}").split(' '));
        let mut child = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        child.stdin.take().unwrap().write_all(&std::fs::read(desk.path(name)).unwrap()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, expected, "{name}");
    }
    assert_eq!(desk.refused("- - -n 1"), "- is stdin, which can be read only once");
}

#[test]
fn rows_go_out_in_the_format_they_came_in() {
    let desk = Desk::new();
    for (ending, format) in
        [("parquet", Format::Parquet), ("arrow", Format::Arrow), ("npz", Format::Npz), ("nc", Format::NetCdf)]
    {
        write(&desk, &format!("d.{ending}"), frame());
        let (bytes, _) = desk.ran(&format!("herd d.{ending} -n 4 --columns mu -q"));
        desk.write("out", bytes);
        let out = Draws::read(
            &[desk.path("out")],
            &Reading { selection: supersample_io::Selection::Only(vec!["mu".into()]), ..Reading::default() },
        );
        assert_eq!(out.unwrap().format(), format);
    }
    desk.write("old.npy.gz", "x");
    assert!(desk.refused("d.npz -n 1 --columns mu -o new.npy.gz").contains("only text can be gzipped"));
}
