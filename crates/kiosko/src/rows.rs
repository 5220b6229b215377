//! Rows as JSON, in one canonical form.
//!
//! Other programs compare against it, so it is a promise: decimals are plain strings; dates and times
//! ISO text with six digits (nine for nanoseconds), zoned ones with `+00:00`; bytes lower hex, UUIDs
//! with dashes; NaN and infinities strings, floats as short as they can be told apart; 64-bit integers
//! numbers; maps sorted lists of `[key, value]`.

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int32Type, Int64Type,
    Time64MicrosecondType, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, RecordBatch};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Map, Value, json};

/// The rows of a batch, each an object by column name.
///
/// # Errors
/// [`Error::Refused`] for a type that has no canonical form here.
pub fn to_json(batch: &RecordBatch) -> Result<Vec<Map<String, Value>>> {
    (0..batch.num_rows())
        .map(|row| {
            let schema = batch.schema();
            let columns = schema.fields().iter().zip(batch.columns());
            columns
                .map(|(field, column)| {
                    let uuid = field.extension_type_name() == Some(ops::arrow::UUID);
                    let value = match column.as_fixed_size_binary_opt().filter(|_| uuid) {
                        Some(uuids) if uuids.is_valid(row) => json!(dashed(uuids.value(row))),
                        _ => value(column, row)?,
                    };
                    Ok((field.name().clone(), value))
                })
                .collect()
        })
        .collect()
}

fn value(column: &dyn Array, row: usize) -> Result<Value> {
    if column.is_null(row) {
        return Ok(Value::Null);
    }
    Ok(match column.data_type() {
        DataType::Boolean => json!(column.as_boolean().value(row)),
        DataType::Int32 => json!(column.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => json!(column.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => float(shortest(column.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => float(column.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => json!(column.as_string::<i32>().value(row)),
        DataType::Binary => json!(hex(column.as_binary::<i32>().value(row))),
        DataType::FixedSizeBinary(_) => json!(hex(column.as_fixed_size_binary().value(row))),
        DataType::Decimal128(..) => {
            json!(column.as_primitive::<Decimal128Type>().value_as_string(row))
        }
        DataType::Date32 => iso(column.as_primitive::<Date32Type>().value_as_date(row)),
        DataType::Time64(TimeUnit::Microsecond) => {
            let time = column.as_primitive::<Time64MicrosecondType>().value_as_time(row);
            iso(time.map(|time| time.format("%H:%M:%S%.6f")))
        }
        DataType::Timestamp(unit, zone) => {
            let zone = if zone.is_some() { "+00:00" } else { "" };
            let (time, format) = match unit {
                TimeUnit::Nanosecond => {
                    let times = column.as_primitive::<TimestampNanosecondType>();
                    (times.value_as_datetime(row), "%Y-%m-%dT%H:%M:%S%.9f")
                }
                TimeUnit::Millisecond => {
                    let times = column.as_primitive::<TimestampMillisecondType>();
                    (times.value_as_datetime(row), "%Y-%m-%dT%H:%M:%S%.6f")
                }
                _ => {
                    let times = column.as_primitive::<TimestampMicrosecondType>();
                    (times.value_as_datetime(row), "%Y-%m-%dT%H:%M:%S%.6f")
                }
            };
            iso(time.map(|time| format!("{}{zone}", time.format(format))))
        }
        DataType::Map(..) => {
            let entries = column.as_map().value(row);
            let mut pairs = (0..entries.len())
                .map(|i| Ok(json!([value(entries.column(0), i)?, value(entries.column(1), i)?])))
                .collect::<Result<Vec<_>>>()?;
            pairs.sort_by_key(Value::to_string);
            Value::Array(pairs)
        }
        other => {
            let text = array_value_to_string(column, row).unwrap_or_default();
            return Err(Error::Refused(format!("{text} of type {other} has no form in JSON here")));
        }
    })
}

fn iso(time: Option<impl std::fmt::Display>) -> Value {
    time.map_or(Value::Null, |time| json!(time.to_string()))
}

fn float(value: f64) -> Value {
    match value {
        v if v.is_nan() => json!("NaN"),
        f64::INFINITY => json!("Infinity"),
        f64::NEG_INFINITY => json!("-Infinity"),
        v => json!(v),
    }
}

/// 1.1 for the float nearest to it, not the 1.100000023841858 that it widens to.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or(f64::from(value))
}

/// A UUID: f79c3e09-677c-4bbd-a479-3f349cb785e7.
fn dashed(bytes: &[u8]) -> String {
    let dash = |place| if [4, 6, 8, 10].contains(&place) { "-" } else { "" };
    bytes.iter().enumerate().map(|(i, byte)| format!("{}{byte:02x}", dash(i))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        ArrayRef, BinaryArray, Date32Array, Decimal128Array, Float64Array,
        TimestampMicrosecondArray,
    };
    use std::sync::Arc;

    #[test]
    fn values_have_one_form() {
        let cents = Decimal128Array::from(vec![-1420]).with_precision_and_scale(9, 2).unwrap();
        let zoned = TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC");
        let columns: [(&str, ArrayRef); 6] = [
            ("nan", Arc::new(Float64Array::from(vec![f64::NAN]))),
            ("bytes", Arc::new(BinaryArray::from(vec![&[0xab, 0x01][..]]))),
            ("date", Arc::new(Date32Array::from(vec![-1]))),
            ("cents", Arc::new(cents)),
            ("zoned", Arc::new(zoned)),
            ("none", Arc::new(Float64Array::from(vec![None]))),
        ];
        let rows = to_json(
            &RecordBatch::try_from_iter_with_nullable(columns.map(|(n, c)| (n, c, true))).unwrap(),
        );
        let want = json!({
            "nan": "NaN", "bytes": "ab01", "date": "1969-12-31", "cents": "-14.20",
            "zoned": "1970-01-01T00:00:00.000001+00:00", "none": null});
        assert_eq!(Value::Object(rows.unwrap().remove(0)), want);
    }
}
