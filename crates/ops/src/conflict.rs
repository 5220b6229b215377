//! What a rival's commit forbids (specification, "Commit Conflict Resolution and Retry").
//!
//! A verb that read the table before it decided what to write must look, at every attempt, at what
//! came between. The rules, and who obeys them:
//!
//! ```text
//!                                                     append  overwrite  compact
//!   C1  the branch's history still leads back to         -        x         x
//!       the snapshot it began from
//!   C2  nobody added rows since (serializable)           -        x         -
//!   C3  nobody added delete files since                  -        x         x
//!   C4  every file it removes is still live              -        x         x     snapshot.rs
//! ```
//!
//! An append reads nothing, so nothing forbids it. A rival's compaction adds files and no rows, so
//! C2 lets it pass, and C4 finds what it took away.

use crate::{Error, Result, load};
use meta::manifest_list::ManifestContent;
use meta::metadata::TableMetadata;
use meta::snapshot::{Operation, Snapshot};
use store::Store;

/// What a verb cannot bear to have happened since it began.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// C2: no rows may have been added.
    pub no_new_rows: bool,
}

/// Checks C1 to C3 for a verb that began at the snapshot `start` (`None`: an empty table) and finds
/// the table as `now`.
///
/// # Errors
/// [`Error::Conflict`] naming both snapshots and the rule.
pub fn check(
    store: &dyn Store,
    operation: &'static str,
    start: Option<i64>,
    now: &TableMetadata,
    rules: Rules,
) -> Result<()> {
    let conflict = |rival: Option<&Snapshot>, rule, why: String| Error::Conflict {
        operation,
        rule,
        why,
        ours: start.map_or("none".into(), |id| id.to_string()),
        theirs: rival.map_or("none".into(), |rival| rival.snapshot_id.to_string()),
    };
    let mut rivals = Vec::new();
    // What the walk has come to: the start, in the end, unless a snapshot in between has expired. That
    // the start itself has expired hides nothing.
    let mut at = now.current_snapshot_id;
    for snapshot in now.ancestors(at) {
        if at == start {
            break;
        }
        rivals.push(snapshot);
        at = snapshot.parent_snapshot_id;
    }
    let reached = at == start;
    if !reached {
        let rule = "C1: the branch's history leads back to the snapshot it began from";
        let why = "the table was rolled back, or a snapshot since then has expired".to_string();
        return Err(conflict(now.current_snapshot(), rule, why));
    }
    for rival in rivals {
        for manifest in load::manifests(store, rival)? {
            if manifest.added_snapshot_id != rival.snapshot_id
                || manifest.counts.added_files == Some(0)
            {
                continue;
            }
            match manifest.content {
                ManifestContent::Deletes => {
                    let rule = "C3: nobody added delete files since";
                    let why = format!("{} lists new delete files", manifest.manifest_path);
                    return Err(conflict(Some(rival), rule, why));
                }
                ManifestContent::Data
                    if rules.no_new_rows && rival.summary.operation != Operation::Replace =>
                {
                    let rule = "C2: nobody added rows since";
                    let why = format!("{} lists new data files", manifest.manifest_path);
                    return Err(conflict(Some(rival), rule, why));
                }
                ManifestContent::Data => {}
            }
        }
    }
    Ok(())
}
