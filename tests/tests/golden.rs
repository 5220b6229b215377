//! Golden scripts: `tests/scripts/*`. Each command runs in both worlds, which must answer the same,
//! and after each command that changes something the whole tree is printed. Expected output is not
//! written by hand: `UPDATE_GOLDENFILES=1 cargo test -p kiosko-tests --test golden` writes it, a
//! person reads it.

#![expect(clippy::unwrap_used, reason = "a script that cannot set its scene should stop")]
#![expect(clippy::panic, reason = "two worlds that differ should stop the test")]
#![expect(clippy::indexing_slicing, reason = "a run has a first line")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex};

use catalog::{Table, Warehouse};
use kiosko_tests::{Double, Whim, World, folder, ident, new_table, rows};
use meta::Location;
use meta::snapshot::{RefKind, SnapshotRef};
use meta::update::Update;
use ops::scan::Scan;
use ops::tree::{Style, snapshot_label};
use ops::{compact, expire, orphans};
use store::{Recording, put_new};

type Answer = Result<String, Box<dyn Error>>;

macro_rules! scripts {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )*
        const SCRIPTS: &[&str] = &[$(stringify!($name)),*];
    };
}

scripts! {
    append,
    calls,
    compact_small_files,
    conflicts,
    empty_tables,
    errors,
    expire_snapshots,
    maintained_table,
    orphan_files,
    overwrite,
    time_travel,
}

fn run(name: &str) {
    let path = scripts_folder().join(name);
    goldenscript::run(&mut Mirror { worlds: World::both().map(Script::new) }, path).unwrap();
}

fn scripts_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts")
}

#[test]
fn every_script_is_run() {
    let entries = std::fs::read_dir(scripts_folder()).unwrap();
    let there: BTreeSet<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(there, SCRIPTS.iter().map(ToString::to_string).collect());
}

/// What a script can say. `T` is a table, `s3` the snapshot with sequence number 3.
#[derive(Debug, Clone, goldenscript::Command)]
enum Command {
    /// `create T [at=FOLDER] [PROPERTY=VALUE ...]`
    Create(String, #[arg(key, optional, many)] BTreeMap<String, String>),
    /// `append T rows=N,N,...`: a batch each. With `stale=true`, here and below, on top of the table
    /// as it was when it was last remembered.
    Append {
        table: String,
        #[arg(key)]
        rows: String,
        #[arg(key, optional)]
        stale: bool,
    },
    /// `remember T`: a handle of the table as it is now.
    Remember(String),
    /// `append_column T COLUMN`: a row with a column that the table does not have.
    AppendColumn(String, String),
    /// `overwrite T rows=N`
    Overwrite {
        table: String,
        #[arg(key)]
        rows: usize,
        #[arg(key, optional)]
        stale: bool,
    },
    /// `expire T SNAPSHOT ...`, or `expire T keep=S,S`; with `clean=true` files go, too. `dry` tells
    /// only what would go.
    Expire {
        table: String,
        #[arg(optional, many)]
        ids: Vec<String>,
        #[arg(key)]
        keep: Option<String>,
        #[arg(key, optional)]
        clean: bool,
        #[arg(key, optional)]
        dry: bool,
    },
    /// `tag T NAME SNAPSHOT`
    Tag(String, String, String),
    /// `orphans T [delete] [age_days=N]`
    Orphans {
        table: String,
        delete: Option<String>,
        #[arg(key)]
        age_days: Option<i64>,
    },
    /// `compact T [min=FILES] [large=ROWS]`: files of at least so many rows are large enough.
    Compact {
        table: String,
        #[arg(key)]
        min: Option<usize>,
        #[arg(key)]
        large: Option<i64>,
        #[arg(key, optional)]
        stale: bool,
    },
    /// `scan T [snapshot=S] [columns=A,B]`
    Scan {
        table: String,
        #[arg(key)]
        snapshot: Option<String>,
        #[arg(key)]
        columns: Option<String>,
    },
    /// `history T`: which snapshots were current, the oldest first.
    History(String),
    /// `files T`: how many data files any snapshot shows, how many the current one, how many lie there.
    Files(String),
    /// `check T`
    Check(String),
    /// `tree T`
    Tree(String),
    /// `calls`: what the store and the pointer were asked since the last time.
    Calls,
    /// `wait days=N`
    Wait {
        #[arg(key)]
        days: u64,
    },
    /// `write T rows=N`: data files of a writer that has not committed yet.
    Write {
        table: String,
        #[arg(key)]
        rows: usize,
    },
    /// `stray T PATH`: a file below the table's folder that nobody knows.
    Stray(String, String),
    /// `twin T PATH`: a copy of the newest data file, under the same name in another place.
    Twin(String, String),
    /// `lose T`: the newest data file goes behind the table's back.
    Lose(String),
}

/// Both worlds at once.
struct Mirror {
    worlds: [Script; 2],
}

impl goldenscript::Runner for Mirror {
    type Command = Command;

    fn run(&mut self, command: &Command, _: &goldenscript::Context) -> Answer {
        let [disk, memory] = &mut self.worlds;
        let answers = [disk.run(command), memory.run(command)];
        let told = answers.each_ref().map(|answer| match answer {
            Ok(text) => text.clone(),
            Err(error) => format!("Error: {error}"),
        });
        let [on_disk, in_memory] = &told;
        if on_disk != in_memory {
            panic!("{command:?}\n--- on disk\n{on_disk}\n--- in memory\n{in_memory}");
        }
        let [answer, _] = answers;
        answer
    }

    fn end_script(&mut self) -> Result<(), Box<dyn Error>> {
        self.worlds.iter().for_each(Script::verify);
        Ok(())
    }
}

/// One world, and what the script needs to remember of it.
struct Script {
    world: World,
    client: Warehouse,
    log: Arc<Log>,
    labels: Labels,
    next_row: i64,
    remembered: Option<Table>,
    /// A script that damaged its table on purpose does not verify it any more.
    damaged: bool,
}

/// The calls of store and pointer, in the order they were made.
struct Log {
    recording: Arc<Recording>,
    lines: Mutex<Vec<String>>,
}

impl Log {
    /// The pointer is asked something: first what the store was asked before.
    fn note(&self, call: &str) {
        let mut lines = self.lines.lock().unwrap();
        lines.extend(self.recording.take());
        lines.push(call.to_string());
    }

    fn peek(&self) -> Vec<String> {
        let mut lines = self.lines.lock().unwrap();
        lines.extend(self.recording.take());
        lines.clone()
    }

    fn take(&self) -> Vec<String> {
        self.peek();
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

impl Script {
    fn new(world: World) -> Script {
        let recording = Arc::new(Recording::new(world.shared_store()));
        let log = Arc::new(Log { recording: recording.clone(), lines: Mutex::default() });
        let noted = log.clone();
        let hook = Arc::new(move |call: &str| noted.note(call));
        let pointer = Double::hooked(world.pointer(), Whim::Honest, hook);
        let client = world.client_with(pointer, recording);
        let labels = Labels::default();
        Script { world, client, log, labels, next_row: 1, remembered: None, damaged: false }
    }

    fn verify(&self) {
        if !self.damaged {
            self.world.verify();
        }
    }

    /// Runs a command, then looks whether the world is sound; names that chance made are replaced.
    fn run(&mut self, command: &Command) -> Answer {
        let asked = self.answer(command);
        self.verify();
        for table in self.world.tables() {
            self.labels.learn(&table);
        }
        // Files are numbered as they were made, whether a script asks for the calls or not.
        for line in self.log.peek() {
            self.labels.scrub(&line, &self.world);
        }
        match asked {
            Ok(text) => Ok(self.labels.scrub(&text, &self.world)),
            Err(error) => Err(self.labels.scrub(&error.to_string(), &self.world).into()),
        }
    }

    fn answer(&mut self, command: &Command) -> Answer {
        // What `calls` tells is what the command itself asked, without what is asked to print it.
        if !matches!(command, Command::Calls) {
            self.log.take();
        }
        match command {
            Command::Create(name, properties) => self.create(name, properties.clone()),
            Command::Append { table, rows, stale } => {
                let counts: Vec<usize> =
                    rows.split(',').map(str::parse).collect::<Result<_, _>>()?;
                let rows: Vec<_> = counts.into_iter().map(|count| self.fresh_rows(count)).collect();
                ops::append::append(&self.client, &self.base(table, *stale)?, &rows)?;
                self.tree(table)
            }
            Command::Remember(table) => {
                self.remembered = Some(self.load(table)?);
                Ok(String::new())
            }
            Command::AppendColumn(table, column) => {
                let values = Arc::new(arrow_array::Int64Array::from(vec![1]));
                let rows = arrow_array::RecordBatch::try_from_iter([(column, values as _)])?;
                ops::append::append(&self.client, &self.load(table)?, &[rows])?;
                self.tree(table)
            }
            Command::Overwrite { table, rows, stale } => {
                let rows = self.fresh_rows(*rows);
                ops::overwrite::overwrite(&self.client, &self.base(table, *stale)?, &[rows])?;
                self.tree(table)
            }
            Command::Expire { table, ids, keep, clean, dry } => {
                self.expire(table, ids, keep.as_deref(), *clean, *dry)
            }
            Command::Tag(table, name, snapshot) => self.tag(table, name, snapshot),
            Command::Orphans { table, delete, age_days } => {
                self.orphans(table, delete.is_some(), *age_days)
            }
            Command::Compact { table, min, large, stale } => {
                self.compact(table, *min, *large, *stale)
            }
            Command::Scan { table, snapshot, columns } => {
                self.scan(table, snapshot.as_deref(), columns.as_deref())
            }
            Command::History(table) => {
                let table = self.world.table(table);
                let label = |entry: &meta::metadata::SnapshotLogEntry| {
                    let kept = table.metadata.snapshot(entry.snapshot_id);
                    kept.map_or("gone".to_string(), snapshot_label)
                };
                let log: Vec<_> = table.metadata.snapshot_log.iter().map(label).collect();
                Ok(format!("{} entries: {}", log.len(), log.join(" ")))
            }
            Command::Files(name) => {
                let (table, store) = (self.world.table(name), self.world.store());
                let tracked = ops::inspect::all_data_files(store, &table)?.num_rows();
                let live = ops::inspect::files(store, &table)?.num_rows();
                let there = self.world.files(name);
                let there = there.iter().filter(|path| path.ends_with(".parquet")).count();
                Ok(format!("{tracked} tracked, {live} live, {there} there"))
            }
            Command::Check(table) => {
                let faults = ops::check::check(self.world.store(), &self.world.table(table));
                Ok(if faults.is_empty() { "sound".into() } else { kiosko_tests::show(&faults) })
            }
            Command::Tree(table) => self.tree(table),
            Command::Calls => {
                let lines = self.log.take();
                let mut lines: Vec<_> =
                    lines.iter().map(|line| self.labels.scrub(line, &self.world)).collect();
                lines.dedup(); // how often a file's bytes are fetched is the Parquet library's affair
                Ok(in_order(lines).join("\n"))
            }
            Command::Wait { days } => {
                self.world.stamp.sleep(std::time::Duration::from_secs(days * 24 * 60 * 60));
                Ok(String::new())
            }
            Command::Write { table, rows } => {
                let table = self.load(table)?;
                let rows = self.fresh_rows(*rows);
                let write = self.world.stamp.uuid();
                let rows = std::iter::once(Ok(rows));
                let files = ops::write::data_files(&self.client, &table.metadata, write, rows)?;
                let path = |file: &meta::data_file::DataFile| file.file_path.to_string();
                Ok(format!("wrote {}", files.iter().map(path).collect::<Vec<_>>().join(", ")))
            }
            Command::Stray(table, path) => {
                self.world.stray(table, path);
                Ok(String::new())
            }
            Command::Twin(table, path) => {
                let file = self.newest_data_file(table);
                let bytes = self.world.store().read(file.normal())?;
                put_new(
                    self.world.store(),
                    &format!("{}/{path}/{}", folder(table), file.name()),
                    &bytes,
                )?;
                Ok(String::new())
            }
            Command::Lose(table) => {
                self.damaged = true;
                self.world.store().delete(self.newest_data_file(table).normal())?;
                self.tree(table)
            }
        }
    }

    fn load(&self, name: &str) -> Result<Table, Box<dyn Error>> {
        Ok(self.client.catalog.load_table(&ident(name))?)
    }

    /// What a verb is told to begin from.
    fn base(&self, name: &str, stale: bool) -> Result<Table, Box<dyn Error>> {
        match (&self.remembered, stale) {
            (Some(table), true) => Ok(table.clone()),
            (None, true) => Err("nothing was remembered".into()),
            (_, false) => self.load(name),
        }
    }

    /// Rows that no command wrote before.
    fn fresh_rows(&mut self, count: usize) -> arrow_array::RecordBatch {
        self.next_row += count as i64;
        rows::batch(self.next_row - count as i64, count)
    }

    fn tree(&mut self, name: &str) -> Answer {
        let table = self.world.table(name);
        Ok(ops::tree::draw(self.world.store(), &table, Style::BARE)?.text)
    }

    fn create(&mut self, name: &str, mut properties: BTreeMap<String, String>) -> Answer {
        let at = properties.remove("at");
        let location =
            at.map(|at| Location::parse(&format!("file://{}", folder(&at)))).transpose()?;
        let table = catalog::NewTable { properties, location, ..new_table(&[]) };
        let name = if name.contains('.') { name.parse()? } else { ident(name) };
        self.client.catalog.create_table(&name, table)?;
        self.tree(&name.name)
    }

    /// The id of `s3`, or the number itself.
    fn snapshot_id(&self, table: &str, label: &str) -> Result<i64, Box<dyn Error>> {
        let table = self.world.table(table);
        let mut all = table.metadata.snapshots.iter();
        match all.find(|snapshot| snapshot_label(snapshot) == label) {
            Some(snapshot) => Ok(snapshot.snapshot_id),
            // One that is gone has no label in the table any more.
            None => match self.labels.snapshot(label) {
                Some(id) => Ok(id),
                None => Ok(label.trim_start_matches('s').parse()?),
            },
        }
    }

    fn expire(
        &mut self,
        name: &str,
        labels: &[String],
        keep: Option<&str>,
        clean: bool,
        dry: bool,
    ) -> Answer {
        let ids = |labels: Vec<&str>| -> Result<BTreeSet<i64>, Box<dyn Error>> {
            labels.into_iter().map(|label| self.snapshot_id(name, label)).collect()
        };
        let mut expired = ids(labels.iter().map(String::as_str).collect())?;
        let before = self.load(name)?;
        if let Some(keep) = keep {
            let keep = ids(keep.split(',').collect())?;
            let all = before.metadata.snapshots.iter().map(|snapshot| snapshot.snapshot_id);
            expired.extend(all.filter(|id| !keep.contains(id)));
        }
        let plan = expire::plan(&before.metadata, &expired)?;
        if dry {
            let mut out = String::new();
            for (id, why) in &plan.keep {
                let kept = before.metadata.snapshot(*id).unwrap();
                writeln!(out, "keep {}: {why}", snapshot_label(kept))?;
            }
            let surplus = expire::surplus(&self.client, &before, &plan)?;
            return Ok(format!(
                "{out}would delete {} files\n{}",
                surplus.len(),
                self.list(&surplus)
            ));
        }
        expire::run(&self.client, &before, &plan)?;
        let mut out = String::new();
        if clean {
            let cleaned = expire::clean(&self.client, &before)?;
            writeln!(out, "deleted {} files", cleaned.len())?;
            out.push_str(&self.list(&cleaned));
        }
        Ok(out + &self.tree(name)?)
    }

    fn list(&mut self, files: &[expire::Cleaned]) -> String {
        let line = |file: &expire::Cleaned| format!("delete {}", file.path);
        let lines = files.iter().map(line).map(|line| self.labels.scrub(&line, &self.world));
        in_order(lines.collect()).into_iter().map(|line| format!("  {line}\n")).collect()
    }

    fn tag(&mut self, table: &str, name: &str, snapshot: &str) -> Answer {
        let snapshot_id = self.snapshot_id(table, snapshot)?;
        let tag = SnapshotRef { kind: RefKind::Tag, ..SnapshotRef::branch(snapshot_id) };
        let updates = [Update::SetSnapshotRef(name.to_string(), tag)];
        let _won = self.client.catalog.commit(&self.load(table)?, &[], &updates)?;
        self.tree(table)
    }

    fn orphans(&mut self, name: &str, delete: bool, age_days: Option<i64>) -> Answer {
        let age_ms = age_days.map_or(orphans::DEFAULT_AGE_MS, |days| days * 24 * 60 * 60 * 1000);
        let table = self.load(name)?;
        let plan = orphans::plan(&self.client, &table, age_ms)?;
        let mut out = format!(
            "{} needed, {} orphans, {} too young\n",
            plan.needed,
            plan.orphans.len(),
            plan.too_young.len()
        );
        // By their labels, as the names themselves are made by chance.
        let mut lines: Vec<_> =
            plan.orphans.iter().map(|file| format!("  orphan {}\n", file.path)).collect();
        lines.extend(plan.too_young.iter().map(|file| format!("  young {}\n", file.path)));
        let mut lines: Vec<_> =
            lines.iter().map(|line| self.labels.scrub(line, &self.world)).collect();
        lines.sort_by_key(|line| by_number(line));
        lines.iter().for_each(|line| out.push_str(line));
        if delete {
            let deleted = orphans::run(&self.client, &table, &plan)?;
            writeln!(out, "deleted {} files", deleted.len())?;
            out.push_str(&self.tree(name)?);
        }
        Ok(out)
    }

    fn compact(
        &mut self,
        name: &str,
        min: Option<usize>,
        large: Option<i64>,
        stale: bool,
    ) -> Answer {
        let table = self.base(name, stale)?;
        let mut options = compact::Options::of(&table.metadata);
        options.min_input_files = min.unwrap_or(options.min_input_files);
        if let (Some(rows), Some(snapshot)) = (large, table.metadata.current_snapshot()) {
            let live = ops::load::live_data_files(self.world.store(), snapshot)?;
            let large = live.iter().filter(|entry| entry.data_file.record_count >= rows);
            let smallest = large.map(|entry| entry.data_file.file_size_in_bytes).min();
            options.target_file_size = u64::try_from(smallest.ok_or("no file is large")?)?;
        }
        self.log.take();
        let plan = compact::plan(self.client.store.as_ref(), &table, &options)?;
        compact::run(&self.client, &table, &plan)?;
        let mut out = String::new();
        for bin in &plan.bins {
            let rows: Vec<_> = bin.iter().map(|file| file.record_count.to_string()).collect();
            writeln!(out, "bin of {} files: {} rows", bin.len(), rows.join(" + "))?;
        }
        for (file, why) in &plan.keep {
            writeln!(out, "keep a file of {} rows: {why}", file.record_count)?;
        }
        Ok(out + &self.tree(name)?)
    }

    fn scan(&mut self, name: &str, snapshot: Option<&str>, columns: Option<&str>) -> Answer {
        let snapshot_id = snapshot.map(|label| self.snapshot_id(name, label)).transpose()?;
        let columns = columns.map(|columns| columns.split(',').map(str::to_string).collect());
        let table = self.load(name)?;
        let scan = Scan { snapshot_id, columns };
        let batches = ops::scan::scan(&self.client.store, &table, &scan)?;
        let mut lines = Vec::new();
        if scan.columns.is_some() {
            for batch in batches {
                let batch = batch?;
                let schema = batch.schema();
                let names: Vec<_> = schema.fields().iter().map(|field| field.name()).collect();
                lines.push(format!("{} rows of {names:?}", batch.num_rows()));
            }
        } else {
            for batch in batches {
                lines.extend(rows::text(&batch?));
            }
        }
        Ok(if lines.is_empty() { "no rows".into() } else { lines.join("\n") })
    }

    /// The live data file with the highest data sequence number.
    fn newest_data_file(&self, name: &str) -> Location {
        let table = self.world.table(name);
        let head = table.metadata.current_snapshot().unwrap();
        let live = ops::load::live_data_files(self.world.store(), head).unwrap();
        let newest = live.into_iter().max_by_key(|entry| entry.sequence_number).unwrap();
        newest.data_file.file_path
    }
}

/// A line with a label, so that `<list 10>` comes after `<list 9>`.
fn by_number(line: &str) -> (String, Option<usize>) {
    let (rest, number) = line.rsplit_once(' ').unwrap_or((line, ""));
    match number.trim_end_matches(['>', '\n']).parse() {
        Ok(number) => (rest.to_string(), Some(number)),
        Err(_) => (line.to_string(), None),
    }
}

/// Files of one kind are deleted in the order of their names, which chance made: here in that of their
/// labels. The order of the kinds stays.
fn in_order(lines: Vec<String>) -> Vec<String> {
    let kind = |line: &str| line.rsplit_once(' ').map(|(kind, _)| kind.to_string());
    let mut out: Vec<Vec<String>> = Vec::new();
    for line in lines {
        match out.last_mut() {
            Some(run) if line.starts_with("delete") && kind(&run[0]) == kind(&line) => {
                run.push(line)
            }
            _ => out.push(vec![line]),
        }
    }
    out.iter_mut().for_each(|run| run.sort_by_key(|line| by_number(line)));
    out.concat()
}

/// Stable names for what chance named: `<data 1>`, `<manifest 2>`, `<list 3>`, numbered as they are
/// first seen, and snapshots by their sequence number.
#[derive(Default)]
struct Labels {
    files: BTreeMap<String, String>,
    counts: BTreeMap<&'static str, usize>,
    snapshots: BTreeMap<i64, String>,
    tables: BTreeMap<String, String>,
}

impl Labels {
    fn learn(&mut self, table: &Table) {
        self.tables
            .insert(table.metadata.table_uuid.to_string(), format!("<{}>", table.ident.name));
        for snapshot in &table.metadata.snapshots {
            self.snapshots.insert(snapshot.snapshot_id, snapshot_label(snapshot));
        }
    }

    fn snapshot(&self, label: &str) -> Option<i64> {
        let mut all = self.snapshots.iter();
        all.find(|(_, known)| *known == label).map(|(id, _)| *id)
    }

    fn scrub(&mut self, text: &str, world: &World) -> String {
        let mut text = text.replace("file:///world", "/world");
        if world.kind() == kiosko_tests::Kind::SqliteDisk {
            // Errors of the disk name the place where someone can go and look.
            text = text.replace(world.folder().to_str().unwrap(), "/world");
        }
        let mut out = String::new();
        for word in text.split_inclusive([' ', '\n', ',', ';', ':', '"']) {
            let end =
                word.len() - word.trim_end_matches([' ', '\n', ',', ';', ':', '"', '.']).len();
            let (word, rest) = word.split_at(word.len() - end);
            out.push_str(&self.word(word));
            out.push_str(rest);
        }
        out
    }

    fn word(&mut self, word: &str) -> String {
        if let Some(label) = word.parse().ok().and_then(|id: i64| self.snapshots.get(&id)) {
            return label.clone();
        }
        if let Some(label) = self.tables.get(word) {
            return label.clone();
        }
        let (folder, name) = word.rsplit_once('/').unwrap_or(("", word));
        let short = folder.strip_prefix("/world/warehouse/shop/").unwrap_or(folder);
        let kind = match name {
            name if name.ends_with(".metadata.json") => {
                let version = meta::location::metadata_version(name).unwrap_or(0);
                return format!("{short}/<metadata {version}>");
            }
            name if name.starts_with("snap-") && name.ends_with(".avro") => "list",
            name if name.contains("-m") && name.ends_with(".avro") => "manifest",
            name if name.contains("-0-") && name.ends_with(".parquet") => "data",
            _ => return word.replace("/world/warehouse/shop/", ""),
        };
        let next = self.counts.entry(kind).or_default();
        let label = self.files.entry(name.to_string()).or_insert_with(|| {
            *next += 1;
            format!("<{kind} {next}>")
        });
        format!("{short}/{label}")
    }
}
