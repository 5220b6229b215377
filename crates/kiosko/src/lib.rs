//! Kiosko, as a library: a page of the guide translates line by line.
//!
//! The names are PyIceberg's, where the guide uses them:
//!
//! ```text
//!   Python                                              Rust
//!   catalog = load_catalog("kiosko", type="sql", ..)    let catalog = load_catalog("kiosko", &[..])?;
//!   table = catalog.create_table("kiosko.t", schema)    let mut table = catalog.create_table("kiosko.t", schema)?;
//!   table.append(rows)                                  table.append(&rows)?;
//!   table.overwrite(rows)                               table.overwrite(&rows)?;
//!   len(table.history())                                table.history().len()
//!   table.scan(snapshot_id=s).to_arrow()                table.scan().snapshot_id(s).to_arrow()?
//!   table.inspect.files().num_rows                      table.inspect().files()?.num_rows()
//! ```
//!
//! A [`Table`] here is a handle that moves on with each verb, as PyIceberg's does. Below it, in
//! [`ops`], a table is an immutable value and each verb returns the next; engineers may prefer that.

mod error;
mod handle;
pub mod lessons;
pub mod open;
pub mod rows;
pub mod shop;

pub use error::{Error, Result};
pub use handle::{Catalog, ExpireSnapshots, Inspect, Maintenance, Scan, Table};
pub use meta::schema::{Field, Schema};
pub use meta::types::Primitive;
pub use open::load_catalog;
