//! Live engines: PyIceberg and DuckDB read what is written here, and PyIceberg writes what is read
//! here, in turns, on one table.
//!
//! Not part of `cargo test`, for it needs a Python with the engines in it:
//!
//! ```text
//! python3 -m venv VENV && VENV/bin/pip install -r tests/engines/requirements.txt
//! KIOSKO_PYTHON=VENV/bin/python cargo test -p kiosko-tests --test engines
//! ```
//!
//! Without them every test here fails and says so: a test that skips itself proves nothing.
//!
//! What one engine sees and what the other sees are two JSON documents in one form
//! (`tests/engines/pyiceberg_table.py`, `tests/engines/view.rs`), compared word for word.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop where it fails"
)]

#[path = "../engines/view.rs"]
mod view;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use kiosko::lessons::m07_l08_maintained_table as project;
use kiosko::{Catalog, Field, Primitive, Schema, Table, load_catalog, shop};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use tempfile::TempDir;
use view::{check, describe, records, rows, rows_at, same, text};

// --- the engines ---

/// The Python that has them, or what to do.
static PYTHON: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let requirements = scripts().join("requirements.txt");
    let advice = "these tests need other engines: make a virtual environment outside the repository, \
                  `pip install -r tests/engines/requirements.txt` in it, and set KIOSKO_PYTHON to \
                  its python";
    let python = std::env::var_os("KIOSKO_PYTHON")
        .ok_or_else(|| format!("KIOSKO_PYTHON is not set; {advice}"))?;
    let python = std::path::absolute(python).map_err(|e| e.to_string())?;
    // The very versions: what another one does is another test.
    let program = "import importlib.metadata as m, re, sys
for line in open(sys.argv[1]):
    found = re.match(r'([\\w-]+)(\\[.*\\])?==(\\S+)', line)
    if found and m.version(found[1]) != found[3]:
        sys.exit(f'{found[1]} is {m.version(found[1])}, not {found[3]}')";
    let output = Command::new(&python).args(["-c", program]).arg(requirements).output();
    let output = output.map_err(|e| format!("{}: {e}; {advice}", python.display()))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}; {advice}", python.display(), why.trim()));
    }
    Ok(python)
});

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engines")
}

/// Runs a script of `tests/engines`, and reads the document that it prints.
#[track_caller]
fn python(script: &str, arguments: &[&str]) -> Json {
    let python = PYTHON.as_ref().unwrap_or_else(|advice| panic!("{advice}"));
    let output = Command::new(python)
        .arg("-B")
        .arg(scripts().join(script))
        .args(arguments)
        .env("PYICEBERG_HOME", "/nonexistent")
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script} {arguments:?}: {err}");
    serde_json::from_slice(&output.stdout).unwrap()
}

// --- the scene ---

/// A folder with a catalog in it.
struct World {
    dir: TempDir,
    catalog: Catalog,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let catalog = open(dir.path(), "kiosko");
        catalog.create_namespace("kiosko").unwrap();
        World { dir, catalog }
    }

    fn create(&self, name: &str, schema: Schema) -> Table {
        self.catalog.create_table(name, schema).unwrap()
    }

    fn load(&self, name: &str) -> Table {
        open(self.dir.path(), "kiosko").load_table(name).unwrap()
    }

    fn python(&self, script: &str, name: &str, more: &[&str]) -> Json {
        let catalog = self.dir.path().join("kiosko_catalog.db");
        let warehouse = format!("file://{}/kiosko_warehouse", self.dir.path().display());
        let words = [&[catalog.to_str().unwrap(), "kiosko", &warehouse, name], more].concat();
        python(script, &words)
    }

    /// Both see the same table; nothing in it is broken.
    #[track_caller]
    fn agree(&self, name: &str) {
        self.agree_with(name, &self.python("read_table.py", name, &[]));
    }

    #[track_caller]
    fn agree_with(&self, name: &str, theirs: &Json) {
        let table = self.load(name);
        compare(&table, theirs);
    }

    /// PyIceberg writes the rows of a CSV, and sees the table afterwards as it is seen here.
    #[track_caller]
    fn pyiceberg(&self, name: &str, verb: &str, csv: &str) {
        let file = self.dir.path().join("rows.csv");
        std::fs::write(&file, csv).unwrap();
        let theirs = self.python("write_table.py", name, &[verb, file.to_str().unwrap()]);
        self.agree_with(name, &theirs);
    }
}

fn open(dir: &Path, name: &str) -> Catalog {
    let uri = format!("sqlite:///{}/kiosko_catalog.db", dir.display());
    let warehouse = format!("file://{}/kiosko_warehouse", dir.display());
    load_catalog(name, &[("type", "sql"), ("uri", &uri), ("warehouse", &warehouse)]).unwrap()
}

#[track_caller]
fn compare(table: &Table, theirs: &Json) {
    let mut theirs = theirs.clone();
    let theirs = theirs.as_object_mut().unwrap();
    let inspected = theirs.remove("inspect").unwrap();
    same(&describe(table), &Json::Object(theirs.clone()), "table");
    same_inspected(table, &inspected);
    same_manifests(table, &inspected);
    check(table);
}

/// The metadata tables of both: each column of ours is one of theirs, and says the same.
#[track_caller]
fn same_inspected(table: &Table, theirs: &Json) {
    let inspect = table.inspect();
    for (what, ours) in [
        ("snapshots", inspect.snapshots().unwrap()),
        ("history", inspect.history().unwrap()),
        ("files", inspect.files().unwrap()),
        ("all_data_files", inspect.all_data_files().unwrap()),
    ] {
        let Some(theirs) = theirs[what].as_array() else { continue };
        let ours = records(&ours).into_iter().map(|mut row| {
            for key in ["snapshot_id", "parent_id"] {
                if let Some(id) = row.get_mut(key).filter(|id| !id.is_null()) {
                    *id = json!(id.to_string());
                }
            }
            row
        });
        let (ours, theirs) =
            (by_path(ours), by_path(theirs.iter().map(|r| r.as_object().unwrap().clone())));
        assert_eq!(ours.len(), theirs.len(), "{what}");
        for (number, (ours, mut theirs)) in ours.into_iter().zip(theirs).enumerate() {
            theirs.retain(|key, _| ours.contains_key(key));
            same(&Json::Object(ours), &Json::Object(theirs), &format!("{what}[{number}]"));
        }
    }
}

/// The manifests of the current snapshot and their entries, deleted ones included.
#[track_caller]
fn same_manifests(table: &Table, theirs: &Json) {
    let Some(snapshot) = table.current_snapshot() else { return };
    let store = table.warehouse().store.as_ref();
    let (mut manifests, mut entries) = (BTreeSet::new(), BTreeSet::new());
    for manifest in ops::load::manifests(store, snapshot).unwrap() {
        let counts = &manifest.counts;
        let row = json!([
            manifest.manifest_path.as_str(),
            manifest.manifest_length,
            manifest.added_snapshot_id.to_string(),
            [counts.added_files, counts.existing_files, counts.deleted_files],
        ]);
        manifests.insert(text(&row));
        for entry in ops::load::entries(store, &manifest).unwrap() {
            let row = json!([
                entry.data_file.file_path.as_str(),
                entry.status as i32,
                entry.snapshot_id.to_string(),
                [entry.sequence_number, entry.file_sequence_number],
            ]);
            entries.insert(text(&row));
        }
    }
    let rows = |what: &str, row: fn(&Json) -> Json| -> Option<BTreeSet<String>> {
        Some(theirs[what].as_array()?.iter().map(|r| text(&row(r))).collect())
    };
    let theirs = rows("manifests", |row| {
        let counts = ["added", "existing", "deleted"];
        let counts = counts.map(|kind| row[format!("{kind}_data_files_count")].clone());
        json!([row["path"], row["length"], row["added_snapshot_id"], counts])
    });
    assert_eq!(Some(manifests), theirs);
    let of_entry = |row: &Json| {
        let numbers = [&row["sequence_number"], &row["file_sequence_number"]];
        json!([row["data_file"]["file_path"], row["status"], row["snapshot_id"], numbers])
    };
    if let Some(theirs) = rows("entries", of_entry) {
        assert_eq!(entries, theirs);
    }
}

/// Rows about files in the order of their paths; others stay as they are.
fn by_path(rows: impl Iterator<Item = Map<String, Json>>) -> Vec<Map<String, Json>> {
    let mut rows: Vec<_> = rows.collect();
    rows.sort_by_key(|row| row.get("file_path").map(Json::to_string));
    rows
}

const V1: &str = shop::DIM_PRODUCT_V1;
const V2: &str = shop::DIM_PRODUCT_V2;

fn products(csv: &str) -> RecordBatch {
    shop::products(csv).unwrap()
}

fn ids(table: &Table) -> Vec<i64> {
    table.history().iter().map(|entry| entry.snapshot_id).collect()
}

// --- 1: they read what is written here ---

#[test]
fn pyiceberg_follows_every_step_of_the_closing_project() {
    let world = World::new();
    let name = "kiosko.dim_product";
    let mut table = world.create(name, shop::dim_product_schema());
    world.agree(name);
    table.append(&products(V1)).unwrap();
    world.agree(name);
    for _ in 0..6 {
        table.overwrite(&products(V2)).unwrap();
    }
    world.agree(name);
    let [v1, forgotten @ .., now] = &ids(&table)[..] else { panic!("thirteen snapshots") };
    assert_eq!(forgotten.len(), 11);
    table.maintenance().expire_snapshots().by_ids(forgotten.to_vec()).commit().unwrap();
    world.agree(name);
    assert_eq!(
        table.maintenance().remove_orphan_files(0).unwrap().iter().filter(|o| !o.metadata).count(),
        5
    );
    world.agree(name);
    assert_eq!((rows_at(&table, *v1).len(), rows_at(&table, *now).len()), (4, 4));

    let name = "kiosko.fact_orders";
    let mut table = world.create(name, shop::fact_orders_schema());
    for day in shop::orders_by_day(shop::RAW_ORDERS).unwrap() {
        table.append(&day).unwrap();
    }
    world.agree(name);
    table.maintenance().rewrite_data_files().unwrap();
    world.agree(name);
    let last = *ids(&table).last().unwrap();
    let forgotten: Vec<_> = ids(&table).into_iter().filter(|id| *id != last).collect();
    table.maintenance().expire_snapshots().by_ids(forgotten).commit().unwrap();
    table.maintenance().remove_orphan_files(0).unwrap();
    world.agree(name);
    assert_eq!(std::fs::read_dir(path(&table).join("data")).unwrap().count(), 1);
}

fn path(table: &Table) -> PathBuf {
    PathBuf::from(table.metadata().location.normal())
}

#[test]
fn pyiceberg_and_duckdb_read_what_the_project_leaves() {
    let dir = tempfile::tempdir().unwrap();
    project::run(&project::Options::guide(dir.path()), &mut Vec::new()).unwrap();
    let world = World { catalog: open(dir.path(), "kiosko"), dir };
    for name in [project::DIM_PRODUCT, project::FACT_ORDERS] {
        world.agree(name);
        let table = world.load(name);
        let theirs = python("duck_scan.py", &[table.table().metadata_location.as_str()]);
        same(&json!(rows(&table)), &theirs["rows"], name);
    }
    assert_eq!(rows(&world.load(project::FACT_ORDERS)).len(), 40);
}

#[test]
fn a_table_without_rows_is_a_table() {
    let world = World::new();
    let name = "kiosko.empty";
    let mut table = world.create(name, shop::dim_product_schema());
    let none = products(V1).slice(0, 0);
    table.append(&none).unwrap();
    world.agree(name);
    table.append(&products(V1)).unwrap();
    table.overwrite(&none).unwrap();
    world.agree(name);
    assert_eq!(ids(&table).len(), 4);
    let theirs = python("duck_scan.py", &[table.table().metadata_location.as_str()]);
    assert_eq!(theirs["rows"], json!([]));
    world.pyiceberg(name, "append", V2);
    assert_eq!(rows(&world.load(name)).len(), 4);
}

// --- 2: in turns ---

#[test]
fn two_engines_work_on_one_table_in_turns() {
    let world = World::new();
    let name = "kiosko.dim_product";
    world.create(name, shop::dim_product_schema()).append(&products(V1)).unwrap();
    world.pyiceberg(name, "append", V2);
    assert_eq!(rows(&world.load(name)).len(), 8);
    for round in 0..3 {
        world.load(name).overwrite(&products(V1)).unwrap();
        world.agree(name);
        world.pyiceberg(name, "overwrite", V2);
        assert_eq!(rows(&world.load(name)).len(), 4);

        // Small files by both; compacted here, and used there.
        for _ in 0..3 {
            world.load(name).append(&products(V1)).unwrap();
            world.pyiceberg(name, "append", V2);
        }
        let mut table = world.load(name);
        let before = (rows(&table), *ids(&table).last().unwrap());
        assert_eq!(before.0.len(), 4 * 7);
        let plan = table.maintenance().rewrite_data_files().unwrap();
        assert_eq!(plan.bins.iter().map(Vec::len).sum::<usize>(), 7);
        assert_eq!(table.inspect().files().unwrap().num_rows(), 1);
        world.agree(name);
        assert_eq!((rows(&table), rows_at(&table, before.1)), (before.0.clone(), before.0));
        world.pyiceberg(name, "append", V1);
        assert_eq!(rows(&world.load(name)).len(), 4 * 8);

        // Half of the past is forgotten, and its files go.
        let mut table = world.load(name);
        let all = ids(&table);
        let forgotten: Vec<_> = all[..all.len() - 1].iter().copied().step_by(2).collect();
        table.maintenance().expire_snapshots().by_ids(forgotten).commit().unwrap();
        world.agree(name);
        let removed = table.maintenance().remove_orphan_files(0).unwrap();
        assert!(!removed.is_empty(), "round {round}");
        world.agree(name);
        world.pyiceberg(name, "overwrite", V1);
    }
}

/// Says that somebody is done, even if he panicked.
struct OnDrop<'a>(&'a AtomicBool);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn two_engines_write_at_once_and_no_commit_is_lost() {
    const TIMES: usize = 12;
    let world = World::new();
    let name = "kiosko.dim_product";
    world.create(name, shop::dim_product_schema());
    let csv = world.dir.path().join("rows.csv");
    std::fs::write(&csv, V2).unwrap();
    let done = AtomicBool::new(false);
    let until_they_are_done = || -> usize {
        let mut won = 0;
        while !done.load(Ordering::Relaxed) && won < 5 * TIMES {
            // A conflict means that none of it is in the table: ask again, as told.
            match world.load(name).append(&products(V1)) {
                Ok(()) => won += 1,
                Err(e) => {
                    assert!(e.exit_code() == 3 && !e.to_string().contains("nobody"), "{e}")
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(200));
        }
        won
    };
    let ours = std::thread::scope(|scope| {
        let theirs = scope.spawn(|| {
            let _done = OnDrop(&done);
            let words = [csv.to_str().unwrap(), &TIMES.to_string()];
            world.python("append_often.py", name, &words)
        });
        let two = [scope.spawn(until_they_are_done), scope.spawn(until_they_are_done)];
        let ours: usize = two.map(|thread| thread.join().unwrap()).into_iter().sum();
        assert_eq!(theirs.join().unwrap()["appended"], TIMES);
        ours
    });
    let table = world.load(name);
    let all = rows(&table);
    let theirs = all.iter().filter(|row| row["unit_cost"] == 0.68).count();
    assert_eq!((ids(&table).len(), all.len(), theirs), (ours + TIMES, 4 * (ours + TIMES), TIMES));
    check(&table);

    // It was a race: our file has another size than theirs, and the two kinds take turns.
    let sizes = table.metadata().snapshots.iter();
    let mut turns: Vec<_> = sizes.map(|s| s.summary.count("added-files-size")).collect();
    turns.dedup();
    assert!(turns.len() >= 4, "{} turns, {ours} of ours", turns.len());
}

// --- 3: a table that PyIceberg left half-way ---

/// A folder in the root of the disk, which is removed at the end, come what may.
struct AtHome {
    folder: PathBuf,
    made: Option<PathBuf>,
}

impl AtHome {
    /// Puts the fixture where its metadata says it is.
    fn of(name: &str) -> AtHome {
        let warehouse = Path::new("/warehouse");
        let folder = warehouse.join(format!("kiosko-{name}"));
        let advice = "PyIceberg reads the fixture only where its absolute paths lead, so this test \
                      copies it there and removes it afterwards";
        assert!(!folder.exists(), "{} exists and is not ours; {advice}", folder.display());
        let made = (!warehouse.exists()).then(|| warehouse.to_path_buf());
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|e| panic!("{} cannot be made: {e}; {advice}", folder.display()));
        let home = AtHome { folder, made };
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&fixture.join("../fixtures/pyiceberg-0.12.0").join(name), &home.folder);
        home
    }
}

impl Drop for AtHome {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
        // Only if nobody has put anything else into it.
        self.made.as_ref().map(std::fs::remove_dir);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match from.is_dir() {
            true => copy(&from, &to),
            false => drop(std::fs::copy(from, to).unwrap()),
        }
    }
}

#[test]
fn a_table_that_pyiceberg_left_is_finished_here_and_read_there() {
    let home = AtHome::of("before-expiry");
    let dir = home.folder.clone();
    let expected = std::fs::read(dir.join("expected.json")).unwrap();
    let expected: Json = serde_json::from_slice(&expected).unwrap();
    let catalog = open(&dir, "kiosko");
    let read = |name: &str| {
        let file = dir.join("kiosko_catalog.db");
        let warehouse = format!("file://{}/kiosko_warehouse", dir.display());
        let theirs = python("read_table.py", &[file.to_str().unwrap(), "kiosko", &warehouse, name]);
        compare(&catalog.load_table(name).unwrap(), &theirs);
        theirs
    };

    let name = "kiosko.dim_product";
    let rows_were = &expected["tables"][name]["rows_at"];
    same(&read(name)["rows_at"], rows_were, "before");
    let mut table = catalog.load_table(name).unwrap();
    let [v1, forgotten @ .., now] = &ids(&table)[..] else { panic!("thirteen snapshots") };
    assert_eq!(forgotten.len(), 11);
    table.maintenance().expire_snapshots().by_ids(forgotten.to_vec()).commit().unwrap();
    let after = |theirs: Json| {
        let rows_at = theirs["rows_at"].as_object().unwrap();
        assert_eq!(rows_at.len(), 2);
        for id in [v1, now] {
            let id = id.to_string();
            same(&rows_at[&id], &rows_were[&id], &id);
        }
    };
    after(read(name));
    let removed = table.maintenance().remove_orphan_files(0).unwrap();
    let data: Vec<_> = removed.iter().filter(|orphan| !orphan.metadata).collect();
    assert_eq!((data.len(), data.iter().map(|o| o.size).sum::<u64>()), (5, 9185));
    after(read(name));

    let name = "kiosko.fact_orders_daily_batches";
    let rows_were = &expected["tables"][name]["rows_at"];
    let mut table = catalog.load_table(name).unwrap();
    table.maintenance().rewrite_data_files().unwrap();
    let theirs = read(name);
    for (id, rows) in rows_were.as_object().unwrap() {
        same(&theirs["rows_at"][id], rows, id);
    }
    same(&theirs["rows"], &expected["tables"][name]["rows"], "now");
    assert_eq!(theirs["live_data_files"].as_array().unwrap().len(), 1);
}

// --- 4: every type ---

/// A column of each type that is written here, and rows with the values that go wrong first.
fn every_type(uuid: bool) -> (Schema, RecordBatch) {
    const NINES: i128 = 99_999_999_999_999_999_999_999_999_999_999_999_999;
    let decimal = |values: [i128; 3], precision, scale| -> ArrayRef {
        let [a, b, c] = values.map(Some);
        let values = Decimal128Array::from(vec![a, None, b, c, None]);
        Arc::new(values.with_precision_and_scale(precision, scale).unwrap())
    };
    // 0001-01-01 and 9999-12-31, in days and in microseconds.
    let (first, last) = (-719_162, 2_932_896);
    let times =
        vec![Some(first * 86_400_000_000), None, Some(-1), Some(253_402_300_799_999_999), None];
    let fixed = |width: usize| -> ArrayRef {
        let rows = [Some(0x00), None, Some(0x7f), Some(0xff), None];
        let rows = rows.map(|byte| byte.map(|byte: u8| vec![byte; width]));
        let width = i32::try_from(width).unwrap();
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(rows.into_iter(), width).unwrap(),
        )
    };
    let (long, wide) = ("x".repeat(40), "日".repeat(17));
    let text = [Some(""), None, Some(&*long), Some(&*wide), None];
    let bytes = [Some(&b""[..]), None, Some(&[0xff; 20]), Some(b"\x00\x01"), None];
    use Primitive::*;
    let dec = |precision, scale| Decimal { precision, scale };
    let mut columns: Vec<(&str, Primitive, ArrayRef)> = vec![
        ("id", Int, Arc::new(Int32Array::from(vec![1, 2, 3, 4, 5]))),
        (
            "bo",
            Boolean,
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), None, None])),
        ),
        (
            "i",
            Int,
            Arc::new(Int32Array::from(vec![Some(i32::MIN), None, Some(0), Some(i32::MAX), None])),
        ),
        (
            "l",
            Long,
            Arc::new(Int64Array::from(vec![Some(i64::MIN), None, Some(-1), Some(i64::MAX), None])),
        ),
        (
            "f",
            Float,
            Arc::new(Float32Array::from(vec![Some(-0.0), None, Some(f32::NAN), Some(1.1), None])),
        ),
        (
            "g",
            Float,
            Arc::new(Float32Array::from(vec![
                Some(f32::MAX),
                None,
                Some(f32::INFINITY),
                Some(1e-45),
                None,
            ])),
        ),
        (
            "d",
            Double,
            Arc::new(Float64Array::from(vec![Some(-0.0), None, Some(f64::NAN), Some(0.1), None])),
        ),
        (
            "e",
            Double,
            Arc::new(Float64Array::from(vec![
                Some(0.0),
                None,
                Some(f64::NEG_INFINITY),
                Some(1e300),
                None,
            ])),
        ),
        (
            "nan",
            Double,
            Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(f64::NAN), None, None])),
        ),
        ("dec9", dec(9, 2), decimal([-999_999_999, 1, 999_999_999], 9, 2)),
        ("dec18", dec(18, 6), decimal([-1, 0, 999_999_999_999_999_999], 18, 6)),
        ("dec38", dec(38, 10), decimal([-NINES, 256, NINES], 38, 10)),
        (
            "dt",
            Date,
            Arc::new(Date32Array::from(vec![Some(first as i32), None, Some(-1), Some(last), None])),
        ),
        (
            "tm",
            Time,
            Arc::new(Time64MicrosecondArray::from(vec![
                Some(0),
                None,
                Some(1),
                Some(86_399_999_999),
                None,
            ])),
        ),
        ("ts", Timestamp, Arc::new(TimestampMicrosecondArray::from(times.clone()))),
        ("tz", Timestamptz, Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"))),
        ("s", String, Arc::new(StringArray::from(text.to_vec()))),
        ("b", Binary, Arc::new(BinaryArray::from(bytes.to_vec()))),
        ("fx", Fixed(20), fixed(20)),
        ("none", String, Arc::new(StringArray::from(vec![None::<&str>; 5]))),
    ];
    if uuid {
        columns.push(("u", Uuid, fixed(16)));
    }
    let fields =
        columns.iter().zip(1..).map(|((name, kind, _), id)| Field::optional(id, name, *kind));
    let fields = fields.collect();
    let batch = columns.into_iter().map(|(name, _, column)| (name, column, true));
    (Schema::new(fields), RecordBatch::try_from_iter_with_nullable(batch).unwrap())
}

#[test]
fn every_type_is_read_there_as_it_was_written_here() {
    let world = World::new();
    for (name, uuid) in [("kiosko.types", false), ("kiosko.types_uuid", true)] {
        let (schema, batch) = every_type(uuid);
        let given = kiosko::rows::to_json(&batch).unwrap();
        let mut table = world.create(name, schema);
        table.append(&batch).unwrap();
        let ours = rows(&world.load(name));
        for (ours, given) in ours.iter().zip(&given) {
            for (column, value) in given.iter().filter(|(column, _)| *column != "u") {
                same(&ours[column], value, column);
            }
        }
        world.agree(name);
        let theirs = python("duck_scan.py", &[table.table().metadata_location.as_str()]);
        same(&json!(ours), &theirs["rows"], "DuckDB");

        // Again, of several files and after a compaction.
        for _ in 0..4 {
            table.append(&batch).unwrap();
        }
        table.maintenance().rewrite_data_files().unwrap();
        assert_eq!(table.inspect().files().unwrap().num_rows(), 1);
        world.agree(name);
        let theirs = python("duck_scan.py", &[table.table().metadata_location.as_str()]);
        same(&json!(rows(&table)), &theirs["rows"], "DuckDB, compacted");
    }
}

#[test]
fn counts_and_bounds_are_those_that_pyiceberg_writes() {
    let world = World::new();
    let (schema, batch) = every_type(true);
    world.create("kiosko.ours", schema).append(&batch).unwrap();
    let theirs = world.python("copy_table.py", "kiosko.ours", &["kiosko.theirs"]);
    world.agree_with("kiosko.theirs", &theirs);
    let (ours, theirs) = (world.load("kiosko.ours"), world.load("kiosko.theirs"));
    same(&json!(rows(&ours)), &json!(rows(&theirs)), "rows");

    let file = |table: &Table| records(&table.inspect().files().unwrap()).remove(0);
    let (ours, theirs) = (file(&ours), file(&theirs));
    for key in ["content", "file_format", "spec_id", "record_count", "sort_order_id"] {
        same(&ours[key], &theirs[key], key);
    }
    // In the Parquet files too, each column is stored alike and means the same.
    let stored = |file: &Map<String, Json>| {
        python("parquet_columns.py", &[&file["file_path"].as_str().unwrap()["file://".len()..]])
    };
    same(&stored(&ours), &stored(&theirs), "Parquet");

    let columns = batch.schema();
    for key in ["value_counts", "null_value_counts", "lower_bounds", "upper_bounds"] {
        for (number, column) in columns.fields().iter().enumerate() {
            let of = |file: &Map<String, Json>| -> Json {
                let pairs = file[key].as_array().unwrap();
                let pair = pairs.iter().find(|pair| pair[0] == number + 1);
                pair.map_or(Json::Null, |pair| pair[1].clone())
            };
            same(&of(&ours), &of(&theirs), &format!("{key} of {}", column.name()));
        }
    }
    // PyIceberg counts no NaNs; they are counted here.
    assert_eq!(ours["nan_value_counts"], json!([[5, 1], [6, 0], [7, 1], [8, 0], [9, 2]]));
    assert_eq!(theirs["nan_value_counts"], json!([]));
}

// --- 5: catalogs that others made ---

#[test]
fn catalogs_of_both_schemas_and_several_names_are_shared() {
    for version in ["v0", "v1"] {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kiosko_catalog.db");
        let file = file.to_str().unwrap();
        let warehouse = format!("file://{}/kiosko_warehouse", dir.path().display());
        let made = python("make_catalogs.py", &[file, &warehouse, version]);

        let read = |name: &str, table: &str| {
            let theirs = python("read_table.py", &[file, name, &warehouse, table]);
            compare(&open(dir.path(), name).load_table(table).unwrap(), &theirs);
        };
        for (name, rows_made) in [("kiosko", 6), ("other", 5)] {
            let catalog = open(dir.path(), name);
            let table = catalog.load_table("shop.products").unwrap();
            assert_eq!(table.table().metadata_location.as_str(), made[name].as_str().unwrap());
            assert_eq!(rows(&table).len(), rows_made, "{version} {name}");
            read(name, "shop.products");

            // A table of ours beside theirs; theirs written to.
            let mut own = catalog.create_table("shop.own", shop::dim_product_schema()).unwrap();
            own.append(&products(V1)).unwrap();
            let more: [(&str, ArrayRef); 2] = [
                ("id", Arc::new(Int64Array::from(vec![99]))),
                ("letter", Arc::new(StringArray::from(vec!["z"]))),
            ];
            let mut table = catalog.load_table("shop.products").unwrap();
            table.append(&RecordBatch::try_from_iter(more).unwrap()).unwrap();
            read(name, "shop.own");
            read(name, "shop.products");
            assert_eq!(rows(&catalog.load_table("shop.products").unwrap()).len(), rows_made + 1);
        }
        let path = Path::new(file);
        assert_eq!(catalog::Sqlite::names(path).unwrap(), ["kiosko", "other"]);
        let tables = |name: &str| {
            let warehouse = kiosko::open::open_catalog(path, Some(name), None, &[]).unwrap();
            let namespace = "shop".parse().unwrap();
            let tables = warehouse.catalog.list_tables(&namespace).unwrap();
            tables.into_iter().map(|ident| ident.name).collect::<BTreeSet<_>>()
        };
        let both: BTreeSet<_> = ["own", "products"].map(str::to_string).into();
        assert_eq!((tables("kiosko"), tables("other")), (both.clone(), both));
    }
}
