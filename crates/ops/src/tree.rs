//! The printer: a table as it is, from the pointer down to the rows.
//!
//! ```text
//!   kiosko.dim_product   pointer: file:///w/kiosko/dim_product/metadata/00002-5f0c.metadata.json
//!   └─ 00002-5f0c.metadata.json   format 2, 3 snapshots, 4 columns, main -> s3
//!      ├─ s1 append   seq 1, 4 rows (+4)
//!      │  └─ snap-402-0-9a2e.avro   1 manifest
//!      │     └─ m1 9a2e-m0.avro   data, spec 0, seq 1: 1 added, 0 existing, 0 deleted
//!      │        └─ d1 added   data/00000-0-9a2e.parquet, 4 rows, 1813 bytes
//!      ...
//! ```
//!
//! `kiosko tree`, the golden scripts and the lessons all print with this one. A snapshot is called by
//! its sequence number, so `s3` stays `s3` when others expire; manifests and data files are numbered as
//! they appear. A manifest that several snapshots share is opened once.

use crate::{Result, load};
use catalog::Table;
use meta::Location;
use meta::manifest::{ManifestEntry, Status};
use meta::manifest_list::ManifestFile;
use meta::metadata::TableMetadata;
use meta::snapshot::{RefKind, Snapshot};
use std::collections::BTreeMap;
use store::Store;

/// What to show beside the structure. Everything, for a person; nothing, for a script whose output
/// must not change with chance, the clock or the Parquet library.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// The names of files, and snapshot ids.
    pub names: bool,
    /// Sizes in bytes.
    pub bytes: bool,
    /// Times of snapshots.
    pub times: bool,
}

impl Style {
    /// Everything.
    pub const FULL: Style = Style { names: true, bytes: true, times: true };
    /// The structure only.
    pub const BARE: Style = Style { names: false, bytes: false, times: false };
}

/// A drawn table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// The drawing, with a line break at the end of each line.
    pub text: String,
    /// Live files that are not there; marked MISSING in the drawing.
    pub missing: Vec<Location>,
}

/// Draws a table: metadata, snapshots, manifest lists, manifests, data files.
///
/// # Errors
/// When a manifest list or manifest is missing or damaged. A missing data file is drawn as such.
pub fn draw(store: &dyn Store, table: &Table, style: Style) -> Result<Drawing> {
    let mut drawer = Drawer {
        store,
        style,
        manifests: BTreeMap::new(),
        files: BTreeMap::new(),
        missing: Vec::new(),
    };
    let mut root = Node::new(match style.names {
        true => format!("{}   pointer: {}", table.ident, table.metadata_location),
        false => table.ident.to_string(),
    });
    let metadata = &table.metadata;
    let mut top = Node::new(drawer.metadata_line(table));
    for snapshot in &metadata.snapshots {
        top.children.push(drawer.snapshot(metadata, snapshot)?);
    }
    root.children.push(top);
    let mut text = String::new();
    root.render(&mut text, "", "");
    Ok(Drawing { text, missing: drawer.missing })
}

/// A line, and the lines below it.
struct Node {
    line: String,
    children: Vec<Node>,
}

impl Node {
    fn new(line: String) -> Node {
        Node { line, children: Vec::new() }
    }

    /// `first` stands before the node's own line, `rest` before those below it.
    fn render(&self, out: &mut String, first: &str, rest: &str) {
        out.push_str(first);
        out.push_str(self.line.trim_end());
        out.push('\n');
        for (index, child) in self.children.iter().enumerate() {
            let last = index + 1 == self.children.len();
            let (own, below) = if last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            child.render(out, &format!("{rest}{own}"), &format!("{rest}{below}"));
        }
    }
}

struct Drawer<'a> {
    store: &'a dyn Store,
    style: Style,
    /// Manifests met, each with its number.
    manifests: BTreeMap<Location, usize>,
    /// Data files met, each with its number.
    files: BTreeMap<Location, usize>,
    missing: Vec<Location>,
}

/// What a snapshot is called: by its sequence number, or by its id where version 1 gave it none.
pub fn snapshot_label(snapshot: &Snapshot) -> String {
    match snapshot.sequence_number {
        0 => format!("s({})", snapshot.snapshot_id),
        number => format!("s{number}"),
    }
}

impl Drawer<'_> {
    fn name(&self, location: &Location) -> String {
        if self.style.names { format!("{} ", location.name()) } else { String::new() }
    }

    fn metadata_line(&self, table: &Table) -> String {
        let metadata = &table.metadata;
        let name = match (
            self.style.names,
            meta::location::metadata_version(table.metadata_location.name()),
        ) {
            (false, Some(version)) => format!("metadata {version}"),
            _ => table.metadata_location.name().to_string(),
        };
        let columns = metadata.current_schema().map_or(0, |schema| schema.fields.len());
        let mut line = format!(
            "{name}   format {}, {}, {}",
            metadata.format_version,
            count(metadata.snapshots.len() as i64, "snapshot"),
            count(columns as i64, "column"),
        );
        for (name, reference) in &metadata.refs {
            let kind = if reference.kind == RefKind::Tag { "tag " } else { "" };
            if let Some(snapshot) = metadata.snapshot(reference.snapshot_id) {
                line.push_str(&format!(", {kind}{name} -> {}", snapshot_label(snapshot)));
            }
        }
        line
    }

    fn snapshot(&mut self, metadata: &TableMetadata, snapshot: &Snapshot) -> Result<Node> {
        let summary = &snapshot.summary;
        let mut line = format!("{} {:<9}", snapshot_label(snapshot), summary.operation.as_str());
        if snapshot.sequence_number > 0 {
            line.push_str(&format!(" seq {},", snapshot.sequence_number));
        }
        match summary.count("total-records") {
            Some(total) => line.push_str(&format!(" {}", count(total, "row"))),
            None => line.push_str(" unknown rows"),
        }
        let delta = |key, sign| Some(format!("{sign}{}", summary.count(key)?));
        let deltas: Vec<_> = [delta("added-records", "+"), delta("deleted-records", "-")]
            .into_iter()
            .flatten()
            .collect();
        if !deltas.is_empty() {
            line.push_str(&format!(" ({})", deltas.join(" ")));
        }
        let parent = snapshot.parent_snapshot_id;
        if let Some(gone) = parent.filter(|id| metadata.snapshot(*id).is_none()) {
            let gone = if self.style.names { format!(" {gone}") } else { String::new() };
            line.push_str(&format!(", parent{gone} expired"));
        }
        if self.style.names {
            line.push_str(&format!("   id {}", snapshot.snapshot_id));
        }
        if self.style.times {
            line.push_str(&format!("   {}", time(snapshot.timestamp_ms)));
        }
        let manifests = load::manifests_as_listed(self.store, snapshot)?;
        let mut list = Node::new(format!(
            "{}{}",
            if self.style.names {
                self.name(&snapshot.manifest_list) + "  "
            } else {
                "list ".into()
            },
            count(manifests.len() as i64, "manifest"),
        ));
        for manifest in &manifests {
            list.children.push(self.manifest(manifest)?);
        }
        Ok(Node { line, children: vec![list] })
    }

    fn manifest(&mut self, manifest: &ManifestFile) -> Result<Node> {
        let next = self.manifests.len() + 1;
        let path = &manifest.manifest_path;
        if let Some(number) = self.manifests.get(path) {
            return Ok(Node::new(format!("m{number} {}(above)", self.name(path))));
        }
        self.manifests.insert(path.clone(), next);
        let counts = &manifest.counts;
        let show = |files: Option<i32>| files.map_or("?".into(), |files| files.to_string());
        let mut node = Node::new(format!(
            "m{next} {}  {}, spec {}, seq {}: {} added, {} existing, {} deleted",
            self.name(path),
            manifest.content.as_str(),
            manifest.partition_spec_id,
            manifest.sequence_number,
            show(counts.added_files),
            show(counts.existing_files),
            show(counts.deleted_files),
        ));
        for entry in load::entries(self.store, manifest)? {
            let line = self.entry(&entry);
            node.children.push(Node::new(line));
        }
        Ok(node)
    }

    fn entry(&mut self, entry: &ManifestEntry) -> String {
        let file = &entry.data_file;
        let path = &file.file_path;
        let next = self.files.len() + 1;
        let number = *self.files.entry(path.clone()).or_insert(next);
        let status = match entry.status {
            Status::Added => "added",
            Status::Existing => "existing",
            Status::Deleted => "deleted",
        };
        let mut line =
            format!("d{number} {status:<8} {}{}", self.name(path), count(file.record_count, "row"));
        if self.style.bytes {
            line.push_str(&format!(", {} bytes", file.file_size_in_bytes));
        }
        let tuple: Vec<_> = file
            .partition
            .iter()
            .map(|value| value.as_ref().map_or("null".to_string(), |value| value.to_string()))
            .collect();
        if !tuple.is_empty() {
            line.push_str(&format!(", partition ({})", tuple.join(", ")));
        }
        if let Some(number) = entry.sequence_number {
            line.push_str(&format!(", data seq {number}"));
        }
        if entry.is_live()
            && matches!(self.store.size(path.normal()), Err(store::Error::NotFound { .. }))
        {
            line.push_str("   MISSING");
            self.missing.push(path.clone());
        }
        line
    }
}

fn count(number: i64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// `2026-08-15T09:30:00Z`, the proleptic Gregorian date of a count of milliseconds since 1970.
fn time(timestamp_ms: i64) -> String {
    let value = arrow_array::TimestampSecondArray::from(vec![timestamp_ms.div_euclid(1000)]);
    match arrow_cast::display::array_value_to_string(&value, 0) {
        Ok(text) => format!("{text}Z"),
        Err(_) => format!("{timestamp_ms} ms"),
    }
}
