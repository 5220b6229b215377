//! The commit: a [`Catalog`] made of a [`Pointer`] and a store.
//!
//! This is the only place in the house that writes a metadata.json, and the only one that moves a
//! pointer. A commit takes six steps. The third column is what is left if everything stops right
//! after the step, and it is the proof that nothing can be lost:
//!
//! ```text
//!   1  look      get the pointer                              nothing
//!   2  read      the metadata it names, unless base has it    nothing
//!   3  check     what the commit requires                     nothing
//!   4  apply     what it changes, once, at one time           nothing
//!   5  write     metadata/<version + 1>-<uuid>.metadata.json  a file that nobody refers to: an orphan
//!   6  swap      the pointer, from what step 1 saw            the commit, whole
//! ```
//!
//! Every state of the world in that column is either the table before or the table after. What the
//! commit's caller wrote earlier (data files, manifests) is an orphan up to step 5 and part of the
//! table from step 6 on; the swap is the instant at which all of it becomes true at once.
//!
//! # Someone else was quicker
//!
//! Step 1 may find that the pointer has moved since `base` was loaded. That alone loses nothing:
//! the updates are applied to what is current *now*, if it meets the requirements. Step 6 may find
//! that the pointer has moved since step 1. Then the commit is lost, provably, and its metadata file
//! is deleted: its name held a fresh uuid, nobody else can have written it, and the pointer never
//! named it.
//!
//! # Nobody answers
//!
//! If the swap ends in an error, it may have happened all the same: the answer was lost, not the
//! question. So the pointer is looked at again. If the new file is there, or in the log of the file
//! that is there, the commit is won. But if it is *not* there, that proves nothing, since a question
//! may arrive later than the look. The outcome is then unknown, every file stays, and the caller is
//! told so.

use std::sync::Arc;

use meta::metadata::TableMetadata;
use meta::update::{Requirement, Update};
use meta::{Location, location, metadata_json, update};
use store::{Stamp, Store};

use crate::{Catalog, Error, Namespace, NewTable, Outcome, Pointer, Result, Table, TableIdent};

/// A catalog of tables in a store, whose pointers are kept by `P`.
pub struct Local<P> {
    pointer: P,
    store: Arc<dyn Store>,
    stamp: Arc<Stamp>,
    warehouse: Location,
}

impl<P: Pointer> Local<P> {
    /// A catalog whose new tables lie below the folder `warehouse`.
    pub fn new(
        pointer: P,
        store: Arc<dyn Store>,
        stamp: Arc<Stamp>,
        warehouse: Location,
    ) -> Local<P> {
        Local { pointer, store, stamp, warehouse }
    }
}

impl<P: Pointer> Catalog for Local<P> {
    fn name(&self) -> &str {
        self.pointer.name()
    }

    fn create_namespace(&self, namespace: &Namespace) -> Result<()> {
        namespace.check()?;
        if self.pointer.create_namespace(namespace)? {
            return Ok(());
        }
        Err(Error::AlreadyExists { what: "namespace", name: namespace.to_string() })
    }

    fn list_namespaces(&self) -> Result<Vec<Namespace>> {
        self.pointer.list_namespaces()
    }

    fn list_tables(&self, namespace: &Namespace) -> Result<Vec<TableIdent>> {
        self.need_namespace(namespace)?;
        self.pointer.list(namespace)
    }

    fn create_table(&self, ident: &TableIdent, table: NewTable) -> Result<Table> {
        // 1. Ask before writing: the common refusals should leave nothing behind.
        ident.check()?;
        self.need_namespace(&ident.namespace)?;
        if self.pointer.get(ident)?.is_some() {
            return Err(taken(ident));
        }
        // 2. Make the metadata. A crash here leaves nothing.
        let folder = match table.location {
            Some(folder) => Location::parse(folder.as_str().trim_end_matches('/'))?,
            None => self.folder_of(ident)?,
        };
        let (uuid, now_ms) = (self.stamp.uuid(), self.stamp.now_ms());
        let metadata = TableMetadata::new(uuid, folder, table.schema, table.properties, now_ms)?;
        // 3. Write it. A crash here leaves an orphan, in a folder that is no table yet.
        let new = self.write(ident, metadata, 0)?;
        // 4. Take the name. A crash here leaves the table.
        match self.pointer.put_new(ident, new.metadata_location.as_str()) {
            Ok(true) => Ok(new),
            Ok(false) => {
                self.discard(&new);
                Err(taken(ident))
            }
            Err(error) if error.proves_nothing_changed() => {
                self.discard(&new);
                Err(error)
            }
            Err(_) if self.has_landed(&new) => Ok(new),
            Err(error) => Err(error),
        }
    }

    fn load_table(&self, ident: &TableIdent) -> Result<Table> {
        ident.check()?;
        let text = self.pointer.get(ident)?.ok_or_else(|| self.absent(ident))?;
        self.load(ident, &text)
    }

    fn commit(
        &self,
        base: &Table,
        requirements: &[Requirement],
        updates: &[Update],
    ) -> Result<Outcome> {
        base.ident.check()?;
        // 1. Look where the pointer is. A crash here leaves nothing.
        let text = self.pointer.get(&base.ident)?.ok_or_else(|| self.absent(&base.ident))?;
        // 2. Read what it names. A file never changes, so if it is still the file that `base` was
        //    loaded from, `base` is what it says. A crash here leaves nothing.
        let moved = text != base.metadata_location.as_str();
        let current = if moved { self.load(&base.ident, &text)? } else { base.clone() };
        // 3. Check what the commit requires; first of all that this is not a stranger who was given
        //    the name after the table of `base` was dropped. A crash here leaves nothing.
        let same_table = Requirement::AssertTableUuid(base.metadata.table_uuid);
        for requirement in [&same_table].into_iter().chain(requirements) {
            if let Err(why) = requirement.check(&current.metadata) {
                return Ok(Outcome::Lost { why });
            }
        }
        // 4. Apply the updates. If they contradict metadata that a rival made, a snapshot's
        //    sequence number for instance being taken by now, then the rival has won and the change
        //    can be redone on top. If they contradict `base` itself, it would be of no use. A crash
        //    here leaves nothing.
        let now_ms = self.stamp.now_ms();
        let applied = update::apply(&current.metadata, &current.metadata_location, updates, now_ms);
        let metadata = match applied {
            Ok(metadata) => metadata,
            Err(error) if moved => return Ok(Outcome::Lost { why: error.to_string() }),
            Err(error) => return Err(error.into()),
        };
        // 5. Write the new metadata beside the old. A crash here leaves a file that nobody refers
        //    to: an orphan, as is one that this step itself may leave when it fails.
        let version = location::metadata_version(current.metadata_location.name()).unwrap_or(0);
        let new = self.write(&base.ident, metadata, version.saturating_add(1))?;
        // 6. Swap. A crash here leaves the commit, whole.
        self.swap(&text, new)
    }
}

impl<P: Pointer> Local<P> {
    /// Step 6 of a commit, and the reading of its answer.
    fn swap(&self, base: &str, new: Table) -> Result<Outcome> {
        match self.pointer.swap(&new.ident, base, new.metadata_location.as_str()) {
            Ok(true) => Ok(Outcome::Won(new)),
            Ok(false) => {
                self.discard(&new);
                let why =
                    format!("another commit to {} came first; it is not {base} now", new.ident);
                Ok(Outcome::Lost { why })
            }
            // As `false`, but nobody won either: the pointer could not be reached in time.
            Err(error) if error.proves_nothing_changed() => {
                self.discard(&new);
                Err(error)
            }
            Err(_) if self.has_landed(&new) => Ok(Outcome::Won(new)),
            Err(error) => {
                let (table, file) = (&new.ident, &new.metadata_location);
                let why = format!(
                    "the swap of {table} to {file} gave no clear answer: {error}. Keep every file, \
                     and see whether that one is in the table's metadata log before trying again"
                );
                Ok(Outcome::Unknown { why })
            }
        }
    }

    /// Whether the pointer names `new`, or names a later file that logs it: someone may have
    /// committed on top before we looked. `false` proves nothing.
    ///
    /// A winner found in this way is given the table as this commit left it, and not the later one:
    /// it is what the answer would have said, had it come in time.
    fn has_landed(&self, new: &Table) -> bool {
        let Ok(current) = self.load_table(&new.ident) else { return false };
        let file = &new.metadata_location;
        current.metadata_location == *file
            || current.metadata.metadata_log.iter().any(|entry| entry.metadata_file == *file)
    }

    /// Writes a metadata file under a fresh name, in the folder of the table that it describes.
    fn write(&self, ident: &TableIdent, metadata: TableMetadata, version: u64) -> Result<Table> {
        let name = location::metadata_file(version, self.stamp.uuid());
        let metadata_location = metadata.location.join(&name)?;
        let bytes = metadata_json::print(&metadata)?;
        store::put_new(&*self.store, metadata_location.normal(), &bytes)?;
        Ok(Table { ident: ident.clone(), metadata_location, metadata: Arc::new(metadata) })
    }

    /// Deletes the metadata file of an attempt that is proven to have failed. Should that fail too,
    /// the file is an orphan, no worse than after a crash.
    fn discard(&self, lost: &Table) {
        let _ = self.store.delete(lost.metadata_location.normal());
    }

    fn load(&self, ident: &TableIdent, text: &str) -> Result<Table> {
        let metadata_location = Location::parse(text)?;
        let path = metadata_location.normal();
        let metadata = Arc::new(metadata_json::parse(path, &self.store.read(path)?)?);
        Ok(Table { ident: ident.clone(), metadata_location, metadata })
    }

    /// The folder that belongs to a name: `<warehouse>/<namespace>/<table>`, as PyIceberg has it.
    ///
    /// A namespace of two levels is *one* folder, `shop.lima`, and not two. So the tables
    /// `shop.lima` and `shop.lima.orders` lie in `shop/lima` and `shop.lima/orders`, side by side.
    /// Were the second inside the first, an orphan hunt in one would find the other's files.
    fn folder_of(&self, ident: &TableIdent) -> Result<Location> {
        let folder = self.warehouse.join(&format!("{}/{}", ident.namespace, ident.name))?;
        // The names were checked, so this holds; but what it would cost if it did not is too much.
        if folder == self.warehouse || !self.warehouse.holds(&folder) {
            let why = format!("its folder {folder} would lie outside {}", self.warehouse);
            return Err(Error::invalid(format!("the table name {ident}"), why));
        }
        Ok(folder)
    }

    fn need_namespace(&self, namespace: &Namespace) -> Result<()> {
        namespace.check()?;
        if self.pointer.namespace_exists(namespace)? {
            return Ok(());
        }
        let (namespace, catalog) = (namespace.clone(), self.name().to_string());
        Err(Error::NoSuchNamespace { namespace, catalog })
    }

    fn absent(&self, ident: &TableIdent) -> Error {
        Error::NoSuchTable { table: ident.clone(), catalog: self.name().to_string() }
    }
}

fn taken(ident: &TableIdent) -> Error {
    Error::AlreadyExists { what: "table", name: ident.to_string() }
}
