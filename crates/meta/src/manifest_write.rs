//! Writing a manifest: its bytes, and its line in the manifest list.
//!
//! The bytes are those that [`crate::manifest`] describes. The line is counted from the same entries, so
//! that a reader who skips the manifest on its account skips nothing it should have seen.
//!
//! ```text
//!   entries                    line
//!     added    null  10 rows     sequence_number      7     the commit's
//!     existing    3   5 rows     min_sequence_number  3     the oldest live entry's
//!     deleted     5   2 rows     files 1, 1, 1   rows 10, 5, 2
//! ```

use crate::avro::{self, put_array, put_bytes, put_long, put_optional};
use crate::data_file::DataFile;
use crate::manifest::{ManifestEntry, Status};
use crate::manifest_list::{Counts, FieldSummary, ManifestContent, ManifestFile};
use crate::partition::PartitionSpec;
use crate::schema::Schema;
use crate::tuple;
use crate::types::Primitive;
use crate::value::Value;
use crate::{Error, Location, Result};
use std::collections::BTreeMap;

/// What a manifest of format version 2 is written with.
pub struct ManifestWriter<'a> {
    /// The table's current schema.
    pub schema: &'a Schema,
    /// Every schema of the table, in which the spec's source columns are looked up.
    pub schemas: &'a [Schema],
    /// The partition spec of all the entries.
    pub spec: &'a PartitionSpec,
    /// Whether the entries are data files or delete files.
    pub content: ManifestContent,
}

impl ManifestWriter<'_> {
    /// Encodes the manifest. `sync` is 16 bytes of chance.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the type of a partition value is not known, or an entry carries
    /// what only version 3 has; [`Error::Invalid`] when an entry contradicts its tuple or lacks a
    /// number it must carry.
    pub fn encode(&self, entries: &[ManifestEntry], sync: [u8; 16]) -> Result<Vec<u8>> {
        let types = self.spec.tuple_types(self.schemas)?;
        let schema = entry_schema(self.spec, &types);
        let (schema_json, fields_json) =
            (self.schema.to_json().to_string(), self.spec.fields_to_json().to_string());
        let header = [
            ("schema", schema_json.as_str()),
            ("schema-id", &self.schema.schema_id.to_string()),
            ("partition-spec", fields_json.as_str()),
            ("partition-spec-id", &self.spec.spec_id.to_string()),
            ("format-version", "2"),
            ("content", self.content.as_str()),
        ];
        let mut writer = avro::Writer::new(&schema, &header, sync);
        for entry in entries {
            let numbered = entry.sequence_number.is_some() && entry.file_sequence_number.is_some();
            if entry.status != Status::Added && !numbered {
                return Err(Error::invalid(
                    format!(
                        "an unnumbered {:?} entry for {}",
                        entry.status, entry.data_file.file_path
                    ),
                    "existing and deleted entries carry both sequence numbers",
                ));
            }
            if entry.data_file.needs_v3() {
                return Err(Error::unsupported(
                    format!(
                        "writing the row ids or the deletion vector {}",
                        entry.data_file.file_path
                    ),
                    "a manifest of format version 2 has no place for them",
                ));
            }
            tuple::check(&entry.data_file.file_path, &entry.data_file.partition, &types)?;
            writer.record(|out| encode_entry(out, entry, &types));
        }
        Ok(writer.finish())
    }
}

fn encode_entry(out: &mut Vec<u8>, entry: &ManifestEntry, types: &[Primitive]) {
    put_long(
        out,
        match entry.status {
            Status::Existing => 0,
            Status::Added => 1,
            Status::Deleted => 2,
        },
    );
    put_optional(out, Some(entry.snapshot_id), put_long);
    put_optional(out, entry.sequence_number, put_long);
    put_optional(out, entry.file_sequence_number, put_long);
    encode_data_file(out, &entry.data_file, types);
}

fn encode_data_file(out: &mut Vec<u8>, file: &DataFile, types: &[Primitive]) {
    put_long(out, i64::from(file.content.code()));
    put_bytes(out, file.file_path.as_str().as_bytes());
    put_bytes(out, file.file_format.as_bytes());
    for (value, primitive) in file.partition.iter().zip(types) {
        put_optional(out, value.as_ref(), |out, value| tuple::put(out, value, *primitive));
    }
    put_long(out, file.record_count);
    put_long(out, file.file_size_in_bytes);
    for map in
        [&file.column_sizes, &file.value_counts, &file.null_value_counts, &file.nan_value_counts]
    {
        put_map(out, map, |out, count| put_long(out, *count));
    }
    for map in [&file.lower_bounds, &file.upper_bounds] {
        put_map(out, map, |out, bound| put_bytes(out, bound));
    }
    put_optional(out, file.key_metadata.as_deref(), put_bytes);
    put_optional(out, file.split_offsets.as_ref(), |out, offsets| {
        put_array(out, offsets.iter(), |out, offset| put_long(out, *offset));
    });
    put_optional(out, file.equality_ids.as_ref(), |out, ids| {
        put_array(out, ids.iter(), |out, id| put_long(out, i64::from(*id)));
    });
    put_optional(out, file.sort_order_id, |out, id| put_long(out, i64::from(id)));
    put_optional(out, file.referenced_data_file.as_deref(), |out, path| {
        put_bytes(out, path.as_bytes());
    });
}

/// A map is an array of key and value. It is written also when empty, because PyIceberg's
/// `inspect.entries` refuses null.
fn put_map<T>(out: &mut Vec<u8>, map: &BTreeMap<i32, T>, put: impl Fn(&mut Vec<u8>, &T)) {
    put_optional(out, Some(map), |out, map| {
        put_array(out, map.iter(), |out, (key, value)| {
            put_long(out, i64::from(*key));
            put(out, value);
        });
    });
}

/// The Avro schema of an entry of format version 2, around the partition struct of `spec`.
fn entry_schema(spec: &PartitionSpec, types: &[Primitive]) -> String {
    let partition: Vec<String> = spec
        .fields
        .iter()
        .zip(types)
        .map(|(field, primitive)| tuple::field_schema(field, *primitive))
        .collect();
    include_str!("manifest_entry_v2.avsc").replace("\"PARTITION\"", &partition.join(","))
}

impl ManifestFile {
    /// Describes a manifest that was just written by snapshot `snapshot_id`, whose commit is to get
    /// `sequence_number`.
    pub fn describe(
        manifest_path: Location,
        manifest_length: i64,
        spec: &PartitionSpec,
        content: ManifestContent,
        (snapshot_id, sequence_number): (i64, i64),
        entries: &[ManifestEntry],
    ) -> ManifestFile {
        let live = entries.iter().filter(|entry| entry.is_live());
        let numbers = live.map(|entry| entry.sequence_number.unwrap_or(sequence_number));
        ManifestFile {
            manifest_path,
            manifest_length,
            partition_spec_id: spec.spec_id,
            content,
            sequence_number,
            min_sequence_number: numbers.min().unwrap_or(sequence_number),
            added_snapshot_id: snapshot_id,
            counts: Counts::of(entries),
            partitions: Some(summaries(spec, entries)),
            key_metadata: None,
            first_row_id: None,
        }
    }
}

impl Counts {
    /// Counts the entries of a manifest.
    pub fn of(entries: &[ManifestEntry]) -> Counts {
        let count = |status| {
            let of_status = entries.iter().filter(|entry| entry.status == status);
            let rows = of_status.clone().map(|entry| entry.data_file.record_count);
            let rows = rows.fold(0, i64::saturating_add);
            (Some(i32::try_from(of_status.count()).unwrap_or(i32::MAX)), Some(rows))
        };
        let (added_files, added_rows) = count(Status::Added);
        let (existing_files, existing_rows) = count(Status::Existing);
        let (deleted_files, deleted_rows) = count(Status::Deleted);
        Counts {
            added_files,
            existing_files,
            deleted_files,
            added_rows,
            existing_rows,
            deleted_rows,
        }
    }
}

/// One summary for each field of the spec, over all entries.
fn summaries(spec: &PartitionSpec, entries: &[ManifestEntry]) -> Vec<FieldSummary> {
    (0..spec.fields.len())
        .map(|place| {
            let values = || entries.iter().map(|e| e.data_file.partition.get(place)?.as_ref());
            let is_nan = |value: &Value| match value {
                Value::Float(v) => v.is_nan(),
                Value::Double(v) => v.is_nan(),
                _ => false,
            };
            let bounded = || values().flatten().filter(|value| !is_nan(value));
            FieldSummary {
                contains_null: values().any(|value| value.is_none()),
                contains_nan: Some(values().flatten().any(is_nan)),
                lower_bound: bounded().min_by(|a, b| a.order(b)).map(Value::to_bytes),
                upper_bound: bounded().max_by(|a, b| a.order(b)).map(Value::to_bytes),
            }
        })
        .collect()
}
