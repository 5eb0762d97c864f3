//! The PTX files are those of the sources beside them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

use flate2::read::GzDecoder;

#[path = "../../supersample-cli/tests/desk/required.rs"]
mod required;

/// What build.sh hashes, in its order.
const SOURCES: [&str; 9] = [
    "common.cu",
    "sums.cu",
    "differences.cuh",
    "fixed.cuh",
    "profiles.cuh",
    "rows.cuh",
    "tensor.cuh",
    "visits.cuh",
    "build.sh",
];

#[test]
fn every_ptx_file_was_made_from_the_sources_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let hash = Command::new("sh")
        .args(["-c", "cat \"$@\" | sha256sum | cut -c1-64", "sh"])
        .args(SOURCES)
        .current_dir(&folder)
        .output();
    let hash = hash.ok().and_then(|output| String::from_utf8(output.stdout).ok()).unwrap_or_default();
    let hash = hash.trim();
    if hash.len() != 64 {
        return required::skipped("sha256sum", "there is no sha256sum on this machine");
    }
    let mut seen = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        assert!(
            path.extension().is_none_or(|ending| ending != "ptx"),
            "PTX is kept packed: {}",
            path.display()
        );
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut first = String::new();
            BufReader::new(GzDecoder::new(File::open(&path).unwrap())).read_line(&mut first).unwrap();
            assert!(
                first.trim_end().ends_with(hash),
                "{} is not current: run kernels/build.sh",
                path.display()
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 11);
}
