//! What a person sees when something went wrong, and the exit code that a program sees.

/// The result of a command or a lesson.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a command did not do what was asked. The message says what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A verb failed.
    #[error(transparent)]
    Ops(#[from] ops::Error),
    /// The catalog could not be opened or asked.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A location or a schema that is none.
    #[error(transparent)]
    Meta(#[from] meta::Error),
    /// The request cannot be carried out.
    #[error("{0}")]
    Refused(String),
    /// A lesson measured another number than it promises.
    #[error("expected {what} to be {expected}, and the table on disk says {found}")]
    Expectation {
        /// What was measured.
        what: String,
        /// The number of the guide.
        expected: String,
        /// The number on disk.
        found: String,
    },
    /// The checker found broken invariants; they were printed.
    #[error("{0} broken invariants")]
    Faults(usize),
}

impl Error {
    /// What the process exits with: 1 failed, 3 a conflict or an unknown outcome, 4 faults found.
    /// (0 is done, and 2 wrong usage.)
    pub fn exit_code(&self) -> u8 {
        match self {
            Error::Ops(ops::Error::Conflict { .. } | ops::Error::Unknown { .. }) => 3,
            Error::Catalog(catalog::Error::Busy { .. }) => 3,
            Error::Ops(ops::Error::Catalog(catalog::Error::Busy { .. })) => 3,
            Error::Faults(_) => 4,
            _ => 1,
        }
    }
}
