//! The numbers of the project, read off the tables on disk, and what the guide says they are.

use crate::{Error, Result, Table};
use serde_json::{Map, Value};

/// The numbers of the project, each read off the tables on disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Snapshots after the append and the first overwrite.
    pub snapshots_after_m3: usize,
    /// Snapshots after the nights.
    pub snapshots_before_expire: usize,
    /// Data files that any snapshot shows, after the nights.
    pub tracked_before: usize,
    /// Data files that the current snapshot shows, after the nights.
    pub live_before: usize,
    /// Snapshots chosen to expire.
    pub to_expire: usize,
    /// Snapshots after the expiry.
    pub snapshots_after_expire: usize,
    /// Data files that any snapshot shows, after the expiry.
    pub tracked_after: usize,
    /// P002 as of the first snapshot: category and unit cost.
    pub p002_v1: (String, f64),
    /// P002 now.
    pub p002_now: (String, f64),
    /// Parquet files in the folder, before the removal.
    pub on_disk: usize,
    /// Orphans that held rows, and their bytes.
    pub orphans: (usize, u64),
    /// Orphans among the metadata, and their bytes.
    pub metadata_orphans: (usize, u64),
    /// The orders: rows, revenue, live files; before compaction.
    pub fact: Fact,
    /// Orphans after the removal.
    pub orphans_left: usize,
    /// Broken invariants of both tables at the end, every file of every snapshot looked at.
    pub faults: usize,
    /// The orders after compaction.
    pub fact_compacted: Fact,
    /// The orders as of the snapshot before compaction.
    pub fact_travelled: Fact,
}

/// What the order table holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fact {
    /// Rows.
    pub rows: usize,
    /// Revenue in all, to the cent.
    pub revenue: f64,
    /// Revenue of each store, to the cent, by name.
    pub by_store: Vec<(String, f64)>,
    /// Live data files.
    pub files: usize,
}

/// Category and unit cost of P002 in these rows.
pub(super) fn p002(rows: &[Map<String, Value>]) -> Result<(String, f64)> {
    let row = rows.iter().find(|row| row.get("product_id").is_some_and(|id| id == "P002"));
    let category = row.and_then(|row| row.get("category")?.as_str());
    let cost = row.and_then(|row| row.get("unit_cost")?.as_f64());
    match (category, cost) {
        (Some(category), Some(cost)) => Ok((category.to_string(), cost)),
        _ => Err(Error::Refused("the product list has no P002".into())),
    }
}

fn cents(sum: f64) -> f64 {
    (sum * 100.0).round() / 100.0
}

/// Reads the orders as of a snapshot (`None`: now), and counts the files that show them.
pub(super) fn fact(table: &Table, snapshot_id: Option<i64>) -> Result<Fact> {
    let scan = match snapshot_id {
        Some(id) => table.scan().snapshot_id(id),
        None => table.scan(),
    };
    let rows = scan.to_pylist()?;
    let mut stores = std::collections::BTreeMap::new();
    for row in &rows {
        let store = row.get("store_id").and_then(Value::as_str).unwrap_or("?");
        let revenue = row.get("revenue").and_then(Value::as_f64).unwrap_or(0.0);
        *stores.entry(store.to_string()).or_insert(0.0) += revenue;
    }
    let snapshot = match snapshot_id {
        Some(id) => table.metadata().snapshot(id),
        None => table.current_snapshot(),
    };
    let files = match snapshot {
        Some(snapshot) => {
            ops::load::live_data_files(table.warehouse().store.as_ref(), snapshot)?.len()
        }
        None => 0,
    };
    Ok(Fact {
        rows: rows.len(),
        revenue: cents(stores.values().sum()),
        by_store: stores.into_iter().map(|(name, sum)| (name, cents(sum))).collect(),
        files,
    })
}

impl Measured {
    /// Holds every number against the guide's, in the order of its asserts.
    ///
    /// # Errors
    /// [`Error::Expectation`] for the first that differs.
    pub fn expect_guide(&self) -> Result<()> {
        let fact = |files| Fact {
            rows: 40,
            revenue: 106.15,
            by_store: [("S01", 38.30), ("S02", 38.80), ("S03", 29.05)]
                .map(|(name, sum)| (name.to_string(), sum))
                .to_vec(),
            files,
        };
        let p002 = |category: &str, cost| (category.to_string(), cost);
        expect("the snapshots after the append and the overwrite", 3, self.snapshots_after_m3)?;
        expect("the snapshots after the redundant nights", 13, self.snapshots_before_expire)?;
        expect("the snapshots to expire", 11, self.to_expire)?;
        expect("the snapshots after the expiry", 2, self.snapshots_after_expire)?;
        expect("the tracked files before the expiry", 7, self.tracked_before)?;
        expect("the live files before the expiry", 1, self.live_before)?;
        expect("the tracked files after the expiry", 2, self.tracked_after)?;
        expect("P002 as of snap_v1", p002("snacks", 0.60), self.p002_v1.clone())?;
        expect("P002 now", p002("health-snacks", 0.68), self.p002_now.clone())?;
        expect("the files on disk before the removal", 7, self.on_disk)?;
        expect("the orphan data files", 5, self.orphans.0)?;
        expect("the orders before the compaction", fact(7), self.fact.clone())?;
        expect("the orphans after the removal", 0, self.orphans_left)?;
        expect("the orders after the compaction", fact(1), self.fact_compacted.clone())?;
        expect("the orders as of before the compaction", fact(7), self.fact_travelled.clone())?;
        expect("the broken invariants", 0, self.faults)
    }
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, expected: T, found: T) -> Result<()> {
    if expected == found {
        return Ok(());
    }
    Err(Error::Expectation {
        what: what.to_string(),
        expected: format!("{expected:?}"),
        found: format!("{found:?}"),
    })
}
