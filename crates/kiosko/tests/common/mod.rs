//! What the tests of this crate share: a folder with the finished project in it, and ways to look at
//! files that do not go through the code under test.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop where it fails"
)]

use kiosko::lessons::m07_l08_maintained_table::{self as project, Measured, Options};
use kiosko::{Catalog, Result, load_catalog};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Runs the project with these options, and returns what it measured and what it printed.
pub fn run(options: &Options<'_>) -> (Result<Measured>, String) {
    let mut out = Vec::new();
    let measured = project::run(options, &mut out);
    (measured, String::from_utf8(out).unwrap())
}

/// The catalog that a run left in `dir`, opened as anybody would open it.
pub fn catalog(dir: &Path) -> Catalog {
    let uri = format!("sqlite:///{}/kiosko_catalog.db", dir.display());
    let warehouse = format!("file://{}/kiosko_warehouse", dir.display());
    let properties = [("type", "sql"), ("uri", &*uri), ("warehouse", &*warehouse)];
    load_catalog("kiosko", &properties).unwrap()
}

/// Every file below `folder` with its bytes: two of these are equal when nothing changed.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// The files in `folder` whose name ends so, by name.
pub fn ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = all.filter(|path| path.to_str().unwrap().ends_with(end)).collect();
    found.sort();
    found
}

/// The path in a `file://` URI.
pub fn path(uri: &str) -> PathBuf {
    PathBuf::from(uri.strip_prefix("file://").unwrap())
}

/// A metadata file of a table's folder, by its version, as plain JSON.
pub fn metadata(table: &Path, version: usize) -> Json {
    let start = format!("{version:05}-");
    let all = ending(&table.join("metadata"), ".metadata.json");
    let name = |path: &&PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with(&start);
    let [only] = all.iter().filter(name).collect::<Vec<_>>()[..] else {
        panic!("one metadata file of version {version} in {all:?}")
    };
    serde_json::from_slice(&std::fs::read(only).unwrap()).unwrap()
}

/// The live entries of one snapshot, read without [`ops`].
pub fn entries(snapshot: &Json) -> Vec<meta::manifest::ManifestEntry> {
    let mut live = Vec::new();
    for manifest in manifests(snapshot) {
        let bytes = std::fs::read(manifest.manifest_path.normal()).unwrap();
        let entries = meta::manifest::decode(&manifest, &bytes).unwrap();
        live.extend(entries.into_iter().filter(|entry| entry.is_live()));
    }
    live
}

/// The live data files of one snapshot.
pub fn live(snapshot: &Json) -> BTreeSet<PathBuf> {
    let paths = entries(snapshot).into_iter().map(|entry| entry.data_file.file_path);
    paths.map(|path| PathBuf::from(path.normal())).collect()
}

fn manifests(snapshot: &Json) -> Vec<meta::manifest_list::ManifestFile> {
    let list = snapshot["manifest-list"].as_str().unwrap();
    meta::manifest_list::decode(list, &std::fs::read(path(list)).unwrap()).unwrap()
}

/// Every file that the newest metadata of a table's folder leads to.
pub fn needed(table: &Path, version: usize) -> BTreeSet<PathBuf> {
    let metadata = metadata(table, version);
    let log = metadata["metadata-log"].as_array().unwrap();
    let mut needed: BTreeSet<_> =
        log.iter().map(|entry| path(entry["metadata-file"].as_str().unwrap())).collect();
    let start = format!("{version:05}-");
    let own = ending(&table.join("metadata"), ".metadata.json");
    needed.extend(own.into_iter().filter(|p| p.to_str().unwrap().contains(&start)));
    for snapshot in metadata["snapshots"].as_array().unwrap() {
        needed.insert(path(snapshot["manifest-list"].as_str().unwrap()));
        let manifests = manifests(snapshot).into_iter();
        needed.extend(manifests.map(|manifest| PathBuf::from(manifest.manifest_path.normal())));
        needed.extend(live(snapshot));
    }
    needed
}
