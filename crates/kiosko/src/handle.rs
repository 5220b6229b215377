//! The handles of the guide: [`Catalog`], [`Table`], and what hangs on them.

use crate::Result;
use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use catalog::{Namespace, NewTable, TableIdent, Warehouse};
use meta::metadata::{SnapshotLogEntry, TableMetadata};
use meta::schema::Schema;
use meta::snapshot::Snapshot;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// An open catalog.
#[derive(Clone)]
pub struct Catalog {
    warehouse: Warehouse,
}

impl Catalog {
    /// The handle of an open warehouse.
    pub fn new(warehouse: Warehouse) -> Catalog {
        Catalog { warehouse }
    }

    /// The warehouse below, for the verbs of [`ops`].
    pub fn warehouse(&self) -> &Warehouse {
        &self.warehouse
    }

    /// Makes a namespace: `"kiosko"`.
    ///
    /// # Errors
    /// As [`catalog::Catalog::create_namespace`].
    pub fn create_namespace(&self, namespace: &str) -> Result<()> {
        Ok(self.warehouse.catalog.create_namespace(&namespace.parse::<Namespace>()?)?)
    }

    /// Makes an empty table: `"kiosko.dim_product"`.
    ///
    /// # Errors
    /// As [`catalog::Catalog::create_table`].
    pub fn create_table(&self, ident: &str, schema: Schema) -> Result<Table> {
        let ident = ident.parse::<TableIdent>()?;
        let table = self.warehouse.catalog.create_table(&ident, NewTable::new(schema))?;
        Ok(Table { warehouse: self.warehouse.clone(), table })
    }

    /// Opens a table as it is now.
    ///
    /// # Errors
    /// As [`catalog::Catalog::load_table`].
    pub fn load_table(&self, ident: &str) -> Result<Table> {
        let table = self.warehouse.catalog.load_table(&ident.parse::<TableIdent>()?)?;
        Ok(Table { warehouse: self.warehouse.clone(), table })
    }
}

/// An open table, which moves on with each verb.
#[derive(Clone)]
pub struct Table {
    warehouse: Warehouse,
    table: catalog::Table,
}

impl Table {
    /// The immutable value below, for the verbs of [`ops`].
    pub fn table(&self) -> &catalog::Table {
        &self.table
    }

    /// The warehouse below, for the verbs of [`ops`].
    pub fn warehouse(&self) -> &Warehouse {
        &self.warehouse
    }

    /// The metadata: schemas, snapshots, references, properties.
    pub fn metadata(&self) -> &TableMetadata {
        &self.table.metadata
    }

    /// Adds rows. See [`ops::append::append`].
    ///
    /// # Errors
    /// As there.
    pub fn append(&mut self, rows: &RecordBatch) -> Result<()> {
        let rows = std::slice::from_ref(rows);
        self.table = ops::append::append(&self.warehouse, &self.table, rows)?;
        Ok(())
    }

    /// Replaces all rows. See [`ops::overwrite::overwrite`].
    ///
    /// # Errors
    /// As there.
    pub fn overwrite(&mut self, rows: &RecordBatch) -> Result<()> {
        let rows = std::slice::from_ref(rows);
        self.table = ops::overwrite::overwrite(&self.warehouse, &self.table, rows)?;
        Ok(())
    }

    /// Looks again: the table as it is now.
    ///
    /// # Errors
    /// As [`catalog::Catalog::load_table`].
    pub fn refresh(&mut self) -> Result<()> {
        self.table = self.warehouse.catalog.load_table(&self.table.ident)?;
        Ok(())
    }

    /// The snapshot that readers see; `None` before the first commit.
    pub fn current_snapshot(&self) -> Option<&Snapshot> {
        self.table.metadata.current_snapshot()
    }

    /// When the current snapshot changed, and to which; the oldest first.
    pub fn history(&self) -> &[SnapshotLogEntry] {
        &self.table.metadata.snapshot_log
    }

    /// Begins a scan of all columns of the current snapshot.
    pub fn scan(&self) -> Scan<'_> {
        Scan { table: self, scan: ops::scan::Scan::default() }
    }

    /// The table's own structure, as rows.
    pub fn inspect(&self) -> Inspect<'_> {
        Inspect { table: self }
    }

    /// What keeps a table small.
    pub fn maintenance(&mut self) -> Maintenance<'_> {
        Maintenance { table: self }
    }
}

/// A scan that has not begun yet.
pub struct Scan<'a> {
    table: &'a Table,
    scan: ops::scan::Scan,
}

impl Scan<'_> {
    /// Reads this snapshot: time travel.
    pub fn snapshot_id(mut self, snapshot_id: i64) -> Self {
        self.scan.snapshot_id = Some(snapshot_id);
        self
    }

    /// Reads these columns only.
    pub fn select(mut self, columns: &[&str]) -> Self {
        self.scan.columns = Some(columns.iter().map(|name| name.to_string()).collect());
        self
    }

    /// All rows in one batch.
    ///
    /// # Errors
    /// As [`ops::scan::scan`].
    pub fn to_arrow(self) -> Result<RecordBatch> {
        let Table { warehouse, table } = self.table;
        let batches = ops::scan::scan(&warehouse.store, table, &self.scan)?;
        let schema = batches.schema();
        let batches = batches.collect::<ops::Result<Vec<_>>>()?;
        concat_batches(&schema, &batches)
            .map_err(|e| ops::Error::invalid("all rows in one batch", e).into())
    }

    /// All rows as JSON objects, by column name (see [`crate::rows`]).
    ///
    /// # Errors
    /// As [`ops::scan::scan`].
    pub fn to_pylist(self) -> Result<Vec<Map<String, Value>>> {
        crate::rows::to_json(&self.to_arrow()?)
    }
}

/// The metadata tables. See [`ops::inspect`].
pub struct Inspect<'a> {
    table: &'a Table,
}

impl Inspect<'_> {
    /// When the current snapshot changed.
    ///
    /// # Errors
    /// As [`ops::inspect::history`].
    pub fn history(&self) -> Result<RecordBatch> {
        Ok(ops::inspect::history(self.table.metadata())?)
    }

    /// Every retained snapshot.
    ///
    /// # Errors
    /// As [`ops::inspect::snapshots`].
    pub fn snapshots(&self) -> Result<RecordBatch> {
        Ok(ops::inspect::snapshots(self.table.metadata())?)
    }

    /// The live files of the current snapshot.
    ///
    /// # Errors
    /// As [`ops::inspect::files`].
    pub fn files(&self) -> Result<RecordBatch> {
        Ok(ops::inspect::files(self.table.warehouse.store.as_ref(), &self.table.table)?)
    }

    /// The live data files of every retained snapshot.
    ///
    /// # Errors
    /// As [`ops::inspect::all_data_files`].
    pub fn all_data_files(&self) -> Result<RecordBatch> {
        Ok(ops::inspect::all_data_files(self.table.warehouse.store.as_ref(), &self.table.table)?)
    }
}

/// What keeps a table small: expiry, orphan removal, compaction. PyIceberg has the first only.
pub struct Maintenance<'a> {
    table: &'a mut Table,
}

impl<'a> Maintenance<'a> {
    /// Begins to forget snapshots.
    pub fn expire_snapshots(self) -> ExpireSnapshots<'a> {
        ExpireSnapshots { table: self.table, ids: BTreeSet::new() }
    }

    /// Finds the files that no snapshot needs and that are older than this, in milliseconds, and
    /// deletes them. Java calls it `remove_orphan_files`. See [`ops::orphans`].
    ///
    /// # Errors
    /// As [`ops::orphans::plan`] and [`ops::orphans::run`].
    pub fn remove_orphan_files(self, older_than_ms: i64) -> Result<Vec<ops::orphans::Orphan>> {
        let Table { warehouse, table } = self.table;
        let plan = ops::orphans::plan(warehouse, table, older_than_ms)?;
        Ok(ops::orphans::run(warehouse, table, &plan)?)
    }

    /// Rewrites small files into large ones. Java calls it `rewrite_data_files`. See
    /// [`ops::compact`]. Returns the plan that was carried out.
    ///
    /// # Errors
    /// As [`ops::compact::plan`] and [`ops::compact::run`].
    pub fn rewrite_data_files(self) -> Result<ops::compact::Plan> {
        let Table { warehouse, table } = self.table;
        let options = ops::compact::Options::of(&table.metadata);
        let plan = ops::compact::plan(warehouse.store.as_ref(), table, &options)?;
        *table = ops::compact::run(warehouse, table, &plan)?;
        Ok(plan)
    }
}

/// Snapshots to forget, not forgotten yet.
#[must_use = "nothing is forgotten before commit()"]
pub struct ExpireSnapshots<'a> {
    table: &'a mut Table,
    ids: BTreeSet<i64>,
}

impl ExpireSnapshots<'_> {
    /// These ones.
    pub fn by_ids(mut self, ids: impl IntoIterator<Item = i64>) -> Self {
        self.ids.extend(ids);
        self
    }

    /// Forgets them in one commit. Their files stay, as orphans.
    ///
    /// # Errors
    /// As [`ops::expire::plan`] and [`ops::expire::run`].
    pub fn commit(self) -> Result<()> {
        let Table { warehouse, table } = self.table;
        let plan = ops::expire::plan(&table.metadata, &self.ids)?;
        *table = ops::expire::run(warehouse, table, &plan)?;
        Ok(())
    }
}
