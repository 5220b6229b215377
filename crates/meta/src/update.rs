//! The commit language: what a commit requires, and what it changes.
//!
//! A commit never sends a whole metadata file. It sends *requirements*, which the current metadata
//! must still meet, and *updates*, which are applied to it. The words are those of the REST catalog
//! (`TableRequirement` and `TableUpdate` in its OpenAPI document):
//!
//! ```text
//!   append      requires  assert-table-uuid, assert-ref-snapshot-id main = 402
//!               updates   add-snapshot 713, set-snapshot-ref main = 713
//! ```
//!
//! [`apply`] is the only function that makes new metadata out of old. It keeps what a commit could
//! forget: the last sequence number, both logs, the references' own settings.

use crate::metadata::{MetadataLogEntry, SnapshotLogEntry, TableMetadata};
use crate::snapshot::{MAIN, RefKind, Snapshot, SnapshotRef};
use crate::{Error, Location, Result};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What must hold of the current metadata for a commit to be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Requirement {
    /// The table is the one that the writer opened, not another of its name.
    AssertTableUuid(Uuid),
    /// The reference still names this snapshot; `None` that it does not exist.
    AssertRefSnapshotId(String, Option<i64>),
}

/// One change of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// Adds a snapshot; no reference moves.
    AddSnapshot(Snapshot),
    /// Creates a reference or moves it. Settings that `None` leaves open keep their value.
    SetSnapshotRef(String, SnapshotRef),
    /// Forgets snapshots that no reference names, with their statistics.
    RemoveSnapshots(BTreeSet<i64>),
    /// Sets properties.
    SetProperties(BTreeMap<String, String>),
}

impl Requirement {
    /// Tests the requirement. The error is what was found instead, for a message.
    pub fn check(&self, metadata: &TableMetadata) -> std::result::Result<(), String> {
        match self {
            Requirement::AssertTableUuid(uuid) if *uuid != metadata.table_uuid => Err(format!(
                "the table is another one now: its uuid is {}, not {uuid}",
                metadata.table_uuid
            )),
            Requirement::AssertTableUuid(_) => Ok(()),
            Requirement::AssertRefSnapshotId(name, want) => {
                let is = metadata.refs.get(name).map(|reference| reference.snapshot_id);
                let show =
                    |id: Option<i64>| id.map_or("nothing".into(), |id| format!("snapshot {id}"));
                if is == *want {
                    return Ok(());
                }
                Err(format!("{name} names {} now, not {}", show(is), show(*want)))
            }
        }
    }
}

/// Applies `updates` to `base`, which lies in the file `base_file`, at the time `now_ms`.
///
/// # Errors
/// [`Error::Invalid`] when an update contradicts the metadata: a snapshot id that is taken, a
/// sequence number that does not rise, a reference to no snapshot, `main` as a tag.
pub fn apply(
    base: &TableMetadata,
    base_file: &Location,
    updates: &[Update],
    now_ms: i64,
) -> Result<TableMetadata> {
    let mut metadata = base.clone();
    // A clock that was set back must not make the table look older than it is.
    metadata.last_updated_ms = now_ms.max(base.last_updated_ms);
    for update in updates {
        match update {
            Update::AddSnapshot(snapshot) => add_snapshot(&mut metadata, snapshot)?,
            Update::SetSnapshotRef(name, reference) => {
                let added = updates.iter().any(|update| match update {
                    Update::AddSnapshot(snapshot) => snapshot.snapshot_id == reference.snapshot_id,
                    _ => false,
                });
                set_ref(&mut metadata, name, reference, added)?;
            }
            Update::RemoveSnapshots(ids) => remove_snapshots(&mut metadata, ids)?,
            Update::SetProperties(properties) => metadata.properties.extend(properties.clone()),
        }
    }
    metadata.metadata_log.push(MetadataLogEntry {
        metadata_file: base_file.clone(),
        timestamp_ms: base.last_updated_ms,
    });
    let keep = metadata.number("write.metadata.previous-versions-max", 100).max(1);
    let surplus = metadata.metadata_log.len().saturating_sub(usize::try_from(keep).unwrap_or(1));
    metadata.metadata_log.drain(..surplus);
    metadata.check().map_err(|broken| {
        let why = format!("expected {}, found {}", broken.want, broken.got);
        Error::invalid(format!("the change of {}", broken.at), why)
    })?;
    Ok(metadata)
}

fn add_snapshot(metadata: &mut TableMetadata, snapshot: &Snapshot) -> Result<()> {
    if metadata.format_version > 2 {
        return Err(Error::unsupported(
            "adding a snapshot to a table of format version 3",
            "its rows need row ids, which are not assigned yet",
        ));
    }
    if metadata.snapshot(snapshot.snapshot_id).is_some() {
        return Err(Error::invalid(
            format!("adding snapshot {}", snapshot.snapshot_id),
            "the table has a snapshot with that id already",
        ));
    }
    if metadata.format_version > 1 && snapshot.sequence_number <= metadata.last_sequence_number {
        return Err(Error::invalid(
            format!("adding a snapshot with sequence number {}", snapshot.sequence_number),
            format!("it must be above the last one, {}", metadata.last_sequence_number),
        ));
    }
    metadata.last_sequence_number = snapshot.sequence_number;
    metadata.last_updated_ms = metadata.last_updated_ms.max(snapshot.timestamp_ms);
    metadata.snapshots.push(snapshot.clone());
    Ok(())
}

/// Moves or creates a reference. When `main` moves, the snapshot log says so: at the snapshot's own
/// time when it was `added` by this commit, else at the time of the commit (a rollback).
fn set_ref(
    metadata: &mut TableMetadata,
    name: &str,
    reference: &SnapshotRef,
    added: bool,
) -> Result<()> {
    let Some(snapshot) = metadata.snapshot(reference.snapshot_id) else {
        return Err(Error::invalid(
            format!("naming snapshot {} {name:?}", reference.snapshot_id),
            "the table has no snapshot with that id",
        ));
    };
    let timestamp_ms = if added { snapshot.timestamp_ms } else { metadata.last_updated_ms };
    let mut reference = reference.clone();
    if let Some(old) = metadata.refs.get(name).filter(|old| old.kind == reference.kind) {
        reference.min_snapshots_to_keep =
            reference.min_snapshots_to_keep.or(old.min_snapshots_to_keep);
        reference.max_snapshot_age_ms = reference.max_snapshot_age_ms.or(old.max_snapshot_age_ms);
        reference.max_ref_age_ms = reference.max_ref_age_ms.or(old.max_ref_age_ms);
    }
    if name == MAIN {
        if reference.kind == RefKind::Tag {
            return Err(Error::invalid("making main a tag", "main is the table's branch"));
        }
        let snapshot_id = reference.snapshot_id;
        if metadata.current_snapshot_id != Some(snapshot_id) {
            metadata.current_snapshot_id = Some(snapshot_id);
            metadata.snapshot_log.push(SnapshotLogEntry { snapshot_id, timestamp_ms });
        }
    }
    metadata.refs.insert(name.to_string(), reference);
    Ok(())
}

/// Forgets snapshots, and the statistics of them. One that a reference names is not forgotten behind
/// the reference's back: whoever wants that drops the name first, and says so. (A rival may have given
/// the name after the ids were chosen.)
///
/// The specification says of the snapshot log that "all entries before a snapshot that has expired
/// should be removed". Here, as in PyIceberg, only the entries of the forgotten snapshots go: a
/// learner who kept `snap_v1` on purpose still finds it in the table's history.
fn remove_snapshots(metadata: &mut TableMetadata, ids: &BTreeSet<i64>) -> Result<()> {
    let mut names = metadata.refs.iter();
    if let Some((name, reference)) = names.find(|(_, r)| ids.contains(&r.snapshot_id)) {
        return Err(Error::invalid(
            format!("forgetting snapshot {}", reference.snapshot_id),
            format!("{name:?} names it; move or drop {name:?} first"),
        ));
    }
    metadata.snapshots.retain(|snapshot| !ids.contains(&snapshot.snapshot_id));
    metadata.snapshot_log.retain(|entry| !ids.contains(&entry.snapshot_id));
    metadata.statistics.retain(|file| !ids.contains(&file.snapshot_id));
    metadata.partition_statistics.retain(|file| !ids.contains(&file.snapshot_id));
    Ok(())
}
