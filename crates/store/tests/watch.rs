//! The watchers: what was called, and what is left when the n-th call fails.

#![expect(clippy::expect_used, reason = "a test that cannot set its scene should stop")]

use std::io::Write;
use std::sync::Arc;

use kiosko_store::{Disk, Error, Faulty, Memory, Recording, Result, Stamp, Store, put_new};

fn memory() -> Arc<dyn Store> {
    Arc::new(Memory::new(Arc::new(Stamp::seeded(1, 0))))
}

/// A tiny operation of eight calls: read the old file, write the new one, remove the old one.
fn replace(store: &dyn Store, root: &str) -> Result<()> {
    let (old, new) = (format!("{root}/old"), format!("{root}/new"));
    store.size(&old)?;
    store.read_ranges(&old, &[0..1, 1..3])?;
    let bytes = store.read(&old)?;
    let mut file = store.write_new(&new)?;
    file.write_all(&bytes).map_err(|e| Error::io(&new, "writing", e))?;
    file.finish()?;
    store.list(root)?;
    store.delete(&old)
}

#[test]
fn a_recording_shows_the_order() {
    let store = Recording::new(memory());
    put_new(&store, "/w/old", b"abc").unwrap();
    assert_eq!(store.take(), ["write_new /w/old", "finish /w/old"]);
    replace(&store, "/w").unwrap();
    drop(store.write_new("/w/dropped").unwrap());
    let expected = [
        "size /w/old",
        "read_ranges /w/old",
        "read /w/old",
        "write_new /w/new",
        "finish /w/new",
        "list /w",
        "delete /w/old",
        "write_new /w/dropped",
    ];
    assert_eq!(store.take(), expected);
    assert!(store.take().is_empty());
}

/// Runs `replace` with a fault at each call in turn, and hands what is left to `look`, with
/// whether the operation succeeded.
fn at_every_call(
    inner: impl Fn() -> Arc<dyn Store>,
    faulty: fn(Arc<dyn Store>, u64) -> Faulty,
    look: impl Fn(u64, &Result<()>, Vec<(String, u64)>),
) {
    for n in 0.. {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().to_str().expect("UTF-8");
        let inner = inner();
        put_new(inner.as_ref(), &format!("{root}/old"), b"abc").expect("a plain write");
        let store = faulty(inner.clone(), n);
        let result = replace(&store, root);
        let left = inner.list(root).expect("a plain listing").into_iter();
        let name = |path: &str| path.trim_start_matches(root).trim_start_matches('/').to_string();
        look(n, &result, left.map(|l| (name(&l.path), l.size)).collect());
        if !store.hit() {
            assert_eq!((n, store.calls(), result.is_ok()), (8, 8, true));
            return;
        }
        assert!(result.is_err(), "the fault at call {n} was swallowed");
    }
}

fn disk() -> Arc<dyn Store> {
    Arc::new(Disk::without_fsync())
}

/// Names and sizes as one line: `new 3, old 3`. Staged names are random.
fn line(left: &[(String, u64)]) -> String {
    let name = |name: &str| if name.starts_with(".kiosko-") { "staged" } else { name }.to_string();
    left.iter().map(|(n, size)| format!("{} {size}", name(n))).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_failed_call_does_nothing() {
    for inner in [memory, disk] {
        at_every_call(inner, Faulty::fail_at, |n, _, left| {
            let expected = match n {
                0..=5 => "old 3",
                6..=7 => "new 3, old 3",
                _ => "new 3",
            };
            assert_eq!(line(&left), expected, "call {n}");
        });
    }
}

#[test]
fn a_lost_answer_comes_after_the_act() {
    for inner in [memory, disk] {
        at_every_call(inner, Faulty::fail_after, |n, _, left| {
            let expected = match n {
                0..=4 => "old 3",
                5..=6 => "new 3, old 3",
                _ => "new 3",
            };
            assert_eq!(line(&left), expected, "call {n}");
        });
    }
}

#[test]
fn the_dead_leave_their_staged_files() {
    at_every_call(disk, Faulty::stop_at, |n, result, left| {
        let expected = match n {
            4 => "staged 0, old 3",
            5 => "staged 3, old 3",
            0..=3 => "old 3",
            6..=7 => "new 3, old 3",
            _ => "new 3",
        };
        assert_eq!(line(&left), expected, "call {n}");
        let dead = matches!(result, Err(Error::Stopped { call, .. }) if *call == n);
        assert_eq!(dead, n < 8, "call {n}: {result:?}");
    });
}

#[test]
fn after_a_stop_every_call_is_refused_and_after_a_failure_none_is() {
    let stopped = Faulty::stop_at(memory(), 0);
    let failed = Faulty::fail_at(memory(), 0);
    for store in [&stopped, &failed] {
        assert!(store.size("/w/a").is_err() && store.hit());
    }
    assert!(matches!(stopped.list("/w"), Err(Error::Stopped { call: 0, .. })));
    assert!(failed.list("/w").is_ok());
    assert_eq!((stopped.calls(), failed.calls()), (2, 2));
}

#[test]
fn a_file_with_a_failed_write_is_never_finished() {
    for faulty in [Faulty::fail_at, Faulty::fail_after] {
        let inner = memory();
        let store = faulty(inner.clone(), 1);
        let mut file = store.write_new("/w/a").unwrap();
        assert!(file.write_all(b"lost").is_err() && store.hit());
        file.write_all(b"kept").unwrap();
        assert!(matches!(file.finish(), Err(Error::Refused { .. })));
        assert!(inner.list("/w").unwrap().is_empty());
    }
}
