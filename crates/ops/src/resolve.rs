//! The columns of a file become the columns of the table (specification, "Column Projection").
//!
//! A file keeps the names and types of its time; the field id beside each column is what does not
//! change. For each column of the table:
//!
//! ```text
//!   the file has its id                take it, widened if the type was promoted since
//!   an identity partition field of     the file's partition value, for every row
//!     the file is made from it
//!   neither                            null; an error when the column is required
//! ```

use crate::arrow::{FIELD_ID, batch_of, constant, widen};
use crate::{Error, Result};
use arrow_array::{RecordBatch, new_null_array};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use meta::Location;
use meta::schema::Field;
use meta::value::Value;
use std::collections::BTreeMap;

/// Columns that have one value in a whole file, by field id.
pub(crate) type Constants = BTreeMap<i32, Value>;

/// The columns wanted of a file.
pub(crate) struct Columns<'a> {
    /// As Iceberg knows them.
    pub fields: &'a [Field],
    /// As Arrow does.
    pub schema: &'a SchemaRef,
    /// Those with one value in the whole file.
    pub constants: Constants,
}

/// Where a column of the table comes from in one file.
enum Source {
    /// A root of the file's schema.
    Root(usize),
    /// The file's partition.
    Partition(Value),
    /// Nowhere: it is null.
    Nowhere,
}

/// Where each column of the table comes from in one file.
pub(crate) struct Resolution {
    sources: Vec<Source>,
    schema: SchemaRef,
}

impl Resolution {
    /// Finds the columns wanted in a file with the columns `file`.
    pub fn new(path: &Location, file: &ArrowSchema, columns: Columns<'_>) -> Result<Resolution> {
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
        let source = |field: &Field| {
            if let Some(root) = ids.iter().position(|id| *id == Some(field.id)) {
                return Ok(Source::Root(root));
            }
            if let Some(value) = columns.constants.get(&field.id) {
                return Ok(Source::Partition(value.clone()));
            }
            let why = match field {
                Field { initial_default: Some(_), .. } => "its default is not applied yet",
                Field { required: true, .. } => "it is required and has no default",
                _ => return Ok(Source::Nowhere),
            };
            let why = format!("it lacks the column {:?} (id {}), and {why}", field.name, field.id);
            Err(Error::parquet(path.as_str(), why))
        };
        let sources = columns.fields.iter().map(source).collect::<Result<_>>()?;
        Ok(Resolution { sources, schema: columns.schema.clone() })
    }

    /// The roots of the file to read, rising.
    pub fn roots(&self) -> Vec<usize> {
        let roots = self.sources.iter().filter_map(|source| match source {
            Source::Root(root) => Some(*root),
            _ => None,
        });
        let mut roots: Vec<_> = roots.collect();
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
                let column = match source {
                    Source::Root(root) => {
                        let place = roots.binary_search(root).ok();
                        place.and_then(|place| batch.columns().get(place)).cloned()
                    }
                    Source::Partition(value) => constant(value, batch.num_rows()),
                    Source::Nowhere => Some(new_null_array(want.data_type(), batch.num_rows())),
                };
                let fits = column.as_ref().and_then(|column| widen(column, want.data_type()));
                fits.ok_or_else(|| {
                    let have = column.map_or("absent".into(), |c| c.data_type().to_string());
                    let (name, want) = (want.name(), want.data_type());
                    let why = format!("the column {name:?} is {have}, not {want}");
                    Error::parquet(path.as_str(), why)
                })
            })
            .collect();
        batch_of(&self.schema, columns?, batch.num_rows())
            .map_err(|e| Error::parquet(path.as_str(), e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrow::arrow_schema;
    use arrow_array::cast::AsArray;
    use meta::types::Primitive;

    /// A file of a Hive table does not hold the column that it is partitioned by.
    #[test]
    fn a_column_that_the_file_lacks_is_its_partition_value() {
        let fields = [
            Field::required(1, "store_id", Primitive::String),
            Field::optional(2, "price", Primitive::parse("decimal(9, 2)").unwrap()),
            Field::optional(3, "note", Primitive::String),
        ];
        let schema = arrow_schema(&fields).unwrap();
        let path = Location::parse("/f").unwrap();
        let constants =
            Constants::from([(1, Value::String("S01".into())), (2, Value::Decimal(-5, 2))]);
        let columns = Columns { fields: &fields, schema: &schema, constants };
        let resolution = Resolution::new(&path, &ArrowSchema::empty(), columns).unwrap();
        let none = batch_of(&ArrowSchema::empty().into(), Vec::new(), 2).unwrap();
        let rows = resolution.apply(&path, &none).unwrap();
        assert_eq!(
            rows.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>(),
            ["S01"; 2]
        );
        let text = arrow_cast::display::array_value_to_string(rows.column(1), 1).unwrap();
        assert_eq!((text.as_str(), rows.column(2).null_count()), ("-0.05", 2));

        let columns = Columns { fields: &fields, schema: &schema, constants: Constants::new() };
        assert!(Resolution::new(&path, &ArrowSchema::empty(), columns).is_err(), "it is required");
    }
}
