//! Table metadata: the root of the tree (specification, "Table Metadata").
//!
//! A `metadata.json` holds everything about a table but its files: schemas, partition specs, sort
//! orders, properties, snapshots, references, and two logs. Each commit writes a new one under a new
//! name and swaps the catalog's pointer to it; none is ever changed.
//!
//! ```text
//!   00002-5f0c.metadata.json
//!     location, table-uuid, format-version            who the table is
//!     schemas, current-schema-id, last-column-id      what its columns are and were
//!     partition-specs, default-spec-id, ...           how files are and were grouped
//!     properties
//!     snapshots ---------------> snap-713.avro        every state that is kept
//!     refs: main -> 713                               which of them have names
//!     snapshot-log: 402, 713                          when the current state changed
//!     metadata-log: 00000, 00001                      the metadata files before this one
//!     last-sequence-number: 2                         the number of the newest snapshot
//! ```
//!
//! # Invariants
//!
//! [`TableMetadata::check`] tests them in this order; the message of a broken one cites its number.
//!
//! - **M1** the format version is 1, 2 or 3
//! - **M2** `current-schema-id` is the id of exactly one schema
//! - **M3** `default-spec-id` is the id of exactly one partition spec
//! - **M4** `default-sort-order-id` is the id of exactly one sort order
//! - **M5** no schema uses a field id above `last-column-id`
//! - **M6** no partition spec uses a field id above `last-partition-id`
//! - **M7** snapshot ids are unique
//! - **M8** no snapshot's sequence number is above `last-sequence-number`, or below 0
//! - **M9** every reference names a snapshot of the table
//! - **M10** `main` is a branch, and names the same snapshot as `current-snapshot-id`

use crate::partition::PartitionSpec;
use crate::schema::Schema;
use crate::snapshot::{MAIN, RefKind, Snapshot, SnapshotRef};
use crate::sort::SortOrder;
use crate::{Error, Location, Result};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

/// The format version of new tables.
pub const DEFAULT_FORMAT_VERSION: u8 = 2;

/// Everything about a table but its files.
#[derive(Debug, Clone, PartialEq)]
pub struct TableMetadata {
    /// 1, 2 or 3.
    pub format_version: u8,
    /// Who the table is, whatever it is called and wherever it lies.
    pub table_uuid: Uuid,
    /// The folder under which new files are written.
    pub location: Location,
    /// The sequence number of the newest snapshot ever made; 0 in version 1.
    pub last_sequence_number: i64,
    /// When this file was written, in milliseconds since 1970 in UTC.
    pub last_updated_ms: i64,
    /// The highest field id ever given to a column.
    pub last_column_id: i32,
    /// Every schema.
    pub schemas: Vec<Schema>,
    /// The schema that writers use.
    pub current_schema_id: i32,
    /// Every partition spec.
    pub partition_specs: Vec<PartitionSpec>,
    /// The spec that writers use.
    pub default_spec_id: i32,
    /// The highest id ever given to a partition field; 999 when there was none.
    pub last_partition_id: i32,
    /// Every sort order.
    pub sort_orders: Vec<SortOrder>,
    /// The order that writers use.
    pub default_sort_order_id: i32,
    /// Settings, such as `write.target-file-size-bytes`.
    pub properties: BTreeMap<String, String>,
    /// The snapshot that readers see; the same as `main`'s.
    pub current_snapshot_id: Option<i64>,
    /// Every snapshot that is kept, the oldest first.
    pub snapshots: Vec<Snapshot>,
    /// When the current snapshot changed, and to which; the oldest first.
    pub snapshot_log: Vec<SnapshotLogEntry>,
    /// The metadata files before this one, the oldest first.
    pub metadata_log: Vec<MetadataLogEntry>,
    /// Names of snapshots.
    pub refs: BTreeMap<String, SnapshotRef>,
    /// Statistics files of snapshots.
    pub statistics: Vec<StatisticsFile>,
    /// Partition statistics files of snapshots.
    pub partition_statistics: Vec<StatisticsFile>,
    /// Keys this version does not know, kept as they were read.
    pub extra: Map<String, Json>,
}

/// One change of the current snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLogEntry {
    /// The snapshot that became current.
    pub snapshot_id: i64,
    /// When, in milliseconds since 1970 in UTC.
    pub timestamp_ms: i64,
}

/// One metadata file of the past.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataLogEntry {
    /// The file.
    pub metadata_file: Location,
    /// Its `last-updated-ms`.
    pub timestamp_ms: i64,
}

/// A file of statistics, known by the snapshot it describes.
#[derive(Debug, Clone, PartialEq)]
pub struct StatisticsFile {
    /// The snapshot it describes.
    pub snapshot_id: i64,
    /// Where it lies.
    pub statistics_path: Location,
    /// The whole entry, as it was read.
    pub json: Json,
}

impl TableMetadata {
    /// The metadata of a new table without snapshots.
    ///
    /// # Errors
    /// [`Error::Invalid`] when an id or a name occurs twice in the schema.
    pub fn new(
        table_uuid: Uuid,
        location: Location,
        schema: Schema,
        properties: BTreeMap<String, String>,
        now_ms: i64,
    ) -> Result<TableMetadata> {
        schema.check()?;
        Ok(TableMetadata {
            format_version: DEFAULT_FORMAT_VERSION,
            table_uuid,
            location,
            last_sequence_number: 0,
            last_updated_ms: now_ms,
            last_column_id: schema.ids().into_iter().max().unwrap_or(0),
            current_schema_id: schema.schema_id,
            schemas: vec![schema],
            partition_specs: vec![PartitionSpec::unpartitioned()],
            default_spec_id: 0,
            last_partition_id: crate::partition::FIRST_PARTITION_FIELD_ID - 1,
            sort_orders: vec![SortOrder::unsorted()],
            default_sort_order_id: 0,
            properties,
            current_snapshot_id: None,
            snapshots: Vec::new(),
            snapshot_log: Vec::new(),
            metadata_log: Vec::new(),
            refs: BTreeMap::new(),
            statistics: Vec::new(),
            partition_statistics: Vec::new(),
            extra: Map::new(),
        })
    }

    /// The schema that writers use.
    pub fn current_schema(&self) -> Result<&Schema> {
        self.schema(self.current_schema_id)
    }

    /// The schema with this id.
    pub fn schema(&self, schema_id: i32) -> Result<&Schema> {
        self.schemas.iter().find(|schema| schema.schema_id == schema_id).ok_or_else(|| {
            Error::invalid(format!("schema {schema_id}"), "the table has no schema with that id")
        })
    }

    /// The partition spec that writers use.
    pub fn default_spec(&self) -> Result<&PartitionSpec> {
        self.spec(self.default_spec_id)
    }

    /// The partition spec with this id.
    pub fn spec(&self, spec_id: i32) -> Result<&PartitionSpec> {
        self.partition_specs.iter().find(|spec| spec.spec_id == spec_id).ok_or_else(|| {
            Error::invalid(format!("partition spec {spec_id}"), "the table has no such spec")
        })
    }

    /// The snapshot with this id, if it is kept.
    pub fn snapshot(&self, snapshot_id: i64) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.snapshot_id == snapshot_id)
    }

    /// The snapshot that readers see; `None` before the first commit.
    pub fn current_snapshot(&self) -> Option<&Snapshot> {
        self.snapshot(self.current_snapshot_id?)
    }

    /// The snapshots of a branch's history that are still kept, its head first. Ends where a parent
    /// was expired.
    pub fn ancestors(&self, head: Option<i64>) -> impl Iterator<Item = &Snapshot> {
        let mut seen = BTreeSet::new();
        let mut next = head;
        std::iter::from_fn(move || {
            let snapshot = self.snapshot(next?)?;
            next = snapshot.parent_snapshot_id;
            seen.insert(snapshot.snapshot_id).then_some(snapshot)
        })
    }

    /// The sequence number of the next snapshot.
    ///
    /// # Errors
    /// [`Error::Invalid`] when the last one is the highest there is, which no table reaches honestly.
    pub fn next_sequence_number(&self) -> Result<i64> {
        self.last_sequence_number.checked_add(1).ok_or_else(|| {
            let why = "last-sequence-number is the highest number there is; the metadata is wrong";
            Error::invalid("adding a snapshot", why)
        })
    }

    /// Whether files of the table may be deleted at all: `gc.enabled`, which is true unless it says
    /// something else. Where it is not, the files may belong to another table too.
    pub fn gc_enabled(&self) -> bool {
        self.properties.get("gc.enabled").is_none_or(|text| text.eq_ignore_ascii_case("true"))
    }

    /// A property as a number, or `default` when it is absent or none.
    pub fn number(&self, key: &str, default: u64) -> u64 {
        self.properties.get(key).and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// Tests the invariants of the module's head, in their order. The error is the place in the
    /// JSON, the rule with its number, and what was found.
    pub fn check(&self) -> std::result::Result<(), Broken> {
        self.check_ids()?;
        self.check_snapshots()
    }

    fn check_ids(&self) -> std::result::Result<(), Broken> {
        if !(1..=3).contains(&self.format_version) {
            return broken("format-version", "M1: version 1, 2 or 3", self.format_version);
        }
        let once = |key, rule: &str, id: i32, ids: Vec<i32>| match ids
            .iter()
            .filter(|other| **other == id)
            .count()
        {
            1 => Ok(()),
            n => broken(key, rule, format!("{id}, which {n} of {ids:?} are")),
        };
        let schemas = self.schemas.iter().map(|schema| schema.schema_id).collect();
        let specs = self.partition_specs.iter().map(|spec| spec.spec_id).collect();
        let orders = self.sort_orders.iter().map(|order| order.order_id).collect();
        once("current-schema-id", "M2: the id of one schema", self.current_schema_id, schemas)?;
        once("default-spec-id", "M3: the id of one partition spec", self.default_spec_id, specs)?;
        let rule = "M4: the id of one sort order";
        once("default-sort-order-id", rule, self.default_sort_order_id, orders)?;
        let highest = self.schemas.iter().flat_map(Schema::ids).max().unwrap_or(0);
        if highest > self.last_column_id {
            let want = format!("M5: at least {highest}, which a schema uses");
            return broken("last-column-id", want, self.last_column_id);
        }
        let fields = self.partition_specs.iter().flat_map(|spec| &spec.fields);
        if let Some(highest) = fields.map(|field| field.field_id).max()
            && highest > self.last_partition_id
        {
            let want = format!("M6: at least {highest}, which a partition spec uses");
            return broken("last-partition-id", want, self.last_partition_id);
        }
        Ok(())
    }

    fn check_snapshots(&self) -> std::result::Result<(), Broken> {
        let mut ids = BTreeSet::new();
        for (index, snapshot) in self.snapshots.iter().enumerate() {
            if !ids.insert(snapshot.snapshot_id) {
                let at = format!("snapshots[{index}].snapshot-id");
                return broken(&at, "M7: an id of its own", snapshot.snapshot_id);
            }
            if !(0..=self.last_sequence_number).contains(&snapshot.sequence_number) {
                let at = format!("snapshots[{index}].sequence-number");
                let want = format!("M8: 0 to last-sequence-number {}", self.last_sequence_number);
                return broken(&at, want, snapshot.sequence_number);
            }
        }
        for (name, reference) in &self.refs {
            if !ids.contains(&reference.snapshot_id) {
                let at = format!("refs.{name}.snapshot-id");
                return broken(&at, "M9: the id of a snapshot", reference.snapshot_id);
            }
        }
        if let Some(id) = self.current_snapshot_id
            && !ids.contains(&id)
        {
            return broken("current-snapshot-id", "M9: the id of a snapshot", id);
        }
        match self.refs.get(MAIN) {
            Some(main) if main.kind != RefKind::Branch => {
                broken("refs.main.type", "M10: branch", "tag")
            }
            Some(main) if Some(main.snapshot_id) != self.current_snapshot_id => {
                let current = self.current_snapshot_id.map_or("none".into(), |id| id.to_string());
                let want = format!("M10: the current-snapshot-id, {current}");
                broken("refs.main.snapshot-id", want, main.snapshot_id)
            }
            _ => Ok(()),
        }
    }
}

/// A broken invariant: where in the JSON, the rule, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The path below `$`.
    pub at: String,
    /// The number and the rule.
    pub want: String,
    /// What was found.
    pub got: String,
}

fn broken(at: &str, want: impl ToString, got: impl ToString) -> std::result::Result<(), Broken> {
    Err(Broken { at: at.to_string(), want: want.to_string(), got: got.to_string() })
}
