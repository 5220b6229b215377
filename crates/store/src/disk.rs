//! A store on a local disk: the promises of [`Store`] kept where power can fail at any moment.
//!
//! # How a file is born
//!
//! A file must appear at its path whole, at once, only if the name is free, and it must still be
//! there after a power cut. No single system call does all that. Five steps do, and the order is
//! the whole art. The last column is what is left if everything stops right after the step:
//!
//! ```text
//!   write_new   1  make missing folders, fsync the parent of each        empty folders
//!               2  stage: create .kiosko-XXXXXX in the final folder      a staged file
//!   write       3  write the bytes into the staged file                  a staged file, in part
//!   finish      4  fsync the staged file: bytes before name              a staged file, whole
//!               5  link: give it its name, only if that name is free     the file, or a staged one
//!               6  fsync the folder: the name is durable too             the file
//!                  └─ only now is the length acknowledged
//! ```
//!
//! At no point is there a file at the path with missing bytes. Swap steps 4 and 5 and there is:
//! after a power cut many file systems show the new name with a length of zero. A staged file
//! that was left behind is garbage, but garbage that can be found: it lies in the table's folder
//! and [`list`](Store::list) shows it, so the orphan hunt takes it away in time.
//!
//! "Link" in step 5 is a hard link followed by removing the staged name, or, on Linux, a rename
//! that refuses to replace. Both are exclusive, which the ordinary rename is not.
//!
//! # Symbolic links and other strangers
//!
//! - *Reading* goes through links: who names a path may keep the bytes where he likes. Only
//!   regular files are read. A named pipe would block forever, a device would never end.
//! - *Listing* does not go through links, and shows none. A link may lead out of the table, and a
//!   file found behind it would look like nobody's and be deleted. The folder asked for is the one
//!   exception: it may itself be a link, since the caller named it.
//! - *Deleting* removes a link, never what it points to, and never a folder.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::stamp::millis_since_1970;
use crate::{Bytes, Error, Listed, NewFile, Result, Store, check_range};

/// The files of this machine, by absolute path.
///
/// A path must be in normal form, so that a file has one name: it begins with a slash, does not
/// end with one, and has no empty, `.` or `..` segment and no NUL byte. All else is opaque.
#[derive(Debug)]
pub struct Disk {
    fsync: bool,
}

/// How the names of staged files begin.
const STAGED: &str = ".kiosko-";

impl Disk {
    /// A disk that survives power cuts: what was acknowledged stays.
    #[expect(clippy::new_without_default, reason = "the choice about fsync should be visible")]
    pub fn new() -> Disk {
        Disk { fsync: true }
    }

    /// A disk that skips every fsync, to be fast. It still survives the death of the process, but
    /// after a power cut acknowledged files may be empty or gone. For tests and benchmarks, and
    /// for tables that can be made again.
    pub fn without_fsync() -> Disk {
        Disk { fsync: false }
    }

    /// Makes the names in a folder durable. Needed after each name added; not after a deletion,
    /// since a file that returns from the dead is merely an orphan once more.
    fn fsync_folder(&self, folder: &Path) -> io::Result<()> {
        if self.fsync { fs::File::open(folder)?.sync_all() } else { Ok(()) }
    }

    /// Makes `folder` and what is missing above it, from the top down. Each parent is synced when
    /// its child is made, also when a rival made the child in between. One gap stays open: a writer
    /// that finds the folder in the instant between a rival's making it and syncing it trusts it.
    fn make_folders(&self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> = folder.ancestors().take_while(|at| !at.exists()).collect();
        for at in missing.into_iter().rev() {
            match fs::create_dir(at) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => self.fsync_folder(parent(at))?,
            }
        }
        Ok(())
    }
}

impl Store for Disk {
    fn read(&self, path: &str) -> Result<Bytes> {
        let file = regular(path)?;
        let bytes = fs::read(file).map_err(|source| Error::io(path, "reading", source))?;
        Ok(bytes.into())
    }

    fn read_ranges(&self, path: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let failed = |source| Error::io(path, "reading", source);
        let mut file = fs::File::open(regular(path)?).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        // All ranges are checked before the first is read: a corrupt offset allocates nothing.
        ranges.iter().try_for_each(|range| check_range(path, range, length))?;
        let mut read = |range: &Range<u64>| {
            let mut bytes = vec![0; (range.end - range.start) as usize];
            file.seek(SeekFrom::Start(range.start))?;
            file.read_exact(&mut bytes)?;
            Ok(bytes.into())
        };
        ranges.iter().map(|range| read(range).map_err(failed)).collect()
    }

    fn size(&self, path: &str) -> Result<u64> {
        Ok(look(path, regular(path)?.metadata())?.len())
    }

    fn write_new(&self, path: &str) -> Result<Box<dyn NewFile>> {
        let target = checked(path)?;
        if target.symlink_metadata().is_ok() {
            return Err(Error::Exists { path: path.into() });
        }
        let folder = parent(target);
        // 1. Folders. A crash here leaves empty folders, which no one sees.
        self.make_folders(folder).map_err(|e| Error::io(path, "making its folder", e))?;
        // 2. Stage, in the final folder and hence on the same file system, so that step 5 moves a
        //    name and no bytes. A crash here leaves a staged file: listed, an orphan.
        let staged = stage(folder).map_err(|e| Error::io(path, "staging", e))?;
        let (path, disk) = (path.to_string(), Disk { fsync: self.fsync });
        Ok(Box::new(Staged { disk, path, staged, length: 0, failed: false }))
    }

    fn list(&self, folder: &str) -> Result<Vec<Listed>> {
        let folder = folder.strip_suffix('/').unwrap_or(folder);
        checked(folder)?;
        let mut found = Vec::new();
        // A stack and not a recursion: a deep tree costs memory here, never a stack overflow.
        let mut open = vec![folder.to_string()];
        while let Some(folder) = open.pop() {
            list_one(&folder, &mut found, &mut open)?;
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    fn delete(&self, path: &str) -> Result<()> {
        let file = checked(path)?;
        if look(path, file.symlink_metadata())?.is_dir() {
            return Err(Error::Refused { path: path.into(), why: "a store deletes no folders" });
        }
        fs::remove_file(file).map_err(|source| Error::io(path, "deleting", source))
    }
}

/// A file between steps 2 and 6. Dropping the `NamedTempFile` removes the staged name.
struct Staged {
    disk: Disk,
    path: String,
    staged: NamedTempFile,
    length: u64,
    failed: bool,
}

impl Write for Staged {
    // 3. Bytes. A crash here leaves a staged file, in part.
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let result = self.staged.write(piece);
        match &result {
            Ok(written) => self.length += *written as u64,
            Err(error) => self.failed |= error.kind() != io::ErrorKind::Interrupted,
        }
        result
    }

    fn flush(&mut self) -> io::Result<()> {
        self.staged.flush()
    }
}

impl NewFile for Staged {
    fn finish(self: Box<Self>) -> Result<u64> {
        let Staged { disk, path, staged, length, failed } = *self;
        if failed {
            return Err(Error::Refused { path, why: "an earlier write to it failed; begin again" });
        }
        // 4. Bytes before name. A crash here leaves a staged file, whole.
        if disk.fsync {
            staged.as_file().sync_all().map_err(|e| Error::io(&path, "syncing its bytes", e))?;
        }
        // 5. Link. The file system decides the race: one winner, and the loser's staged file is
        //    dropped with the error. A crash here leaves the file, which nobody refers to yet, or,
        //    if the name had not reached the disk, a staged file.
        staged.persist_noclobber(&path).map_err(|e| Error::io(&path, "linking", e.error))?;
        // 6. The name is durable. A crash from here on leaves the file.
        let folder = parent(Path::new(&path));
        disk.fsync_folder(folder).map_err(|e| Error::io(&path, "syncing its folder", e))?;
        Ok(length)
    }
}

/// A staged file, with the permissions that any new file gets: `rw-rw-rw-` less the umask. The
/// `tempfile` crate's own default shuts out everyone else, and other engines must read this.
fn stage(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.prefix(STAGED).tempfile_in(folder)
}

/// Lists one folder: files into `found`, folders into `open`, all else passed over.
fn list_one(folder: &str, found: &mut Vec<Listed>, open: &mut Vec<String>) -> Result<()> {
    let failed = |source| Error::io(folder, "listing", source);
    let entries = match fs::read_dir(folder) {
        Err(e) if is_absent(&e) => return Ok(()), // never there, or deleted since it was found
        entries => entries.map_err(failed)?,
    };
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let Some(path) = entry.path().to_str().map(str::to_string) else {
            let path = entry.path().display().to_string();
            return Err(Error::Refused { path, why: "its name is not UTF-8; rename it" });
        };
        let status = match entry.metadata() {
            Err(e) if is_absent(&e) => continue, // finished or deleted by a rival meanwhile
            status => status.map_err(failed)?,   // of the entry itself: a link is not followed
        };
        if status.is_dir() {
            open.push(path);
        } else if status.is_file() {
            let modified_ms = millis_since_1970(status.modified().map_err(failed)?);
            found.push(Listed { path, size: status.len(), modified_ms });
        }
    }
    Ok(())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The path, if it is in normal form.
fn checked(path: &str) -> Result<&Path> {
    let why = if !path.starts_with('/') {
        "a local path must be absolute, and other schemes have stores of their own"
    } else if path.split('/').skip(1).any(|segment| matches!(segment, "" | "." | "..")) {
        "a local path must be normal: no empty segment, no '.' and no '..'"
    } else if path.contains('\0') {
        "a path cannot contain a NUL byte"
    } else {
        return Ok(Path::new(path));
    };
    Err(Error::Refused { path: path.into(), why })
}

/// The path, if a regular file is there, perhaps behind a link. Asked before opening, because
/// opening a named pipe waits for someone to write to it.
fn regular(path: &str) -> Result<&Path> {
    let file = checked(path)?;
    if !look(path, file.metadata())?.is_file() {
        let why = "not a regular file but a folder, a pipe or a device";
        return Err(Error::Refused { path: path.into(), why });
    }
    Ok(file)
}

/// What was learnt about a path. Below a file there is nothing, just as below an absent folder.
fn look(path: &str, status: io::Result<fs::Metadata>) -> Result<fs::Metadata> {
    match status {
        Err(e) if is_absent(&e) => Err(Error::NotFound { path: path.into() }),
        status => status.map_err(|source| Error::io(path, "looking", source)),
    }
}

/// The folder of a checked path, which always has one.
fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_a_hole_is_never_published() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a").to_str().unwrap().to_string();
        // A staged file whose handle only reads stands for a disk that is full.
        let (_, name) = stage(folder.path()).unwrap().into_parts();
        let staged = NamedTempFile::from_parts(fs::File::open(&name).unwrap(), name);
        let disk = Disk::without_fsync();
        let mut file = Staged { disk, path, staged, length: 0, failed: false };
        assert!(file.write_all(b"lost").is_err());
        assert!(matches!(Box::new(file).finish(), Err(Error::Refused { .. })));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
