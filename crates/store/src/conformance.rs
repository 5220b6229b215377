//! What every store must do, written once and run against each: the disk, the memory, every
//! wrapper around either, and one day the cloud.
//!
//! The traits in [`crate`] say it in words. Here each promise is a function that tries to catch
//! the store breaking it, and fails the calling test if it does. Whoever writes a new store begins
//! by making this pass; whoever relies on one may rely on exactly this.
//!
//! ```text
//!   1  absent       what is not there is NotFound, and lists as nothing
//!   2  whole        what was written is what is read, the length included, zero included
//!   3  unseen       nothing shows before finish, and nothing stays after a writer is dropped
//!   4  exclusive    a name is given once: the second writer hears Exists and changes nothing
//!   5  race         of two threads after one name, exactly one wins, and the file is the winner's
//!   6  ranges       answered in the order asked; empty and overlapping ones too
//!   7  beyond       a range past the end is an error, never a short answer
//!   8  opaque       names are compared byte for byte and decoded by no one
//!   9  list         deep, complete, sorted by bytes, and it stops at a segment boundary
//!  10  delete       gone from read and from list; a second time it is NotFound; the name is free
//! ```

#![expect(clippy::unwrap_used, reason = "a broken promise must fail the test that asked for it")]

use std::io::Write;
use std::sync::Barrier;
use std::thread;

use crate::{Error, Result, Store, put_new};

/// Tries every promise, each in a folder of its own below `root`. The root must be empty and the
/// store writable; what was written stays there.
///
/// # Panics
/// When a promise is broken: the message and the line say which.
pub fn check(store: &dyn Store, root: &str) {
    let promises: [fn(&dyn Store, &str); 10] =
        [absent, whole, unseen, exclusive, race, ranges, beyond, opaque, list, delete];
    for (number, promise) in (1..).zip(promises) {
        promise(store, &format!("{root}/{number}"));
    }
}

fn is_not_found<T>(answer: Result<T>) -> bool {
    matches!(answer, Err(Error::NotFound { .. }))
}

fn is_exists<T>(answer: Result<T>) -> bool {
    matches!(answer, Err(Error::Exists { .. }))
}

/// The paths below a folder, in the order listed.
fn paths(store: &dyn Store, folder: &str) -> Vec<String> {
    store.list(folder).unwrap().into_iter().map(|listed| listed.path).collect()
}

fn absent(store: &dyn Store, root: &str) {
    let path = &format!("{root}/nothing");
    assert!(is_not_found(store.read(path)), "1: read an absent file");
    assert!(is_not_found(store.read_ranges(path, &[])), "1: read no ranges of an absent file");
    assert!(is_not_found(store.size(path)), "1: size of an absent file");
    assert!(is_not_found(store.delete(path)), "1: delete an absent file");
    assert!(store.list(path).unwrap().is_empty(), "1: an absent folder lists as empty");

    put_new(store, path, b"now a file").unwrap();
    assert!(is_not_found(store.read(&format!("{path}/below"))), "1: nothing is below a file");
    assert!(store.list(path).unwrap().is_empty(), "1: a file lists as empty");
}

fn whole(store: &dyn Store, root: &str) {
    let many: Vec<u8> = (0..300_000_u32).map(|i| (i % 251) as u8).collect();
    for (name, bytes) in [("empty", &[] as &[u8]), ("short", b"abc"), ("many", &many)] {
        let path = &format!("{root}/new/folders/{name}");
        let length = bytes.len() as u64;
        let mut file = store.write_new(path).unwrap();
        for piece in bytes.chunks(70_001) {
            file.write_all(piece).unwrap();
        }
        file.flush().unwrap();
        assert_eq!(file.finish().unwrap(), length, "2: the length acknowledged");
        assert_eq!(store.read(path).unwrap(), bytes, "2: the bytes read");
        assert_eq!(store.size(path).unwrap(), length, "2: the size");
        let listed = store.list(root).unwrap().into_iter().find(|listed| listed.path == *path);
        assert_eq!(listed.unwrap().size, length, "2: the size listed");
    }
}

fn unseen(store: &dyn Store, root: &str) {
    let path = &format!("{root}/draft");
    let mut file = store.write_new(path).unwrap();
    file.write_all(b"half").unwrap();
    file.flush().unwrap();
    assert!(is_not_found(store.read(path)), "3: read before finish");
    assert!(is_not_found(store.size(path)), "3: size before finish");
    assert!(!paths(store, root).contains(path), "3: listed before finish");

    drop(file);
    assert!(is_not_found(store.read(path)), "3: read after the writer was dropped");
    assert!(paths(store, root).is_empty(), "3: something stayed after the writer was dropped");
    assert_eq!(put_new(store, path, b"whole").unwrap(), 5, "3: the name is still free");
}

fn exclusive(store: &dyn Store, root: &str) {
    let path = &format!("{root}/one");
    let (mut first, mut second) = (store.write_new(path).unwrap(), store.write_new(path).unwrap());
    first.write_all(b"first").unwrap();
    second.write_all(b"second").unwrap();
    second.finish().unwrap();
    assert!(is_exists(first.finish()), "4: who finishes later hears Exists");
    assert!(is_exists(put_new(store, path, b"third")), "4: who comes later hears Exists");
    assert_eq!(store.read(path).unwrap(), "second", "4: the first to finish is untouched");
    assert_eq!(paths(store, root), [path.as_str()], "4: the losers leave nothing");
}

fn race(store: &dyn Store, root: &str) {
    let rounds = 20;
    for round in 0..rounds {
        let path = &format!("{root}/{round:02}");
        let barrier = &Barrier::new(2);
        let run = |name: &'static str| {
            barrier.wait();
            put_new(store, path, name.as_bytes())
        };
        let (left, right) = thread::scope(|scope| {
            let (left, right) = (scope.spawn(|| run("left")), scope.spawn(|| run("right")));
            (left.join().unwrap(), right.join().unwrap())
        });
        let (winner, loser) = match (left, right) {
            (Ok(_), loser) => ("left", loser),
            (loser, Ok(_)) => ("right", loser),
            (left, _) => ("neither", left),
        };
        assert!(is_exists(loser), "5: exactly one of two rivals is told Exists");
        assert_eq!(store.read(path).unwrap(), winner, "5: the file is the winner's");
    }
    assert_eq!(paths(store, root).len(), rounds, "5: the losers leave nothing");
}

fn ranges(store: &dyn Store, root: &str) {
    let path = &format!("{root}/digits");
    put_new(store, path, b"0123456789").unwrap();
    let asked = [7..9, 0..2, 1..4, 0..10, 5..5, 10..10, 7..9];
    let answers = store.read_ranges(path, &asked).unwrap();
    assert_eq!(answers, ["78", "01", "123", "0123456789", "", "", "78"], "6: in the order asked");
    assert!(store.read_ranges(path, &[]).unwrap().is_empty(), "6: no ranges, no answers");
}

fn beyond(store: &dyn Store, root: &str) {
    let path = &format!("{root}/digits");
    put_new(store, path, b"0123456789").unwrap();
    #[expect(clippy::reversed_empty_ranges, reason = "corrupt metadata can ask for one")]
    let bad = [9..11, 10..11, 11..11, 0..u64::MAX, u64::MAX - 1..u64::MAX, 5..4];
    for range in bad {
        let answer = store.read_ranges(path, &[0..1, range.clone()]);
        let told =
            matches!(&answer, Err(Error::Range { asked, length: 10, .. }) if *asked == range);
        assert!(told, "7: {range:?} must be a Range error, not {answer:?}");
    }
}

fn opaque(store: &dyn Store, root: &str) {
    let mut names = ["a b", "a%20b", "a+b", "a%2Fb", "k=v", "ñandú", "日本", "#?&:;'\"", "..."];
    for name in names {
        put_new(store, &format!("{root}/{name}/{name}"), name.as_bytes()).unwrap();
    }
    for name in names {
        assert_eq!(store.read(&format!("{root}/{name}/{name}")).unwrap(), name, "8: {name}");
    }
    names.sort_unstable();
    let expected = names.map(|name| format!("{root}/{name}/{name}"));
    assert_eq!(paths(store, root), expected, "8: listed as they were written");
}

fn list(store: &dyn Store, root: &str) {
    // In byte order `-` comes before `/`, and `/` before `b`: not the order of a walk by folder.
    let below = ["a-b/x", "a/deep/er/x", "a/x", "ab/x"].map(|rest| format!("{root}/{rest}"));
    for path in below.iter().rev() {
        put_new(store, path, b"x").unwrap();
    }
    assert_eq!(paths(store, root), below, "9: deep, complete and sorted");
    assert_eq!(paths(store, &format!("{root}/")), below, "9: a last slash changes nothing");
    let [_, deep, x, _] = below;
    assert_eq!(paths(store, &format!("{root}/a")), [deep, x], "9: /a does not hold /ab");
    assert!(paths(store, &format!("{root}/a/d")).is_empty(), "9: half a name is no folder");
}

fn delete(store: &dyn Store, root: &str) {
    let (gone, kept) = (&format!("{root}/gone"), &format!("{root}/gone-not"));
    put_new(store, gone, b"1").unwrap();
    put_new(store, kept, b"2").unwrap();
    store.delete(gone).unwrap();
    assert!(is_not_found(store.read(gone)), "10: read after delete");
    assert_eq!(paths(store, root), [kept.as_str()], "10: listed after delete");
    assert!(is_not_found(store.delete(gone)), "10: a second delete");
    put_new(store, gone, b"3").unwrap();
    assert_eq!(store.read(gone).unwrap(), "3", "10: a deleted name is free again");
}
