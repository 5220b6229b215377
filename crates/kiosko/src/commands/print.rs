//! Printing: lines, and rows in four forms.

use crate::cli::Format;
use arrow_array::RecordBatch;
use kiosko::{Error, Result, rows};
use serde_json::Value;
use std::io::{ErrorKind, Write};

/// Prints a line. A reader who closed the pipe has seen enough, and what is printed after that is lost;
/// the work goes on to its end.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    text_of(&format!("{text}\n"))
}

fn text_of(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|e| Error::Refused(format!("printing: {e}"))),
    }
}

/// Prints rows in the form asked for.
pub fn batch(batch: &RecordBatch, format: Format) -> Result<()> {
    match format {
        Format::Table => {
            let options = arrow_cast::display::FormatOptions::default().with_null("null");
            let batches = std::slice::from_ref(batch);
            let table = arrow_cast::pretty::pretty_format_batches_with_options(batches, &options)
                .map_err(|e| Error::Refused(format!("printing: {e}")))?;
            line(table)?;
            let rows = batch.num_rows();
            line(format!("{rows} row{}", if rows == 1 { "" } else { "s" }))
        }
        Format::Json => {
            let rows: Vec<Value> = rows::to_json(batch)?.into_iter().map(Value::Object).collect();
            line(Value::Array(rows))
        }
        Format::Jsonl => {
            rows::to_json(batch)?.into_iter().try_for_each(|row| line(Value::Object(row)))
        }
        Format::Csv => {
            let mut out = Vec::new();
            let mut writer = arrow_csv::Writer::new(&mut out);
            writer.write(&textual(batch)?).map_err(|e| Error::Refused(format!("printing: {e}")))?;
            drop(writer);
            text_of(&String::from_utf8_lossy(&out))
        }
    }
}

/// The batch with every value as its canonical text, which is what CSV holds.
fn textual(batch: &RecordBatch) -> Result<RecordBatch> {
    let rows = rows::to_json(batch)?;
    let schema = batch.schema();
    let columns = schema.fields().iter().map(|field| {
        let texts = rows.iter().map(|row| match row.get(field.name())? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        });
        let column: arrow_array::ArrayRef =
            std::sync::Arc::new(arrow_array::StringArray::from_iter(texts));
        (field.name().clone(), column, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns)
        .map_err(|e| Error::Refused(format!("printing: {e}")))
}
