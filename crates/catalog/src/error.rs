//! What can go wrong in a catalog, by what the caller can do about it. A lost race is not here: it
//! is an ordinary end of a commit, see [`Outcome`](crate::Outcome).

use crate::{Namespace, TableIdent};

/// The result of every catalog operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a catalog did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No namespace has this name. List the namespaces, or create it.
    #[error("there is no namespace {namespace} in catalog {catalog}; create it, or list them")]
    NoSuchNamespace {
        /// The name asked for.
        namespace: Namespace,
        /// The catalog that was asked.
        catalog: String,
    },
    /// No table has this name: it never did, or somebody dropped or renamed it.
    #[error("there is no table {table} in catalog {catalog}; list the tables of its namespace")]
    NoSuchTable {
        /// The name asked for.
        table: TableIdent,
        /// The catalog that was asked.
        catalog: String,
    },
    /// The name is taken, and nothing was changed. Use what is there, or choose another name.
    #[error("the {what} {name} exists already; use it, or choose another name")]
    AlreadyExists {
        /// `table` or `namespace`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The request cannot be granted, and nothing was changed. Change the request.
    #[error("{what} is not allowed: {why}")]
    Invalid {
        /// What was asked for.
        what: String,
        /// The rule it breaks, and what to ask instead.
        why: String,
    },
    /// The catalog's own file cannot serve as one: absent, something else, damaged, or on a medium
    /// that fails. Check the path, or bring the file back from a copy. If this ended a write, the
    /// outcome of the write is unknown.
    #[error(
        "{file} does not work as a catalog: {why}. Check the path and the disk, or bring the file \
         back from a copy"
    )]
    Damaged {
        /// The file.
        file: String,
        /// What was expected and found.
        why: String,
    },
    /// Others kept the catalog locked for as long as we were ready to wait. Nothing was changed by
    /// this call. Try again.
    #[error(
        "{file} is locked: others kept it busy for {waited_s} s. Nothing was changed; try again, \
         or find the program that holds it open"
    )]
    Busy {
        /// The file.
        file: String,
        /// For how long we waited, in seconds.
        waited_s: u64,
    },
    /// A fault in the metadata, or a request that the format forbids.
    #[error(transparent)]
    Meta(#[from] meta::Error),
    /// A fault of the storage.
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl Error {
    /// An [`Error::Invalid`], from anything that prints.
    pub(crate) fn invalid(what: impl ToString, why: impl ToString) -> Error {
        Error::Invalid { what: what.to_string(), why: why.to_string() }
    }

    /// Whether this error proves that the call which gave it changed nothing. From all others a
    /// change may have come, or may still come: they do not permit clean-up.
    pub fn proves_nothing_changed(&self) -> bool {
        matches!(self, Error::Busy { .. } | Error::Invalid { .. })
    }
}
