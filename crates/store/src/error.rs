//! What can go wrong in a store. One variant per thing the caller can *do* about it: not found and
//! already exists are ordinary answers that steer an algorithm, the rest end it.
//!
//! A [`NewFile`](crate::NewFile) is a `std::io::Write`, whose errors are `std::io::Error`. So that
//! nothing is lost on that detour, the conversion goes both ways:
//!
//! ```text
//!   Error ──From──> std::io::Error ──(BufWriter, Avro or Parquet writer)──> Error::io ──> Error
//!   Stopped             carries it inside                                    unwraps it    Stopped
//! ```

use std::io;
use std::ops::Range;

/// The result of every store operation.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a store did not do what it was asked.
#[derive(thiserror::Error, Debug)]
pub enum Error {
    /// Nothing is at this path. Create it, or look where the path came from: a table that names
    /// an absent file has lost it or has moved house (see [`Mount`](crate::Mount)).
    #[error("{path}: no such file; check the path, or mount the place it moved to")]
    NotFound {
        /// The path asked for.
        path: String,
    },

    /// The name is taken, and nothing was changed. Choose a fresh name; whoever has this one won
    /// it fairly.
    #[error("{path}: exists already, and a store never overwrites; choose another name")]
    Exists {
        /// The path that was to be created.
        path: String,
    },

    /// The medium failed: disk full, permission, network. Reading may be tried again. After a
    /// write or a delete the outcome is unknown.
    #[error("{path}: {doing} failed: {source}")]
    Io {
        /// The path being worked on.
        path: String,
        /// What was being done, as a gerund: `reading`, `linking the finished file`.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },

    /// The request itself is wrong, and nothing was done: a path not in normal form, something
    /// that is not a regular file, a write to a read-only store. Trying again is of no use.
    #[error("{path}: refused: {why}")]
    Refused {
        /// The path asked for.
        path: String,
        /// The rule, and how to satisfy it.
        why: &'static str,
    },

    /// A range lies outside the file. Whoever recorded the offsets and the file disagree: the
    /// file was cut short or replaced, or the metadata is corrupt.
    #[error(
        "{path}: bytes {}..{} asked of a file of {length} bytes; it was cut short, or the \
         metadata that gave the range is wrong",
        asked.start, asked.end
    )]
    Range {
        /// The path asked for.
        path: String,
        /// The range that cannot be answered.
        asked: Range<u64>,
        /// The length of the file in bytes.
        length: u64,
    },

    /// The process is deemed dead since an earlier call: tests only, see
    /// [`Faulty`](crate::Faulty). Do nothing more; go on with a fresh store, as after a crash.
    #[error("{path}: stopped by the test at call {call}; reopen the store to go on")]
    Stopped {
        /// The number of the call at which the process died, counted from 0.
        call: u64,
        /// The path of the call that got this answer.
        path: String,
    },
}

impl Error {
    /// An `std::io::Error` met at `path`, told in our terms. If it began as an [`Error`] and
    /// merely travelled as an `io::Error`, the original comes out.
    pub fn io(path: &str, doing: &'static str, source: io::Error) -> Error {
        let path = path.to_string();
        match source.downcast::<Error>() {
            Ok(carried) => carried,
            Err(source) => match source.kind() {
                io::ErrorKind::NotFound => Error::NotFound { path },
                io::ErrorKind::AlreadyExists => Error::Exists { path },
                _ => Error::Io { path, doing, source },
            },
        }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match &error {
            Error::NotFound { .. } => io::ErrorKind::NotFound,
            Error::Exists { .. } => io::ErrorKind::AlreadyExists,
            Error::Io { source, .. } => source.kind(),
            Error::Refused { .. } => io::ErrorKind::InvalidInput,
            Error::Range { .. } => io::ErrorKind::UnexpectedEof,
            // Not `Interrupted`: writers try again after that, and the dead do not.
            Error::Stopped { .. } => io::ErrorKind::Other,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_the_detour_through_io() {
        let stopped = Error::Stopped { call: 7, path: "/w/t/a".into() };
        match Error::io("/w/t/a", "writing", stopped.into()) {
            Error::Stopped { call: 7, path } => assert_eq!(path, "/w/t/a"),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn a_message_says_what_where_and_what_to_do() {
        let error = Error::Range { path: "/w/t/a".into(), asked: 90..120, length: 100 };
        assert_eq!(
            error.to_string(),
            "/w/t/a: bytes 90..120 asked of a file of 100 bytes; it was cut short, or the metadata \
             that gave the range is wrong"
        );
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let error = Error::io("/w/t/a", "writing", source);
        assert_eq!(error.to_string(), "/w/t/a: writing failed: no storage space");
    }
}
