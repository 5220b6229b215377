//! The verbs: what one can do with an Iceberg table.
//!
//! A [`Table`](catalog::Table) is an immutable value. Each verb takes one, does its work through a
//! [`Warehouse`](catalog::Warehouse), and returns the table after it.
//!
//! # Life of an append
//!
//! 1. [`append::append`] takes the batches.
//! 2. [`write::data_files`] makes them fit ([`arrow::conform`]), writes Parquet files under new names,
//!    and reads counts and bounds off them ([`bounds::measure`]).
//! 3. [`commit::commit`] asks for an attempt.
//! 4. [`snapshot::Producer::produce`] writes a manifest of the new files, carries the old manifests
//!    over, and writes the manifest list.
//! 5. [`catalog::Catalog::commit`] checks the requirements, applies the updates, writes the new
//!    metadata file, and swaps the pointer.
//! 6. Won: the table after it goes back up. Lost: 4 and 5 again, on top of the winner.
//!
//! # Life of a scan
//!
//! 1. [`scan::scan`] picks the snapshot and its schema.
//! 2. [`load::live_data_files`] reads the manifest list and the manifests.
//! 3. [`scan::Batches`] opens one data file after the other; its bytes become batches in
//!    `parquet_read`, and the file's columns the table's in `resolve`.
//!
//! # The files
//!
//! ```text
//!   verbs that write      append  overwrite  compact
//!     with                write  bounds  arrow      rows into files
//!                         snapshot  conflict        files into a snapshot
//!                         commit                    the one retry loop
//!   verbs that forget     expire  orphans
//!     with                reach                     what is still needed
//!   verbs that read       scan  inspect  tree  check
//!     with                load  parquet_read  resolve
//! ```

pub mod append;
pub mod arrow;
pub mod bounds;
pub mod check;
pub mod commit;
pub mod compact;
pub mod conflict;
pub mod error;
pub mod expire;
pub mod inspect;
pub mod load;
pub mod orphans;
pub mod overwrite;
mod parquet_read;
pub mod reach;
mod resolve;
pub mod scan;
pub mod snapshot;
pub mod tree;
pub mod write;

pub use error::{Error, Result};
