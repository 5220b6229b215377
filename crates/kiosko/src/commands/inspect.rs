//! `kiosko inspect`: the metadata tables.

use super::{Opened, print};
use crate::cli::{Output, What};
use kiosko::Result;

pub fn run(catalog: &Opened<'_>, table: &str, what: What, output: &Output) -> Result<()> {
    let (warehouse, table) = catalog.table(table)?;
    let store = warehouse.store.as_ref();
    let batch = match what {
        What::History => ops::inspect::history(&table.metadata)?,
        What::Snapshots => ops::inspect::snapshots(&table.metadata)?,
        What::Files => ops::inspect::files(store, &table)?,
        What::AllDataFiles => ops::inspect::all_data_files(store, &table)?,
    };
    print::batch(&batch, output.format)
}
