//! Files gone through in batches, against the same files read whole: every format, awkward sizes, weights, missing values.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use supersample::words::ColumnNote;
use supersample_io::{Column, Draws, Error, Format, Frame, Note, OutputFormat, Reading, Selection};

/// More rows than any reader takes at a time.
const ROWS: usize = 9001;

fn frame(missing: bool) -> Frame {
    let wave = |i: usize| (i as f64 * 0.37).sin();
    let cell = move |i: usize| if missing && i % 97 == 5 { None } else { Some(wave(i)) };
    Frame {
        columns: vec![
            ("iter".to_string(), Column::integers((0..ROWS).map(|i| i % 3001))),
            ("mu".to_string(), (0..ROWS).map(cell).collect::<Vec<_>>().into()),
            ("tau".to_string(), (0..ROWS).map(|i| Some(wave(i + 5) as f32)).collect::<Vec<_>>().into()),
            ("w".to_string(), Column::doubles((0..ROWS).map(|i| (i % 7) as f64))),
        ],
    }
}

const ENDINGS: [&str; 8] = ["csv", "tsv", "csv.gz", "csv.zst", "npy", "parquet", "arrow", "nc"];

fn written(folder: &Path, name: &str, frame: &Frame) -> PathBuf {
    let path = folder.join(name);
    let mut bytes = Vec::new();
    frame.clone().write_as(OutputFormat::of_path(&path).unwrap(), &mut bytes).unwrap();
    std::fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn single_precision_is_foreseen_in_tables() {
    let folder = tempfile::tempdir().unwrap();
    let of = |names: &[&str]| {
        let mut frame = frame(false);
        frame.columns[0].0 = "draw".to_string();
        frame.columns.retain(|(name, _)| names.contains(&name.as_str()));
        frame
    };
    for ending in ENDINGS {
        let is_single = |names: &[&str], reading: &Reading<'_>| {
            let path = written(folder.path(), &format!("d.{ending}"), &of(names));
            Draws::expected_size(&[path], reading).map(|size| size.is_single)
        };
        // Ids do not count, and text has no types.
        let expected = match ending {
            "parquet" | "arrow" | "nc" => Some(true),
            "csv.gz" | "csv.zst" => None,
            _ => Some(false),
        };
        assert_eq!(is_single(&["draw", "tau"], &Reading::default()), expected, "{ending}");
        assert_ne!(is_single(&["mu", "tau"], &Reading::default()), Some(true), "{ending}");
        if ending != "npy" {
            let weighted = Reading { weight_column: Some("w"), ..Reading::default() };
            assert_eq!(is_single(&["tau", "w"], &weighted), expected, "{ending}");
        }
    }
    // One file of double precision among them is enough.
    let single = written(folder.path(), "a.parquet", &of(&["tau"]));
    let mut doubles = of(&["mu"]);
    doubles.columns[0].0 = "tau".to_string();
    let double = written(folder.path(), "b.parquet", &doubles);
    let size = Draws::expected_size(&[single.clone(), single.clone()], &Reading::default()).unwrap();
    assert_eq!((size.rows, size.columns, size.is_single), (2 * ROWS, 1, true));
    assert!(!Draws::expected_size(&[single, double], &Reading::default()).unwrap().is_single);
}

/// Everything that came in batches, and how it came.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    values: Vec<f64>,
    functions: Vec<f64>,
    weights: Option<Vec<f64>>,
    sizes: Vec<usize>,
    fraction: f64,
}

impl Seen {
    fn see(&mut self, batch: &supersample_io::Batch<'_>) -> ControlFlow<()> {
        assert_eq!(batch.first_row, self.sizes.iter().sum::<usize>());
        assert!(
            batch.fraction >= self.fraction && batch.fraction <= 1.0,
            "{} {}",
            self.fraction,
            batch.fraction
        );
        self.fraction = batch.fraction;
        self.sizes.push(batch.len());
        self.values.extend_from_slice(batch.values);
        self.functions.extend_from_slice(batch.functions);
        if let Some(weights) = batch.weights {
            self.weights.get_or_insert_default().extend_from_slice(weights);
        }
        ControlFlow::Continue(())
    }
}

fn check(paths: &[PathBuf], reading: &Reading<'_>) -> Draws {
    let whole = Draws::read(paths, reading).unwrap();
    let name = paths[0].display();
    for rows in [7, 1000, ROWS, 1 << 20] {
        let mut first = Seen::default();
        let draws = Draws::in_batches(paths, reading, rows, &mut |batch| first.see(&batch)).unwrap();
        assert!(draws.values().is_empty());
        assert_eq!(first.values, whole.values(), "{name} {rows}");
        assert_eq!(first.functions, whole.functions(), "{name} {rows}");
        assert_eq!(first.weights.as_deref(), whole.weights(), "{name} {rows}");
        let (last, others) = first.sizes.split_last().unwrap();
        assert!(others.iter().all(|&size| size == rows) && *last <= rows && first.fraction == 1.0);
        let mut second = Seen::default();
        draws.again(reading, rows, &mut |batch| second.see(&batch)).unwrap();
        assert_eq!(first, second);
        // All else is known as after a reading of the whole.
        assert_eq!((draws.len(), draws.dim(), draws.chains()), (whole.len(), whole.dim(), whole.chains()));
        assert_eq!(
            (draws.parameter_names(), draws.unused_names()),
            (whole.parameter_names(), whole.unused_names())
        );
        assert_eq!((draws.notes(), draws.dropped_na()), (whole.notes(), whole.dropped_na()));
        let chosen = [whole.len() - 1, 0, 5, 6, whole.len() / 2];
        for row in chosen {
            assert_eq!(draws.row_number(row), whole.row_number(row));
            assert_eq!(draws.chain_and_draw(row), whole.chain_and_draw(row));
            assert_eq!(whole.row_of_number(whole.row_number(row)), Some(row));
        }
        let out = |draws: &Draws| {
            let mut out = Vec::new();
            draws.write_rows(&chosen, None, OutputFormat::plain(Format::Text), &mut out).unwrap();
            out
        };
        assert_eq!(out(&draws), out(&whole));
    }
    whole
}

#[test]
fn batches_of_every_format_are_the_whole_file() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = written(folder.path(), &format!("d.{ending}"), &frame(false));
        let whole = check(&[path.clone(), path.clone()], &Reading::default());
        assert_eq!((whole.len(), whole.dim()), (2 * ROWS, 4), "{ending}");
        // An .npy has no names.
        let weight = if ending == "npy" { "x4" } else { "w" };
        let only = Selection::Only(vec![whole.names()[2].clone(), whole.names()[0].clone()]);
        let reading = Reading { weight_column: Some(weight), selection: only, ..Reading::default() };
        assert_eq!(check(std::slice::from_ref(&path), &reading).dim(), 2, "{ending}");
        // Functions are apart, wherever their columns are.
        let functions = vec![whole.names()[0].clone(), whole.names()[2].clone()];
        let whole = check(&[path], &Reading { functions, ..Reading::default() });
        assert_eq!((whole.dim(), whole.functions().len()), (2, 2 * ROWS), "{ending}");
    }
}

#[test]
fn rows_with_missing_values_are_left_out_of_batches_too() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ENDINGS {
        let path = written(folder.path(), &format!("d.{ending}"), &frame(true));
        let reading = Reading { drop_na: true, ..Reading::default() };
        let whole = check(&[path.clone(), path.clone()], &reading);
        assert_eq!(whole.dropped_na(), 2 * (0..ROWS).filter(|i| i % 97 == 5).count());
        assert_eq!(
            (whole.row_number(4), whole.row_number(5), whole.row_of_number(5)),
            (4, 6, None),
            "{ending}"
        );
        let words = |error: Error| error.to_string();
        let all = Draws::read(&[&path], &Reading::default()).map(drop).map_err(words);
        let batches =
            Draws::in_batches(&[&path], &Reading::default(), 64, &mut |_| ControlFlow::Continue(()));
        assert!(all.is_err());
        assert_eq!(batches.map(drop).map_err(words), all, "{ending}");
    }
}

#[test]
fn a_column_that_counts_is_noticed_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    let columns = vec![
        ("nr".to_string(), Column::integers(1..=ROWS)),
        ("almost".to_string(), Column::integers((0..ROWS).map(|i| if i == 8999 { 3 } else { i }))),
        ("mu".to_string(), Column::doubles((0..ROWS).map(|i| (i as f64).sin()))),
    ];
    let path = written(folder.path(), "d.csv", &Frame { columns: columns.clone() });
    let other = written(folder.path(), "e.csv", &Frame { columns });
    // Once in the whole and once in each file.
    for paths in [vec![path.clone()], vec![path, other]] {
        let draws = check(&paths, &Reading::default());
        assert_eq!(draws.notes(), [Note::Columns(ColumnNote::LookLikeIds(vec!["nr".to_string()]))]);
    }
}

#[test]
fn whoever_takes_the_rows_can_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), "d.csv", &frame(false));
    let mut seen = 0;
    let ended = Draws::in_batches(&[&path], &Reading::default(), 10, &mut |_| {
        seen += 1;
        if seen == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let is_ended =
        |error: Error| matches!(error, Error::InFile { error, .. } if matches!(*error, Error::Ended));
    assert!(is_ended(ended.unwrap_err()) && seen == 3);
}

#[test]
fn an_npz_is_refused_and_a_changed_file_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let npz = written(folder.path(), "d.npz", &frame(false));
    let refused = Draws::check_batches(&[&npz], &Reading::default()).unwrap_err().to_string();
    assert!(refused.contains("d.npz: an .npz holds its columns one after the other"), "{refused}");
    let csv = written(folder.path(), "d.csv", &frame(false));
    Draws::check_batches(&[&csv], &Reading::default()).unwrap();
    let draws =
        Draws::in_batches(&[&csv], &Reading::default(), 10, &mut |_| ControlFlow::Continue(())).unwrap();
    let mut text = std::fs::read(&csv).unwrap();
    text.extend_from_slice(b"1,2,3,4\n");
    std::fs::write(&csv, text).unwrap();
    let changed = draws.again(&Reading::default(), 10, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(changed.to_string().contains("was changed while it was being read"), "{changed}");
}
