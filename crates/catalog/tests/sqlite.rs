//! What only a SQLite file can get wrong: other writers' rows and schemas, files that are something
//! else, and rivals in other processes.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Barrier};

use kiosko_catalog::conformance::{append_until_won, check_history, schema};
use kiosko_catalog::{
    Catalog, Error, Local, Namespace, NewTable, Outcome, Pointer, Sqlite, TableIdent, Warehouse,
};
use meta::Location;
use meta::update::Update;
use rusqlite::Connection;
use store::{Disk, Mount, Stamp, Store};

fn ident(text: &str) -> TableIdent {
    TableIdent::parse(text).unwrap()
}

fn namespace(text: &str) -> Namespace {
    Namespace::parse(text).unwrap()
}

fn sql(file: &Path, text: &str) {
    Connection::open(file).unwrap().execute_batch(text).unwrap();
}

/// The SQL of the two tables, as the file keeps it.
fn schema_of(file: &Path) -> Vec<String> {
    let file = Connection::open(file).unwrap();
    let mut query = file.prepare("SELECT sql FROM sqlite_master WHERE sql NOT NULL").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

fn fixture() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    root.join("pyiceberg-0.12.0/before-expiry").canonicalize().unwrap()
}

fn warehouse(folder: &Path, pointer: Sqlite) -> Warehouse {
    let store: Arc<dyn Store> = Arc::new(Disk::without_fsync());
    let stamp = Arc::new(Stamp::real());
    let root = format!("file://{}/warehouse", folder.canonicalize().unwrap().display());
    let root = Location::parse(&root).unwrap();
    let catalog = Local::new(pointer, store.clone(), stamp.clone(), root);
    Warehouse { catalog: Arc::new(catalog), store, stamp }
}

#[test]
fn a_new_file_has_the_schema_of_pyiceberg() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("new.db");
    let catalog = Sqlite::create(&file, "kiosko").unwrap();
    assert_eq!(schema_of(&file), schema_of(&fixture().join("kiosko_catalog.db")));

    assert!(catalog.create_namespace(&namespace("shop")).unwrap());
    assert!(catalog.put_new(&ident("shop.t"), "a").unwrap());
    assert!(catalog.swap(&ident("shop.t"), "a", "b").unwrap());
    let rows = |table: &str| {
        let file = Connection::open(&file).unwrap();
        let mut query = file.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let width = query.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..width).map(|column| row.get(column)).collect();
        let rows: Vec<Vec<Option<String>>> =
            query.query_map([], row).unwrap().map(Result::unwrap).collect();
        rows
    };
    let some = |row: &[&str]| row.iter().map(|cell| Some(cell.to_string())).collect::<Vec<_>>();
    assert_eq!(rows("iceberg_tables"), [some(&["kiosko", "shop", "t", "b", "a", "TABLE"])]);
    let properties = rows("iceberg_namespace_properties");
    assert_eq!(properties, [some(&["kiosko", "shop", "exists", "true"])]);
    drop(Sqlite::create(&file, "kiosko").unwrap());
    assert_eq!(rows("iceberg_tables").len(), 1, "create opens what is there");
}

#[test]
fn a_catalog_of_pyiceberg_is_read_and_continued() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.db");
    std::fs::copy(fixture().join("kiosko_catalog.db"), &file).unwrap();
    let names = ["kiosko.dim_product", "kiosko.fact_orders_daily_batches"].map(ident);
    // The metadata files are copied to where the mount shows the warehouse: fixtures stay as is.
    let at = "/warehouse/kiosko-before-expiry";
    let place = folder.path().canonicalize().unwrap();
    let mount = Mount::new(Arc::new(Disk::without_fsync()), at, place.to_str().unwrap());
    for name in &names {
        let inside = format!("kiosko_warehouse/kiosko/{}/metadata", name.name);
        for entry in std::fs::read_dir(fixture().join(&inside)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{at}/{inside}/{}", entry.file_name().to_str().unwrap());
            store::put_new(&mount, &path, &std::fs::read(entry.path()).unwrap()).unwrap();
        }
    }
    let pointer = Sqlite::open(&file, "kiosko").unwrap();
    let root = Location::parse(&format!("file://{at}/kiosko_warehouse")).unwrap();
    let stamp = Arc::new(Stamp::real());
    let catalog = Local::new(pointer, Arc::new(mount), stamp.clone(), root.clone());

    assert_eq!(catalog.list_namespaces().unwrap(), [namespace("kiosko")]);
    assert_eq!(catalog.list_tables(&namespace("kiosko")).unwrap(), names);
    let tables = names.each_ref().map(|name| catalog.load_table(name).unwrap());
    assert_eq!(tables.each_ref().map(|table| table.metadata.snapshots.len()), [13, 7]);
    for table in &tables {
        let folder = root.join(&format!("kiosko/{}", table.ident.name)).unwrap();
        assert_eq!(table.metadata.location, folder, "PyIceberg's place for it is ours");
    }
    let id = append_until_won(&catalog, &names[0], &stamp);
    let after = catalog.load_table(&names[0]).unwrap();
    assert_eq!(after.metadata.current_snapshot_id, Some(id));
    assert!(after.metadata_location.name().starts_with("00008-"), "counted on from 00007");
    let last = after.metadata.metadata_log.last().unwrap();
    assert_eq!(last.metadata_file, tables[0].metadata_location);
}

#[test]
fn a_file_from_before_iceberg_type_is_used_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("v0.db");
    drop(Sqlite::create(&file, "kiosko").unwrap());
    sql(&file, "ALTER TABLE iceberg_tables DROP COLUMN iceberg_type");
    let before = schema_of(&file);
    let world = warehouse(folder.path(), Sqlite::open(&file, "kiosko").unwrap());
    world.catalog.create_namespace(&namespace("shop")).unwrap();
    let name = ident("shop.t");
    world.catalog.create_table(&name, NewTable::new(schema())).unwrap();
    let id = append_until_won(&*world.catalog, &name, &world.stamp);
    check_history(&world, &name, &mut [id]);
    assert_eq!(world.catalog.list_tables(&name.namespace).unwrap(), [name]);
    assert_eq!(schema_of(&file), before, "nothing was migrated");
}

#[test]
fn views_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.db");
    let pointer = Sqlite::create(&file, "kiosko").unwrap();
    for (table, kind) in [("v", "'VIEW'"), ("old", "NULL"), ("new", "'TABLE'"), ("odd", "'FOO'")] {
        let row = format!("('kiosko', 'shop', '{table}', '/{table}', NULL, {kind})");
        sql(&file, &format!("INSERT INTO iceberg_tables VALUES {row}"));
    }
    assert_eq!(pointer.list(&namespace("shop")).unwrap(), ["shop.new", "shop.old"].map(ident));
    assert_eq!(pointer.get(&ident("shop.old")).unwrap().as_deref(), Some("/old"), "NULL: a table");
    assert!(pointer.swap(&ident("shop.old"), "/old", "/older").unwrap());
    for view in ["shop.v", "shop.odd"] {
        let location = format!("/{}", ident(view).name);
        assert_eq!(pointer.get(&ident(view)).unwrap(), None);
        assert!(!pointer.swap(&ident(view), &location, "/x").unwrap(), "not swapped");
        assert!(!pointer.put_new(&ident(view), "/x").unwrap(), "but it owns its name");
    }
    let made = warehouse(folder.path(), pointer).catalog;
    let made = made.create_table(&ident("shop.v"), NewTable::new(schema()));
    assert!(matches!(made, Err(Error::AlreadyExists { .. })), "{made:?}");
    let left = Disk::new().list(folder.path().canonicalize().unwrap().to_str().unwrap()).unwrap();
    assert!(left.iter().all(|file| !file.path.ends_with(".json")), "{left:?}");
}

#[test]
fn two_catalogs_in_one_file_do_not_see_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.db");
    let [two, one] = ["two", "one"].map(|name| Sqlite::create(&file, name).unwrap());
    assert!(Sqlite::names(&file).unwrap().is_empty(), "no rows, no names");
    assert!(one.create_namespace(&namespace("shop")).unwrap());
    assert!(!two.namespace_exists(&namespace("shop")).unwrap());
    assert!(two.list_namespaces().unwrap().is_empty());
    assert!(two.create_namespace(&namespace("shop")).unwrap(), "its own");
    let t = ident("shop.t");
    assert!(one.put_new(&t, "/one").unwrap() && two.put_new(&t, "/two").unwrap());
    assert!(!one.put_new(&t, "/x").unwrap(), "taken in one");
    assert!(!two.swap(&t, "/one", "/x").unwrap(), "the row of one is not swapped by two");
    assert!(one.swap(&t, "/one", "/x").unwrap());
    assert_eq!(two.get(&t).unwrap().as_deref(), Some("/two"));
    assert_eq!(one.get(&t).unwrap().as_deref(), Some("/x"));
    assert_eq!(Sqlite::names(&file).unwrap(), ["one", "two"]);
}

#[test]
fn strange_rows_are_listed_and_do_not_escape() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.db");
    let world = warehouse(folder.path(), Sqlite::create(&file, "kiosko").unwrap());
    sql(&file, "INSERT INTO iceberg_tables VALUES ('kiosko', 'a..b', '../t', '/x', NULL, 'TABLE')");
    sql(&file, "INSERT INTO iceberg_tables VALUES ('kiosko', 'a', 'u/v', '/x', NULL, 'TABLE')");
    sql(&file, "INSERT INTO iceberg_tables VALUES ('kiosko', 'a', 'n', NULL, NULL, 'TABLE')");
    sql(&file, "INSERT INTO iceberg_tables VALUES ('kiosko', 'a', 'b', x'ff00', NULL, 'TABLE')");
    let catalog = &world.catalog;
    let listed: Vec<_> = catalog.list_namespaces().unwrap().iter().map(|n| n.to_string()).collect();
    assert_eq!(listed, ["a", "a..b"], "as stored");
    let tables = catalog.list_tables(&namespace("a")).unwrap();
    assert_eq!(tables.len(), 3, "a list is complete");
    assert!(matches!(catalog.load_table(&tables[2]), Err(Error::Invalid { .. })), "u/v");
    for row in ["a.n", "a.b"] {
        let loaded = catalog.load_table(&ident(row));
        assert!(matches!(loaded, Err(Error::Damaged { .. })), "{row}: {loaded:?}");
    }
}

#[test]
fn what_is_not_a_catalog_is_named_and_left_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("text"), "this is not SQLite, though it is long enough".repeat(40))
        .unwrap();
    std::fs::write(path("empty"), "").unwrap();
    std::fs::create_dir(path("folder")).unwrap();
    sql(&path("other"), "CREATE TABLE recipes (name TEXT)");
    drop(Sqlite::create(path("half"), "kiosko").unwrap());
    sql(&path("half"), "DROP TABLE iceberg_namespace_properties");
    std::fs::copy(path("other"), path("cut")).unwrap();
    std::fs::File::options().write(true).open(path("cut")).unwrap().set_len(700).unwrap();

    let damaged = |catalog: Result<Sqlite, Error>, name: &str| {
        let error = catalog.err().unwrap_or_else(|| panic!("{name} was opened"));
        assert!(matches!(error, Error::Damaged { .. }), "{name}: {error}");
        assert!(error.to_string().contains(path(name).to_str().unwrap()), "{name}: {error}");
    };
    let bytes = |name: &str| std::fs::read(path(name)).ok();
    for name in ["absent", "no/such/folder", "text", "empty", "folder", "other", "half", "cut"] {
        let before = bytes(name);
        damaged(Sqlite::open(path(name), "kiosko"), name);
        assert_eq!(bytes(name), before, "open changed {name}");
        assert_eq!(path(name).exists(), before.is_some() || name == "folder", "open made {name}");
    }
    for name in ["no/such/folder", "text", "folder", "other", "half", "cut"] {
        let before = bytes(name);
        damaged(Sqlite::create(path(name), "kiosko"), name);
        assert_eq!(bytes(name), before, "create changed {name}");
    }
    drop(Sqlite::create(path("empty"), "kiosko").unwrap());
    drop(Sqlite::open(path("empty"), "kiosko").unwrap());
}

#[test]
fn a_catalog_made_by_many_at_once_is_made_once() {
    for _ in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let (file, barrier) = (folder.path().join("catalog.db"), Barrier::new(6));
        let run = || {
            barrier.wait();
            let catalog = Sqlite::create(&file, "kiosko").unwrap();
            catalog.create_namespace(&namespace("shop")).unwrap()
        };
        let made: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6).map(|_| scope.spawn(run)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
    }
}

#[test]
fn a_path_is_no_uri() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file:a?mode=memory");
    drop(Sqlite::create(&file, "kiosko").unwrap());
    assert!(file.exists());
}

/// Eight processes, each with threads of its own and a connection for each, append to one table.
const PROCESSES: usize = 8;
const THREADS: usize = 2;
const EACH: usize = 8;

/// The one who is started by the next test. By itself it has nothing to do.
#[test]
fn a_rival_in_another_process() {
    let Some(folder) = std::env::var_os("KIOSKO_TEST_RIVAL") else { return };
    let folder = PathBuf::from(folder);
    let name = ident("shop.t");
    let run = || {
        let world = warehouse(&folder, Sqlite::open(folder.join("catalog.db"), "kiosko").unwrap());
        let append = |_| append_until_won(&*world.catalog, &name, &world.stamp).to_string();
        (0..EACH).map(append).collect::<Vec<_>>()
    };
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(run)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let report = folder.join(format!("acknowledged-{}", std::process::id()));
    std::fs::write(report, acknowledged.join("\n")).unwrap();
}

#[test]
fn processes_that_append_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let pointer = Sqlite::create(folder.path().join("catalog.db"), "kiosko").unwrap();
    let world = warehouse(folder.path(), pointer);
    let name = ident("shop.t");
    world.catalog.create_namespace(&name.namespace).unwrap();
    let mut new = NewTable::new(schema());
    new.properties.insert("write.metadata.previous-versions-max".into(), "1000".into());
    world.catalog.create_table(&name, new).unwrap();

    let start = || -> Child {
        let mut rival = Command::new(std::env::current_exe().unwrap());
        rival.args(["--exact", "a_rival_in_another_process"]);
        rival.env("KIOSKO_TEST_RIVAL", folder.path()).stdout(Stdio::null()).spawn().unwrap()
    };
    let rivals: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
    for mut rival in rivals {
        assert!(rival.wait().unwrap().success(), "a rival failed");
    }

    let reports = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut acknowledged: Vec<i64> = reports
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("acknowledged-"))
        .flat_map(|path| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().map(|id| id.parse().unwrap()).collect::<Vec<_>>()
        })
        .collect();
    assert_eq!(acknowledged.len(), PROCESSES * THREADS * EACH);
    check_history(&world, &name, &mut acknowledged);
    let table = world.catalog.load_table(&name).unwrap();
    assert_eq!(table.metadata.metadata_log.len(), acknowledged.len(), "each file logged");
}

#[test]
fn a_reader_in_the_middle_of_reading_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("catalog.db");
    let world = warehouse(folder.path(), Sqlite::create(&file, "kiosko").unwrap());
    let name = ident("shop.t");
    world.catalog.create_namespace(&name.namespace).unwrap();
    let base = world.catalog.create_table(&name, NewTable::new(schema())).unwrap();

    // Someone reads, and holds the transaction open for a while: no COMMIT can pass.
    let reader = Connection::open(&file).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM iceberg_tables").unwrap();
    let release = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        reader.execute_batch("COMMIT").unwrap();
    });
    let updates = [Update::SetProperties([("a".into(), "1".into())].into())];
    let outcome = world.catalog.commit(&base, &[], &updates).unwrap();
    assert!(matches!(outcome, Outcome::Won(_)), "{outcome:?}");
    release.join().unwrap();
}
