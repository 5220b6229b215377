//! The tables that PyIceberg wrote: we read what it reads, and write what it wrote.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod common;

use common::{files, fixtures, read_fixture};
use kiosko_meta::Location;
use kiosko_meta::manifest::{self, ManifestEntry, Status};
use kiosko_meta::manifest_list::{self, ManifestFile};
use kiosko_meta::manifest_write::ManifestWriter;
use kiosko_meta::metadata::TableMetadata;
use kiosko_meta::metadata_json::{parse, print};
use kiosko_meta::schema::Schema;
use kiosko_meta::snapshot::{RefKind, Snapshot};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};

const SYNC: [u8; 16] = *b"sixteen of these";

fn metadata_files() -> Vec<std::path::PathBuf> {
    files(&fixtures(), &|path| path.ends_with(".metadata.json"))
}

fn manifests(snapshot: &Snapshot) -> Vec<ManifestFile> {
    let bytes = read_fixture(&snapshot.manifest_list);
    manifest_list::decode(snapshot.manifest_list.as_str(), &bytes).unwrap()
}

fn entries(list_entry: &ManifestFile) -> Vec<ManifestEntry> {
    manifest::decode(list_entry, &read_fixture(&list_entry.manifest_path)).unwrap()
}

/// The tables of both `expected.json`, each with the metadata that its catalog points at.
fn tables() -> Vec<(Json, TableMetadata)> {
    let mut tables = Vec::new();
    for folder in ["before-expiry", "finished"] {
        let text = std::fs::read(fixtures().join(folder).join("expected.json")).unwrap();
        let expected: Json = serde_json::from_slice(&text).unwrap();
        for table in expected["tables"].as_object().unwrap().values() {
            let at = Location::parse(table["metadata_location"].as_str().unwrap()).unwrap();
            tables.push((table.clone(), parse(at.as_str(), &read_fixture(&at)).unwrap()));
        }
    }
    assert_eq!(tables.len(), 4);
    tables
}

#[test]
fn metadata_is_printed_as_pyiceberg_printed_it() {
    let paths = metadata_files();
    assert!(paths.len() >= 32, "{} metadata files", paths.len());
    for path in paths {
        let name = path.to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let metadata = parse(name, &bytes).unwrap();
        let printed = print(&metadata).unwrap();
        assert_eq!(parse(name, &printed).unwrap(), metadata, "{name}");
        let (theirs, ours): (Json, Json) =
            (serde_json::from_slice(&bytes).unwrap(), serde_json::from_slice(&printed).unwrap());
        assert_eq!(ours, theirs, "{name}");
        // The same keys in the same places; only the counts of a summary are sorted by us.
        assert_eq!(without_summaries(ours).to_string(), without_summaries(theirs).to_string());
        assert_eq!(printed.len(), bytes.len(), "{name}");
    }
}

fn without_summaries(mut json: Json) -> Json {
    for snapshot in json["snapshots"].as_array_mut().unwrap() {
        snapshot.as_object_mut().unwrap().remove("summary").unwrap();
    }
    json
}

#[test]
fn snapshots_refs_and_logs_are_those_that_pyiceberg_reads() {
    for (table, metadata) in tables() {
        let id = |json: &Json| json.as_str().map(|id| id.parse::<i64>().unwrap());
        assert_eq!(metadata.table_uuid.to_string(), table["table_uuid"]);
        assert_eq!(metadata.location.as_str(), table["location"]);
        assert_eq!(i64::from(metadata.format_version), table["format_version"]);
        assert_eq!(metadata.last_sequence_number, table["last_sequence_number"]);
        assert_eq!(metadata.current_snapshot_id, id(&table["current_snapshot_id"]));

        let snapshots = table["snapshots"].as_array().unwrap();
        assert_eq!(metadata.snapshots.len(), snapshots.len());
        for (snapshot, want) in metadata.snapshots.iter().zip(snapshots) {
            assert_eq!(Some(snapshot.snapshot_id), id(&want["snapshot_id"]));
            assert_eq!(snapshot.parent_snapshot_id, id(&want["parent_snapshot_id"]));
            assert_eq!(snapshot.sequence_number, want["sequence_number"]);
            assert_eq!(snapshot.timestamp_ms, want["timestamp_ms"]);
            assert_eq!(snapshot.manifest_list.as_str(), want["manifest_list"]);
            assert_eq!(snapshot.schema_id.map(i64::from), want["schema_id"].as_i64());
            assert_eq!(snapshot.summary.operation.as_str(), want["operation"]);
            let counts: BTreeMap<String, String> =
                serde_json::from_str(&want["summary"].to_string()).unwrap();
            assert_eq!(snapshot.summary.properties, counts);
        }

        let log = table["snapshot_log"].as_array().unwrap();
        assert_eq!(metadata.snapshot_log.len(), log.len());
        for (entry, want) in metadata.snapshot_log.iter().zip(log) {
            assert_eq!(Some(entry.snapshot_id), id(&want["snapshot_id"]));
            assert_eq!(entry.timestamp_ms, want["timestamp_ms"]);
        }

        assert_eq!(table["refs"].as_object().unwrap().len(), metadata.refs.len());
        for (name, want) in table["refs"].as_object().unwrap() {
            assert_eq!(Some(metadata.refs[name].snapshot_id), id(&want["snapshot_id"]));
            assert_eq!(
                (&want["type"], metadata.refs[name].kind),
                (&"branch".into(), RefKind::Branch)
            );
        }
    }
}

#[test]
fn live_files_are_those_that_pyiceberg_reads() {
    for (table, metadata) in tables() {
        let mut live = Vec::new();
        for manifest in manifests(metadata.current_snapshot().unwrap()) {
            for entry in entries(&manifest).into_iter().filter(ManifestEntry::is_live) {
                let file = entry.data_file;
                live.push((file.file_path.to_string(), file.record_count, file.file_size_in_bytes));
            }
        }
        live.sort();
        let number = |json: &Json| json.as_i64().unwrap();
        let want = table["live_data_files"].as_array().unwrap().iter().map(|file| {
            let path = file["file_path"].as_str().unwrap().to_string();
            (path, number(&file["record_count"]), number(&file["file_size_in_bytes"]))
        });
        assert_eq!(live, want.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>());
        assert!(!live.is_empty());

        let mut all = BTreeSet::new();
        for manifest in metadata.snapshots.iter().flat_map(manifests) {
            let files = entries(&manifest).into_iter().filter(ManifestEntry::is_live);
            all.extend(files.map(|entry| entry.data_file.file_path.to_string()));
        }
        let want = table["all_data_files"].as_array().unwrap().iter();
        let want: BTreeSet<String> = want.map(|path| path.as_str().unwrap().into()).collect();
        assert_eq!(all, want);
    }
}

#[test]
fn manifests_inherit_and_their_lines_count_them() {
    let (mut lists, mut added, mut deleted) = (0, 0, 0);
    for (_, metadata) in tables() {
        for snapshot in &metadata.snapshots {
            lists += 1;
            for line in manifests(snapshot) {
                let bytes = read_fixture(&line.manifest_path);
                assert_eq!(line.manifest_length, bytes.len() as i64, "{}", line.manifest_path);
                let entries = entries(&line);
                // What we would have written for these entries is what PyIceberg wrote, but for the
                // summaries of an unpartitioned spec, which are an empty list in both.
                let spec = metadata.spec(line.partition_spec_id).unwrap();
                let ids = (line.added_snapshot_id, line.sequence_number);
                let (path, length) = (line.manifest_path.clone(), line.manifest_length);
                let ours = ManifestFile::describe(path, length, spec, line.content, ids, &entries);
                assert_eq!(ours, line);
                for entry in entries {
                    let (data, file) = (entry.sequence_number, entry.file_sequence_number);
                    match entry.status {
                        Status::Added => {
                            added += 1;
                            assert_eq!(data, Some(line.sequence_number));
                        }
                        _ => {
                            deleted += 1;
                            assert_eq!(entry.status, Status::Deleted);
                            // The file is one commit older than the commit that removed it.
                            assert_eq!(data, Some(line.sequence_number - 1));
                        }
                    }
                    assert_eq!((data, entry.snapshot_id), (file, line.added_snapshot_id));
                }
            }
        }
    }
    // 13 + 7 snapshots before the expiry, 2 + 7 after; a list per snapshot. The fact lists carry all
    // earlier manifests: 1 + 2 + .. + 7 = 28 in each world.
    assert_eq!((lists, added, deleted), (29, 7 + 28 + 2 + 28, 6));
}

#[test]
fn the_bounds_of_the_products_are_theirs() {
    let (_, metadata) = tables().into_iter().next().unwrap();
    let first = &manifests(&metadata.snapshots[0])[0];
    let file = &entries(first)[0].data_file;
    assert_eq!(file.file_format, "PARQUET");
    assert_eq!((file.record_count, &file.split_offsets), (4, &Some(vec![4])));
    assert_eq!(file.value_counts, BTreeMap::from([(1, 4), (2, 4), (3, 4), (4, 4)]));
    assert_eq!(file.null_value_counts, BTreeMap::from([(1, 0), (2, 0), (3, 0), (4, 0)]));
    assert_eq!(file.lower_bounds[&1], b"P001");
    assert_eq!(file.upper_bounds[&2], b"Phone Charger Cb");
    assert_eq!(file.lower_bounds[&4], 0.35f64.to_le_bytes());
    assert_eq!((&file.key_metadata, &file.equality_ids, file.sort_order_id), (&None, &None, None));
}

#[test]
fn our_encoders_carry_every_fact() {
    let mut encoded = 0;
    for (_, metadata) in tables() {
        for snapshot in &metadata.snapshots {
            let (id, parent) = (snapshot.snapshot_id, snapshot.parent_snapshot_id);
            let lines = manifests(snapshot);
            let bytes = manifest_list::encode(id, parent, snapshot.sequence_number, &lines, SYNC);
            assert_eq!(manifest_list::decode("ours", &bytes).unwrap(), lines);
            for line in lines {
                let entries = entries(&line);
                let writer = ManifestWriter {
                    schema: metadata.current_schema().unwrap(),
                    schemas: &metadata.schemas,
                    spec: metadata.spec(line.partition_spec_id).unwrap(),
                    content: line.content,
                };
                let bytes = writer.encode(&entries, SYNC).unwrap();
                let ours = ManifestFile { manifest_length: bytes.len() as i64, ..line };
                assert_eq!(manifest::decode(&ours, &bytes).unwrap(), entries);
                encoded += entries.len();
            }
        }
    }
    assert_eq!(encoded, 71);
}

#[test]
fn every_avro_file_of_the_fixtures_decodes() {
    let lists = files(&fixtures(), &|path| path.contains("/snap-") && path.ends_with(".avro"));
    let mut named = BTreeSet::new();
    for path in &lists {
        let name = path.to_str().unwrap();
        for line in manifest_list::decode(name, &std::fs::read(path).unwrap()).unwrap() {
            assert!(!entries(&line).is_empty(), "{}", line.manifest_path);
            named.insert(line.manifest_path.normal().to_string());
        }
    }
    let manifests = files(&fixtures(), &|path| path.ends_with("-m0.avro"));
    assert_eq!((lists.len(), named.len()), (40, manifests.len()));
}

#[test]
fn the_columns_are_those_of_the_guide() {
    let columns = |schema: &Schema| -> Vec<String> {
        schema.fields.iter().map(|f| format!("{} {} {}", f.id, f.name, f.field_type)).collect()
    };
    let (_, products) = tables().into_iter().next().unwrap();
    assert_eq!(
        columns(products.current_schema().unwrap()),
        ["1 product_id string", "2 product_name string", "3 category string", "4 unit_cost double"]
    );
    assert_eq!(products.ancestors(products.current_snapshot_id).count(), 13);
}
