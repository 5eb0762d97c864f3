//! Map of the crates in ARCHITECTURE.md: the crates it lists, and which of them each one uses, are those of the manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of crates, each with the crates of the repository that it uses beyond its tests.
type Map = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The folders that the manifest of the workspace names; `crates/*` stands for each folder with a manifest.
fn members() -> Vec<String> {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let mut folders = Vec::new();
    for member in manifest["workspace"]["members"].as_array().unwrap() {
        let member = member.as_str().unwrap();
        let Some(parent) = member.strip_suffix("/*") else {
            folders.push(member.to_string());
            continue;
        };
        for entry in fs::read_dir(root().join(parent)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if root().join(parent).join(&name).join("Cargo.toml").exists() {
                folders.push(format!("{parent}/{name}"));
            }
        }
    }
    folders
}

/// What the manifests say, and the name of each crate by its folder.
fn manifests() -> (Map, BTreeMap<String, String>) {
    let manifests: BTreeMap<String, toml::Table> = members()
        .into_iter()
        .map(|folder| (folder.clone(), read(Path::new(&folder).join("Cargo.toml")).parse().unwrap()))
        .collect();
    let names: BTreeMap<String, String> = manifests
        .iter()
        .map(|(folder, manifest)| (folder.clone(), manifest["package"]["name"].as_str().unwrap().to_string()))
        .collect();
    let used = |manifest: &toml::Table| {
        let dependencies = manifest.get("dependencies").and_then(|table| table.as_table());
        let dependencies =
            dependencies.map(|table| table.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
        dependencies.into_iter().filter(|name| names.values().any(|own| own == name)).collect()
    };
    (manifests.iter().map(|(folder, manifest)| (folder.clone(), used(manifest))).collect(), names)
}

/// What the table under "The crates" says of folders that hold a manifest: its first column is the folder, its second the
/// crates that it uses.
fn mapped(document: &str) -> Map {
    let section = document.split("## The crates").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut map = Map::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let folder = cells[0].trim_matches('`').to_string();
        assert!(root().join(&folder).is_dir(), "the map has {folder}, which is no folder");
        if root().join(&folder).join("Cargo.toml").exists() {
            let used = cells[1].split(", ").map(|name| name.trim_matches('`').to_string());
            map.insert(folder, used.filter(|name| name != "–").collect());
        }
    }
    map
}

#[test]
fn the_map_has_the_crates_and_arrows_of_the_manifests() {
    let (held, _) = manifests();
    assert!(held.len() >= 7 && held["crates/supersample"].contains("supersample-sum"), "{held:?}");
    assert_eq!(mapped(&read("ARCHITECTURE.md")), held);
}

#[test]
fn a_wrong_map_is_seen() {
    let map = mapped(
        "## The crates\n\n| folder | uses |\n|---|---|\n| `crates/supersample` | – |\n| `docs` | – |\n",
    );
    assert_eq!(map, Map::from([("crates/supersample".to_string(), BTreeSet::new())]));
    assert_ne!(map, manifests().0);
}

#[test]
fn crates_are_published_after_those_they_use() {
    let (held, names) = manifests();
    let script = read(".ci/packages");
    let line = script.lines().find_map(|line| line.strip_prefix("crates=(")).unwrap();
    let order: Vec<&str> = line.trim_end_matches(')').split(' ').collect();
    for (folder, name) in &names {
        let manifest: toml::Table = read(Path::new(folder).join("Cargo.toml")).parse().unwrap();
        let kept = manifest["package"].get("publish") == Some(&toml::Value::Boolean(false));
        let place = order.iter().position(|other| other == name);
        assert_eq!(place.is_none(), kept, "{name} is published by .ci/packages or has publish = false");
        for used in held[folder].iter().filter(|_| !kept) {
            let before = order.iter().position(|other| other == used);
            assert!(before.is_some() && before < place, "{name} is published before {used}");
        }
    }
}
