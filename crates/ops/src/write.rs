//! Batches into Parquet files, and what a manifest says of each.
//!
//! ```text
//!   batches ── conform ──> ArrowWriter ──> data/00000-0-<uuid>.parquet     (a new name, synced)
//!                              │
//!                              └── row groups ── bounds::measure ──> DataFile
//! ```
//!
//! A file is finished before anything names it. A writer that fails deletes what it finished; one that
//! dies leaves files that no metadata knows: orphans, which [`crate::orphans`] finds.

use crate::arrow::{arrow_schema, conform};
use crate::{Error, Result, bounds, commit};
use arrow_array::{Array, Float32Array, Float64Array, RecordBatch};
use catalog::Warehouse;
use meta::data_file::DataFile;
use meta::metadata::TableMetadata;
use meta::partition::Tuple;
use meta::schema::Schema;
use meta::{Location, location};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use std::collections::BTreeMap;
use std::io::{self, Write};
use store::NewFile;
use uuid::Uuid;

/// How large a data file grows before the next is begun, unless the table's
/// `write.target-file-size-bytes` says otherwise.
pub const TARGET_FILE_SIZE: u64 = 512 * 1024 * 1024;

/// Writes batches into data files named after `write`, and returns them in order. No rows, no files.
///
/// # Errors
/// [`Error::Invalid`] for rows that do not fit the table's current schema; [`meta::Error::Unsupported`]
/// for a partitioned table and for another file format than Parquet; otherwise what the store says.
pub fn data_files(
    warehouse: &Warehouse,
    table: &TableMetadata,
    write: Uuid,
    batches: impl Iterator<Item = Result<RecordBatch>>,
) -> Result<Vec<DataFile>> {
    let target = table.number("write.target-file-size-bytes", TARGET_FILE_SIZE);
    all_or_none(warehouse, |files| write_all(warehouse, table, write, target, batches, files))
}

/// Writes the batches of each bin into one data file, however large it becomes: for compaction, which
/// has measured the bins. Otherwise as [`data_files`].
///
/// # Errors
/// As [`data_files`].
pub fn one_file_each<B: Iterator<Item = Result<RecordBatch>>>(
    warehouse: &Warehouse,
    table: &TableMetadata,
    write: Uuid,
    mut bins: impl Iterator<Item = Result<B>>,
) -> Result<Vec<DataFile>> {
    all_or_none(warehouse, |files| {
        bins.try_for_each(|bin| write_all(warehouse, table, write, u64::MAX, bin?, files))
    })
}

/// Deletes the files that are finished already when the next one fails.
fn all_or_none(
    warehouse: &Warehouse,
    write: impl FnOnce(&mut Vec<DataFile>) -> Result<()>,
) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    match write(&mut files) {
        Ok(()) => Ok(files),
        Err(e) => {
            // No metadata can name them yet.
            let files: Vec<_> = files.into_iter().map(|file| file.file_path).collect();
            commit::discard(warehouse, &files);
            Err(e)
        }
    }
}

/// Adds to `files` what it writes: a file is begun when the one before has `target` bytes.
fn write_all(
    warehouse: &Warehouse,
    table: &TableMetadata,
    write: Uuid,
    target: u64,
    batches: impl Iterator<Item = Result<RecordBatch>>,
    files: &mut Vec<DataFile>,
) -> Result<()> {
    check_supported(table)?;
    let schema = table.current_schema()?;
    let arrow = arrow_schema(&schema.fields)?;
    let mut open: Option<Output> = None;
    for batch in batches {
        let batch = conform(&batch?, schema, &arrow)?;
        if batch.num_rows() == 0 {
            continue;
        }
        let output = match &mut open {
            Some(output) => output,
            None => {
                let name = location::data_file(files.len(), write);
                open.insert(Output::create(warehouse, table, schema, table.location.join(&name)?)?)
            }
        };
        output.write(&batch)?;
        if output.size() >= target {
            files.extend(open.take().map(|output| output.finish(schema)).transpose()?);
        }
    }
    files.extend(open.map(|output| output.finish(schema)).transpose()?);
    Ok(())
}

fn check_supported(table: &TableMetadata) -> Result<()> {
    let unsupported = |what: &str, why: &str| Err(meta::Error::unsupported(what, why).into());
    if table.format_version != 2 {
        let what = format!("writing rows to a table of format version {}", table.format_version);
        return unsupported(&what, "rows are written to tables of version 2");
    }
    if !table.default_spec()?.is_unpartitioned() {
        return unsupported("writing rows to a partitioned table", "they are not split yet");
    }
    match table.properties.get("write.format.default").map(String::as_str) {
        None | Some("parquet") => Ok(()),
        Some(format) => unsupported(&format!("writing {format} files"), "Parquet is written"),
    }
}

/// A data file being written.
struct Output {
    file_path: Location,
    writer: ArrowWriter<Sink>,
    rows: i64,
    nans: BTreeMap<i32, i64>,
    /// A null for each field of the spec: all of them are void.
    partition: Tuple,
}

impl Output {
    fn create(
        warehouse: &Warehouse,
        table: &TableMetadata,
        schema: &Schema,
        file_path: Location,
    ) -> Result<Output> {
        let file = warehouse.store.write_new(file_path.normal())?;
        let (arrow, properties) = (arrow_schema(&schema.fields)?, properties(table)?);
        let writer = ArrowWriter::try_new(Sink(Some(file)), arrow, Some(properties))
            .map_err(|e| failed(&file_path, e))?;
        let partition = vec![None; table.default_spec()?.fields.len()];
        Ok(Output { file_path, writer, rows: 0, nans: BTreeMap::new(), partition })
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            let id = field.metadata().get(crate::arrow::FIELD_ID).and_then(|id| id.parse().ok());
            if let (Some(id), Some(nans)) = (id, count_nans(column)) {
                *self.nans.entry(id).or_default() += nans;
            }
        }
        self.rows += batch.num_rows() as i64;
        self.writer.write(batch).map_err(|e| failed(&self.file_path, e))
    }

    /// Bytes so far, those still in memory included.
    fn size(&self) -> u64 {
        (self.writer.bytes_written() + self.writer.in_progress_size()) as u64
    }

    /// Ends the file and makes it durable.
    fn finish(mut self, schema: &Schema) -> Result<DataFile> {
        self.writer.flush().map_err(|e| failed(&self.file_path, e))?;
        let groups = self.writer.flushed_row_groups().to_vec();
        self.writer.finish().map_err(|e| failed(&self.file_path, e))?;
        let Some(file) = self.writer.inner_mut().0.take() else {
            return Err(Error::parquet(self.file_path.as_str(), "it was finished twice"));
        };
        let size = file.finish()?;
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        let mut data_file = DataFile::new(self.file_path, self.rows, size);
        data_file.partition = self.partition;
        bounds::measure(&mut data_file, &groups, schema, self.nans);
        Ok(data_file)
    }
}

/// The new file, lent to the Parquet writer. `ArrowWriter::into_inner` would give it back as well, but
/// turns a failure of the store into text.
struct Sink(Option<Box<dyn NewFile>>);

impl Write for Sink {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.0.as_mut().map_or(Ok(0), |file| file.write(piece))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), |file| file.flush())
    }
}

/// A failure to write is the store's, if it was the store that failed.
fn failed(file: &Location, error: parquet::errors::ParquetError) -> Error {
    match error {
        parquet::errors::ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => store::Error::io(file.as_str(), "writing", *source).into(),
            Err(source) => Error::parquet(file.as_str(), source),
        },
        other => Error::parquet(file.as_str(), other),
    }
}

fn count_nans(column: &dyn Array) -> Option<i64> {
    let any = column.as_any();
    if let Some(floats) = any.downcast_ref::<Float32Array>() {
        return Some(floats.iter().flatten().filter(|v| v.is_nan()).count() as i64);
    }
    let floats = any.downcast_ref::<Float64Array>()?;
    Some(floats.iter().flatten().filter(|v| v.is_nan()).count() as i64)
}

/// The Parquet settings that the table's properties ask for. The default is zstd, as in Java and
/// PyIceberg. Statistics keep whole values, for bounds are cut by Iceberg's rule, not Parquet's.
fn properties(table: &TableMetadata) -> Result<WriterProperties> {
    let level = |default| table.number("write.parquet.compression-level", default);
    let codec = table.properties.get("write.parquet.compression-codec").map(String::as_str);
    let compression = match codec.unwrap_or("zstd").to_ascii_lowercase().as_str() {
        "zstd" => {
            let level = i32::try_from(level(3)).unwrap_or(i32::MAX);
            let why = "write.parquet.compression-level is 1 to 22 for zstd";
            let level = ZstdLevel::try_new(level)
                .map_err(|_| Error::invalid(format!("zstd level {level}"), why))?;
            Compression::ZSTD(level)
        }
        "snappy" => Compression::SNAPPY,
        "uncompressed" | "none" => Compression::UNCOMPRESSED,
        other => {
            let why = "write.parquet.compression-codec is zstd, snappy or uncompressed here";
            return Err(Error::invalid(format!("the codec {other:?}"), why));
        }
    };
    Ok(WriterProperties::builder()
        .set_compression(compression)
        .set_created_by(concat!("kiosko ", env!("CARGO_PKG_VERSION")).to_string())
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_statistics_truncate_length(None)
        .build())
}
