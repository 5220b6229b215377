//! The closing project of module 7: every number of the guide, and the three things it could only
//! describe. What the project says of itself is held against the files it leaves, read anew.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

mod common;

use common::{catalog, ending, entries, files, live, metadata, needed, run};
use kiosko::lessons::m07_l08_maintained_table::{Fact, Measured, Options};
use kiosko::{Error, Table, shop};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Orders as the guide sums them up.
fn orders(rows: usize, files: usize) -> Fact {
    let by_store = [("S01", 38.30), ("S02", 38.80), ("S03", 29.05)];
    let by_store = by_store.map(|(store, sum)| (store.to_string(), sum)).to_vec();
    Fact { rows, revenue: 106.15, by_store, files }
}

/// The rows of an order table in cents, by store: reckoned here, not by the project.
fn cents_by_store(rows: &[Map<String, Json>]) -> BTreeMap<String, i64> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let (quantity, price) = (row["quantity"].as_i64().unwrap(), row["unit_price"].as_f64());
        let cents = quantity * (price.unwrap() * 100.0).round() as i64;
        assert_eq!((row["revenue"].as_f64().unwrap() * 100.0).round() as i64, cents, "{row:?}");
        *sums.entry(row["store_id"].as_str().unwrap().to_string()).or_insert(0) += cents;
    }
    sums
}

fn guide_cents() -> BTreeMap<String, i64> {
    [("S01", 3830), ("S02", 3880), ("S03", 2905)].map(|(s, c)| (s.to_string(), c)).into()
}

fn p002(rows: Vec<Map<String, Json>>) -> (Json, Json) {
    let row = rows.into_iter().find(|row| row["product_id"] == "P002").unwrap();
    (row["category"].clone(), row["unit_cost"].clone())
}

fn dim_product(dir: &Path) -> std::path::PathBuf {
    dir.join("kiosko_warehouse/kiosko/dim_product")
}

fn fact_orders(dir: &Path) -> std::path::PathBuf {
    dir.join("kiosko_warehouse/kiosko/fact_orders_daily_batches")
}

#[test]
fn the_numbers_are_the_guides() {
    let dir = tempfile::tempdir().unwrap();
    let (measured, text) = run(&Options::guide(dir.path()));
    let measured = measured.unwrap();

    let expected = Measured {
        snapshots_after_m3: 3,
        snapshots_before_expire: 13,
        tracked_before: 7,
        live_before: 1,
        to_expire: 11,
        snapshots_after_expire: 2,
        tracked_after: 2,
        p002_v1: ("snacks".into(), 0.60),
        p002_now: ("health-snacks".into(), 0.68),
        on_disk: 7,
        // Bytes change with the Parquet library, and how many metadata files with the engine.
        orphans: (5, measured.orphans.1),
        metadata_orphans: measured.metadata_orphans,
        fact: orders(40, 7),
        orphans_left: 0,
        faults: 0,
        fact_compacted: orders(40, 1),
        fact_travelled: orders(40, 7),
    };
    assert_eq!(measured, expected);
    assert!(measured.orphans.1 > 5 * 500, "five Parquet files: {:?}", measured.orphans);
    // 11 manifest lists at least, and the manifests of 11 snapshots less one that may be shared.
    assert!(measured.metadata_orphans.0 >= 21, "{:?}", measured.metadata_orphans);

    for line in [
        "3 snapshots, snap_v1 captured",
        "13 snapshots, 7 tracked files, 1 live",
        "11 snapshots selected to expire",
        "2 snapshots, 2 tracked files",
        "AS OF snap_v1: P002=snacks/0.6 | current: P002=health-snacks/0.68",
        "7 physical files on disk, 5 orphans (",
        "40 rows, revenue=106.15, 7 live files",
        "0 orphans left",
        "7 live files -> 1",
        "S01 38.30, S02 38.80, S03 29.05",
    ] {
        assert!(text.contains(line), "{line:?} in:\n{text}");
    }
}

#[test]
fn the_history_is_on_disk_as_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    run(&Options::guide(dir.path())).0.unwrap();

    // Old metadata files stay, so each step can be looked at after the fact: created, appended,
    // overwritten once and five times more, expired.
    let table = dim_product(dir.path());
    let count = |version| metadata(&table, version)["snapshots"].as_array().unwrap().len();
    assert_eq!((0..=8).map(count).collect::<Vec<_>>(), [0, 1, 3, 5, 7, 9, 11, 13, 2]);
    assert_eq!(ending(&table.join("metadata"), ".metadata.json").len(), 9);

    let before = metadata(&table, 7);
    let snapshots = before["snapshots"].as_array().unwrap();
    let operations: Vec<_> = snapshots.iter().map(|s| &s["summary"]["operation"]).collect();
    let nights = ["delete", "append"].repeat(6);
    assert_eq!(operations, [&["append"][..], &nights].concat());
    let numbers: Vec<_> = snapshots.iter().map(|s| s["sequence-number"].as_i64()).collect();
    assert_eq!(numbers, (1..=13).map(Some).collect::<Vec<_>>());

    // Of the thirteen, the first and the last are left, as they were.
    let after = metadata(&table, 8);
    let ids = |metadata: &Json| -> Vec<i64> {
        let snapshots = metadata["snapshots"].as_array().unwrap();
        snapshots.iter().map(|s| s["snapshot-id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids(&after), [ids(&before)[0], ids(&before)[12]]);
    for key in ["table-uuid", "location", "refs", "current-snapshot-id", "last-sequence-number"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    for (left, was) in [(0, 0), (1, 12)] {
        for key in ["manifest-list", "summary", "timestamp-ms", "sequence-number", "schema-id"] {
            let (after, before) = (&after["snapshots"][left], &before["snapshots"][was]);
            assert_eq!(after[key], before[key], "{key} of snapshot {was}");
        }
    }
}

#[test]
fn nothing_needed_is_gone_and_nothing_else_is_left() {
    let dir = tempfile::tempdir().unwrap();
    run(&Options::guide(dir.path())).0.unwrap();

    for (table, newest, data) in [(dim_product(dir.path()), 8, 2), (fact_orders(dir.path()), 8, 8)]
    {
        let on_disk: BTreeSet<_> = files(&table).into_keys().collect();
        assert_eq!(on_disk, needed(&table, newest), "{}", table.display());
        assert_eq!(ending(&table.join("data"), ".parquet").len(), data, "{}", table.display());
    }
}

#[test]
fn whoever_opens_the_catalog_afterwards_reads_every_row() {
    let dir = tempfile::tempdir().unwrap();
    run(&Options::guide(dir.path())).0.unwrap();
    let catalog = catalog(dir.path());
    let load = |name: &str| -> Table { catalog.load_table(name).unwrap() };
    let check = |table: &Table| {
        let faults = ops::check::check(table.warehouse().store.as_ref(), table.table());
        assert_eq!(faults, []);
    };

    let table = load("kiosko.dim_product");
    check(&table);
    let [first, last] = table.history() else { panic!("{:?}", table.history()) };
    let at = |id| table.scan().snapshot_id(id).to_pylist().unwrap();
    let products = |csv| kiosko::rows::to_json(&shop::products(csv).unwrap()).unwrap();
    assert_eq!(at(first.snapshot_id), products(shop::DIM_PRODUCT_V1));
    assert_eq!(at(last.snapshot_id), products(shop::DIM_PRODUCT_V2));
    assert_eq!(table.scan().to_pylist().unwrap(), products(shop::DIM_PRODUCT_V2));
    assert_eq!(p002(at(first.snapshot_id)), (json!("snacks"), json!(0.60)));
    assert_eq!(p002(at(last.snapshot_id)), (json!("health-snacks"), json!(0.68)));

    let table = load("kiosko.fact_orders_daily_batches");
    check(&table);
    assert_eq!(table.history().len(), 8, "7 appends and the compaction");
    let mut grown = Vec::new();
    for entry in table.history() {
        let rows = table.scan().snapshot_id(entry.snapshot_id).to_pylist().unwrap();
        grown.push(rows.len());
        if rows.len() == 40 {
            assert_eq!(cents_by_store(&rows), guide_cents());
            let ids: BTreeSet<_> = rows.iter().map(|row| row["order_id"].to_string()).collect();
            assert_eq!(ids.len(), 40, "no order twice");
        }
    }
    assert_eq!(grown, [6, 11, 17, 22, 29, 35, 40, 40]);

    let newest = metadata(&fact_orders(dir.path()), 8);
    let [.., before, compacted] = &newest["snapshots"].as_array().unwrap()[..] else { panic!() };
    assert_eq!(compacted["summary"]["operation"], "replace");
    assert_eq!((live(before).len(), live(compacted).len()), (7, 1));
    assert!(live(before).is_disjoint(&live(compacted)), "the one file is a new one");
    // Its rows are as old as they were: a delete of the meantime must still apply to them.
    let [entry] = &entries(compacted)[..] else { panic!("one entry") };
    assert_eq!((entry.sequence_number, entry.file_sequence_number), (Some(7), Some(8)));
}

#[test]
fn three_nights_make_nine_snapshots() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { nights: 3, expect_guide: false, ..Options::guide(dir.path()) };
    let measured = run(&options).0.unwrap();
    assert_eq!(measured.snapshots_after_m3, 3);
    assert_eq!(measured.snapshots_before_expire, 9);
    assert_eq!((measured.tracked_before, measured.live_before), (5, 1));
    assert_eq!(measured.to_expire, 7);
    assert_eq!((measured.snapshots_after_expire, measured.tracked_after), (2, 2));
    assert_eq!((measured.on_disk, measured.orphans.0), (5, 3));
    assert_eq!((measured.orphans_left, measured.faults), (0, 0));
    assert_eq!(metadata(&dim_product(dir.path()), 5)["snapshots"].as_array().unwrap().len(), 9);
}

#[test]
fn the_first_number_that_differs_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { nights: 3, ..Options::guide(dir.path()) };
    let error = run(&options).0.unwrap_err();
    let Error::Expectation { what, expected, found } = &error else { panic!("{error}") };
    assert_eq!((expected.as_str(), found.as_str()), ("13", "9"));
    assert!(what.contains("snapshots after the redundant nights"), "{what}");
    assert_eq!(error.exit_code(), 1);
    let text = error.to_string();
    assert!(text.contains("13") && text.contains('9') && text.contains(what), "{text}");
}

#[test]
fn an_order_that_is_missing_is_noticed() {
    let lost = "O0023,";
    let lines: Vec<_> = shop::RAW_ORDERS.lines().filter(|line| !line.starts_with(lost)).collect();
    assert_eq!(lines.len() + 1, shop::RAW_ORDERS.lines().count());
    let text = lines.join("\n");

    let dir = tempfile::tempdir().unwrap();
    let options = Options { orders: &text, ..Options::guide(dir.path()) };
    let error = run(&options).0.unwrap_err();
    let Error::Expectation { what, expected, found } = &error else { panic!("{error}") };
    assert!(what.contains("orders before the compaction"), "{what}");
    assert!(expected.contains("40") && expected.contains("106.15"), "{expected}");
    assert!(found.contains("39") && !found.contains("106.15"), "{found}");

    let dir = tempfile::tempdir().unwrap();
    let options = Options { expect_guide: false, orders: &text, ..Options::guide(dir.path()) };
    let measured = run(&options).0.unwrap();
    assert_eq!((measured.fact.rows, measured.fact_compacted.rows), (39, 39));
    assert!(measured.fact.revenue < 106.15);
}

#[test]
fn a_price_that_changed_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let products = shop::DIM_PRODUCT_V1.replace("0.60", "0.61");
    assert_ne!(products, shop::DIM_PRODUCT_V1);
    let options = Options { products_v1: &products, ..Options::guide(dir.path()) };
    let error = run(&options).0.unwrap_err();
    let Error::Expectation { what, expected, found } = &error else { panic!("{error}") };
    assert!(what.contains("P002 as of snap_v1"), "{what}");
    assert!(expected.contains("0.6") && found.contains("0.61"), "{expected} {found}");
}

#[test]
fn a_second_run_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    run(&Options::guide(dir.path())).0.unwrap();
    let before = files(dir.path());

    let (again, printed) = run(&Options::guide(dir.path()));
    let error = again.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    let text = error.to_string();
    for word in [dir.path().to_str().unwrap(), "--dir", "remove"] {
        assert!(text.contains(word), "{word:?} in {text}");
    }
    assert_eq!(printed, "");
    assert!(files(dir.path()) == before, "the folder changed");
}

#[test]
fn a_warehouse_without_its_catalog_is_refused_too() {
    // Its files would be counted, and removed, as this run's orphans.
    let dir = tempfile::tempdir().unwrap();
    run(&Options::guide(dir.path())).0.unwrap();
    std::fs::remove_file(dir.path().join("kiosko_catalog.db")).unwrap();
    let before = files(dir.path());
    let error = run(&Options::guide(dir.path())).0.unwrap_err();
    assert!(matches!(error, Error::Refused(_)), "{error}");
    assert!(error.to_string().contains("kiosko_warehouse"), "{error}");
    assert!(files(dir.path()) == before, "the folder changed");
}
