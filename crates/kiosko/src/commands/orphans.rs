//! `kiosko orphans`: files that no snapshot needs.

use super::{Opened, print};
use crate::cli;
use kiosko::Result;
use ops::orphans::{self, Orphan};

pub fn run(catalog: &Opened<'_>, words: &cli::Orphans) -> Result<()> {
    let (warehouse, table) = catalog.table(&words.table)?;
    let plan = orphans::plan(&warehouse, &table, words.older_than)?;
    for orphan in &plan.orphans {
        print::line(format!("{}   {} bytes", orphan.path, orphan.size))?;
    }
    print::line(format!(
        "{}: {} orphans ({}), and {} among the metadata ({}); {} files needed, {} too young to tell",
        table.ident,
        plan.data().count(),
        bytes(plan.data()),
        plan.metadata().count(),
        bytes(plan.metadata()),
        plan.needed,
        plan.too_young.len(),
    ))?;
    if !words.delete {
        return print::line("nothing was deleted; --delete does");
    }
    let deleted = orphans::run(&warehouse, &table, &plan)?;
    print::line(format!("{} files deleted ({})", deleted.len(), bytes(deleted.iter())))
}

fn bytes<'a>(orphans: impl Iterator<Item = &'a Orphan>) -> String {
    format!("{} bytes", orphans.map(|orphan| orphan.size).sum::<u64>())
}
