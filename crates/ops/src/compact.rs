//! Compact: many small files become few large ones, with the same rows.
//!
//! ```text
//!   plan   bins of small files, each about one target file      decides, touches nothing
//!   run    read each bin, write it as one file, then one        snapshot "replace"
//!          commit that swaps the old files for the new ones
//!
//!   before   s7   d1 d2 d3 d4 d5 d6 d7     seven files, 40 rows
//!   after    s8   d8                       one file, 40 rows; s7 still shows the seven
//! ```
//!
//! The old files stay: every earlier snapshot needs them. They go when those snapshots expire.
//!
//! The new file holds old rows, and says so: its data sequence number is that of the snapshot the
//! compaction began from, not that of its own commit. A delete that a rival commits meanwhile has a
//! higher number, so it still applies to the rows it meant; and one that has been applied to the old
//! files already does not apply twice.

use crate::commit;
use crate::conflict::{self, Rules};
use crate::resolve::Constants;
use crate::scan::Batches;
use crate::snapshot::{Change, Producer};
use crate::{Error, Result, load, write};
use catalog::{Table, Warehouse};
use meta::data_file::DataFile;
use meta::metadata::TableMetadata;
use meta::snapshot::Operation;
use store::Store;

/// What is worth rewriting.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// How large a file should be, in bytes.
    pub target_file_size: u64,
    /// How many files a bin must bring together to be worth it, unless it fills a whole file.
    pub min_input_files: usize,
}

impl Options {
    /// The table's own target, and at least five files for one.
    pub fn of(metadata: &TableMetadata) -> Options {
        Options {
            target_file_size: metadata
                .number("write.target-file-size-bytes", write::TARGET_FILE_SIZE),
            min_input_files: 5,
        }
    }

    /// Below three quarters of the target a file is small.
    fn is_small(&self, file: &DataFile) -> bool {
        size(file) < self.target_file_size / 4 * 3
    }
}

fn size(file: &DataFile) -> u64 {
    u64::try_from(file.file_size_in_bytes).unwrap_or(0)
}

/// Which files would be rewritten, and why the others stay.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// The snapshot the plan was made from.
    pub snapshot_id: Option<i64>,
    /// Files to bring together, bin by bin.
    pub bins: Vec<Vec<DataFile>>,
    /// Files that stay, each with the reason.
    pub keep: Vec<(DataFile, String)>,
}

/// Plans a compaction of the current snapshot.
///
/// # Errors
/// [`meta::Error::Unsupported`] when the snapshot has delete files; otherwise what the store says.
pub fn plan(store: &dyn Store, table: &Table, options: &Options) -> Result<Plan> {
    let Some(snapshot) = table.metadata.current_snapshot() else {
        return Ok(Plan::default());
    };
    let mut plan = Plan { snapshot_id: Some(snapshot.snapshot_id), ..Plan::default() };
    let mut small = Vec::new();
    for (spec_id, entry) in load::live_files(store, snapshot)? {
        if spec_id != table.metadata.default_spec_id {
            plan.keep.push((entry.data_file, format!("it is grouped by the older spec {spec_id}")));
        } else if options.is_small(&entry.data_file) {
            small.push(entry.data_file);
        } else {
            plan.keep.push((entry.data_file, "it is large enough".into()));
        }
    }
    // One file alone has nobody to be brought together with.
    let enough = options.min_input_files.max(2);
    for bin in pack(small, options.target_file_size) {
        let full = bin.iter().map(size).sum::<u64>() >= options.target_file_size / 4 * 3;
        if bin.len() >= enough || (full && bin.len() > 1) {
            plan.bins.push(bin);
        } else {
            let why = format!("only {} small files, {enough} are wanted", bin.len());
            plan.keep.extend(bin.into_iter().map(|file| (file, why.clone())));
        }
    }
    Ok(plan)
}

/// Fills bins of at most `target` bytes, in order; a file larger than that has a bin of its own.
fn pack(files: Vec<DataFile>, target: u64) -> Vec<Vec<DataFile>> {
    let mut bins: Vec<(u64, Vec<DataFile>)> = Vec::new();
    for file in files {
        match bins.last_mut() {
            Some((filled, bin)) if filled.saturating_add(size(&file)) <= target => {
                *filled = filled.saturating_add(size(&file));
                bin.push(file);
            }
            _ => bins.push((size(&file), vec![file])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).collect()
}

/// Carries out the plan in one commit, and returns the table after it.
///
/// # Errors
/// [`Error::Conflict`] when a rival removed one of the files or committed deletes meanwhile;
/// [`Error::Invalid`] when the rewritten files do not have as many rows as the old ones, which would
/// be a bug here and is never committed; otherwise as [`commit::commit`].
pub fn run(warehouse: &Warehouse, table: &Table, plan: &Plan) -> Result<Table> {
    let Some(start) = plan.snapshot_id.and_then(|id| table.metadata.snapshot(id)) else {
        return Ok(table.clone());
    };
    if plan.bins.is_empty() {
        return Ok(table.clone());
    }
    let write = warehouse.stamp.uuid();
    let added = rewrite(warehouse, &table.metadata, plan, write)?;
    let mut files: Vec<_> = added.iter().map(|file| file.file_path.clone()).collect();
    let change = Change {
        verb: "compaction",
        start: plan.snapshot_id,
        operation: Operation::Replace,
        added,
        removed: plan.bins.iter().flatten().map(|file| file.file_path.clone()).collect(),
        data_sequence_number: Some(start.sequence_number),
    };
    let mut producer = Producer::new(warehouse, change, write);
    let store = warehouse.store.as_ref();
    let result = commit::commit(warehouse, "compaction", table, |table| {
        let base = &table.metadata;
        let rules = Rules { no_new_rows: false };
        conflict::check(store, "compaction", plan.snapshot_id, base, rules)?;
        producer.attempt(base)
    });
    files.extend(producer.added_manifest());
    commit::discard_after(warehouse, result, || files)
}

/// Writes the rows of each bin into one new file, and counts them.
fn rewrite(
    warehouse: &Warehouse,
    metadata: &TableMetadata,
    plan: &Plan,
    write: uuid::Uuid,
) -> Result<Vec<DataFile>> {
    let fields = &metadata.current_schema()?.fields;
    let bins = plan.bins.iter().map(|bin| {
        // All of them are of the default spec, which is unpartitioned: none has constants.
        let files = bin.iter().map(|file| (file.clone(), Constants::new())).collect();
        Batches::new(&warehouse.store, fields.clone(), files)
    });
    let added = write::one_file_each(warehouse, metadata, write, bins)?;
    let count = |files: &mut dyn Iterator<Item = &DataFile>| -> i64 {
        files.fold(0, |rows, file| rows.saturating_add(file.record_count))
    };
    let (before, after) = (count(&mut plan.bins.iter().flatten()), count(&mut added.iter()));
    if before != after {
        let files: Vec<_> = added.iter().map(|file| file.file_path.clone()).collect();
        commit::discard(warehouse, &files);
        return Err(Error::invalid(
            format!("replacing {before} rows by {after}"),
            "a compaction keeps every row; nothing was committed. Please report this",
        ));
    }
    Ok(added)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meta::Location;

    fn files(sizes: &[i64]) -> Vec<DataFile> {
        let file = |size: &i64| DataFile::new(Location::parse("/d").unwrap(), 1, *size);
        sizes.iter().map(file).collect()
    }

    #[test]
    fn bins_keep_the_order_and_stay_below_the_target() {
        let sizes = |bins: Vec<Vec<DataFile>>| -> Vec<Vec<i64>> {
            bins.iter().map(|b| b.iter().map(|f| f.file_size_in_bytes).collect()).collect()
        };
        assert_eq!(sizes(pack(files(&[4, 4, 4, 9, 1]), 10)), [vec![4, 4], vec![4], vec![9, 1]]);
        assert_eq!(sizes(pack(files(&[11, 1]), 10)), [vec![11], vec![1]]);
        assert!(pack(Vec::new(), 10).is_empty());
    }
}
