//! Scan: read the rows of a snapshot.
//!
//! ```text
//!   snapshot ── load::live_data_files ──> data files ── parquet.rs ──> batches ── resolve ──> rows
//! ```
//!
//! The rows come as the *schema* says, whatever the schema was when a file was written: columns are
//! found by field id (see `resolve.rs`). A scan of an old snapshot uses the schema of that time
//! (specification, "Point in Time Reads"). Files are opened one after the other, as the batches are
//! taken, so a scan holds one file's batch at a time.

use crate::parquet_read::FileReader;
use crate::resolve::{Columns, Constants};
use crate::{Error, Result, load};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use catalog::Table;
use meta::data_file::DataFile;
use meta::partition::PartitionSpec;
use meta::schema::{Field, Schema};
use meta::snapshot::Snapshot;
use meta::transform::Transform;
use std::collections::VecDeque;
use std::sync::Arc;
use store::Store;

/// What to read of a table.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// The snapshot; `None` is the current one.
    pub snapshot_id: Option<i64>,
    /// The columns, in the order wanted; `None` is all of the schema's.
    pub columns: Option<Vec<String>>,
}

/// The batches of a scan, in the order of the files.
pub struct Batches {
    store: Arc<dyn Store>,
    fields: Vec<Field>,
    schema: SchemaRef,
    files: VecDeque<(DataFile, Constants)>,
    open: Option<FileReader>,
}

/// Begins to read.
///
/// # Errors
/// [`Error::Invalid`] for a snapshot or a column that the table does not have;
/// [`meta::Error::Unsupported`] when the snapshot has delete files; otherwise what the store says.
/// The batches themselves may fail when a data file is missing or damaged.
pub fn scan(store: &Arc<dyn Store>, table: &Table, scan: &Scan) -> Result<Batches> {
    let (schema, snapshot) = target(table, scan.snapshot_id)?;
    let fields = match &scan.columns {
        None => schema.fields.clone(),
        Some(names) => names.iter().map(|name| column(schema, name)).collect::<Result<_>>()?,
    };
    let live = match snapshot {
        Some(snapshot) => load::live_files(store.as_ref(), snapshot)?,
        None => Vec::new(),
    };
    let files = live.into_iter().map(|(spec_id, entry)| {
        let constants = constants(table.metadata.spec(spec_id)?, &entry.data_file);
        Ok((entry.data_file, constants))
    });
    Batches::new(store, fields, files.collect::<Result<_>>()?)
}

/// The columns that have one value in the whole file: the sources of its identity partition fields.
/// A file that came from Hive does not hold them.
fn constants(spec: &PartitionSpec, file: &DataFile) -> Constants {
    let values = spec.fields.iter().zip(&file.partition);
    let identity = values.filter(|(field, _)| field.transform == Transform::Identity);
    identity.filter_map(|(field, value)| Some((field.source_id, value.clone()?))).collect()
}

/// The snapshot that `snapshot_id` asks for, and the schema to read it with.
fn target(table: &Table, snapshot_id: Option<i64>) -> Result<(&Schema, Option<&Snapshot>)> {
    let metadata = &table.metadata;
    let Some(id) = snapshot_id else {
        return Ok((metadata.current_schema()?, metadata.current_snapshot()));
    };
    let Some(snapshot) = metadata.snapshot(id) else {
        let kept: Vec<_> = metadata.snapshots.iter().map(|s| s.snapshot_id.to_string()).collect();
        return Err(Error::invalid(
            format!("reading snapshot {id} of {}", table.ident),
            format!("it expired or never was; the table has {}", kept.join(", ")),
        ));
    };
    let schema = match snapshot.schema_id {
        Some(schema_id) => metadata.schema(schema_id)?,
        None => metadata.current_schema()?,
    };
    Ok((schema, Some(snapshot)))
}

fn column(schema: &Schema, name: &str) -> Result<Field> {
    schema.field(name).cloned().ok_or_else(|| {
        let names: Vec<_> = schema.fields.iter().map(|field| field.name.as_str()).collect();
        Error::invalid(
            format!("reading the column {name:?}"),
            format!("the schema has {}", names.join(", ")),
        )
    })
}

impl Batches {
    /// The rows of these files, as these columns; each file with the columns it is constant in.
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        fields: Vec<Field>,
        files: VecDeque<(DataFile, Constants)>,
    ) -> Result<Batches> {
        let schema = crate::arrow::arrow_schema(&fields)?;
        Ok(Batches { store: store.clone(), fields, schema, files, open: None })
    }

    /// The Arrow schema of every batch.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(reader) = &mut self.open
                && let Some(batch) = reader.read()?
            {
                return Ok(Some(batch));
            }
            let Some((file, constants)) = self.files.pop_front() else {
                return Ok(None);
            };
            let columns = Columns { fields: &self.fields, schema: &self.schema, constants };
            self.open = Some(FileReader::open(&self.store, &file, columns)?);
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    /// The next batch. After an error there are no more.
    fn next(&mut self) -> Option<Result<RecordBatch>> {
        let next = self.advance();
        if next.is_err() {
            self.open = None;
            self.files.clear();
        }
        next.transpose()
    }
}
