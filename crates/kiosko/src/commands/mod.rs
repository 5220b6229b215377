//! One file per command. Each reads its words, calls a verb, and prints what came of it.

mod check;
mod compact;
mod expire;
mod inspect;
mod orphans;
mod print;
mod project;
mod scan;
mod tables;
mod tree;

use crate::cli::{Cli, Command, Project};
use catalog::{Table, TableIdent, Warehouse};
use kiosko::{Error, Result, open};
use std::path::{Path, PathBuf};

/// Does what the words say.
pub fn run(cli: Cli) -> Result<()> {
    let catalog = Opened { cli: &cli };
    match &cli.command {
        Command::Project(Project::MaintainedTable(words)) => project::run(words),
        Command::Tables(output) => tables::run(&catalog, output),
        Command::Tree { table } => tree::run(&catalog, table),
        Command::Scan(words) => scan::run(&catalog, words),
        Command::Inspect { table, what, output } => inspect::run(&catalog, table, *what, output),
        Command::Check { table } => check::run(&catalog, table),
        Command::Expire(words) => expire::run(&catalog, words),
        Command::Orphans(words) => orphans::run(&catalog, words),
        Command::Compact(words) => compact::run(&catalog, words),
    }
}

/// The catalog that the words name, opened when a command asks for it.
struct Opened<'a> {
    cli: &'a Cli,
}

impl Opened<'_> {
    fn warehouse(&self) -> Result<Warehouse> {
        let path = match &self.cli.catalog {
            Some(uri) => open::sqlite_path(uri)?,
            None => default_catalog()?,
        };
        open::open_catalog(&path, self.cli.catalog_name.as_deref(), None, &self.cli.mount)
    }

    fn table(&self, ident: &str) -> Result<(Warehouse, Table)> {
        let warehouse = self.warehouse()?;
        let table = warehouse.catalog.load_table(&ident.parse::<TableIdent>()?)?;
        Ok((warehouse, table))
    }
}

/// The catalog that a learner has just made: here, or in the project's folder.
fn default_catalog() -> Result<PathBuf> {
    let places = ["kiosko_catalog.db", "kiosko-maintained-table/kiosko_catalog.db"];
    let found = places.iter().map(Path::new).find(|path| path.exists());
    found.map(Path::to_path_buf).ok_or_else(|| {
        Error::Refused(format!(
            "there is no catalog here: neither {}. Name one with --catalog sqlite:///path.db, or make \
             one with `kiosko project maintained-table`",
            places.join(" nor ")
        ))
    })
}
