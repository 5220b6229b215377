//! Overwrite: replace every row.
//!
//! As in PyIceberg, one commit holds two snapshots, a `delete` of every live file and an `append` of
//! the new ones; readers see both or neither. On a table without files there is nothing to delete,
//! and only the append is made.
//!
//! ```text
//!   before   00001  s1 append  +a
//!   after    00002  s1 append  +a
//!                   s2 delete  -a        \  one metadata file, one swap
//!                   s3 append  +b        /
//! ```
//!
//! The rows that were there are the reason for the new ones, so a rival who added rows meanwhile is a
//! conflict (see [`crate::conflict`]).

use crate::commit::{self, Attempt};
use crate::conflict::{self, Rules};
use crate::snapshot::{Change, Producer};
use crate::{Result, load, write};
use arrow_array::RecordBatch;
use catalog::{Table, Warehouse};
use meta::snapshot::{MAIN, Operation, SnapshotRef};
use meta::update::{Requirement, Update};
use std::collections::BTreeSet;

/// Replaces every row of the table by those of `batches`, as one commit of two snapshots, and returns
/// the table after it.
///
/// # Errors
/// [`crate::Error::Invalid`] when the rows do not fit the schema; [`crate::Error::Conflict`] when a
/// rival changed the rows meanwhile; otherwise as [`commit::commit`].
pub fn overwrite(warehouse: &Warehouse, table: &Table, batches: &[RecordBatch]) -> Result<Table> {
    let store = warehouse.store.as_ref();
    let live = match table.metadata.current_snapshot() {
        Some(snapshot) => load::live_data_files(store, snapshot)?,
        None => Vec::new(),
    };
    let write = warehouse.stamp.uuid();
    let rows = batches.iter().cloned().map(Ok);
    let added = write::data_files(warehouse, &table.metadata, write, rows)?;
    let mut files: Vec<_> = added.iter().map(|file| file.file_path.clone()).collect();

    let (verb, start) = ("overwrite", table.metadata.current_snapshot_id);
    let mut delete = Producer::new(
        warehouse,
        Change {
            verb,
            start,
            operation: Operation::Delete,
            added: Vec::new(),
            removed: live.into_iter().map(|entry| entry.data_file.file_path).collect(),
            data_sequence_number: None,
        },
        warehouse.stamp.uuid(),
    );
    let deletes = delete.removes();
    let mut append = Producer::new(
        warehouse,
        Change {
            verb,
            start,
            operation: Operation::Append,
            added,
            removed: BTreeSet::new(),
            data_sequence_number: None,
        },
        write,
    );
    let result = commit::commit(warehouse, verb, table, |table| {
        let base = &table.metadata;
        conflict::check(store, verb, start, base, Rules { no_new_rows: true })?;
        let head = base.current_snapshot();
        let mut attempt = Attempt {
            requirements: vec![Requirement::AssertRefSnapshotId(
                MAIN.into(),
                head.map(|head| head.snapshot_id),
            )],
            updates: Vec::new(),
            garbage: Vec::new(),
        };
        let mut parent = head.cloned();
        let producers = [Some(&mut delete).filter(|_| deletes), Some(&mut append)];
        for (producer, number) in
            producers.into_iter().flatten().zip(base.next_sequence_number()?..)
        {
            let produced = producer.produce(base, parent.as_ref(), number).inspect_err(|_| {
                commit::discard(warehouse, &attempt.garbage);
            })?;
            let branch = SnapshotRef::branch(produced.snapshot.snapshot_id);
            attempt.updates.push(Update::AddSnapshot(produced.snapshot.clone()));
            attempt.updates.push(Update::SetSnapshotRef(MAIN.into(), branch));
            attempt.garbage.extend(produced.garbage);
            parent = Some(produced.snapshot);
        }
        Ok(attempt)
    });
    files.extend(append.added_manifest());
    commit::discard_after(warehouse, result, || files)
}
