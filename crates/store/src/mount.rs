//! A prefix seen elsewhere, and a store that only reads.
//!
//! Iceberg metadata holds absolute paths. A table that was written under `/warehouse/spark` and
//! then copied to `/home/ana/fixtures/spark` still calls all its files by their first address, and
//! rewriting that into every manifest is work for a migration. A [`Mount`] is the cheap way: it
//! leaves the metadata alone and moves the *place*.
//!
//! ```text
//!   from = /warehouse/spark    to = /home/ana/fixtures/spark
//!
//!   read   /warehouse/spark/t/a.parquet   ->  inner.read  /home/ana/fixtures/spark/t/a.parquet
//!   list   /warehouse/spark/t             ->  inner.list  /home/ana/fixtures/spark/t
//!                                         <-  listed again under /warehouse/spark/t
//!   read   /warehouse/sparkling/a         ->  inner.read  /warehouse/sparkling/a   (another folder)
//! ```
//!
//! As with a mount of the operating system, what the inner store keeps under `from` is hidden, and
//! a folder above `from` lists the mounted files where they seem to be. Errors name the inner
//! path, the place where someone can go and look.

use std::ops::Range;
use std::sync::Arc;

use crate::{Bytes, Error, Listed, NewFile, Result, Store, beneath};

/// A store in which the paths at or below one prefix lead to another. Mounts nest by wrapping; the
/// outermost translates first.
pub struct Mount {
    inner: Arc<dyn Store>,
    from: String,
    to: String,
}

impl Mount {
    /// Shows the folder `to` of `inner` as `from`. Both are paths in normal form, with or without
    /// a last slash.
    pub fn new(inner: Arc<dyn Store>, from: &str, to: &str) -> Mount {
        let folder = |path: &str| path.trim_end_matches('/').to_string();
        Mount { inner, from: folder(from), to: folder(to) }
    }

    /// Where the inner store keeps `path`.
    fn inward(&self, path: &str) -> String {
        match beneath(path, &self.from) {
            Some(rest) => format!("{}{rest}", self.to),
            None => path.to_string(),
        }
    }

    /// Lists a folder at or below `from`, each path as it is seen from outside.
    fn list_mounted(&self, folder: &str) -> Result<Vec<Listed>> {
        let mut found = self.inner.list(&self.inward(folder))?;
        for listed in &mut found {
            if let Some(rest) = beneath(&listed.path, &self.to) {
                listed.path = format!("{}{rest}", self.from);
            }
        }
        Ok(found)
    }
}

impl Store for Mount {
    fn read(&self, path: &str) -> Result<Bytes> {
        self.inner.read(&self.inward(path))
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.read_ranges(&self.inward(path), ranges)
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.inner.size(&self.inward(path))
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        self.inner.write_new(&self.inward(path))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let folder = folder.strip_suffix('/').unwrap_or(folder);
        if beneath(folder, &self.from).is_some() {
            return self.list_mounted(folder);
        }
        let mut found = self.inner.list(folder)?;
        if beneath(&self.from, folder).is_some() {
            found.retain(|listed| beneath(&listed.path, &self.from).is_none());
            found.extend(self.list_mounted(&self.from)?);
            found.sort_by(|a, b| a.path.cmp(&b.path));
        }
        Ok(found)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.inner.delete(&self.inward(path))
    }
}

/// A store that refuses to write and to delete: for tables that belong to someone else.
pub struct ReadOnly {
    inner: Arc<dyn Store>,
}

impl ReadOnly {
    /// Reads from `inner`; [`Store::write_new`] and [`Store::delete`] answer [`Error::Refused`].
    pub fn new(inner: Arc<dyn Store>) -> ReadOnly {
        ReadOnly { inner }
    }
}

fn refused<T>(path: &str) -> Result<T> {
    Err(Error::Refused { path: path.into(), why: "this store was opened for reading only" })
}

impl Store for ReadOnly {
    fn read(&self, path: &str) -> Result<Bytes> {
        self.inner.read(path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.read_ranges(path, ranges)
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.inner.size(path)
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        refused(path)
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.inner.list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        refused(path)
    }
}
