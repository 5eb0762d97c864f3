//! Commands that the pages of the site show: every one of them runs, in the order of its page.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use crate::desk::LIMIT;

/// The blocks of a page that are fenced as this language, also inside of tabs.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut block: Option<Vec<&str>> = None;
    for line in page.lines().map(str::trim_start) {
        match &mut block {
            None if line == format!("```{language}") => block = Some(Vec::new()),
            None => {}
            Some(lines) if line == "```" => {
                found.push(lines.join("\n"));
                block = None;
            }
            Some(lines) => lines.push(line),
        }
    }
    found
}

/// Runs the commands of a page in a folder that holds the examples and the TOML files that the page shows; says how many.
fn run_page(page: &str) -> usize {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let text = fs::read_to_string(documents.join(page)).unwrap();
    let desk = tempfile::tempdir().unwrap();
    fs::copy(documents.join("../examples/eight_schools.csv"), desk.path().join("eight_schools.csv")).unwrap();
    let posterior = documents.join("../python/tests/data/eight_schools.nc");
    fs::copy(posterior, desk.path().join("posterior.nc")).unwrap();
    for block in blocks(&text, "toml") {
        // A block whose first line is its name, or a mixture.
        let name = block.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or("mixture.toml");
        let name = if name.ends_with(".toml") { name } else { "mixture.toml" };
        fs::write(desk.path().join(name), &block).unwrap();
    }
    let commands: Vec<String> = blocks(&text, "sh")
        .iter()
        .flat_map(|block| block.lines())
        .filter_map(|line| line.strip_prefix("supersample "))
        .map(str::to_string)
        .collect();
    for command in &commands {
        Command::new(cargo_bin!("supersample"))
            .timeout(LIMIT)
            .args(command.split(' '))
            .current_dir(desk.path())
            .assert()
            .success();
    }
    commands.len()
}

/// Runs the commands of all pages of a folder, not of those below it; says how many.
fn run_folder(folder: &str) -> usize {
    let documents = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let mut pages: Vec<_> = fs::read_dir(documents.join(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .collect();
    pages.sort();
    pages.iter().map(|page| run_page(&format!("{folder}/{page}"))).sum()
}

#[test]
fn the_first_pages_and_the_reference() {
    assert!(run_folder(".") >= 6);
}

#[test]
fn the_pages_to_start_with() {
    assert!(run_folder("start") >= 7);
}

#[test]
fn the_guide() {
    assert!(run_folder("guide") >= 9);
}

#[test]
fn the_pages_of_the_verbs() {
    assert!(run_folder("command") >= 12);
}

/// The first command of the README, and what it is said to print: the first thing that a stranger compares.
#[test]
fn the_readme_shows_what_its_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let commands = blocks(&readme, "sh");
    let mut commands = commands.iter().filter_map(|block| block.split_once("-p supersample-cli -- "));
    let (_, command) = commands.next().expect("a command");
    let desk = tempfile::tempdir().unwrap();
    fs::create_dir(desk.path().join("examples")).unwrap();
    fs::copy(root.join("examples/eight_schools.csv"), desk.path().join("examples/eight_schools.csv"))
        .unwrap();
    let run = Command::new(cargo_bin!("supersample"))
        .timeout(LIMIT)
        .args(command.split(' '))
        .current_dir(desk.path())
        .assert()
        .success();
    let printed = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let trimmed: Vec<&str> = printed.trim_end().lines().map(str::trim).collect();
    assert_eq!(blocks(&readme, "text")[0], trimmed.join("\n"));
    assert!(desk.path().join("chosen.csv").exists());
}
