//! What the tests of this crate share: the fixtures, and small tables of their own.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may stop where it fails")]

pub mod hostile;

use kiosko_meta::Location;
use kiosko_meta::data_file::{Content, DataFile};
use kiosko_meta::manifest::{ManifestEntry, Status};
use kiosko_meta::manifest_list::{Counts, ManifestContent, ManifestFile};
use kiosko_meta::manifest_write::ManifestWriter;
use kiosko_meta::partition::{PartitionField, PartitionSpec, Tuple};
use kiosko_meta::schema::{Field, Schema};
use kiosko_meta::transform::Transform;
use kiosko_meta::types::Primitive;
use kiosko_meta::value::Value;
use std::path::{Path, PathBuf};

/// The folder of the tables that PyIceberg wrote.
pub fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pyiceberg-0.12.0")
}

/// Every file below `folder` whose path `wanted` accepts, sorted.
pub fn files(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, wanted));
        } else if wanted(path.to_str().unwrap()) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The fixture file that a location names: the tables were written under `/warehouse/kiosko-*`.
pub fn read_fixture(location: &Location) -> Vec<u8> {
    let rest = location.normal().strip_prefix("/warehouse/kiosko-").unwrap();
    std::fs::read(fixtures().join(rest)).unwrap()
}

/// The line of a manifest list for a manifest at `path` that nothing else is known of.
pub fn line(path: &str, sequence_number: i64) -> ManifestFile {
    ManifestFile {
        manifest_path: Location::parse(path).unwrap(),
        manifest_length: 1,
        partition_spec_id: 0,
        content: ManifestContent::Data,
        sequence_number,
        min_sequence_number: sequence_number,
        added_snapshot_id: 713,
        counts: Counts::default(),
        partitions: None,
        key_metadata: None,
        first_row_id: None,
    }
}

/// The sync marker of every file that a test writes.
pub const SYNC: [u8; 16] = *b"sixteen of these";

/// A table with a column of every primitive type, partitioned by each, and by a bucket, a truncation
/// and a day. Names of partition fields are as free as Iceberg allows.
pub struct Table {
    /// Its schema.
    pub schema: Schema,
    /// Its only spec.
    pub spec: PartitionSpec,
}

/// The primitives, each with a value.
pub fn primitives() -> Vec<(Primitive, Value)> {
    let uuid = uuid::Uuid::parse_str("f79c3e09-677c-4bbd-a479-3f349cb785e7").expect("a uuid");
    vec![
        (Primitive::Boolean, Value::Boolean(true)),
        (Primitive::Int, Value::Int(i32::MIN)),
        (Primitive::Long, Value::Long(i64::MAX)),
        (Primitive::Float, Value::Float(-0.0)),
        (Primitive::Double, Value::Double(f64::NAN)),
        (Primitive::Date, Value::Date(-1)),
        (Primitive::Time, Value::Time(81_068_000_000)),
        (Primitive::Timestamp, Value::Timestamp(-1)),
        (Primitive::Timestamptz, Value::Timestamptz(1_510_871_468_000_000)),
        (Primitive::TimestampNs, Value::TimestampNs(i64::MIN)),
        (Primitive::TimestamptzNs, Value::TimestamptzNs(1_510_871_468_000_001_001)),
        (Primitive::String, Value::String("caf\u{e9} \u{1F600}".into())),
        (Primitive::Uuid, Value::Uuid(uuid)),
        (Primitive::Fixed(3), Value::Fixed(vec![0, 0xff, 7])),
        (Primitive::Binary, Value::Binary(vec![0x80])),
        (Primitive::Decimal { precision: 9, scale: 2 }, Value::Decimal(-1420, 2)),
        (Primitive::Decimal { precision: 38, scale: 0 }, Value::Decimal(10i128.pow(38) - 1, 0)),
    ]
}

/// The table, and a tuple of its spec without nulls.
pub fn table() -> (Table, Tuple) {
    let (mut columns, mut fields, mut tuple) = (Vec::new(), Vec::new(), Tuple::new());
    let mut part = |source_id: i32, name: String, transform: Transform, value: Value| {
        let field_id = 1000 + i32::try_from(fields.len()).expect("few fields");
        fields.push(PartitionField { source_id, field_id, name, transform });
        tuple.push(Some(value));
    };
    for (id, (primitive, value)) in (1..).zip(primitives()) {
        columns.push(Field::optional(id, &format!("c{id}"), primitive));
        part(id, format!("{id}. {primitive}"), Transform::Identity, value);
    }
    part(3, "bucket".into(), Transform::Bucket(16), Value::Int(3));
    part(12, "trunc".into(), Transform::Truncate(2), Value::String("ic".into()));
    part(8, "day".into(), Transform::Day, Value::Date(17_486));
    (Table { schema: Schema::new(columns), spec: PartitionSpec { spec_id: 0, fields } }, tuple)
}

impl Table {
    /// Encodes a manifest of this table.
    pub fn encode(&self, entries: &[ManifestEntry]) -> kiosko_meta::Result<Vec<u8>> {
        let (schema, schemas) = (&self.schema, std::slice::from_ref(&self.schema));
        let content = ManifestContent::Data;
        ManifestWriter { schema, schemas, spec: &self.spec, content }.encode(entries, SYNC)
    }
}

/// A data file with every optional field of version 2.
pub fn full_file(partition: Tuple) -> DataFile {
    let path = Location::parse("s3://bucket/data/a b=%2F/00000-0-f.parquet").expect("a location");
    DataFile {
        content: Content::EqualityDeletes,
        partition,
        column_sizes: [(1, 97), (2, i64::MAX)].into(),
        value_counts: [(1, 4)].into(),
        null_value_counts: [(1, 0), (7, 4)].into(),
        nan_value_counts: [(5, 1)].into(),
        lower_bounds: [(1, vec![]), (12, b"a".to_vec())].into(),
        upper_bounds: [(12, vec![0xff; 300])].into(),
        key_metadata: Some(vec![1, 2, 3]),
        split_offsets: Some(vec![4, 1 << 40]),
        equality_ids: Some(vec![1, 12]),
        sort_order_id: Some(1),
        referenced_data_file: Some("s3://bucket/data/of.parquet".into()),
        ..DataFile::new(path, 4, 1813)
    }
}

/// An entry of each status: full, with empty maps and a null tuple, and with some of each.
pub fn entries(tuple: &Tuple) -> Vec<ManifestEntry> {
    let path = Location::parse("file:/w/t/data/b.parquet").expect("a location");
    let bare = DataFile { partition: vec![None; tuple.len()], ..DataFile::new(path, 0, 0) };
    let entry = |status, number, data_file| ManifestEntry {
        status,
        snapshot_id: 713,
        sequence_number: Some(number),
        file_sequence_number: Some(number + 1),
        data_file,
    };
    let positions = DataFile { content: Content::PositionDeletes, ..bare.clone() };
    vec![
        entry(Status::Added, 3, full_file(tuple.clone())),
        entry(Status::Existing, 0, bare),
        entry(Status::Deleted, 2, DataFile { split_offsets: Some(vec![]), ..positions }),
    ]
}

/// Two lines of a manifest list: one with all that version 2 has, one with as little as it allows.
pub fn lines() -> Vec<ManifestFile> {
    use kiosko_meta::manifest_list::FieldSummary;
    let summary = FieldSummary {
        contains_null: true,
        contains_nan: Some(true),
        lower_bound: Some(vec![]),
        upper_bound: Some(vec![0xff, 0x00]),
    };
    let silent = FieldSummary {
        contains_null: false,
        contains_nan: None,
        lower_bound: None,
        upper_bound: None,
    };
    let counts = Counts {
        added_files: Some(1),
        existing_files: Some(i32::MAX),
        deleted_files: Some(0),
        added_rows: Some(4),
        existing_rows: Some(i64::MAX),
        deleted_rows: Some(0),
    };
    let full = ManifestFile {
        counts,
        content: ManifestContent::Deletes,
        partitions: Some(vec![summary, silent]),
        key_metadata: Some(vec![9]),
        ..line("file:///w/t/metadata/m0.avro", 7)
    };
    vec![full, ManifestFile { counts, ..line("s3://b/m1.avro", 0) }]
}
