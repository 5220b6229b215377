//! A change of files becomes a snapshot: manifests, then the manifest list, then the line in the
//! metadata.
//!
//! Every verb that changes rows says what it adds and what it removes; this file writes it down:
//!
//! ```text
//!   Change { added: [n], removed: {b} }       parent's list: [m1: a b]  [m2: c]
//!
//!   1  m0 of this commit    added n            written once, kept across attempts
//!   2  m3, for m1           existing a         \ for this parent only
//!      m4                   deleted b          /  one for all the removed files of a spec
//!   3  snap-<id>            m0, m4, m3, m2     for this attempt only
//! ```
//!
//! Manifests that lose nothing are carried over untouched. A change that removes files also lets go
//! of manifests without a live entry: they only recorded an older removal. An append carries every
//! manifest, because letting go is a decision and an append makes none.
//!
//! The manifest of the added files does not hold the sequence number it will get (see
//! [`meta::manifest`]), so a lost race writes steps 2 and 3 again and nothing else.

use crate::commit::{self, Attempt};
use crate::{Error, Result, load};
use catalog::Warehouse;
use meta::data_file::DataFile;
use meta::manifest::{ManifestEntry, Status};
use meta::manifest_list::{self, Counts, ManifestContent, ManifestFile};
use meta::manifest_write::ManifestWriter;
use meta::metadata::TableMetadata;
use meta::partition::PartitionSpec;
use meta::snapshot::{MAIN, Operation, Snapshot, SnapshotRef, Summary};
use meta::update::{Requirement, Update};
use meta::{Location, location};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// What a verb wants to become of a table's files.
#[derive(Debug, Clone)]
pub struct Change {
    /// The verb, as a conflict names it.
    pub verb: &'static str,
    /// The snapshot from which the verb began.
    pub start: Option<i64>,
    /// What the snapshot will say it did.
    pub operation: Operation,
    /// Files to add, all of the table's default spec.
    pub added: Vec<DataFile>,
    /// Live files to remove.
    pub removed: BTreeSet<Location>,
    /// The data sequence number of the added files, where they hold rows older than the commit:
    /// compaction. `None`: they inherit the commit's.
    pub data_sequence_number: Option<i64>,
}

/// The entries of removed files, by the partition spec of their manifest.
type Removed = BTreeMap<i32, Vec<ManifestEntry>>;

/// Writes the metadata files of one change, attempt after attempt.
pub struct Producer<'a> {
    warehouse: &'a Warehouse,
    change: Change,
    snapshot_id: i64,
    /// The uuid in the names of the files.
    commit: Uuid,
    /// The manifest of the added files, once it is written.
    added: Option<ManifestFile>,
    manifests: usize,
    attempts: u32,
    /// What the current attempt wrote.
    written: Vec<Location>,
}

/// A snapshot whose files are written and that no metadata names yet.
pub struct Produced {
    /// The snapshot.
    pub snapshot: Snapshot,
    /// Files that serve this attempt only.
    pub garbage: Vec<Location>,
}

impl<'a> Producer<'a> {
    /// Begins a change. `commit` names its files; a verb that wrote data files gives theirs, so that
    /// the files of one commit are known by one uuid.
    pub fn new(warehouse: &'a Warehouse, change: Change, commit: Uuid) -> Producer<'a> {
        let snapshot_id = warehouse.stamp.snapshot_id();
        Producer {
            warehouse,
            change,
            snapshot_id,
            commit,
            added: None,
            manifests: 0,
            attempts: 0,
            written: Vec::new(),
        }
    }

    /// Whether the change removes any file.
    pub fn removes(&self) -> bool {
        !self.change.removed.is_empty()
    }

    /// The manifest of the added files, if it was written: garbage when the change is given up.
    pub fn added_manifest(&self) -> Option<Location> {
        self.added.as_ref().map(|manifest| manifest.manifest_path.clone())
    }

    /// Writes the files of a snapshot on top of `main`, and says what the catalog is to be asked: the
    /// whole attempt of a verb that makes one snapshot.
    ///
    /// # Errors
    /// As [`Producer::produce`].
    pub fn attempt(&mut self, base: &TableMetadata) -> Result<Attempt> {
        let parent = base.current_snapshot();
        let produced = self.produce(base, parent, base.next_sequence_number()?)?;
        let head = parent.map(|parent| parent.snapshot_id);
        let branch = SnapshotRef::branch(produced.snapshot.snapshot_id);
        Ok(Attempt {
            requirements: vec![Requirement::AssertRefSnapshotId(MAIN.into(), head)],
            updates: vec![
                Update::AddSnapshot(produced.snapshot),
                Update::SetSnapshotRef(MAIN.into(), branch),
            ],
            garbage: produced.garbage,
        })
    }

    /// Writes the files of a snapshot on top of `parent` of the table `base`, to be numbered
    /// `sequence_number`.
    ///
    /// # Errors
    /// [`Error::Conflict`] when a file to remove is not live any more; otherwise what the store says.
    /// Then the files of this attempt are deleted again.
    pub fn produce(
        &mut self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        sequence_number: i64,
    ) -> Result<Produced> {
        self.written.clear();
        let snapshot = self.write(base, parent, sequence_number);
        let kept = self.added_manifest();
        let written = self.written.drain(..);
        let garbage: Vec<_> = written.filter(|path| Some(path) != kept.as_ref()).collect();
        match snapshot {
            Ok(snapshot) => Ok(Produced { snapshot, garbage }),
            Err(e) => {
                commit::discard(self.warehouse, &garbage);
                Err(e)
            }
        }
    }

    fn write(
        &mut self,
        base: &TableMetadata,
        parent: Option<&Snapshot>,
        sequence_number: i64,
    ) -> Result<Snapshot> {
        let mut manifests = Vec::new();
        if let Some(mut added) = self.added_files(base, sequence_number)? {
            added.sequence_number = sequence_number;
            let oldest = self.change.data_sequence_number.unwrap_or(sequence_number);
            added.min_sequence_number = oldest.min(sequence_number);
            manifests.push(added);
        }
        let mut removed = Removed::new();
        let mut carried = Vec::new();
        if let Some(parent) = parent {
            for manifest in load::manifests(self.warehouse.store.as_ref(), parent)? {
                carried.extend(self.carry(base, manifest, sequence_number, &mut removed)?);
            }
        }
        self.check_removed(parent, &removed)?;
        for (spec_id, entries) in &removed {
            let spec = base.spec(*spec_id)?;
            manifests.push(self.write_manifest(base, spec, sequence_number, entries)?);
        }
        manifests.append(&mut carried);
        let parent_id = parent.map(|parent| parent.snapshot_id);
        let name = location::manifest_list_file(self.snapshot_id, self.attempts, self.commit);
        self.attempts += 1;
        let id = self.snapshot_id;
        let list = self.put(base, &name, |sync| {
            Ok(manifest_list::encode(id, parent_id, sequence_number, &manifests, sync))
        })?;
        Ok(Snapshot {
            snapshot_id: self.snapshot_id,
            parent_snapshot_id: parent_id,
            sequence_number,
            timestamp_ms: self.warehouse.stamp.now_ms().max(base.last_updated_ms),
            manifest_list: list.0,
            summary: summarise(&self.change, &removed, base, parent),
            schema_id: Some(base.current_schema_id),
            extra: Default::default(),
        })
    }

    /// Step 1: the manifest of the added files, written at the first attempt.
    fn added_files(
        &mut self,
        base: &TableMetadata,
        sequence_number: i64,
    ) -> Result<Option<ManifestFile>> {
        if self.added.is_none() && !self.change.added.is_empty() {
            let entries: Vec<_> = self
                .change
                .added
                .iter()
                .map(|data_file| ManifestEntry {
                    status: Status::Added,
                    snapshot_id: self.snapshot_id,
                    sequence_number: self.change.data_sequence_number,
                    file_sequence_number: None,
                    data_file: data_file.clone(),
                })
                .collect();
            let spec = base.default_spec()?;
            self.added = Some(self.write_manifest(base, spec, sequence_number, &entries)?);
        }
        Ok(self.added.clone())
    }

    /// Step 2: what becomes of one of the parent's manifests. Entries that go are put to `removed`.
    fn carry(
        &mut self,
        base: &TableMetadata,
        manifest: ManifestFile,
        sequence_number: i64,
        removed: &mut Removed,
    ) -> Result<Option<ManifestFile>> {
        let manifest = self.counted(manifest)?;
        if self.change.removed.is_empty() || manifest.content == ManifestContent::Deletes {
            return Ok(Some(manifest));
        }
        if !manifest.may_be_live() {
            return Ok(None);
        }
        let entries = load::entries(self.warehouse.store.as_ref(), &manifest)?;
        let (mut gone, mut left) = (Vec::new(), Vec::new());
        for mut entry in entries.into_iter().filter(ManifestEntry::is_live) {
            if self.change.removed.contains(&entry.data_file.file_path) {
                entry.status = Status::Deleted;
                entry.snapshot_id = self.snapshot_id;
                gone.push(entry);
            } else {
                entry.status = Status::Existing;
                left.push(entry);
            }
        }
        if gone.is_empty() {
            return Ok(Some(manifest).filter(|_| !left.is_empty()));
        }
        removed.entry(manifest.partition_spec_id).or_default().append(&mut gone);
        if left.is_empty() {
            return Ok(None);
        }
        let spec = base.spec(manifest.partition_spec_id)?;
        Ok(Some(self.write_manifest(base, spec, sequence_number, &left)?))
    }

    /// The manifest with every count known. Version 1 left them open, and a list of version 2 may not.
    fn counted(&self, mut manifest: ManifestFile) -> Result<ManifestFile> {
        if manifest.counts.known().is_none() {
            let entries = load::entries(self.warehouse.store.as_ref(), &manifest)?;
            manifest.counts = Counts::of(&entries);
        }
        Ok(manifest)
    }

    /// Every file to remove must have been live.
    fn check_removed(&self, parent: Option<&Snapshot>, removed: &Removed) -> Result<()> {
        let entries = removed.values().flatten();
        let found: BTreeSet<_> = entries.map(|entry| &entry.data_file.file_path).collect();
        match self.change.removed.iter().find(|path| !found.contains(path)) {
            None => Ok(()),
            Some(gone) => Err(Error::Conflict {
                operation: self.change.verb,
                rule: "C4: every file it removes is still live",
                why: format!("{gone} is not live any more"),
                ours: self.change.start.map_or("none".into(), |id| id.to_string()),
                theirs: parent.map_or("none".into(), |parent| parent.snapshot_id.to_string()),
            }),
        }
    }

    fn write_manifest(
        &mut self,
        base: &TableMetadata,
        spec: &PartitionSpec,
        sequence_number: i64,
        entries: &[ManifestEntry],
    ) -> Result<ManifestFile> {
        let name = location::manifest_file(self.commit, self.manifests);
        self.manifests += 1;
        let content = ManifestContent::Data;
        let (path, length) = self.put(base, &name, |sync| {
            let schema = base.current_schema()?;
            let writer = ManifestWriter { schema, schemas: &base.schemas, spec, content };
            Ok(writer.encode(entries, sync)?)
        })?;
        let by = (self.snapshot_id, sequence_number);
        Ok(ManifestFile::describe(path, length, spec, content, by, entries))
    }

    /// Writes a metadata file under a new name. The store has it safe on disk when this returns.
    fn put(
        &mut self,
        base: &TableMetadata,
        name: &str,
        encode: impl FnOnce([u8; 16]) -> Result<Vec<u8>>,
    ) -> Result<(Location, i64)> {
        let path = base.location.join(name)?;
        let bytes = encode(self.warehouse.stamp.uuid().into_bytes())?;
        let length = store::put_new(self.warehouse.store.as_ref(), path.normal(), &bytes)?;
        self.written.push(path.clone());
        Ok((path, i64::try_from(length).unwrap_or(i64::MAX)))
    }
}

/// The summary of a change: its counts, where they are not zero, and the table's totals after it
/// (specification, Appendix F "Optional Snapshot Summary Fields").
fn summarise(
    change: &Change,
    removed: &Removed,
    base: &TableMetadata,
    parent: Option<&Snapshot>,
) -> Summary {
    let sum = |counts: &mut dyn Iterator<Item = i64>| counts.fold(0, i64::saturating_add);
    let rows = |files: &[&DataFile]| sum(&mut files.iter().map(|file| file.record_count));
    let bytes = |files: &[&DataFile]| sum(&mut files.iter().map(|file| file.file_size_in_bytes));
    let added: &Vec<_> = &change.added.iter().collect();
    let removed: &Vec<_> = &removed.values().flatten().map(|entry| &entry.data_file).collect();
    let (more, less) = (added.len() as i64, removed.len() as i64);
    let mut properties: BTreeMap<String, String> = [
        ("added-data-files", more),
        ("added-records", rows(added)),
        ("added-files-size", bytes(added)),
        ("deleted-data-files", less),
        ("deleted-records", rows(removed)),
        ("removed-files-size", bytes(removed)),
    ]
    .into_iter()
    .filter(|(_, count)| *count != 0)
    .map(|(key, count)| (key.to_string(), count.to_string()))
    .collect();
    if base.partition_specs.iter().any(|spec| !spec.is_unpartitioned()) {
        let tuples = added.iter().chain(removed).map(|file| format!("{:?}", file.partition));
        let count = tuples.collect::<BTreeSet<_>>().len();
        properties.insert("changed-partition-count".into(), count.to_string());
    }
    for (key, delta) in [
        ("total-data-files", more - less),
        ("total-records", rows(added) - rows(removed)),
        ("total-files-size", bytes(added) - bytes(removed)),
        ("total-delete-files", 0),
        ("total-position-deletes", 0),
        ("total-equality-deletes", 0),
    ] {
        // A total that the parent does not have, or that is no number, cannot be continued.
        let before = parent.map_or(Some(0), |parent| parent.summary.count(key));
        if let Some(total) = before.and_then(|before| before.checked_add(delta)) {
            properties.insert(key.into(), total.to_string());
        }
    }
    Summary { operation: change.operation, properties }
}
