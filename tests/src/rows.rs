//! Rows to write, and rows as they were read: each as one line of text, which compares, sorts and
//! counts nulls and NaN like any other value.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, Float64Array, Int64Array, RecordBatch, StringArray};
use meta::schema::{Field, Schema};
use meta::types::Primitive;

/// The columns of every table here: `id` is required, the others may be null.
pub fn schema() -> Schema {
    Schema::new(vec![
        Field::required(1, "id", Primitive::Long),
        Field::optional(2, "label", Primitive::String),
        Field::optional(3, "price", Primitive::Double),
    ])
}

fn label(id: i64) -> Option<String> {
    (id % 5 != 0).then(|| format!("row {id}"))
}

fn price(id: i64) -> Option<f64> {
    match id {
        id if id % 7 == 0 => None,
        id if id % 11 == 0 => Some(f64::NAN),
        id => Some(id as f64 / 4.0),
    }
}

/// The rows `first`, `first + 1`, ... in one batch.
pub fn batch(first: i64, count: usize) -> RecordBatch {
    let ids = || first..first + count as i64;
    RecordBatch::try_from_iter_with_nullable([
        ("id", Arc::new(Int64Array::from_iter_values(ids())) as Arc<dyn Array>, false),
        ("label", Arc::new(StringArray::from_iter(ids().map(label))), true),
        ("price", Arc::new(Float64Array::from_iter(ids().map(price))), true),
    ])
    .expect("three columns of one length")
}

/// The same rows as [`text`] shows them once they were written and read: the model.
pub fn model(first: i64, count: usize) -> Vec<String> {
    let row = |id| line(id, label(id).as_deref(), price(id));
    let mut rows: Vec<_> = (first..first + count as i64).map(row).collect();
    rows.sort();
    rows
}

/// A batch as lines.
pub fn text(batch: &RecordBatch) -> Vec<String> {
    let column = |name| batch.column_by_name(name).expect("one of our columns");
    let (ids, labels, prices) = (
        column("id").as_primitive::<Int64Type>(),
        column("label").as_string::<i32>(),
        column("price").as_primitive::<Float64Type>(),
    );
    let row = |i| {
        let label = labels.is_valid(i).then(|| labels.value(i));
        line(ids.value(i), label, prices.is_valid(i).then(|| prices.value(i)))
    };
    (0..batch.num_rows()).map(row).collect()
}

fn line(id: i64, label: Option<&str>, price: Option<f64>) -> String {
    let price = price.map_or("null".into(), |price| price.to_string());
    format!("{id:>3}  {:<8}  {price}", label.unwrap_or("null")).trim_end().to_string()
}
