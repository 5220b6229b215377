//! Expire: forget snapshots.
//!
//! ```text
//!   plan    which snapshots go, which stay and why      decides, touches nothing
//!   run     one commit that forgets them                metadata only; every file stays
//!   clean   delete the files that only they needed      last, after a fresh look at the table
//! ```
//!
//! `run` is what PyIceberg's `expire_snapshots().by_ids(..).commit()` does: afterwards the files of the
//! forgotten snapshots lie there as orphans. `clean` is what Java does besides.

use crate::commit::{self, Attempt};
use crate::reach::{self, Kind};
use crate::{Error, Result, orphans};
use catalog::{Table, Warehouse};
use meta::Location;
use meta::metadata::TableMetadata;
use meta::update::Update;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Which snapshots would go, and why the others stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The snapshots to forget.
    pub expire: BTreeSet<i64>,
    /// The snapshots that stay, each with the reason, the oldest first.
    pub keep: Vec<(i64, String)>,
}

/// Plans to forget exactly these snapshots.
///
/// # Errors
/// [`Error::Invalid`] for an id that the table does not have, or that a branch or tag names: a
/// protected snapshot is an error, not a skip.
pub fn plan(metadata: &TableMetadata, ids: &BTreeSet<i64>) -> Result<Plan> {
    if let Some(stranger) = ids.iter().find(|id| metadata.snapshot(**id).is_none()) {
        let why = "the table has no such snapshot; it may have expired already";
        return Err(Error::invalid(format!("expiring snapshot {stranger}"), why));
    }
    let named = metadata.refs.iter().find(|(_, reference)| ids.contains(&reference.snapshot_id));
    if let Some((name, reference)) = named {
        let id = reference.snapshot_id;
        let why = format!("{name:?} names it, so it is protected; move or drop {name:?} first");
        return Err(Error::invalid(format!("expiring snapshot {id}"), why));
    }
    let stays = metadata.snapshots.iter().filter(|snapshot| !ids.contains(&snapshot.snapshot_id));
    let keep = stays.map(|snapshot| {
        let id = snapshot.snapshot_id;
        let name = metadata.refs.iter().find(|(_, reference)| reference.snapshot_id == id);
        let why = match name {
            Some((name, _)) => format!("{name} names it"),
            None => "not asked for".to_string(),
        };
        (id, why)
    });
    Ok(Plan { expire: ids.clone(), keep: keep.collect() })
}

/// Forgets the plan's snapshots in one commit, and returns the table after it. No file is deleted.
///
/// The plan is made again on the table as it is at each attempt: a rival may have tagged one of the
/// snapshots meanwhile.
///
/// # Errors
/// As [`plan`] and [`commit::commit`].
pub fn run(warehouse: &Warehouse, table: &Table, plan: &Plan) -> Result<Table> {
    if plan.expire.is_empty() {
        return Ok(table.clone());
    }
    commit::commit(warehouse, "expire", table, |table| {
        let plan = self::plan(&table.metadata, &plan.expire)?;
        Ok(Attempt {
            requirements: Vec::new(),
            updates: vec![Update::RemoveSnapshots(plan.expire)],
            garbage: Vec::new(),
        })
    })
}

/// A file that was deleted, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cleaned {
    /// The file.
    pub path: Location,
    /// What it was to the table.
    pub kind: Kind,
}

/// The files that only the plan's snapshots need: what [`clean`] would delete after [`run`].
///
/// # Errors
/// As [`clean`].
pub fn surplus(warehouse: &Warehouse, table: &Table, plan: &Plan) -> Result<Vec<Cleaned>> {
    let mut without = table.metadata.as_ref().clone();
    without.snapshots.retain(|snapshot| !plan.expire.contains(&snapshot.snapshot_id));
    let ids = &plan.expire;
    without.statistics.retain(|file| !ids.contains(&file.snapshot_id));
    without.partition_statistics.retain(|file| !ids.contains(&file.snapshot_id));
    difference(warehouse, table, &Table { metadata: Arc::new(without), ..table.clone() })
}

/// Deletes the files that `before` needed and the table does not need any more. `before` is the table
/// from before the expiry; the table of now is loaded afresh, so that whatever was committed meanwhile
/// counts.
///
/// # Errors
/// [`Error::Invalid`] when the table forbids it (`gc.enabled`), when another table of the catalog shares
/// its folder or cannot be asked what it needs, or when a file to delete lies outside the table's folder,
/// which nobody asked to clean; otherwise what the store says. Files that are gone already are passed
/// over, so a clean-up that was cut short can be done again; so can the orphan hunt, which takes the
/// rest.
pub fn clean(warehouse: &Warehouse, before: &Table) -> Result<Vec<Cleaned>> {
    let now = warehouse.catalog.load_table(&before.ident)?;
    let cleaned = difference(warehouse, before, &now)?;
    for file in &cleaned {
        match warehouse.store.delete(file.path.normal()) {
            Ok(()) | Err(store::Error::NotFound { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(cleaned)
}

/// What `before` needs and `now` does not, in the order to delete it: from the leaves up, so that
/// a crash in between leaves files whose manifests still tell of them.
fn difference(warehouse: &Warehouse, before: &Table, now: &Table) -> Result<Vec<Cleaned>> {
    let refuse =
        |why: &str| Err(Error::invalid(format!("deleting files of {}", before.ident), why));
    orphans::refuse_forbidden(now)?;
    if now.metadata.table_uuid != before.metadata.table_uuid {
        return refuse("the table was dropped and made anew meanwhile");
    }
    let store = warehouse.store.as_ref();
    let rivals = orphans::rivals(warehouse, now)?;
    let needed = orphans::with_rivals(store, reach::reachable(store, now)?, &rivals)?;
    let mut surplus: Vec<_> = reach::remains(store, before)?
        .into_iter()
        .filter(|(path, kind)| !needed.contains_key(path) && *kind != Kind::Metadata)
        .map(|(path, kind)| Cleaned { path, kind })
        .collect();
    if let Some(stray) = surplus.iter().find(|file| !now.metadata.location.holds(&file.path)) {
        let folder = &now.metadata.location;
        return refuse(&format!("{} lies outside the table's folder {folder}", stray.path));
    }
    surplus.sort_by_key(|file| std::cmp::Reverse(file.kind));
    Ok(surplus)
}
