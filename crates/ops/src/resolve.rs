//! The columns of a file become the columns of the table (specification, "Column Projection").
//!
//! A file keeps the names and types of its time; the field id beside each column is what does not
//! change. For each column of the table:
//!
//! ```text
//!   the file has its id      take it, widened if the type was promoted since
//!   the file has not         null; an error when the column is required
//! ```

use crate::arrow::{FIELD_ID, batch_of, widen};
use crate::{Error, Result};
use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use meta::Location;
use meta::schema::Field;

/// Where each column of the table comes from in one file.
pub(crate) struct Resolution {
    /// For each column of the table: its root in the file.
    sources: Vec<Option<usize>>,
    schema: SchemaRef,
}

impl Resolution {
    /// Finds the columns `fields`, which are `schema` in Arrow, in a file with the columns `file`.
    pub fn new(
        path: &Location,
        file: &ArrowSchema,
        fields: &[Field],
        schema: &SchemaRef,
    ) -> Result<Resolution> {
        let ids: Vec<Option<i32>> = file
            .fields()
            .iter()
            .map(|column| column.metadata().get(FIELD_ID)?.parse().ok())
            .collect();
        if !ids.is_empty() && ids.iter().all(Option::is_none) {
            return Err(Error::Meta(meta::Error::unsupported(
                format!("the file {path} without field ids"),
                "its columns can only be found by a name mapping, which is not applied yet",
            )));
        }
        let sources: Vec<_> =
            fields.iter().map(|field| ids.iter().position(|id| *id == Some(field.id))).collect();
        for (field, source) in fields.iter().zip(&sources) {
            let missing = match source {
                Some(_) => None,
                None if field.initial_default.is_some() => Some("its default is not applied yet"),
                None if field.required => Some("it is required and has no default"),
                None => None,
            };
            if let Some(why) = missing {
                let why =
                    format!("it lacks the column {:?} (id {}), and {why}", field.name, field.id);
                return Err(Error::parquet(path.as_str(), why));
            }
        }
        Ok(Resolution { sources, schema: schema.clone() })
    }

    /// The roots of the file to read, rising.
    pub fn roots(&self) -> Vec<usize> {
        let mut roots: Vec<_> = self.sources.iter().flatten().copied().collect();
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    /// A batch of the file's roots as a batch of the table's columns.
    pub fn apply(&self, path: &Location, batch: &RecordBatch) -> Result<RecordBatch> {
        let roots = self.roots();
        let columns: Result<Vec<_>> = self
            .sources
            .iter()
            .zip(self.schema.fields())
            .map(|(source, want)| {
                let place = source.and_then(|source| roots.binary_search(&source).ok());
                let Some(column) = place.and_then(|place| batch.columns().get(place)) else {
                    return Ok(new_null_array(want.data_type(), batch.num_rows()));
                };
                widen(column, want.data_type()).ok_or_else(|| {
                    let have = column.data_type();
                    let why =
                        format!("the column {:?} is {have}, not {}", want.name(), want.data_type());
                    Error::parquet(path.as_str(), why)
                })
            })
            .collect();
        batch_of(&self.schema, columns?, batch.num_rows())
            .map_err(|e| Error::parquet(path.as_str(), e))
    }
}
