//! Orphans: files in a table's folder that no snapshot needs.
//!
//! They come from writers that died before their commit, and from expiry that only forgot. Finding
//! them is a subtraction, and the order of its two halves matters:
//!
//! ```text
//!   1  list the folder                       what is there
//!   2  load the table, follow every path     what is needed
//!   3  orphans = there - needed - too young  what may go
//!   4  load the table again, delete those that it still does not need
//! ```
//!
//! A file that is committed between 1 and 2 is found needed. The other way round it would be listed,
//! not yet known, and deleted alive. A file that a writer has finished and not committed yet is in no
//! metadata at all: only its age tells it from garbage. That is why the default age is three days,
//! longer than any write lasts, and why an age of zero is for a table that nobody is writing to.
//!
//! # When it refuses
//!
//! The subtraction is right only if both halves spell locations alike. So nothing is planned when
//! a needed file is not in the listing, when a file to delete has the name of a needed one in
//! another place (a link, a moved table), or when another table shares the folder: one of the catalog,
//! by its location, or a stranger, by a metadata file here with another uuid and snapshots. Files that
//! another table of the catalog needs are needed. And `gc.enabled = false` forbids it all.

use crate::reach::{self, Kind};
use crate::{Error, Result};
use catalog::{Table, Warehouse};
use meta::Location;
use std::collections::{BTreeMap, BTreeSet};
use store::{Listed, Store};

/// How old a file must be to be taken for an orphan, unless the caller says otherwise: three days.
pub const DEFAULT_AGE_MS: i64 = 3 * 24 * 60 * 60 * 1000;

/// A file that nobody needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// Where it lies.
    pub path: Location,
    /// Its length in bytes.
    pub size: u64,
    /// How long ago it was written, in milliseconds.
    pub age_ms: i64,
    /// Whether it lies under `metadata/`; else it held rows.
    pub metadata: bool,
}

/// What would be deleted, and what was spared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The files to delete, by path.
    pub orphans: Vec<Orphan>,
    /// Files that nobody needs yet, and that are too young to say so.
    pub too_young: Vec<Orphan>,
    /// How many files of the folder are needed.
    pub needed: usize,
}

impl Plan {
    /// The orphans that held rows.
    pub fn data(&self) -> impl Iterator<Item = &Orphan> {
        self.orphans.iter().filter(|orphan| !orphan.metadata)
    }

    /// The orphans among the metadata: manifests, manifest lists, metadata files.
    pub fn metadata(&self) -> impl Iterator<Item = &Orphan> {
        self.orphans.iter().filter(|orphan| orphan.metadata)
    }
}

/// Finds the orphans of a table that are older than `older_than_ms` milliseconds. Deletes nothing.
///
/// # Errors
/// [`Error::Invalid`] when the locations do not agree or the folder is shared (see the module's
/// head); otherwise what the store and the catalog say.
pub fn plan(warehouse: &Warehouse, table: &Table, older_than_ms: i64) -> Result<Plan> {
    let store = warehouse.store.as_ref();
    let root = table.metadata.location.clone();
    let rivals = rivals(warehouse, table)?;
    let now_ms = warehouse.stamp.now_ms();
    let listed = store.list(root.normal())?;
    // Loaded after the listing, whatever the caller held.
    let table = warehouse.catalog.load_table(&table.ident)?;
    refuse_forbidden(&table)?;
    let needed = reach::reachable(store, &table)?;
    if missing(&root, &table, &needed, &listed)?.is_some() {
        // Committed since the listing, perhaps: then a listing of now shows it.
        refuse_disagreement(&root, &table, &needed, &store.list(root.normal())?)?;
    }
    let mut needed = with_rivals(store, needed, &rivals)?;
    let strangers = strangers(store, &table, &needed, &listed)?;
    needed.extend(strangers.into_iter().map(|path| (path, Kind::Metadata)));
    let metadata_folder = root.join("metadata")?;
    let mut plan = Plan::default();
    for file in listed {
        let path = Location::parse(&file.path)?;
        if needed.contains_key(&path) {
            plan.needed += 1;
            continue;
        }
        let metadata = metadata_folder.holds(&path);
        let age_ms = now_ms.saturating_sub(file.modified_ms).max(0);
        let orphan = Orphan { path, size: file.size, age_ms, metadata };
        if age_ms >= older_than_ms {
            plan.orphans.push(orphan);
        } else {
            plan.too_young.push(orphan);
        }
    }
    let names: BTreeSet<_> = needed.keys().map(Location::name).collect();
    if let Some(double) = plan.orphans.iter().find(|orphan| names.contains(orphan.path.name())) {
        return Err(Error::invalid(
            format!("taking {} for an orphan", double.path),
            "a needed file has the same name in another place: the table may have been moved or \
             be reached through a link. Name the table by the location in its metadata",
        ));
    }
    Ok(plan)
}

/// Deletes the plan's orphans that the table, loaded once more, still does not need. Returns them.
///
/// # Errors
/// What the store and the catalog say. Files that are gone already are passed over.
pub fn run(warehouse: &Warehouse, table: &Table, plan: &Plan) -> Result<Vec<Orphan>> {
    let store = warehouse.store.as_ref();
    let rivals = rivals(warehouse, table)?;
    let table = warehouse.catalog.load_table(&table.ident)?;
    refuse_forbidden(&table)?;
    let needed = with_rivals(store, reach::reachable(store, &table)?, &rivals)?;
    let mut deleted = Vec::new();
    for orphan in &plan.orphans {
        if needed.contains_key(&orphan.path) || !table.metadata.location.holds(&orphan.path) {
            continue;
        }
        match store.delete(orphan.path.normal()) {
            Ok(()) => deleted.push(orphan.clone()),
            Err(store::Error::NotFound { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(deleted)
}

/// The property `gc.enabled` says whether files may be deleted at all.
pub(crate) fn refuse_forbidden(table: &Table) -> Result<()> {
    if table.metadata.gc_enabled() {
        return Ok(());
    }
    let why = "its property gc.enabled is not true: its files may be another table's too";
    Err(Error::invalid(format!("deleting files of {}", table.ident), why))
}

/// The other tables of the catalog.
///
/// # Errors
/// [`Error::Invalid`] when one of them lies in, around or at the same folder, or does not load: then
/// nobody knows what it needs.
pub(crate) fn rivals(warehouse: &Warehouse, table: &Table) -> Result<Vec<Table>> {
    let root = &table.metadata.location;
    let mut rivals = Vec::new();
    for namespace in warehouse.catalog.list_namespaces()? {
        for ident in warehouse.catalog.list_tables(&namespace)? {
            if ident == table.ident {
                continue;
            }
            let rival = warehouse.catalog.load_table(&ident).map_err(|e| {
                let why = format!("the table {ident} may need them, and does not load: {e}");
                Error::invalid(format!("deleting files of {}", table.ident), why)
            })?;
            let theirs = &rival.metadata.location;
            if root.holds(theirs) || theirs.holds(root) {
                return Err(Error::invalid(
                    format!("deleting files of {}", table.ident),
                    format!("the table {ident} lies in {theirs}, which shares the folder {root}"),
                ));
            }
            rivals.push(rival);
        }
    }
    Ok(rivals)
}

/// What is needed, and what other tables need: files can be added to a second table by their path.
pub(crate) fn with_rivals(
    store: &dyn Store,
    mut needed: BTreeMap<Location, Kind>,
    rivals: &[Table],
) -> Result<BTreeMap<Location, Kind>> {
    for rival in rivals {
        needed.extend(reach::reachable(store, rival)?);
    }
    Ok(needed)
}

/// Metadata files in the folder that nobody here needs, and that carry another table's uuid: each may
/// be the root of a table that this catalog does not know, of another catalog or through a link. One
/// without snapshots needs nothing but itself, and is spared.
///
/// # Errors
/// [`Error::Invalid`] when one has snapshots: then its files lie here among ours.
fn strangers(
    store: &dyn Store,
    table: &Table,
    needed: &BTreeMap<Location, Kind>,
    listed: &[Listed],
) -> Result<Vec<Location>> {
    let mut strangers = Vec::new();
    for file in listed.iter().filter(|file| file.path.contains("metadata.json")) {
        let path = Location::parse(&file.path)?;
        if needed.contains_key(&path) {
            continue;
        }
        // One that does not parse (a writer died over it) is no table's root.
        let Ok(stranger) = meta::metadata_json::parse(&file.path, &store.read(path.normal())?)
        else {
            continue;
        };
        if stranger.table_uuid == table.metadata.table_uuid {
            continue;
        }
        if !stranger.snapshots.is_empty() {
            return Err(Error::invalid(
                format!("looking for orphans of {}", table.ident),
                format!(
                    "{path} is the metadata of another table ({}), which shares the folder",
                    stranger.table_uuid
                ),
            ));
        }
        strangers.push(path);
    }
    Ok(strangers)
}

/// A file that the current state needs below the root and that is not in the listing, if any.
fn missing<'a>(
    root: &Location,
    table: &Table,
    needed: &'a BTreeMap<Location, Kind>,
    listed: &[Listed],
) -> Result<Option<&'a Location>> {
    let there: BTreeSet<_> = listed
        .iter()
        .map(|file| Location::parse(&file.path))
        .collect::<std::result::Result<_, _>>()?;
    let may_be_gone = |path: &Location, kind: &Kind| {
        // Older metadata files are deleted by some writers, and a hint is rarely there.
        matches!(kind, Kind::Metadata | Kind::Statistics) && *path != table.metadata_location
    };
    let missing = needed
        .iter()
        .find(|(path, kind)| root.holds(path) && !there.contains(path) && !may_be_gone(path, kind));
    Ok(missing.map(|(path, _)| path))
}

/// Every file that the current state needs below the root must be in the listing.
fn refuse_disagreement(
    root: &Location,
    table: &Table,
    needed: &BTreeMap<Location, Kind>,
    listed: &[Listed],
) -> Result<()> {
    match missing(root, table, needed, listed)? {
        None => Ok(()),
        Some(path) => Err(Error::invalid(
            format!("looking for orphans in {root}"),
            format!(
                "the table needs {path}, and the listing does not show it. Either it is lost (see \
                 `kiosko check`) or locations are spelled differently here; nothing was planned"
            ),
        )),
    }
}
