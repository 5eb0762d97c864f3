//! Any bytes at all: a reader may refuse them, but it may not panic, and what it accepts must be sound. Files that once
//! broke a reader stay in `tests/corpus` and are read again on every run.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use supersample_io::{Column, Draws, Format, Frame, OutputFormat, Reading, Survey};

fn example() -> Frame {
    let texts: Vec<_> = (0..30).map(|i| Some(format!("a,\"{i}\""))).collect();
    Frame {
        columns: vec![
            ("mu".to_string(), Column::doubles((0..30).map(|i| f64::from(i).sin()))),
            ("tau".to_string(), (0..30).map(|i| Some(i as f32 * 0.5)).collect::<Vec<_>>().into()),
            ("chain".to_string(), Column::integers(0..30)),
            ("flag".to_string(), (0..30).map(|i| Some(i % 2 == 0)).collect::<Vec<_>>().into()),
            ("draw".to_string(), texts.into()),
        ],
    }
}

fn bytes_of(format: Format) -> Vec<u8> {
    let mut frame = example();
    if format == Format::Npy {
        frame.columns.truncate(3);
    }
    let mut bytes = Vec::new();
    frame.write_as(OutputFormat::plain(format), &mut bytes).unwrap();
    bytes
}

/// Reads the bytes as this format and, where they are accepted, looks at everything that can be asked.
fn read(bytes: &[u8], format: Option<Format>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("draws");
    fs::write(&path, bytes).unwrap();
    let reading = Reading { format, ..Reading::default() };
    let _ = Survey::read(&[&path], &reading);
    look_at(&[path], &reading);
}

fn look_at(paths: &[PathBuf], reading: &Reading<'_>) {
    let Ok(draws) = Draws::read(paths, reading) else { return };
    assert!(draws.len() > 0 && draws.dim() > 0);
    assert_eq!(draws.values().len(), draws.len() * draws.dim());
    assert!(draws.values().iter().all(|value| value.is_finite()));
    let rows = [draws.len() - 1, 0, draws.len() / 2];
    // The second pass may meet columns that the first did not look at, and refuse them.
    if let Ok(frame) = draws.frame(&rows) {
        assert!(frame.columns.len() <= draws.names().len() && frame.len() == 3);
    }
    for output in ["x.csv", "x.npy", "x.npz", "x.parquet", "x.arrow", "x.nc", "x.zarr"] {
        let output = OutputFormat::of_path(output.as_ref()).unwrap();
        let _ = draws.check_output(output);
        let _ = draws.write_rows(&rows, None, output, &mut Vec::new());
    }
}

/// A change to a file: bytes overwritten, a piece cut out, a piece repeated, the end cut off.
fn changed(mut bytes: Vec<u8>, changes: &[(u8, u16, u16, u8)]) -> Vec<u8> {
    for &(kind, at, length, byte) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at as usize % bytes.len();
        let end = (at + 1 + length as usize % 40).min(bytes.len());
        match kind % 5 {
            0 => bytes[at] = byte,
            1 => bytes[at] ^= 1 << (byte % 8),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            _ => bytes.truncate(at),
        }
    }
    bytes
}

fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name)
}

/// Copies a store with one of its files changed, and reads it.
fn read_store(name: &str, which: usize, changes: &[(u8, u16, u16, u8)]) {
    fn files(folder: &Path, all: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { files(&path, all) } else { all.push(path) }
        }
    }
    let (from, folder) = (tree(name), tempfile::tempdir().unwrap());
    let mut all = Vec::new();
    files(&from, &mut all);
    all.sort();
    for (i, path) in all.iter().enumerate() {
        let copy = folder.path().join("x.zarr").join(path.strip_prefix(&from).unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        let bytes = fs::read(path).unwrap();
        let is_changed = i == which % all.len();
        fs::write(copy, if is_changed { changed(bytes, changes) } else { bytes }).unwrap();
    }
    let path = folder.path().join("x.zarr");
    let _ = Survey::read(&[&path], &Reading::default());
    look_at(&[path], &Reading::default());
}

macro_rules! hardened {
    ($($name:ident: $format:expr;)*) => {
        proptest! {
            #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(changes in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 1..6)) {
                    read(&changed(bytes_of($format), &changes), Some($format));
                }
            )*

            #[test]
            fn changed_file_of_arviz(changes in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 1..6)) {
                read(&changed(fs::read(tree("arviz.nc")).unwrap(), &changes), Some(Format::NetCdf));
            }

            #[test]
            fn changed_file_of_emcee(changes in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 1..6)) {
                read(&changed(fs::read(tree("emcee.h5")).unwrap(), &changes), Some(Format::NetCdf));
            }

            #[test]
            fn changed_classic_file(changes in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 1..6)) {
                read(&changed(fs::read(tree("classic.nc")).unwrap(), &changes), Some(Format::NetCdf));
            }

            #[test]
            fn changed_zarr(which in any::<u16>(), changes in prop::collection::vec(any::<(u8, u16, u16, u8)>(), 1..6)) {
                read_store(&["v2.zarr", "v3.zarr", "nutpie.zarr"][which as usize % 3], which as usize / 3, &changes);
            }

            #[test]
            fn noise_is_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
                read(&bytes, None);
            }

            #[test]
            fn text_like_noise_is_refused_or_read(text in "[a-c0-9.,;\t\"\r\n# -]{0,120}") {
                read(text.as_bytes(), None);
            }
        }
    };
}

hardened! {
    changed_text: Format::Text;
    changed_npy: Format::Npy;
    changed_npz: Format::Npz;
    changed_parquet: Format::Parquet;
    changed_arrow: Format::Arrow;
    changed_netcdf: Format::NetCdf;
}

#[test]
fn files_that_once_broke_a_reader_do_not_any_more() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let entries = fs::read_dir(corpus).into_iter().flatten().map(|entry| entry.unwrap().path());
    for path in entries.filter(|path| path.extension().is_none_or(|ending| ending != "md")) {
        let bytes = fs::read(&path).unwrap();
        for format in [
            None,
            Some(Format::Text),
            Some(Format::Npy),
            Some(Format::Npz),
            Some(Format::Parquet),
            Some(Format::Arrow),
            Some(Format::NetCdf),
        ] {
            read(&bytes, format);
        }
    }
}

/// Room for a block is made before it is read, so a forged size has to be seen before that.
#[test]
fn a_block_beyond_the_end_of_the_file_is_refused_by_its_size() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/block-beyond-end.arrow");
    let error = Draws::read(&[path], &Reading::default()).unwrap_err().to_string();
    assert!(error.contains("not a valid Arrow IPC file: a block of rows is cut short"), "{error}");
}
