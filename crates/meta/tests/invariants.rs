//! Each invariant of the metadata broken on purpose, and the one function that changes metadata.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it fails"
)]

use kiosko_meta::metadata::{SnapshotLogEntry, StatisticsFile, TableMetadata};
use kiosko_meta::metadata_json::{parse, print};
use kiosko_meta::partition::{PartitionField, PartitionSpec};
use kiosko_meta::schema::{Field, Schema};
use kiosko_meta::snapshot::{MAIN, Operation, RefKind, Snapshot, SnapshotRef, Summary};
use kiosko_meta::sort::SortOrder;
use kiosko_meta::transform::Transform;
use kiosko_meta::types::Primitive;
use kiosko_meta::update::{Requirement, Update, apply};
use kiosko_meta::{Error, Location};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use uuid::Uuid;

const UUID: Uuid = Uuid::from_u128(0x5f0c);

fn at(text: &str) -> Location {
    Location::parse(text).unwrap()
}

/// An empty table of the year 1970, two columns wide.
fn empty() -> TableMetadata {
    let schema = Schema::new(vec![
        Field::required(1, "product_id", Primitive::String),
        Field::optional(2, "unit_cost", Primitive::Double),
    ]);
    TableMetadata::new(UUID, at("/w/t"), schema, BTreeMap::new(), 1000).unwrap()
}

fn snapshot(id: i64, sequence_number: i64, timestamp_ms: i64) -> Snapshot {
    Snapshot {
        snapshot_id: id,
        parent_snapshot_id: None,
        sequence_number,
        timestamp_ms,
        manifest_list: at(&format!("/w/t/metadata/snap-{id}.avro")),
        summary: Summary { operation: Operation::Append, properties: BTreeMap::new() },
        schema_id: Some(0),
        extra: Map::new(),
    }
}

fn main_at(id: i64) -> Update {
    Update::SetSnapshotRef(MAIN.into(), SnapshotRef::branch(id))
}

/// A commit to `base`, at the time `now`.
fn commit(base: &TableMetadata, updates: &[Update], now: i64) -> TableMetadata {
    apply(base, &at("/w/t/metadata/base.json"), updates, now).unwrap()
}

/// Why a commit was refused.
fn refused(base: &TableMetadata, updates: &[Update]) -> String {
    match apply(base, &at("/w/t/metadata/base.json"), updates, 9000) {
        Err(error @ Error::Invalid { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// Snapshots 11 and 12, appended at 2000 and 3000.
fn two() -> TableMetadata {
    let one = commit(&empty(), &[Update::AddSnapshot(snapshot(11, 1, 2000)), main_at(11)], 2000);
    let mut next = snapshot(12, 2, 3000);
    next.parent_snapshot_id = Some(11);
    commit(&one, &[Update::AddSnapshot(next), main_at(12)], 3000)
}

// ---- M1 to M10 --------------------------------------------------------------------------------

/// Breaks a sound table, and expects the error at `at`, for `rule`, with `got` found there: from
/// `check`, and the same from the parser when the table can be printed.
fn breaks(change: impl Fn(&mut TableMetadata), at: &str, rule: &str, got: &str) {
    let mut metadata = two();
    assert_eq!(metadata.check(), Ok(()));
    change(&mut metadata);
    let broken = metadata.check().unwrap_err();
    assert_eq!((broken.at.as_str(), broken.got.as_str()), (at, got));
    assert!(broken.want.starts_with(rule), "{}", broken.want);

    let error = parse("v3.metadata.json", &print(&metadata).unwrap()).unwrap_err();
    let place = format!("v3.metadata.json is damaged at $.{at}: expected ");
    assert!(error.to_string().starts_with(&place), "{error}");
    if rule != "M1" {
        assert!(error.to_string().contains(&format!("{rule}: ")), "{error}");
        assert!(error.to_string().contains(&format!("found {got}. ")), "{error}");
    }
}

#[test]
fn m1_the_format_version_is_known() {
    breaks(|m| m.format_version = 0, "format-version", "M1", "0");
    let mut metadata = two();
    metadata.format_version = 4;
    assert_eq!(metadata.check().unwrap_err().want, "M1: version 1, 2 or 3");
}

#[test]
fn m2_the_current_schema_is_one_schema() {
    let none = "7, which 0 of [0] are";
    breaks(|m| m.current_schema_id = 7, "current-schema-id", "M2", none);
    let two = "0, which 2 of [0, 0] are";
    breaks(|m| m.schemas.push(m.schemas[0].clone()), "current-schema-id", "M2", two);
}

#[test]
fn m3_the_default_spec_is_one_spec() {
    let none = "1, which 0 of [0] are";
    breaks(|m| m.default_spec_id = 1, "default-spec-id", "M3", none);
    let none = "0, which 0 of [] are";
    breaks(|m| m.partition_specs.clear(), "default-spec-id", "M3", none);
}

#[test]
fn m4_the_default_order_is_one_order() {
    let got = "0, which 2 of [0, 0] are";
    let twice = |m: &mut TableMetadata| m.sort_orders.push(SortOrder::unsorted());
    breaks(twice, "default-sort-order-id", "M4", got);
}

#[test]
fn m5_no_field_id_is_above_the_last_column_id() {
    breaks(|m| m.last_column_id = 1, "last-column-id", "M5", "1");
}

#[test]
fn m6_no_partition_field_is_above_the_last_partition_id() {
    let add = |m: &mut TableMetadata| {
        let (name, transform) = ("cost".to_string(), Transform::Identity);
        let field = PartitionField { source_id: 2, field_id: 1000, name, transform };
        m.partition_specs.push(PartitionSpec { spec_id: 1, fields: vec![field] });
    };
    breaks(add, "last-partition-id", "M6", "999");
}

#[test]
fn m7_snapshot_ids_are_unique() {
    let again = |m: &mut TableMetadata| m.snapshots.push(snapshot(11, 2, 3000));
    breaks(again, "snapshots[2].snapshot-id", "M7", "11");
}

#[test]
fn m8_sequence_numbers_stay_below_the_last() {
    let place = "snapshots[1].sequence-number";
    breaks(|m| m.last_sequence_number = 1, place, "M8", "2");
    breaks(|m| m.snapshots[1].sequence_number = -1, place, "M8", "-1");
}

#[test]
fn m9_references_name_snapshots() {
    let tag = |m: &mut TableMetadata| {
        m.refs.insert("audit".into(), SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(5) });
    };
    breaks(tag, "refs.audit.snapshot-id", "M9", "5");
    let mut metadata = empty();
    metadata.current_snapshot_id = Some(5);
    let broken = metadata.check().unwrap_err();
    assert_eq!((broken.at.as_str(), broken.got.as_str()), ("current-snapshot-id", "5"));
}

#[test]
fn m10_main_is_the_current_snapshot_and_a_branch() {
    let old = |m: &mut TableMetadata| m.current_snapshot_id = Some(11);
    breaks(old, "refs.main.snapshot-id", "M10", "12");
    let none = |m: &mut TableMetadata| m.current_snapshot_id = None;
    breaks(none, "refs.main.snapshot-id", "M10", "12");
    let tag = |m: &mut TableMetadata| m.refs.get_mut(MAIN).unwrap().kind = RefKind::Tag;
    breaks(tag, "refs.main.type", "M10", "tag");
}

// ---- version 1, and the ways to say "no snapshot" ---------------------------------------------

#[test]
fn version_1_is_lifted() {
    let json = json!({
        "format-version": 1, "location": "/w/t", "last-updated-ms": 5, "last-column-id": 2,
        "schema": {"type": "struct", "fields": [
            {"id": 1, "name": "a", "required": true, "type": "int"},
            {"id": 2, "name": "b", "required": false, "type": "date"}]},
        "partition-spec": [{"name": "b_day", "transform": "day", "source-id": 2}],
        "current-snapshot-id": 9,
        "snapshots": [{"snapshot-id": 9, "timestamp-ms": 5, "manifest-list": "/w/t/l.avro"}]});
    let metadata = parse("v1", json.to_string().as_bytes()).unwrap();
    assert_eq!((metadata.table_uuid, metadata.last_sequence_number), (Uuid::nil(), 0));
    assert_eq!((metadata.schemas.len(), metadata.current_schema_id), (1, 0));
    assert_eq!((metadata.default_spec_id, metadata.last_partition_id), (0, 1000));
    assert_eq!(metadata.partition_specs[0].fields[0].field_id, 1000);
    assert_eq!(metadata.sort_orders, [SortOrder::unsorted()]);
    assert_eq!(metadata.refs, BTreeMap::from([(MAIN.into(), SnapshotRef::branch(9))]));
    let snapshot = &metadata.snapshots[0];
    assert_eq!((snapshot.sequence_number, snapshot.summary.operation), (0, Operation::Overwrite));
    assert!(matches!(print(&metadata), Err(Error::Unsupported { .. })));

    let mut early = json.clone();
    early["snapshots"][0] =
        json!({"snapshot-id": 9, "timestamp-ms": 5, "manifests": ["/w/m.avro"]});
    let error = parse("v1", early.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("$.snapshots[0]"), "{error}");
    for key in ["schema", "partition-spec", "location", "last-updated-ms", "last-column-id"] {
        let mut json = json.clone();
        json.as_object_mut().unwrap().remove(key);
        let error = parse("v1", json.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains(&format!("at $.{key}: ")), "{error}");
    }
}

#[test]
fn four_spellings_of_no_snapshot_and_the_snapshot_zero() {
    let mut json: Json = serde_json::from_slice(&print(&empty()).unwrap()).unwrap();
    let current =
        |json: &Json| parse("t", json.to_string().as_bytes()).unwrap().current_snapshot_id;
    assert_eq!(current(&json), None);
    for none in [Json::Null, json!(-1)] {
        json["current-snapshot-id"] = none;
        assert_eq!(current(&json), None);
    }
    json["current-snapshot-id"] = json!(0);
    json["snapshots"] =
        json!([{"snapshot-id": 0, "timestamp-ms": 1, "manifest-list": "/w/l.avro"}]);
    assert_eq!(current(&json), Some(0));
}

#[test]
fn keys_that_are_not_known_go_back_as_they_came() {
    let mut json: Json = serde_json::from_slice(&print(&two()).unwrap()).unwrap();
    json["next-row-id"] = json!(138);
    json["encryption-keys"] = json!([{"key-id": "a"}]);
    json["snapshots"][0]["first-row-id"] = json!(0);
    json["statistics"] = json!([{"snapshot-id": 11, "statistics-path": "/w/s.puffin", "x": [1]}]);
    let metadata = parse("t", json.to_string().as_bytes()).unwrap();
    let printed: Json = serde_json::from_slice(&print(&metadata).unwrap()).unwrap();
    assert_eq!(printed, json);
}

// ---- apply ------------------------------------------------------------------------------------

#[test]
fn a_first_snapshot_and_everything_that_a_commit_could_forget() {
    let after = commit(&empty(), &[Update::AddSnapshot(snapshot(11, 1, 2000)), main_at(11)], 2500);
    assert_eq!(after.current_snapshot_id, Some(11));
    assert_eq!(after.refs[MAIN], SnapshotRef::branch(11));
    assert_eq!((after.last_sequence_number, after.last_updated_ms), (1, 2500));
    assert_eq!(after.snapshot_log, [SnapshotLogEntry { snapshot_id: 11, timestamp_ms: 2000 }]);
    let log = &after.metadata_log[0];
    assert_eq!((log.metadata_file.as_str(), log.timestamp_ms), ("/w/t/metadata/base.json", 1000));
    assert_eq!(after.metadata_log.len(), 1);
}

#[test]
fn a_snapshot_beside_main_leaves_the_log_alone() {
    let base = two();
    let staged = commit(&base, &[Update::AddSnapshot(snapshot(13, 3, 4000))], 4000);
    assert_eq!((staged.current_snapshot_id, staged.snapshots.len()), (Some(12), 3));
    let branch = Update::SetSnapshotRef("audit".into(), SnapshotRef::branch(13));
    let named = commit(&staged, &[branch], 5000);
    assert_eq!(named.refs["audit"].snapshot_id, 13);
    assert_eq!((named.current_snapshot_id, &named.snapshot_log), (Some(12), &base.snapshot_log));
    assert_eq!(named.last_sequence_number, 3);
}

#[test]
fn moving_a_reference_keeps_its_settings() {
    let mut base = two();
    let settings = SnapshotRef {
        min_snapshots_to_keep: Some(5),
        max_snapshot_age_ms: Some(6),
        max_ref_age_ms: Some(7),
        ..SnapshotRef::branch(12)
    };
    base.refs.insert(MAIN.into(), settings.clone());
    let after = commit(&base, &[Update::AddSnapshot(snapshot(13, 3, 4000)), main_at(13)], 4000);
    assert_eq!(after.refs[MAIN], SnapshotRef { snapshot_id: 13, ..settings.clone() });
    let reset = SnapshotRef { min_snapshots_to_keep: Some(1), ..SnapshotRef::branch(12) };
    let after = commit(&base, &[Update::SetSnapshotRef(MAIN.into(), reset)], 4000);
    assert_eq!(
        after.refs[MAIN],
        SnapshotRef { min_snapshots_to_keep: Some(1), ..settings.clone() }
    );

    // A tag has no snapshots to keep: it takes nothing over from a branch of its name.
    base.refs.insert("q1".into(), settings);
    let tag = SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(11) };
    let after = commit(&base, &[Update::SetSnapshotRef("q1".into(), tag.clone())], 4000);
    assert_eq!(after.refs["q1"], tag);
}

#[test]
fn two_snapshots_in_one_commit_are_two_entries_of_the_log() {
    let updates = [
        Update::AddSnapshot(snapshot(13, 3, 4000)),
        main_at(13),
        Update::AddSnapshot(snapshot(14, 4, 4001)),
        main_at(14),
    ];
    let after = commit(&two(), &updates, 4001);
    let entry = |snapshot_id, timestamp_ms| SnapshotLogEntry { snapshot_id, timestamp_ms };
    let log = [entry(11, 2000), entry(12, 3000), entry(13, 4000), entry(14, 4001)];
    assert_eq!(after.snapshot_log, log);
    assert_eq!((after.last_sequence_number, after.metadata_log.len()), (4, 3));
}

#[test]
fn a_rollback_is_logged_at_its_own_time() {
    let after = commit(&two(), &[main_at(11)], 7000);
    let last = after.snapshot_log.last().unwrap();
    assert_eq!((last.snapshot_id, last.timestamp_ms), (11, 7000));
    assert_eq!((after.current_snapshot_id, after.last_sequence_number), (Some(11), 2));
    // Naming the snapshot that main names already is no change of state.
    assert_eq!(commit(&after, &[main_at(11)], 8000).snapshot_log, after.snapshot_log);
}

#[test]
fn forgotten_snapshots_take_their_statistics_along() {
    let mut base = two();
    let statistics = |id| StatisticsFile {
        snapshot_id: id,
        statistics_path: at("/w/s.puffin"),
        json: json!({"snapshot-id": id, "statistics-path": "/w/s.puffin"}),
    };
    base.statistics = vec![statistics(11), statistics(12)];
    base.partition_statistics = base.statistics.clone();
    let after = commit(&base, &[Update::RemoveSnapshots(BTreeSet::from([11, 99]))], 4000);
    let ids: Vec<_> = after.snapshots.iter().map(|s| s.snapshot_id).collect();
    assert_eq!(ids, [12]);
    assert_eq!((&after.statistics, after.current_snapshot_id), (&vec![statistics(12)], Some(12)));
    assert_eq!(after.partition_statistics, [statistics(12)]);
    assert_eq!(after.snapshot_log, [SnapshotLogEntry { snapshot_id: 12, timestamp_ms: 3000 }]);
    assert_eq!((after.last_sequence_number, after.metadata_log.len()), (2, 3));
}

#[test]
fn a_snapshot_with_a_name_is_not_forgotten() {
    let mut base = two();
    base.refs.insert("old".into(), SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(11) });
    for (id, name) in [(11, "old"), (12, MAIN)] {
        let update = Update::RemoveSnapshots(BTreeSet::from([id]));
        let error = apply(&base, &at("/w/t/metadata/base.json"), &[update], 4000).unwrap_err();
        assert!(error.to_string().contains(&format!("{name:?} names it")), "{error}");
    }
}

#[test]
fn the_metadata_log_is_capped() {
    let cap = |value: &str| {
        let key = "write.metadata.previous-versions-max".to_string();
        Update::SetProperties(BTreeMap::from([(key, value.to_string())]))
    };
    let mut metadata = two();
    for now in 4000..4200 {
        let file = at(&format!("/w/t/metadata/{now}.json"));
        metadata = apply(&metadata, &file, &[], now).unwrap();
    }
    assert_eq!(metadata.metadata_log.len(), 100);
    let (first, last) = (&metadata.metadata_log[0], metadata.metadata_log.last().unwrap());
    assert_eq!(first.metadata_file.as_str(), "/w/t/metadata/4100.json");
    assert_eq!((last.metadata_file.as_str(), last.timestamp_ms), ("/w/t/metadata/4199.json", 4198));
    for (value, length) in [("3", 3), ("0", 1), ("many", 100), ("-1", 100)] {
        let after = commit(&metadata, &[cap(value)], 5000);
        assert_eq!(after.metadata_log.len(), length, "{value}");
        let last = after.metadata_log.last().unwrap();
        assert_eq!(last.metadata_file.as_str(), "/w/t/metadata/base.json");
    }
}

#[test]
fn a_clock_that_was_set_back_does_not_make_the_table_older() {
    let after = commit(&two(), &[main_at(11)], 50);
    assert_eq!(after.last_updated_ms, 3000);
    assert_eq!(after.snapshot_log.last().unwrap().timestamp_ms, 3000);
    // A snapshot from a clock ahead of ours.
    let after = commit(&two(), &[Update::AddSnapshot(snapshot(13, 3, 9999)), main_at(13)], 4000);
    assert_eq!(after.last_updated_ms, 9999);
}

#[test]
fn updates_that_contradict_the_table_are_refused() {
    let base = two();
    for (updates, want) in [
        (
            vec![Update::AddSnapshot(snapshot(11, 3, 4000))],
            "adding snapshot 11 is not allowed: the table has a snapshot with that id already",
        ),
        (
            vec![Update::AddSnapshot(snapshot(13, 2, 4000))],
            "adding a snapshot with sequence number 2 is not allowed: it must be above the last \
             one, 2",
        ),
        (
            vec![Update::AddSnapshot(snapshot(13, 3, 1)), Update::AddSnapshot(snapshot(14, 3, 1))],
            "adding a snapshot with sequence number 3 is not allowed: it must be above the last \
             one, 3",
        ),
        (
            vec![main_at(13), Update::AddSnapshot(snapshot(13, 3, 4000))],
            "naming snapshot 13 \"main\" is not allowed: the table has no snapshot with that id",
        ),
        (
            vec![Update::SetSnapshotRef(
                MAIN.into(),
                SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(12) },
            )],
            "making main a tag is not allowed: main is the table's branch",
        ),
    ] {
        assert_eq!(refused(&base, &updates), want);
    }
    let mut broken = base.clone();
    broken.last_column_id = 1;
    assert_eq!(
        refused(&broken, &[]),
        "the change of last-column-id is not allowed: expected M5: at least 2, which a schema \
         uses, found 1"
    );
    let v3 = TableMetadata { format_version: 3, ..base };
    let added = [Update::AddSnapshot(snapshot(13, 3, 4000))];
    let error = apply(&v3, &at("/w/t/metadata/base.json"), &added, 9000).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}

#[test]
fn requirements_say_what_they_found() {
    let metadata = two();
    let on = |name: &str, id| Requirement::AssertRefSnapshotId(name.into(), id);
    let met = [on(MAIN, Some(12)), on("audit", None), Requirement::AssertTableUuid(UUID)];
    for requirement in met {
        assert_eq!(requirement.check(&metadata), Ok(()));
    }
    for (requirement, text) in [
        (on(MAIN, Some(11)), "main names snapshot 12 now, not snapshot 11"),
        (on(MAIN, None), "main names snapshot 12 now, not nothing"),
        (on("audit", Some(11)), "audit names nothing now, not snapshot 11"),
        (
            Requirement::AssertTableUuid(Uuid::nil()),
            "the table is another one now: its uuid is 00000000-0000-0000-0000-000000005f0c, not \
             00000000-0000-0000-0000-000000000000",
        ),
    ] {
        assert_eq!(requirement.check(&metadata).unwrap_err(), text);
    }
}
