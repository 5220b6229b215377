//! The Apache Avro library as a second opinion: it reads what we write, and we read what it writes,
//! also with the fields in another order, under other names, with unknown ones between them, and
//! without the optional ones.
//!
//! That library (0.21) takes a uuid for text or bytes with a length, where Iceberg has 16 bytes
//! without one, and drops `adjust-to-utc`. So uuids pass through it as plain bytes, by writing
//! another word of four letters over `uuid` in the schema.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it fails"
)]

mod common;

use apache_avro::types::Value;
use apache_avro::{Codec, DeflateSettings, Reader, Schema, Writer};
use common::{SYNC, entries, line, lines, table};
use kiosko_meta::avro::{File, Writer as OurWriter, put_bytes, put_long};
use kiosko_meta::manifest::{self, ManifestEntry};
use kiosko_meta::manifest_list::{self, ManifestFile};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

const UUID: &[u8] = br#""logicalType":"uuid""#;
const DIUU: &[u8] = br#""logicalType":"diuu""#;

fn replace(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}

/// What the library makes of a file: the schema's text, the other header texts, the records.
struct Theirs {
    schema: Json,
    header: BTreeMap<String, String>,
    records: Vec<Value>,
}

fn they_read(bytes: &[u8]) -> Theirs {
    let bytes = replace(bytes, UUID, DIUU);
    let reader = Reader::new(bytes.as_slice()).unwrap();
    let file = File::open("ours", &bytes).unwrap();
    let keys = [
        "schema",
        "schema-id",
        "partition-spec",
        "partition-spec-id",
        "format-version",
        "content",
        "snapshot-id",
        "parent-snapshot-id",
        "sequence-number",
    ];
    let header = keys.iter().filter_map(|key| Some((key.to_string(), file.metadata(key)?.into())));
    let header: BTreeMap<String, String> = header.collect();
    for (key, value) in reader.user_metadata() {
        assert_eq!(header[key].as_bytes(), value.as_slice(), "{key}");
    }
    assert_eq!(reader.user_metadata().len(), header.len());
    Theirs {
        schema: serde_json::from_str(file.metadata("avro.schema").unwrap()).unwrap(),
        header,
        records: reader.map(Result::unwrap).collect(),
    }
}

/// The fields of a record: of each the schema, and its value.
type Fields = Vec<(Json, Option<Value>)>;

/// A change of the fields of the record of that name.
type Edit<'a> = &'a dyn Fn(&str, &mut Fields);

impl Theirs {
    fn they_write(&self, codec: Codec) -> Vec<u8> {
        let schema = Schema::parse(&self.schema).unwrap();
        let mut writer = Writer::with_codec(&schema, Vec::new(), codec);
        for (key, value) in &self.header {
            writer.add_user_metadata(key.clone(), value).unwrap();
        }
        for record in &self.records {
            writer.append(record.clone()).unwrap();
        }
        replace(&writer.into_inner().unwrap(), DIUU, UUID)
    }

    /// Edits the fields of every record of the schema, and the values with them; the items of maps
    /// and lists stay as they are.
    fn edit(&mut self, edit: Edit<'_>) {
        let schema = self.schema.clone();
        for record in &mut self.records {
            self.schema = schema.clone();
            edit_record(&mut self.schema, record, edit);
        }
    }
}

fn edit_record(schema: &mut Json, value: &mut Value, edit: Edit<'_>) {
    let Value::Record(values) = value else { panic!("{value:?} is no record") };
    let fields = schema["fields"].as_array().unwrap().clone();
    let mut pairs: Vec<(Json, Option<Value>)> = Vec::new();
    for (mut field, (name, mut value)) in fields.into_iter().zip(values.drain(..)) {
        assert_eq!(field["name"], name.as_str());
        if field["type"]["type"] == "record" {
            edit_record(&mut field["type"], &mut value, edit);
        }
        pairs.push((field, Some(value)));
    }
    edit(schema["name"].as_str().unwrap(), &mut pairs);
    let name = |field: &Json| field["name"].as_str().unwrap().to_string();
    *values = pairs.iter_mut().map(|(f, value)| (name(f), value.take().unwrap())).collect();
    schema["fields"] = pairs.into_iter().map(|(field, _)| field).collect();
}

fn we_read_entries(bytes: &[u8]) -> Vec<ManifestEntry> {
    manifest::decode(&line("file:///w/m0.avro", 7), bytes).unwrap()
}

fn we_read_lines(bytes: &[u8]) -> Vec<ManifestFile> {
    manifest_list::decode("theirs", bytes).unwrap()
}

fn our_list() -> Vec<u8> {
    manifest_list::encode(713, Some(402), 7, &lines(), SYNC)
}

fn our_manifest() -> Vec<u8> {
    let (table, tuple) = table();
    table.encode(&entries(&tuple)).unwrap()
}

fn get<'a>(value: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(value, |value, name| {
        let value = if let Value::Union(_, inner) = value { inner } else { value };
        let Value::Record(fields) = value else { panic!("{value:?} has no {name}") };
        &fields.iter().find(|(field, _)| field == name).unwrap_or_else(|| panic!("{name}")).1
    })
}

fn present(value: Value) -> Value {
    Value::Union(1, Box::new(value))
}

fn null() -> Value {
    Value::Union(0, Box::new(Value::Null))
}

#[test]
fn they_read_every_kind_of_partition_value() {
    let theirs = they_read(&our_manifest());
    let Value::Record(partition) = get(&theirs.records[0], "data_file.partition") else { panic!() };
    let decimal = |value: &Value| match value {
        Value::Union(1, inner) => match &**inner {
            Value::Decimal(decimal) => num(decimal),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let want = [
        Value::Boolean(true),
        Value::Int(i32::MIN),
        Value::Long(i64::MAX),
        Value::Float(-0.0),
        Value::Double(f64::NAN),
        Value::Date(-1),
        Value::TimeMicros(81_068_000_000),
        Value::TimestampMicros(-1),
        Value::TimestampMicros(1_510_871_468_000_000),
        Value::TimestampNanos(i64::MIN),
        Value::TimestampNanos(1_510_871_468_000_001_001),
        Value::String("caf\u{e9} \u{1F600}".into()),
        Value::Fixed(
            16,
            vec![247, 156, 62, 9, 103, 124, 75, 189, 164, 121, 63, 52, 156, 183, 133, 231],
        ),
        Value::Fixed(3, vec![0, 0xff, 7]),
        Value::Bytes(vec![0x80]),
    ];
    for ((name, value), want) in partition.iter().zip(want) {
        // NaN equals nothing, so values are compared as they print.
        assert_eq!(format!("{value:?}"), format!("{:?}", present(want)), "{name}");
    }
    assert_eq!(
        (partition[0].0.as_str(), partition[15].0.as_str()),
        ("_1_x2E_x20boolean", "_16_x2E_x20decimal_x289_x2C_x202_x29")
    );
    assert_eq!(decimal(&partition[15].1), -1420);
    assert_eq!(decimal(&partition[16].1), 10i128.pow(38) - 1);
    assert_eq!(partition[17].1, present(Value::Int(3)));
    assert_eq!(partition[18].1, present(Value::String("ic".into())));
    assert_eq!(partition[19].1, present(Value::Date(17_486)));

    let Value::Record(nulls) = get(&theirs.records[1], "data_file.partition") else { panic!() };
    assert_eq!(nulls.len(), 20);
    assert!(nulls.iter().all(|(_, value)| *value == null()));
}

/// The unscaled number of a decimal.
fn num(decimal: &apache_avro::Decimal) -> i128 {
    let bytes: Vec<u8> = decimal.try_into().unwrap();
    kiosko_meta::value::decimal_from_bytes(&bytes).unwrap()
}

#[test]
fn they_read_every_field_of_an_entry() {
    let theirs = they_read(&our_manifest());
    assert_eq!(theirs.header["content"], "data");
    assert_eq!(theirs.header["format-version"], "2");
    assert_eq!(theirs.header["schema-id"], "0");
    let pair = |key: i32, value: Value| {
        Value::Record(vec![("key".into(), Value::Int(key)), ("value".into(), value)])
    };
    let full = &theirs.records[0];
    let want = [
        ("status", Value::Int(1)),
        ("snapshot_id", present(Value::Long(713))),
        ("sequence_number", present(Value::Long(3))),
        ("file_sequence_number", present(Value::Long(4))),
        ("data_file.content", Value::Int(2)),
        ("data_file.file_path", Value::String("s3://bucket/data/a b=%2F/00000-0-f.parquet".into())),
        ("data_file.file_format", Value::String("PARQUET".into())),
        ("data_file.record_count", Value::Long(4)),
        ("data_file.file_size_in_bytes", Value::Long(1813)),
        (
            "data_file.column_sizes",
            present(Value::Array(vec![pair(1, Value::Long(97)), pair(2, Value::Long(i64::MAX))])),
        ),
        ("data_file.nan_value_counts", present(Value::Array(vec![pair(5, Value::Long(1))]))),
        (
            "data_file.lower_bounds",
            present(Value::Array(vec![
                pair(1, Value::Bytes(vec![])),
                pair(12, Value::Bytes(b"a".to_vec())),
            ])),
        ),
        ("data_file.key_metadata", present(Value::Bytes(vec![1, 2, 3]))),
        (
            "data_file.split_offsets",
            present(Value::Array(vec![Value::Long(4), Value::Long(1 << 40)])),
        ),
        ("data_file.equality_ids", present(Value::Array(vec![Value::Int(1), Value::Int(12)]))),
        ("data_file.sort_order_id", present(Value::Int(1))),
        (
            "data_file.referenced_data_file",
            present(Value::String("s3://bucket/data/of.parquet".into())),
        ),
    ];
    for (path, want) in want {
        assert_eq!(*get(full, path), want, "{path}");
    }
    let bare = &theirs.records[1];
    for name in ["key_metadata", "split_offsets", "equality_ids", "sort_order_id"] {
        assert_eq!(*get(bare, &format!("data_file.{name}")), null(), "{name}");
    }
    // An empty map is written as one: PyIceberg's inspect.entries refuses null.
    assert_eq!(*get(bare, "data_file.column_sizes"), present(Value::Array(vec![])));
    let statuses: Vec<_> = theirs.records.iter().map(|record| get(record, "status")).collect();
    assert_eq!(statuses, [&Value::Int(1), &Value::Int(0), &Value::Int(2)]);
}

#[test]
fn they_read_every_field_of_a_manifest_list() {
    let theirs = they_read(&our_list());
    assert_eq!(theirs.header["snapshot-id"], "713");
    assert_eq!(theirs.header["parent-snapshot-id"], "402");
    assert_eq!(theirs.header["sequence-number"], "7");
    let full = &theirs.records[0];
    let want = [
        ("manifest_path", Value::String("file:///w/t/metadata/m0.avro".into())),
        ("content", Value::Int(1)),
        ("sequence_number", Value::Long(7)),
        ("added_files_count", Value::Int(1)),
        ("existing_files_count", Value::Int(i32::MAX)),
        ("existing_rows_count", Value::Long(i64::MAX)),
        ("key_metadata", present(Value::Bytes(vec![9]))),
    ];
    for (path, want) in want {
        assert_eq!(*get(full, path), want, "{path}");
    }
    let Value::Union(1, summaries) = get(full, "partitions") else { panic!() };
    let Value::Array(summaries) = &**summaries else { panic!() };
    assert_eq!(*get(&summaries[0], "contains_nan"), present(Value::Boolean(true)));
    assert_eq!(*get(&summaries[0], "lower_bound"), present(Value::Bytes(vec![])));
    assert_eq!(*get(&summaries[1], "upper_bound"), null());
    assert_eq!(*get(&theirs.records[1], "partitions"), null());
    let first = manifest_list::encode(1, None, 1, &[], SYNC);
    assert_eq!(they_read(&first).header["parent-snapshot-id"], "null");
}

fn codecs() -> [Codec; 2] {
    [Codec::Null, Codec::Deflate(DeflateSettings::default())]
}

#[test]
fn we_read_what_they_write() {
    let (_, tuple) = table();
    for codec in codecs() {
        let bytes = they_read(&our_manifest()).they_write(codec);
        assert_eq!(we_read_entries(&bytes), entries(&tuple), "{codec:?}");
        let bytes = they_read(&our_list()).they_write(codec);
        assert_eq!(we_read_lines(&bytes), lines(), "{codec:?}");
    }
}

#[test]
fn order_and_names_of_fields_do_not_matter() {
    let (_, tuple) = table();
    let turn = |_: &str, fields: &mut Fields| {
        fields.reverse();
        for (place, (field, _)) in fields.iter_mut().enumerate() {
            field["name"] = json!(format!("field_{place}"));
        }
    };
    for codec in codecs() {
        let mut theirs = they_read(&our_manifest());
        theirs.edit(&turn);
        assert_eq!(we_read_entries(&theirs.they_write(codec)), entries(&tuple));
        let mut theirs = they_read(&our_list());
        theirs.edit(&turn);
        assert_eq!(we_read_lines(&theirs.they_write(codec)), lines());
    }
}

#[test]
fn unknown_fields_are_passed_over() {
    let (_, tuple) = table();
    let nested = Value::Map([("k".to_string(), Value::Array(vec![Value::Float(1.5)]))].into());
    let unknown = [
        (json!({"type": "map", "values": {"type": "array", "items": "float"}}), nested),
        (json!(["null", "double"]), present(Value::Double(2.5))),
        (json!(["null", "double"]), null()),
        (json!({"type": "enum", "name": "E", "symbols": ["A", "B"]}), Value::Enum(1, "B".into())),
        (json!("boolean"), Value::Boolean(true)),
        (json!("null"), Value::Null),
        (json!("string"), Value::String("x".into())),
        (json!({"type": "fixed", "name": "F", "size": 5}), Value::Fixed(5, vec![1, 2, 3, 4, 5])),
    ];
    let insert = |record: &str, fields: &mut Fields| {
        for (index, (avro, value)) in unknown.iter().enumerate() {
            let mut avro = avro.clone();
            if let Some(name) = avro.get("name").and_then(Json::as_str).map(str::to_string) {
                avro["name"] = json!(format!("{name}_{record}"));
            }
            // One with an id that no version has, the next without.
            let name = format!("unknown_{index}");
            let field = match index % 2 {
                0 => json!({"name": name, "type": avro, "field-id": 9000 + index}),
                _ => json!({"name": name, "type": avro}),
            };
            fields.insert(index * fields.len() / unknown.len(), (field, Some(value.clone())));
        }
    };
    for codec in codecs() {
        let mut theirs = they_read(&our_manifest());
        theirs.edit(&insert);
        assert_eq!(we_read_entries(&theirs.they_write(codec)), entries(&tuple));
        let mut theirs = they_read(&our_list());
        theirs.edit(&insert);
        assert_eq!(we_read_lines(&theirs.they_write(codec)), lines());
    }
}

#[test]
fn optional_fields_may_be_missing() {
    let (_, tuple) = table();
    let drop_optional = |record: &str, fields: &mut Fields| {
        // A partition value that is not written is null. The sequence numbers of an existing entry
        // are optional in the schema and must yet be there.
        let numbers = |field: &Json| field["field-id"] == 3 || field["field-id"] == 4;
        fields.retain(|(f, _)| numbers(f) || (record != "r102" && f["type"][0] != "null"));
    };
    let mut theirs = they_read(&our_manifest());
    theirs.edit(&drop_optional);
    let got = we_read_entries(&theirs.they_write(Codec::Null)[..]);
    assert_eq!(got.len(), 3);
    for (got, full) in got.iter().zip(entries(&tuple)) {
        let (file, old) = (&got.data_file, full.data_file);
        assert_eq!(file.partition, vec![None; 20]);
        assert_eq!((&file.file_path, file.record_count), (&old.file_path, old.record_count));
        assert!(file.column_sizes.is_empty() && file.upper_bounds.is_empty());
        assert_eq!((&file.split_offsets, &file.equality_ids), (&None, &None));
        assert_eq!(got.snapshot_id, 713);
    }
    let mut theirs = they_read(&our_list());
    theirs.edit(&drop_optional);
    let got = we_read_lines(&theirs.they_write(Codec::Null));
    assert_eq!((&got[0].partitions, &got[0].key_metadata), (&None, &None));
    assert_eq!(got[0].counts, lines()[0].counts);
}

#[test]
fn version_1_manifests_have_no_numbers_at_all() {
    let mut theirs = they_read(&our_manifest());
    theirs.edit(&|_, fields| {
        fields.retain(|(field, _)| [3, 4, 134].iter().all(|id| field["field-id"] != *id));
    });
    let bytes = theirs.they_write(Codec::Null);
    // As version 2, an existing entry lacks what it must carry.
    assert!(manifest::decode(&line("/w/m0.avro", 0), &bytes).is_err());
    theirs.header.insert("format-version".into(), "1".into());
    let got = manifest::decode(&line("/w/m0.avro", 0), &theirs.they_write(Codec::Null)).unwrap();
    for entry in &got {
        assert_eq!((entry.sequence_number, entry.file_sequence_number), (Some(0), Some(0)));
        assert_eq!(entry.data_file.content, kiosko_meta::data_file::Content::Data);
    }
    assert_eq!(got.len(), 3);
}

#[test]
fn a_day_may_be_written_as_an_int() {
    let mut theirs = they_read(&our_manifest());
    theirs.edit(&|_, fields| {
        for (field, value) in fields.iter_mut().filter(|(field, _)| field["name"] == "day") {
            field["type"] = json!(["null", "int"]);
            if let Some(Value::Union(1, inner)) = value {
                **inner = Value::Int(17_486);
            }
        }
    });
    let got = we_read_entries(&theirs.they_write(Codec::Null));
    let (_, tuple) = table();
    assert_eq!(got[0].data_file.partition[19], Some(kiosko_meta::value::Value::Date(17_486)));
    assert_eq!(got, entries(&tuple));
}

#[test]
fn timestamps_say_whether_they_are_zoned() {
    let theirs = they_read(&our_manifest());
    let fields = theirs.schema["fields"][4]["type"]["fields"][3]["type"]["fields"].as_array();
    let zoned: Vec<&Json> = fields.unwrap()[7..11]
        .iter()
        .map(|field| {
            assert_eq!(field["type"][0], "null");
            &field["type"][1]["adjust-to-utc"]
        })
        .collect();
    assert_eq!(zoned, [false, true, false, true]);
}

#[test]
fn version_1_lists_have_fewer_fields() {
    let mut theirs = they_read(&our_list());
    theirs.edit(&|_, fields| {
        let v1 = [500, 501, 502, 503, 507];
        fields.retain(|(field, _)| v1.iter().any(|id| field["field-id"] == *id));
    });
    let got = we_read_lines(&theirs.they_write(Codec::Null));
    assert_eq!(got[0].content, manifest_list::ManifestContent::Data);
    assert_eq!((got[0].sequence_number, got[0].min_sequence_number), (0, 0));
    assert_eq!(got[0].counts, manifest_list::Counts::default());
    assert!(got[0].may_be_live());
    // Carried into a list of version 2, they must still not be taken for empty.
    let bytes = manifest_list::encode(1, None, 1, &got, SYNC);
    assert!(manifest_list::decode("v2", &bytes).unwrap().iter().all(ManifestFile::may_be_live));
}

#[test]
fn blocks_of_an_array_may_tell_their_length_and_come_in_pieces() {
    let schema = r#"{"type": "record", "name": "r", "fields": [
        {"name": "a", "field-id": 1, "type": {"type": "array", "items": "long"}},
        {"name": "b", "field-id": 2, "type": "string"}]}"#;
    let mut writer = OurWriter::new(schema, &[], SYNC);
    writer.record(|out| {
        for number in [-2, 2, 5, 6, 1, 7, 0] {
            put_long(out, number); // two items in two bytes: 5, 6; then one: 7; then none
        }
        put_bytes(out, b"end");
    });
    let bytes = writer.finish();
    let mut got = Vec::new();
    File::open("blocks", &bytes)
        .unwrap()
        .each(|cursor, fields| {
            got.extend(cursor.array(&fields[0].node, |cursor, node| cursor.long(node))?);
            assert_eq!(cursor.string(&fields[1].node)?, "end");
            Ok(())
        })
        .unwrap();
    assert_eq!(got, [5, 6, 7]);
}
