//! The binary, as a person or a program meets it: words, answers, exit codes, and worlds in which
//! something is broken.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may stop where it fails"
)]

mod common;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray,
    Float32Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use common::{ending, files};
use kiosko::{Field, Primitive, Schema, Table, shop};
use serde_json::{Value as Json, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// What the binary answered.
#[derive(Debug)]
struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Answer {
    #[track_caller]
    fn done(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{}", self.out);
        self.out
    }

    /// An ending with this code, whose message holds these words.
    #[track_caller]
    fn failed(self, code: i32, words: &[&str]) -> Answer {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "{word:?} in {self:?}");
        }
        self
    }

    fn json(self) -> Json {
        serde_json::from_str(&self.done()).unwrap()
    }
}

/// Runs the binary in `dir`. Whatever happens, it does not panic.
#[track_caller]
fn kiosko(dir: &Path, words: &[&str]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_kiosko"))
        .args(words)
        .current_dir(dir)
        .env("RUST_BACKTRACE", "1")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(!err.contains("panicked"), "{words:?}: {err}");
    Answer { code: output.status.code().unwrap(), out, err }
}

/// `kiosko.dim_product` with 5 snapshots and `kiosko.orders` with 7 small files.
struct World {
    dir: TempDir,
}

impl World {
    fn new() -> World {
        let dir = tempfile::tempdir().unwrap();
        let catalog = common::catalog(dir.path());
        catalog.create_namespace("kiosko").unwrap();
        let mut products =
            catalog.create_table("kiosko.dim_product", shop::dim_product_schema()).unwrap();
        products.append(&shop::products(shop::DIM_PRODUCT_V1).unwrap()).unwrap();
        for _ in 0..2 {
            products.overwrite(&shop::products(shop::DIM_PRODUCT_V2).unwrap()).unwrap();
        }
        let mut orders = catalog.create_table("kiosko.orders", shop::fact_orders_schema()).unwrap();
        for day in shop::orders_by_day(shop::RAW_ORDERS).unwrap() {
            orders.append(&day).unwrap();
        }
        World { dir }
    }

    fn dir(&self) -> &Path {
        self.dir.path()
    }

    fn table(&self, name: &str) -> Table {
        common::catalog(self.dir()).load_table(name).unwrap()
    }

    fn ids(&self, name: &str) -> Vec<i64> {
        self.table(name).history().iter().map(|entry| entry.snapshot_id).collect()
    }

    fn folder(&self, table: &str) -> PathBuf {
        self.dir().join("kiosko_warehouse/kiosko").join(table)
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Answer {
        kiosko(self.dir(), words)
    }

    /// Runs the binary, which must leave every byte of the folder as it is, the catalog's included.
    #[track_caller]
    fn look(&self, words: &[&str]) -> Answer {
        let before = files(self.dir());
        let answer = self.run(words);
        self.unchanged(&before, words);
        answer
    }

    #[track_caller]
    fn unchanged(&self, before: &std::collections::BTreeMap<PathBuf, Vec<u8>>, words: &[&str]) {
        let after = files(self.dir());
        let (was, is): (BTreeSet<_>, BTreeSet<_>) =
            (before.keys().collect(), after.keys().collect());
        let made_or_took: Vec<_> = was.symmetric_difference(&is).collect();
        assert!(made_or_took.is_empty(), "{words:?} made or took {made_or_took:?}");
        for (path, bytes) in before {
            assert!(after[path] == *bytes, "{words:?} changed {}", path.display());
        }
    }
}

// --- words ---

const COMMANDS: [&[&str]; 10] = [
    &["project", "maintained-table"],
    &["tables"],
    &["tree"],
    &["scan"],
    &["inspect"],
    &["check"],
    &["expire"],
    &["orphans"],
    &["compact"],
    &[],
];

#[test]
fn every_command_explains_itself_with_an_example_that_is_right() {
    let world = World::new();
    let project = world.dir().join("p");
    let general = world.look(&["--help"]).done();
    for words in COMMANDS {
        let help = world.look(&[words, &["--help"]].concat()).done();
        assert!(help.contains("Usage: kiosko"), "{help}");
        let Some((name, _)) = words.split_first() else { continue };
        assert!(general.contains(&format!("\n  {name} ")), "{name} in {general}");
        let example = help.split_once("Example: kiosko ").expect("an example").1;
        let example = example.lines().next().unwrap().replace("/tmp/k", project.to_str().unwrap());
        let example = example.replace("fact_orders", "orders");
        let answer = world.run(&example.split_whitespace().collect::<Vec<_>>());
        assert_ne!(answer.code, 2, "the example `{example}`: {answer:?}");
    }
    assert!(project.join("kiosko_catalog.db").exists(), "the project's example ran");
}

#[test]
fn wrong_usage_ends_with_two() {
    let world = World::new();
    for words in [
        &[][..],
        &["frobnicate"],
        &["tree"],
        &["scan", "kiosko.orders", "--format", "yaml"],
        &["scan", "kiosko.orders", "--snapshot", "newest"],
        &["scan", "kiosko.orders", "--limit", "-1"],
        &["inspect", "kiosko.orders", "secrets"],
        &["expire", "kiosko.orders"],
        &["expire", "kiosko.orders", "--ids", "1", "--keep", "2"],
        &["expire", "kiosko.orders", "--keep", ""],
        &["orphans", "kiosko.orders", "--older-than", "soon"],
        &["orphans", "kiosko.orders", "--delete", "--dry-run"],
        &["project", "maintained-table", "--nights", "0"],
        &["project", "maintained-table", "--expect-guide", "--no-expect-guide"],
        &["tables", "--mount", "nowhere"],
    ] {
        let answer = world.look(words);
        assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{words:?}: {answer:?}");
        assert!(answer.err.contains("Usage") || answer.err.contains("--help"), "{answer:?}");
    }
}

#[test]
fn conflicts_and_unknown_outcomes_end_with_three() {
    let conflict = ops::Error::Conflict {
        operation: "overwrite",
        rule: "C2",
        why: "rows".into(),
        ours: "1".into(),
        theirs: "2".into(),
    };
    let unknown = ops::Error::Unknown { table: "kiosko.t".into(), why: "silence".into() };
    for error in [conflict, unknown] {
        assert_eq!(kiosko::Error::from(error).exit_code(), 3);
    }
    assert_eq!(kiosko::Error::from(ops::Error::invalid("a", "b")).exit_code(), 1);
    assert_eq!(kiosko::Error::Faults(1).exit_code(), 4);
}

// --- looking ---

#[test]
fn the_catalog_is_found_here_or_named() {
    let world = World::new();
    let want = json!([
        {"namespace": "kiosko", "table": "dim_product"},
        {"namespace": "kiosko", "table": "orders"}]);
    let file = world.dir().join("kiosko_catalog.db");
    let file = file.to_str().unwrap();
    let uri = format!("sqlite:///{file}");
    for words in [
        &["tables", "--format", "json"][..],
        &["--catalog", "kiosko_catalog.db", "tables", "--format", "json"],
        &["tables", "--format", "json", "--catalog", "sqlite:///kiosko_catalog.db"],
        &["--catalog", &uri, "tables", "--format", "json"],
        &[&uri, "tables", "--format", "json"],
        &["--catalog", file, "--catalog-name", "kiosko", "tables", "--format", "json"],
    ] {
        assert_eq!(world.look(words).json(), want, "{words:?}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let answer = kiosko(elsewhere.path(), &["tables"]);
    answer.failed(1, &["kiosko_catalog.db", "--catalog", "project maintained-table"]);
    assert_eq!(files(elsewhere.path()).len(), 0, "looking for a catalog makes none");
    assert_eq!(kiosko(elsewhere.path(), &[&uri, "tables", "--format", "json"]).json(), want);
}

#[test]
fn rows_come_in_four_forms() {
    let world = World::new();
    let scan = |form: &str| {
        let words = ["scan", "kiosko.dim_product", "--select", "product_id,unit_cost"];
        world.look(&[&words[..], &["--format", form]].concat()).done()
    };
    let csv = "product_id,unit_cost\nP001,0.4\nP002,0.68\nP003,0.35\nP004,2.1\n";
    assert_eq!(scan("csv"), csv);
    let lines = [
        r#"{"product_id":"P001","unit_cost":0.4}"#,
        r#"{"product_id":"P002","unit_cost":0.68}"#,
        r#"{"product_id":"P003","unit_cost":0.35}"#,
        r#"{"product_id":"P004","unit_cost":2.1}"#,
    ];
    assert_eq!(scan("jsonl"), lines.join("\n") + "\n");
    assert_eq!(scan("json"), format!("[{}]\n", lines.join(",")));
    let table = scan("table");
    assert!(table.contains("| P002       | 0.68      |"), "{table}");
    assert!(table.ends_with("4 rows\n"), "{table}");
    assert_eq!(world.look(&["scan", "kiosko.dim_product"]).done().lines().count(), 9);
}

#[test]
fn a_scan_takes_a_snapshot_columns_and_a_limit() {
    let world = World::new();
    let [first, .., last] = world.ids("kiosko.dim_product")[..] else { panic!() };
    let p002 = |id: i64| {
        let words = ["scan", "kiosko.dim_product", "--format", "json", "--snapshot"];
        let rows = world.look(&[&words[..], &[&id.to_string()]].concat()).json();
        rows[1].clone()
    };
    assert_eq!(
        (&p002(first)["category"], &p002(first)["unit_cost"]),
        (&json!("snacks"), &json!(0.6))
    );
    assert_eq!(p002(last)["category"], "health-snacks");

    let limited = |limit: &str| {
        world.look(&["scan", "kiosko.orders", "--format", "json", "--limit", limit]).json()
    };
    let count = |limit| limited(limit).as_array().unwrap().len();
    // Six orders on the first day: 7 needs a second file.
    assert_eq!(["0", "1", "6", "7", "40", "99"].map(count), [0, 1, 6, 7, 40, 40]);

    world
        .look(&["scan", "kiosko.orders", "--snapshot", "42"])
        .failed(1, &["42", &world.ids("kiosko.orders")[0].to_string()]);
    world.look(&["scan", "kiosko.orders", "--select", "prize"]).failed(1, &["prize", "unit_price"]);
}

#[test]
fn json_and_csv_are_canonical() {
    let dir = tempfile::tempdir().unwrap();
    let catalog = common::catalog(dir.path());
    catalog.create_namespace("k").unwrap();
    let types = [
        ("bo", Primitive::Boolean),
        ("i", Primitive::Int),
        ("l", Primitive::Long),
        ("f", Primitive::Float),
        ("d", Primitive::Double),
        ("dec", Primitive::Decimal { precision: 20, scale: 3 }),
        ("dt", Primitive::Date),
        ("tm", Primitive::Time),
        ("ts", Primitive::Timestamp),
        ("tz", Primitive::Timestamptz),
        ("s", Primitive::String),
        ("u", Primitive::Uuid),
        ("fx", Primitive::Fixed(2)),
        ("b", Primitive::Binary),
    ];
    let fields = types.iter().zip(1..).map(|((name, t), id)| Field::optional(id, name, *t));
    let mut table = catalog.create_table("k.types", Schema::new(fields.collect())).unwrap();
    let decimals = Decimal128Array::from(vec![Some(-1_500), Some(5), None]);
    let zoned = TimestampMicrosecondArray::from(vec![Some(1), Some(-1), None]);
    let uuids = [Some([0xf7u8; 16]), Some([0; 16]), None];
    let fixed = [Some([0xab, 0x01u8]), Some([0, 0]), None];
    let columns: [ArrayRef; 14] = [
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        Arc::new(Int32Array::from(vec![Some(7), Some(i32::MIN), None])),
        Arc::new(Int64Array::from(vec![Some(i64::MAX), Some(i64::MIN), None])),
        Arc::new(Float32Array::from(vec![Some(1.1), Some(f32::NAN), None])),
        Arc::new(Float64Array::from(vec![Some(-0.0), Some(f64::NEG_INFINITY), None])),
        Arc::new(decimals.with_precision_and_scale(20, 3).unwrap()),
        Arc::new(Date32Array::from(vec![Some(-1), Some(20_000), None])),
        Arc::new(Time64MicrosecondArray::from(vec![Some(1), Some(86_399_999_999), None])),
        Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(-1), None])),
        Arc::new(zoned.with_timezone("UTC")),
        Arc::new(StringArray::from(vec![Some("a,\"b\"\né"), Some(""), None])),
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(uuids.into_iter(), 16).unwrap(),
        ),
        Arc::new(
            FixedSizeBinaryArray::try_from_sparse_iter_with_size(fixed.into_iter(), 2).unwrap(),
        ),
        Arc::new(BinaryArray::from(vec![Some(&[0u8, 0xff][..]), Some(&[]), None])),
    ];
    let names = types.iter().map(|(name, _)| *name);
    table.append(&RecordBatch::try_from_iter(names.zip(columns)).unwrap()).unwrap();

    let first = concat!(
        r#"{"bo":true,"i":7,"l":9223372036854775807,"f":1.1,"d":-0.0,"dec":"-1.500","#,
        r#""dt":"1969-12-31","tm":"00:00:00.000001","ts":"1970-01-01T00:00:00.000000","#,
        r#""tz":"1970-01-01T00:00:00.000001+00:00","s":"a,\"b\"\né","#,
        r#""u":"f7f7f7f7-f7f7-f7f7-f7f7-f7f7f7f7f7f7","fx":"ab01","b":"00ff"}"#
    );
    let second = concat!(
        r#"{"bo":false,"i":-2147483648,"l":-9223372036854775808,"f":"NaN","d":"-Infinity","#,
        r#""dec":"0.005","dt":"2024-10-04","tm":"23:59:59.999999","#,
        r#""ts":"1969-12-31T23:59:59.999999","tz":"1969-12-31T23:59:59.999999+00:00","s":"","#,
        r#""u":"00000000-0000-0000-0000-000000000000","fx":"0000","b":""}"#
    );
    let nulls: Vec<_> = types.iter().map(|(name, _)| format!("{name:?}:null")).collect();
    let nulls = format!("{{{}}}", nulls.join(","));
    let jsonl = kiosko(dir.path(), &["scan", "k.types", "--format", "jsonl"]).done();
    assert_eq!(jsonl, [first, second, &nulls, ""].join("\n"));
    let words = ["scan", "k.types", "--format", "csv", "--select", "f,dec,s,u,b"];
    let csv = concat!(
        "f,dec,s,u,b\n",
        "1.1,-1.500,\"a,\"\"b\"\"\né\",f7f7f7f7-f7f7-f7f7-f7f7-f7f7f7f7f7f7,00ff\n",
        // CSV has no null: it looks like empty text. Who must tell them apart asks for JSON.
        "NaN,0.005,,00000000-0000-0000-0000-000000000000,\n",
        ",,,,\n",
    );
    assert_eq!(kiosko(dir.path(), &words).done(), csv);
}

#[test]
fn the_metadata_tables_are_printed() {
    let world = World::new();
    let inspect = |table: &str, what: &str| -> Vec<Json> {
        let answer = world.look(&["inspect", table, what, "--format", "json"]).json();
        answer.as_array().unwrap().clone()
    };
    let ids = world.ids("kiosko.dim_product");

    let history = inspect("kiosko.dim_product", "history");
    let found: Vec<_> = history.iter().map(|row| row["snapshot_id"].as_i64().unwrap()).collect();
    assert_eq!(found, ids);
    assert!(history.iter().all(|row| row["is_current_ancestor"] == true));
    assert_eq!(history[0]["parent_id"], Json::Null);
    assert_eq!(history[4]["parent_id"], ids[3]);

    let snapshots = inspect("kiosko.dim_product", "snapshots");
    let operations: Vec<_> = snapshots.iter().map(|row| row["operation"].clone()).collect();
    assert_eq!(operations, ["append", "delete", "append", "delete", "append"]);
    assert!(snapshots[0]["summary"].as_array().unwrap().contains(&json!(["added-records", "4"])));
    assert!(
        Path::new(&snapshots[0]["manifest_list"].as_str().unwrap()["file://".len()..]).exists()
    );

    assert_eq!(inspect("kiosko.dim_product", "files").len(), 1);
    assert_eq!(inspect("kiosko.dim_product", "all_data_files").len(), 3);
    let files = inspect("kiosko.orders", "files");
    assert_eq!(files.len(), 7);
    assert_eq!(files.iter().map(|row| row["record_count"].as_i64().unwrap()).sum::<i64>(), 40);
    for row in &files {
        let path = Path::new(&row["file_path"].as_str().unwrap()["file://".len()..]);
        assert_eq!(row["file_size_in_bytes"], std::fs::metadata(path).unwrap().len());
    }
    for form in ["table", "jsonl", "csv"] {
        for what in ["history", "snapshots", "files", "all_data_files"] {
            let words = ["inspect", "kiosko.orders", what, "--format", form];
            assert!(world.look(&words).done().lines().count() >= 7, "{words:?}");
        }
    }
}

#[test]
fn the_tree_shows_every_file_that_is_needed() {
    let world = World::new();
    let ids = world.ids("kiosko.dim_product");
    let drawing = world.look(&["tree", "kiosko.dim_product"]).done();
    assert!(drawing.starts_with("kiosko.dim_product"), "{drawing}");
    for id in ids {
        assert!(drawing.contains(&id.to_string()), "{id} in {drawing}");
    }
    for path in common::needed(&world.folder("dim_product"), 3) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let old = name.ends_with(".metadata.json") && !name.starts_with("00003");
        assert_eq!(drawing.contains(name), !old, "{name} in {drawing}");
    }
    assert!(!drawing.contains("MISSING"));
    let sound = world.look(&["check", "kiosko.dim_product"]).done();
    assert!(sound.contains("sound, 5 snapshots"), "{sound}");
}

// --- forgetting ---

/// The paths after this word, one a line.
fn listed(out: &str, word: &str) -> BTreeSet<PathBuf> {
    let lines = out.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
    lines.map(|uri| common::path(uri.trim())).collect()
}

#[test]
fn a_dry_expiry_says_what_a_real_one_does() {
    let world = World::new();
    let ids = world.ids("kiosko.dim_product");
    let keep = ids[0].to_string();
    let words = ["expire", "kiosko.dim_product", "--keep", &keep];
    let dry = world.look(&[&words[..], &["--dry-run"]].concat()).done();
    let promised = listed(&dry, "delete");
    assert!(dry.contains("would expire 3 of 5 snapshots"), "{dry}");
    assert!(!promised.is_empty(), "{dry}");

    let before: BTreeSet<_> = files(world.dir()).into_keys().collect();
    let real = world.run(&words).done();
    let after: BTreeSet<_> = files(world.dir()).into_keys().collect();
    assert_eq!(listed(&real, "delete"), promised);
    assert_eq!(before.difference(&after).cloned().collect::<BTreeSet<_>>(), promised);
    let made: Vec<_> = after.difference(&before).collect();
    assert_eq!(made.len(), 1, "one metadata file: {made:?}");

    assert_eq!(world.ids("kiosko.dim_product"), [ids[0], ids[4]]);
    for id in [ids[0], ids[4]] {
        let id = id.to_string();
        let rows =
            world.look(&["scan", "kiosko.dim_product", "--snapshot", &id, "--format", "json"]);
        assert_eq!(rows.json().as_array().unwrap().len(), 4);
    }
    let left = world.look(&["orphans", "kiosko.dim_product", "--older-than", "0"]).done();
    assert_eq!(listed(&left, "").len(), 0, "{left}");
    world.look(&["check", "kiosko.dim_product"]).done();
    let needed = common::needed(&world.folder("dim_product"), 4);
    assert_eq!(files(&world.folder("dim_product")).into_keys().collect::<BTreeSet<_>>(), needed);
}

#[test]
fn expiry_by_ids_forgets_these_and_no_other() {
    let world = World::new();
    let ids = world.ids("kiosko.orders");
    let some = format!("{},{}", ids[1], ids[3]);
    let out = world.run(&["expire", "kiosko.orders", "--ids", &some]).done();
    assert!(out.contains("expired 2 of 7 snapshots"), "{out}");
    assert_eq!(world.ids("kiosko.orders"), [ids[0], ids[2], ids[4], ids[5], ids[6]]);
    assert_eq!(ending(&world.folder("orders").join("data"), ".parquet").len(), 7, "all are live");
    world.look(&["check", "kiosko.orders"]).done();

    // What is protected, unknown or forgotten already is refused, and nothing happens.
    for (id, why) in [(ids[6], "main"), (42, "no such snapshot"), (ids[1], "no such snapshot")] {
        let id = id.to_string();
        world.look(&["expire", "kiosko.orders", "--ids", &id]).failed(1, &[&id, why]);
        let both = format!("{},{id}", ids[0]);
        world.look(&["expire", "kiosko.orders", "--ids", &both]).failed(1, &[&id, why]);
    }
    world.look(&["expire", "kiosko.orders", "--keep", "42"]).failed(1, &["42", "no such snapshot"]);
}

#[test]
fn what_expiry_leaves_in_place_is_found_as_orphans() {
    let world = World::new();
    let keep = world.ids("kiosko.dim_product")[0].to_string();
    let before: BTreeSet<_> = files(world.dir()).into_keys().collect();
    let words = ["expire", "kiosko.dim_product", "--keep", &keep, "--no-clean"];
    world.look(&[&words[..], &["--dry-run"]].concat()).done();
    let out = world.run(&words).done();
    assert!(out.contains("no file was deleted"), "{out}");
    let after: BTreeSet<_> = files(world.dir()).into_keys().collect();
    assert!(before.is_subset(&after));

    let orphans = |words: &[&str]| {
        let all = [&["orphans", "kiosko.dim_product"], words].concat();
        world.look(&all).done()
    };
    // Three days by default, and these are young.
    let young = orphans(&[]);
    assert!(young.contains("nothing was deleted") && young.contains("too young"), "{young}");
    assert_eq!(uris(&young).len(), 0, "{young}");
    assert_eq!(orphans(&["--older-than", "1h", "--delete"]).matches("0 files deleted").count(), 1);
    let found = uris(&orphans(&["--older-than", "0"]));
    assert_eq!(uris(&orphans(&["--older-than", "0", "--dry-run"])), found);
    let needed = common::needed(&world.folder("dim_product"), 4);
    let there: BTreeSet<_> = files(&world.folder("dim_product")).into_keys().collect();
    assert_eq!(found, there.difference(&needed).cloned().collect::<BTreeSet<_>>());
    let data = found.iter().filter(|path| path.extension().unwrap() == "parquet").count();
    assert_eq!(data, 1, "of three data files two are tracked");

    let out = world.run(&["orphans", "kiosko.dim_product", "--older-than", "0", "--delete"]).done();
    assert!(out.contains(&format!("{} files deleted", found.len())), "{out}");
    let left: BTreeSet<_> = files(&world.folder("dim_product")).into_keys().collect();
    assert_eq!(left, needed);
    world.look(&["check", "kiosko.dim_product"]).done();
}

/// The locations that begin a line.
fn uris(out: &str) -> BTreeSet<PathBuf> {
    let words = out.lines().filter_map(|line| line.split_whitespace().next());
    let paths = words.map(|word| word.strip_prefix("file://").unwrap_or(word));
    paths.filter(|path| path.starts_with('/')).map(PathBuf::from).collect()
}

#[test]
fn age_tells_an_orphan_from_a_file_not_committed_yet() {
    let world = World::new();
    let data = world.folder("orders").join("data");
    for (name, day) in [("old.parquet", 1), ("older.parquet", 0)] {
        std::fs::write(data.join(name), b"left by a writer that died").unwrap();
        let file = std::fs::File::options().write(true).open(data.join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(86_400 * day)).unwrap();
    }
    std::fs::write(data.join("young.parquet"), b"not committed yet").unwrap();
    let old = [data.join("old.parquet"), data.join("older.parquet")];

    let out = world.look(&["orphans", "kiosko.orders"]).done();
    assert_eq!(uris(&out), old.clone().into());
    assert!(out.contains("2 orphans (52 bytes)"), "{out}");
    world.run(&["orphans", "kiosko.orders", "--delete"]).done();
    assert!(old.iter().all(|path| !path.exists()));
    assert!(data.join("young.parquet").exists());
    assert_eq!(ending(&data, ".parquet").len(), 8);
    world.look(&["check", "kiosko.orders"]).done();
}

#[test]
fn a_table_may_forbid_that_files_are_deleted() {
    // Nothing here sets properties yet, so another engine's file is put in place.
    let world = World::new();
    let folder = world.folder("orders").join("metadata");
    let [newest] = &ending(&folder, ".metadata.json")[7..] else { panic!() };
    let text = std::fs::read_to_string(newest).unwrap();
    let own = text.replace("\"properties\":{}", "\"properties\":{\"gc.enabled\":\"false\"}");
    assert_ne!(text, own);
    std::fs::write(newest, own).unwrap();
    let keep = world.ids("kiosko.orders")[3].to_string();
    let words = ["expire", "kiosko.orders", "--keep", &keep];
    world.look(&[&words[..], &["--dry-run"]].concat()).failed(1, &["gc.enabled"]);
    world.look(&words).failed(1, &["gc.enabled"]);
    world.run(&[&words[..], &["--no-clean"]].concat()).done();
    assert_eq!(world.ids("kiosko.orders").len(), 2);
}

#[test]
fn compaction_plans_then_does() {
    let world = World::new();
    let data = world.folder("orders").join("data");
    let rows = |world: &World| world.look(&["scan", "kiosko.orders", "--format", "json"]).json();
    let before = rows(&world);

    let dry = world.look(&["compact", "kiosko.orders", "--dry-run"]).done();
    assert!(dry.contains("7 files in 1 bins; nothing was done"), "{dry}");
    assert_eq!(dry.matches("bin 1").count(), 7, "{dry}");
    // Not worth it: too few files, or all of them large enough.
    for words in [&["--min-input-files", "8"][..], &["--target-file-size", "100"]] {
        let out = world.look(&[&["compact", "kiosko.orders"], words].concat()).done();
        assert!(out.contains("nothing was done"), "{out}");
        assert_eq!(out.matches("keep ").count(), 7, "{out}");
    }

    let out = world.run(&["compact", "kiosko.orders"]).done();
    assert!(out.contains("7 files became 1"), "{out}");
    assert_eq!(ending(&data, ".parquet").len(), 8);
    assert_eq!(rows(&world), before);
    let ids = world.ids("kiosko.orders");
    assert_eq!(ids.len(), 8);
    let then = ids[6].to_string();
    let then = world.look(&["scan", "kiosko.orders", "--format", "json", "--snapshot", &then]);
    assert_eq!(then.json(), before);
    world.look(&["check", "kiosko.orders"]).done();
    let again = world.look(&["compact", "kiosko.orders"]).done();
    assert!(again.contains("nothing was done"), "{again}");
}

// --- the closing project ---

#[test]
fn the_closing_project_runs_once_per_folder() {
    let dir = tempfile::tempdir().unwrap();
    let out = kiosko(dir.path(), &["project", "maintained-table"]).done();
    assert!(out.contains("13 -> 2 snapshots") && out.contains("Work order"), "{out}");
    // It lies where the other commands look for it.
    let tables = kiosko(dir.path(), &["tables", "--format", "csv"]).done();
    assert_eq!(tables, "namespace,table\nkiosko,dim_product\nkiosko,fact_orders_daily_batches\n");
    kiosko(dir.path(), &["check", "kiosko.dim_product"]).done();
    let before = files(dir.path());
    let again = kiosko(dir.path(), &["project", "maintained-table"]);
    again.failed(1, &["kiosko-maintained-table", "--dir"]);
    assert!(files(dir.path()) == before);

    let three = ["project", "maintained-table", "--nights", "3", "--dir"];
    let out = kiosko(dir.path(), &[&three[..], &["a b/three"]].concat()).done();
    assert!(out.contains("9 snapshots, 5 tracked files, 1 live"), "{out}");
    let strict = kiosko(dir.path(), &[&three[..], &["strict", "--expect-guide"]].concat());
    strict.failed(1, &["expected", "13", "9", "nights"]);
    let free = ["project", "maintained-table", "--no-expect-guide", "--dir", "free"];
    kiosko(dir.path(), &free).done();
}

// --- broken worlds ---

/// What the commands do about a broken file of `kiosko.orders`: exit codes, in the order below.
struct Damage {
    what: &'static str,
    /// Breaks the world, and says which file the message must name.
    cause: fn(&World) -> PathBuf,
    codes: [i32; 9],
}

const ATTEMPTS: [&[&str]; 9] = [
    &["tree", "kiosko.orders"],
    &["scan", "kiosko.orders"],
    &["inspect", "kiosko.orders", "files"],
    &["check", "kiosko.orders"],
    &["orphans", "kiosko.orders", "--older-than", "0"],
    &["orphans", "kiosko.orders", "--older-than", "0", "--delete"],
    &["expire", "kiosko.orders", "--keep", "NEWEST", "--dry-run"],
    &["expire", "kiosko.orders", "--keep", "NEWEST"],
    &["compact", "kiosko.orders"],
];

fn truncate(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

/// The manifest list, the oldest manifest and the oldest data file of the current snapshot.
fn parts(world: &World) -> (PathBuf, PathBuf, PathBuf) {
    let table = world.table("kiosko.orders");
    let store = table.warehouse().store.as_ref();
    let snapshot = table.current_snapshot().unwrap();
    let manifests = ops::load::manifests(store, snapshot).unwrap();
    let manifest = manifests.last().unwrap();
    let entry = &ops::load::entries(store, manifest).unwrap()[0];
    let path = |location: &meta::Location| PathBuf::from(location.normal());
    let data = path(&entry.data_file.file_path);
    (path(&snapshot.manifest_list), path(&manifest.manifest_path), data)
}

fn metadata_file(world: &World) -> PathBuf {
    PathBuf::from(world.table("kiosko.orders").table().metadata_location.normal())
}

/// Does something to one file, and names it.
macro_rules! cause {
    ($world:ident, $path:expr, |$p:ident| $act:expr) => {
        |$world| {
            let $p = $path;
            $act;
            $p
        }
    };
}

const UNREADABLE: [i32; 9] = [1, 1, 1, 4, 1, 1, 1, 1, 1];
const UNLOADABLE: [i32; 9] = [1; 9];

const DAMAGES: [Damage; 11] = [
    Damage {
        what: "a manifest that is cut off",
        cause: cause!(world, parts(world).1, |path| truncate(&path)),
        codes: UNREADABLE,
    },
    Damage {
        what: "a manifest that is gone",
        cause: cause!(world, parts(world).1, |path| std::fs::remove_file(&path).unwrap()),
        codes: UNREADABLE,
    },
    Damage {
        what: "an empty manifest",
        cause: cause!(world, parts(world).1, |path| std::fs::write(&path, "").unwrap()),
        codes: UNREADABLE,
    },
    Damage {
        what: "a manifest list that is cut off",
        cause: cause!(world, parts(world).0, |path| truncate(&path)),
        codes: UNREADABLE,
    },
    Damage {
        what: "a manifest list that is gone",
        cause: cause!(world, parts(world).0, |path| std::fs::remove_file(&path).unwrap()),
        codes: UNREADABLE,
    },
    Damage {
        what: "a data file that is gone",
        cause: cause!(world, parts(world).2, |path| std::fs::remove_file(&path).unwrap()),
        // What is needed is known all the same, so expiry goes on: see the test below.
        codes: [1, 1, 0, 4, 1, 1, 0, -1, 1],
    },
    Damage {
        what: "a data file that is cut off",
        cause: cause!(world, parts(world).2, |path| truncate(&path)),
        codes: [0, 1, 0, 4, 0, 0, 0, -1, 1],
    },
    Damage {
        what: "a data file with other bytes, as long as it was",
        cause: cause!(world, parts(world).2, |path| {
            let bytes = std::fs::read(&path).unwrap();
            std::fs::write(&path, vec![0xff; bytes.len()]).unwrap();
        }),
        codes: [0, 1, 0, 0, 0, 0, 0, -1, 1],
    },
    Damage {
        what: "a metadata file that is no JSON",
        cause: cause!(world, metadata_file(world), |path| truncate(&path)),
        codes: UNLOADABLE,
    },
    Damage {
        what: "an empty metadata file",
        cause: cause!(world, metadata_file(world), |path| std::fs::write(&path, "").unwrap()),
        codes: UNLOADABLE,
    },
    Damage {
        what: "a metadata file that is gone",
        cause: cause!(world, metadata_file(world), |path| std::fs::remove_file(&path).unwrap()),
        codes: UNLOADABLE,
    },
];

#[test]
fn what_is_broken_is_named_and_nothing_is_changed() {
    for Damage { what, cause, codes } in DAMAGES {
        let world = World::new();
        let newest = world.ids("kiosko.orders")[6].to_string();
        let broken = cause(&world);
        let name = broken.file_name().unwrap().to_str().unwrap();
        for (words, code) in ATTEMPTS.iter().zip(codes).filter(|(_, code)| *code >= 0) {
            let words: Vec<_> =
                words.iter().map(|word| if *word == "NEWEST" { &newest } else { *word }).collect();
            let answer = world.look(&words);
            assert_eq!(answer.code, code, "{what}, {words:?}: {answer:?}");
            let told = match code {
                0 => continue,
                4 => &answer.out,
                _ => &answer.err,
            };
            assert!(told.contains(name), "{what}, {words:?} names {name}: {answer:?}");
            assert!(answer.err.starts_with("error: "), "{answer:?}");
            assert!(answer.err.trim().lines().count() == 1, "{answer:?}");
        }
        // The other table does not suffer.
        world.look(&["scan", "kiosko.dim_product"]).done();
        world.look(&["check", "kiosko.dim_product"]).done();
    }
}

#[test]
fn a_missing_data_file_is_drawn_as_missing() {
    let world = World::new();
    let (_, _, data) = parts(&world);
    std::fs::remove_file(&data).unwrap();
    let answer = world.look(&["tree", "kiosko.orders"]);
    let name = data.file_name().unwrap().to_str().unwrap();
    let lines: Vec<_> = answer.out.lines().filter(|line| line.contains("MISSING")).collect();
    assert!(lines.len() == 1 && lines[0].contains(name), "{lines:?}");
    // Of the snapshot that does not show it, every row is still there.
    let rows = world.look(&["scan", "kiosko.orders", "--format", "json"]).failed(1, &[name]);
    assert_eq!(rows.out, "", "no half of an answer");
}

#[test]
fn a_table_that_shares_a_broken_neighbours_catalog_is_not_cleaned() {
    // Nobody knows which files the broken one needs.
    let world = World::new();
    let broken = metadata_file(&world);
    truncate(&broken);
    let name = broken.file_name().unwrap().to_str().unwrap();
    let words = ["orphans", "kiosko.dim_product", "--older-than", "0", "--delete"];
    world.look(&words).failed(1, &["kiosko.orders", name]);
}

#[test]
fn a_catalog_that_is_none_is_named() {
    let world = World::new();
    let dir = world.dir();
    std::fs::write(dir.join("text.db"), "this is not a catalog, whatever its name says".repeat(99))
        .unwrap();
    std::fs::write(dir.join("empty.db"), "").unwrap();
    let half = std::fs::read(dir.join("kiosko_catalog.db")).unwrap();
    std::fs::write(dir.join("half.db"), &half[..half.len() / 2]).unwrap();
    std::fs::create_dir(dir.join("folder.db")).unwrap();
    for file in ["text.db", "empty.db", "half.db", "folder.db", "absent.db", "no/such/folder.db"] {
        for words in [
            &["tables"][..],
            &["tree", "kiosko.orders"],
            &["scan", "kiosko.orders"],
            &["expire", "kiosko.orders", "--ids", "1"],
            &["orphans", "kiosko.orders", "--delete", "--older-than", "0"],
            &["compact", "kiosko.orders"],
        ] {
            let words = [&["--catalog", file], words].concat();
            let answer = world.look(&words).failed(1, &[file, "error: "]);
            assert_eq!(answer.out, "", "{words:?}");
        }
    }
    world
        .look(&["--catalog", "postgresql://host/db", "tables"])
        .failed(1, &["postgresql", "sqlite"]);
}

#[test]
fn names_of_no_table_are_refused() {
    let world = World::new();
    let secret = world.dir().join("secret.txt");
    std::fs::write(&secret, "not yours").unwrap();
    let names = [
        "orders",
        "kiosko.order",
        "nowhere.orders",
        "",
        ".",
        "..",
        "...",
        "kiosko.",
        ".orders",
        "kiosko..orders",
        "a/b",
        "../kiosko.orders",
        "kiosko.../../secret",
        "kiosko.a/b",
        "kiosko.a\\b",
        "kiosko.orders' OR '1'='1",
        "kiosko.\u{1b}[2Jorders",
        "kiosko.orders\n",
        "kiosko.%2e%2e",
        "kiosko.日本",
    ];
    for name in names {
        for words in [
            &["tree", name][..],
            &["scan", name],
            &["inspect", name, "files"],
            &["check", name],
            &["expire", name, "--ids", "1"],
            &["orphans", name, "--older-than", "0", "--delete"],
            &["compact", name],
        ] {
            let answer = world.look(words).failed(1, &["error: "]);
            assert!(!answer.err.trim_end().contains(char::is_control), "{answer:?}");
            assert_eq!(answer.out, "", "{words:?}");
        }
    }
}

#[test]
fn several_catalogs_in_one_file_are_told_apart() {
    let world = World::new();
    let uri = format!("sqlite:///{}/kiosko_catalog.db", world.dir().display());
    let warehouse = format!("file://{}/other", world.dir().display());
    let other = kiosko::load_catalog("other", &[("uri", &uri), ("warehouse", &warehouse)]).unwrap();
    other.create_namespace("kiosko").unwrap();
    let mut table = other.create_table("kiosko.orders", shop::dim_product_schema()).unwrap();
    table.append(&shop::products(shop::DIM_PRODUCT_V1).unwrap()).unwrap();

    for words in [&["tables"][..], &["scan", "kiosko.orders"], &["compact", "kiosko.orders"]] {
        world.look(words).failed(1, &["kiosko, other", "--catalog-name"]);
    }
    let count = |name: &str| {
        let words = ["--catalog-name", name, "scan", "kiosko.orders", "--format", "json"];
        world.look(&words).json().as_array().unwrap().len()
    };
    assert_eq!((count("kiosko"), count("other")), (40, 4));
    world.look(&["scan", "kiosko.orders", "--catalog-name", "third"]).failed(1, &["third"]);

    // Work in one leaves the other alone.
    let before = files(&world.dir().join("other"));
    world.run(&["--catalog-name", "kiosko", "compact", "kiosko.orders"]).done();
    assert!(files(&world.dir().join("other")) == before);
    assert_eq!((count("kiosko"), count("other")), (40, 4));
}

#[test]
fn a_table_that_moved_house_is_read_through_a_mount() {
    let world = World::new();
    let before = world.look(&["scan", "kiosko.orders", "--format", "json"]).json();
    let moved = tempfile::tempdir().unwrap();
    let new = moved.path().join("new home");
    std::fs::rename(world.dir().join("kiosko_warehouse"), &new).unwrap();
    world.look(&["scan", "kiosko.orders"]).failed(1, &["kiosko_warehouse"]);

    let mount = format!("file://{}/kiosko_warehouse={}", world.dir().display(), new.display());
    let words = ["--mount", &mount, "scan", "kiosko.orders", "--format", "json"];
    assert_eq!(world.look(&words).json(), before);
    world.run(&["--mount", &mount, "compact", "kiosko.orders"]).done();
    world.look(&["--mount", &mount, "check", "kiosko.orders"]).done();
    assert_eq!(world.look(&words).json(), before);
    assert_eq!(ending(&new.join("kiosko/orders/data"), ".parquet").len(), 8);
    assert!(!world.dir().join("kiosko_warehouse").exists(), "nothing was written there");
}

#[test]
fn a_reader_who_has_seen_enough_is_no_failure() {
    let world = World::new();
    let binary = env!("CARGO_BIN_EXE_kiosko");
    let script = format!(
        "'{binary}' scan kiosko.orders --format jsonl | head -n 1; '{binary}' tables >/dev/full"
    );
    let output =
        Command::new("bash").args(["-c", &script]).current_dir(world.dir()).output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out.lines().count(), 1);
    assert!(err.starts_with("error: printing") && !err.contains("panicked"), "{err}");
    assert_eq!(output.status.code(), Some(1));
}
