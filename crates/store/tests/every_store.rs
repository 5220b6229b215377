//! Every store keeps every promise, and the tester itself can tell when one does not.

#![expect(clippy::expect_used, reason = "a test that cannot set its scene should stop")]

use std::ops::Range;
use std::sync::Arc;

use kiosko_store::{
    Bytes, Disk, Error, Faulty, Listed, Memory, Mount, NewFile, ReadOnly, Recording, Result, Stamp,
    Store, conformance, put_new,
};

fn memory() -> Arc<dyn Store> {
    Arc::new(Memory::new(Arc::new(Stamp::seeded(1, 0))))
}

/// Runs the suite at the root that `wrap` makes visible, over a memory and over a disk.
fn over_both(wrap: impl Fn(Arc<dyn Store>, &str) -> (Arc<dyn Store>, String)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk: Arc<dyn Store> = Arc::new(Disk::without_fsync());
    for inner in [memory(), disk] {
        let (store, root) = wrap(inner, folder.path().to_str().expect("UTF-8"));
        conformance::check(store.as_ref(), &root);
    }
}

#[test]
fn memory_and_disk() {
    over_both(|inner, root| (inner, root.to_string()));
    conformance::check(memory().as_ref(), "s3://bucket/table");
    let folder = tempfile::tempdir().unwrap();
    conformance::check(&Disk::new(), folder.path().to_str().unwrap());
}

#[test]
fn a_mount() {
    over_both(|inner, root| {
        (Arc::new(Mount::new(inner, "s3://bucket", root)), "s3://bucket/table".into())
    });
}

#[test]
fn a_mount_in_a_mount() {
    over_both(|inner, root| {
        let house = Arc::new(Mount::new(inner, "/house/", &format!("{root}/")));
        (Arc::new(Mount::new(house, "s3://bucket/room", "/house/room")), "s3://bucket/room".into())
    });
}

#[test]
fn beside_a_mount() {
    over_both(|inner, root| {
        let from = format!("{root}/2/new/folder"); // promise 2 writes to .../2/new/folders
        (Arc::new(Mount::new(inner, &from, "/elsewhere")), root.to_string())
    });
}

#[test]
fn the_watchers() {
    over_both(|inner, root| (Arc::new(Recording::new(inner)), root.to_string()));
    over_both(|inner, root| (Arc::new(Faulty::stop_at(inner, u64::MAX)), root.to_string()));
}

/// A memory that breaks one promise.
struct Liar(Arc<dyn Store>, &'static str);

impl Store for Liar {
    fn read(&self, path: &str) -> Result<Bytes> {
        match self.1 {
            "absent" => Ok(self.0.read(path).unwrap_or_default()),
            "opaque" => self.0.read(&path.replace("%20", " ")),
            _ => self.0.read(path),
        }
    }
    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let mut ranges = ranges.to_vec();
        match self.1 {
            "beyond" => ranges.iter_mut().for_each(|range| *range = 0..range.end.min(10)),
            "ranges" => ranges.sort_by_key(|range| range.start),
            _ => {}
        }
        self.0.read_ranges(path, &ranges)
    }
    fn size(&self, path: &str) -> Result<u64> {
        Ok(self.0.size(path)? + u64::from(self.1 == "whole"))
    }
    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        match self.1 {
            "exclusive" => drop(self.0.delete(path)),
            "unseen" => drop(put_new(self.0.as_ref(), path, b"")),
            _ => {}
        }
        self.0.write_new(path)
    }
    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let (above, name) = folder.trim_end_matches('/').rsplit_once('/').unwrap_or_default();
        let mut found = self.0.list(if self.1 == "boundary" { above } else { folder })?;
        match self.1 {
            "boundary" => found.retain(|file| file.path.starts_with(&format!("{above}/{name}"))),
            "sorted" => found.reverse(),
            _ => {}
        }
        Ok(found)
    }
    fn delete(&self, path: &str) -> Result<()> {
        let deleted = self.0.delete(path);
        if self.1 == "delete" { Ok(()) } else { deleted }
    }
}

#[test]
fn a_liar_is_caught() {
    conformance::check(&Liar(memory(), "nothing"), "/r");
    for lie in [
        "absent",
        "whole",
        "unseen",
        "exclusive",
        "ranges",
        "beyond",
        "opaque",
        "boundary",
        "sorted",
        "delete",
    ] {
        let liar = Liar(memory(), lie);
        let check = std::panic::AssertUnwindSafe(|| conformance::check(&liar, "/r"));
        assert!(std::panic::catch_unwind(check).is_err(), "the lie about {lie:?} went unnoticed");
    }
}

#[test]
fn a_mount_hides_what_it_covers_and_shows_in_the_folder_above() {
    let inner = memory();
    for path in ["/w/a/hidden", "/w/ab/beside", "/else/a/seen"] {
        put_new(inner.as_ref(), path, b"x").unwrap();
    }
    let store = Mount::new(inner, "/w/a", "/else/a");
    let listed: Vec<String> = store.list("/w").unwrap().into_iter().map(|l| l.path).collect();
    assert_eq!(listed, ["/w/a/seen", "/w/ab/beside"]);
    assert!(listed.iter().all(|path| store.read(path).is_ok()));
    assert!(
        matches!(store.read("/w/a/hidden"), Err(Error::NotFound { path }) if path == "/else/a/hidden")
    );
}

#[test]
fn a_read_only_store_reads_only() {
    let inner = memory();
    put_new(inner.as_ref(), "/w/a", b"abc").unwrap();
    let store = ReadOnly::new(inner);
    assert_eq!(store.read("/w/a").unwrap(), "abc");
    assert_eq!(store.read_ranges("/w/a", &[1..2, 0..1]).unwrap(), ["b", "a"]);
    assert_eq!((store.size("/w/a").unwrap(), store.list("/w").unwrap().len()), (3, 1));
    assert!(matches!(store.delete("/w/a"), Err(Error::Refused { .. })));
    assert!(matches!(put_new(&store, "/w/b", b"x"), Err(Error::Refused { .. })));
    assert_eq!(store.list("/w").unwrap().len(), 1);
}
