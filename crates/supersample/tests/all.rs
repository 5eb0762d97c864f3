//! All tests of the library from outside but two, in one program: to compile and link one for each topic took longer than to run
//! them. `cargo test -p supersample --test all refine::` runs those of one file.

mod calibrate;
mod chains;
mod common;
mod continuous;
mod corrected;
mod determinism;
mod each;
mod embeddings;
mod energy;
mod example_file;
mod gibbs;
mod gram;
mod landmarks;
mod matching;
mod one_pass;
mod optimum;
mod oracle;
mod parts;
mod polish;
mod precision;
mod preference;
mod properties;
mod quality;
mod refine;
mod search;
mod starts;
mod stein;
mod streamed;
mod summary;
mod swaps;
mod task;
mod task_examples;
mod task_landmarks;
mod task_parts;
mod watch;
mod weights;
mod words;

/// A file that is not among these modules would never be compiled, and nobody would miss it.
#[test]
fn every_file_of_tests_is_compiled() {
    let apart = ["all", "device", "golden"];
    let here = include_str!("all.rs");
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".rs") else { continue };
        assert!(apart.contains(&name) || here.contains(&format!("\nmod {name};\n")), "{name}");
    }
}
