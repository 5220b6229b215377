//! `kiosko tables`: the tables of the catalog.

use super::{Opened, print};
use crate::cli::Output;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use kiosko::{Error, Result};
use std::sync::Arc;

pub fn run(catalog: &Opened<'_>, output: &Output) -> Result<()> {
    let warehouse = catalog.warehouse()?;
    let (mut namespaces, mut names) = (Vec::new(), Vec::new());
    for namespace in warehouse.catalog.list_namespaces()? {
        for ident in warehouse.catalog.list_tables(&namespace)? {
            namespaces.push(ident.namespace.to_string());
            names.push(ident.name);
        }
    }
    let columns: [(&str, ArrayRef); 2] = [
        ("namespace", Arc::new(StringArray::from(namespaces))),
        ("table", Arc::new(StringArray::from(names))),
    ];
    let batch = RecordBatch::try_from_iter(columns).map_err(|e| Error::Refused(e.to_string()))?;
    print::batch(&batch, output.format)
}
