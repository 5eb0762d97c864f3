//! Order of the folders: no source file imports from a folder to the right of its own.

use std::fs;
use std::path::Path;

/// The folders from left to right, as ARCHITECTURE.md has them.
const ORDER: [&str; 6] = ["words", "args", "plan", "report", "terminal", "run"];

fn text_of(path: &Path) -> String {
    match fs::read_dir(path) {
        Ok(entries) => entries.map(|entry| text_of(&entry.unwrap().path())).collect(),
        Err(_) => fs::read_to_string(path).unwrap_or_default(),
    }
}

#[test]
fn no_file_imports_from_a_folder_to_its_right() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (at, folder) in ORDER.into_iter().enumerate() {
        let text = text_of(&source.join(folder)) + &text_of(&source.join(format!("{folder}.rs")));
        assert!(!text.is_empty() && !text.contains("crate::{"), "{folder}: write one import a line");
        for right in &ORDER[at + 1..] {
            assert!(!text.contains(&format!("crate::{right}::")), "{folder} imports from {right}");
        }
    }
}
