//! A world to do things in: a catalog, a store, a clock. Of two kinds, which must agree on everything:
//!
//! ```text
//!   SqliteDisk     catalog.db and files in a temporary folder     what people use
//!   Memory         a map and a lock, twice                        the definition
//! ```
//!
//! In both the same paths are seen (`/world/warehouse/shop/t/...`): on the disk through a mount. So a
//! world can be copied, and every run of a test starts from the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use catalog::{Local, NewTable, Pointer, Sqlite, Table, TableIdent, Warehouse};
use meta::Location;
use meta::snapshot::Snapshot;
use ops::scan::Scan;
use store::{Bytes, Disk, Mount, Stamp, Store, put_new};
use tempfile::TempDir;

use crate::{Clocked, Double, Whim, rows};

/// What a world is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// SQLite and files.
    SqliteDisk,
    /// Maps.
    Memory,
}

/// When every world begins: 1 August 2026, in milliseconds since 1970.
pub const BEGIN_MS: i64 = 1_785_542_400_000;

/// The folder under which all of a world's files lie.
const ROOT: &str = "/world";

/// The name of the namespace of all tables.
const NAMESPACE: &str = "shop";

/// See the head of this file.
pub struct World {
    kind: Kind,
    seed: u64,
    copies: AtomicU64,
    /// Time and chance.
    pub stamp: Arc<Stamp>,
    /// The store beneath the clock.
    inner: Arc<dyn Store>,
    clocked: Arc<Clocked>,
    pointer: Arc<dyn Pointer>,
    folder: Option<Folder>,
    /// What the same bytes gave before.
    scanned: Scanned,
}

/// A file and its bytes.
type File = (String, Bytes);

/// By manifest list: the manifests and data files below it, and the rows that a scan found.
type Scanned = Arc<Mutex<BTreeMap<File, (Vec<File>, Vec<String>)>>>;

/// A folder that goes with the world, or one that somebody else looks after.
enum Folder {
    Own(TempDir),
    Lent(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Lent(path) => path,
        }
    }
}

/// A table as a reader sees it: its snapshots by sequence number, and which one is current.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct State {
    /// Sequence number, operation, and sorted rows of each retained snapshot.
    pub snapshots: Vec<(i64, &'static str, Vec<String>)>,
    /// The sequence number of the current snapshot.
    pub head: Option<i64>,
}

impl World {
    /// A new world with the namespace `shop`, a file beside the warehouse and one in it that are
    /// nobody's business, and no tables.
    pub fn new(kind: Kind) -> World {
        let folder = (kind == Kind::SqliteDisk).then(|| Folder::Own(tempfile::tempdir().unwrap()));
        let world = World::assemble(kind, folder, 1, BEGIN_MS, None);
        world.pointer.create_namespace(&NAMESPACE.parse().unwrap()).unwrap();
        for bystander in ["elsewhere/note.txt", "warehouse/shop/note.txt", "warehouse/shop/t2/x"] {
            put_new(world.store(), &format!("{ROOT}/{bystander}"), b"not yours").unwrap();
        }
        world
    }

    /// One of each kind.
    pub fn both() -> [World; 2] {
        [World::new(Kind::SqliteDisk), World::new(Kind::Memory)]
    }

    /// The world of SQLite and disk in this folder, opened as another process would. `seed` must be
    /// new, or ids would come again.
    pub fn open(folder: &Path, seed: u64) -> World {
        let begin_ms = BEGIN_MS + 1_000_000_000;
        World::assemble(Kind::SqliteDisk, Some(Folder::Lent(folder.into())), seed, begin_ms, None)
    }

    fn assemble(
        kind: Kind,
        folder: Option<Folder>,
        seed: u64,
        now_ms: i64,
        times: Option<&Clocked>,
    ) -> World {
        let stamp = Arc::new(Stamp::seeded(seed, now_ms));
        let (pointer, store): (Arc<dyn Pointer>, Arc<dyn Store>) = match &folder {
            Some(folder) => {
                let file = folder.path().join("catalog.db");
                let disk = Arc::new(Disk::without_fsync());
                let mount = Mount::new(disk, ROOT, folder.path().to_str().unwrap());
                (Arc::new(Sqlite::create(file, "kiosko").unwrap()), Arc::new(mount))
            }
            None => {
                // A stamp of its own: the files' times come from the wrapper, in both worlds alike.
                let unused = Arc::new(Stamp::seeded(0, 0));
                let store = Arc::new(store::Memory::new(unused));
                (Arc::new(catalog::Memory::new("kiosko")), store)
            }
        };
        let clocked = Clocked::new(store.clone(), stamp.clone(), BEGIN_MS);
        let clocked = Arc::new(match times {
            Some(times) => clocked.with_times_of(times),
            None => clocked,
        });
        let copies = AtomicU64::new(0);
        let scanned = Scanned::default();
        World { kind, seed, copies, stamp, inner: store, clocked, pointer, folder, scanned }
    }

    /// A world like this one, and from here on its own. Its ids are other ones.
    pub fn copy(&self) -> World {
        let seed = self.seed + 1_000_003 * (1 + self.copies.fetch_add(1, Ordering::SeqCst));
        let now_ms = self.stamp.now_ms();
        let folder = self.folder.as_ref().map(|folder| {
            let copy = tempfile::tempdir().unwrap();
            copy_folder(folder.path(), copy.path());
            Folder::Own(copy)
        });
        let mut copy = World::assemble(self.kind, folder, seed, now_ms, Some(&self.clocked));
        copy.scanned = self.scanned.clone();
        if self.kind == Kind::Memory {
            for (path, bytes) in self.everything() {
                put_new(copy.inner.as_ref(), &path, &bytes).unwrap();
            }
            for namespace in self.pointer.list_namespaces().unwrap() {
                copy.pointer.create_namespace(&namespace).unwrap();
                for ident in self.pointer.list(&namespace).unwrap() {
                    let location = self.pointer.get(&ident).unwrap().unwrap();
                    copy.pointer.put_new(&ident, &location).unwrap();
                }
            }
        }
        copy
    }

    /// The same world, opened anew: on disk, nothing but the files and the catalog is carried over.
    pub fn reopen(mut self) -> World {
        let Some(folder) = self.folder.take() else { return self };
        let (seed, now_ms) = (self.seed + 7_000_003, self.stamp.now_ms());
        World::assemble(self.kind, Some(folder), seed, now_ms, None)
    }

    /// What the world is made of.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The folder of a world on disk.
    pub fn folder(&self) -> &Path {
        self.folder.as_ref().expect("a world on disk").path()
    }

    /// The healthy store.
    pub fn store(&self) -> &dyn Store {
        self.clocked.as_ref()
    }

    /// The healthy store, to wrap.
    pub fn shared_store(&self) -> Arc<dyn Store> {
        self.clocked.clone()
    }

    /// The healthy pointer, to wrap.
    pub fn pointer(&self) -> Arc<dyn Pointer> {
        self.pointer.clone()
    }

    /// A client to whom nothing happens.
    pub fn client(&self) -> Warehouse {
        self.client_of(self.shared_store())
    }

    /// A client with a store of his own.
    pub fn client_of(&self, store: Arc<dyn Store>) -> Warehouse {
        self.client_with(Double::new(self.pointer(), Whim::Honest), store)
    }

    /// A client with a pointer and a store of his own.
    pub fn client_with(&self, pointer: impl Pointer + 'static, store: Arc<dyn Store>) -> Warehouse {
        let root = Location::parse(&format!("file://{ROOT}/warehouse")).unwrap();
        let local = Local::new(pointer, store.clone(), self.stamp.clone(), root);
        Warehouse { catalog: Arc::new(local), store, stamp: self.stamp.clone() }
    }

    /// Makes an empty table.
    pub fn create(&self, name: &str, properties: &[(&str, &str)]) -> Table {
        self.client().catalog.create_table(&ident(name), new_table(properties)).unwrap()
    }

    /// A table as it is now.
    pub fn table(&self, name: &str) -> Table {
        self.client().catalog.load_table(&ident(name)).unwrap()
    }

    /// Whether there is a table of this name.
    pub fn has_table(&self, name: &str) -> bool {
        self.pointer.get(&ident(name)).unwrap().is_some()
    }

    /// Every table.
    pub fn tables(&self) -> Vec<Table> {
        let load = |ident: TableIdent| self.client().catalog.load_table(&ident).unwrap();
        self.pointer.list(&NAMESPACE.parse().unwrap()).unwrap().into_iter().map(load).collect()
    }

    /// Runs the checker on every table; and at the pointer, every file that a metadata log names is
    /// there too.
    ///
    /// # Panics
    /// When there is a fault.
    pub fn verify(&self) {
        for table in self.tables() {
            let faults = ops::check::check(self.store(), &table);
            assert!(faults.is_empty(), "{}: {}", table.ident, show(&faults));
            for entry in &table.metadata.metadata_log {
                self.store().size(entry.metadata_file.normal()).unwrap();
            }
        }
    }

    /// The rows of a snapshot, sorted.
    pub fn rows(&self, table: &Table, snapshot: Option<i64>) -> Vec<String> {
        self.try_rows(table, snapshot).unwrap()
    }

    /// The rows of a snapshot, sorted, or why they cannot be read.
    ///
    /// # Errors
    /// As [`ops::scan::scan`].
    pub fn try_rows(&self, table: &Table, snapshot_id: Option<i64>) -> ops::Result<Vec<String>> {
        let scan = Scan { snapshot_id, columns: None };
        let mut lines = Vec::new();
        for batch in ops::scan::scan(&self.shared_store(), table, &scan)? {
            lines.extend(rows::text(&batch?));
        }
        lines.sort();
        Ok(lines)
    }

    /// What a reader of this table sees; `None` when there is no such table.
    pub fn state(&self, name: &str) -> Option<State> {
        if !self.has_table(name) {
            return None;
        }
        let table = self.table(name);
        let look = |snapshot: &Snapshot| {
            let rows = self.rows_once(&table, snapshot);
            (snapshot.sequence_number, snapshot.summary.operation.as_str(), rows)
        };
        let snapshots = table.metadata.snapshots.iter().map(look).collect();
        let head = table.metadata.current_snapshot().map(|head| head.sequence_number);
        Some(State { snapshots, head })
    }

    /// The rows of a snapshot, as [`World::rows`]. Decoding takes most of a test's time, so it is done
    /// only if no copy of this world ever saw the same files with the same bytes.
    fn rows_once(&self, table: &Table, snapshot: &Snapshot) -> Vec<String> {
        let read = |path: String| {
            let bytes = self.store().read(&path).unwrap();
            (path, bytes)
        };
        let list = read(snapshot.manifest_list.normal().into());
        let known = self.scanned.lock().unwrap().get(&list).cloned();
        if let Some((files, rows)) = known
            && files.iter().all(|(path, bytes)| self.store().read(path).unwrap() == bytes)
        {
            return rows;
        }
        let mut files = Vec::new();
        for manifest in ops::load::manifests(self.store(), snapshot).unwrap() {
            files.push(read(manifest.manifest_path.normal().into()));
            let entries = ops::load::entries(self.store(), &manifest).unwrap();
            let live = entries.into_iter().filter(|entry| entry.is_live());
            files.extend(live.map(|entry| read(entry.data_file.file_path.normal().into())));
        }
        let rows = self.rows(table, Some(snapshot.snapshot_id));
        self.scanned.lock().unwrap().insert(list, (files, rows.clone()));
        rows
    }

    /// Every file of the world and its bytes, the catalog's own file left out.
    pub fn everything(&self) -> BTreeMap<String, Bytes> {
        let listed = self.store().list(ROOT).unwrap();
        let files = listed.into_iter().filter(|file| !file.path.contains("/catalog.db"));
        files.map(|file| (file.path.clone(), self.store().read(&file.path).unwrap())).collect()
    }

    /// Every file of the world that lies outside the folder of this table.
    pub fn outside(&self, name: &str) -> BTreeMap<String, Bytes> {
        let folder = format!("{}/", folder(name));
        self.everything().into_iter().filter(|(path, _)| !path.starts_with(&folder)).collect()
    }

    /// The files in the folder of a table.
    pub fn files(&self, name: &str) -> BTreeSet<String> {
        self.store().list(&folder(name)).unwrap().into_iter().map(|file| file.path).collect()
    }

    /// What a table needs, found without the code under test's own answer to that question.
    pub fn needed(&self, table: &Table) -> BTreeSet<String> {
        let metadata = &table.metadata;
        let log = metadata.metadata_log.iter().map(|entry| entry.metadata_file.normal());
        let mut needed: BTreeSet<String> =
            log.chain([table.metadata_location.normal()]).map(str::to_string).collect();
        for snapshot in &metadata.snapshots {
            needed.insert(snapshot.manifest_list.normal().into());
            for manifest in ops::load::manifests(self.store(), snapshot).unwrap() {
                if !needed.insert(manifest.manifest_path.normal().into()) {
                    continue;
                }
                for entry in ops::load::entries(self.store(), &manifest).unwrap() {
                    if entry.is_live() {
                        needed.insert(entry.data_file.file_path.normal().into());
                    }
                }
            }
        }
        needed
    }

    /// Adds a file to a table's folder that no metadata knows, as old as the clock says.
    pub fn stray(&self, name: &str, rest: &str) -> String {
        let path = format!("{}/{rest}", folder(name));
        put_new(self.store(), &path, b"left behind").unwrap();
        path
    }
}

/// `t` is the table `shop.t`.
pub fn ident(name: &str) -> TableIdent {
    TableIdent::parse(&format!("{NAMESPACE}.{name}")).unwrap()
}

/// The folder of a table.
pub fn folder(name: &str) -> String {
    format!("{ROOT}/warehouse/{NAMESPACE}/{name}")
}

/// A table with our columns and these settings.
pub fn new_table(properties: &[(&str, &str)]) -> NewTable {
    let own = |(key, value): &(&str, &str)| (key.to_string(), value.to_string());
    NewTable { properties: properties.iter().map(own).collect(), ..NewTable::new(rows::schema()) }
}

/// Faults, one a line.
pub fn show(faults: &[ops::check::Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn copy_folder(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            std::fs::create_dir(&target).unwrap();
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
