//! From what a person types to a [`Warehouse`].

use crate::{Catalog, Error, Result};
use catalog::{Local, Sqlite, Warehouse};
use meta::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Disk, Mount, Stamp, Store};

/// Opens a catalog by its properties, as PyIceberg's `load_catalog` does, and makes its file when it
/// is not there yet.
///
/// - `type`: `sql`, or absent
/// - `uri`: `sqlite:///` and the path of the file
/// - `warehouse`: the folder under which new tables lie, as `file://` URI or path
///
/// # Errors
/// [`Error::Refused`] for a property that is missing or not known; [`catalog::Error`] when the file
/// is no catalog.
pub fn load_catalog(name: &str, properties: &[(&str, &str)]) -> Result<Catalog> {
    let get = |key: &str| properties.iter().find(|(k, _)| *k == key).map(|(_, value)| *value);
    let known = ["type", "uri", "warehouse"];
    if let Some((key, _)) = properties.iter().find(|(key, _)| !known.contains(key)) {
        let known = known.join(", ");
        return Err(Error::Refused(format!("the catalog property {key:?} is not one of {known}")));
    }
    if let Some(other) = get("type").filter(|kind| *kind != "sql") {
        return Err(Error::Refused(format!("catalogs of type {other:?} are not opened; sql is")));
    }
    let need = |key: &str| {
        get(key).ok_or_else(|| Error::Refused(format!("the catalog property {key:?} is missing")))
    };
    let path = sqlite_path(need("uri")?)?;
    let warehouse = Location::parse(need("warehouse")?)?;
    let pointer = Sqlite::create(&path, name)?;
    Ok(Catalog::new(assemble(pointer, warehouse, &[])?))
}

/// Opens a catalog file that is there already, to work on its tables.
///
/// `name` is the catalog's name inside the file; it may be `None` when the file holds only one.
/// Locations that begin with the first of a mount are read and written under the second.
///
/// # Errors
/// [`Error::Refused`] when the file holds several catalogs and none was named; [`catalog::Error`] when
/// it is absent or no catalog.
pub fn open_catalog(
    path: &Path,
    name: Option<&str>,
    warehouse: Option<&str>,
    mounts: &[(String, String)],
) -> Result<Warehouse> {
    let names = Sqlite::names(path)?;
    let name = match (name, names.as_slice()) {
        (Some(name), _) => name,
        (None, [only]) => only,
        (None, []) => "kiosko",
        (None, several) => {
            let (path, several) = (path.display(), several.join(", "));
            let what =
                format!("{path} holds the catalogs {several}; say which with --catalog-name");
            return Err(Error::Refused(what));
        }
    };
    let pointer = Sqlite::open(path, name)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let warehouse = match warehouse {
        Some(warehouse) => Location::parse(warehouse)?,
        None => Location::parse(&absolute(folder)?.to_string_lossy())?,
    };
    assemble(pointer, warehouse, mounts)
}

fn assemble(
    pointer: Sqlite,
    warehouse: Location,
    mounts: &[(String, String)],
) -> Result<Warehouse> {
    let stamp = Arc::new(Stamp::real());
    let mut store: Arc<dyn Store> = Arc::new(Disk::new());
    for (from, to) in mounts {
        let from = Location::parse(from)?;
        let to = Location::parse(&absolute(Path::new(to))?.to_string_lossy())?;
        store = Arc::new(Mount::new(store, from.normal(), to.normal()));
    }
    let catalog = Arc::new(Local::new(pointer, store.clone(), stamp.clone(), warehouse));
    Ok(Warehouse { catalog, store, stamp })
}

/// The path in `sqlite:///path.db` (relative) or `sqlite:////path.db` (absolute), or a plain path.
///
/// # Errors
/// [`Error::Refused`] for another scheme.
pub fn sqlite_path(uri: &str) -> Result<PathBuf> {
    match uri.split_once("://") {
        None => Ok(PathBuf::from(uri)),
        Some(("sqlite", path)) if path.len() > 1 => {
            Ok(PathBuf::from(path.strip_prefix('/').unwrap_or(path)))
        }
        _ => Err(Error::Refused(format!(
            "the catalog {uri:?} is not a SQLite file: write sqlite:///path.db"
        ))),
    }
}

/// The path, from the root on.
///
/// # Errors
/// [`Error::Refused`] when the current folder is gone.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    std::path::absolute(path).map_err(|e| Error::Refused(format!("{}: {e}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_slashes_are_relative_and_four_absolute() {
        assert_eq!(sqlite_path("sqlite:///a/b.db").unwrap(), Path::new("a/b.db"));
        assert_eq!(sqlite_path("sqlite:////a/b.db").unwrap(), Path::new("/a/b.db"));
        assert_eq!(sqlite_path("a/b.db").unwrap(), Path::new("a/b.db"));
        assert!(sqlite_path("postgresql://host/db").is_err());
        assert!(sqlite_path("sqlite://").is_err());
    }

    #[test]
    fn a_property_that_is_not_known_is_refused() {
        assert!(load_catalog("kiosko", &[("typ", "sql")]).is_err());
        assert!(load_catalog("kiosko", &[("type", "rest")]).is_err());
        assert!(load_catalog("kiosko", &[("uri", "sqlite:///x.db")]).is_err());
    }
}
