//! A store: everything impure. Bytes, time and chance enter the house through this crate, and it
//! knows nothing of Iceberg.
//!
//! # What a store is
//!
//! A store holds *files*: a name, some bytes, and nothing else. It is the smallest set of promises
//! that a local disk and a cloud bucket can both keep, which is just enough for a table format:
//!
//! ```text
//!   write_new(path) ──> write ... write ──> finish()        read(path)   read_ranges(path, [..])
//!        │                                     │            size(path)   list(folder)
//!        │   nothing is seen at `path`         │            delete(path)
//!        └──────────── meanwhile ──────────────┤
//!                                              └─> the whole file appears at once, or `Exists`
//! ```
//!
//! A file is born whole, never changes, and one day is deleted. A reader therefore needs no locks:
//! whatever it opened is complete and will stay the same for as long as it exists.
//!
//! # Why there is no rename and no overwrite
//!
//! Overwriting loses data silently: of two writers who chose one name, the later one wins and the
//! earlier one, told that all went well, is gone. Renaming is the same act in disguise (a POSIX
//! rename replaces its target), and cloud buckets do not have it at all: there it is a copy and a
//! delete, which a crash can leave half done.
//!
//! So the only way to write is to create, exclusively, a name that did not exist: of two writers
//! exactly one succeeds, and the other is told [`Error::Exists`]. Iceberg asks for nothing more.
//! Its data files, manifests and metadata files all carry fresh names, and the one thing that
//! does change, *which metadata file is current*, lives in a catalog and not here.
//!
//! # Reading order
//!
//! ```text
//!   lib.rs           the two traits: Store and NewFile            <- you are here
//!   error.rs         what can go wrong, and what to do then
//!   memory.rs        the definition: a map and a lock
//!   disk.rs          the same promises kept on a disk that may lose power
//!   stamp.rs         time and chance: real, or seeded so that a run can be repeated
//!     ── wrappers: each is a Store around a Store ──
//!   mount.rs         a prefix seen elsewhere; a store that only reads
//!   watch.rs         Recording writes down each call; Faulty makes the n-th one fail
//!     ── and the proof ──
//!   conformance.rs   what every store must do, one numbered promise at a time
//! ```

use std::io::Write;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use bytes::Bytes;

mod disk;
mod error;
mod memory;
mod mount;
mod stamp;
mod watch;

pub mod conformance;

pub use disk::Disk;
pub use error::{Error, Result};
pub use memory::Memory;
pub use mount::{Mount, ReadOnly};
pub use stamp::Stamp;
pub use watch::{Faulty, Recording};

/// A place that holds files. Shared as `Arc<dyn Store>`; every method may be called from any
/// thread.
///
/// Paths are `&str` in normal form: a local file is its absolute path (`/w/t/data/a.parquet`), an
/// object is its URI (`s3://bucket/key`). `meta::Location` makes that form; a store compares
/// nothing and decodes nothing, so `a b`, `a%20b` and `a+b` are three files.
///
/// [`conformance`] states each promise below as a test.
pub trait Store: Send + Sync {
    /// The whole file.
    ///
    /// # Errors
    /// [`Error::NotFound`] when nothing is there.
    fn read(&self, path: &str) -> Result<Bytes>;

    /// Some byte ranges of a file, in the order asked. Ranges may be empty and may overlap.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Range`] when a range ends beyond the file or before its own
    /// start. An answer is never shorter than the question.
    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>>;

    /// The length of a file, in bytes.
    ///
    /// # Errors
    /// [`Error::NotFound`] when nothing is there.
    fn size(&self, path: &str) -> Result<u64>;

    /// Begins a new file. Nothing is seen at `path` until [`NewFile::finish`]; folders that are
    /// missing on the way are made.
    ///
    /// # Errors
    /// [`Error::Exists`] when the name is taken already. That it was free at this moment settles
    /// nothing: a rival may finish first, and then `finish` says `Exists`.
    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>>;

    /// Every file below `folder`, however deep, sorted by path in byte order. The folder may be
    /// named with or without a last slash; an absent one, or one that is a file, lists as empty.
    /// What an interrupted writer left behind (see [`Disk`]) is listed like any other file.
    ///
    /// # Errors
    /// Whatever keeps the listing from being complete: half a listing is never returned.
    fn list(&self, folder: &str) -> Result<Vec<Listed>>;

    /// Removes a file, at once and for good. Folders that become empty may stay.
    ///
    /// # Errors
    /// [`Error::NotFound`] when nothing was there.
    fn delete(&self, path: &str) -> Result<()>;
}

/// A file being written. Dropped unfinished, it leaves nothing at its path.
///
/// Writes go to the store as they come: wrap the writer in a `BufWriter` to write many small
/// pieces. Once a write has failed, `finish` must fail as well, so that a file with a hole is
/// never published.
pub trait NewFile: Write + Send {
    /// Publishes the file, whole and durable, and answers its length in bytes: the number to
    /// record in metadata, because it is what the store acknowledged.
    ///
    /// # Errors
    /// [`Error::Exists`] when another writer finished this name first: nothing of ours remains.
    /// After any other error the outcome is unknown, since the failure may have come after the
    /// file appeared. Treat the path as spent and begin again under a fresh name.
    fn finish(self: Box<Self>) -> Result<u64>;
}

/// One file in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The full path, in the form [`Store::read`] takes.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// When the file was finished, in milliseconds since 1970, by the clock of the store.
    pub modified_ms: i64,
}

/// Writes a small file in one go: [`Store::write_new`], the bytes, [`NewFile::finish`]. Answers
/// the length acknowledged.
///
/// # Errors
/// Those of the three steps.
pub fn put_new(store: &dyn Store, path: &str, bytes: &[u8]) -> Result<u64> {
    let mut file = store.write_new(path)?;
    file.write_all(bytes).map_err(|source| Error::io(path, "writing", source))?;
    file.finish()
}

// Three tools that the stores below share.

/// What follows `folder` in `path`, when `path` is that folder or lies in it: empty, or beginning
/// with a slash. `/w/a` holds `/w/a/x`, but not `/w/ab`.
fn beneath<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder).filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Refuses a range that a file of `length` bytes cannot answer in full.
fn check_range(path: &str, asked: &Range<u64>, length: u64) -> Result<()> {
    if asked.start <= asked.end && asked.end <= length {
        return Ok(());
    }
    Err(Error::Range { path: path.into(), asked: asked.clone(), length })
}

/// Locks, even if a thread panicked while it held the lock: each holder here makes one change, so
/// what it guards is whole at every moment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
