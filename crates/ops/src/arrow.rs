//! Arrow types and Iceberg types.
//!
//! Rows travel as Arrow batches. A batch that goes into a table is made to fit its schema here: columns
//! are found by name, put in order, widened where nothing is lost, and each gets its field id as
//! metadata, which the Parquet writer then puts into the file.
//!
//! ```text
//!   Iceberg        Arrow                       Iceberg        Arrow
//!   boolean        Boolean                     timestamp      Timestamp(us)
//!   int, long      Int32, Int64                timestamptz    Timestamp(us, UTC)
//!   float, double  Float32, Float64            timestamp_ns   Timestamp(ns)
//!   decimal(p, s)  Decimal128(p, s)            string         Utf8
//!   date           Date32                      uuid, fixed    FixedSizeBinary
//!   time           Time64(us)                  binary         Binary
//! ```

use crate::{Error, Result};
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampNanosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray, new_null_array,
};
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{DataType, Field as ArrowField, Schema as ArrowSchema, SchemaRef, TimeUnit};
use meta::schema::{Field, Schema};
use meta::types::Primitive;
use meta::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// The key under which a field id is kept in Arrow's field metadata; the Parquet library knows it.
pub const FIELD_ID: &str = "PARQUET:field_id";

/// What Arrow calls a UUID. Without the name it could not be told from sixteen other bytes; the
/// Parquet writer makes the logical type UUID of it.
pub const UUID: &str = "arrow.uuid";

/// The Arrow schema of these columns, with their field ids.
///
/// # Errors
/// [`meta::Error::Unsupported`] for a column that is a struct, list or map: nested columns are
/// neither written nor read yet.
pub fn arrow_schema(fields: &[Field]) -> Result<SchemaRef> {
    let fields: Result<Vec<_>> = fields
        .iter()
        .map(|field| {
            let mut notes = HashMap::from([(FIELD_ID.to_string(), field.id.to_string())]);
            if field.field_type.primitive() == Some(Primitive::Uuid) {
                notes.insert(EXTENSION_TYPE_NAME_KEY.to_string(), UUID.to_string());
            }
            let data_type = data_type(field)?;
            Ok(ArrowField::new(&field.name, data_type, !field.required).with_metadata(notes))
        })
        .collect();
    Ok(Arc::new(ArrowSchema::new(fields?)))
}

fn data_type(field: &Field) -> Result<DataType> {
    let Some(primitive) = field.field_type.primitive() else {
        return Err(Error::Meta(meta::Error::unsupported(
            format!("the column {:?} of type {}", field.name, field.field_type),
            "columns of nested types are not read or written yet",
        )));
    };
    let utc = || Some("UTC".into());
    Ok(match primitive {
        Primitive::Boolean => DataType::Boolean,
        Primitive::Int => DataType::Int32,
        Primitive::Long => DataType::Int64,
        Primitive::Float => DataType::Float32,
        Primitive::Double => DataType::Float64,
        Primitive::Decimal { precision, scale } => {
            // A scale is at most 38, so it fits.
            DataType::Decimal128(precision, i8::try_from(scale).unwrap_or(i8::MAX))
        }
        Primitive::Date => DataType::Date32,
        Primitive::Time => DataType::Time64(TimeUnit::Microsecond),
        Primitive::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        Primitive::Timestamptz => DataType::Timestamp(TimeUnit::Microsecond, utc()),
        Primitive::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        Primitive::TimestamptzNs => DataType::Timestamp(TimeUnit::Nanosecond, utc()),
        Primitive::String => DataType::Utf8,
        Primitive::Uuid => DataType::FixedSizeBinary(16),
        Primitive::Fixed(length) => {
            DataType::FixedSizeBinary(i32::try_from(length).unwrap_or(i32::MAX))
        }
        Primitive::Binary => DataType::Binary,
    })
}

/// Makes a batch fit the table: the columns of `schema`, in its order, as `arrow` types.
///
/// # Errors
/// [`Error::Invalid`] for a column that the table does not have, a required one that is missing or
/// holds a null, or one whose type cannot be widened without loss.
pub fn conform(batch: &RecordBatch, schema: &Schema, arrow: &SchemaRef) -> Result<RecordBatch> {
    let given = batch.schema();
    if let Some(stranger) = given.fields().iter().find(|f| schema.field(f.name()).is_none()) {
        return Err(Error::invalid(
            format!("writing the column {:?}", stranger.name()),
            "the table has no such column; add it to the table first, or leave it out",
        ));
    }
    let columns: Result<Vec<ArrayRef>> = schema
        .fields
        .iter()
        .zip(arrow.fields())
        .map(|(field, want)| {
            let column = match batch.column_by_name(&field.name) {
                Some(column) => widen(column, want.data_type()).ok_or_else(|| {
                    Error::invalid(
                        format!("writing {} into the column {:?}", column.data_type(), field.name),
                        format!("its type is {}, and values would be lost", field.field_type),
                    )
                })?,
                None => new_null_array(want.data_type(), batch.num_rows()),
            };
            if field.required && column.null_count() > 0 {
                return Err(Error::invalid(
                    format!(
                        "writing {} nulls into the column {:?}",
                        column.null_count(),
                        field.name
                    ),
                    "the column is required; give every row a value",
                ));
            }
            Ok(column)
        })
        .collect();
    batch_of(arrow, columns?, batch.num_rows())
}

/// A batch of these columns; the row count matters when there are none.
pub fn batch_of(arrow: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(arrow.clone(), columns, &options)
        .map_err(|e| Error::invalid("making a batch", e))
}

/// A column of `rows` times the same value. `None` for a value that Arrow cannot hold.
pub(crate) fn constant(value: &Value, rows: usize) -> Option<ArrayRef> {
    fn primitive<T: ArrowPrimitiveType>(value: T::Native, rows: usize) -> PrimitiveArray<T> {
        PrimitiveArray::<T>::from_value(value, rows)
    }
    let fixed = |bytes: &[u8]| {
        let bytes = std::iter::repeat_n(bytes, rows);
        FixedSizeBinaryArray::try_from_iter(bytes).ok()
    };
    Some(match value {
        Value::Boolean(v) => Arc::new(BooleanArray::from(vec![*v; rows])),
        Value::Int(v) => Arc::new(primitive::<Int32Type>(*v, rows)),
        Value::Long(v) => Arc::new(primitive::<Int64Type>(*v, rows)),
        Value::Float(v) => Arc::new(primitive::<Float32Type>(*v, rows)),
        Value::Double(v) => Arc::new(primitive::<Float64Type>(*v, rows)),
        Value::Date(v) => Arc::new(primitive::<Date32Type>(*v, rows)),
        Value::Time(v) => Arc::new(primitive::<Time64MicrosecondType>(*v, rows)),
        Value::Timestamp(v) => Arc::new(primitive::<TimestampMicrosecondType>(*v, rows)),
        Value::Timestamptz(v) => {
            Arc::new(primitive::<TimestampMicrosecondType>(*v, rows).with_timezone("UTC"))
        }
        Value::TimestampNs(v) => Arc::new(primitive::<TimestampNanosecondType>(*v, rows)),
        Value::TimestamptzNs(v) => {
            Arc::new(primitive::<TimestampNanosecondType>(*v, rows).with_timezone("UTC"))
        }
        Value::Decimal(unscaled, scale) => {
            let scale = i8::try_from(*scale).ok()?;
            let column = primitive::<Decimal128Type>(*unscaled, rows);
            // The fewest digits that hold it; the column is widened to its own precision after.
            let digits = unscaled.unsigned_abs().to_string().len().max(scale.unsigned_abs().into());
            let precision = u8::try_from(digits).ok()?.max(1);
            Arc::new(column.with_precision_and_scale(precision, scale).ok()?)
        }
        Value::String(v) => Arc::new(StringArray::from_iter_values(std::iter::repeat_n(v, rows))),
        Value::Binary(v) => Arc::new(BinaryArray::from_iter_values(std::iter::repeat_n(v, rows))),
        Value::Fixed(v) => Arc::new(fixed(v)?),
        Value::Uuid(v) => Arc::new(fixed(v.as_bytes())?),
    })
}

/// The column as `want`, where every value survives: the same type, another layout of it, or one
/// that the specification allows it to be promoted to.
pub fn widen(column: &ArrayRef, want: &DataType) -> Option<ArrayRef> {
    use DataType as T;
    let have = column.data_type();
    let lossless = match (have, want) {
        _ if have == want => return Some(column.clone()),
        (T::Null, _) => true,
        (T::LargeUtf8 | T::Utf8View, T::Utf8) => true,
        (T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_), T::Binary) => true,
        (T::Int8 | T::Int16 | T::UInt8 | T::UInt16, T::Int32 | T::Int64) => true,
        (T::Int32 | T::UInt32, T::Int64) => true,
        (T::Float32, T::Float64) => true,
        (T::Decimal128(p, s), T::Decimal128(want_p, want_s)) => p <= want_p && s == want_s,
        (T::Dictionary(_, values), _) => **values == *want,
        (T::Timestamp(unit, zone), T::Timestamp(want_unit, want_zone)) => {
            let finer = matches!(unit, TimeUnit::Second | TimeUnit::Millisecond)
                || unit == want_unit
                || *want_unit == TimeUnit::Nanosecond;
            finer && zone.is_some() == want_zone.is_some()
        }
        _ => false,
    };
    if !lossless {
        return None;
    }
    let options = arrow_cast::CastOptions { safe: false, ..Default::default() };
    arrow_cast::cast_with_options(column, want, &options).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int32Array, Int64Array, StringArray};

    fn table() -> (Schema, SchemaRef) {
        let schema = Schema::new(vec![
            Field::required(1, "id", Primitive::Long),
            Field::optional(2, "note", Primitive::String),
        ]);
        let arrow = arrow_schema(&schema.fields).unwrap();
        (schema, arrow)
    }

    #[test]
    fn columns_are_found_by_name_widened_and_filled() {
        let (schema, arrow) = table();
        let id: ArrayRef = Arc::new(Int32Array::from(vec![7]));
        let batch = RecordBatch::try_from_iter([("id", id)]).unwrap();
        let batch = conform(&batch, &schema, &arrow).unwrap();
        assert_eq!(batch.column(0).as_ref(), &Int64Array::from(vec![7]) as &dyn Array);
        assert_eq!(batch.column(1).null_count(), 1);
        assert_eq!(batch.schema().field(0).metadata()[FIELD_ID], "1");
    }

    #[test]
    fn a_stranger_a_null_and_a_narrowing_are_refused() {
        let (schema, arrow) = table();
        let null: ArrayRef = Arc::new(Int64Array::from(vec![None]));
        let text: ArrayRef = Arc::new(StringArray::from(vec!["7"]));
        for (name, column) in [("id", null.clone()), ("id", text.clone()), ("stranger", text)] {
            let batch = RecordBatch::try_from_iter([(name, column)]).unwrap();
            assert!(conform(&batch, &schema, &arrow).is_err());
        }
    }
}
