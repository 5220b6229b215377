//! The definition of a store: a map from path to bytes, behind a lock.
//!
//! Everything that [`Store`] promises is visible here in a line or two. [`Disk`](crate::Disk) does
//! nothing more; it only has a harder place to do it in. Tests and lessons that want no files use
//! this store for good, and a table built on it must look the same as one built on a disk.
//!
//! ```text
//!   files ──lock──> { "/w/t/data/a.parquet":  (bytes, 12:00:01),
//!                     "/w/t/metadata/v1.json": (bytes, 12:00:02) }    sorted, so `list` is a range
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex};

use crate::{Bytes, Error, Listed, NewFile, Result, Stamp, Store, check_range, locked};

/// A store in memory, gone when dropped. Any string is a path: nothing is refused.
pub struct Memory {
    files: Arc<Mutex<BTreeMap<String, File>>>,
    stamp: Arc<Stamp>,
}

#[derive(Clone)]
struct File {
    bytes: Bytes,
    modified_ms: i64,
}

impl Memory {
    /// An empty store. Its files take their times from `stamp`.
    pub fn new(stamp: Arc<Stamp>) -> Memory {
        Memory { files: Arc::default(), stamp }
    }
}

impl Store for Memory {
    fn read(&self, path: &str) -> Result<Bytes> {
        match locked(&self.files).get(path) {
            Some(file) => Ok(file.bytes.clone()), // shares the bytes, copies nothing
            None => Err(Error::NotFound { path: path.into() }),
        }
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let bytes = self.read(path)?;
        let cut = |range: &Range<u64>| {
            check_range(path, range, bytes.len() as u64)?;
            Ok(bytes.slice(range.start as usize..range.end as usize))
        };
        ranges.iter().map(cut).collect()
    }

    fn size(&self, path: &str) -> Result<u64> {
        Ok(self.read(path)?.len() as u64)
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        if locked(&self.files).contains_key(path) {
            return Err(Error::Exists { path: path.into() });
        }
        let (files, stamp) = (self.files.clone(), self.stamp.clone());
        Ok(Box::new(Draft { files, stamp, path: path.into(), bytes: Vec::new() }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let prefix = format!("{}/", folder.strip_suffix('/').unwrap_or(folder));
        let files = locked(&self.files);
        let below = files.range(prefix.clone()..).take_while(|(path, _)| path.starts_with(&prefix));
        let entry = |(path, file): (&String, &File)| Listed {
            path: path.clone(),
            size: file.bytes.len() as u64,
            modified_ms: file.modified_ms,
        };
        Ok(below.map(entry).collect())
    }

    fn delete(&self, path: &str) -> Result<()> {
        match locked(&self.files).remove(path) {
            Some(_) => Ok(()),
            None => Err(Error::NotFound { path: path.into() }),
        }
    }
}

/// A file not yet in the map.
struct Draft {
    files: Arc<Mutex<BTreeMap<String, File>>>,
    stamp: Arc<Stamp>,
    path: String,
    bytes: Vec<u8>,
}

impl Write for Draft {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.bytes.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for Draft {
    fn finish(self: Box<Self>) -> Result<u64> {
        let length = self.bytes.len() as u64;
        let file = File { bytes: self.bytes.into(), modified_ms: self.stamp.now_ms() };
        match locked(&self.files).entry(self.path) {
            Entry::Vacant(free) => free.insert(file),
            Entry::Occupied(taken) => return Err(Error::Exists { path: taken.key().clone() }),
        };
        Ok(length)
    }
}
