//! The words of the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

/// Apache Iceberg in small, readable Rust: look into tables, and keep them small.
///
/// A table is named namespace.table in a catalog. The catalog is a SQLite file as PyIceberg makes it;
/// without --catalog it is kiosko_catalog.db here, or in ./kiosko-maintained-table.
#[derive(Debug, Parser)]
#[command(name = "kiosko", version, max_term_width = 100, subcommand_required = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 conflict or unknown outcome, \
                        4 check found faults"
)]
pub struct Cli {
    /// The catalog: sqlite:///path.db, or the path (may also stand before the command, without the
    /// flag)
    #[arg(long, global = true, value_name = "URI")]
    pub catalog: Option<String>,
    /// The catalog's name inside the file, if it holds several
    #[arg(long, global = true, value_name = "NAME")]
    pub catalog_name: Option<String>,
    /// Read and write locations that begin with FROM under TO
    #[arg(long, global = true, value_name = "FROM=TO", value_parser = mount)]
    pub mount: Vec<(String, String)>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one of the guide's closing projects
    #[command(subcommand)]
    Project(Project),
    /// List the tables of the catalog
    #[command(after_help = "Example: kiosko --catalog sqlite:///kiosko_catalog.db tables")]
    Tables(Output),
    /// Draw a table as it is: pointer, snapshots, manifests, data files
    #[command(after_help = "Example: kiosko tree kiosko.dim_product")]
    Tree {
        /// The table
        table: String,
    },
    /// Read rows
    #[command(
        after_help = "Example: kiosko scan kiosko.dim_product --snapshot 4213760987 --format json"
    )]
    Scan(Scan),
    /// Show a table's own structure as rows
    #[command(after_help = "Example: kiosko inspect kiosko.dim_product history")]
    Inspect {
        /// The table
        table: String,
        /// What to show
        what: What,
        #[command(flatten)]
        output: Output,
    },
    /// Test a table's invariants: every metadata file, every data file's length
    #[command(after_help = "Example: kiosko check kiosko.dim_product")]
    Check {
        /// The table
        table: String,
    },
    /// Forget snapshots, and delete the files that only they needed
    #[command(
        after_help = "Example: kiosko expire kiosko.dim_product --keep 4213760987 --dry-run\n\
                            The current snapshot, and every one that a branch or tag names, always \
                            stays."
    )]
    Expire(Expire),
    /// Find files that no snapshot needs; delete them with --delete
    #[command(after_help = "Example: kiosko orphans kiosko.dim_product --older-than 7d --delete\n\
                            Use an age below three days only when nobody else writes to the table.")]
    Orphans(Orphans),
    /// Rewrite many small files into few large ones, with the same rows
    #[command(after_help = "Example: kiosko compact kiosko.fact_orders --dry-run")]
    Compact(Compact),
}

/// A closing project of the guide.
#[derive(Debug, Subcommand)]
pub enum Project {
    /// Module 7: snapshots, orphans, small files; made, counted, expired, removed, compacted
    #[command(after_help = "Example: kiosko project maintained-table --dir /tmp/k --nights 3")]
    MaintainedTable(MaintainedTable),
}

/// How to run the closing project of module 7.
#[derive(Debug, Args)]
pub struct MaintainedTable {
    /// The folder to make the catalog and the warehouse in
    #[arg(long, default_value = "kiosko-maintained-table")]
    pub dir: PathBuf,
    /// How many redundant nights
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub nights: u16,
    /// Fail at the first number that is not the guide's (the default for 5 nights)
    #[arg(long)]
    pub expect_guide: bool,
    /// Print the numbers, and hold them against nothing
    #[arg(long, conflicts_with = "expect_guide")]
    pub no_expect_guide: bool,
}

/// What to read.
#[derive(Debug, Args)]
pub struct Scan {
    /// The table
    pub table: String,
    /// The columns, separated by commas
    #[arg(long, value_delimiter = ',')]
    pub select: Option<Vec<String>>,
    /// The snapshot to read, by its id
    #[arg(long, value_name = "ID")]
    pub snapshot: Option<i64>,
    /// How many rows at most
    #[arg(long, value_name = "ROWS")]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub output: Output,
}

/// Which snapshots to forget.
#[derive(Debug, Args)]
pub struct Expire {
    /// The table
    pub table: String,
    /// Forget exactly these, by their ids, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "IDS", required_unless_present = "keep")]
    pub ids: Option<Vec<i64>>,
    /// Forget all but these and the protected ones
    #[arg(long, value_delimiter = ',', value_name = "IDS", conflicts_with = "ids")]
    pub keep: Option<Vec<i64>>,
    /// Leave the files in place, as PyIceberg does
    #[arg(long)]
    pub no_clean: bool,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// Which files to take for orphans.
#[derive(Debug, Args)]
pub struct Orphans {
    /// The table
    pub table: String,
    /// Only files older than this: 3d, 12h, 30m, 0
    #[arg(long, default_value = "3d", value_parser = age)]
    pub older_than: i64,
    /// Delete them (without it they are only listed)
    #[arg(long, conflicts_with = "dry_run")]
    pub delete: bool,
    /// List them, the default
    #[arg(long)]
    pub dry_run: bool,
}

/// What to compact.
#[derive(Debug, Args)]
pub struct Compact {
    /// The table
    pub table: String,
    /// How large a file should be, in bytes (default: the table's write.target-file-size-bytes)
    #[arg(long, value_name = "BYTES")]
    pub target_file_size: Option<u64>,
    /// How many small files make it worth it
    #[arg(long, value_name = "FILES", default_value_t = 5)]
    pub min_input_files: usize,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// How to print rows.
#[derive(Debug, Args)]
pub struct Output {
    /// A table for people, or rows for programs
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// A form for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A drawn table
    Table,
    /// One JSON list
    Json,
    /// One JSON object a line
    Jsonl,
    /// Comma-separated values with a header
    Csv,
}

/// A metadata table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum What {
    /// When the current snapshot changed
    History,
    /// Every retained snapshot
    Snapshots,
    /// The live files of the current snapshot
    Files,
    /// The live data files of every retained snapshot
    AllDataFiles,
}

/// Reads the arguments. A catalog that stands where the command is expected is put behind its flag:
/// `kiosko sqlite:///k.db tables`. Wrong usage ends the process with 2.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Cli {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let place = args.iter().position(|arg| arg.to_string_lossy().starts_with("sqlite:"));
    let flagged = place
        .and_then(|place| args.get(place.checked_sub(1)?))
        .is_some_and(|before| before.to_string_lossy().starts_with("--"));
    if let Some(place) = place.filter(|_| !flagged) {
        args.insert(place, "--catalog".into());
    }
    Cli::parse_from(args)
}

fn mount(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.is_empty() => Ok((from.into(), to.into())),
        _ => Err("write FROM=TO, such as file:///warehouse=fixtures/warehouse".into()),
    }
}

/// `3d`, `12h`, `30m`, `45s` or `0`, in milliseconds.
fn age(text: &str) -> Result<i64, String> {
    let (digits, unit) = match text.char_indices().last() {
        Some((_, c)) if c.is_ascii_digit() => (text, 1),
        Some((at, 's')) => (text.get(..at).unwrap_or_default(), 1000),
        Some((at, 'm')) => (text.get(..at).unwrap_or_default(), 60_000),
        Some((at, 'h')) => (text.get(..at).unwrap_or_default(), 3_600_000),
        Some((at, 'd')) => (text.get(..at).unwrap_or_default(), 86_400_000),
        _ => ("", 0),
    };
    match digits.parse::<u32>() {
        Ok(0) => Ok(0),
        Ok(number) if unit > 1 => Ok(i64::from(number) * unit),
        _ => Err("write a number and a unit: 3d, 12h, 30m, 45s; or 0".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_words_are_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_catalog_may_stand_before_the_command() {
        let args = ["kiosko", "sqlite:///k.db", "tables"].map(OsString::from);
        assert_eq!(parse(args).catalog.as_deref(), Some("sqlite:///k.db"));
        let args = ["kiosko", "tables", "--catalog", "sqlite:///k.db"].map(OsString::from);
        assert_eq!(parse(args).catalog.as_deref(), Some("sqlite:///k.db"));
    }

    #[test]
    fn ages_have_units() {
        assert_eq!(age("3d"), Ok(259_200_000));
        assert_eq!(age("0"), Ok(0));
        for text in ["", "3", "d", "-1d", "3w", "9999999999d"] {
            assert!(age(text).is_err(), "{text}");
        }
    }
}
