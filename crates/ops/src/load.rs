//! From a snapshot to its manifests, from a manifest to its entries: two reads.

use crate::{Error, Result};
use meta::manifest::{self, ManifestEntry};
use meta::manifest_list::{self, ManifestContent, ManifestFile};
use meta::snapshot::Snapshot;
use store::Store;

/// The manifests of a snapshot, in the order of its manifest list.
///
/// Nothing records how long a manifest list is. One that was cut between two blocks still reads, with
/// fewer manifests, and its rows would be missing without a word. The snapshot's summary is the witness:
/// where it has totals and every count is known, the list must lead to as many live files.
///
/// # Errors
/// [`meta::Error::Corrupt`] also for a list that leads to fewer files than the summary counts.
pub fn manifests(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let manifests = manifests_as_listed(store, snapshot)?;
    for (content, key) in [
        (ManifestContent::Data, "total-data-files"),
        (ManifestContent::Deletes, "total-delete-files"),
    ] {
        let of_content = manifests.iter().filter(|manifest| manifest.content == content);
        let live = of_content.map(|manifest| {
            let counts = &manifest.counts;
            Some(i64::from(counts.added_files?) + i64::from(counts.existing_files?))
        });
        let live = live.sum::<Option<i64>>();
        if let (Some(said), Some(live)) = (snapshot.summary.count(key), live)
            && live < said
        {
            let want = format!("{key} {said}, as the snapshot's summary counts");
            let got = format!("manifests with {live}; is the list cut off?");
            return Err(meta::Error::corrupt(&snapshot.manifest_list, "its end", want, got).into());
        }
    }
    Ok(manifests)
}

/// The manifests of a snapshot, whatever its summary says: for the checker, who compares, and for the
/// printer, who shows.
pub fn manifests_as_listed(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let list = &snapshot.manifest_list;
    Ok(manifest_list::decode(list.as_str(), &store.read(list.normal())?)?)
}

/// The entries of a manifest, deleted ones included, with what they inherit.
pub fn entries(store: &dyn Store, manifest: &ManifestFile) -> Result<Vec<ManifestEntry>> {
    Ok(manifest::decode(manifest, &store.read(manifest.manifest_path.normal())?)?)
}

/// The live data files of a snapshot.
///
/// # Errors
/// As [`live_files`].
pub fn live_data_files(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestEntry>> {
    Ok(live_files(store, snapshot)?.into_iter().map(|(_, entry)| entry).collect())
}

/// The live data files of a snapshot, each with the id of its partition spec.
///
/// # Errors
/// [`meta::Error::Unsupported`] when the snapshot has live delete files: its rows would come out
/// wrong without them.
pub fn live_files(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<(i32, ManifestEntry)>> {
    let mut live = Vec::new();
    for manifest in manifests(store, snapshot)? {
        if !manifest.may_be_live() {
            continue;
        }
        let spec_id = manifest.partition_spec_id;
        let entries = entries(store, &manifest)?.into_iter().filter(ManifestEntry::is_live);
        if manifest.content == ManifestContent::Data {
            live.extend(entries.map(|entry| (spec_id, entry)));
        } else if let Some(delete) = entries.into_iter().next() {
            return Err(Error::Meta(meta::Error::unsupported(
                format!("the delete file {}", delete.data_file.file_path),
                "deletes by position or value are not applied yet, and without them rows that \
                 were deleted would come back",
            )));
        }
    }
    Ok(live)
}
