//! What every catalog must do, written once and run against each: memory, SQLite, and one day the
//! REST client.
//!
//! [`Catalog`] says it in words. Here each promise is a function that tries to catch the catalog
//! breaking it, and fails the calling test if it does.
//!
//! ```text
//!   1  names         a hostile name is Invalid, and nothing is made
//!   2  namespaces    made once, listed sorted and in full; [a, b] is not a level a.b
//!   3  absent        what is not there is NoSuchTable or NoSuchNamespace
//!   4  create        what is made is what is loaded, and lies where its name says
//!   5  taken         a name is given once; who comes later changes nothing and leaves no file
//!   6  commit        one new file, the old one logged and untouched; an old value stays what it was
//!   7  requirements  unmet ones lose, and a lost commit leaves no file
//!   8  rebase        an old base loses nothing of a rival's, if the requirements are met
//!   9  stranger      a table made anew under the old name is not committed to
//!  10  contradiction updates that cannot be applied are an error, or a loss to the rival in the way
//!  11  create race   of many who make one table, one does
//!  12  commit race   of many who append at once, everyone who was told Won is in the history, once
//! ```

#![expect(clippy::unwrap_used, reason = "a broken promise must fail the test that asked for it")]
#![expect(clippy::panic, reason = "likewise")]

use std::collections::BTreeMap;
use std::slice;
use std::sync::Barrier;
use std::thread;

use meta::schema::{Field, Schema};
use meta::snapshot::{MAIN, Operation, Snapshot, SnapshotRef, Summary};
use meta::types::Primitive;
use meta::update::{Requirement, Update};
use store::Stamp;

use crate::{Catalog, Error, Namespace, NewTable, Outcome, Result, Table, TableIdent, Warehouse};

/// Tries every promise, each in an empty warehouse of its own, which `make` makes.
///
/// # Panics
/// When a promise is broken: the message and the line say which.
pub fn check(make: impl Fn() -> Warehouse) {
    let promises: [fn(&Warehouse); 12] = [
        names,
        namespaces,
        absent,
        create,
        taken,
        commit,
        requirements,
        rebase,
        stranger,
        contradiction,
        create_race,
        commit_race,
    ];
    for promise in promises {
        promise(&make());
    }
}

/// A small schema: what a table holds is no concern of a catalog.
pub fn schema() -> Schema {
    Schema::new(vec![
        Field::required(1, "product_id", Primitive::String),
        Field::optional(2, "unit_cost", Primitive::Double),
    ])
}

/// The commit of an append to `table`: what it requires, and what it changes. No file is written,
/// since a catalog opens none but its own.
pub fn append(table: &Table, stamp: &Stamp) -> (i64, Vec<Requirement>, Vec<Update>) {
    let (metadata, snapshot_id) = (&table.metadata, stamp.snapshot_id());
    let list = meta::location::manifest_list_file(snapshot_id, 0, stamp.uuid());
    let snapshot = Snapshot {
        snapshot_id,
        parent_snapshot_id: metadata.current_snapshot_id,
        sequence_number: metadata.last_sequence_number + 1,
        timestamp_ms: stamp.now_ms(),
        manifest_list: metadata.location.join(&list).unwrap(),
        summary: Summary { operation: Operation::Append, properties: BTreeMap::new() },
        schema_id: Some(metadata.current_schema_id),
        extra: Default::default(),
    };
    let head = Requirement::AssertRefSnapshotId(MAIN.into(), metadata.current_snapshot_id);
    let move_main = Update::SetSnapshotRef(MAIN.into(), SnapshotRef::branch(snapshot_id));
    (snapshot_id, vec![head], vec![Update::AddSnapshot(snapshot), move_main])
}

/// Appends, again and again until it is won. Answers the snapshot's id.
///
/// # Panics
/// When the outcome is unknown, or the catalog fails.
pub fn append_until_won(catalog: &dyn Catalog, ident: &TableIdent, stamp: &Stamp) -> i64 {
    loop {
        let base = catalog.load_table(ident).unwrap();
        let (id, requirements, updates) = append(&base, stamp);
        match catalog.commit(&base, &requirements, &updates).unwrap() {
            Outcome::Won(_) => return id,
            Outcome::Lost { .. } => {}
            Outcome::Unknown { why } => panic!("{why}"),
        }
    }
}

fn set(key: &str, value: &str) -> [Update; 1] {
    [Update::SetProperties(BTreeMap::from([(key.to_string(), value.to_string())]))]
}

fn won(outcome: Result<Outcome>) -> Table {
    match outcome.unwrap() {
        Outcome::Won(table) => table,
        other => panic!("this commit should have been won, not {other:?}"),
    }
}

fn is_lost(outcome: Result<Outcome>) -> bool {
    matches!(outcome, Ok(Outcome::Lost { .. }))
}

fn ident(text: &str) -> TableIdent {
    TableIdent::parse(text).unwrap()
}

/// An empty table `shop.products`.
fn products(warehouse: &Warehouse) -> Table {
    let ident = ident("shop.products");
    warehouse.catalog.create_namespace(&ident.namespace).unwrap();
    warehouse.catalog.create_table(&ident, NewTable::new(schema())).unwrap()
}

fn color(table: &Table) -> Option<&str> {
    table.metadata.properties.get("color").map(String::as_str)
}

/// How many files the table's folder holds.
fn files(warehouse: &Warehouse, table: &Table) -> usize {
    warehouse.store.list(table.metadata.location.normal()).unwrap().len()
}

fn names(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let ok = Namespace::parse("ok").unwrap();
    catalog.create_namespace(&ok).unwrap();
    for part in ["", ".", "..", "a.b", "a/b", "../../x", "a\\b", "a\0b", "/etc", "\n"] {
        let namespace = Namespace(vec!["ok".into(), part.into()]);
        let made = catalog.create_namespace(&namespace);
        assert!(matches!(made, Err(Error::Invalid { .. })), "1: the namespace {part:?}");
        let made = catalog.create_namespace(&Namespace(vec![part.into()]));
        assert!(matches!(made, Err(Error::Invalid { .. })), "1: the namespace {part:?}");
        let table = TableIdent { namespace: ok.clone(), name: part.into() };
        let made = catalog.create_table(&table, NewTable::new(schema()));
        assert!(matches!(made, Err(Error::Invalid { .. })), "1: the table {part:?}");
        let loaded = catalog.load_table(&table);
        assert!(matches!(loaded, Err(Error::Invalid { .. })), "1: loading {part:?}");
    }
    assert!(matches!(catalog.create_namespace(&Namespace(vec![])), Err(Error::Invalid { .. })));
    assert_eq!(
        catalog.list_namespaces().unwrap(),
        slice::from_ref(&ok),
        "1: only what was asked well"
    );
    assert!(catalog.list_tables(&ok).unwrap().is_empty(), "1: no table was made");
}

fn namespaces(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    assert!(catalog.list_namespaces().unwrap().is_empty(), "2: nothing yet");
    for text in ["b", "a.b", "a", "a b.ñandú"] {
        catalog.create_namespace(&Namespace::parse(text).unwrap()).unwrap();
    }
    let listed = catalog.list_namespaces().unwrap();
    let expected = ["a", "a.b", "a b.ñandú", "b"].map(|text| Namespace::parse(text).unwrap());
    assert_eq!(listed, expected, "2: sorted, and in full");
    let again = catalog.create_namespace(&Namespace::parse("a.b").unwrap());
    let told =
        matches!(&again, Err(Error::AlreadyExists { what: "namespace", name }) if name == "a.b");
    assert!(told, "2: made once, not {again:?}");

    catalog.create_table(&ident("a.b.t"), NewTable::new(schema())).unwrap();
    let tables = |text: &str| catalog.list_tables(&Namespace::parse(text).unwrap()).unwrap();
    assert_eq!(tables("a.b"), [ident("a.b.t")], "2: the table is in its namespace");
    assert!(tables("a").is_empty() && tables("b").is_empty(), "2: and in no other");
}

fn absent(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let table = products(warehouse);
    let loaded = catalog.load_table(&ident("shop.nothing"));
    assert!(matches!(loaded, Err(Error::NoSuchTable { .. })), "3: load {loaded:?}");
    let loaded = catalog.load_table(&ident("nowhere.products"));
    assert!(matches!(loaded, Err(Error::NoSuchTable { .. })), "3: load {loaded:?}");
    let listed = catalog.list_tables(&Namespace::parse("nowhere").unwrap());
    assert!(matches!(listed, Err(Error::NoSuchNamespace { .. })), "3: list {listed:?}");
    let made = catalog.create_table(&ident("nowhere.t"), NewTable::new(schema()));
    assert!(matches!(made, Err(Error::NoSuchNamespace { .. })), "3: create {made:?}");
    let gone = Table { ident: ident("shop.gone"), ..table };
    let commit = catalog.commit(&gone, &[], &set("a", "1"));
    assert!(matches!(commit, Err(Error::NoSuchTable { .. })), "3: commit {commit:?}");
}

fn create(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let table = products(warehouse);
    assert_eq!(catalog.load_table(&table.ident).unwrap(), table, "4: made is what is loaded");
    assert!(table.metadata.location.as_str().ends_with("/shop/products"), "4: its own folder");
    assert!(table.metadata_location.name().starts_with("00000-"), "4: version 0");
    assert!(table.metadata_location.name().ends_with(".metadata.json"), "4: the usual name");
    assert_eq!(table.metadata.current_schema().unwrap(), &schema(), "4: its columns");
    assert_eq!(table.metadata.format_version, 2, "4: its format version");

    let below = Namespace::parse("shop.products").unwrap();
    catalog.create_namespace(&below).unwrap();
    let nested = catalog.create_table(&ident("shop.products.t"), NewTable::new(schema())).unwrap();
    let inside = table.metadata.location.holds(&nested.metadata.location);
    assert!(!inside, "4: no table lies in another, whatever their names");

    let elsewhere = format!("{}-elsewhere", table.metadata.location);
    let location = Some(meta::Location::parse(&format!("{elsewhere}/")).unwrap());
    let properties = BTreeMap::from([("owner".to_string(), "ana".to_string())]);
    let new = NewTable { location, properties: properties.clone(), ..NewTable::new(schema()) };
    let second = catalog.create_table(&ident("shop.second"), new).unwrap();
    assert_eq!(second.metadata.location.as_str(), elsewhere, "4: told where, less the last slash");
    assert!(second.metadata.location.holds(&second.metadata_location), "4: and it lies there");
    assert_eq!(second.metadata.properties, properties, "4: its settings");
    assert_ne!(second.metadata.table_uuid, table.metadata.table_uuid, "4: its own uuid");
}

fn taken(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let table = products(warehouse);
    let again = catalog.create_table(&table.ident, NewTable::new(Schema::new(vec![])));
    let told = matches!(&again, Err(Error::AlreadyExists { what: "table", name }) if name == "shop.products");
    assert!(told, "5: {again:?}");
    assert_eq!(catalog.load_table(&table.ident).unwrap(), table, "5: nothing was changed");
    assert_eq!(files(warehouse, &table), 1, "5: and no file was left");
}

fn commit(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let first = products(warehouse);
    let second = won(catalog.commit(&first, &[], &set("color", "red")));
    assert_eq!(catalog.load_table(&first.ident).unwrap(), second, "6: won is what is loaded");
    assert!(second.metadata_location.name().starts_with("00001-"), "6: one version up");
    assert_eq!(color(&second), Some("red"), "6: the change");
    assert_eq!(color(&first), None, "6: an old value stays what it was");
    assert_eq!(second.metadata.table_uuid, first.metadata.table_uuid, "6: the same table");

    let (id, requirements, updates) = append(&second, &warehouse.stamp);
    let third = won(catalog.commit(&second, &requirements, &updates));
    assert_eq!(third.metadata.current_snapshot_id, Some(id), "6: the snapshot is current");
    assert_eq!(color(&third), Some("red"), "6: earlier changes stay");
    let log: Vec<_> = third.metadata.metadata_log.iter().map(|e| &e.metadata_file).collect();
    assert_eq!(log, [&first.metadata_location, &second.metadata_location], "6: logged, in order");
    for old in log {
        assert!(warehouse.store.read(old.normal()).is_ok(), "6: {old} is still there");
    }
    assert_eq!(files(warehouse, &third), 3, "6: one file for each version");
    assert_eq!(catalog.list_tables(&first.ident.namespace).unwrap(), [first.ident], "6: one table");
}

fn requirements(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let table = products(warehouse);
    let other = Requirement::AssertTableUuid(warehouse.stamp.uuid());
    let no_such_head = Requirement::AssertRefSnapshotId(MAIN.into(), Some(7));
    for unmet in [other, no_such_head] {
        let met = Requirement::AssertRefSnapshotId(MAIN.into(), None);
        let outcome = catalog.commit(&table, &[met, unmet.clone()], &set("a", "1"));
        assert!(is_lost(outcome), "7: {unmet:?} is not met");
    }
    let (_, stale, updates) = append(&table, &warehouse.stamp);
    append_until_won(&**catalog, &table.ident, &warehouse.stamp);
    let before = catalog.load_table(&table.ident).unwrap();
    assert!(is_lost(catalog.commit(&table, &stale, &updates)), "7: the head has moved");
    assert_eq!(catalog.load_table(&table.ident).unwrap(), before, "7: nothing was changed");
    assert_eq!(files(warehouse, &table), 2, "7: and no file was left");
}

fn rebase(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let base = products(warehouse);
    let id = append_until_won(&**catalog, &base.ident, &warehouse.stamp);
    let table = won(catalog.commit(&base, &[], &set("color", "red")));
    assert_eq!(table.metadata.current_snapshot_id, Some(id), "8: the rival's snapshot is there");
    assert_eq!(color(&table), Some("red"), "8: and so is our property");
    assert!(table.metadata_location.name().starts_with("00002-"), "8: counted from the rival's");
    assert_eq!(table.metadata.metadata_log.len(), 2, "8: and logged on top of it");
    assert_eq!(catalog.load_table(&base.ident).unwrap(), table, "8: won is what is loaded");
}

fn stranger(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let table = products(warehouse);
    // What a client holds after the table was dropped and made anew: the old uuid, the old file.
    let mut metadata = (*table.metadata).clone();
    metadata.table_uuid = warehouse.stamp.uuid();
    let metadata_location =
        table.metadata.location.join("metadata/00007-old.metadata.json").unwrap();
    let old = Table { metadata_location, metadata: metadata.into(), ..table.clone() };
    assert!(is_lost(catalog.commit(&old, &[], &set("a", "1"))), "9: another table");
    assert_eq!(catalog.load_table(&table.ident).unwrap(), table, "9: which was not changed");
}

fn contradiction(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let base = products(warehouse);
    let nothing = [Update::SetSnapshotRef(MAIN.into(), SnapshotRef::branch(7))];
    let outcome = catalog.commit(&base, &[], &nothing);
    assert!(matches!(outcome, Err(Error::Meta(_))), "10: no snapshot 7, not {outcome:?}");
    assert_eq!(catalog.load_table(&base.ident).unwrap(), base, "10: nothing was changed");
    assert_eq!(files(warehouse, &base), 1, "10: and no file was left");

    // A writer to another branch requires nothing of main. Still his sequence number is taken.
    let (_, _, updates) = append(&base, &warehouse.stamp);
    append_until_won(&**catalog, &base.ident, &warehouse.stamp);
    let outcome = catalog.commit(&base, &[], &updates);
    assert!(is_lost(outcome), "10: it can be redone on top of the rival's");
}

fn create_race(warehouse: &Warehouse) {
    let catalog = &warehouse.catalog;
    let (ident, rivals) = (&ident("shop.products"), 6);
    catalog.create_namespace(&ident.namespace).unwrap();
    let barrier = &Barrier::new(rivals);
    let run = || {
        barrier.wait();
        catalog.create_table(ident, NewTable::new(schema()))
    };
    let answers: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..rivals).map(|_| scope.spawn(run)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (made, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    let [Ok(made)] = made.as_slice() else { panic!("11: exactly one is told so: {made:?}") };
    let all = refused.iter().all(|answer| matches!(answer, Err(Error::AlreadyExists { .. })));
    assert!(all, "11: the others hear AlreadyExists: {refused:?}");
    assert_eq!(catalog.load_table(ident).unwrap(), *made, "11: the table is the winner's");
    assert_eq!(files(warehouse, made), 1, "11: the losers leave nothing");
}

fn commit_race(warehouse: &Warehouse) {
    let catalog = &*warehouse.catalog;
    let table = products(warehouse);
    let (writers, each) = (4, 8);
    let barrier = &Barrier::new(writers);
    let run = || {
        barrier.wait();
        let append = |_| append_until_won(catalog, &table.ident, &warehouse.stamp);
        (0..each).map(append).collect::<Vec<_>>()
    };
    let mut acknowledged: Vec<i64> = thread::scope(|scope| {
        let threads: Vec<_> = (0..writers).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    check_history(warehouse, &table.ident, &mut acknowledged);
}

/// Checks that the history of a table, which only appends have touched, is exactly what was
/// acknowledged: each once, each metadata file there, and no file besides.
///
/// # Panics
/// When it is not.
pub fn check_history(warehouse: &Warehouse, ident: &TableIdent, acknowledged: &mut [i64]) {
    let table = warehouse.catalog.load_table(ident).unwrap();
    let metadata = &table.metadata;
    let head = metadata.current_snapshot_id;
    let mut history: Vec<_> = metadata.ancestors(head).map(|s| s.snapshot_id).collect();
    history.sort_unstable();
    acknowledged.sort_unstable();
    assert_eq!(history, acknowledged, "12: the history is what was acknowledged");
    let numbers = metadata.snapshots.iter().map(|snapshot| snapshot.sequence_number);
    assert!(numbers.eq(1..=history.len() as i64), "12: sequence numbers rise one by one");
    assert_eq!(metadata.snapshots.len(), history.len(), "12: no snapshot besides");
    assert_eq!(files(warehouse, &table), history.len() + 1, "12: the losers leave nothing");
}
