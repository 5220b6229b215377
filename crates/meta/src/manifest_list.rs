//! Manifest lists: the manifests of a snapshot (specification, "Manifest Lists").
//!
//! Every snapshot has one manifest list of its own, an Avro file with a line for each manifest. It
//! holds what a scan needs to pass over a manifest without opening it, and what the manifest's
//! entries inherit (see [`crate::manifest`]).
//!
//! ```text
//!   manifest_file, a record for each manifest     v1   v2   v3
//!     500 manifest_path         string           req  req  req
//!     501 manifest_length       long             req  req  req
//!     502 partition_spec_id     int              req  req  req
//!     517 content               int: 0 data,      -   req  req
//!                               1 deletes
//!     515 sequence_number       long              -   req  req
//!     516 min_sequence_number   long              -   req  req
//!     503 added_snapshot_id     long             req  req  req
//!     504 added_files_count     int              opt  req  req
//!     505 existing_files_count  int              opt  req  req
//!     506 deleted_files_count   int              opt  req  req
//!     512 added_rows_count      long             opt  req  req
//!     513 existing_rows_count   long             opt  req  req
//!     514 deleted_rows_count    long             opt  req  req
//!     507 partitions            list<508 field_summary>   optional
//!         509 contains_null     boolean
//!         518 contains_nan      boolean, optional
//!         510 lower_bound       binary, optional
//!         511 upper_bound       binary, optional
//!     519 key_metadata          binary           opt  opt  opt
//!     520 first_row_id          long              -    -   opt
//! ```
//!
//! A count that version 1 left out is unknown, which is not zero: such a manifest may hold anything,
//! and nobody may pass over it.

use crate::avro::{self, Cursor, Field, Node, Step, put_array, put_bytes, put_long, put_optional};
use crate::data_file;
use crate::{Location, Result};

/// One line of a manifest list: a manifest, and what is in it.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestFile {
    /// The manifest.
    pub manifest_path: Location,
    /// Its length in bytes.
    pub manifest_length: i64,
    /// The partition spec of all its files.
    pub partition_spec_id: i32,
    /// Whether it lists data files or delete files.
    pub content: ManifestContent,
    /// The sequence number of the commit that added it; its added entries inherit it.
    pub sequence_number: i64,
    /// The lowest data sequence number of its live entries.
    pub min_sequence_number: i64,
    /// The snapshot that added it; entries without one inherit it.
    pub added_snapshot_id: i64,
    /// How many entries and rows it has, by their status.
    pub counts: Counts,
    /// One summary for each field of the spec.
    pub partitions: Option<Vec<FieldSummary>>,
    /// Of an encrypted manifest.
    pub key_metadata: Option<Vec<u8>>,
    /// The `_row_id` of the first row without one (v3).
    pub first_row_id: Option<i64>,
}

/// Entries and their rows by status. `None` is unknown (v1), and must be taken for some.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Entries with status added.
    pub added_files: Option<i32>,
    /// Entries with status existing.
    pub existing_files: Option<i32>,
    /// Entries with status deleted.
    pub deleted_files: Option<i32>,
    /// Rows of the added files.
    pub added_rows: Option<i64>,
    /// Rows of the existing files.
    pub existing_rows: Option<i64>,
    /// Rows of the deleted files.
    pub deleted_rows: Option<i64>,
}

impl Counts {
    /// All six, if all are known: files added, existing, deleted, then their rows.
    pub fn known(&self) -> Option<[i64; 6]> {
        Some([
            self.added_files?.into(),
            self.existing_files?.into(),
            self.deleted_files?.into(),
            self.added_rows?,
            self.existing_rows?,
            self.deleted_rows?,
        ])
    }
}

/// What the files of a manifest have in one partition field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldSummary {
    /// Whether a file has null.
    pub contains_null: bool,
    /// Whether a file has NaN, where known.
    pub contains_nan: Option<bool>,
    /// The lowest value, unless all are null or NaN.
    pub lower_bound: Option<Vec<u8>>,
    /// The highest value, unless all are null or NaN.
    pub upper_bound: Option<Vec<u8>>,
}

/// What a manifest lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManifestContent {
    /// Data files.
    Data,
    /// Delete files.
    Deletes,
}

impl ManifestContent {
    /// The word in a manifest's header.
    pub fn as_str(self) -> &'static str {
        match self {
            ManifestContent::Data => "data",
            ManifestContent::Deletes => "deletes",
        }
    }
}

impl ManifestFile {
    /// Whether the manifest may hold a live file; an unknown count counts as yes.
    pub fn may_be_live(&self) -> bool {
        self.counts.added_files != Some(0) || self.counts.existing_files != Some(0)
    }
}

/// Reads the manifest list `bytes`; `name` is for messages.
///
/// # Errors
/// [`crate::Error::Corrupt`] naming the file, the record and the byte.
pub fn decode(name: &str, bytes: &[u8]) -> Result<Vec<ManifestFile>> {
    let mut manifests = Vec::new();
    avro::File::open(name, bytes)?.each(|cursor, fields| {
        manifests.push(decode_manifest_file(cursor, fields)?);
        Ok(())
    })?;
    Ok(manifests)
}

fn decode_manifest_file(cursor: &mut Cursor<'_>, fields: &[Field]) -> Step<ManifestFile> {
    let (mut path, mut length, mut spec_id, mut snapshot_id) = (None, None, None, None);
    let mut content = ManifestContent::Data;
    let (mut sequence_number, mut min_sequence_number) = (0, 0);
    let (mut counts, mut partitions) = (Counts::default(), None);
    let (mut key_metadata, mut first_row_id) = (None, None);
    for Field { id, node, .. } in fields {
        match id {
            Some(500) => path = Some(data_file::location(cursor, node)?),
            Some(501) => length = Some(cursor.long(node)?),
            Some(502) => spec_id = Some(cursor.int(node)?),
            Some(503) => snapshot_id = cursor.optional(node, Cursor::long)?,
            Some(504) => counts.added_files = cursor.optional(node, Cursor::int)?,
            Some(505) => counts.existing_files = cursor.optional(node, Cursor::int)?,
            Some(506) => counts.deleted_files = cursor.optional(node, Cursor::int)?,
            Some(507) => partitions = cursor.optional(node, |c, n| c.array(n, decode_summary))?,
            Some(512) => counts.added_rows = cursor.optional(node, Cursor::long)?,
            Some(513) => counts.existing_rows = cursor.optional(node, Cursor::long)?,
            Some(514) => counts.deleted_rows = cursor.optional(node, Cursor::long)?,
            Some(515) => sequence_number = cursor.optional(node, Cursor::long)?.unwrap_or(0),
            Some(516) => min_sequence_number = cursor.optional(node, Cursor::long)?.unwrap_or(0),
            Some(517) => {
                content = match cursor.optional(node, Cursor::int)? {
                    None | Some(0) => ManifestContent::Data,
                    Some(1) => ManifestContent::Deletes,
                    _ => return cursor.fault("field 517 content: 0 or 1"),
                }
            }
            Some(519) => {
                key_metadata = cursor.optional(node, |c, n| Ok(c.bytes(n)?.to_vec()))?;
            }
            Some(520) => first_row_id = cursor.optional(node, Cursor::long)?,
            _ => cursor.skip(node)?,
        }
    }
    match (path, length, spec_id, snapshot_id) {
        (Some(path), Some(length), Some(spec_id), Some(snapshot_id)) => Ok(ManifestFile {
            manifest_path: path,
            manifest_length: length,
            partition_spec_id: spec_id,
            content,
            sequence_number,
            min_sequence_number,
            added_snapshot_id: snapshot_id,
            counts,
            partitions,
            key_metadata,
            first_row_id,
        }),
        _ => cursor.fault("fields 500 manifest_path, 501 manifest_length, 502 partition_spec_id, 503 added_snapshot_id"),
    }
}

fn decode_summary(cursor: &mut Cursor<'_>, node: &Node) -> Step<FieldSummary> {
    let Node::Record(fields) = node else {
        return cursor.fault("element 508 field_summary: a struct");
    };
    let (mut contains_null, mut contains_nan) = (true, None);
    let (mut lower_bound, mut upper_bound) = (None, None);
    let bytes = |cursor: &mut Cursor<'_>, node: &Node| {
        cursor.optional(node, |cursor, node| Ok(cursor.bytes(node)?.to_vec()))
    };
    for Field { id, node, .. } in fields {
        match id {
            Some(509) => contains_null = cursor.boolean(node)?,
            Some(518) => contains_nan = cursor.optional(node, Cursor::boolean)?,
            Some(510) => lower_bound = bytes(cursor, node)?,
            Some(511) => upper_bound = bytes(cursor, node)?,
            _ => cursor.skip(node)?,
        }
    }
    Ok(FieldSummary { contains_null, contains_nan, lower_bound, upper_bound })
}

/// Encodes the manifest list of a snapshot of format version 2. `sync` is 16 bytes of chance.
pub fn encode(
    snapshot_id: i64,
    parent_snapshot_id: Option<i64>,
    sequence_number: i64,
    manifests: &[ManifestFile],
    sync: [u8; 16],
) -> Vec<u8> {
    let parent = parent_snapshot_id.map_or("null".to_string(), |id| id.to_string());
    let header = [
        ("snapshot-id", snapshot_id.to_string()),
        ("parent-snapshot-id", parent),
        ("sequence-number", sequence_number.to_string()),
        ("format-version", "2".to_string()),
    ];
    let header: Vec<_> = header.iter().map(|(key, value)| (*key, value.as_str())).collect();
    let mut writer = avro::Writer::new(include_str!("manifest_list_v2.avsc"), &header, sync);
    for manifest in manifests {
        writer.record(|out| encode_manifest_file(out, manifest));
    }
    writer.finish()
}

fn encode_manifest_file(out: &mut Vec<u8>, manifest: &ManifestFile) {
    put_bytes(out, manifest.manifest_path.as_str().as_bytes());
    put_long(out, manifest.manifest_length);
    put_long(out, i64::from(manifest.partition_spec_id));
    put_long(out, i64::from(manifest.content == ManifestContent::Deletes));
    put_long(out, manifest.sequence_number);
    put_long(out, manifest.min_sequence_number);
    put_long(out, manifest.added_snapshot_id);
    let counts = &manifest.counts;
    // Version 2 has no word for an unknown count of files. 0 would tell every reader to pass over
    // the manifest, and its files would be lost; 1 makes them look.
    for files in [counts.added_files, counts.existing_files, counts.deleted_files] {
        put_long(out, i64::from(files.unwrap_or(1)));
    }
    for rows in [counts.added_rows, counts.existing_rows, counts.deleted_rows] {
        put_long(out, rows.unwrap_or(0));
    }
    put_optional(out, manifest.partitions.as_ref(), |out, summaries| {
        put_array(out, summaries.iter(), |out, summary| {
            out.push(u8::from(summary.contains_null));
            put_optional(out, summary.contains_nan, |out, nan| out.push(u8::from(nan)));
            put_optional(out, summary.lower_bound.as_deref(), put_bytes);
            put_optional(out, summary.upper_bound.as_deref(), put_bytes);
        });
    });
    put_optional(out, manifest.key_metadata.as_deref(), put_bytes);
}
