//! What can be wrong with a table's metadata, by what the reader of the message can do about it.

/// The result of every function of this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// A fault in metadata, or a request that the format forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The bytes of a file contradict the format. Nothing was changed; bring the file back from a
    /// copy, or roll the table back to a metadata file from before the damage.
    #[error(
        "{file} is damaged at {at}: expected {want}, found {got}. Nothing was changed; restore \
         the file from a copy, or point the catalog at an older metadata file"
    )]
    Corrupt {
        /// The file, as its reader named it.
        file: String,
        /// The place inside: a JSON path, or the Avro block, record, field and byte.
        at: String,
        /// What the format asks for there.
        want: String,
        /// What is there.
        got: String,
    },
    /// The request breaks a rule of the specification. Change the request.
    #[error("{what} is not allowed: {why}")]
    Invalid {
        /// What was asked.
        what: String,
        /// The rule it breaks, and what to ask instead.
        why: String,
    },
    /// Legal Iceberg that this version of Kiosko does not handle. Nothing was changed.
    #[error("{what} is not supported here: {why}")]
    Unsupported {
        /// The structure or operation.
        what: String,
        /// Why it stops here, and what can be done instead.
        why: String,
    },
}

impl Error {
    /// A [`Error::Corrupt`], from anything that prints.
    pub fn corrupt(
        file: impl ToString,
        at: impl ToString,
        want: impl ToString,
        got: impl ToString,
    ) -> Error {
        Error::Corrupt {
            file: file.to_string(),
            at: at.to_string(),
            want: want.to_string(),
            got: got.to_string(),
        }
    }

    /// A [`Error::Invalid`], from anything that prints.
    pub fn invalid(what: impl ToString, why: impl ToString) -> Error {
        Error::Invalid { what: what.to_string(), why: why.to_string() }
    }

    /// A [`Error::Unsupported`], from anything that prints.
    pub fn unsupported(what: impl ToString, why: impl ToString) -> Error {
        Error::Unsupported { what: what.to_string(), why: why.to_string() }
    }
}
