//! The witness. A checker that looks at a table can tell whether it is sound (I1, I2, I4, I6 in
//! `ops::check`); that nothing was *lost* only someone can tell who saw what was done:
//!
//! ```text
//!   I3  every acknowledged commit is there, every rejected one in no history    conflicts, simulation
//!   I5  the rows at every snapshot equal a model's                              simulation
//!   I7  nothing outside the table's folder is written or deleted                faults
//!   I8  a failed operation can be tried again and then succeeds                 faults
//! ```
//!
//! The tests are in `tests/tests/`, one file for each way to look:
//!
//! ```text
//!   golden       scripts that print the whole tree after each command, on two worlds that must agree
//!   faults       each verb, failing and dying at each call; the pointer that lies; a killed process
//!   conflicts    each verb against each other, the second at every call of the first; threads
//!   simulation   random histories against a model of rows
//!   absences     what the sources do not contain
//! ```
//!
//! This library is what they share: a [`World`] to do it in, [`rows`] to fill it with, a pointer that
//! does as it is told ([`Double`]) and a store that tells of each call ([`Hooked`]).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "all of this runs inside tests, where a scene that cannot be set should stop the test"
)]

mod double;
mod hooked;
pub mod rows;
mod world;

pub use double::{Double, Whim};
pub use hooked::{Clocked, Hook, Hooked};
pub use world::{BEGIN_MS, Kind, State, World, folder, ident, new_table, show};
