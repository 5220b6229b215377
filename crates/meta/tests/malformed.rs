//! Hostile and broken bytes: each gives an error that names the file and the place. Nothing panics,
//! nothing runs long, and memory stays within a constant times the input.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it fails"
)]

mod common;

use common::hostile::{NAME, decode};
use common::{SYNC, files, fixtures, line};
use kiosko_meta::avro::{File, put_bytes, put_long};
use kiosko_meta::manifest_list::ManifestFile;
use kiosko_meta::{Error, Result, manifest, manifest_list, metadata_json};
use serde_json::{Value as Json, json};
use std::io::{Read, Write};

/// How much a byte of input may take: one entry of a manifest is the widest, and deflate is allowed
/// 512 bytes for one.
const PLAIN: usize = 600;
const PACKED: usize = 512 * 150;

fn parse(case: &str, bytes: &[u8]) -> Result<kiosko_meta::metadata::TableMetadata> {
    let factor = if bytes.starts_with(&[0x1f, 0x8b]) { PACKED } else { PLAIN };
    decode(case, bytes, factor, |bytes| metadata_json::parse(NAME, bytes))
}

fn entries(case: &str, bytes: &[u8]) -> Result<usize> {
    let list_entry = ManifestFile { manifest_length: 0, ..line(NAME, 7) };
    decode(case, bytes, PACKED, |bytes| Ok(manifest::decode(&list_entry, bytes)?.len()))
}

fn lines(case: &str, bytes: &[u8]) -> Result<usize> {
    decode(case, bytes, PACKED, |bytes| Ok(manifest_list::decode(NAME, bytes)?.len()))
}

// ---- metadata.json ----------------------------------------------------------------------------

/// The metadata of the products, two snapshots of it, with every structure that it lacks.
fn rich() -> Json {
    let metadata = files(&fixtures(), &|path| path.contains("dim_product/metadata/00001-"));
    let mut json: Json = serde_json::from_slice(&std::fs::read(&metadata[0]).unwrap()).unwrap();
    let first = json["snapshots"][0].clone();
    json["snapshots"].as_array_mut().unwrap().push(first.clone());
    json["snapshots"][1]["snapshot-id"] = json!(7);
    json["snapshots"][1]["parent-snapshot-id"] = first["snapshot-id"].clone();
    json["schemas"][0]["identifier-field-ids"] = json!([1]);
    json["schemas"][0]["fields"][0]["doc"] = json!("the key");
    json["schemas"][0]["fields"][1]["type"] = json!({
        "type": "map", "key-id": 5, "key": "string", "value-id": 6, "value-required": false,
        "value": {"type": "list", "element-id": 7, "element-required": false,
                  "element": {"type": "struct", "fields": [
                      {"id": 8, "name": "x", "type": "decimal(9, 2)", "required": false}]}}});
    json["last-column-id"] = json!(8);
    json["partition-specs"][0]["fields"] =
        json!([{"source-id": 1, "field-id": 1000, "transform": "bucket[4]", "name": "b"}]);
    json["last-partition-id"] = json!(1000);
    json["sort-orders"].as_array_mut().unwrap().push(json!({"order-id": 1, "fields": [
        {"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}]}));
    json["properties"] = json!({"owner": "me"});
    json["refs"]["kept"] = json!({"snapshot-id": 7, "type": "tag", "max-ref-age-ms": 5});
    json["refs"]["side"] = json!({"snapshot-id": 7, "type": "branch", "min-snapshots-to-keep": 2,
        "max-snapshot-age-ms": 3});
    let statistics = json!([{"snapshot-id": 7, "statistics-path": "/w/s.puffin"}]);
    json["statistics"] = statistics.clone();
    json["partition-statistics"] = statistics;
    json
}

/// Every place in the JSON, as the path that an error would name: `$.snapshots[0].summary`.
fn places(json: &Json, path: String, all: &mut Vec<(String, String)>, pointer: String) {
    all.push((path.clone(), pointer.clone()));
    match json {
        Json::Object(map) => {
            for (key, value) in map {
                places(value, format!("{path}.{key}"), all, format!("{pointer}/{key}"));
            }
        }
        Json::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                places(value, format!("{path}[{index}]"), all, format!("{pointer}/{index}"));
            }
        }
        _ => {}
    }
}

fn all_places(json: &Json) -> Vec<(String, String)> {
    let mut all = Vec::new();
    places(json, "$".into(), &mut all, String::new());
    all
}

/// The path without its indexes: `$.snapshots[].summary`.
fn shape(path: &str) -> String {
    path.split('[')
        .map(|part| part.split_once(']').map_or(part, |(_, rest)| rest))
        .collect::<Vec<_>>()
        .join("[]")
}

/// What may be missing. Some of it version 2 requires, but tables that were upgraded from version 1
/// lack it.
const OPTIONAL: [&str; 31] = [
    "$.properties",
    "$.properties.owner",
    "$.refs",
    "$.refs.main",
    "$.refs.kept",
    "$.refs.side",
    "$.refs.kept.max-ref-age-ms",
    "$.refs.side.min-snapshots-to-keep",
    "$.refs.side.max-snapshot-age-ms",
    "$.snapshot-log",
    "$.metadata-log",
    "$.statistics",
    "$.partition-statistics",
    "$.schemas[].type",
    "$.schemas[].schema-id",
    "$.schemas[].identifier-field-ids",
    "$.schemas[].fields[].doc",
    "$.partition-specs[].fields[].field-id",
    "$.snapshots[].parent-snapshot-id",
    "$.snapshots[].sequence-number",
    "$.snapshots[].schema-id",
    "$.snapshots[].summary",
    "$.snapshots[].summary.operation",
    "$.snapshots[].summary.added-files-size",
    "$.snapshots[].summary.added-data-files",
    "$.snapshots[].summary.added-records",
    "$.snapshots[].summary.total-data-files",
    "$.snapshots[].summary.total-delete-files",
    "$.snapshots[].summary.total-records",
    "$.snapshots[].summary.total-files-size",
    "$.snapshots[].summary.total-position-deletes",
];

/// A reader has no use for these, so any value will do.
const UNREAD: [&str; 1] = ["$.schemas[].type"];

fn optional(path: &str) -> bool {
    let shape = shape(path);
    OPTIONAL.contains(&shape.as_str()) || shape == "$.snapshots[].summary.total-equality-deletes"
}

/// Whether the writer chose the key: what is there is not null.
fn named(path: &str) -> bool {
    let (parent, _) = path.rsplit_once('.').unwrap();
    parent.ends_with(".summary") || parent == "$.properties" || parent == "$.refs"
}

#[test]
fn every_key_is_required_or_known_to_be_optional() {
    let rich = rich();
    parse("rich", rich.to_string().as_bytes()).unwrap();
    let (mut required, mut left_out) = (0, 0);
    for (path, pointer) in all_places(&rich) {
        let (parent, key) = match pointer.rsplit_once('/') {
            Some((parent, key)) if key.parse::<usize>().is_err() => (parent, key),
            _ => continue,
        };
        for null in [false, true] {
            let mut json = rich.clone();
            let object = json.pointer_mut(parent).unwrap().as_object_mut().unwrap();
            match null {
                true => object[key] = Json::Null,
                false => drop(object.shift_remove(key).unwrap()),
            }
            let result = parse(&path, json.to_string().as_bytes());
            if path == "$.current-snapshot-id" || path == "$.snapshots" {
                // A new table lacks both; here the references contradict their absence.
                assert!(result.unwrap_err().to_string().contains("$.refs."));
            } else if optional(&path) && !(null && named(&path)) {
                assert!(result.is_ok(), "{path}: {}", result.unwrap_err());
                left_out += 1;
            } else {
                let Err(Error::Corrupt { at, .. }) = result else {
                    panic!("{path} was not missed")
                };
                assert_eq!(at, path);
                required += 1;
            }
        }
    }
    assert!(required > 120 && left_out > 60, "{required} required, {left_out} optional");
}

#[test]
fn every_value_has_its_type() {
    let rich = rich();
    let mut cases = 0;
    let others = [
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(i64::MIN),
        json!(1u64 << 31),
        json!(u64::MAX),
        json!(1e300),
        json!(""),
        json!("x"),
        json!("\u{0}"),
        json!([]),
        json!({}),
        json!([[]]),
        json!({"a": 1}),
        json!([null]),
    ];
    let kind = |json: &Json| std::mem::discriminant(json);
    for (path, pointer) in all_places(&rich) {
        for other in &others {
            let mut json = rich.clone();
            let place = json.pointer_mut(&pointer).unwrap();
            let differs = kind(place) != kind(other) || other.is_f64();
            *place = other.clone();
            cases += 1;
            let result = parse(&format!("{path} = {other}"), json.to_string().as_bytes());
            if !differs || UNREAD.contains(&shape(&path).as_str()) {
                continue; // may be fine or not
            }
            match result {
                Err(Error::Corrupt { at, .. }) => {
                    assert!(at.starts_with(&path), "{path} = {other}: the error is at {at}");
                }
                _ => panic!("{path} = {other} was accepted"),
            }
        }
    }
    assert!(cases > 2000, "{cases}");
}

#[test]
fn numbers_that_are_out_of_range_are_refused_at_their_place() {
    for (pointer, number, at) in [
        ("/format-version", json!(0), "$.format-version"),
        ("/format-version", json!(-1), "$.format-version"),
        ("/format-version", json!(4_294_967_298i64), "$.format-version"),
        ("/last-column-id", json!(7), "$.last-column-id"),
        ("/last-column-id", json!(1i64 << 31), "$.last-column-id"),
        ("/last-sequence-number", json!(-1), "$.snapshots[0].sequence-number"),
        ("/last-updated-ms", json!(u64::MAX), "$.last-updated-ms"),
        ("/snapshots/0/sequence-number", json!(-1), "$.snapshots[0].sequence-number"),
        ("/snapshots/1/snapshot-id", json!(9.0), "$.snapshots[1].snapshot-id"),
        ("/current-schema-id", json!(-1), "$.current-schema-id"),
        ("/schemas/0/fields/0/id", json!(1i64 << 33), "$.schemas[0].fields[0].id"),
        ("/refs/main/snapshot-id", json!(1), "$.refs.main.snapshot-id"),
        (
            "/refs/side/min-snapshots-to-keep",
            json!(1i64 << 40),
            "$.refs.side.min-snapshots-to-keep",
        ),
        (
            "/partition-specs/0/fields/0/transform",
            json!("bucket[0]"),
            "$.partition-specs[0].fields[0].transform",
        ),
        ("/schemas/0/fields/0/type", json!("decimal(39, 2)"), "$.schemas[0].fields[0].type"),
        ("/location", json!("s3:///no-bucket"), "$.location"),
        ("/metadata-log/0/metadata-file", json!("../up"), "$.metadata-log[0].metadata-file"),
        ("/table-uuid", json!("c87393c8"), "$.table-uuid"),
    ] {
        let mut json = rich();
        *json.pointer_mut(pointer).unwrap() = number.clone();
        match parse(pointer, json.to_string().as_bytes()) {
            Err(Error::Corrupt { at: place, .. }) => assert_eq!(place, at, "{pointer} = {number}"),
            other => panic!("{pointer} = {number}: {other:?}"),
        }
    }
    let mut json = rich();
    json["format-version"] = json!(4);
    let error = parse("version 4", json.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn metadata_cut_off_or_flipped() {
    let text = rich().to_string().into_bytes();
    let step = |at: usize| at < 1500 || at.is_multiple_of(5);
    for at in (0..text.len()).filter(|at| step(*at)) {
        let error = parse(&format!("cut at {at}"), &text[..at]).unwrap_err();
        assert!(error.to_string().contains("line 1, column"), "{error}");
    }
    for at in (0..text.len()).filter(|at| step(*at)) {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut text = text.clone();
            text[at] ^= flip;
            let result = parse(&format!("byte {at} ^ {flip:#x}"), &text);
            assert!(flip < 0x80 || result.is_err(), "byte {at} ^ {flip:#x} was accepted");
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

#[test]
fn metadata_that_is_deep_huge_or_packed() {
    let text = rich().to_string();
    let packed = gzip(text.as_bytes());
    assert_eq!(
        parse("gzip", &packed).unwrap(),
        metadata_json::parse("plain", text.as_bytes()).unwrap()
    );
    let nested = |depth: usize| {
        let mut field_type = json!("int");
        for id in 0..depth {
            field_type = json!({"type": "list", "element-id": 100 + id, "element": field_type,
                "element-required": false});
        }
        let mut json = rich();
        json["last-column-id"] = json!(1000);
        json["schemas"][0]["fields"][3]["type"] = field_type;
        json.to_string().into_bytes()
    };
    assert!(parse("110 lists", &nested(110)).is_ok());
    let cases = [
        ("empty", vec![]),
        ("spaces", b"   ".to_vec()),
        ("a byte order mark", [b"\xef\xbb\xbf", text.as_bytes()].concat()),
        ("two documents", [text.as_bytes(), b"{}"].concat()),
        ("null", b"null".to_vec()),
        ("open brackets", vec![b'['; 1 << 20]),
        ("open objects", br#"{"a":"#.repeat(100_000)),
        ("many lists", nested(125)),
        (
            "a number beyond all",
            text.replace("\"last-column-id\":8", "\"last-column-id\":1e999").into(),
        ),
        (
            "an endless number",
            text.replace(
                "\"last-column-id\":8",
                &format!("\"last-column-id\":{}", "9".repeat(100_000)),
            )
            .into(),
        ),
        ("half of gzip", packed[..packed.len() / 2].to_vec()),
        ("the head of gzip", vec![0x1f, 0x8b]),
        ("gzip of nothing", gzip(b"")),
        ("gzip in gzip", gzip(&packed)),
        ("a gzip bomb", gzip(&vec![b' '; 8 << 20])),
        ("a gzip bomb of brackets", gzip(&vec![b'['; 8 << 20])),
        ("a long list of nothing", format!("[{}0]", "0,".repeat(1 << 20)).into()),
    ];
    for (case, bytes) in &cases {
        let error = parse(case, bytes).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{case}: {error}");
    }
}

// ---- Avro -------------------------------------------------------------------------------------

/// An Avro file made by hand: header texts, then blocks of a count and bytes.
fn container(header: &[(&str, &[u8])], blocks: &[(i64, &[u8])]) -> Vec<u8> {
    let mut out = b"Obj\x01".to_vec();
    put_long(&mut out, header.len() as i64);
    for (key, value) in header {
        put_bytes(&mut out, key.as_bytes());
        put_bytes(&mut out, value);
    }
    out.push(0);
    out.extend(SYNC);
    for (count, data) in blocks {
        put_long(&mut out, *count);
        put_bytes(&mut out, data);
        out.extend(SYNC);
    }
    out
}

/// A manifest or list with this schema, uncompressed, with one block.
fn one_block(schema: &str, count: i64, data: &[u8]) -> Vec<u8> {
    let header: [(&str, &[u8]); 2] =
        [("partition-spec", b"[]"), ("avro.schema", schema.as_bytes())];
    container(&header, &[(count, data)])
}

/// The last of the fixture's files of that name, and the same with its block inflated, so that a
/// flipped byte reaches the records.
fn packed_and_plain(part: &str) -> [Vec<u8>; 2] {
    let paths = files(&fixtures(), &|path| path.contains("fact_orders") && path.contains(part));
    let packed = std::fs::read(paths.last().unwrap()).unwrap();
    let file = File::open("fixture", &packed).unwrap();
    let keys = ["avro.schema", "partition-spec", "partition-spec-id", "format-version"];
    let header: Vec<(&str, &[u8])> =
        keys.iter().filter_map(|key| Some((*key, file.metadata(key)?.as_bytes()))).collect();
    // The header ends with the sync marker, which is also the last sixteen bytes.
    let sync = &packed[packed.len() - 16..];
    let mut rest = &packed[packed.windows(16).position(|window| window == sync).unwrap() + 16..];
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let (count, length) = (varint(&mut rest), varint(&mut rest) as usize);
        let mut data = Vec::new();
        flate2::read::DeflateDecoder::new(&rest[..length]).read_to_end(&mut data).unwrap();
        blocks.push((count, data));
        rest = &rest[length + 16..];
    }
    let blocks: Vec<(i64, &[u8])> =
        blocks.iter().map(|(count, data)| (*count, &data[..])).collect();
    [packed.clone(), container(&header, &blocks)]
}

/// Takes a zig-zag integer from the front, without the code under test.
fn varint(rest: &mut &[u8]) -> i64 {
    let end = rest.iter().position(|byte| byte & 0x80 == 0).unwrap();
    let number = rest[..=end].iter().rev().fold(0u64, |n, byte| n << 7 | u64::from(byte & 0x7f));
    *rest = &rest[end + 1..];
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[test]
fn avro_files_cut_off_or_flipped() {
    type Decoder = fn(&str, &[u8]) -> Result<usize>;
    let decoders: [(&str, Decoder); 2] = [("-m0.avro", entries), ("/snap-", lines)];
    let mut cases = 0;
    for (part, run) in decoders {
        for bytes in packed_and_plain(part) {
            let sound = run("sound", &bytes).unwrap();
            assert!(sound > 0);
            for at in (0..bytes.len()).step_by(3) {
                cases += 1;
                match run(&format!("{part} cut at {at}"), &bytes[..at]) {
                    // Between two blocks nothing shows; the length in the manifest list does.
                    Ok(n) => {
                        assert!(n < sound && bytes[..at].ends_with(&bytes[bytes.len() - 16..]));
                    }
                    Err(error) => {
                        let text = error.to_string();
                        let places = ["byte 0", "header", "Avro block 0"];
                        assert!(places.iter().any(|place| text.contains(place)), "{text}");
                    }
                }
            }
            // The schema in the header is long; of it, every fourth byte will do.
            let header = bytes.windows(16).position(|w| w == &bytes[bytes.len() - 16..]).unwrap();
            for at in (0..header).step_by(4).chain(header..bytes.len()) {
                for flip in [0x01, 0xff] {
                    cases += 1;
                    let mut bytes = bytes.clone();
                    bytes[at] ^= flip;
                    let _ = run(&format!("{part} byte {at} ^ {flip:#x}"), &bytes);
                }
            }
        }
    }
    assert!(cases > 5000, "{cases}");
}

#[test]
fn a_manifest_cut_between_blocks_is_shorter_than_its_line_says() {
    let [_, bytes] = &packed_and_plain("-m0.avro");
    let header = bytes.windows(16).position(|window| window == SYNC).unwrap() + 16;
    let mut list_entry = line(NAME, 7);
    list_entry.manifest_length = bytes.len() as i64;
    assert!(manifest::decode(&list_entry, bytes).is_ok());
    let error = manifest::decode(&list_entry, &bytes[..header]).unwrap_err().to_string();
    assert!(error.contains(&format!("{NAME} is damaged at its end")), "{error}");
    assert!(error.contains(&format!("expected {} bytes", bytes.len())), "{error}");
}

/// The smallest record that is an entry: status, and a file with a path and two numbers.
const ENTRY: &str = r#"{"type": "record", "name": "e", "fields": [
    {"name": "status", "type": "int", "field-id": 0},
    {"name": "data_file", "field-id": 2, "type": {"type": "record", "name": "f", "fields": [
        {"name": "file_path", "type": ["null", "string"], "field-id": 100},
        {"name": "partition", "type": {"type": "record", "name": "p", "fields": []}, "field-id": 102},
        {"name": "record_count", "type": "long", "field-id": 103},
        {"name": "file_size_in_bytes", "type": "long", "field-id": 104}EXTRA]}}]}"#;

fn entry_schema(extra: &str) -> String {
    ENTRY.replace("EXTRA", extra)
}

/// Added, "/", 1 row, 1 byte.
const ADDED: [u8; 6] = [2, 2, 2, b'/', 2, 2];

#[test]
fn the_smallest_entry_is_read() {
    assert_eq!(entries("smallest", &one_block(&entry_schema(""), 1, &ADDED)).unwrap(), 1);
}

/// Each names the block, the record and the field.
#[test]
fn refused_values_are_named_by_field() {
    let maps = r#", {"name": "column_sizes", "field-id": 108, "type": {"type": "array", "items":
        {"type": "record", "name": "kv", "fields": [{"name": "key", "type": "int"},
        {"name": "value", "type": "long"}]}}}"#;
    let long = |value: i64| {
        let mut out = Vec::new();
        put_long(&mut out, value);
        out
    };
    let with_count = |numbers: &[i64]| {
        [ADDED.to_vec(), numbers.iter().flat_map(|n| long(*n)).collect()].concat()
    };
    let cases: Vec<(&str, String, Vec<u8>, &str)> = vec![
        ("status 7", entry_schema(""), vec![14, 2, 2, b'/', 2, 2], "status (0)"),
        ("null path", entry_schema(""), vec![2, 0, 2, 2], "data_file.file_path (100)"),
        ("no such branch", entry_schema(""), vec![2, 4, 2, 2], "data_file.file_path (100)"),
        ("relative path", entry_schema(""), vec![2, 2, 2, b'a', 2, 2], "data_file.file_path (100)"),
        (
            "path not UTF-8",
            entry_schema(""),
            vec![2, 2, 2, 0xff, 2, 2],
            "data_file.file_path (100)",
        ),
        ("negative length", entry_schema(""), vec![2, 2, 1, 2, 2], "data_file.file_path (100)"),
        (
            "length beyond",
            entry_schema(""),
            [vec![2, 2], long(i64::MAX)].concat(),
            "data_file.file_path (100)",
        ),
        (
            "eleven bytes",
            entry_schema(""),
            [vec![2, 2, 2, b'/'], vec![0x80; 11]].concat(),
            "data_file.record_count (103)",
        ),
        (
            "cut short",
            entry_schema(""),
            vec![2, 2, 2, b'/', 2],
            "data_file.file_size_in_bytes (104)",
        ),
        (
            "count beyond",
            entry_schema(maps),
            with_count(&[1 << 40]),
            "data_file.column_sizes (108)",
        ),
        (
            "i64::MIN",
            entry_schema(maps),
            with_count(&[i64::MIN, 1, 0]),
            "data_file.column_sizes (108)",
        ),
        (
            "negative count beyond",
            entry_schema(maps),
            with_count(&[-1000, 4, 1, 1]),
            "data_file.column_sizes (108)",
        ),
        ("no end", entry_schema(maps), with_count(&[1, 1, 1]), "data_file.column_sizes (108)"),
        (
            "key beyond int",
            entry_schema(maps),
            with_count(&[1, 1 << 40, 1, 0]),
            "data_file.column_sizes (108)",
        ),
    ];
    for (case, schema, data, field) in cases {
        let error = entries(case, &one_block(&schema, 1, &data)).unwrap_err().to_string();
        let place = format!("{NAME} is damaged at Avro block 0, record 0");
        assert!(error.starts_with(&place), "{case}: {error}");
        // A value that is refused at the very end may be the record's own fault.
        let whole = case == "key beyond int";
        assert!(whole || error.contains(&format!("field {field}:")), "{case}: {error}");
    }
    let error = entries("negative size", &one_block(&entry_schema(""), 1, &[2, 2, 2, b'/', 2, 1]));
    assert!(error.unwrap_err().to_string().contains("not negative"));
}

#[test]
fn counts_that_lie_end_soon() {
    let nothing = r#"{"type": "record", "name": "e", "fields": []}"#;
    let null = r#"{"type": "record", "name": "e", "fields": [{"name": "a", "type": "null"}]}"#;
    for (case, schema, count, data) in [
        ("no fields, endless", nothing, i64::MAX, vec![]),
        ("no fields, endless, some bytes", nothing, i64::MAX, vec![0; 100]),
        ("null, endless", null, i64::MAX, vec![]),
        ("negative", &entry_schema(""), -1, ADDED.to_vec()),
        ("i64::MIN", &entry_schema(""), i64::MIN, ADDED.to_vec()),
        ("one too many", &entry_schema(""), 2, ADDED.to_vec()),
        ("one too few", &entry_schema(""), 1, [ADDED, ADDED].concat()),
        ("none, but bytes", &entry_schema(""), 0, ADDED.to_vec()),
    ] {
        let bytes = one_block(schema, count, &data);
        assert!(entries(case, &bytes).unwrap_err().to_string().contains("block 0"), "{case}");
        assert!(lines(case, &bytes).is_err(), "{case}");
        // Also a reader that asks for nothing must come to an end.
        let read = decode(case, &bytes, PLAIN, |bytes| {
            File::open(NAME, bytes)?
                .each(|cursor, fields| fields.iter().try_for_each(|field| cursor.skip(&field.node)))
        });
        assert!(read.is_err(), "{case}");
    }
    let mut blocks = Vec::new();
    for _ in 0..10_000 {
        blocks.push((0, &[][..]));
    }
    let header: [(&str, &[u8]); 2] =
        [("partition-spec", b"[]"), ("avro.schema", ENTRY.replace("EXTRA", "").leak().as_bytes())];
    assert_eq!(entries("many empty blocks", &container(&header, &blocks)).unwrap(), 0);
}

/// A list of structs without fields takes no bytes, so its blocks could promise the rest of the file
/// again and again: quadratic in time, and in memory for summaries.
#[test]
fn items_without_bytes_are_refused() {
    let schema = |id: i32| {
        let list = format!(
            r#"{{"name": "p", "field-id": {id}, "type": {{"type": "array", "items":
            {{"type": "record", "name": "s", "fields": []}}}}}}, "#
        );
        let head = r#"{"type": "record", "name": "m", "fields": ["#;
        [head, &list, r#"{"name": "x", "type": "string", "field-id": 500}]}"#].concat()
    };
    let mut data = Vec::new();
    for _ in 0..50_000 {
        put_long(&mut data, 40_000);
    }
    for (case, id) in [("summaries", 507), ("unknown", 9000)] {
        let error = lines(case, &one_block(&schema(id), 1, &data)).unwrap_err().to_string();
        assert!(error.contains("expected items of a byte at least"), "{case}: {error}");
    }
}

#[test]
fn schemas_that_are_none() {
    let field = |avro: &str| {
        format!(r#"{{"type": "record", "name": "r", "fields": [{{"name": "a", "type": {avro}}}]}}"#)
    };
    let doubling = |levels: usize| {
        let mut avro = r#"{"type": "record", "name": "r0", "fields": []}"#.to_string();
        for level in 1..=levels {
            let below = level - 1;
            avro = format!(
                r#"{{"type": "record", "name": "r{level}", "fields": [
                {{"name": "a", "type": {avro}}}, {{"name": "b", "type": "r{below}"}}]}}"#
            );
        }
        avro
    };
    let wide = |name: &str| {
        let twenty = vec![format!(r#"{{"name": "a", "type": "{name}"}}"#); 20].join(",");
        format!("[{twenty}]")
    };
    let mut powers =
        String::from(r#"{"name": "z", "type": {"type": "record", "name": "w0", "fields": []}}"#);
    for level in 1..12 {
        let fields = wide(&format!("w{}", level - 1));
        powers += &format!(
            r#", {{"name": "z", "type": {{"type": "record", "name": "w{level}", "fields": {fields}}}}}"#
        );
    }
    let deep_lists = r#"{"type": "array", "items": "#.repeat(70) + "\"int\"" + &"}".repeat(70);
    let cases: Vec<(&str, String)> = vec![
        ("no schema", String::new()),
        ("no JSON", "{".into()),
        ("a primitive", "\"string\"".into()),
        ("a union", "[\"null\", \"string\"]".into()),
        ("an array", r#"{"type": "array", "items": "int"}"#.into()),
        ("a number", "7".into()),
        ("null", "null".into()),
        ("an object of nothing", "{}".into()),
        ("fields of no objects", r#"{"type": "record", "name": "r", "fields": [[0]]}"#.into()),
        ("fields of another type", r#"{"type": "record", "name": "r", "fields": {"a": 1}}"#.into()),
        ("no fields at all", r#"{"type": "record", "name": "r"}"#.into()),
        ("an unknown type", field("\"int33\"")),
        ("a type that is a number", field("3")),
        ("itself", field("\"r\"")),
        ("itself in a list", field(r#"{"type": "array", "items": "r"}"#)),
        ("itself in a union", field(r#"["null", "r"]"#)),
        ("a fixed of negative size", field(r#"{"type": "fixed", "name": "f", "size": -1}"#)),
        ("a fixed without a size", field(r#"{"type": "fixed", "name": "f"}"#)),
        ("an array without items", field(r#"{"type": "array"}"#)),
        ("a map without values", field(r#"{"type": "map"}"#)),
        ("70 lists deep", field(&deep_lists)),
        ("100,000 brackets", "[".repeat(100_000)),
        ("100,000 types", r#"{"type":"#.repeat(100_000)),
        ("2 to the 30th", doubling(30)),
        ("20 to the 11th", format!(r#"{{"type": "record", "name": "r", "fields": [{powers}]}}"#)),
    ];
    for (case, schema) in cases {
        for run in [entries, lines] {
            let error = run(case, &one_block(&schema, 1, &ADDED)).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("{NAME} is damaged at header, key avro.schema")),
                "{case}: {error}"
            );
        }
    }
    // Two types of one name: each is read as it is written, wherever that is.
    let twice = r#", {"name": "x", "type": {"type": "record", "name": "p", "fields": [
        {"name": "y", "type": "int"}]}}"#;
    let data = [ADDED.to_vec(), vec![2]].concat();
    assert_eq!(entries("twice", &one_block(&entry_schema(twice), 1, &data)).unwrap(), 1);
}

/// The largest schema that is accepted, all of nulls, over as many records as fit: linear.
#[test]
fn wide_schemas_cost_no_more_than_their_width() {
    let nulls = vec![r#"{"name": "n", "type": "null"}"#; 4900].join(",");
    let extra = format!(
        r#", {{"name": "x", "type": {{"type": "record", "name": "x", "fields": [{nulls}]}}}}"#
    );
    let data = ADDED.repeat(1000);
    assert_eq!(entries("wide", &one_block(&entry_schema(&extra), 1000, &data)).unwrap(), 1000);
    let error = entries(
        "too wide",
        &one_block(&entry_schema(&extra.replace("[{", &format!("[{nulls}, {{"))), 1, &ADDED),
    );
    assert!(error.unwrap_err().to_string().contains("too large"));
}

fn deflated(schema: &str, count: i64, data: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    flate2::read::DeflateEncoder::new(data, flate2::Compression::best())
        .read_to_end(&mut packed)
        .unwrap();
    let header: [(&str, &[u8]); 3] =
        [("partition-spec", b"[]"), ("avro.codec", b"deflate"), ("avro.schema", schema.as_bytes())];
    container(&header, &[(count, &packed)])
}

#[test]
fn bombs_do_not_go_off() {
    let schema = entry_schema("");
    let zeros = deflated(&schema, 1, &vec![0; 8 << 20]);
    let error = entries("8 MB of zeros", &zeros).unwrap_err().to_string();
    assert!(error.contains("does not grow more than"), "{error}");
    // Many of the smallest entries, some of them different: that packs well, and is within bounds.
    let mut some = Vec::new();
    for number in 0..100_000u32 {
        let mut entry = ADDED;
        if number % 8 == 0 {
            entry[4] = number.wrapping_mul(2_654_435_761).to_be_bytes()[0] & 0x3e;
        }
        some.extend(entry);
    }
    let many = deflated(&schema, 100_000, &some);
    assert!(many.len() < some.len() / 10, "{}", many.len());
    assert_eq!(entries("100,000 entries", &many).unwrap(), 100_000);
    let good = deflated(&schema, 1, &ADDED);
    assert_eq!(entries("sound", &good).unwrap(), 1);
    let rest = [good[..good.len() - 16].to_vec(), b"xxxxxxxxxxxxxxxx".to_vec()].concat();
    assert!(entries("another marker", &rest).unwrap_err().to_string().contains("sync marker"));
}

#[test]
fn headers_that_lie() {
    let schema = entry_schema("");
    let with = |key: &str, value: &[u8]| {
        let header =
            [("partition-spec", &b"[]"[..]), ("avro.schema", schema.as_bytes()), (key, value)];
        container(&header, &[(1, &ADDED)])
    };
    let mut negative = b"Obj\x01".to_vec();
    put_long(&mut negative, i64::MIN);
    let mut beyond = b"Obj\x01".to_vec();
    put_long(&mut beyond, 1 << 50);
    let no_spec = container(&[("avro.schema", schema.as_bytes())], &[(1, &ADDED)]);
    for (case, bytes, place) in [
        ("no bytes", vec![], "byte 0"),
        ("another magic", b"PAR1....".to_vec(), "byte 0"),
        ("only the magic", b"Obj\x01".to_vec(), "header, byte 4"),
        ("a count of i64::MIN", negative, "header, byte"),
        ("a count beyond", beyond, "header, byte"),
        ("no partition spec", no_spec, "header, key partition-spec"),
        ("a spec that is no JSON", with("partition-spec", b"["), "header, key partition-spec"),
        ("a spec that is a number", with("partition-spec", b"7"), "$"),
        (
            "a spec without a name",
            with("partition-spec", br#"[{"transform": "day", "source-id": 1}]"#),
            "$[0].name",
        ),
        ("a spec id in words", with("partition-spec-id", b"one"), "header, key partition-spec-id"),
    ] {
        match entries(case, &bytes) {
            Err(Error::Corrupt { at, .. }) => assert!(at.starts_with(place), "{case}: {at}"),
            other => panic!("{case}: {other:?}"),
        }
    }
    for codec in [&b"snappy"[..], b"zstandard", b"\xff"] {
        let error = entries("codec", &with("avro.codec", codec)).unwrap_err();
        assert!(error.to_string().contains(NAME) && matches!(error, Error::Unsupported { .. }));
    }
}
