//! Why a verb did not do what was asked, by what the caller can do about it.

/// The result of every verb.
pub type Result<T> = std::result::Result<T, Error>;

/// What stopped a verb. Unless it is [`Error::Unknown`], the table is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The metadata is damaged, or the request breaks a rule of the format.
    #[error(transparent)]
    Meta(#[from] meta::Error),
    /// A file could not be read, written or deleted.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The catalog has no such table, or could not be asked.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A Parquet file is damaged or could not be written. Restore it from a copy; `kiosko check`
    /// lists every damaged file of a table.
    #[error("{file} is not a sound Parquet file: {why}")]
    Parquet {
        /// The file.
        file: String,
        /// What the Parquet library said.
        why: String,
    },
    /// The request does not fit the table. Change the request.
    #[error("{what} is not possible: {why}")]
    Invalid {
        /// What was asked.
        what: String,
        /// Why not, and what to ask instead.
        why: String,
    },
    /// A rival's commit forbids this one. Nothing of it is in the table; look at what the rival did,
    /// and ask again.
    #[error(
        "the {operation} was given up: {why} (rule: {rule}). It began at snapshot {ours}, and \
         snapshot {theirs} came between. The table holds the rival's commit and none of ours; \
         look at it and run the {operation} again"
    )]
    Conflict {
        /// The verb.
        operation: &'static str,
        /// The rule that the two commits break together.
        rule: &'static str,
        /// What happened, with the file or the count.
        why: String,
        /// The snapshot from which the verb began.
        ours: String,
        /// The rival's snapshot.
        theirs: String,
    },
    /// Nobody knows whether the commit happened: the catalog's answer was lost. Nothing was cleaned
    /// up. Look at the table before trying again.
    #[error(
        "nobody knows whether the commit of {table} happened: {why}. No file was deleted; load \
         the table and look at its newest snapshot before trying again"
    )]
    Unknown {
        /// The table.
        table: String,
        /// What the catalog said.
        why: String,
    },
}

impl Error {
    /// An [`Error::Invalid`], from anything that prints.
    pub fn invalid(what: impl ToString, why: impl ToString) -> Error {
        Error::Invalid { what: what.to_string(), why: why.to_string() }
    }

    /// An [`Error::Parquet`] for `file`.
    pub fn parquet(file: &str, why: impl ToString) -> Error {
        Error::Parquet { file: file.to_string(), why: why.to_string() }
    }
}
