//! Manifests: which files make a table (specification, "Manifests").
//!
//! A manifest is an immutable Avro file. A commit writes one for the files it adds, and rewrites
//! those whose files it removes; a scan reads them to learn which files are live. All files of one
//! manifest share one partition spec.
//!
//! ```text
//!   header          schema            the table's schema, as JSON
//!                   schema-id         "0"
//!                   partition-spec    the fields of the spec, as JSON
//!                   partition-spec-id "0"
//!                   format-version    "2"
//!                   content           "data" or "deletes"
//!
//!   manifest_entry, a record for each file              v1   v2, v3
//!     0 status                int: 0 existing, 1 added,  req  req
//!                             2 deleted
//!     1 snapshot_id           long                       req  opt   null: the manifest's
//!     3 sequence_number       long                       -    opt   null: the manifest's, if added
//!     4 file_sequence_number  long                       -    opt   null: the manifest's, if added
//!     2 data_file             struct, see data_file.rs   req  req
//! ```
//!
//! # Inheritance
//!
//! A writer cannot know the sequence number of its commit before it has won the race, so an added
//! file is written with null numbers and takes them from the manifest's line in the manifest list:
//!
//! ```text
//!   manifest list (sequence 7)         manifest                        read as
//!     m0  sequence 7, snapshot 713       added    null  null   a         a  data 7  file 7
//!                                        existing    3     3   b         b  data 3  file 3
//!                                        deleted     5     5   c         c  gone since 713
//! ```
//!
//! A lost race thus costs a new manifest list, and no manifest. Existing and deleted entries carry
//! the numbers that their file always had: deletes apply to files that are *older*, so a number that
//! changed would bring deleted rows back, or take live ones away.

use crate::avro::{self, Cursor, Field, Step};
use crate::data_file::{self, DataFile};
use crate::json::At;
use crate::manifest_list::ManifestFile;
use crate::partition::PartitionSpec;
use crate::{Error, Result};
use serde_json::Value as Json;

/// One line of a manifest: a file, and since when it is there or gone.
#[derive(Debug, Clone, PartialEq)]
pub struct ManifestEntry {
    /// Whether the commit that wrote the manifest added, kept or removed the file.
    pub status: Status,
    /// The snapshot that added the file; of a deleted entry, the one that removed it.
    pub snapshot_id: i64,
    /// The data sequence number: how old the rows are. `None` until the commit is won.
    pub sequence_number: Option<i64>,
    /// The sequence number of the commit that added the file. `None` until the commit is won.
    pub file_sequence_number: Option<i64>,
    /// The file.
    pub data_file: DataFile,
}

/// What a commit did with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It was there before, and still is.
    Existing,
    /// The commit added it.
    Added,
    /// The commit removed it. Such an entry is a record, not a live file.
    Deleted,
}

impl ManifestEntry {
    /// Whether the file belongs to the table's rows.
    pub fn is_live(&self) -> bool {
        self.status != Status::Deleted
    }
}

/// Reads the manifest `bytes` that `list_entry` names, and fills in what its entries inherit.
///
/// The partition spec comes from the manifest's own header, since the table may have dropped it.
///
/// # Errors
/// [`Error::Corrupt`] naming the file, the record and the byte.
pub fn decode(list_entry: &ManifestFile, bytes: &[u8]) -> Result<Vec<ManifestEntry>> {
    let name = list_entry.manifest_path.as_str();
    // Cut off between two blocks it would read as a sound manifest of fewer files.
    if i64::try_from(bytes.len()).is_ok_and(|length| length < list_entry.manifest_length) {
        let want = format!("{} bytes, as the manifest list says", list_entry.manifest_length);
        return Err(Error::corrupt(name, "its end", want, bytes.len()));
    }
    let file = avro::File::open(name, bytes)?;
    let spec = header_spec(name, &file)?;
    let v1 = file.metadata("format-version").is_none_or(|version| version == "1");
    let mut entries = Vec::new();
    let mut next_row_id = list_entry.first_row_id;
    file.each(|cursor, fields| {
        let mut entry = decode_entry(cursor, fields, &spec, list_entry.added_snapshot_id)?;
        inherit(cursor, &mut entry, list_entry, v1, &mut next_row_id)?;
        entries.push(entry);
        Ok(())
    })?;
    Ok(entries)
}

fn decode_entry(
    cursor: &mut Cursor<'_>,
    fields: &[Field],
    spec: &PartitionSpec,
    added_snapshot_id: i64,
) -> Step<ManifestEntry> {
    let (mut status, mut data_file) = (None, None);
    let (mut snapshot_id, mut sequence_number, mut file_sequence_number) = (None, None, None);
    for Field { id, node, .. } in fields {
        match id {
            Some(0) => {
                status = match cursor.int(node)? {
                    0 => Some(Status::Existing),
                    1 => Some(Status::Added),
                    2 => Some(Status::Deleted),
                    _ => return cursor.fault("field 0 status: 0, 1 or 2"),
                }
            }
            Some(1) => snapshot_id = cursor.optional(node, Cursor::long)?,
            Some(2) => data_file = Some(data_file::decode(cursor, node, spec)?),
            Some(3) => sequence_number = cursor.optional(node, Cursor::long)?,
            Some(4) => file_sequence_number = cursor.optional(node, Cursor::long)?,
            _ => cursor.skip(node)?,
        }
    }
    match (status, data_file) {
        (Some(status), Some(data_file)) => Ok(ManifestEntry {
            status,
            snapshot_id: snapshot_id.unwrap_or(added_snapshot_id),
            sequence_number,
            file_sequence_number,
            data_file,
        }),
        _ => cursor.fault("fields 0 status and 2 data_file"),
    }
}

/// Fills in sequence numbers and the first row id, as the module's head describes.
fn inherit(
    cursor: &Cursor<'_>,
    entry: &mut ManifestEntry,
    list_entry: &ManifestFile,
    v1: bool,
    next_row_id: &mut Option<i64>,
) -> Step<()> {
    let inherited = match entry.status {
        Status::Added => Some(list_entry.sequence_number),
        _ if v1 => Some(0), // as is the number of a v1 manifest in the list
        Status::Existing | Status::Deleted => None,
    };
    entry.sequence_number = entry.sequence_number.or(inherited);
    entry.file_sequence_number = entry.file_sequence_number.or(inherited);
    if entry.sequence_number.is_none() || entry.file_sequence_number.is_none() {
        return cursor.fault("fields 3 and 4: an existing or deleted entry carries both numbers");
    }
    if let (true, None, Some(next)) = (entry.is_live(), entry.data_file.first_row_id, *next_row_id)
    {
        entry.data_file.first_row_id = Some(next);
        *next_row_id = next.checked_add(entry.data_file.record_count);
    }
    Ok(())
}

/// The partition spec in a manifest's header.
fn header_spec(name: &str, file: &avro::File<'_>) -> Result<PartitionSpec> {
    let wrong =
        |got: String| Error::corrupt(name, "header, key partition-spec", "a JSON list", got);
    let text = file.metadata("partition-spec").ok_or_else(|| wrong("nothing".into()))?;
    let json: Json = serde_json::from_str(text).map_err(|e| wrong(e.to_string()))?;
    let id = file.metadata("partition-spec-id").unwrap_or("0");
    Ok(PartitionSpec {
        spec_id: id.parse().map_err(|_| {
            Error::corrupt(name, "header, key partition-spec-id", "a number as text", id)
        })?,
        fields: PartitionSpec::fields_from_json(&At::root(name, &json))?,
    })
}
