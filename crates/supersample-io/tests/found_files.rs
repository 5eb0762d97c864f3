//! Files met in the wild that are not part of the repository: read where they are at hand, skipped with a word where not.

use std::path::{Path, PathBuf};

use supersample_io::{Draws, Reading};

#[path = "../../supersample-cli/tests/desk/required.rs"]
mod required;
use required::skipped;

/// The folder that the variable SUPERSAMPLE_FOUND names, or the one beside the checkout.
fn found(name: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/found");
    let folder = std::env::var_os("SUPERSAMPLE_FOUND").map_or(beside, PathBuf::from);
    let path = folder.join(name);
    if !path.is_file() {
        skipped("files", format!("there is no {}", path.display()));
        return None;
    }
    Some(path)
}

#[test]
fn a_variational_run_of_cmdstan() {
    let Some(path) = found("advi.csv") else { return };
    let rows =
        std::fs::read_to_string(&path).unwrap().lines().filter(|line| !line.starts_with('#')).count() - 1;
    let draws = Draws::read(&[path], &Reading::default()).unwrap();
    assert_eq!((draws.len(), draws.mean_rows()), (rows - 1, 1));
    assert_eq!(draws.values()[..2], [6.3868675, 6.1920085]);
}

#[test]
fn an_arrow_file_with_a_forged_length() {
    let Some(path) = found("crash.arrow") else { return };
    let error = Draws::read(&[path], &Reading::default()).unwrap_err().to_string();
    assert!(error.contains("not a valid Arrow IPC file: a buffer of"), "{error}");
}
