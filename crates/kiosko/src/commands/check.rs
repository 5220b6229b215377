//! `kiosko check`: the invariants, tested.

use super::{Opened, print};
use kiosko::{Error, Result};

pub fn run(catalog: &Opened<'_>, table: &str) -> Result<()> {
    let (warehouse, table) = catalog.table(table)?;
    let faults = ops::check::check(warehouse.store.as_ref(), &table);
    if faults.is_empty() {
        let snapshots = table.metadata.snapshots.len();
        return print::line(format!("{}: sound, {snapshots} snapshots checked", table.ident));
    }
    faults.iter().try_for_each(print::line)?;
    Err(Error::Faults(faults.len()))
}
