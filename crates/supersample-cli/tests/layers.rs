//! Order of the folders: no source file imports from a folder to the right of its own.

use std::fs;
use std::path::{Path, PathBuf};

/// The folders from left to right, as ARCHITECTURE.md has them.
const ORDER: [&str; 6] = ["words", "args", "plan", "report", "terminal", "run"];

/// What a text names of the crate: `plan` for `crate::plan::Stop`, and all of `crate::{args, plan}`. In the first file of
/// a folder `super::` leads there too; elsewhere no folder of the order can follow it.
fn named(source: &str) -> Vec<String> {
    let mut names = named_after(source, "crate::");
    names.extend(named_after(source, "super::").into_iter().filter(|name| ORDER.contains(&name.as_str())));
    names
}

fn named_after(source: &str, path: &str) -> Vec<String> {
    let code: String = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .map(|line| format!("{line}\n"))
        .collect();
    let first_word = |text: &str| -> String {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = Vec::new();
    for (at, _) in code.match_indices(path) {
        // The end of a longer name.
        if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let rest = &code[at + path.len()..];
        let Some(group) = rest.trim_start().strip_prefix('{') else {
            names.push(first_word(rest));
            continue;
        };
        let mut depth = 0;
        let mut start = 0;
        for (end, c) in group.char_indices() {
            match c {
                '{' => depth += 1,
                '}' if depth > 0 => depth -= 1,
                ',' | '}' if depth == 0 => {
                    names.push(first_word(&group[start..end]));
                    start = end + 1;
                    if c == '}' {
                        break;
                    }
                }
                _ => {}
            }
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// The imports of a file in this folder that it must not have. Names of main.rs are to the right of everything.
fn to_the_right(folder: &str, source: &str) -> Vec<String> {
    let place = |name: &str| ORDER.iter().position(|other| *other == name).unwrap_or(ORDER.len());
    named(source).into_iter().filter(|name| place(name) > place(folder)).collect()
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn no_file_imports_from_a_folder_to_its_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    sources(&root, &mut files);
    let mut wrong = Vec::new();
    for path in files {
        let inside = path.strip_prefix(&root).unwrap().to_path_buf();
        let folder = inside.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_string();
        if folder == "main" {
            continue;
        }
        assert!(ORDER.contains(&folder.as_str()), "{folder} has no place in the order of the folders");
        let source = fs::read_to_string(&path).unwrap();
        wrong.extend(to_the_right(&folder, &source).iter().map(|name| format!("{inside:?} imports {name}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_document_has_the_same_order() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ARCHITECTURE.md");
    let document = fs::read_to_string(document).unwrap();
    let order: Vec<String> = ORDER.iter().map(|name| format!("`{name}`")).collect();
    assert!(document.contains(&order.join(" → ")), "{}", order.join(" → "));
}

#[test]
fn every_spelling_of_an_import_is_seen() {
    assert_eq!(named("use crate::plan::{Ended, Stop};\nuse crate::words;"), ["plan", "words"]);
    assert_eq!(named("use crate::{args::Args, plan::{Stop, Ended},\n    run};"), ["args", "plan", "run"]);
    assert_eq!(named("use super::run::Outcome;\nuse super::super::{args, text::Line};"), ["run", "args"]);
    assert_eq!(named("let x = crate::run::choose(&plan);"), ["run"]);
    assert_eq!(named("// use crate::run;\npub(crate) fn f() {}"), Vec::<String>::new());
    assert_eq!(to_the_right("plan", "use crate::args::Args;\nuse crate::report::Report;"), ["report"]);
    assert_eq!(to_the_right("run", "use crate::{Outcome, terminal::output};"), ["Outcome"]);
    assert!(to_the_right("report", "use crate::report::Line;\nuse crate::words::count;").is_empty());
}
