//! The shop's rows: four products before and after the change of 15 August 2026, and the forty orders
//! of one week in three stores.
//!
//! They lie beside this crate in `data/`, as text. Change a number there and see which lesson notices.

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use arrow_select::concat::concat_batches;
use meta::schema::{Field, Schema};
use meta::types::Primitive;
use std::sync::Arc;

/// The product list that the shop opened with: P002 is a snack at 0.60.
pub const DIM_PRODUCT_V1: &str = include_str!("../data/dim_product_v1.csv");
/// The product list since 15 August 2026: P002 is a health snack at 0.68.
pub const DIM_PRODUCT_V2: &str = include_str!("../data/dim_product_v2.csv");
/// The forty orders.
pub const RAW_ORDERS: &str = include_str!("../data/raw_orders.csv");

/// The columns of `kiosko.dim_product`.
pub fn dim_product_schema() -> Schema {
    Schema::new(vec![
        Field::required(1, "product_id", Primitive::String),
        Field::required(2, "product_name", Primitive::String),
        Field::required(3, "category", Primitive::String),
        Field::required(4, "unit_cost", Primitive::Double),
    ])
}

/// The columns of `kiosko.fact_orders_daily_batches`.
pub fn fact_orders_schema() -> Schema {
    Schema::new(vec![
        Field::required(1, "order_id", Primitive::String),
        Field::required(2, "store_id", Primitive::String),
        Field::required(3, "product_id", Primitive::String),
        Field::required(4, "quantity", Primitive::Int),
        Field::required(5, "unit_price", Primitive::Double),
        Field::required(6, "revenue", Primitive::Double),
        Field::required(7, "order_ts", Primitive::Timestamp),
    ])
}

/// The rows of a product list.
///
/// # Errors
/// [`Error::Refused`] naming the line that does not fit the columns.
pub fn products(csv: &str) -> Result<RecordBatch> {
    read(csv, &dim_product_schema().fields)
}

/// The orders of each day, the first day first, with their revenue: quantity times unit price.
///
/// # Errors
/// [`Error::Refused`] naming the line that does not fit the columns.
pub fn orders_by_day(csv: &str) -> Result<Vec<RecordBatch>> {
    let schema = fact_orders_schema();
    let raw: Vec<_> = schema.fields.iter().filter(|f| f.name != "revenue").cloned().collect();
    let orders = with_revenue(&read(csv, &raw)?, &schema)?;
    let days: Vec<i64> = match orders.column_by_name("order_ts") {
        Some(column) => {
            let times = column.as_primitive::<TimestampMicrosecondType>();
            times.iter().flatten().map(|time| time.div_euclid(86_400_000_000)).collect()
        }
        None => Vec::new(),
    };
    // The orders are in the order of time, so a day is a run.
    let mut runs = Vec::new();
    let mut start = 0;
    for run in days.chunk_by(|a, b| a == b) {
        runs.push(orders.slice(start, run.len()));
        start += run.len();
    }
    Ok(runs)
}

fn with_revenue(orders: &RecordBatch, schema: &Schema) -> Result<RecordBatch> {
    let missing = || Error::Refused("the orders lack a column".into());
    let quantity = orders.column_by_name("quantity").ok_or_else(missing)?;
    let price = orders.column_by_name("unit_price").ok_or_else(missing)?;
    let pairs =
        quantity.as_primitive::<Int32Type>().iter().zip(price.as_primitive::<Float64Type>());
    // To ten digits, as the guide rounds it.
    let revenue = pairs.map(|(q, p)| Some((f64::from(q?) * p? * 1e10).round() / 1e10));
    let revenue: ArrayRef = Arc::new(Float64Array::from_iter(revenue));
    let columns = schema.fields.iter().map(|field| match orders.column_by_name(&field.name) {
        Some(column) => column.clone(),
        None => revenue.clone(),
    });
    let arrow = ops::arrow::arrow_schema(&schema.fields)?;
    Ok(ops::arrow::batch_of(&arrow, columns.collect(), orders.num_rows())?)
}

/// Reads text with a header line into these columns, found by position.
fn read(csv: &str, fields: &[Field]) -> Result<RecordBatch> {
    let arrow: SchemaRef = ops::arrow::arrow_schema(fields)?;
    // The reader itself accepts nulls; whether a column may hold one is for the table to say.
    let lenient: Vec<_> =
        arrow.fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    let lenient = Arc::new(ArrowSchema::new(lenient));
    let wrong = |e: arrow_schema::ArrowError| Error::Refused(format!("the shop's rows: {e}"));
    let reader = arrow_csv::ReaderBuilder::new(lenient.clone())
        .with_header(true)
        .build(csv.as_bytes())
        .map_err(wrong)?;
    let batches = reader.collect::<std::result::Result<Vec<_>, _>>().map_err(wrong)?;
    concat_batches(&lenient, &batches).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forty_orders_in_seven_days() {
        let days = orders_by_day(RAW_ORDERS).unwrap();
        assert_eq!(days.len(), 7);
        assert_eq!(days.iter().map(RecordBatch::num_rows).sum::<usize>(), 40);
    }

    #[test]
    fn a_word_for_a_number_is_refused_with_its_line() {
        let error = products("product_id,product_name,category,unit_cost\nP1,Tea,drinks,dear\n");
        let text = error.unwrap_err().to_string();
        assert!(text.contains("dear") && text.contains("line"), "{text}");
    }
}
