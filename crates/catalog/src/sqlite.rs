//! A pointer in SQLite: the tables that PyIceberg, Java's `JdbcCatalog` and iceberg-rust share. The
//! only SQL of the core.
//!
//! ```text
//!   iceberg_tables                 one row per table
//!     catalog_name                 kiosko         ┐
//!     table_namespace              kiosko         ├ the primary key
//!     table_name                   dim_product    ┘
//!     metadata_location            file:///.../metadata/00003-a91e.metadata.json     <- the pointer
//!     previous_metadata_location   file:///.../metadata/00002-5f0c.metadata.json
//!     iceberg_type                 TABLE
//!
//!   iceberg_namespace_properties   one row per property; `exists = true` if there is no other
//!     catalog_name, namespace, property_key, property_value
//! ```
//!
//! # What is not ours
//!
//! - Rows of another `catalog_name`: many catalogs may live in one file.
//! - Rows whose `iceberg_type` is neither NULL nor `TABLE`: views. They are not listed, loaded or
//!   swapped, but they do own their names.
//! - Files from before that column existed ("V0") are used as they are, and not migrated: an old
//!   program may still be writing to them.
//! - The journal mode: whoever made the file has chosen it.
//!
//! # Why this is atomic
//!
//! Each change is one transaction, *immediate*: it takes the file's write lock at its start, when
//! waiting is free of consequences, and not in its middle. Others wait for it, up to 10 seconds.
//! `synchronous = FULL` makes COMMIT return only when the row would survive a power cut. And the
//! swap is a single statement: the condition and the change are one step under one lock.
//!
//! A COMMIT that answers *busy* has changed nothing and is rolled back, so [`Error::Busy`] is a
//! proof. After other errors (the disk failed under COMMIT) SQLite itself does not know.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Transaction, TransactionBehavior, params,
};

use crate::pointer::locked;
use crate::{Error, Namespace, Pointer, Result, TableIdent};

/// For how long a call waits for others before it answers [`Error::Busy`].
const PATIENCE: Duration = Duration::from_secs(10);

/// The first table of a new catalog, to the byte as PyIceberg creates it.
const CREATE_TABLES: &str = "CREATE TABLE iceberg_tables (\n\
    \tcatalog_name VARCHAR(255) NOT NULL, \n\
    \ttable_namespace VARCHAR(255) NOT NULL, \n\
    \ttable_name VARCHAR(255) NOT NULL, \n\
    \tmetadata_location VARCHAR(1000), \n\
    \tprevious_metadata_location VARCHAR(1000), \n\
    \ticeberg_type VARCHAR(5), \n\
    \tPRIMARY KEY (catalog_name, table_namespace, table_name)\n)";

/// The second.
const CREATE_NAMESPACES: &str = "CREATE TABLE iceberg_namespace_properties (\n\
    \tcatalog_name VARCHAR(255) NOT NULL, \n\
    \tnamespace VARCHAR(255) NOT NULL, \n\
    \tproperty_key VARCHAR(255) NOT NULL, \n\
    \tproperty_value VARCHAR(1000) NOT NULL, \n\
    \tPRIMARY KEY (catalog_name, namespace, property_key)\n)";

/// Catalog `name` in a SQLite file.
pub struct Sqlite {
    connection: Mutex<Connection>,
    file: String,
    name: String,
    /// Whether `iceberg_tables` has the column `iceberg_type`, as it has since V1.
    typed: bool,
}

impl Sqlite {
    /// Opens the catalog `name` in a file that is there. Nothing is created.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the file is absent, is not SQLite, or lacks the catalog's tables.
    pub fn open(path: impl AsRef<Path>, name: &str) -> Result<Sqlite> {
        Sqlite::connect(path.as_ref(), name, OpenFlags::empty())?.with_tables()
    }

    /// Opens the catalog `name` in a file, and makes the file and its tables if it is new. A file
    /// that holds a catalog is opened as [`Sqlite::open`] does.
    ///
    /// # Errors
    /// [`Error::Damaged`] when the file is not SQLite, holds something else, or cannot be made.
    pub fn create(path: impl AsRef<Path>, name: &str) -> Result<Sqlite> {
        let catalog = Sqlite::connect(path.as_ref(), name, OpenFlags::SQLITE_OPEN_CREATE)?;
        // Looking and making are one transaction, so two programs can create the same file.
        catalog.write(|transaction| {
            let count = "SELECT count(*) FROM sqlite_master";
            if transaction.query_row(count, [], |row| row.get::<_, i64>(0))? == 0 {
                transaction.execute(CREATE_TABLES, [])?;
                transaction.execute(CREATE_NAMESPACES, [])?;
            }
            Ok(())
        })?;
        catalog.with_tables()
    }

    /// The names of the catalogs in a file that is there, sorted. A new file has none.
    ///
    /// # Errors
    /// As [`Sqlite::open`].
    pub fn names(path: impl AsRef<Path>) -> Result<Vec<String>> {
        let query = "SELECT catalog_name FROM iceberg_tables UNION \
                     SELECT catalog_name FROM iceberg_namespace_properties ORDER BY 1";
        Sqlite::open(path, "")?.read(|connection| {
            let mut query = connection.prepare(query)?;
            let names = query.query_map([], |row| row.get(0))?;
            names.collect()
        })
    }

    fn connect(path: &Path, name: &str, flags: OpenFlags) -> Result<Sqlite> {
        let damaged =
            |file: &Path, why: String| Error::Damaged { file: file.display().to_string(), why };
        // An absolute path begins with a slash, so SQLite cannot take it for a URI with options.
        let path = std::path::absolute(path).map_err(|e| damaged(path, e.to_string()))?;
        let flags = flags | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection =
            Connection::open_with_flags(&path, flags).map_err(|e| damaged(&path, opening(&e)))?;
        let (file, name) = (path.display().to_string(), name.to_string());
        let catalog = Sqlite { connection: Mutex::new(connection), file, name, typed: true };
        catalog.read(|connection| {
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "synchronous", "FULL")
        })?;
        Ok(catalog)
    }

    /// Sees that the file has both tables, and which version of the first.
    fn with_tables(mut self) -> Result<Sqlite> {
        let columns = |table: &str| {
            self.read(|connection| {
                let mut query = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
                let names = query.query_map([table], |row| row.get::<_, String>(0))?;
                names.collect::<rusqlite::Result<BTreeSet<_>>>()
            })
        };
        for table in ["iceberg_tables", "iceberg_namespace_properties"] {
            if columns(table)?.is_empty() {
                let why = format!("it is a SQLite file, but without the table {table}");
                return Err(Error::Damaged { file: self.file, why });
            }
        }
        self.typed = columns("iceberg_tables")?.contains("iceberg_type");
        Ok(self)
    }

    /// The end of a WHERE that leaves views alone.
    fn tables_only(&self) -> &'static str {
        match self.typed {
            true => "AND (iceberg_type IS NULL OR iceberg_type = 'TABLE')",
            false => "",
        }
    }

    fn read<T>(&self, act: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        act(&locked(&self.connection)).map_err(|error| self.failed(error))
    }

    /// Runs a transaction that holds the write lock from its start. On an error it is rolled back.
    fn write<T>(&self, act: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T> {
        let mut connection = locked(&self.connection);
        let run = |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let answer = act(&transaction)?;
            transaction.commit()?;
            Ok(answer)
        };
        run(&mut connection).map_err(|error| self.failed(error))
    }

    /// What SQLite said, in our terms.
    fn failed(&self, error: rusqlite::Error) -> Error {
        let file = self.file.clone();
        match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Error::Busy { file, waited_s: PATIENCE.as_secs() }
            }
            Some(ErrorCode::ReadOnly) => Error::invalid(
                format!("writing to the catalog {file}"),
                "the file, or its folder, is read-only; use a copy, or ask for permission",
            ),
            Some(ErrorCode::NotADatabase) => {
                Error::Damaged { file, why: "it is not a SQLite file".into() }
            }
            _ => Error::Damaged { file, why: error.to_string() },
        }
    }
}

/// Why a file could not even be opened.
fn opening(error: &rusqlite::Error) -> String {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen) => {
            "it cannot be opened: there is no such file or folder, or no permission".into()
        }
        _ => error.to_string(),
    }
}

impl Pointer for Sqlite {
    fn name(&self) -> &str {
        &self.name
    }

    fn create_namespace(&self, namespace: &Namespace) -> Result<bool> {
        let key = params![self.name, namespace.to_string()];
        self.write(|transaction| {
            if transaction.query_row(NAMESPACE_EXISTS, key, |row| row.get(0))? {
                return Ok(false);
            }
            let insert = "INSERT INTO iceberg_namespace_properties \
                 (catalog_name, namespace, property_key, property_value) \
                 VALUES (?1, ?2, 'exists', 'true')";
            Ok(transaction.execute(insert, key)? == 1)
        })
    }

    fn namespace_exists(&self, namespace: &Namespace) -> Result<bool> {
        let key = params![self.name, namespace.to_string()];
        self.read(|connection| connection.query_row(NAMESPACE_EXISTS, key, |row| row.get(0)))
    }

    fn list_namespaces(&self) -> Result<Vec<Namespace>> {
        let select = "SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1 \
             UNION SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1";
        let texts = self.read(|connection| {
            let mut query = connection.prepare(select)?;
            let texts = query.query_map([&self.name], |row| row.get::<_, String>(0))?;
            texts.collect::<rusqlite::Result<Vec<_>>>()
        })?;
        let sorted: BTreeSet<_> = texts.iter().map(|text| Namespace::as_stored(text)).collect();
        Ok(sorted.into_iter().collect())
    }

    fn list(&self, namespace: &Namespace) -> Result<Vec<TableIdent>> {
        let select = format!(
            "SELECT table_name FROM iceberg_tables \
             WHERE catalog_name = ?1 AND table_namespace = ?2 {} ORDER BY table_name",
            self.tables_only()
        );
        self.read(|connection| {
            let mut query = connection.prepare(&select)?;
            let key = params![self.name, namespace.to_string()];
            let rows = query.query_map(key, |row| {
                Ok(TableIdent { namespace: namespace.clone(), name: row.get(0)? })
            })?;
            rows.collect()
        })
    }

    fn get(&self, ident: &TableIdent) -> Result<Option<String>> {
        let select = format!(
            "SELECT metadata_location FROM iceberg_tables \
             WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3 {}",
            self.tables_only()
        );
        let key = params![self.name, ident.namespace.to_string(), ident.name];
        let row = self.read(|connection| {
            connection.query_row(&select, key, |row| row.get::<_, Option<String>>(0)).optional()
        })?;
        match row {
            Some(None) => {
                let why = format!("its row for the table {ident} names no metadata file");
                Err(Error::Damaged { file: self.file.clone(), why })
            }
            row => Ok(row.flatten()),
        }
    }

    fn put_new(&self, ident: &TableIdent, location: &str) -> Result<bool> {
        let (column, value) = if self.typed { (", iceberg_type", ", 'TABLE'") } else { ("", "") };
        let insert = format!(
            "INSERT INTO iceberg_tables \
             (catalog_name, table_namespace, table_name, metadata_location{column}) \
             VALUES (?1, ?2, ?3, ?4{value}) ON CONFLICT DO NOTHING"
        );
        let row = params![self.name, ident.namespace.to_string(), ident.name, location];
        self.write(|transaction| Ok(transaction.execute(&insert, row)? == 1))
    }

    fn swap(&self, ident: &TableIdent, base: &str, new: &str) -> Result<bool> {
        let update = format!(
            "UPDATE iceberg_tables SET metadata_location = ?5, previous_metadata_location = ?4 \
             WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3 \
             AND metadata_location = ?4 {}",
            self.tables_only()
        );
        let row = params![self.name, ident.namespace.to_string(), ident.name, base, new];
        self.write(|transaction| Ok(transaction.execute(&update, row)? == 1))
    }
}

/// A namespace exists when it has a property or a table.
const NAMESPACE_EXISTS: &str = "SELECT EXISTS \
     (SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2) OR EXISTS \
     (SELECT 1 FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2)";

#[cfg(test)]
mod tests {
    use super::*;

    /// A catalog with one row, that waits for nobody, and a second connection to its file.
    fn impatient() -> (tempfile::TempDir, Sqlite, Connection, TableIdent) {
        let folder = tempfile::tempdir().unwrap();
        let catalog = Sqlite::create(folder.path().join("catalog.db"), "kiosko").unwrap();
        locked(&catalog.connection).busy_timeout(Duration::ZERO).unwrap();
        let ident = TableIdent::parse("shop.t").unwrap();
        assert!(catalog.put_new(&ident, "a").unwrap());
        let other = Connection::open(&catalog.file).unwrap();
        (folder, catalog, other, ident)
    }

    #[test]
    fn busy_has_changed_nothing() {
        // A writer keeps us from beginning; a reader keeps us from committing.
        for rival in ["BEGIN IMMEDIATE", "BEGIN; SELECT * FROM iceberg_tables"] {
            let (_folder, catalog, other, ident) = impatient();
            other.execute_batch(rival).unwrap();
            let error = catalog.swap(&ident, "a", "b").unwrap_err();
            assert!(matches!(error, Error::Busy { .. }) && error.proves_nothing_changed());
            assert!(error.to_string().starts_with(&catalog.file), "{error}");
            other.execute_batch("COMMIT").unwrap();
            assert_eq!(catalog.get(&ident).unwrap().as_deref(), Some("a"), "after {rival}");
            assert!(catalog.swap(&ident, "a", "b").unwrap(), "and can be tried again");
        }
    }

    #[test]
    fn a_file_that_may_not_be_written_is_still_read() {
        let (_folder, catalog, _, ident) = impatient();
        let read_only =
            Connection::open_with_flags(&catalog.file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let catalog = Sqlite { connection: Mutex::new(read_only), ..catalog };
        assert_eq!(catalog.get(&ident).unwrap().as_deref(), Some("a"));
        let error = catalog.swap(&ident, "a", "b").unwrap_err();
        assert!(matches!(error, Error::Invalid { .. }) && error.proves_nothing_changed());
    }

    #[test]
    fn commits_are_durable_and_the_journal_is_left_as_it_was() {
        let (_folder, catalog, _, _) = impatient();
        let ask = |pragma| {
            let connection = locked(&catalog.connection);
            connection.pragma_query_value(None, pragma, |row| row.get::<_, String>(0))
        };
        assert_eq!(ask("journal_mode").unwrap(), "delete");
        let full = locked(&catalog.connection)
            .pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0))
            .unwrap();
        assert_eq!(full, 2, "FULL");
    }
}
