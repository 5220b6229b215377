//! A catalog: who is current. Here `meta` (meaning) and `store` (bytes) first meet.
//!
//! # What a catalog is
//!
//! Everything in a table but one thing is a file that never changes. The one thing is the answer to
//! the question *which metadata file is the table now?* That answer is a single row, and a commit
//! is nothing but exchanging it, in one step, for another:
//!
//! ```text
//!   the catalog: one row             the storage: files that never change
//!
//!   kiosko.dim_product ──┐           metadata/00000-77b1.metadata.json
//!                        │           metadata/00001-02c4.metadata.json
//!               before   ├─────────> metadata/00002-5f0c.metadata.json
//!               after    └─────────> metadata/00003-a91e.metadata.json
//!
//!   swap: if the row says 00002-5f0c, let it say 00003-a91e
//! ```
//!
//! Before the swap nobody sees the new files; after it everybody does; there is no between. So the
//! storage may be as dumb as a bucket. It never has to lock, to rename, or to overwrite: all the
//! wisdom needed is one compare-and-swap on one short string.
//!
//! # Two traits, because there are two questions
//!
//! ```text
//!   Catalog   what may a client ask?     create, load, commit       Local, and one day REST
//!   Pointer   what can be swapped?       get, put_new, swap         Memory, Sqlite
//! ```
//!
//! [`Local`] makes a [`Catalog`] of any [`Pointer`]: it checks what a commit requires, applies what
//! it changes, writes the new metadata file, and swaps.
//!
//! # Three outcomes, not two
//!
//! A commit is won, or lost, or *unknown*: the swap was asked for and its answer never came. Taking
//! unknown for lost, and tidying up after it, has destroyed tables in more than one implementation:
//! the swap had happened, and what was tidied up was the live table. [`Outcome`] makes a caller
//! say what it does in each case.
//!
//! # Reading order
//!
//! ```text
//!   lib.rs           the nouns, and the trait Catalog             <- you are here
//!   names.rs         what a namespace or a table may be called
//!   error.rs         what can go wrong, and what to do then
//!   pointer.rs       the trait Pointer; the race drawn as two columns in time
//!   memory.rs        the definition: a map and a lock
//!   local.rs         the commit, step by step, and what a crash after each step leaves behind
//!   sqlite.rs        the table that PyIceberg, Java and iceberg-rust share
//!   conformance.rs   what every catalog must do, one numbered promise at a time
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use meta::Location;
use meta::metadata::TableMetadata;
use meta::schema::Schema;
use meta::update::{Requirement, Update};
use store::{Stamp, Store};

mod error;
mod local;
mod memory;
mod names;
mod pointer;
mod sqlite;

pub mod conformance;

pub use error::{Error, Result};
pub use local::Local;
pub use memory::Memory;
pub use names::{Namespace, TableIdent};
pub use pointer::Pointer;
pub use sqlite::Sqlite;

/// A table at one moment: its name, where its metadata lies, and what it says. Never changes;
/// loading again, or winning a commit, gives another.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The name it was loaded by.
    pub ident: TableIdent,
    /// The metadata file, spelled as the catalog spells it.
    pub metadata_location: Location,
    /// What that file says.
    pub metadata: Arc<TableMetadata>,
}

/// What a new table begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTable {
    /// Its columns.
    pub schema: Schema,
    /// The folder for its files; `None` for the place that the catalog gives to its name.
    pub location: Option<Location>,
    /// Its settings.
    pub properties: BTreeMap<String, String>,
}

impl NewTable {
    /// A table with these columns, in the place that belongs to its name, without settings.
    pub fn new(schema: Schema) -> NewTable {
        NewTable { schema, location: None, properties: BTreeMap::new() }
    }
}

/// What a client may ask of a catalog. Shared as `Arc<dyn Catalog>`; every method may be called
/// from any thread.
///
/// [`conformance`] states each promise below as a test.
pub trait Catalog: Send + Sync {
    /// What the catalog is called. Several catalogs may live in one file, told apart by this.
    fn name(&self) -> &str;

    /// Makes a namespace. Its parents need not exist.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`]; [`Error::Invalid`] for a name that is none.
    fn create_namespace(&self, namespace: &Namespace) -> Result<()>;

    /// Every namespace, sorted, in full: `a.b` and not `b` below `a`.
    ///
    /// # Errors
    /// Whatever keeps the list from being complete.
    fn list_namespaces(&self) -> Result<Vec<Namespace>>;

    /// The tables of a namespace, sorted; not those of namespaces below it. Views are no tables.
    ///
    /// # Errors
    /// [`Error::NoSuchNamespace`]; whatever keeps the list from being complete.
    fn list_tables(&self, namespace: &Namespace) -> Result<Vec<TableIdent>>;

    /// Makes an empty table.
    ///
    /// # Errors
    /// [`Error::AlreadyExists`], [`Error::NoSuchNamespace`], [`Error::Invalid`], and then nothing
    /// was made. After any other error the table may or may not exist: load it to see.
    fn create_table(&self, ident: &TableIdent, table: NewTable) -> Result<Table>;

    /// The table as it is now.
    ///
    /// # Errors
    /// [`Error::NoSuchTable`]; [`Error::Meta`] or [`Error::Store`], naming the file, when the
    /// metadata is damaged or absent.
    fn load_table(&self, ident: &TableIdent) -> Result<Table>;

    /// Makes `updates` to the table, if it still meets `requirements` and is still the table that
    /// `base` is: its uuid is always required, asked for or not. A rival may have committed since
    /// `base` was loaded; the requirements alone say whether that matters.
    ///
    /// # Errors
    /// An `Err` comes from before the swap: the table is as it was, or as a rival made it.
    /// [`Error::NoSuchTable`] when it is gone; [`Error::Meta`] when the updates contradict `base`
    /// itself, so that no retry can help; [`Error::Busy`] when a retry can.
    fn commit(
        &self,
        base: &Table,
        requirements: &[Requirement],
        updates: &[Update],
    ) -> Result<Outcome>;
}

/// How a commit ended.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a commit may have been lost, or its outcome may be unknown"]
pub enum Outcome {
    /// The commit is in the table's history. The table is as this commit left it; a rival may have
    /// committed on top since, as at any other time.
    Won(Table),
    /// Proven: the commit is not in the table's history and never will be. What was written for it
    /// may be deleted; or load the table again and redo the change from there.
    Lost {
        /// What was found instead of what the commit required.
        why: String,
    },
    /// Nobody can say yet. The commit may be in the history, or may still enter it. Delete nothing
    /// that was written for it, and do not repeat it before a look at the table.
    Unknown {
        /// What happened to the answer.
        why: String,
    },
}

/// All that a verb needs of the world: who is current, where the bytes are, and time and chance.
#[derive(Clone)]
pub struct Warehouse {
    /// Who is current.
    pub catalog: Arc<dyn Catalog>,
    /// Where the bytes are.
    pub store: Arc<dyn Store>,
    /// Time and chance.
    pub stamp: Arc<Stamp>,
}
