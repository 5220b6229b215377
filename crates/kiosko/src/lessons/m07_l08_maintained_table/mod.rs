//! Module 7, lesson 8: Kiosko's maintained table, end to end, with nothing left representative.
//!
//! # What you will see
//!
//! ```text
//!   kiosko.dim_product     append, overwrite                       3 snapshots
//!                          5 redundant nights                     13 snapshots, 7 files, 1 live
//!                          expire all but snap_v1 and the last     2 snapshots, 2 files
//!                          5 orphans found ... and removed         0 orphans
//!   kiosko.fact_orders_daily_batches
//!                          7 daily appends                         7 files, 40 rows, 106.15
//!                          compacted                               1 file,  40 rows, 106.15
//! ```
//!
//! # How it is verified
//!
//! The writer's variables prove nothing. After each step the catalog is opened again and the number is
//! read off the table on disk ([`Measured`]); at the end every number is held against the guide's
//! ([`Measured::expect_guide`]), in the order of its asserts.
//!
//! # Break it
//!
//! `--nights 3` gives 9 snapshots, 7 to expire; with `--expect-guide` the first number that differs is
//! named. Delete an order from `crates/kiosko/data/raw_orders.csv` and see the sum notice.

mod measured;

pub use measured::{Fact, Measured};

use crate::shop;
use crate::{Catalog, Error, Result, Table, load_catalog};
use measured::{fact, p002};
use ops::orphans::Orphan;
use std::io::Write;
use std::path::Path;

/// The product list.
pub const DIM_PRODUCT: &str = "kiosko.dim_product";
/// The orders, one append a day.
pub const FACT_ORDERS: &str = "kiosko.fact_orders_daily_batches";

/// How to run the project.
#[derive(Debug, Clone)]
pub struct Options<'a> {
    /// The folder to make the catalog and the warehouse in.
    pub dir: &'a Path,
    /// How many redundant nights; the guide has five.
    pub nights: usize,
    /// Whether every number must be the guide's.
    pub expect_guide: bool,
    /// The product list of the beginning, as CSV with a header.
    pub products_v1: &'a str,
    /// The product list after the change of P002, likewise.
    pub products_v2: &'a str,
    /// The orders, likewise.
    pub orders: &'a str,
}

impl<'a> Options<'a> {
    /// The guide's run, in this folder.
    pub fn guide(dir: &'a Path) -> Options<'a> {
        Options {
            dir,
            nights: 5,
            expect_guide: true,
            products_v1: shop::DIM_PRODUCT_V1,
            products_v2: shop::DIM_PRODUCT_V2,
            orders: shop::RAW_ORDERS,
        }
    }
}

/// Runs the project, prints what it sees, and returns what it measured.
///
/// # Errors
/// [`Error::Refused`] when the folder already holds the project's catalog; [`Error::Expectation`]
/// naming the first number that is not the guide's; otherwise whatever a verb says.
pub fn run(options: &Options<'_>, out: &mut dyn Write) -> Result<Measured> {
    let project = Project::new(options)?;
    let mut measured = Measured::default();
    say(out, "=== Kiosko: kiosko.dim_product, maintained end to end ===\n")?;
    project.history(&mut measured, out)?;
    project.expire(&mut measured, out)?;
    project.small_files(&mut measured, out)?;
    let removed = project.beyond_the_guide(&mut measured, out)?;
    if options.expect_guide {
        measured.expect_guide()?;
    }
    project.work_order(&measured, &removed, out)?;
    Ok(measured)
}

fn say(out: &mut dyn Write, text: impl std::fmt::Display) -> Result<()> {
    writeln!(out, "{text}").map_err(|e| Error::Refused(format!("printing: {e}")))
}

struct Project<'a> {
    options: &'a Options<'a>,
    uri: String,
    warehouse: String,
}

impl Project<'_> {
    fn new<'a>(options: &'a Options<'a>) -> Result<Project<'a>> {
        let dir = crate::open::absolute(options.dir)?;
        let file = dir.join("kiosko_catalog.db");
        // Files of an earlier warehouse would be counted, and removed, as orphans of this run.
        let places = [file.clone(), dir.join("kiosko_warehouse")];
        if let Some(place) = places.iter().find(|place| place.exists()) {
            return Err(Error::Refused(format!(
                "{} is there already, from an earlier run: this project builds everything from \
                 scratch, so its tables must not exist yet. Choose another folder with --dir, or \
                 remove {}",
                place.display(),
                dir.display()
            )));
        }
        std::fs::create_dir_all(&dir)
            .map_err(|e| Error::Refused(format!("making the folder {}: {e}", dir.display())))?;
        let project = Project {
            options,
            uri: format!("sqlite:///{}", file.display()),
            warehouse: format!("file://{}", dir.join("kiosko_warehouse").display()),
        };
        project.catalog()?.create_namespace("kiosko")?;
        Ok(project)
    }

    /// The catalog, opened anew: nothing that a writer remembers gets through here.
    fn catalog(&self) -> Result<Catalog> {
        load_catalog(
            "kiosko",
            &[("type", "sql"), ("uri", &self.uri), ("warehouse", &self.warehouse)],
        )
    }

    fn table(&self, ident: &str) -> Result<Table> {
        self.catalog()?.load_table(ident)
    }

    /// Steps 1 and 2: the change of P002, then nights that change nothing.
    fn history(&self, m: &mut Measured, out: &mut dyn Write) -> Result<()> {
        let v1 = shop::products(self.options.products_v1)?;
        let v2 = shop::products(self.options.products_v2)?;
        let mut table = self.catalog()?.create_table(DIM_PRODUCT, shop::dim_product_schema())?;
        table.append(&v1)?;
        table.overwrite(&v2)?;
        m.snapshots_after_m3 = self.table(DIM_PRODUCT)?.history().len();
        let n = m.snapshots_after_m3;
        say(out, format!("Step 1/8 -- module 3's state rebuilt: {n} snapshots, snap_v1 captured"))?;

        for _ in 0..self.options.nights {
            table.overwrite(&v2)?;
        }
        let table = self.table(DIM_PRODUCT)?;
        m.snapshots_before_expire = table.history().len();
        m.tracked_before = table.inspect().all_data_files()?.num_rows();
        m.live_before = table.inspect().files()?.num_rows();
        say(
            out,
            format!(
                "Step 2/8 -- {} redundant nights applied: {} snapshots, {} tracked files, {} live",
                self.options.nights, m.snapshots_before_expire, m.tracked_before, m.live_before
            ),
        )
    }

    /// The first snapshot of the product list: the one that the expiry spares.
    fn snap_v1(&self) -> Result<i64> {
        let table = self.table(DIM_PRODUCT)?;
        let first = table.history().first().map(|entry| entry.snapshot_id);
        first.ok_or_else(|| Error::Refused("dim_product has no history".into()))
    }

    /// Steps 3 to 6: forget eleven snapshots, see that nothing else was lost, count what they left.
    fn expire(&self, m: &mut Measured, out: &mut dyn Write) -> Result<()> {
        let mut table = self.table(DIM_PRODUCT)?;
        let snap_v1 = self.snap_v1()?;
        let current = table.current_snapshot().map(|snapshot| snapshot.snapshot_id);
        let ids = table.history().iter().map(|entry| entry.snapshot_id);
        let to_expire: Vec<_> = ids.filter(|id| *id != snap_v1 && Some(*id) != current).collect();
        m.to_expire = to_expire.len();
        say(
            out,
            format!(
                "Step 3/8 -- {} snapshots selected to expire (protected: snap_v1 and the current one)",
                m.to_expire
            ),
        )?;
        table.maintenance().expire_snapshots().by_ids(to_expire).commit()?;

        let table = self.table(DIM_PRODUCT)?;
        m.snapshots_after_expire = table.history().len();
        m.tracked_after = table.inspect().all_data_files()?.num_rows();
        say(
            out,
            format!(
                "Step 4/8 -- expire_snapshots().by_ids() run: {} snapshots, {} tracked files",
                m.snapshots_after_expire, m.tracked_after
            ),
        )?;

        m.p002_v1 = p002(&table.scan().snapshot_id(snap_v1).to_pylist()?)?;
        m.p002_now = p002(&table.scan().to_pylist()?)?;
        let ((category, cost), (category_now, cost_now)) = (&m.p002_v1, &m.p002_now);
        say(
            out,
            format!(
                "Step 5/8 -- AS OF snap_v1: P002={category}/{cost} | current: \
                 P002={category_now}/{cost_now}"
            ),
        )?;
        self.count_orphans(&table, m)?;
        let (count, bytes) = m.orphans;
        say(
            out,
            format!(
                "Step 6/8 -- {} physical files on disk, {count} orphans ({bytes} bytes)",
                m.on_disk
            ),
        )
    }

    fn count_orphans(&self, table: &Table, m: &mut Measured) -> Result<()> {
        let folder = table.metadata().location.join("data")?;
        m.on_disk = table.warehouse().store.list(folder.normal()).map_err(ops::Error::from)?.len();
        let plan = ops::orphans::plan(table.warehouse(), table.table(), 0)?;
        m.orphans = total(plan.data());
        m.metadata_orphans = total(plan.metadata());
        Ok(())
    }

    /// Step 7: seven days, seven appends, seven small files.
    fn small_files(&self, m: &mut Measured, out: &mut dyn Write) -> Result<()> {
        let mut table = self.catalog()?.create_table(FACT_ORDERS, shop::fact_orders_schema())?;
        for day in shop::orders_by_day(self.options.orders)? {
            table.append(&day)?;
        }
        m.fact = fact(&self.table(FACT_ORDERS)?, None)?;
        say(
            out,
            format!(
                "Step 7/8 -- {FACT_ORDERS}: {} rows, revenue={}, {} live files\n",
                m.fact.rows, m.fact.revenue, m.fact.files
            ),
        )
    }

    /// Step 8: the two operations that the guide could only describe, executed.
    fn beyond_the_guide(&self, m: &mut Measured, out: &mut dyn Write) -> Result<Vec<Orphan>> {
        let mut table = self.table(DIM_PRODUCT)?;
        let removed = table.maintenance().remove_orphan_files(0)?;
        let table = self.table(DIM_PRODUCT)?;
        let plan = ops::orphans::plan(table.warehouse(), table.table(), 0)?;
        m.orphans_left = plan.orphans.len();
        let (count, bytes) = total(removed.iter().filter(|orphan| !orphan.metadata));
        let (more, more_bytes) = total(removed.iter().filter(|orphan| orphan.metadata));
        say(
            out,
            format!(
                "Step 8/8 -- what the guide could only describe, executed:\n  \
                 remove_orphan_files: {count} data files deleted ({bytes} bytes), and {more} \
                 manifests and manifest lists ({more_bytes} bytes); {} orphans left\n    \
                 (The age limit was zero, because nobody else writes here. A real run waits three \
                 days:\n     a file that a writer has finished and not committed yet looks just \
                 like an orphan.)",
                m.orphans_left
            ),
        )?;

        let mut table = self.table(FACT_ORDERS)?;
        table.maintenance().rewrite_data_files()?;
        let table = self.table(FACT_ORDERS)?;
        m.fact_compacted = fact(&table, None)?;
        let before = table.current_snapshot().and_then(|snapshot| snapshot.parent_snapshot_id);
        m.fact_travelled = fact(&table, before)?;
        let Fact { rows, revenue, files, .. } = &m.fact_compacted;
        say(
            out,
            format!(
                "  rewrite_data_files: {} live files -> {files}, the same {rows} rows, \
                 revenue={revenue};\n    as of the snapshot before: {} files, {} rows, \
                 revenue={}\n",
                m.fact.files,
                m.fact_travelled.files,
                m.fact_travelled.rows,
                m.fact_travelled.revenue
            ),
        )?;
        for ident in [DIM_PRODUCT, FACT_ORDERS] {
            let table = self.table(ident)?;
            for snapshot in &table.metadata().snapshots {
                table.scan().snapshot_id(snapshot.snapshot_id).to_arrow()?;
            }
            m.faults += ops::check::check(table.warehouse().store.as_ref(), table.table()).len();
        }
        Ok(removed)
    }

    /// The order that the shop hands back with the vehicle: what was done, and what is left to do.
    fn work_order(&self, m: &Measured, removed: &[Orphan], out: &mut dyn Write) -> Result<()> {
        let (_, bytes) = total(removed.iter());
        let stores: Vec<_> = m
            .fact_compacted
            .by_store
            .iter()
            .map(|(name, sum)| format!("{name} {sum:.2}"))
            .collect();
        say(
            out,
            format!(
                "=== Work order ===\n\n\
                 Done today\n  \
                 expire_snapshots     {DIM_PRODUCT}: {} -> {} snapshots, {} forgotten\n    \
                 verified: P002 is {}/{:.2} as of snap_v1 and {}/{:.2} now\n  \
                 remove_orphan_files  {DIM_PRODUCT}: {} files deleted, {bytes} bytes freed\n    \
                 verified: {} orphans left, every row of both snapshots read again\n  \
                 rewrite_data_files   {FACT_ORDERS}: {} -> {} files\n    \
                 verified: {} rows, {:.2} in all ({}); {} broken invariants",
                m.snapshots_before_expire,
                m.snapshots_after_expire,
                m.to_expire,
                m.p002_v1.0,
                m.p002_v1.1,
                m.p002_now.0,
                m.p002_now.1,
                removed.len(),
                m.orphans_left,
                m.fact.files,
                m.fact_compacted.files,
                m.fact_compacted.rows,
                m.fact_compacted.revenue,
                stores.join(", "),
                m.faults,
            ),
        )?;
        say(out, "\nPending, recommended")?;
        let pending = self.pending()?;
        if pending.is_empty() {
            return say(out, "  nothing");
        }
        pending.iter().try_for_each(|line| say(out, format!("  {line}")))
    }

    /// What the tables on disk still ask for.
    fn pending(&self) -> Result<Vec<String>> {
        let mut pending = Vec::new();
        for ident in [DIM_PRODUCT, FACT_ORDERS] {
            let table = self.table(ident)?;
            let store = table.warehouse().store.as_ref();
            let orphans = ops::orphans::plan(table.warehouse(), table.table(), 0)?.orphans.len();
            if orphans > 0 {
                pending.push(format!("remove_orphan_files  {ident}: {orphans} orphans"));
            }
            let options = ops::compact::Options::of(table.metadata());
            let bins = ops::compact::plan(store, table.table(), &options)?.bins;
            let small = bins.iter().map(Vec::len).sum::<usize>();
            if small > 0 {
                pending.push(format!("rewrite_data_files   {ident}: {small} small files"));
            }
            let replaced =
                table.inspect().all_data_files()?.num_rows() - table.inspect().files()?.num_rows();
            if replaced > 1 {
                pending.push(format!(
                    "expire_snapshots     {ident}: {replaced} files are kept only for time travel; \
                     expire\n                       their snapshots when nobody needs to look back"
                ));
            }
        }
        Ok(pending)
    }
}

fn total<'a>(orphans: impl Iterator<Item = &'a Orphan>) -> (usize, u64) {
    orphans.fold((0, 0), |(count, bytes), orphan| (count + 1, bytes + orphan.size))
}
