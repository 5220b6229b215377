//! A page of the guide, translated line by line: `kiosko_maintained_table_project.py` of module 7,
//! lesson 8. The comments are its own; its prints are left out, its asserts are all here.

#![allow(clippy::unwrap_used, reason = "Python would stop with a traceback too")]

use kiosko::shop::{RAW_ORDERS, orders_by_day};
use kiosko::{Field, Primitive, Result, Schema, load_catalog};

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use std::collections::HashSet;
use std::sync::Arc;

/// `pa.Table.from_pylist(rows, schema=pa_schema)`
fn from_pylist(rows: &[(&str, &str, &str, f64)]) -> RecordBatch {
    let columns: [(&str, ArrayRef); 4] = [
        ("product_id", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.0)))),
        ("product_name", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.1)))),
        ("category", Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.2)))),
        ("unit_cost", Arc::new(Float64Array::from_iter_values(rows.iter().map(|row| row.3)))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

const DIM_PRODUCT_V1: &[(&str, &str, &str, f64)] = &[
    ("P001", "Bottled Water 600ml", "beverages", 0.40),
    ("P002", "Energy Bar", "snacks", 0.60),
    ("P003", "Instant Coffee Sachet", "beverages", 0.35),
    ("P004", "Phone Charger Cable", "electronics", 2.10),
];
const DIM_PRODUCT_V2: &[(&str, &str, &str, f64)] = &[
    ("P001", "Bottled Water 600ml", "beverages", 0.40),
    ("P002", "Energy Bar", "health-snacks", 0.68),
    ("P003", "Instant Coffee Sachet", "beverages", 0.35),
    ("P004", "Phone Charger Cable", "electronics", 2.10),
];

#[test]
fn main() -> Result<()> {
    let here = tempfile::tempdir().unwrap();

    let warehouse_path = here.path().join("kiosko_warehouse");
    let catalog_db_path = here.path().join("kiosko_catalog.db");
    std::fs::create_dir_all(&warehouse_path).unwrap();
    let catalog = load_catalog(
        "kiosko",
        &[
            ("type", "sql"),
            ("uri", &format!("sqlite:///{}", catalog_db_path.display())),
            ("warehouse", &format!("file://{}", warehouse_path.display())),
        ],
    )?;
    catalog.create_namespace("kiosko")?;

    let dim_product_schema = Schema::new(vec![
        Field::required(1, "product_id", Primitive::String),
        Field::required(2, "product_name", Primitive::String),
        Field::required(3, "category", Primitive::String),
        Field::required(4, "unit_cost", Primitive::Double),
    ]);
    let mut table = catalog.create_table("kiosko.dim_product", dim_product_schema)?;

    // Step 1/8 -- rebuild module 3's state: V1 + P002's real change
    table.append(&from_pylist(DIM_PRODUCT_V1))?;
    let snap_v1 = table.current_snapshot().unwrap().snapshot_id;
    table.overwrite(&from_pylist(DIM_PRODUCT_V2))?;
    let snapshots_after_m3 = table.history().len();

    // Step 2/8 -- 5 redundant nights (this module's lesson 3)
    let nights = ["2026-08-16", "2026-08-17", "2026-08-18", "2026-08-19", "2026-08-20"];
    for _ in nights {
        table.overwrite(&from_pylist(DIM_PRODUCT_V2))?;
    }
    let snapshots_before_expire = table.history().len();
    let all_files_before = table.inspect().all_data_files()?.num_rows();
    let live_files_before = table.inspect().files()?.num_rows();

    // Step 3/8 -- build the pruning list: everything except snap_v1 and the current one
    let history = table.history();
    let current_snapshot_id = table.current_snapshot().unwrap().snapshot_id;
    let to_expire: Vec<i64> = history
        .iter()
        .map(|e| e.snapshot_id)
        .filter(|id| ![snap_v1, current_snapshot_id].contains(id))
        .collect();
    let len_to_expire = to_expire.len();

    // Step 4/8 -- REAL expire_snapshots()
    table.maintenance().expire_snapshots().by_ids(to_expire).commit()?;
    table.refresh()?;
    let snapshots_after_expire = table.history().len();
    let all_files_after = table.inspect().all_data_files()?.num_rows();

    // Step 5/8 -- verify time travel and the current state stayed intact
    let v1_rows = table.scan().snapshot_id(snap_v1).to_pylist()?;
    let p002_v1 = v1_rows.iter().find(|r| r["product_id"] == "P002").unwrap();
    let current_rows = table.scan().to_pylist()?;
    let p002_current = current_rows.iter().find(|r| r["product_id"] == "P002").unwrap();

    // Step 6/8 -- identify orphan files left on disk (diagnostic, read-only)
    let all_data_files = table.inspect().all_data_files()?;
    let tracked: HashSet<String> = kiosko::rows::to_json(&all_data_files)?
        .iter()
        .map(|row| row["file_path"].as_str().unwrap().to_string())
        .collect();
    let data_dir = warehouse_path.join("kiosko/dim_product/data");
    let on_disk: HashSet<String> = std::fs::read_dir(&data_dir)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".parquet"))
        .map(|name| format!("file://{}/{name}", data_dir.display()))
        .collect();
    let orphans: Vec<&String> = on_disk.difference(&tracked).collect();

    // Step 7/8 -- kiosko.fact_orders_daily_batches -- the small files problem (lesson 4)
    let fact_schema = Schema::new(vec![
        Field::required(1, "order_id", Primitive::String),
        Field::required(2, "store_id", Primitive::String),
        Field::required(3, "product_id", Primitive::String),
        Field::required(4, "quantity", Primitive::Int),
        Field::required(5, "unit_price", Primitive::Double),
        Field::required(6, "revenue", Primitive::Double),
        Field::required(7, "order_ts", Primitive::Timestamp),
    ]);
    let mut fact_table = catalog.create_table("kiosko.fact_orders_daily_batches", fact_schema)?;
    for orders in orders_by_day(RAW_ORDERS)? {
        fact_table.append(&orders)?;
    }
    let fact_rows = fact_table.scan().to_pylist()?;
    let fact_total_rows = fact_rows.len();
    let sum: f64 = fact_rows.iter().map(|r| r["revenue"].as_f64().unwrap()).sum();
    let fact_total_revenue = (sum * 100.0).round() / 100.0;
    let fact_live_files = fact_table.inspect().files()?.num_rows();

    assert_eq!(snapshots_after_m3, 3, "module 3 should leave 3 snapshots (append, delete, append)");
    assert_eq!(snapshots_before_expire, 13, "5 redundant nights (2 snapshots each) + 3 = 13");
    assert_eq!(len_to_expire, 11);
    assert_eq!(snapshots_after_expire, 2, "only snap_v1 and the current one should survive");
    assert_eq!(all_files_before, 7);
    assert_eq!(live_files_before, 1);
    assert_eq!(all_files_after, 2);
    assert!(p002_v1["category"] == "snacks" && p002_v1["unit_cost"] == 0.60);
    assert!(p002_current["category"] == "health-snacks" && p002_current["unit_cost"] == 0.68);
    assert_eq!(orphans.len(), 5, "the 5 files expire_snapshots() stopped tracking are on disk");
    assert_eq!(fact_total_rows, 40);
    assert_eq!(fact_total_revenue, 106.15);
    assert_eq!(fact_live_files, 7, "7 daily append()s, none redundant, not compacted");

    // Step 8/8 -- what the page leaves "pending, recommended", executed
    table.maintenance().remove_orphan_files(0)?;
    assert!(orphans.iter().all(|uri| !std::path::Path::new(&uri["file://".len()..]).exists()));
    assert_eq!(std::fs::read_dir(&data_dir).unwrap().count(), 2);
    assert_eq!(table.scan().snapshot_id(snap_v1).to_pylist()?, v1_rows);
    fact_table.maintenance().rewrite_data_files()?;
    assert_eq!(fact_table.inspect().files()?.num_rows(), 1);
    assert_eq!(fact_table.scan().to_pylist()?.len(), 40);
    Ok(())
}
