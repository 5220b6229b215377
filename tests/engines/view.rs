//! A table as Kiosko sees it, in the form of `pyiceberg_table.py`: two views of one table can be
//! compared word for word.

use kiosko::Table;
use serde_json::{Map, Value as Json, json};

/// Everything that another reader of the table must agree on: its `describe`.
pub fn describe(table: &Table) -> Json {
    let metadata = table.metadata();
    let snapshots = metadata.snapshots.iter().map(|snapshot| {
        json!({
            "snapshot_id": snapshot.snapshot_id.to_string(),
            "parent_snapshot_id": identifier(snapshot.parent_snapshot_id),
            "sequence_number": snapshot.sequence_number,
            "timestamp_ms": snapshot.timestamp_ms,
            "schema_id": snapshot.schema_id,
            "manifest_list": snapshot.manifest_list.as_str(),
            "operation": snapshot.summary.operation.as_str(),
            "summary": snapshot.summary.properties,
        })
    });
    let log = table.history().iter().map(|entry| {
        json!({"snapshot_id": entry.snapshot_id.to_string(), "timestamp_ms": entry.timestamp_ms})
    });
    let refs = metadata.refs.iter().map(|(name, reference)| {
        let kind = match reference.kind {
            meta::snapshot::RefKind::Branch => "branch",
            meta::snapshot::RefKind::Tag => "tag",
        };
        let id = reference.snapshot_id.to_string();
        (name.clone(), json!({"snapshot_id": id, "type": kind}))
    });
    let rows_at = metadata
        .snapshots
        .iter()
        .map(|s| (s.snapshot_id.to_string(), Json::Array(rows_at(table, s.snapshot_id))));
    let live = records(&table.inspect().files().unwrap());
    let mut live: Vec<_> = live
        .into_iter()
        .map(|mut file| {
            file.retain(|key, _| {
                ["file_path", "record_count", "file_size_in_bytes"].contains(&&**key)
            });
            Json::Object(file)
        })
        .collect();
    live.sort_by_key(|file| file["file_path"].to_string());
    let all = records(&table.inspect().all_data_files().unwrap());
    let mut all: Vec<_> = all.into_iter().map(|file| file["file_path"].clone()).collect();
    all.sort_by_key(Json::to_string);
    json!({
        "name": table.table().ident.to_string(),
        "location": metadata.location.as_str(),
        "metadata_location": table.table().metadata_location.as_str(),
        "table_uuid": metadata.table_uuid.to_string(),
        "format_version": metadata.format_version,
        "last_sequence_number": metadata.last_sequence_number,
        "current_snapshot_id": identifier(metadata.current_snapshot_id),
        "snapshots": snapshots.collect::<Vec<_>>(),
        "snapshot_log": log.collect::<Vec<_>>(),
        "refs": refs.collect::<Map<_, _>>(),
        "rows": rows(table),
        "rows_at": rows_at.collect::<Map<_, _>>(),
        "live_data_files": live,
        "all_data_files": all,
    })
}

/// The rows of now, sorted as `canonical.py` sorts them.
pub fn rows(table: &Table) -> Vec<Json> {
    sorted(table.scan().to_pylist().unwrap())
}

/// The rows of a snapshot.
pub fn rows_at(table: &Table, snapshot_id: i64) -> Vec<Json> {
    sorted(table.scan().snapshot_id(snapshot_id).to_pylist().unwrap())
}

/// By `id` where that is a number, then by JSON text with sorted keys.
fn sorted(rows: Vec<Map<String, Json>>) -> Vec<Json> {
    let mut rows: Vec<_> = rows.into_iter().map(Json::Object).collect();
    rows.sort_by_cached_key(|row| (row["id"].as_i64(), text(row)));
    rows
}

/// A metadata table as JSON.
pub fn records(batch: &arrow_array::RecordBatch) -> Vec<Map<String, Json>> {
    kiosko::rows::to_json(batch).unwrap()
}

fn identifier(id: Option<i64>) -> Json {
    id.map_or(Json::Null, |id| json!(id.to_string()))
}

/// Compact JSON with sorted keys: the form that comparing and sorting see. As a number, -0.0 equals
/// 0.0; as text it does not.
pub fn text(json: &Json) -> String {
    match json {
        Json::Object(map) => {
            let mut pairs: Vec<_> = map.iter().collect();
            pairs.sort_by_key(|(key, _)| *key);
            let pairs =
                pairs.into_iter().map(|(key, value)| format!("{}:{}", json!(key), text(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(","))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(text).collect::<Vec<_>>().join(",")),
        other => other.to_string(),
    }
}

/// Panics at the first place where the two differ.
#[track_caller]
pub fn same(ours: &Json, theirs: &Json, at: &str) {
    match (ours, theirs) {
        (Json::Object(us), Json::Object(them)) => {
            for (key, value) in us {
                same(value, them.get(key).unwrap_or(&json!("absent")), &format!("{at}.{key}"));
            }
            for key in them.keys() {
                assert!(us.contains_key(key), "{at}.{key}: only they have it");
            }
        }
        (Json::Array(us), Json::Array(them)) if us.len() == them.len() => {
            for (number, (us, them)) in us.iter().zip(them).enumerate() {
                same(us, them, &format!("{at}[{number}]"));
            }
        }
        _ => assert!(text(ours) == text(theirs), "{at}\n  ours   {ours}\n  theirs {theirs}"),
    }
}

/// The table has no broken invariant.
#[track_caller]
pub fn check(table: &Table) {
    let faults = ops::check::check(table.warehouse().store.as_ref(), table.table());
    assert_eq!(faults, [], "{}", table.table().ident);
}
