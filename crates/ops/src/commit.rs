//! The one retry loop.
//!
//! A verb hands over an *attempt*: a function that looks at the table as it is now and says what must
//! hold and what to change. A lost race costs one more look; nothing else survives it.
//!
//! ```text
//!   attempt(table) ──> requirements, updates ──> catalog.commit
//!       ^                                          │
//!       │                                          ├─ Won(table)   the table after it
//!       └── wait, load the table again <── Lost <──┤
//!                                                  └─ Unknown      stop; clean up nothing
//! ```
//!
//! How often and how long is the table's to say: `commit.retry.num-retries` (4),
//! `commit.retry.min-wait-ms` (100) and `commit.retry.max-wait-ms` (60 000). The wait doubles each
//! time, and chance takes off up to half of it, so that two writers do not meet again in step.

use crate::{Error, Result};
use catalog::{Outcome, Table, Warehouse};
use meta::Location;
use meta::update::{Requirement, Update};
use std::time::Duration;

/// What one attempt asks of the catalog.
pub struct Attempt {
    /// What must hold of the table.
    pub requirements: Vec<Requirement>,
    /// What to change.
    pub updates: Vec<Update>,
    /// Files that were written for this attempt alone; deleted when it is proven lost.
    pub garbage: Vec<Location>,
}

/// Commits what `attempt` asks, as often as the table's properties allow.
///
/// # Errors
/// [`Error::Unknown`] when the catalog's answer was lost; [`Error::Conflict`] when every attempt lost
/// the race; otherwise what `attempt` or the catalog says. Only after [`Error::Unknown`] may the
/// commit have happened.
pub fn commit(
    warehouse: &Warehouse,
    operation: &'static str,
    table: &Table,
    mut attempt: impl FnMut(&Table) -> Result<Attempt>,
) -> Result<Table> {
    let retries = table.metadata.number("commit.retry.num-retries", 4);
    let mut current = table.clone();
    let mut tried = 0;
    loop {
        let Attempt { mut requirements, updates, garbage } = attempt(&current)?;
        requirements.insert(0, Requirement::AssertTableUuid(table.metadata.table_uuid));
        match warehouse.catalog.commit(&current, &requirements, &updates)? {
            Outcome::Won(table) => return Ok(table),
            Outcome::Unknown { why } => {
                return Err(Error::Unknown { table: table.ident.to_string(), why });
            }
            Outcome::Lost { why } => {
                discard(warehouse, &garbage);
                if tried == retries {
                    let now = warehouse.catalog.load_table(&table.ident).unwrap_or(current);
                    return Err(lost(operation, table, &now, why, tried));
                }
                warehouse.stamp.sleep(wait(warehouse, &current, tried));
                tried += 1;
                current = refresh(warehouse, operation, table)?;
            }
        }
    }
}

/// The table as it is now. A table of the same name with another uuid is a stranger, made after ours
/// was dropped: what was meant for ours must not reach it.
fn refresh(warehouse: &Warehouse, operation: &'static str, table: &Table) -> Result<Table> {
    let now = warehouse.catalog.load_table(&table.ident)?;
    if now.metadata.table_uuid == table.metadata.table_uuid {
        return Ok(now);
    }
    Err(Error::Conflict {
        operation,
        rule: "a commit is for the table that was opened",
        why: format!(
            "{} was dropped and made anew: its uuid is {}, not {}",
            table.ident, now.metadata.table_uuid, table.metadata.table_uuid
        ),
        ours: head(table),
        theirs: head(&now),
    })
}

/// The current snapshot of a table, for a message.
fn head(table: &Table) -> String {
    table.metadata.current_snapshot_id.map_or("none".to_string(), |id| id.to_string())
}

fn lost(operation: &'static str, table: &Table, now: &Table, why: String, tried: u64) -> Error {
    Error::Conflict {
        operation,
        rule: "a commit is given up after commit.retry.num-retries lost races",
        why: format!("{why}, and {tried} retries were lost too"),
        ours: head(table),
        theirs: head(now),
    }
}

fn wait(warehouse: &Warehouse, table: &Table, tried: u64) -> Duration {
    let least = table.metadata.number("commit.retry.min-wait-ms", 100);
    let most = table.metadata.number("commit.retry.max-wait-ms", 60_000);
    let doubled = least.saturating_mul(1 << tried.min(32)).min(most);
    Duration::from_millis(doubled - warehouse.stamp.chance(doubled / 2 + 1))
}

/// Deletes files that no metadata names. Only for files of an attempt that is proven lost. What
/// cannot be deleted stays behind as an orphan, which is untidy and harms nothing.
pub fn discard(warehouse: &Warehouse, files: &[Location]) {
    for file in files {
        let _ = warehouse.store.delete(file.normal());
    }
}

/// Deletes what a verb wrote, if its failure proves that no commit names it. Every error proves that
/// but one: a catalog that cannot say whether it swapped says [`Error::Unknown`].
pub fn discard_after<T>(
    warehouse: &Warehouse,
    result: Result<T>,
    files: impl FnOnce() -> Vec<Location>,
) -> Result<T> {
    match &result {
        Ok(_) | Err(Error::Unknown { .. }) => {}
        Err(_) => discard(warehouse, &files()),
    }
    result
}
