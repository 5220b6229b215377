//! What only a disk can get wrong: pipes, links, permissions, names, and what a crash leaves.

#![cfg(unix)]
#![expect(clippy::expect_used, reason = "a test that cannot set its scene should stop")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use kiosko_store::{Disk, Error, Store, put_new};
use tempfile::TempDir;

/// A disk and an empty folder on it, in normal form.
fn world() -> (Disk, TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it exists");
    (Disk::without_fsync(), folder, root.to_str().expect("UTF-8").to_string())
}

fn refused<T>(answer: Result<T, Error>) -> bool {
    matches!(answer, Err(Error::Refused { .. }))
}

#[test]
fn a_named_pipe_does_not_hang() {
    let (disk, folder, root) = world();
    let pipe = format!("{root}/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (sender, answers) = mpsc::channel();
    std::thread::spawn(move || {
        let read = (refused(disk.read(&pipe)), refused(disk.read_ranges(&pipe, &[0..1, 1..2])));
        let listed = disk.list(&root).unwrap().len();
        sender.send((read, refused(disk.size(&pipe)), listed))
    });
    let answer = answers.recv_timeout(Duration::from_secs(10)).expect("it hangs on a pipe");
    assert_eq!(answer, ((true, true), true, 0));
    drop(folder);
}

#[test]
fn folders_and_devices_are_not_files() {
    let (disk, _folder, root) = world();
    assert!(refused(disk.read("/dev/null")));
    assert!(refused(disk.read(&root)) && refused(disk.delete(&root)));
    assert!(matches!(disk.write_new(&root), Err(Error::Exists { .. })));
    assert!(fs::exists(&root).unwrap());
}

#[test]
fn only_one_spelling_is_accepted() {
    let (disk, _folder, root) = world();
    for path in [
        "",
        "a",
        "./a",
        "s3://b/k",
        "file:///w/t",
        "/",
        "//a",
        "/w/../a",
        "/w/./a",
        "/w//a",
        "/w/",
        "/w/..",
        "/w\0a",
        "\0",
    ] {
        assert!(refused(disk.read(path)) && refused(disk.size(path)), "{path:?}");
        assert!(refused(disk.write_new(path)) && refused(disk.delete(path)), "{path:?}");
    }
    for folder in ["", "a", "s3://b", "/w/../a", &format!("{root}//"), &format!("{root}/..")] {
        assert!(refused(disk.list(folder)), "{folder:?}");
    }
}

#[test]
fn links_are_read_through_but_not_listed_through() {
    let (disk, _folder, root) = world();
    let (table, outside) = (format!("{root}/table"), format!("{root}/outside"));
    put_new(&disk, &format!("{outside}/precious"), b"keep me").unwrap();
    put_new(&disk, &format!("{table}/own"), b"x").unwrap();
    symlink(&outside, format!("{table}/folder-link")).unwrap();
    symlink(format!("{outside}/precious"), format!("{table}/file-link")).unwrap();
    symlink(&table, format!("{table}/loop")).unwrap();
    symlink("/nowhere", format!("{table}/dangling")).unwrap();

    let own = |folder: &str| {
        disk.list(folder).unwrap().into_iter().map(|listed| listed.path).collect::<Vec<_>>()
    };
    assert_eq!(own(&table), [format!("{table}/own")]);
    assert_eq!(disk.read(&format!("{table}/file-link")).unwrap(), "keep me");
    assert_eq!(disk.read(&format!("{table}/folder-link/precious")).unwrap(), "keep me");
    assert!(matches!(disk.write_new(&format!("{table}/dangling")), Err(Error::Exists { .. })));

    // The folder asked for may be a link. What is listed keeps the name it was asked by.
    let asked = format!("{table}/folder-link");
    assert_eq!(own(&asked), [format!("{asked}/precious")]);

    disk.delete(&format!("{table}/file-link")).unwrap();
    assert_eq!(disk.read(&format!("{outside}/precious")).unwrap(), "keep me");
}

#[test]
fn a_new_file_has_the_permissions_of_any_new_file() {
    let (disk, _folder, root) = world();
    put_new(&disk, &format!("{root}/ours"), b"x").unwrap();
    fs::write(format!("{root}/theirs"), b"x").unwrap();
    let mode = |name: &str| fs::metadata(format!("{root}/{name}")).unwrap().permissions().mode();
    assert_eq!(mode("ours"), mode("theirs"));
}

#[test]
fn what_a_crash_leaves_is_listed() {
    let (disk, _folder, root) = world();
    let file = disk.write_new(&format!("{root}/data/a.parquet")).unwrap();
    std::mem::forget(file); // a killed process drops nothing
    let left = disk.list(&root).unwrap();
    assert!(matches!(left.as_slice(), [one] if one.path.contains("/data/.kiosko-")), "{left:?}");
    disk.delete(&left[0].path).unwrap();
    assert!(disk.list(&root).unwrap().is_empty());
}

#[test]
fn a_name_that_cannot_be_told_fails_the_listing() {
    use std::os::unix::ffi::OsStrExt;
    let (disk, folder, root) = world();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    if fs::write(folder.path().join(name), b"latin-1").is_ok() {
        assert!(refused(disk.list(&root)));
    }
}

#[test]
fn times_are_those_of_the_disk() {
    let (disk, _folder, root) = world();
    put_new(&disk, &format!("{root}/a"), b"x").unwrap();
    let now = kiosko_store::Stamp::real().now_ms();
    let listed = disk.list(&root).unwrap();
    assert!((now - listed[0].modified_ms).abs() < 60_000, "{listed:?}");
}
