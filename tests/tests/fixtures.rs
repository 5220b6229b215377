//! The tables that PyIceberg wrote: what it reads there is read here, and its table is maintained
//! here without a scratch to a single row.
//!
//! The tables lie in `fixtures/` and believe themselves to be under `/warehouse`: they are read where
//! they lie, through a mount and a store that refuses to write. What is maintained is a copy.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop where it fails"
)]

#[path = "../engines/view.rs"]
mod view;

use kiosko::{Catalog, Table};
use meta::Location;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Disk, Mount, ReadOnly, Stamp, Store};
use view::{check, describe, rows, rows_at, same};

const DIM_PRODUCT: &str = "kiosko.dim_product";
const FACT_ORDERS: &str = "kiosko.fact_orders_daily_batches";
const NAMES: [&str; 2] = ["before-expiry", "finished"];

// --- the scene ---

/// A fixture, and the tables in it as PyIceberg's catalog names them.
struct Fixture {
    expected: Json,
    catalog: Catalog,
    /// Where the files really are.
    folder: PathBuf,
    /// The catalog's copy, or the whole copy.
    _copy: tempfile::TempDir,
}

fn original(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/pyiceberg-0.12.0").join(name)
}

impl Fixture {
    /// The fixture where it lies. Only its catalog is a copy, for SQLite opens a file to write.
    fn read_only(name: &str) -> Fixture {
        let copy = tempfile::tempdir().unwrap();
        let folder = original(name).canonicalize().unwrap();
        std::fs::copy(folder.join("kiosko_catalog.db"), copy.path().join("c.db")).unwrap();
        let disk: Arc<dyn Store> = Arc::new(Disk::new());
        let store = mount(Arc::new(ReadOnly::new(disk)), name, &folder);
        Fixture::open(name, &copy.path().join("c.db"), store, folder, copy)
    }

    /// A copy to work on, which still believes itself to be under `/warehouse`.
    fn writable(name: &str) -> Fixture {
        let copy = tempfile::tempdir().unwrap();
        let folder = copy.path().canonicalize().unwrap();
        copy_folder(&original(name), &folder);
        let store = mount(Arc::new(Disk::new()), name, &folder);
        Fixture::open(name, &folder.join("kiosko_catalog.db"), store, folder.clone(), copy)
    }

    fn open(
        name: &str,
        catalog: &Path,
        store: Arc<dyn Store>,
        folder: PathBuf,
        copy: tempfile::TempDir,
    ) -> Fixture {
        let expected = std::fs::read(original(name).join("expected.json")).unwrap();
        let pointer = catalog::Sqlite::open(catalog, "kiosko").unwrap();
        let warehouse = Location::parse(&format!("{}/kiosko_warehouse", home(name))).unwrap();
        let stamp = Arc::new(Stamp::real());
        let local = catalog::Local::new(pointer, store.clone(), stamp.clone(), warehouse);
        let warehouse = catalog::Warehouse { catalog: Arc::new(local), store, stamp };
        Fixture {
            expected: serde_json::from_slice(&expected).unwrap(),
            catalog: Catalog::new(warehouse),
            folder,
            _copy: copy,
        }
    }

    fn table(&self, name: &str) -> Table {
        self.catalog.load_table(name).unwrap()
    }

    fn expected(&self, name: &str) -> &Json {
        &self.expected["tables"][name]
    }

    /// The files of a table that are really there, spelled as its metadata spells them.
    fn on_disk(&self, table: &Table) -> BTreeMap<String, u64> {
        let location = table.metadata().location.as_str();
        let (_, rest) = location.split_once("kiosko_warehouse").unwrap();
        let folder = self.folder.join(format!("kiosko_warehouse{rest}"));
        let all = files(&folder).into_iter().map(|(path, bytes)| {
            let rest = path.strip_prefix(&folder).unwrap().to_str().unwrap();
            (format!("{location}/{rest}"), bytes.len() as u64)
        });
        all.collect()
    }
}

/// The folder under which a fixture was written.
fn home(name: &str) -> String {
    format!("/warehouse/kiosko-{name}")
}

fn mount(inner: Arc<dyn Store>, name: &str, folder: &Path) -> Arc<dyn Store> {
    Arc::new(Mount::new(inner, &home(name), folder.to_str().unwrap()))
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy_folder(&from, &to),
            false => drop(std::fs::copy(from, to).unwrap()),
        }
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => drop(found.insert(path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found
}

/// Runs a test, and sees that not a byte of the fixtures has changed.
fn untouched(test: impl FnOnce()) {
    let before: Vec<_> = NAMES.iter().map(|name| files(&original(name))).collect();
    test();
    let after: Vec<_> = NAMES.iter().map(|name| files(&original(name))).collect();
    assert!(before == after, "the fixtures changed");
    assert!(before.iter().all(|files| files.len() >= 72));
}

fn list(json: &Json) -> &Vec<Json> {
    json.as_array().unwrap()
}

/// An id of `expected.json`, which writes them as text.
fn id(json: &Json) -> i64 {
    json.as_str().unwrap().parse().unwrap()
}

// --- reading ---

/// The four tables, where they lie.
fn tables() -> Vec<(Fixture, &'static str)> {
    let both = [DIM_PRODUCT, FACT_ORDERS];
    NAMES.iter().flat_map(|name| both.map(|table| (Fixture::read_only(name), table))).collect()
}

#[test]
fn everything_is_seen_as_pyiceberg_sees_it() {
    untouched(|| {
        let mut snapshots = Vec::new();
        for (fixture, name) in tables() {
            let table = fixture.table(name);
            let mut theirs = fixture.expected(name).clone();
            theirs.as_object_mut().unwrap().remove("orphans");
            let ours = describe(&table);
            same(&ours, &theirs, name);
            check(&table);
            snapshots.push(ours["rows_at"].as_object().unwrap().len());
        }
        assert_eq!(snapshots, [13, 7, 2, 7], "each with its rows");
    });
}

#[test]
fn the_figures_of_the_guide_are_in_the_fixture() {
    let fixture = Fixture::read_only("before-expiry");
    let table = fixture.table(DIM_PRODUCT);
    assert_eq!(table.history().len(), 13);
    assert_eq!(table.inspect().all_data_files().unwrap().num_rows(), 7);
    assert_eq!(table.inspect().files().unwrap().num_rows(), 1);

    let fixture = Fixture::read_only("finished");
    let table = fixture.table(DIM_PRODUCT);
    assert_eq!(table.history().len(), 2);
    assert_eq!(table.inspect().all_data_files().unwrap().num_rows(), 2);
    let [v1, now] = table.history() else { panic!("two snapshots") };
    let p002 = |id| {
        let row = rows_at(&table, id).into_iter().find(|row| row["product_id"] == "P002").unwrap();
        (row["category"].clone(), row["unit_cost"].clone())
    };
    assert_eq!(p002(v1.snapshot_id), (json!("snacks"), json!(0.60)));
    assert_eq!(p002(now.snapshot_id), (json!("health-snacks"), json!(0.68)));
    let table = fixture.table(FACT_ORDERS);
    let revenue = rows(&table).iter().map(|row| row["revenue"].as_f64().unwrap()).sum::<f64>();
    assert_eq!((rows(&table).len(), (revenue * 100.0).round()), (40, 10_615.0));
}

#[test]
fn the_orphans_are_those_that_a_listing_by_python_finds() {
    untouched(|| {
        let mut of_data = Vec::new();
        for (fixture, name) in tables() {
            let (expected, table) = (&fixture.expected(name)["orphans"], fixture.table(name));
            let plan = ops::orphans::plan(table.warehouse(), table.table(), 0).unwrap();
            let show = |orphan: &ops::orphans::Orphan| {
                let path = format!("file://{}", orphan.path.normal());
                json!({"path": path, "bytes": orphan.size})
            };
            let data: Vec<_> = plan.data().map(show).collect();
            let metadata: Vec<_> = plan.metadata().map(show).collect();
            assert_eq!(&data, list(&expected["data"]), "{name}");
            assert_eq!(&metadata, list(&expected["metadata"]), "{name}");
            of_data.push((plan.data().count(), plan.data().map(|o| o.size).sum::<u64>()));
            assert_eq!(plan.needed + plan.orphans.len(), fixture.on_disk(&table).len());

            // And this store would not let them be deleted.
            let refused = ops::orphans::run(table.warehouse(), table.table(), &plan);
            assert_eq!(refused.is_ok(), plan.orphans.is_empty());
        }
        assert_eq!(of_data, [(0, 0), (0, 0), (5, 9185), (0, 0)]);
    });
}

#[test]
fn a_store_that_only_reads_lets_nothing_be_written() {
    untouched(|| {
        let fixture = Fixture::read_only("before-expiry");
        let mut table = fixture.table(DIM_PRODUCT);
        let catalog = std::fs::read(fixture._copy.path().join("c.db")).unwrap();
        let first = table.history()[1].snapshot_id;
        assert!(table.maintenance().expire_snapshots().by_ids([first]).commit().is_err());
        let rows = kiosko::shop::products(kiosko::shop::DIM_PRODUCT_V1).unwrap();
        assert!(table.append(&rows).is_err());
        assert!(fixture.table(FACT_ORDERS).maintenance().rewrite_data_files().is_err());
        assert!(std::fs::read(fixture._copy.path().join("c.db")).unwrap() == catalog);
    });
}

// --- maintaining ---

#[test]
fn a_table_that_pyiceberg_left_is_maintained_here() {
    untouched(|| {
        let fixture = Fixture::writable("before-expiry");
        let expected = fixture.expected(DIM_PRODUCT).clone();
        let want = |id: i64| list(&expected["rows_at"][id.to_string()]).clone();
        let log = list(&expected["snapshot_log"]);
        let (v1, now) = (id(&log[0]["snapshot_id"]), id(&log[12]["snapshot_id"]));

        // Expire the eleven between.
        let mut table = fixture.table(DIM_PRODUCT);
        let before = fixture.on_disk(&table);
        let eleven: Vec<_> = log.iter().map(|e| id(&e["snapshot_id"])).collect();
        let eleven: Vec<_> = eleven.into_iter().filter(|id| ![v1, now].contains(id)).collect();
        assert_eq!(eleven.len(), 11);
        table.maintenance().expire_snapshots().by_ids(eleven.clone()).commit().unwrap();
        let table = fixture.table(DIM_PRODUCT);
        let left: Vec<_> = table.history().iter().map(|entry| entry.snapshot_id).collect();
        assert_eq!(left, [v1, now]);
        assert_eq!(table.inspect().all_data_files().unwrap().num_rows(), 2);
        assert_eq!((rows_at(&table, v1), rows_at(&table, now)), (want(v1), want(now)));
        assert!(table.scan().snapshot_id(eleven[5]).to_arrow().is_err());
        check(&table);
        let after = fixture.on_disk(&table);
        assert!(
            before.iter().all(|file| after.get(file.0) == Some(file.1)),
            "expiry deletes nothing"
        );
        assert_eq!(after.len(), before.len() + 1, "and writes one metadata file");
        as_pyiceberg_expired(&table);

        // Remove the orphans: five that held rows, 9185 bytes.
        let mut table = table;
        let removed = table.maintenance().remove_orphan_files(0).unwrap();
        let data: Vec<_> = removed.iter().filter(|orphan| !orphan.metadata).collect();
        assert_eq!((data.len(), data.iter().map(|o| o.size).sum::<u64>()), (5, 9185));
        assert_eq!(removed.len() - data.len(), 22, "11 manifests, 11 lists");
        let table = fixture.table(DIM_PRODUCT);
        let kept = fixture.on_disk(&table);
        let gone: BTreeSet<_> = after.keys().filter(|path| !kept.contains_key(*path)).collect();
        let removed: BTreeSet<_> =
            removed.iter().map(|orphan| format!("file://{}", orphan.path.normal())).collect();
        assert_eq!(gone, removed.iter().collect());
        assert_eq!((rows_at(&table, v1), rows_at(&table, now)), (want(v1), want(now)));
        check(&table);

        // And compact the other table.
        let expected = fixture.expected(FACT_ORDERS);
        let mut fact = fixture.table(FACT_ORDERS);
        let seven = fact.current_snapshot().unwrap().snapshot_id;
        fact.maintenance().rewrite_data_files().unwrap();
        let fact = fixture.table(FACT_ORDERS);
        assert_eq!(fact.inspect().files().unwrap().num_rows(), 1);
        assert_eq!(fact.inspect().all_data_files().unwrap().num_rows(), 8);
        assert_eq!(&rows(&fact), list(&expected["rows"]));
        assert_eq!(fact.current_snapshot().unwrap().parent_snapshot_id, Some(seven));
        for (id, want) in expected["rows_at"].as_object().unwrap() {
            assert_eq!(&rows_at(&fact, id.parse().unwrap()), list(want), "{id}");
        }
        check(&fact);
        assert_eq!(rows(&fixture.table(DIM_PRODUCT)), want(now), "the other one is as it was");
    });
}

/// The expiry against the one that PyIceberg did in `finished`: the same fields, the same counts.
fn as_pyiceberg_expired(table: &Table) {
    let fixture = Fixture::read_only("finished");
    let theirs = fixture.table(DIM_PRODUCT);
    let (ours, theirs) = (table.metadata(), theirs.metadata());
    assert_eq!(ours.last_sequence_number, theirs.last_sequence_number);
    assert_eq!(ours.metadata_log.len(), theirs.metadata_log.len());
    assert_eq!(ours.snapshot_log.len(), theirs.snapshot_log.len());
    assert_eq!(ours.refs.keys().collect::<Vec<_>>(), theirs.refs.keys().collect::<Vec<_>>());
    for (ours, theirs) in ours.snapshots.iter().zip(&theirs.snapshots) {
        assert_eq!(ours.sequence_number, theirs.sequence_number);
        assert_eq!(ours.summary, theirs.summary);
    }
}

#[test]
fn rows_are_added_and_replaced_where_pyiceberg_left_off() {
    untouched(|| {
        let fixture = Fixture::writable("finished");
        let mut table = fixture.table(DIM_PRODUCT);
        let [v1, now] = [0, 1].map(|at| table.history()[at].snapshot_id);
        let more = kiosko::shop::products("a,b,c,d\nP005,Mate,beverages,0.9\n").unwrap();
        table.append(&more).unwrap();
        assert_eq!(rows(&fixture.table(DIM_PRODUCT)).len(), 5);
        table.overwrite(&more).unwrap();
        let table = fixture.table(DIM_PRODUCT);
        assert_eq!(rows(&table).len(), 1);
        let metadata = table.metadata();
        assert_eq!(metadata.last_sequence_number, 13 + 3);
        let operations: Vec<_> =
            metadata.snapshots.iter().map(|s| s.summary.operation.as_str()).collect();
        assert_eq!(operations, ["append", "append", "append", "delete", "append"]);
        let expected = fixture.expected(DIM_PRODUCT);
        for id in [v1, now] {
            assert_eq!(&rows_at(&table, id), list(&expected["rows_at"][id.to_string()]));
        }
        check(&table);
    });
}
