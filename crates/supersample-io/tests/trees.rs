//! NetCDF and Zarr: small files of ArviZ, xarray, nutpie and emcee, against what xarray reads from them. `trees/make.py`
//! wrote them.

#![cfg(all(feature = "netcdf", feature = "zarr"))]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use serde_json::Value;
use supersample_io::{
    Column, Draws, Format, Frame, Note, OutputFormat, Reading, Selection, Survey, Use, unpack_store,
};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name)
}

/// The files whose draws are along `time`.
fn reading(name: &str) -> Reading<'static> {
    let is_plain = ["packed.nc", "classic.nc", "holes.nc"].contains(&name);
    let sample_dims = is_plain.then(|| vec!["time".to_string()]);
    Reading { sample_dims, ..Reading::default() }
}

struct Expected {
    name: String,
    names: Vec<String>,
    values: Vec<f64>,
    chains: usize,
}

fn expected() -> Vec<Expected> {
    let all: Value = serde_json::from_slice(&fs::read(file("expected.json")).unwrap()).unwrap();
    let of = |(name, about): (&String, &Value)| Expected {
        name: name.clone(),
        names: serde_json::from_value(about["names"].clone()).unwrap(),
        values: serde_json::from_value::<Vec<Vec<f64>>>(about["values"].clone()).unwrap().concat(),
        chains: about["chains"].as_u64().unwrap() as usize,
    };
    let all: Vec<Expected> = all.as_object().unwrap().iter().map(of).collect();
    assert_eq!(all.len(), 8);
    all
}

/// Writes the rows to a file of this name, and returns its path.
fn written(draws: &Draws, rows: &[usize], folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let output = OutputFormat::of_path(&path).unwrap();
    draws.check_output(output).unwrap();
    let mut bytes = Vec::new();
    draws.write_rows(rows, None, output, &mut bytes).unwrap();
    if output.format == Format::Zarr {
        let archive = folder.join("archive.zip");
        fs::write(&archive, bytes).unwrap();
        unpack_store(&archive, &path).unwrap();
    } else {
        fs::write(&path, bytes).unwrap();
    }
    path
}

/// The rows of a file by the names of columns.
fn column(draws: &Draws, name: &str) -> Vec<f64> {
    let at = draws.parameter_names().iter().position(|other| *other == name);
    let at = at.unwrap_or_else(|| panic!("{name} is not among {:?}", draws.parameter_names()));
    draws.values().chunks(draws.dim()).map(|row| row[at]).collect()
}

#[test]
fn columns_rows_and_chains_are_those_of_xarray() {
    for Expected { name, names, values, chains } in expected() {
        let draws = Draws::read(&[file(&name)], &reading(&name)).unwrap();
        assert_eq!(draws.parameter_names(), names, "{name}");
        assert_eq!(draws.chains(), chains, "{name}");
        assert_eq!(draws.values(), values, "{name}");
        let size = Draws::expected_size(&[file(&name)], &reading(&name)).unwrap();
        assert_eq!((size.rows, size.columns), (draws.len(), draws.dim()), "{name}");
    }
}

#[test]
fn batches_are_the_rows_in_order() {
    for Expected { name, values, .. } in expected() {
        let mut all = Vec::new();
        let mut take = |batch: supersample_io::Batch<'_>| {
            all.extend_from_slice(batch.values);
            ControlFlow::Continue(())
        };
        let draws = Draws::in_batches(&[file(&name)], &reading(&name), 5, &mut take).unwrap();
        draws.again(&reading(&name), 7, &mut take).unwrap();
        assert_eq!(all, [values.clone(), values].concat(), "{name}");
    }
}

#[test]
fn chosen_rows_come_back_from_every_output() {
    let folder = tempfile::tempdir().unwrap();
    for Expected { name, names, values, .. } in expected() {
        let dim = names.len();
        let draws = Draws::read(&[file(&name)], &reading(&name)).unwrap();
        let rows = [draws.len() - 1, 0, 4, draws.len() / 2];
        for ending in ["nc", "zarr", "csv", "parquet", "npz"] {
            let path = written(&draws, &rows, folder.path(), &format!("{name}.{ending}"));
            // A table has no units, by which times are known.
            let own = match ending {
                "nc" | "zarr" if name != "emcee.h5" => reading(&name),
                _ => Reading { selection: Selection::Only(names.clone()), ..Reading::default() },
            };
            let again = Draws::read(&[path], &own).unwrap();
            assert_eq!((again.len(), again.dim()), (rows.len(), dim), "{name} {ending}");
            for (j, column_name) in names.iter().enumerate() {
                let wanted: Vec<f64> = rows.iter().map(|row| values[row * dim + j]).collect();
                let found = column(&again, column_name);
                // Text has the fewest digits that tell numbers of single precision apart.
                let is_single =
                    ending == "csv" && found.iter().zip(&wanted).all(|(a, b)| *a as f32 == *b as f32);
                assert!(found == wanted || is_single, "{name} {ending} {column_name}: {found:?} {wanted:?}");
            }
        }
    }
}

#[test]
fn a_second_cut_keeps_the_first_places() {
    let folder = tempfile::tempdir().unwrap();
    let first = Draws::read(&[file("arviz.nc")], &Reading::default()).unwrap();
    let path = written(&first, &[8, 3, 11], folder.path(), "first.nc");
    let second = Draws::read(&[path], &Reading::default()).unwrap();
    assert_eq!((second.len(), second.chains()), (3, 1));
    let path = written(&second, &[2, 0], folder.path(), "second.zarr");
    // The coordinates as an array of their own.
    let text = fs::read_to_string(path.join("posterior/.zattrs")).unwrap();
    assert!(text.contains("source_chain source_draw"), "{text}");
    let places = |name: &str| {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("one.zarr");
        fs::create_dir(&store).unwrap();
        fs::write(store.join(".zgroup"), "{\"zarr_format\": 2}").unwrap();
        let copied = store.join("at");
        fs::create_dir(&copied).unwrap();
        for file in [".zarray", ".zattrs", "0"] {
            fs::copy(path.join("posterior").join(name).join(file), copied.join(file)).unwrap();
        }
        let reading = Reading { sample_dims: Some(vec!["draw".to_string()]), ..Reading::default() };
        Draws::read(&[store], &reading).unwrap().take_values()
    };
    assert_eq!((places("source_chain"), places("source_draw")), (vec![1.0, 1.0], vec![5.0, 2.0]));
}

#[test]
fn missing_values_are_refused_by_row_and_column_or_left_out() {
    let path = [file("holes.nc")];
    let error = Draws::read(&path, &reading("holes.nc")).unwrap_err().to_string();
    assert!(
        error.contains("holes.nc: row 5, column 'level[9]' is empty; fill it in, leave such rows out"),
        "{error}"
    );
    let drop_na = Reading { drop_na: true, ..reading("holes.nc") };
    let draws = Draws::read(&path, &drop_na).unwrap();
    assert_eq!((draws.len(), draws.dropped_na(), draws.row_number(4)), (7, 1, 5));
    let survey = Survey::read(&path, &reading("holes.nc")).unwrap();
    assert_eq!((survey.rows, survey.incomplete_rows), (8, 1));
}

#[test]
fn variables_are_named_and_left_out_by_their_names() {
    let only = Selection::new(Some(vec!["theta".to_string(), "mu".to_string()]), None);
    let reading = Reading { selection: only, ..Reading::default() };
    let draws = Draws::read(&[file("arviz.nc")], &reading).unwrap();
    assert_eq!(draws.parameter_names(), ["mu", "theta[A]", "theta[B]", "theta[Ç]"]);
    let weighted = Reading { weight_column: Some("count"), ..reading };
    let draws = Draws::read(&[file("arviz.nc")], &weighted).unwrap();
    assert_eq!(draws.weights().unwrap().len(), 12);
    let text = Selection::new(Some(vec!["words".to_string()]), None);
    let error = Draws::read(&[file("v2.zarr")], &Reading { selection: text, ..Reading::default() });
    assert!(error.unwrap_err().to_string().contains("column 'words' holds text, not numbers"));
}

#[test]
fn text_and_times_are_not_used_and_noted() {
    let draws = Draws::read(&[file("v2.zarr")], &Reading::default()).unwrap();
    assert!(draws.notes().contains(&Note::NotNumbers { columns: vec!["words".to_string()] }));
    let at = draws.names().iter().position(|name| name == "words").unwrap();
    assert_eq!(draws.uses()[at], Use::Text);
    let draws = Draws::read(&[file("packed.nc")], &reading("packed.nc")).unwrap();
    assert!(draws.notes().contains(&Note::NotNumbers { columns: vec!["when".to_string()] }));
}

#[test]
fn what_cannot_be_read_says_what_to_do() {
    let refused = |name: &str, reading: &Reading<'_>| {
        Draws::read(&[file(name)], reading).map(|_| ()).unwrap_err().to_string()
    };
    let error = refused("packed.nc", &Reading::default());
    assert!(error.contains("no dimensions are named chain and draw; the dimensions are"), "{error}");
    assert!(error.contains("--sample-dims"), "{error}");
    let other = Reading { sample_dims: Some(vec!["year".to_string()]), ..Reading::default() };
    let error = refused("packed.nc", &other);
    assert!(error.contains("there is no dimension 'year'; the dimensions are"), "{error}");
    let error = refused("arviz.nc", &Reading { format: Some(Format::Zarr), ..Reading::default() });
    assert!(error.contains("it is a file, and a store is a folder"), "{error}");
    let error = refused("", &Reading::default());
    assert!(error.contains("this is a directory"), "{error}");
}

/// A copy of a store, to be changed.
fn copied(name: &str, to: &Path) {
    fn copy(from: &Path, to: &Path) {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let below = to.join(entry.file_name());
            match entry.path().is_dir() {
                true => copy(&entry.path(), &below),
                false => drop(fs::copy(entry.path(), below).unwrap()),
            }
        }
    }
    copy(&file(name), to);
}

#[test]
fn forged_json_of_a_store_is_refused_without_harm() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to, words) in [
        (
            "\"shape\": [\n    2,\n    6\n  ]",
            "\"shape\": [4000000000, 4000000000]",
            "'chain' has several sizes",
        ),
        (
            "\"chunk_shape\": [\n        2,\n        6\n      ]",
            "\"chunk_shape\": [0, 6]",
            "do not fit its shape",
        ),
        ("\"name\": \"zstd\"", "\"name\": \"pcodec\"", "is packed by 'pcodec', which is not read"),
        (
            "\"chunk_shape\": [\n        2,\n        6\n      ]",
            "\"chunk_shape\": [90000000, 6]",
            "the chunk posterior/mu/c/0/0",
        ),
        ("\"shape\"", "\"shapes\"", "has no shape or no chunks"),
        ("{", "", "zarr.json is not JSON"),
    ] {
        let store = folder.path().join("forged.zarr");
        let _ = fs::remove_dir_all(&store);
        copied("v3.zarr", &store);
        // Without the consolidated copy the JSON of each array is read.
        fs::write(store.join("zarr.json"), "{\"zarr_format\": 3, \"node_type\": \"group\"}").unwrap();
        let about = store.join("posterior/mu/zarr.json");
        let text = fs::read_to_string(&about).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&about, text.replacen(from, to, 1)).unwrap();
        let error = Draws::read(&[&store], &Reading::default()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    // Shapes that agree, and are of more cells than there are bytes.
    let store = folder.path().join("vast.zarr");
    copied("v3.zarr", &store);
    let text = fs::read_to_string(store.join("zarr.json")).unwrap();
    let (small, vast) = (format!("\"shape\": [\n{0}2,\n{0}6", " ".repeat(10)), "\"shape\": [2, 6000000000");
    let text = text
        .replace(&small, vast)
        .replace(&format!("\"shape\": [\n{0}6\n", " ".repeat(10)), "\"shape\": [6000000000 ");
    fs::write(store.join("zarr.json"), text).unwrap();
    let error = Draws::read(&[&store], &Reading::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("claims more numbers than its bytes can hold"), "{error}");
    // A path out of the store.
    let store = folder.path().join("out.zarr");
    copied("v3.zarr", &store);
    let text = fs::read_to_string(store.join("zarr.json")).unwrap();
    fs::write(store.join("zarr.json"), text.replace("posterior/mu", "../posterior/mu")).unwrap();
    let error = Draws::read(&[&store], &Reading::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("it has an array of the name '../posterior/mu'"), "{error}");
}

#[test]
fn a_chunk_that_was_not_written_has_the_value_for_such_cells() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("holes.zarr");
    copied("v3.zarr", &store);
    fs::remove_file(store.join("posterior/mu/c/0/0")).unwrap();
    let error = Draws::read(&[&store], &Reading::default()).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("row 1, column 'mu' is NaN"), "{error}");
}

#[test]
fn weights_become_a_coordinate_that_is_not_a_column() {
    let folder = tempfile::tempdir().unwrap();
    let draws = Draws::read(&[file("arviz.nc")], &Reading::default()).unwrap();
    let mut bytes = Vec::new();
    let output = OutputFormat::plain(Format::NetCdf);
    draws.write_rows(&[1, 2], Some(&[0.25, 0.75]), output, &mut bytes).unwrap();
    let path = folder.path().join("weighted.nc");
    fs::write(&path, bytes).unwrap();
    let again = Draws::read(&[path], &Reading::default()).unwrap();
    assert_eq!(again.dim(), draws.dim());
}

#[test]
fn columns_of_other_formats_are_arrays_along_samples() {
    let folder = tempfile::tempdir().unwrap();
    let frame = Frame {
        columns: vec![
            ("mu".to_string(), Column::doubles([0.5, 1.5])),
            ("flag".to_string(), vec![Some(true), Some(false)].into()),
            ("word".to_string(), vec![Some("a".to_string()), None].into()),
            ("some".to_string(), vec![Some(3_i64), None].into()),
        ],
    };
    let path = folder.path().join("frame.nc");
    let mut bytes = Vec::new();
    frame.write_as(OutputFormat::plain(Format::NetCdf), &mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    let draws = Draws::read(&[path], &Reading { drop_na: true, ..Reading::default() }).unwrap();
    assert_eq!(draws.names().len(), 4);
    assert_eq!((draws.len(), draws.dropped_na(), draws.dim()), (1, 1, 3));
}
