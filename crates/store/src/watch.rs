//! Two wrappers that watch a store at work.
//!
//! [`Recording`] writes down each call, so that a test can show *order*: that metadata.json landed
//! before the pointer moved, that expiry deleted only after it.
//!
//! [`Faulty`] makes one call fail, so that a test can visit *every* step of an operation:
//!
//! ```text
//!   for n in 0.. {
//!       let store = Faulty::stop_at(disk.clone(), n);
//!       let result = append(&store, rows);      a crash at call n, then look at the disk:
//!       check(&disk);                           the table is as before or as after, never other
//!       if !store.hit() { break }               n is beyond the last call: every step was visited
//!   }
//! ```
//!
//! There are three ways to fail, because three things happen to programs:
//!
//! ```text
//!                 call n                          later calls   the caller learns
//!   fail_at       fails, does nothing             work          the truth
//!   fail_after    acts, then answers an error     work          less than happened
//!   stop_at       fails, does nothing             fail too      nothing: it is dead
//! ```

use std::io::{self, Write};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::{Bytes, Error, Listed, NewFile, Result, Store, locked};

/// A store that writes down each call, one line each: `read /w/t/a`, `read_ranges`, `size`,
/// `write_new`, `finish`, `list`, `delete`.
///
/// A line is written when the call is made, whatever comes of it; `finish` alone when it has
/// succeeded, which is when the file can be seen. Single writes and byte ranges are left out: they
/// change with the Parquet library and would make every recording brittle.
pub struct Recording {
    inner: Arc<dyn Store>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Recording {
    /// Begins with an empty record.
    pub fn new(inner: Arc<dyn Store>) -> Recording {
        Recording { inner, lines: Arc::default() }
    }

    /// The lines since the last `take`, in order. The record is empty afterwards.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut *locked(&self.lines))
    }

    fn note(&self, verb: &str, path: &str) -> &dyn Store {
        locked(&self.lines).push(format!("{verb} {path}"));
        self.inner.as_ref()
    }
}

impl Store for Recording {
    fn read(&self, path: &str) -> Result<Bytes> {
        self.note("read", path).read(path)
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.note("read_ranges", path).read_ranges(path, ranges)
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.note("size", path).size(path)
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        let inner = self.note("write_new", path).write_new(path)?;
        Ok(Box::new(RecordedFile { inner, path: path.into(), lines: self.lines.clone() }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.note("list", folder).list(folder)
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.note("delete", path).delete(path)
    }
}

struct RecordedFile {
    inner: Box<dyn NewFile>,
    path: String,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Write for RecordedFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.inner.write(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl NewFile for RecordedFile {
    fn finish(self: Box<Self>) -> Result<u64> {
        let length = self.inner.finish()?;
        locked(&self.lines).push(format!("finish {}", self.path));
        Ok(length)
    }
}

/// A store that fails at one call, counted from 0. Every call counts: `read`, `read_ranges`,
/// `size`, `write_new`, each `write` to a new file, `finish`, `list` and `delete`.
pub struct Faulty {
    inner: Arc<dyn Store>,
    fault: Arc<Fault>,
}

/// Shared by a store and the files being written to it, so that there is one count.
struct Fault {
    mode: Mode,
    at: u64,
    calls: AtomicU64,
    hit: AtomicBool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    FailAt,
    FailAfter,
    StopAt,
}

impl Faulty {
    /// Call `n` fails before it does anything; the rest work. As a disk that is full for a moment.
    pub fn fail_at(inner: Arc<dyn Store>, n: u64) -> Faulty {
        Faulty::new(inner, Mode::FailAt, n)
    }

    /// Call `n` does its work and then answers an error. As a network that lost the answer: the
    /// caller must treat the outcome as unknown.
    pub fn fail_after(inner: Arc<dyn Store>, n: u64) -> Faulty {
        Faulty::new(inner, Mode::FailAfter, n)
    }

    /// Call `n` and all later ones answer [`Error::Stopped`] and do nothing. As a process killed
    /// there: even the clean-up of files half written does not happen, so what they left staged on
    /// a disk stays. Look at what remains through the inner store.
    pub fn stop_at(inner: Arc<dyn Store>, n: u64) -> Faulty {
        Faulty::new(inner, Mode::StopAt, n)
    }

    fn new(inner: Arc<dyn Store>, mode: Mode, at: u64) -> Faulty {
        let (calls, hit) = (AtomicU64::new(0), AtomicBool::new(false));
        Faulty { inner, fault: Arc::new(Fault { mode, at, calls, hit }) }
    }

    /// How many calls were made so far, the failed ones included.
    pub fn calls(&self) -> u64 {
        self.fault.calls.load(Ordering::SeqCst)
    }

    /// Whether call `n` was reached. If an operation ended without a hit, it makes at most `n`
    /// calls, and a loop over `n` has visited them all.
    pub fn hit(&self) -> bool {
        self.fault.hit.load(Ordering::SeqCst)
    }
}

impl Fault {
    /// Counts one call, and performs it or fails it.
    fn call<T>(&self, path: &str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let call = self.calls.fetch_add(1, Ordering::SeqCst);
        if call < self.at || (call > self.at && self.mode != Mode::StopAt) {
            return act();
        }
        self.hit.store(true, Ordering::SeqCst);
        let injected = |doing| {
            let source = io::Error::other(format!("a fault injected at call {call}"));
            Err(Error::Io { path: path.into(), doing, source })
        };
        match self.mode {
            Mode::FailAt => injected("beginning"),
            Mode::FailAfter => {
                // Whether the act went well is just what the caller is not told.
                drop(act());
                injected("hearing the answer")
            }
            Mode::StopAt => Err(Error::Stopped { call: self.at, path: path.into() }),
        }
    }

    fn has_stopped(&self) -> bool {
        self.mode == Mode::StopAt && self.hit.load(Ordering::SeqCst)
    }
}

impl Store for Faulty {
    fn read(&self, path: &str) -> Result<Bytes> {
        self.fault.call(path, || self.inner.read(path))
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.fault.call(path, || self.inner.read_ranges(path, ranges))
    }

    fn size(&self, path: &str) -> Result<u64> {
        self.fault.call(path, || self.inner.size(path))
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        let inner = self.fault.call(path, || self.inner.write_new(path))?;
        let (path, fault) = (path.to_string(), self.fault.clone());
        Ok(Box::new(FaultyFile { inner: Some(inner), path, fault, failed: false }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        self.fault.call(folder, || self.inner.list(folder))
    }

    fn delete(&self, path: &str) -> Result<()> {
        self.fault.call(path, || self.inner.delete(path))
    }
}

/// `inner` is there until `finish` takes it.
struct FaultyFile {
    inner: Option<Box<dyn NewFile>>,
    path: String,
    fault: Arc<Fault>,
    failed: bool,
}

impl Write for FaultyFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let FaultyFile { inner: Some(inner), path, fault, failed } = self else {
            return Ok(0);
        };
        let act = || inner.write(piece).map_err(|source| Error::io(path, "writing", source));
        let result = fault.call(path, act);
        *failed |= result.is_err();
        Ok(result?)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.as_mut().map_or(Ok(()), |inner| inner.flush())
    }
}

impl NewFile for FaultyFile {
    fn finish(mut self: Box<Self>) -> Result<u64> {
        let (fault, path) = (self.fault.clone(), self.path.clone());
        fault.call(&path, || match self.inner.take() {
            Some(inner) if !self.failed => inner.finish(),
            _ => Err(Error::Refused { path: path.clone(), why: "an earlier write to it failed" }),
        })
    }
}

impl Drop for FaultyFile {
    /// The dead do not tidy up: after a stop the inner file is forgotten, not dropped, which
    /// leaves its staged bytes where a killed process would leave them.
    fn drop(&mut self) {
        if self.fault.has_stopped() {
            std::mem::forget(self.inner.take());
        }
    }
}
