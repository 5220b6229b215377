//! Every catalog keeps every promise, over every store.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene should stop")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiosko_catalog::{Local, Memory, Pointer, Sqlite, Warehouse, conformance};
use meta::Location;
use store::{Disk, Stamp, Store};
use tempfile::TempDir;

fn memory_store() -> (Arc<dyn Store>, Arc<Stamp>, Location) {
    let stamp = Arc::new(Stamp::seeded(7, 1_785_542_400_000));
    let root = Location::parse("file:///warehouse").unwrap();
    (Arc::new(store::Memory::new(stamp.clone())), stamp, root)
}

fn disk_store(folder: &Path) -> (Arc<dyn Store>, Arc<Stamp>, Location) {
    let root = format!("file://{}/warehouse", folder.canonicalize().unwrap().display());
    (Arc::new(Disk::without_fsync()), Arc::new(Stamp::real()), Location::parse(&root).unwrap())
}

/// A fresh folder below one that is deleted at the end.
fn fresh(all: &TempDir) -> PathBuf {
    tempfile::tempdir_in(all.path()).unwrap().keep()
}

fn warehouse<P: Pointer + 'static>(
    pointer: P,
    (store, stamp, root): (Arc<dyn Store>, Arc<Stamp>, Location),
) -> Warehouse {
    let catalog = Local::new(pointer, store.clone(), stamp.clone(), root);
    Warehouse { catalog: Arc::new(catalog), store, stamp }
}

fn sqlite(folder: &Path) -> Sqlite {
    Sqlite::create(folder.join("catalog.db"), "kiosko").unwrap()
}

#[test]
fn memory_over_memory() {
    conformance::check(|| warehouse(Memory::new("kiosko"), memory_store()));
}

#[test]
fn memory_over_disk() {
    let all = tempfile::tempdir().unwrap();
    conformance::check(|| warehouse(Memory::new("kiosko"), disk_store(&fresh(&all))));
}

#[test]
fn sqlite_over_memory() {
    let all = tempfile::tempdir().unwrap();
    conformance::check(|| warehouse(sqlite(&fresh(&all)), memory_store()));
}

#[test]
fn sqlite_over_disk() {
    let all = tempfile::tempdir().unwrap();
    conformance::check(|| {
        let folder = fresh(&all);
        warehouse(sqlite(&folder), disk_store(&folder))
    });
}
