//! What is reachable: every file that a table still needs.
//!
//! This is the one reachability function. Expiry and orphan removal delete what is *not* in its
//! answer, so it leaves nothing out and knows no shortcut:
//!
//! ```text
//!   the current metadata file, and every one of the metadata log
//!   every retained snapshot, whether a reference names it or not
//!     its manifest list
//!       every manifest on it
//!         every live file in it: data and deletes
//!   statistics and partition statistics files
//!   version-hint.text
//! ```
//!
//! An entry with status deleted is no reason to keep a file: the snapshots that still show the file
//! have it as a live entry in a manifest of their own.

use crate::{Error, Result, load};
use catalog::Table;
use meta::Location;
use meta::manifest::ManifestEntry;
use meta::manifest_list::ManifestFile;
use meta::snapshot::Snapshot;
use std::collections::{BTreeMap, BTreeSet};
use store::Store;

/// What a file is to its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A metadata file, current or of the log.
    Metadata,
    /// A manifest list.
    ManifestList,
    /// A manifest.
    Manifest,
    /// A data or delete file.
    Data,
    /// A statistics or partition statistics file.
    Statistics,
}

/// Every file that `table` needs, by its normal location.
///
/// # Errors
/// When a manifest list or manifest of any retained snapshot cannot be read, or a list has fewer files
/// than its snapshot's summary: then nobody knows what is reachable, and nothing may be deleted.
pub fn reachable(store: &dyn Store, table: &Table) -> Result<BTreeMap<Location, Kind>> {
    let manifests = |snapshot: &Snapshot| load::manifests(store, snapshot);
    follow(table, manifests, |manifest| load::entries(store, manifest))
}

/// What can still be reached of a table that is half cleaned away: a manifest list or a manifest that
/// is not there any more leads nowhere. Only for asking what may go, never for what must stay.
///
/// # Errors
/// As [`reachable`], but for files that are absent.
pub fn remains(store: &dyn Store, table: &Table) -> Result<BTreeMap<Location, Kind>> {
    let manifests = |snapshot: &Snapshot| or_none(load::manifests(store, snapshot));
    follow(table, manifests, |manifest| or_none(load::entries(store, manifest)))
}

fn or_none<T>(found: Result<Vec<T>>) -> Result<Vec<T>> {
    match found {
        Err(Error::Store(store::Error::NotFound { .. })) => Ok(Vec::new()),
        found => found,
    }
}

/// Follows every path of a table, with what is found at the end of each.
fn follow(
    table: &Table,
    manifests: impl Fn(&Snapshot) -> Result<Vec<ManifestFile>>,
    entries: impl Fn(&ManifestFile) -> Result<Vec<ManifestEntry>>,
) -> Result<BTreeMap<Location, Kind>> {
    let metadata = &table.metadata;
    let mut reached = BTreeMap::new();
    reached.insert(table.metadata_location.clone(), Kind::Metadata);
    reached.insert(metadata.location.join("metadata/version-hint.text")?, Kind::Metadata);
    for entry in &metadata.metadata_log {
        reached.insert(entry.metadata_file.clone(), Kind::Metadata);
    }
    for file in metadata.statistics.iter().chain(&metadata.partition_statistics) {
        reached.insert(file.statistics_path.clone(), Kind::Statistics);
    }
    let mut read = BTreeSet::new();
    for snapshot in &metadata.snapshots {
        reached.insert(snapshot.manifest_list.clone(), Kind::ManifestList);
        for manifest in manifests(snapshot)? {
            reached.insert(manifest.manifest_path.clone(), Kind::Manifest);
            // Most snapshots share most of their manifests: each is read once.
            if !read.insert(manifest.manifest_path.clone()) {
                continue;
            }
            for entry in entries(&manifest)? {
                if entry.is_live() {
                    reached.insert(entry.data_file.file_path, Kind::Data);
                }
            }
        }
    }
    Ok(reached)
}
