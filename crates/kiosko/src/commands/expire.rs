//! `kiosko expire`: forget snapshots, delete what only they needed.

use super::{Opened, print};
use crate::cli;
use catalog::Table;
use kiosko::Result;
use ops::expire;
use std::collections::BTreeSet;

pub fn run(catalog: &Opened<'_>, words: &cli::Expire) -> Result<()> {
    let (warehouse, table) = catalog.table(&words.table)?;
    let ids = chosen(&table, words)?;
    let plan = expire::plan(&table.metadata, &ids)?;
    let (verb, would) =
        if words.dry_run { ("would expire", "would be") } else { ("expired", "was") };
    // Before anything is forgotten: where cleaning is forbidden or cannot be planned, nothing is done.
    let surplus = match words.no_clean {
        true => Vec::new(),
        false => expire::surplus(&warehouse, &table, &plan)?,
    };
    if !words.dry_run {
        expire::run(&warehouse, &table, &plan)?;
    }
    for (id, why) in &plan.keep {
        print::line(format!("keep   {id}   {why}"))?;
    }
    for id in &plan.expire {
        print::line(format!("expire {id}"))?;
    }
    print::line(format!(
        "{}: {verb} {} of {} snapshots",
        table.ident,
        plan.expire.len(),
        table.metadata.snapshots.len()
    ))?;
    if words.no_clean {
        return print::line(format!(
            "no file {would} deleted; `kiosko orphans` finds what is left"
        ));
    }
    let cleaned = match words.dry_run {
        true => surplus,
        false => expire::clean(&warehouse, &table)?,
    };
    for file in &cleaned {
        print::line(format!("delete {}", file.path))?;
    }
    let would = if words.dry_run { "would be" } else { "were" };
    print::line(format!("{} files {would} deleted", cleaned.len()))
}

/// The snapshots to forget: those asked for, or all but those to keep and those that a branch or tag
/// names.
fn chosen(table: &Table, words: &cli::Expire) -> Result<BTreeSet<i64>> {
    if let Some(ids) = &words.ids {
        return Ok(ids.iter().copied().collect());
    }
    let keep: BTreeSet<i64> = words.keep.iter().flatten().copied().collect();
    let metadata = &table.metadata;
    if let Some(stranger) = keep.iter().find(|id| metadata.snapshot(**id).is_none()) {
        let what = format!("keeping snapshot {stranger}");
        return Err(ops::Error::invalid(what, "the table has no such snapshot").into());
    }
    let named: BTreeSet<i64> = metadata.refs.values().map(|r| r.snapshot_id).collect();
    let all = metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id);
    Ok(all.filter(|id| !keep.contains(id) && !named.contains(id)).collect())
}
