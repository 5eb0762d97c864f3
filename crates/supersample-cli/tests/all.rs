//! All tests of the command, in one program: to compile and link one for each topic took longer than to run many of them.
//! `cargo test -p supersample-cli --test all snapshots::` runs those of one file.

mod batches;
mod chains;
mod desk;
mod documents;
mod eval;
mod formats;
mod functions;
mod herd;
mod instruction_set;
mod landmarks;
mod layers;
mod long_runs;
mod lost_work;
mod matching;
mod odd_files;
mod posteriordb;
mod reading;
mod scores;
mod snapshots;
mod stream;
mod thin;
mod trees;
mod verbs;

/// A file that is not among these modules would never be compiled, and nobody would miss it.
#[test]
fn every_file_of_tests_is_compiled() {
    let apart = ["all"];
    let here = include_str!("all.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        assert!(apart.contains(&name) || here.contains(&format!("\nmod {name};\n")), "{name}");
    }
}
