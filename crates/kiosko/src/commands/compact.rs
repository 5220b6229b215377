//! `kiosko compact`: small files become large ones.

use super::{Opened, print};
use crate::cli;
use kiosko::Result;
use ops::compact::{self, Options};

pub fn run(catalog: &Opened<'_>, words: &cli::Compact) -> Result<()> {
    let (warehouse, table) = catalog.table(&words.table)?;
    let own = Options::of(&table.metadata);
    let options = Options {
        target_file_size: words.target_file_size.unwrap_or(own.target_file_size),
        min_input_files: words.min_input_files,
    };
    let plan = compact::plan(warehouse.store.as_ref(), &table, &options)?;
    for (file, why) in &plan.keep {
        print::line(format!(
            "keep    {}   {} bytes, {why}",
            file.file_path, file.file_size_in_bytes
        ))?;
    }
    for (number, bin) in plan.bins.iter().enumerate() {
        for file in bin {
            let (path, rows) = (&file.file_path, file.record_count);
            print::line(format!("bin {:<3} {path}   {rows} rows", number + 1))?;
        }
    }
    let files = plan.bins.iter().map(Vec::len).sum::<usize>();
    if words.dry_run || plan.bins.is_empty() {
        let bins = plan.bins.len();
        return print::line(format!(
            "{}: {files} files in {bins} bins; nothing was done",
            table.ident
        ));
    }
    let after = compact::run(&warehouse, &table, &plan)?;
    let summary = after.metadata.current_snapshot().map(|snapshot| &snapshot.summary);
    let added = summary.and_then(|summary| summary.count("added-data-files")).unwrap_or(0);
    print::line(format!("{}: {files} files became {added}, with the same rows", after.ident))
}
