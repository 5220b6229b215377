//! Properties: what is written reads as it was, and no bytes make a decoder panic.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod common;

use common::{SYNC, Table, line, primitives, table};
use kiosko_meta::Location;
use kiosko_meta::avro::{File, Writer, put_bytes, put_long, put_optional};
use kiosko_meta::data_file::{Content, DataFile};
use kiosko_meta::manifest::{self, ManifestEntry, Status};
use kiosko_meta::manifest_list::{self, Counts, FieldSummary, ManifestContent, ManifestFile};
use kiosko_meta::metadata_json;
use kiosko_meta::partition::Tuple;
use kiosko_meta::types::Primitive;
use kiosko_meta::value::Value;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeMap;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..40)
}

fn location() -> impl Strategy<Value = Location> {
    any::<String>().prop_map(|name| {
        Location::parse(&format!("s3://bucket/{}", name.replace('\0', "0"))).unwrap()
    })
}

/// Any value of a primitive type.
fn value(primitive: Primitive) -> BoxedStrategy<Value> {
    match primitive {
        Primitive::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Primitive::Int => any::<i32>().prop_map(Value::Int).boxed(),
        Primitive::Long => any::<i64>().prop_map(Value::Long).boxed(),
        Primitive::Float => any::<u32>().prop_map(|v| Value::Float(f32::from_bits(v))).boxed(),
        Primitive::Double => any::<u64>().prop_map(|v| Value::Double(f64::from_bits(v))).boxed(),
        Primitive::Date => any::<i32>().prop_map(Value::Date).boxed(),
        Primitive::Time => any::<i64>().prop_map(Value::Time).boxed(),
        Primitive::Timestamp => any::<i64>().prop_map(Value::Timestamp).boxed(),
        Primitive::Timestamptz => any::<i64>().prop_map(Value::Timestamptz).boxed(),
        Primitive::TimestampNs => any::<i64>().prop_map(Value::TimestampNs).boxed(),
        Primitive::TimestamptzNs => any::<i64>().prop_map(Value::TimestamptzNs).boxed(),
        Primitive::String => any::<String>().prop_map(Value::String).boxed(),
        Primitive::Uuid => {
            any::<u128>().prop_map(|v| Value::Uuid(uuid::Uuid::from_u128(v))).boxed()
        }
        Primitive::Fixed(length) => {
            vec(any::<u8>(), length as usize).prop_map(Value::Fixed).boxed()
        }
        Primitive::Binary => bytes().prop_map(Value::Binary).boxed(),
        Primitive::Decimal { precision, scale } => {
            let limit = 10i128.pow(u32::from(precision));
            (1 - limit..limit).prop_map(move |v| Value::Decimal(v, scale)).boxed()
        }
    }
}

/// Any tuple of the table's spec, nulls included.
fn tuple() -> impl Strategy<Value = Tuple> {
    let (table, _) = table();
    let types = table.spec.tuple_types(&[table.schema]).unwrap();
    types.into_iter().map(|primitive| option::of(value(primitive))).collect::<Vec<_>>()
}

fn counts() -> impl Strategy<Value = BTreeMap<i32, i64>> {
    btree_map(any::<i32>(), 0..=i64::MAX, 0..4)
}

fn bounds() -> impl Strategy<Value = BTreeMap<i32, Vec<u8>>> {
    btree_map(any::<i32>(), bytes(), 0..4)
}

fn data_file() -> impl Strategy<Value = DataFile> {
    let contents = [Content::Data, Content::PositionDeletes, Content::EqualityDeletes];
    let formats = ["PARQUET", "AVRO", "ORC", "PUFFIN"].map(String::from);
    (
        (select(contents.to_vec()), location(), select(formats.to_vec()), tuple()),
        (0..=i64::MAX, 0..=i64::MAX, counts(), counts(), counts(), counts()),
        (bounds(), bounds(), option::of(bytes()), option::of(vec(any::<i64>(), 0..4))),
        (
            option::of(vec(any::<i32>(), 0..4)),
            option::of(any::<i32>()),
            option::of(any::<String>()),
        ),
    )
        .prop_map(|(what, numbers, metrics, rest)| DataFile {
            content: what.0,
            file_format: what.2,
            partition: what.3,
            column_sizes: numbers.2,
            value_counts: numbers.3,
            null_value_counts: numbers.4,
            nan_value_counts: numbers.5,
            lower_bounds: metrics.0,
            upper_bounds: metrics.1,
            key_metadata: metrics.2,
            split_offsets: metrics.3,
            equality_ids: rest.0,
            sort_order_id: rest.1,
            referenced_data_file: rest.2,
            ..DataFile::new(what.1, numbers.0, numbers.1)
        })
}

fn entry() -> impl Strategy<Value = ManifestEntry> {
    let statuses = vec![Status::Existing, Status::Added, Status::Deleted];
    (select(statuses), any::<i64>(), option::of(any::<(i64, i64)>()), data_file()).prop_map(
        |(status, snapshot_id, numbers, data_file)| {
            // Only an added file may wait for its numbers.
            let numbers = numbers.or((status != Status::Added).then_some((0, 0)));
            ManifestEntry {
                status,
                snapshot_id,
                sequence_number: numbers.map(|n| n.0),
                file_sequence_number: numbers.map(|n| n.1),
                data_file,
            }
        },
    )
}

fn summary() -> impl Strategy<Value = FieldSummary> {
    (any::<bool>(), option::of(any::<bool>()), option::of(bytes()), option::of(bytes())).prop_map(
        |(contains_null, contains_nan, lower_bound, upper_bound)| FieldSummary {
            contains_null,
            contains_nan,
            lower_bound,
            upper_bound,
        },
    )
}

fn manifest_file() -> impl Strategy<Value = ManifestFile> {
    (
        (location(), any::<(i64, i32, bool, i64, i64, i64)>()),
        any::<((i32, i32, i32), (i64, i64, i64))>(),
        (option::of(vec(summary(), 0..4)), option::of(bytes())),
    )
        .prop_map(|((manifest_path, numbers), (files, rows), (partitions, key_metadata))| {
            ManifestFile {
                manifest_path,
                manifest_length: numbers.0,
                partition_spec_id: numbers.1,
                content: if numbers.2 { ManifestContent::Data } else { ManifestContent::Deletes },
                sequence_number: numbers.3,
                min_sequence_number: numbers.4,
                added_snapshot_id: numbers.5,
                counts: Counts {
                    added_files: Some(files.0),
                    existing_files: Some(files.1),
                    deleted_files: Some(files.2),
                    added_rows: Some(rows.0),
                    existing_rows: Some(rows.1),
                    deleted_rows: Some(rows.2),
                },
                partitions,
                key_metadata,
                first_row_id: None,
            }
        })
}

/// Changes of a file: bytes overwritten, taken out, put in, and the end cut off.
fn damage() -> impl Strategy<Value = Vec<(u8, prop::sample::Index, u8)>> {
    vec((0..4u8, any::<prop::sample::Index>(), any::<u8>()), 1..6)
}

fn damaged(mut bytes: Vec<u8>, damage: &[(u8, prop::sample::Index, u8)]) -> Vec<u8> {
    for (how, place, byte) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = place.index(bytes.len());
        match how {
            0 => bytes[at] = *byte,
            1 => bytes.insert(at, *byte),
            2 => drop(bytes.remove(at)),
            _ => bytes.truncate(at.max(bytes.len() / 2)),
        }
    }
    bytes
}

fn spelled(entries: &[ManifestEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.data_file.file_path.as_str()).collect()
}

const RECORD: &str = r#"{"type": "record", "name": "r", "fields": [
    {"name": "a", "type": "long", "field-id": 1}, {"name": "b", "type": "bytes", "field-id": 2},
    {"name": "c", "type": ["null", "long"], "field-id": 3}]}"#;

type Row = (i64, Vec<u8>, Option<i64>);

fn rows_of(bytes: &[u8]) -> kiosko_meta::Result<Vec<Row>> {
    let mut rows = Vec::new();
    File::open("rows", bytes)?.each(|cursor, fields| {
        rows.push((
            cursor.long(&fields[0].node)?,
            cursor.bytes(&fields[1].node)?.to_vec(),
            cursor.optional(&fields[2].node, |cursor, node| cursor.long(node))?,
        ));
        Ok(())
    })?;
    Ok(rows)
}

proptest! {
    #[test]
    fn numbers_and_bytes_survive(rows in vec((any::<i64>(), bytes(), option::of(any::<i64>())), 0..200)) {
        let mut writer = Writer::new(RECORD, &[("key", "value")], SYNC);
        for (long, bytes, optional) in &rows {
            writer.record(|out| {
                put_long(out, *long);
                put_bytes(out, bytes);
                put_optional(out, *optional, put_long);
            });
        }
        let bytes = writer.finish();
        prop_assert_eq!(rows_of(&bytes).unwrap(), rows);
        let file = File::open("rows", &bytes).unwrap();
        prop_assert_eq!(file.metadata("key"), Some("value"));
    }

    #[test]
    fn manifests_survive(entries in vec(entry(), 0..5)) {
        let list_entry = line("file:///w/m0.avro", 7);
        let list_entry = ManifestFile { manifest_length: 0, ..list_entry };
        let bytes = table().0.encode(&entries).unwrap();
        let got = manifest::decode(&list_entry, &bytes).unwrap();
        // What waited for its numbers has them now.
        let mut want = entries;
        for entry in &mut want {
            entry.sequence_number = entry.sequence_number.or(Some(7));
            entry.file_sequence_number = entry.file_sequence_number.or(Some(7));
        }
        prop_assert_eq!(spelled(&got), spelled(&want));
        prop_assert_eq!(got, want);
    }

    #[test]
    fn manifest_lists_survive(lines in vec(manifest_file(), 0..5)) {
        let bytes = manifest_list::encode(1, Some(2), 3, &lines, SYNC);
        prop_assert_eq!(manifest_list::decode("list", &bytes).unwrap(), lines);
    }

    #[test]
    fn no_damage_to_a_manifest_panics(entries in vec(entry(), 1..3), damage in damage()) {
        let bytes = damaged(table().0.encode(&entries).unwrap(), &damage);
        if let Err(error) = manifest::decode(&line("/w/m0.avro", 7), &bytes) {
            prop_assert!(error.to_string().contains("/w/m0.avro"));
        }
    }

    #[test]
    fn no_damage_to_a_manifest_list_panics(lines in vec(manifest_file(), 1..3), damage in damage()) {
        let bytes = damaged(manifest_list::encode(1, None, 3, &lines, SYNC), &damage);
        if let Err(error) = manifest_list::decode("/w/snap.avro", &bytes) {
            prop_assert!(error.to_string().contains("/w/snap.avro"));
        }
    }

    #[test]
    fn no_damage_to_metadata_panics(number in 0..20usize, damage in damage()) {
        let paths = common::files(&common::fixtures(), &|path| path.ends_with(".metadata.json"));
        let bytes = damaged(std::fs::read(&paths[number]).unwrap(), &damage);
        match metadata_json::parse("/w/t.metadata.json", &bytes) {
            // Whatever is accepted is sound, and can be written and read again.
            Ok(metadata) => {
                prop_assert_eq!(metadata.check(), Ok(()));
                if metadata.format_version > 1 {
                    let printed = metadata_json::print(&metadata).unwrap();
                    prop_assert_eq!(metadata_json::parse("again", &printed).unwrap(), metadata);
                }
            }
            Err(kiosko_meta::Error::Corrupt { file, .. }) => {
                prop_assert_eq!(file, "/w/t.metadata.json");
            }
            Err(error) => {
                let unsupported = matches!(error, kiosko_meta::Error::Unsupported { .. });
                prop_assert!(unsupported, "{}", error);
            }
        }
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200)) {
        let magic = [b"Obj\x01", bytes.as_slice()].concat();
        prop_assert!(manifest_list::decode("x", &bytes).is_err());
        prop_assert!(manifest_list::decode("x", &magic).is_err());
        prop_assert!(metadata_json::parse("x", &bytes).is_err());
    }

    /// The summaries of a manifest hold every value of its files.
    #[test]
    fn summaries_hold_every_value(tuples in vec(tuple(), 1..6)) {
        let (Table { schema, spec }, _) = table();
        let path = Location::parse("/w/m0.avro").unwrap();
        let entries: Vec<ManifestEntry> = tuples
            .iter()
            .map(|partition| ManifestEntry {
                status: Status::Added,
                snapshot_id: 1,
                sequence_number: None,
                file_sequence_number: None,
                data_file: DataFile { partition: partition.clone(), ..DataFile::new(path.clone(), 1, 1) },
            })
            .collect();
        let data = ManifestContent::Data;
        let line = ManifestFile::describe(path, 1, &spec, data, (1, 9), &entries);
        prop_assert_eq!(line.counts.added_files, i32::try_from(tuples.len()).ok());
        prop_assert_eq!(line.min_sequence_number, 9);
        let summaries = line.partitions.unwrap();
        let types = spec.tuple_types(&[schema]).unwrap();
        for (place, (summary, primitive)) in summaries.iter().zip(types).enumerate() {
            let bound = |bytes: &Option<Vec<u8>>| Value::from_bytes(primitive, bytes.as_ref()?);
            let (lower, upper) = (bound(&summary.lower_bound), bound(&summary.upper_bound));
            let nan = |value: &Value| *value == Value::Double(f64::NAN);
            prop_assert!(!lower.iter().chain(&upper).any(nan));
            let mut nulls = false;
            let mut nans = false;
            for value in tuples.iter().map(|tuple| tuple[place].as_ref()) {
                match value {
                    None => nulls = true,
                    Some(Value::Float(v)) if v.is_nan() => nans = true,
                    Some(Value::Double(v)) if v.is_nan() => nans = true,
                    Some(value) => {
                        prop_assert!(lower.as_ref().unwrap().order(value).is_le());
                        prop_assert!(upper.as_ref().unwrap().order(value).is_ge());
                    }
                }
            }
            prop_assert_eq!((summary.contains_null, summary.contains_nan), (nulls, Some(nans)));
        }
        prop_assert_eq!(summaries.len(), spec.fields.len());
    }
}

#[test]
fn a_long_manifest_is_several_blocks() {
    let (table, tuple) = table();
    let entries: Vec<_> = common::entries(&tuple).into_iter().cycle().take(2000).collect();
    let bytes = table.encode(&entries).unwrap();
    let blocks = bytes.windows(16).filter(|window| *window == SYNC).count() - 1;
    assert!(blocks > 5, "{blocks}");
    assert_eq!(manifest::decode(&line("/w/m0.avro", 7), &bytes).unwrap(), entries);
}

/// The values of one partition field, as files of several ages and writers carry them.
#[test]
fn values_from_before_a_promotion_are_the_same_values() {
    let same = [
        (Value::Int(5), Value::Long(5)),
        (Value::Float(1.5), Value::Double(1.5)),
        (Value::Timestamp(5), Value::Timestamptz(5)),
        (Value::Double(f64::NAN), Value::Double(-f64::NAN)),
    ];
    for (a, b) in same {
        assert_eq!(a, b);
    }
    let different = [
        (Value::Double(0.0), Value::Double(-0.0)),
        (Value::Int(5), Value::Date(5)),
        (Value::Long(5), Value::Timestamp(5)),
        (Value::Timestamp(5), Value::TimestampNs(5)),
        (Value::Binary(vec![1]), Value::Fixed(vec![1])),
        (Value::Boolean(true), Value::Int(1)),
    ];
    for (a, b) in different {
        assert_ne!(a, b);
    }
    assert!(Value::Int(5).order(&Value::Long(6)).is_lt());
    assert!(Value::Double(0.25).order(&Value::Float(0.5)).is_lt());
}

#[test]
fn what_a_manifest_cannot_hold_is_refused() {
    let (table, tuple) = table();
    let sound = common::entries(&tuple).remove(0);
    let refused = |change: &dyn Fn(&mut ManifestEntry)| {
        let mut entry = sound.clone();
        change(&mut entry);
        table.encode(&[entry]).unwrap_err().to_string()
    };
    assert!(table.encode(std::slice::from_ref(&sound)).is_ok());
    let error = refused(&|entry| {
        (entry.status, entry.sequence_number) = (Status::Existing, None);
    });
    assert!(error.contains("carry both sequence numbers"), "{error}");
    let error = refused(&|entry| drop(entry.data_file.partition.pop()));
    assert!(error.contains("its spec asks for values of the types (boolean, int"), "{error}");
    for (place, (primitive, _)) in primitives().into_iter().enumerate() {
        // A value of the next column's type.
        let other = primitives()[(place + 1) % primitives().len()].1.clone();
        let error = refused(&|entry| entry.data_file.partition[place] = Some(other.clone()));
        assert!(error.contains("the partition tuple of"), "{primitive}: {error}");
    }
    let wide = Value::Decimal(10i128.pow(12), 2);
    refused(&|entry| entry.data_file.partition[15] = Some(wide.clone()));
    refused(&|entry| entry.data_file.partition[13] = Some(Value::Fixed(vec![1, 2])));
    for change in [
        (|file: &mut DataFile| file.first_row_id = Some(1)) as fn(&mut DataFile),
        |file| file.content_offset = Some(4),
        |file| file.content_size_in_bytes = Some(40),
    ] {
        assert!(refused(&|entry| change(&mut entry.data_file)).contains("version 2"));
    }
}

#[test]
fn row_ids_are_inherited_by_live_files_only() {
    let (table, tuple) = table();
    let mut entries = common::entries(&tuple);
    entries.rotate_right(1); // deleted, added with 4 rows, existing
    let list_entry = ManifestFile { first_row_id: Some(1000), ..line("/w/m0.avro", 7) };
    let bytes = table.encode(&entries).unwrap();
    let got = manifest::decode(&list_entry, &bytes).unwrap();
    let ids: Vec<_> = got.iter().map(|entry| entry.data_file.first_row_id).collect();
    assert_eq!(ids, [None, Some(1000), Some(1004)]);
    let got = manifest::decode(&line("/w/m0.avro", 7), &bytes).unwrap();
    assert!(got.iter().all(|entry| entry.data_file.first_row_id.is_none()));
}

/// A manifest may hold any numbers, and describing it adds them up.
#[test]
fn sums_beyond_64_bits_stop_at_the_end() {
    let (table, tuple) = table();
    let mut entries = common::entries(&tuple)[..2].to_vec();
    for entry in &mut entries {
        (entry.status, entry.data_file.record_count) = (Status::Existing, i64::MAX);
        (entry.sequence_number, entry.snapshot_id) = (Some(i64::MIN), 1);
    }
    let (path, data) = (Location::parse("/w/m0.avro").unwrap(), ManifestContent::Data);
    let line = ManifestFile::describe(path, 1, &table.spec, data, (1, 9), &entries);
    assert_eq!(line.counts.existing_rows, Some(i64::MAX));
    assert_eq!(line.min_sequence_number, i64::MIN);
}

#[test]
fn the_lowest_number_is_that_of_the_live_entries_and_may_be_zero() {
    let (table, tuple) = table();
    let path = Location::parse("/w/m0.avro").unwrap();
    let describe = |entries: &[ManifestEntry]| {
        let data = ManifestContent::Data;
        ManifestFile::describe(path.clone(), 1, &table.spec, data, (1, 9), entries)
    };
    // Added with data number 3, existing with 0, deleted with 2.
    let entries = common::entries(&tuple);
    assert_eq!(describe(&entries).min_sequence_number, 0);
    assert_eq!(describe(&entries[..1]).min_sequence_number, 3);
    assert_eq!(describe(&entries[2..]).min_sequence_number, 9);
    let counts = describe(&entries).counts;
    assert_eq!(
        (counts.added_files, counts.existing_files, counts.deleted_files),
        (Some(1), Some(1), Some(1))
    );
    assert_eq!((counts.added_rows, counts.deleted_rows), (Some(4), Some(0)));
}

#[test]
fn a_negative_count_says_nothing() {
    let (table, tuple) = table();
    let mut entry = common::entries(&tuple).remove(0);
    entry.data_file.value_counts = [(1, -1), (2, 0), (3, i64::MIN)].into();
    let bytes = table.encode(&[entry]).unwrap();
    let got = manifest::decode(&line("/w/m0.avro", 7), &bytes).unwrap();
    assert_eq!(got[0].data_file.value_counts, BTreeMap::from([(2, 0)]));
}
