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

use crate::{Result, load};
use catalog::Table;
use meta::Location;
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
/// When a manifest list or manifest of any retained snapshot cannot be read: without it nobody knows
/// what is reachable, and nothing may be deleted.
pub fn reachable(store: &dyn Store, table: &Table) -> Result<BTreeMap<Location, Kind>> {
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
        for manifest in load::manifests(store, snapshot)? {
            reached.insert(manifest.manifest_path.clone(), Kind::Manifest);
            // Most snapshots share most of their manifests: each is read once.
            if !manifest.may_be_live() || !read.insert(manifest.manifest_path.clone()) {
                continue;
            }
            for entry in load::entries(store, &manifest)? {
                if entry.is_live() {
                    reached.insert(entry.data_file.file_path, Kind::Data);
                }
            }
        }
    }
    Ok(reached)
}
