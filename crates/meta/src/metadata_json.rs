//! The JSON of table metadata (specification, "Table Metadata Fields" and Appendix C).
//!
//! [`parse`] reads every format version and lifts version 1 to the lists of version 2:
//!
//! ```text
//!   v1                                      read as
//!   schema                                  schemas: [it], current-schema-id: its id
//!   partition-spec: [fields]                partition-specs: [{spec-id 0, fields}], default-spec-id 0
//!   no sort-orders                          [unsorted], default 0
//!   no last-sequence-number                 0
//!   current-snapshot-id: -1                 none
//!   no refs                                 main -> current-snapshot-id
//! ```
//!
//! What comes out of [`parse`] holds the invariants of [`crate::metadata`]. [`print()`] writes the keys
//! that PyIceberg writes, in one line; keys it does not know go back as they came.

use crate::json::At;
use crate::metadata::{MetadataLogEntry, SnapshotLogEntry, StatisticsFile, TableMetadata};
use crate::partition::{FIRST_PARTITION_FIELD_ID, PartitionSpec};
use crate::schema::Schema;
use crate::snapshot::{MAIN, Snapshot, SnapshotRef};
use crate::sort::SortOrder;
use crate::{Error, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::io::Read;

/// The keys that [`TableMetadata`] models, and the older ones of v1 that it lifts.
const KNOWN: [&str; 23] = [
    "format-version",
    "table-uuid",
    "location",
    "last-sequence-number",
    "last-updated-ms",
    "last-column-id",
    "schemas",
    "schema",
    "current-schema-id",
    "partition-specs",
    "partition-spec",
    "default-spec-id",
    "last-partition-id",
    "sort-orders",
    "default-sort-order-id",
    "properties",
    "current-snapshot-id",
    "snapshots",
    "snapshot-log",
    "metadata-log",
    "refs",
    "statistics",
    "partition-statistics",
];

/// How far gzip may grow: this many times its size, and a little more. Beyond it the file is taken
/// for a bomb.
const MAX_INFLATION: u64 = 512;

/// Reads a metadata file, plain or gzip (known by its magic, whatever the name); `name` is for
/// messages.
///
/// # Errors
/// [`Error::Corrupt`] naming the JSON path, what was expected and what was found, for anything that
/// is not sound metadata; [`Error::Unsupported`] for a format version above 3.
pub fn parse(name: &str, bytes: &[u8]) -> Result<TableMetadata> {
    let inflated;
    let bytes = if bytes.starts_with(&[0x1f, 0x8b]) {
        inflated = gunzip(name, bytes)?;
        inflated.as_slice()
    } else {
        bytes
    };
    let json: Json = serde_json::from_slice(bytes).map_err(|e| {
        let at = format!("line {}, column {}", e.line(), e.column());
        let got = if bytes.is_empty() { "an empty file".to_string() } else { e.to_string() };
        Error::corrupt(name, at, "JSON", got)
    })?;
    let metadata = read(&At::root(name, &json))?;
    metadata.check().map_err(|broken| {
        Error::corrupt(name, format!("$.{}", broken.at), broken.want, broken.got)
    })?;
    Ok(metadata)
}

fn gunzip(name: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let limit = (bytes.len() as u64).saturating_mul(MAX_INFLATION).saturating_add(1 << 16);
    let mut out = Vec::new();
    let mut reader = flate2::read::GzDecoder::new(bytes).take(limit + 1);
    let read = reader.read_to_end(&mut out).map_err(|e| e.to_string());
    match read {
        Ok(_) if out.len() as u64 <= limit => Ok(out),
        Ok(_) => Err(Error::corrupt(name, "gzip", "metadata", "a stream that grows without end")),
        Err(e) => Err(Error::corrupt(name, "gzip", "a whole gzip stream", e)),
    }
}

fn read(at: &At<'_>) -> Result<TableMetadata> {
    let version = at.need("format-version")?.int()?;
    if version > 3 {
        return Err(Error::unsupported(
            format!("a table of format version {version}"),
            "versions 1 to 3 are read",
        ));
    }
    if version < 1 {
        return Err(at.need("format-version")?.wrong("1, 2 or 3"));
    }
    let v1 = version == 1;
    let (schemas, current_schema_id) = read_schemas(at, v1)?;
    let (partition_specs, default_spec_id) = read_specs(at, v1)?;
    let specs_highest = partition_specs.iter().flat_map(|spec| &spec.fields).map(|f| f.field_id);
    let none = FIRST_PARTITION_FIELD_ID - 1;
    let last_partition_id = match at.get("last-partition-id") {
        None if v1 => specs_highest.max().unwrap_or(none),
        _ => at.need("last-partition-id")?.int()?,
    };
    let (sort_orders, default_sort_order_id) = match at.get("sort-orders") {
        None if v1 => (vec![SortOrder::unsorted()], 0),
        _ => {
            at.need("sort-orders")?;
            let orders = list(at, "sort-orders", SortOrder::from_json)?;
            (orders, at.need("default-sort-order-id")?.int()?)
        }
    };
    let current_snapshot_id = match at.get("current-snapshot-id") {
        Some(id) => Some(id.long()?).filter(|id| *id != -1),
        None => None,
    };
    let mut extra = at.object()?.clone();
    extra.retain(|key, _| !KNOWN.contains(&key.as_str()));
    Ok(TableMetadata {
        format_version: u8::try_from(version).unwrap_or(0),
        table_uuid: read_uuid(at, v1)?,
        location: at.need("location")?.location()?,
        last_sequence_number: match at.get("last-sequence-number") {
            None if v1 => 0,
            _ => at.need("last-sequence-number")?.long()?,
        },
        last_updated_ms: at.need("last-updated-ms")?.long()?,
        last_column_id: at.need("last-column-id")?.int()?,
        schemas,
        current_schema_id,
        partition_specs,
        default_spec_id,
        last_partition_id,
        sort_orders,
        default_sort_order_id,
        properties: at.get("properties").map(|p| p.strings()).transpose()?.unwrap_or_default(),
        current_snapshot_id,
        snapshots: list(at, "snapshots", Snapshot::from_json)?,
        snapshot_log: list(at, "snapshot-log", |entry| {
            Ok(SnapshotLogEntry {
                snapshot_id: entry.need("snapshot-id")?.long()?,
                timestamp_ms: entry.need("timestamp-ms")?.long()?,
            })
        })?,
        metadata_log: list(at, "metadata-log", |entry| {
            Ok(MetadataLogEntry {
                metadata_file: entry.need("metadata-file")?.location()?,
                timestamp_ms: entry.need("timestamp-ms")?.long()?,
            })
        })?,
        refs: read_refs(at, current_snapshot_id)?,
        statistics: list(at, "statistics", read_statistics)?,
        partition_statistics: list(at, "partition-statistics", read_statistics)?,
        extra,
    })
}

fn list<T>(at: &At<'_>, key: &str, item: impl Fn(&At<'_>) -> Result<T>) -> Result<Vec<T>> {
    match at.get(key) {
        Some(items) => items.items()?.map(|each| item(&each)).collect(),
        None => Ok(Vec::new()),
    }
}

/// Early v1 tables had no uuid; they are given the nil one. Two of them cannot be told apart by it.
fn read_uuid(at: &At<'_>, v1: bool) -> Result<uuid::Uuid> {
    if v1 && at.get("table-uuid").is_none() {
        return Ok(uuid::Uuid::nil());
    }
    let text = at.need("table-uuid")?;
    uuid::Uuid::parse_str(text.string()?).map_err(|_| text.wrong("a uuid"))
}

fn read_schemas(at: &At<'_>, v1: bool) -> Result<(Vec<Schema>, i32)> {
    if v1 && at.get("schemas").is_none() {
        let schema = Schema::from_json(&at.need("schema")?)?;
        let id = schema.schema_id;
        return Ok((vec![schema], id));
    }
    at.need("schemas")?;
    Ok((list(at, "schemas", Schema::from_json)?, at.need("current-schema-id")?.int()?))
}

fn read_specs(at: &At<'_>, v1: bool) -> Result<(Vec<PartitionSpec>, i32)> {
    if v1 && at.get("partition-specs").is_none() {
        let fields = PartitionSpec::fields_from_json(&at.need("partition-spec")?)?;
        return Ok((vec![PartitionSpec { spec_id: 0, fields }], 0));
    }
    at.need("partition-specs")?;
    let specs = list(at, "partition-specs", PartitionSpec::from_json)?;
    Ok((specs, at.need("default-spec-id")?.int()?))
}

fn read_refs(at: &At<'_>, current: Option<i64>) -> Result<BTreeMap<String, SnapshotRef>> {
    let mut refs = BTreeMap::new();
    if let Some(object) = at.get("refs") {
        for name in object.object()?.keys() {
            refs.insert(name.clone(), SnapshotRef::from_json(&object.need(name)?)?);
        }
    }
    if let Some(id) = current {
        refs.entry(MAIN.to_string()).or_insert_with(|| SnapshotRef::branch(id));
    }
    Ok(refs)
}

fn read_statistics(at: &At<'_>) -> Result<StatisticsFile> {
    Ok(StatisticsFile {
        snapshot_id: at.need("snapshot-id")?.long()?,
        statistics_path: at.need("statistics-path")?.location()?,
        json: at.value().clone(),
    })
}

/// Prints the metadata of a table of format version 2 or 3.
///
/// # Errors
/// [`Error::Unsupported`] for version 1, which is read but not written.
pub fn print(metadata: &TableMetadata) -> Result<Vec<u8>> {
    if metadata.format_version == 1 {
        return Err(Error::unsupported(
            "writing a table of format version 1",
            "version 1 is read only; upgrade the table to version 2 with the engine that wrote it",
        ));
    }
    let mut json = Map::new();
    let mut put = |key: &str, value: Json| drop(json.insert(key.to_string(), value));
    put("location", json!(metadata.location.as_str()));
    put("table-uuid", json!(metadata.table_uuid.to_string()));
    put("last-updated-ms", json!(metadata.last_updated_ms));
    put("last-column-id", json!(metadata.last_column_id));
    put("schemas", metadata.schemas.iter().map(Schema::to_json).collect());
    put("current-schema-id", json!(metadata.current_schema_id));
    put("partition-specs", metadata.partition_specs.iter().map(PartitionSpec::to_json).collect());
    put("default-spec-id", json!(metadata.default_spec_id));
    put("last-partition-id", json!(metadata.last_partition_id));
    put("properties", json!(metadata.properties));
    if let Some(id) = metadata.current_snapshot_id {
        put("current-snapshot-id", json!(id));
    }
    put("snapshots", metadata.snapshots.iter().map(Snapshot::to_json).collect());
    let log = |entry: &SnapshotLogEntry| json!({"snapshot-id": entry.snapshot_id, "timestamp-ms": entry.timestamp_ms});
    put("snapshot-log", metadata.snapshot_log.iter().map(log).collect());
    let log = |entry: &MetadataLogEntry| json!({"metadata-file": entry.metadata_file.as_str(), "timestamp-ms": entry.timestamp_ms});
    put("metadata-log", metadata.metadata_log.iter().map(log).collect());
    put("sort-orders", metadata.sort_orders.iter().map(SortOrder::to_json).collect());
    put("default-sort-order-id", json!(metadata.default_sort_order_id));
    let refs = metadata.refs.iter().map(|(name, r)| (name.clone(), r.to_json())).collect();
    put("refs", Json::Object(refs));
    put("statistics", metadata.statistics.iter().map(|file| file.json.clone()).collect());
    let files = metadata.partition_statistics.iter().map(|file| file.json.clone());
    put("partition-statistics", files.collect());
    put("format-version", json!(metadata.format_version));
    put("last-sequence-number", json!(metadata.last_sequence_number));
    json.extend(metadata.extra.clone());
    Ok(Json::Object(json).to_string().into_bytes())
}
