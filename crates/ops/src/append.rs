//! Append: add rows. The shortest verb; read this first.
//!
//! ```text
//!   1  write the rows                        data/00000-0-<uuid>.parquet       write.rs
//!   2  write a manifest that lists the file  metadata/<uuid>-m0.avro           snapshot.rs
//!   3  write a manifest list                 metadata/snap-<id>-0-<uuid>.avro  snapshot.rs
//!   4  ask the catalog to swap the pointer   metadata/0000N-<uuid>.metadata.json   commit.rs
//! ```
//!
//! Until step 4 succeeds no reader can see anything of it. An append reads no rows, so no rival can
//! forbid it: when the race is lost, steps 3 and 4 are done again on top of the winner.

use crate::commit;
use crate::snapshot::{Change, Producer};
use crate::{Result, write};
use arrow_array::RecordBatch;
use catalog::{Table, Warehouse};
use meta::snapshot::Operation;
use std::collections::BTreeSet;

/// Adds the rows of `batches` to the table, as one commit, and returns the table after it. No rows
/// make a snapshot all the same, as in the other engines.
///
/// # Errors
/// [`crate::Error::Invalid`] when the rows do not fit the schema; otherwise as [`commit::commit`].
pub fn append(warehouse: &Warehouse, table: &Table, batches: &[RecordBatch]) -> Result<Table> {
    let write = warehouse.stamp.uuid();
    let rows = batches.iter().cloned().map(Ok);
    let added = write::data_files(warehouse, &table.metadata, write, rows)?;
    let mut files: Vec<_> = added.iter().map(|file| file.file_path.clone()).collect();
    let change = Change {
        verb: "append",
        start: table.metadata.current_snapshot_id,
        operation: Operation::Append,
        added,
        removed: BTreeSet::new(),
        data_sequence_number: None,
    };
    let mut producer = Producer::new(warehouse, change, write);
    let result =
        commit::commit(warehouse, "append", table, |table| producer.attempt(&table.metadata));
    files.extend(producer.added_manifest());
    commit::discard_after(warehouse, result, || files)
}
