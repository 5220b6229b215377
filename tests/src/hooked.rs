//! Two wrappers around a store: one gives it the world's clock, one tells of each call.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use store::{Bytes, Listed, NewFile, Result, Stamp, Store};

/// Something to do when a call is about to be made; the text says which.
pub type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// When each file was finished.
type Times = Arc<Mutex<BTreeMap<String, i64>>>;

/// A store whose files carry times of the world's clock, so that a disk and a memory agree on what
/// is three days old. A file that was not finished through here is as old as the world.
pub struct Clocked {
    inner: Arc<dyn Store>,
    stamp: Arc<Stamp>,
    begin_ms: i64,
    times: Times,
}

impl Clocked {
    /// Wraps a store whose world begins at `begin_ms`.
    pub fn new(inner: Arc<dyn Store>, stamp: Arc<Stamp>, begin_ms: i64) -> Clocked {
        Clocked { inner, stamp, begin_ms, times: Times::default() }
    }

    /// Takes over the times of another, for a copy of its files.
    pub fn with_times_of(self, other: &Clocked) -> Clocked {
        let times = other.times.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Clocked { times: Arc::new(Mutex::new(times)), ..self }
    }
}

impl Store for Clocked {
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
        let inner = self.inner.write_new(path)?;
        let (stamp, times) = (self.stamp.clone(), self.times.clone());
        let done = move |path: &str| {
            let now_ms = stamp.now_ms();
            times.lock().unwrap_or_else(PoisonError::into_inner).insert(path.into(), now_ms);
        };
        Ok(Box::new(Watched {
            inner,
            path: path.into(),
            before: Box::new(|_| ()),
            done: Box::new(done),
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let mut found = self.inner.list(folder)?;
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner);
        for file in &mut found {
            file.modified_ms = times.get(&file.path).copied().unwrap_or(self.begin_ms);
        }
        Ok(found)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.inner.delete(path)
    }
}

/// A store that calls a hook before each call, single writes included: `read /w/t/a`, `write /w/t/a`.
pub struct Hooked {
    inner: Arc<dyn Store>,
    hook: Hook,
}

impl Hooked {
    /// Wraps a store.
    pub fn new(inner: Arc<dyn Store>, hook: Hook) -> Hooked {
        Hooked { inner, hook }
    }

    fn tell(&self, verb: &str, path: &str) -> &dyn Store {
        (self.hook)(&format!("{verb} {path}"));
        self.inner.as_ref()
    }
}

impl Store for Hooked {
    fn read(&self, path: &str) -> Result<Bytes> {
        self.tell("read", path).read(path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.tell("read_ranges", path).read_ranges(path, ranges)
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.tell("size", path).size(path)
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        let inner = self.tell("write_new", path).write_new(path)?;
        let (hook, at) = (self.hook.clone(), path.to_string());
        let before = move |verb: &str| hook(&format!("{verb} {at}"));
        Ok(Box::new(Watched {
            inner,
            path: path.into(),
            before: Box::new(before),
            done: Box::new(|_| ()),
        }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.tell("list", folder).list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.tell("delete", path).delete(path)
    }
}

/// A file being written through either wrapper.
struct Watched {
    inner: Box<dyn NewFile>,
    path: String,
    before: Box<dyn Fn(&str) + Send>,
    done: Box<dyn Fn(&str) + Send>,
}

impl Write for Watched {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        (self.before)("write");
        self.inner.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl NewFile for Watched {
    fn finish(self: Box<Self>) -> Result<u64> {
        (self.before)("finish");
        let length = self.inner.finish()?;
        (self.done)(&self.path);
        Ok(length)
    }
}
