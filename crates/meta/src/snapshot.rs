//! Snapshots: the state of a table at one time (specification, "Snapshots").
//!
//! A commit that changes rows makes a snapshot. It names one manifest list, which leads to every
//! file that was live then. Snapshots are never changed; a table forgets them by expiring them.
//!
//! ```json
//!   {"snapshot-id": 713, "parent-snapshot-id": 402, "sequence-number": 2,
//!    "timestamp-ms": 1785657600000, "schema-id": 0,
//!    "manifest-list": "file:///w/kiosko/dim_product/metadata/snap-713-0-9a2e.avro",
//!    "summary": {"operation": "append", "added-records": "4", "total-records": "4"}}
//! ```
//!
//! A reference gives a snapshot a name. `main` is a branch, and it is the table's current state; a
//! tag stands still.

use crate::json::At;
use crate::{Error, Location, Result};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;

/// The name of the branch that is the table's current state.
pub const MAIN: &str = "main";

/// The state of a table at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Unique in the table; random and positive.
    pub snapshot_id: i64,
    /// The snapshot this one was made from. It may have been expired since.
    pub parent_snapshot_id: Option<i64>,
    /// Rises by one with each snapshot; 0 for everything that format version 1 wrote.
    pub sequence_number: i64,
    /// When it was made, in milliseconds since 1970 in UTC.
    pub timestamp_ms: i64,
    /// The manifest list.
    pub manifest_list: Location,
    /// What the commit did.
    pub summary: Summary,
    /// The schema that was current.
    pub schema_id: Option<i32>,
    /// Keys this version does not know, kept as they were read.
    pub extra: Map<String, Json>,
}

/// What a commit did: its operation, and counts as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The kind of change.
    pub operation: Operation,
    /// `added-data-files`, `total-records` and the like (specification, Appendix F).
    pub properties: BTreeMap<String, String>,
}

/// The kind of change that made a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Only data files were added.
    Append,
    /// Files were replaced by others with the same rows: compaction.
    Replace,
    /// Rows were removed and added.
    Overwrite,
    /// Rows were removed.
    Delete,
}

/// A name for a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotRef {
    /// The snapshot named.
    pub snapshot_id: i64,
    /// Whether the name moves with commits.
    pub kind: RefKind,
    /// Branches: how many snapshots to keep when expiring.
    pub min_snapshots_to_keep: Option<i32>,
    /// Branches: how old a kept snapshot may be, in milliseconds.
    pub max_snapshot_age_ms: Option<i64>,
    /// How old the name itself may grow, in milliseconds.
    pub max_ref_age_ms: Option<i64>,
}

/// Whether a reference moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefKind {
    /// Moves with each commit to it.
    Branch,
    /// Stands still.
    Tag,
}

impl Operation {
    /// The word in the summary.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Append => "append",
            Operation::Replace => "replace",
            Operation::Overwrite => "overwrite",
            Operation::Delete => "delete",
        }
    }
}

impl Summary {
    /// A count in the summary, such as `total-records`; `None` when absent or not a number.
    pub fn count(&self, key: &str) -> Option<i64> {
        self.properties.get(key)?.parse().ok()
    }

    fn from_json(at: &At<'_>) -> Result<Summary> {
        let mut properties = at.strings()?;
        let operation = match properties.remove("operation").as_deref() {
            Some("append") => Operation::Append,
            Some("replace") => Operation::Replace,
            // Old writers left it out; an overwrite is the kind that promises nothing.
            Some("overwrite") | None => Operation::Overwrite,
            Some("delete") => Operation::Delete,
            Some(_) => {
                return Err(at.need("operation")?.wrong("append, replace, overwrite or delete"));
            }
        };
        Ok(Summary { operation, properties })
    }
}

const KNOWN: [&str; 7] = [
    "snapshot-id",
    "parent-snapshot-id",
    "sequence-number",
    "timestamp-ms",
    "manifest-list",
    "summary",
    "schema-id",
];

impl Snapshot {
    /// Reads a snapshot from its JSON form. A snapshot of format version 1 may lack the summary and
    /// the sequence number: it counts as an overwrite numbered 0.
    pub fn from_json(at: &At<'_>) -> Result<Snapshot> {
        if at.get("manifest-list").is_none() && at.get("manifests").is_some() {
            return Err(Error::unsupported(
                format!("the list of manifests inside {}", at.path()),
                "only the earliest writers of version 1 made no manifest list; commit once with the \
                 engine that wrote the table, and expire that snapshot",
            ));
        }
        let mut extra = at.object()?.clone();
        extra.retain(|key, _| !KNOWN.contains(&key.as_str()));
        Ok(Snapshot {
            snapshot_id: at.need("snapshot-id")?.long()?,
            parent_snapshot_id: at.get("parent-snapshot-id").map(|id| id.long()).transpose()?,
            sequence_number: at.get("sequence-number").map(|n| n.long()).transpose()?.unwrap_or(0),
            timestamp_ms: at.need("timestamp-ms")?.long()?,
            manifest_list: at.need("manifest-list")?.location()?,
            summary: match at.get("summary") {
                Some(summary) => Summary::from_json(&summary)?,
                None => Summary { operation: Operation::Overwrite, properties: Default::default() },
            },
            schema_id: at.get("schema-id").map(|id| id.int()).transpose()?,
            extra,
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let mut json = Map::new();
        json.insert("snapshot-id".into(), json!(self.snapshot_id));
        if let Some(parent) = self.parent_snapshot_id {
            json.insert("parent-snapshot-id".into(), json!(parent));
        }
        json.insert("sequence-number".into(), json!(self.sequence_number));
        json.insert("timestamp-ms".into(), json!(self.timestamp_ms));
        json.insert("manifest-list".into(), json!(self.manifest_list.as_str()));
        let mut summary = Map::new();
        summary.insert("operation".into(), json!(self.summary.operation.as_str()));
        summary.extend(self.summary.properties.iter().map(|(k, v)| (k.clone(), json!(v))));
        json.insert("summary".into(), Json::Object(summary));
        if let Some(schema_id) = self.schema_id {
            json.insert("schema-id".into(), json!(schema_id));
        }
        json.extend(self.extra.clone());
        Json::Object(json)
    }
}

impl SnapshotRef {
    /// A branch without retention settings of its own.
    pub fn branch(snapshot_id: i64) -> SnapshotRef {
        SnapshotRef {
            snapshot_id,
            kind: RefKind::Branch,
            min_snapshots_to_keep: None,
            max_snapshot_age_ms: None,
            max_ref_age_ms: None,
        }
    }

    /// Reads a reference from its JSON form.
    pub fn from_json(at: &At<'_>) -> Result<SnapshotRef> {
        let kind = at.need("type")?;
        let long = |key| at.get(key).map(|value| value.long()).transpose();
        Ok(SnapshotRef {
            snapshot_id: at.need("snapshot-id")?.long()?,
            kind: match kind.string()? {
                "branch" => RefKind::Branch,
                "tag" => RefKind::Tag,
                _ => return Err(kind.wrong("branch or tag")),
            },
            min_snapshots_to_keep: at
                .get("min-snapshots-to-keep")
                .map(|count| count.int())
                .transpose()?,
            max_snapshot_age_ms: long("max-snapshot-age-ms")?,
            max_ref_age_ms: long("max-ref-age-ms")?,
        })
    }

    /// The JSON form.
    pub fn to_json(&self) -> Json {
        let kind = match self.kind {
            RefKind::Branch => "branch",
            RefKind::Tag => "tag",
        };
        let mut json = Map::new();
        json.insert("snapshot-id".into(), json!(self.snapshot_id));
        json.insert("type".into(), json!(kind));
        let settings = [
            ("min-snapshots-to-keep", self.min_snapshots_to_keep.map(i64::from)),
            ("max-snapshot-age-ms", self.max_snapshot_age_ms),
            ("max-ref-age-ms", self.max_ref_age_ms),
        ];
        json.extend(settings.into_iter().filter_map(|(k, v)| Some((k.to_string(), json!(v?)))));
        Json::Object(json)
    }
}
