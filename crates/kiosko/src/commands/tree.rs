//! `kiosko tree`: the table as it is.

use super::{Opened, print};
use kiosko::Result;
use ops::tree::{Style, draw};

/// Draws the table. A data file that is missing is marked in the drawing, and is an error.
pub fn run(catalog: &Opened<'_>, table: &str) -> Result<()> {
    let (warehouse, table) = catalog.table(table)?;
    let drawing = draw(warehouse.store.as_ref(), &table, Style::FULL)?;
    print::line(drawing.text.trim_end())?;
    match drawing.missing.first() {
        None => Ok(()),
        Some(path) => {
            let path = path.to_string();
            Err(ops::Error::Store(store::Error::NotFound { path }).into())
        }
    }
}
