//! A pointer: the one thing about a table that changes.
//!
//! Per table, one string: where its current metadata file lies. A commit writes a new file beside
//! the old ones, which hurts nobody, and then asks for a *swap*: put the new string there, if the
//! one I started from is still there. Two writers who start together:
//!
//! ```text
//!        Ana, appending the day's orders          the pointer    Bo, raising a price
//!   |    get                          00002  <──    00002    ──> 00002                      get
//!   |    write 00003-a91e.metadata.json             00002        write 00003-b7d0.metadata.json
//!   |    swap 00002 -> 00003-a91e: true      ──>  00003-a91e
//!   v                                             00003-a91e <── swap 00002 -> 00003-b7d0: false
//! time   done                                     00003-a91e     delete 00003-b7d0: nobody saw it
//!                                                 00003-a91e ──> get, read: the requirements hold
//!                                                 00003-a91e     write 00004-c3f2.metadata.json
//!                                                 00004-c3f2 <── swap 00003-a91e -> 00004-c3f2: true
//! ```
//!
//! Were the swap a plain *put*, Bo's first try would have succeeded. Both would have been told that
//! all went well, and Ana's orders would be gone without a trace: 00003-b7d0 was made from 00002
//! and knows nothing of them. The condition *if the one I started from is still there* is the whole
//! of concurrency control in this house. Everything else follows from files that never change.
//!
//! # What an answer proves
//!
//! ```text
//!   true             swapped: the new string was there, if only for a moment
//!   false            not swapped, now or ever: the new file may be deleted
//!   an error         of those for which `Error::proves_nothing_changed` holds: as `false`
//!   any other        nothing: the swap may have happened, may not, or may be under way still
//! ```
//!
//! The strings are compared byte by byte and never read: to a pointer they are opaque. That is safe
//! because a file's name holds a fresh uuid, so that no string ever comes back.

use crate::{Namespace, Result, TableIdent};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A place that keeps one row for each table. Every method may be called from any thread, and
/// names come checked.
pub trait Pointer: Send + Sync {
    /// What the catalog is called.
    fn name(&self) -> &str;

    /// Makes a namespace. `false`: it exists already.
    fn create_namespace(&self, namespace: &Namespace) -> Result<bool>;

    /// Whether a namespace exists: it was made, or a table is in it.
    fn namespace_exists(&self, namespace: &Namespace) -> Result<bool>;

    /// Every namespace, sorted.
    fn list_namespaces(&self) -> Result<Vec<Namespace>>;

    /// The tables of one namespace, sorted.
    fn list(&self, namespace: &Namespace) -> Result<Vec<TableIdent>>;

    /// Where the table's current metadata lies, as it was put; `None`: there is no such table.
    fn get(&self, ident: &TableIdent) -> Result<Option<String>>;

    /// Adds a row for a new table. `false`: the name is taken, and nothing was changed.
    fn put_new(&self, ident: &TableIdent, location: &str) -> Result<bool>;

    /// Replaces `base` by `new`, in one step, if the row says `base`. `false`: it does not, or is
    /// gone, and nothing was changed. What an error proves is told in the module's head.
    fn swap(&self, ident: &TableIdent, base: &str, new: &str) -> Result<bool>;
}

/// Locks, even if a thread panicked while it held the lock: each holder here makes one change, so
/// what it guards is whole at every moment.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
