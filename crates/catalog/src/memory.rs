//! The definition of a pointer: a map and a lock.
//!
//! Everything that [`Pointer`] promises is visible here in a line or two; [`Sqlite`](crate::Sqlite)
//! does nothing more, only where it outlives the process. The lock is what makes the swap one step:
//! looking and replacing happen under the same hold of it.
//!
//! ```text
//!   rows ──lock──> namespaces  { [kiosko] }
//!                  tables      { kiosko.dim_product: "file:///w/kiosko/dim_product/metadata/0..." }
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use crate::pointer::locked;
use crate::{Namespace, Pointer, Result, TableIdent};

/// A pointer in memory, gone when dropped.
#[derive(Debug)]
pub struct Memory {
    name: String,
    rows: Mutex<Rows>,
}

#[derive(Debug, Default)]
struct Rows {
    namespaces: BTreeSet<Namespace>,
    tables: BTreeMap<TableIdent, String>,
}

impl Memory {
    /// An empty catalog called `name`.
    pub fn new(name: &str) -> Memory {
        Memory { name: name.into(), rows: Mutex::default() }
    }
}

impl Pointer for Memory {
    fn name(&self) -> &str {
        &self.name
    }

    fn create_namespace(&self, namespace: &Namespace) -> Result<bool> {
        Ok(locked(&self.rows).namespaces.insert(namespace.clone()))
    }

    fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        Ok(locked(&self.rows).namespaces.contains(namespace))
    }

    fn list_namespaces(&self) -> Result<Vec<Namespace>> {
        Ok(locked(&self.rows).namespaces.iter().cloned().collect())
    }

    fn list(&self, namespace: &Namespace) -> Result<Vec<TableIdent>> {
        let rows = locked(&self.rows);
        Ok(rows.tables.keys().filter(|ident| ident.namespace == *namespace).cloned().collect())
    }

    fn get(&self, ident: &TableIdent) -> Result<Option<String>> {
        Ok(locked(&self.rows).tables.get(ident).cloned())
    }

    fn put_new(&self, ident: &TableIdent, location: &str) -> Result<bool> {
        let mut rows = locked(&self.rows);
        if rows.tables.contains_key(ident) {
            return Ok(false);
        }
        rows.namespaces.insert(ident.namespace.clone());
        rows.tables.insert(ident.clone(), location.into());
        Ok(true)
    }

    fn swap(&self, ident: &TableIdent, base: &str, new: &str) -> Result<bool> {
        match locked(&self.rows).tables.get_mut(ident) {
            Some(current) if current == base => {
                *current = new.into();
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}
