//! `kiosko scan`: rows.

use super::{Opened, print};
use crate::cli;
use arrow_select::concat::concat_batches;
use kiosko::{Error, Result};

pub fn run(catalog: &Opened<'_>, words: &cli::Scan) -> Result<()> {
    let (warehouse, table) = catalog.table(&words.table)?;
    let scan = ops::scan::Scan { snapshot_id: words.snapshot, columns: words.select.clone() };
    let batches = ops::scan::scan(&warehouse.store, &table, &scan)?;
    let schema = batches.schema();
    let mut left = words.limit.unwrap_or(usize::MAX);
    let mut taken = Vec::new();
    for batch in batches {
        let batch = batch?;
        let rows = batch.num_rows().min(left);
        taken.push(batch.slice(0, rows));
        left -= rows;
        if left == 0 {
            break;
        }
    }
    let rows =
        concat_batches(&schema, &taken).map_err(|e| Error::Refused(format!("printing: {e}")))?;
    print::batch(&rows, words.output.format)
}
