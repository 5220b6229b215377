//! Check: test a table's invariants, file by file.
//!
//! ```text
//!   I1  the pointer names a metadata file that exists, parses and holds its own invariants
//!   I2  every file reachable from a retained snapshot exists, with the recorded length
//!   I4  sequence numbers are unique and rising; a path is live at most once in a snapshot
//!   I6  summary totals and manifest counts equal a recount from the entries
//! ```
//!
//! I3 (no acknowledged commit is lost), I5 (the rows equal a model's), I7 (nothing outside is
//! written) and I8 (a failed operation can be tried again) need a witness who saw what was done;
//! the tests are that witness. I1 was tested when the table was loaded, or it would not be here.
//!
//! The checker reads every manifest, and of every data file only its length.

use crate::load;
use catalog::Table;
use meta::Location;
use meta::manifest::ManifestEntry;
use meta::manifest_list::{Counts, ManifestContent, ManifestFile};
use meta::metadata::TableMetadata;
use meta::snapshot::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use store::Store;

/// A broken invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its number: `I2`.
    pub invariant: &'static str,
    /// The file it concerns.
    pub file: String,
    /// What was expected, and what was found.
    pub what: String,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.invariant, self.file, self.what)
    }
}

/// Tests all of a table's retained snapshots. An empty answer is a sound table.
pub fn check(store: &dyn Store, table: &Table) -> Vec<Fault> {
    let mut checker =
        Checker { store, faults: Vec::new(), entries: BTreeMap::new(), seen: BTreeSet::new() };
    checker.sequence_numbers(table);
    for snapshot in &table.metadata.snapshots {
        checker.snapshot(&table.metadata, snapshot);
    }
    checker.faults
}

struct Checker<'a> {
    store: &'a dyn Store,
    faults: Vec<Fault>,
    /// The entries of every manifest that could be read.
    entries: BTreeMap<Location, Vec<ManifestEntry>>,
    /// Files whose length was compared.
    seen: BTreeSet<Location>,
}

impl Checker<'_> {
    fn fault(&mut self, invariant: &'static str, file: &Location, what: String) {
        self.faults.push(Fault { invariant, file: file.to_string(), what });
    }

    /// I4: each snapshot of version 2 has a number of its own, above its parent's.
    fn sequence_numbers(&mut self, table: &Table) {
        let metadata = &table.metadata;
        let mut numbers = BTreeSet::new();
        for snapshot in metadata.snapshots.iter().filter(|s| s.sequence_number > 0) {
            let number = snapshot.sequence_number;
            if !numbers.insert(number) {
                let what = format!("two snapshots have the sequence number {number}");
                self.fault("I4", &table.metadata_location, what);
            }
            let parent = snapshot.parent_snapshot_id.and_then(|id| metadata.snapshot(id));
            if let Some(parent) = parent.filter(|parent| parent.sequence_number >= number) {
                let (id, parent) = (snapshot.snapshot_id, parent.sequence_number);
                let what = format!("snapshot {id} has number {number}, its parent {parent}");
                self.fault("I4", &table.metadata_location, what);
            }
        }
    }

    fn snapshot(&mut self, metadata: &TableMetadata, snapshot: &Snapshot) {
        let manifests = match load::manifests_as_listed(self.store, snapshot) {
            Ok(manifests) => manifests,
            Err(e) => return self.fault("I2", &snapshot.manifest_list, e.to_string()),
        };
        let mut live = BTreeMap::new();
        let (mut rows, mut files, mut whole) = (0i64, 0, true);
        for manifest in &manifests {
            if !self.manifest(manifest) {
                whole = false;
                continue;
            }
            let entries = self.entries.get(&manifest.manifest_path).cloned().unwrap_or_default();
            for entry in entries.iter().filter(|entry| entry.is_live()) {
                let file = &entry.data_file;
                // Several deletion vectors may share one file, told apart by their offsets.
                let identity = (file.file_path.clone(), file.content_offset);
                if live.insert(identity, ()).is_some() {
                    let what = format!("live twice in snapshot {}", snapshot.snapshot_id);
                    self.fault("I4", &file.file_path, what);
                }
                if manifest.content == ManifestContent::Data {
                    (rows, files) = (rows.saturating_add(file.record_count), files + 1);
                }
                let number = entry.sequence_number.unwrap_or(0);
                if metadata.format_version > 1 && number > snapshot.sequence_number {
                    let what = format!(
                        "its data sequence number {number} is above snapshot {}'s {}",
                        snapshot.snapshot_id, snapshot.sequence_number
                    );
                    self.fault("I4", &file.file_path, what);
                }
                self.length(&file.file_path.clone(), file.file_size_in_bytes);
            }
        }
        for (key, counted) in [("total-records", rows), ("total-data-files", files)] {
            let said = snapshot.summary.count(key).filter(|said| whole && *said != counted);
            if let Some(said) = said {
                let id = snapshot.snapshot_id;
                let what = format!("snapshot {id} says {key} {said}; its manifests hold {counted}");
                self.fault("I6", &snapshot.manifest_list, what);
            }
        }
    }

    /// Reads a manifest once, and compares its length and counts. Whether it could be read.
    fn manifest(&mut self, manifest: &ManifestFile) -> bool {
        let path = &manifest.manifest_path;
        if !self.seen.insert(path.clone()) {
            return self.entries.contains_key(path);
        }
        match self.store.size(path.normal()) {
            Ok(size) if i64::try_from(size) != Ok(manifest.manifest_length) => {
                let what = format!("{size} bytes; the list says {}", manifest.manifest_length);
                self.fault("I2", path, what);
            }
            // A missing one is reported by the read below.
            _ => {}
        }
        let entries = match load::entries(self.store, manifest) {
            Ok(entries) => entries,
            Err(e) => {
                self.fault("I2", path, e.to_string());
                return false;
            }
        };
        let counted = Counts::of(&entries);
        let agrees = |said: Option<i64>, counted: Option<i64>| said.is_none() || said == counted;
        let (said, says) = (numbers(&manifest.counts), numbers(&counted));
        if !said.iter().zip(&says).all(|(said, counted)| agrees(*said, *counted)) {
            let what = format!("the list counts {said:?}, its entries are {says:?}");
            self.fault("I6", path, what);
        }
        self.entries.insert(path.clone(), entries);
        true
    }

    /// I2: the file exists, and is as long as its entry says.
    fn length(&mut self, path: &Location, recorded: i64) {
        if !self.seen.insert(path.clone()) {
            return;
        }
        match self.store.size(path.normal()) {
            Ok(size) if i64::try_from(size) == Ok(recorded) => {}
            Ok(size) => self.fault("I2", path, format!("{size} bytes; its entry says {recorded}")),
            Err(e) => self.fault("I2", path, e.to_string()),
        }
    }
}

/// Files added, existing, deleted; then their rows.
fn numbers(counts: &Counts) -> [Option<i64>; 6] {
    [
        counts.added_files.map(i64::from),
        counts.existing_files.map(i64::from),
        counts.deleted_files.map(i64::from),
        counts.added_rows,
        counts.existing_rows,
        counts.deleted_rows,
    ]
}
