//! One data file into batches.
//!
//! The decoder does no I/O: it says which byte ranges it needs, the store reads them, and the decoder
//! goes on. That makes one request for all columns of a row group, on a disk and on an object store
//! alike.
//!
//! ```text
//!   decoder: I need [812..1813]      store.read_ranges -> push
//!   decoder: here is the footer
//!   decoder: I need [4..97, 97..278] store.read_ranges -> push
//!   decoder: here is a batch         resolve -> out
//! ```

use crate::resolve::{Columns, Resolution};
use crate::{Error, Result};
use arrow_array::RecordBatch;
use meta::Location;
use meta::data_file::DataFile;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataPushDecoder};
use std::sync::Arc;
use store::Store;

/// Rows in a batch, at most.
const BATCH_ROWS: usize = 8192;

/// A data file being read.
pub(crate) struct FileReader {
    store: Arc<dyn Store>,
    file_path: Location,
    decoder: ParquetPushDecoder,
    resolution: Resolution,
}

impl FileReader {
    /// Reads the footer of `file` and decides where each of the `columns` comes from.
    pub fn open(
        store: &Arc<dyn Store>,
        file: &DataFile,
        columns: Columns<'_>,
    ) -> Result<FileReader> {
        let path = &file.file_path;
        if file.file_format != "PARQUET" {
            return Err(Error::Meta(meta::Error::unsupported(
                format!("the {} file {path}", file.file_format),
                "data files are read in Parquet",
            )));
        }
        let wrong = |e: parquet::errors::ParquetError| Error::parquet(path.as_str(), e);
        let footer = read_footer(store.as_ref(), file)?;
        // The Arrow schema that a writer may have left in the file is its own affair; types follow
        // from the Parquet schema and the table.
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let footer = ArrowReaderMetadata::try_new(Arc::new(footer), options).map_err(wrong)?;
        let resolution = Resolution::new(path, footer.schema(), columns)?;
        let roots = resolution.roots();
        let mask = ProjectionMask::roots(footer.parquet_schema(), roots);
        let decoder = ParquetPushDecoderBuilder::new_with_metadata(footer)
            .with_batch_size(BATCH_ROWS)
            .with_projection(mask)
            .build()
            .map_err(wrong)?;
        Ok(FileReader { store: store.clone(), file_path: path.clone(), decoder, resolution })
    }

    /// The next batch, as the table's columns.
    pub fn read(&mut self) -> Result<Option<RecordBatch>> {
        let path = &self.file_path;
        let wrong = |e: parquet::errors::ParquetError| Error::parquet(path.as_str(), e);
        loop {
            match self.decoder.try_decode().map_err(wrong)? {
                DecodeResult::NeedsData(ranges) => {
                    let data = self.store.read_ranges(path.normal(), &ranges)?;
                    self.decoder.push_ranges(ranges, data).map_err(wrong)?;
                }
                DecodeResult::Data(batch) => return self.resolution.apply(path, &batch).map(Some),
                DecodeResult::Finished => return Ok(None),
            }
        }
    }
}

fn read_footer(store: &dyn Store, file: &DataFile) -> Result<ParquetMetaData> {
    let path = &file.file_path;
    let wrong = |e: parquet::errors::ParquetError| Error::parquet(path.as_str(), e);
    let length = u64::try_from(file.file_size_in_bytes).unwrap_or(0);
    let mut decoder = ParquetMetaDataPushDecoder::try_new(length).map_err(wrong)?;
    loop {
        match decoder.try_decode().map_err(wrong)? {
            DecodeResult::NeedsData(ranges) => {
                let data = store.read_ranges(path.normal(), &ranges)?;
                decoder.push_ranges(ranges, data).map_err(wrong)?;
            }
            DecodeResult::Data(footer) => return Ok(footer),
            DecodeResult::Finished => {
                return Err(Error::parquet(path.as_str(), "it has no footer"));
            }
        }
    }
}
