//! The lessons of the guide, each run and checked from disk.

pub mod m07_l08_maintained_table;
