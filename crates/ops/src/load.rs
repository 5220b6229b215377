//! From a snapshot to its manifests, from a manifest to its entries: two reads.

use crate::{Error, Result};
use meta::manifest::{self, ManifestEntry};
use meta::manifest_list::{self, ManifestContent, ManifestFile};
use meta::snapshot::Snapshot;
use store::Store;

/// The manifests of a snapshot, in the order of its manifest list.
///
/// Nothing records how long a manifest list is, and one that was cut right after its header reads as an
/// empty one: a table without files. The snapshot's summary is the witness against that.
///
/// # Errors
/// [`meta::Error::Corrupt`] also for a list that leads to no file where the summary counts some.
pub fn manifests(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let list = &snapshot.manifest_list;
    let manifests = manifest_list::decode(list.as_str(), &store.read(list.normal())?)?;
    let files = snapshot.summary.count("total-data-files").unwrap_or(0);
    if files > 0 && !manifests.iter().any(ManifestFile::may_be_live) {
        let want = format!("the {files} data files that the snapshot's summary counts");
        let got = "manifests without one live file; is it truncated?";
        return Err(meta::Error::corrupt(list, "its end", want, got).into());
    }
    Ok(manifests)
}

/// The entries of a manifest, deleted ones included, with what they inherit.
pub fn entries(store: &dyn Store, manifest: &ManifestFile) -> Result<Vec<ManifestEntry>> {
    Ok(manifest::decode(manifest, &store.read(manifest.manifest_path.normal())?)?)
}

/// The live data files of a snapshot.
///
/// # Errors
/// [`meta::Error::Unsupported`] when the snapshot has live delete files: its rows would come out
/// wrong without them.
pub fn live_data_files(store: &dyn Store, snapshot: &Snapshot) -> Result<Vec<ManifestEntry>> {
    let mut live = Vec::new();
    for manifest in manifests(store, snapshot)? {
        if !manifest.may_be_live() {
            continue;
        }
        let entries = entries(store, &manifest)?.into_iter().filter(ManifestEntry::is_live);
        if manifest.content == ManifestContent::Data {
            live.extend(entries);
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
