//! The Iceberg format: what the bytes mean.
//!
//! A table is a tree of immutable files. One pointer, kept by a catalog, names the newest
//! `metadata.json`; everything else hangs beneath it:
//!
//! ```text
//!   catalog row: kiosko.dim_product -> metadata/00002-5f0c.metadata.json
//!                                        |
//!      TableMetadata  metadata.json      |  schemas, specs, snapshots, refs, logs
//!                                        v
//!      Snapshot  ---- snap-713.avro      the manifest list: one ManifestFile per manifest
//!                          |
//!           ManifestFile   v
//!              9a2e-m0.avro              the manifest: one ManifestEntry per file
//!                    |
//!       DataFile     v
//!         data/00000-0-77b1.parquet      the rows
//! ```
//!
//! This crate knows the structures and their coding, and nothing else: bytes in, bytes out, no I/O,
//! no clock, no chance. That keeps it testable to the last byte.
//!
//! # Reading order
//!
//! 1. [`location`]: what a path is, when two are the same place
//! 2. [`types`], [`schema`], [`value`]: columns, and single values in binary
//! 3. [`transform`], [`partition`], [`sort`]: how rows are grouped and ordered
//! 4. [`avro`]: the container of the next two; its schema and its writing are files of their own
//! 5. [`data_file`], [`manifest`], [`manifest_list`]: the tree from the leaves up
//! 6. [`snapshot`], [`metadata`], [`metadata_json`]: the root
//! 7. [`update`]: the only way the root changes
//! 8. [`puffin`]: the container of statistics and deletion vectors
//! 9. [`deletion_vector`], over `roaring` and `container`: which rows of a file are gone
//! 10. [`filter`], [`literal`], [`filter_bind`], [`filter_sql`]: which rows are wanted
//! 11. [`project`], [`contents`], [`prune`]: which files cannot have any of them
//!
//! # The contract of every decoder
//!
//! A decoder takes `&[u8]`, never panics, never allocates beyond a constant times its input, and
//! its errors name the file, the place, what was expected and what was found.

pub mod avro;
mod avro_schema;
mod avro_write;
mod compression;
mod container;
pub mod contents;
pub mod data_file;
pub mod deletion_vector;
pub mod error;
pub mod filter;
pub mod filter_bind;
mod filter_print;
pub mod filter_sql;
mod filter_words;
mod iso;
pub mod json;
pub mod literal;
pub mod location;
pub mod manifest;
pub mod manifest_list;
pub mod manifest_write;
pub mod metadata;
pub mod metadata_json;
pub mod partition;
pub mod project;
pub mod prune;
pub mod puffin;
mod roaring;
pub mod schema;
pub mod snapshot;
pub mod sort;
pub mod transform;
mod tuple;
pub mod types;
pub mod update;
pub mod value;

pub use error::{Error, Result};
pub use location::Location;
