//! The metadata tables: a table's own structure, as rows.
//!
//! ```text
//!   history          made_current_at, snapshot_id, parent_id, is_current_ancestor
//!   snapshots        committed_at, snapshot_id, parent_id, operation, manifest_list, summary
//!   files            the live files of the current snapshot
//!   all_data_files   the live data files of every retained snapshot, each once
//! ```
//!
//! The columns are named as in Java and PyIceberg.

use crate::{Error, Result, load};
use arrow_array::builder::{
    BinaryBuilder, Int32Builder, Int64Builder, MapBuilder, MapFieldNames, StringBuilder,
};
use arrow_array::{
    ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray,
};
use catalog::Table;
use meta::data_file::DataFile;
use meta::metadata::TableMetadata;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::Store;

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch> {
    RecordBatch::try_from_iter(columns).map_err(|e| Error::invalid("a metadata table", e))
}

/// When the current snapshot changed, the oldest first: the snapshot log.
pub fn history(metadata: &TableMetadata) -> Result<RecordBatch> {
    let log = &metadata.snapshot_log;
    let ancestors: BTreeSet<_> =
        metadata.ancestors(metadata.current_snapshot_id).map(|s| s.snapshot_id).collect();
    let times = log.iter().map(|entry| entry.timestamp_ms);
    let parents = log.iter().map(|entry| metadata.snapshot(entry.snapshot_id)?.parent_snapshot_id);
    let current = log.iter().map(|entry| Some(ancestors.contains(&entry.snapshot_id)));
    batch(vec![
        ("made_current_at", Arc::new(TimestampMillisecondArray::from_iter_values(times))),
        ("snapshot_id", Arc::new(Int64Array::from_iter_values(log.iter().map(|e| e.snapshot_id)))),
        ("parent_id", Arc::new(Int64Array::from_iter(parents))),
        ("is_current_ancestor", Arc::new(BooleanArray::from_iter(current))),
    ])
}

/// Every retained snapshot, the oldest first.
pub fn snapshots(metadata: &TableMetadata) -> Result<RecordBatch> {
    let all = &metadata.snapshots;
    let names =
        MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut summary = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for snapshot in all {
        for (key, value) in &snapshot.summary.properties {
            summary.keys().append_value(key);
            summary.values().append_value(value);
        }
        summary.append(true).map_err(|e| Error::invalid("a summary", e))?;
    }
    let times = all.iter().map(|snapshot| snapshot.timestamp_ms);
    let lists = all.iter().map(|snapshot| snapshot.manifest_list.as_str());
    let operations = all.iter().map(|snapshot| snapshot.summary.operation.as_str());
    batch(vec![
        ("committed_at", Arc::new(TimestampMillisecondArray::from_iter_values(times))),
        ("snapshot_id", Arc::new(Int64Array::from_iter_values(all.iter().map(|s| s.snapshot_id)))),
        ("parent_id", Arc::new(Int64Array::from_iter(all.iter().map(|s| s.parent_snapshot_id)))),
        ("operation", Arc::new(StringArray::from_iter_values(operations))),
        ("manifest_list", Arc::new(StringArray::from_iter_values(lists))),
        ("summary", Arc::new(summary.finish())),
    ])
}

/// The live files of the current snapshot: data files, then delete files.
pub fn files(store: &dyn Store, table: &Table) -> Result<RecordBatch> {
    let mut files = Vec::new();
    if let Some(snapshot) = table.metadata.current_snapshot() {
        for manifest in load::manifests(store, snapshot)? {
            for entry in load::entries(store, &manifest)?.into_iter().filter(|e| e.is_live()) {
                files.push((manifest.partition_spec_id, entry.data_file));
            }
        }
    }
    files.sort_by_key(|(_, file)| file.content.code());
    files_batch(&files)
}

/// The live data files of every retained snapshot, each once, in the order they came.
pub fn all_data_files(store: &dyn Store, table: &Table) -> Result<RecordBatch> {
    let mut files = Vec::new();
    let (mut manifests_seen, mut files_seen) = (BTreeSet::new(), BTreeSet::new());
    for snapshot in &table.metadata.snapshots {
        for manifest in load::manifests(store, snapshot)? {
            if !manifests_seen.insert(manifest.manifest_path.clone()) {
                continue;
            }
            for entry in load::entries(store, &manifest)? {
                let file = entry.data_file.clone();
                let data = file.content == meta::data_file::Content::Data;
                if data && entry.is_live() && files_seen.insert(file.file_path.clone()) {
                    files.push((manifest.partition_spec_id, file));
                }
            }
        }
    }
    files_batch(&files)
}

fn files_batch(files: &[(i32, DataFile)]) -> Result<RecordBatch> {
    let longs = |get: fn(&DataFile) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(files.iter().map(|(_, file)| get(file))))
    };
    let texts = |get: fn(&DataFile) -> &str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(files.iter().map(|(_, file)| get(file))))
    };
    let contents = files.iter().map(|(_, file)| file.content.code());
    let orders = files.iter().map(|(_, file)| file.sort_order_id);
    batch(vec![
        ("content", Arc::new(Int32Array::from_iter_values(contents))),
        ("file_path", texts(|file| file.file_path.as_str())),
        ("file_format", texts(|file| file.file_format.as_str())),
        ("spec_id", Arc::new(Int32Array::from_iter_values(files.iter().map(|(spec, _)| *spec)))),
        ("record_count", longs(|file| file.record_count)),
        ("file_size_in_bytes", longs(|file| file.file_size_in_bytes)),
        ("column_sizes", counts(files, |file| &file.column_sizes)?),
        ("value_counts", counts(files, |file| &file.value_counts)?),
        ("null_value_counts", counts(files, |file| &file.null_value_counts)?),
        ("nan_value_counts", counts(files, |file| &file.nan_value_counts)?),
        ("lower_bounds", bounds(files, |file| &file.lower_bounds)?),
        ("upper_bounds", bounds(files, |file| &file.upper_bounds)?),
        ("sort_order_id", Arc::new(Int32Array::from_iter(orders))),
    ])
}

fn counts(
    files: &[(i32, DataFile)],
    get: fn(&DataFile) -> &BTreeMap<i32, i64>,
) -> Result<ArrayRef> {
    let mut maps = MapBuilder::new(None, Int32Builder::new(), Int64Builder::new());
    for (_, file) in files {
        for (id, count) in get(file) {
            maps.keys().append_value(*id);
            maps.values().append_value(*count);
        }
        maps.append(true).map_err(|e| Error::invalid("a map of counts", e))?;
    }
    Ok(Arc::new(maps.finish()))
}

fn bounds(
    files: &[(i32, DataFile)],
    get: fn(&DataFile) -> &BTreeMap<i32, Vec<u8>>,
) -> Result<ArrayRef> {
    let mut maps = MapBuilder::new(None, Int32Builder::new(), BinaryBuilder::new());
    for (_, file) in files {
        for (id, bound) in get(file) {
            maps.keys().append_value(*id);
            maps.values().append_value(bound);
        }
        maps.append(true).map_err(|e| Error::invalid("a map of bounds", e))?;
    }
    Ok(Arc::new(maps.finish()))
}
