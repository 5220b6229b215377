//! Data files: what a manifest says of one file of rows (specification, "Data File Fields").
//!
//! ```text
//!   data_file, a struct                                         v1   v2   v3
//!     134 content             int: 0 data, 1 position deletes,   -   req  req
//!                             2 equality deletes
//!     100 file_path           string                            req  req  req
//!     101 file_format         string: PARQUET, AVRO, ORC        req  req  req
//!     102 partition           struct, by the manifest's spec    req  req  req
//!     103 record_count        long                              req  req  req
//!     104 file_size_in_bytes  long                              req  req  req
//!     108 column_sizes        map<117 int, 118 long>            opt  opt  opt
//!     109 value_counts        map<119 int, 120 long>            opt  opt  opt
//!     110 null_value_counts   map<121 int, 122 long>            opt  opt  opt
//!     137 nan_value_counts    map<138 int, 139 long>            opt  opt  opt
//!     125 lower_bounds        map<126 int, 127 binary>          opt  opt  opt
//!     128 upper_bounds        map<129 int, 130 binary>          opt  opt  opt
//!     131 key_metadata        binary                            opt  opt  opt
//!     132 split_offsets       list<133 long>                    opt  opt  opt
//!     135 equality_ids        list<136 int>                      -   opt  opt
//!     140 sort_order_id       int                               opt  opt  opt
//!     142 first_row_id        long                               -    -   opt
//!     143 referenced_data_file  string                           -   opt  opt
//!     144 content_offset      long                               -    -   opt
//!     145 content_size_in_bytes long                             -    -   opt
//! ```
//!
//! The maps go from a column's field id to a count or a bound (the binary form of [`crate::value`]).
//! For the four products of the shop:
//!
//! ```text
//!   record_count 4   value_counts {1: 4, 2: 4, 3: 4, 4: 4}   null_value_counts {1: 0, ...}
//!   lower_bounds {1: "P001", 4: 0.35}   upper_bounds {1: "P004", 4: 2.1}
//! ```

use crate::Location;
use crate::avro::{Cursor, Field, Node, Step};
use crate::partition::{PartitionSpec, Tuple};
use crate::tuple;
use std::collections::BTreeMap;

/// One file of rows, or of deletes.
#[derive(Debug, Clone, PartialEq)]
pub struct DataFile {
    /// What the file holds.
    pub content: Content,
    /// Where it lies.
    pub file_path: Location,
    /// `PARQUET`, `AVRO`, `ORC` or `PUFFIN`, in upper case.
    pub file_format: String,
    /// One value for each field of the manifest's partition spec.
    pub partition: Tuple,
    /// Rows in the file.
    pub record_count: i64,
    /// Bytes in the file.
    pub file_size_in_bytes: i64,
    /// Column id to bytes on disk.
    pub column_sizes: BTreeMap<i32, i64>,
    /// Column id to values, nulls and NaNs included.
    pub value_counts: BTreeMap<i32, i64>,
    /// Column id to nulls.
    pub null_value_counts: BTreeMap<i32, i64>,
    /// Column id to NaNs.
    pub nan_value_counts: BTreeMap<i32, i64>,
    /// Column id to a value that no value of the file is below.
    pub lower_bounds: BTreeMap<i32, Vec<u8>>,
    /// Column id to a value that no value of the file is above.
    pub upper_bounds: BTreeMap<i32, Vec<u8>>,
    /// Of an encrypted file.
    pub key_metadata: Option<Vec<u8>>,
    /// Offsets where the file can be split: of its row groups, rising.
    pub split_offsets: Option<Vec<i64>>,
    /// The columns by which an equality delete file deletes.
    pub equality_ids: Option<Vec<i32>>,
    /// The order of the rows; none or 0 is unsorted.
    pub sort_order_id: Option<i32>,
    /// The `_row_id` of the first row (v3).
    pub first_row_id: Option<i64>,
    /// The one data file that a delete file deletes from.
    pub referenced_data_file: Option<String>,
    /// Where a deletion vector begins in its file (v3).
    pub content_offset: Option<i64>,
    /// How long a deletion vector is (v3).
    pub content_size_in_bytes: Option<i64>,
}

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Rows.
    Data,
    /// Paths and positions of deleted rows, or a deletion vector.
    PositionDeletes,
    /// Values of deleted rows.
    EqualityDeletes,
}

impl Content {
    /// The number in field 134.
    pub fn code(self) -> i32 {
        match self {
            Content::Data => 0,
            Content::PositionDeletes => 1,
            Content::EqualityDeletes => 2,
        }
    }

    fn from_code(cursor: &Cursor<'_>, code: i32) -> Step<Content> {
        match code {
            0 => Ok(Content::Data),
            1 => Ok(Content::PositionDeletes),
            2 => Ok(Content::EqualityDeletes),
            _ => cursor.fault("field 134 content: 0, 1 or 2"),
        }
    }
}

impl DataFile {
    /// A file of rows without metrics.
    pub fn new(file_path: Location, record_count: i64, file_size_in_bytes: i64) -> DataFile {
        DataFile {
            content: Content::Data,
            file_path,
            file_format: "PARQUET".into(),
            partition: Tuple::new(),
            record_count,
            file_size_in_bytes,
            column_sizes: BTreeMap::new(),
            value_counts: BTreeMap::new(),
            null_value_counts: BTreeMap::new(),
            nan_value_counts: BTreeMap::new(),
            lower_bounds: BTreeMap::new(),
            upper_bounds: BTreeMap::new(),
            key_metadata: None,
            split_offsets: None,
            equality_ids: None,
            sort_order_id: None,
            first_row_id: None,
            referenced_data_file: None,
            content_offset: None,
            content_size_in_bytes: None,
        }
    }
}

impl DataFile {
    /// Whether version 2 has no field for something this file carries.
    pub(crate) fn needs_v3(&self) -> bool {
        self.first_row_id.is_some()
            || self.content_offset.is_some()
            || self.content_size_in_bytes.is_some()
    }
}

/// Reads the struct of field 2 of a manifest entry, by field ids.
pub(crate) fn decode(cursor: &mut Cursor<'_>, node: &Node, spec: &PartitionSpec) -> Step<DataFile> {
    let Node::Record(fields) = node else {
        return cursor.fault("field 2 data_file: a struct");
    };
    let mut path = None;
    let (mut counts, mut partition) = ((None, None), None);
    // A placeholder for the path, until field 100 is met: fields come in any order.
    let Ok(nowhere) = Location::parse("/") else {
        return cursor.fault("a location");
    };
    let mut file = DataFile::new(nowhere, 0, 0);
    for Field { id, node, .. } in fields {
        match id {
            Some(134) => file.content = content(cursor, node)?,
            Some(100) => path = Some(location(cursor, node)?),
            Some(101) => file.file_format = cursor.string(node)?.to_ascii_uppercase(),
            Some(102) => partition = Some(tuple::decode(cursor, node, spec)?),
            Some(103) => counts.0 = Some(cursor.long(node)?),
            Some(104) => counts.1 = Some(cursor.long(node)?),
            Some(108) => file.column_sizes = longs(cursor, node)?,
            Some(109) => file.value_counts = longs(cursor, node)?,
            Some(110) => file.null_value_counts = longs(cursor, node)?,
            Some(137) => file.nan_value_counts = longs(cursor, node)?,
            Some(125) => file.lower_bounds = bounds(cursor, node)?,
            Some(128) => file.upper_bounds = bounds(cursor, node)?,
            Some(131) => {
                file.key_metadata = cursor.optional(node, |c, n| Ok(c.bytes(n)?.to_vec()))?;
            }
            Some(132) => {
                file.split_offsets = cursor.optional(node, |c, n| c.array(n, Cursor::long))?;
            }
            Some(135) => {
                file.equality_ids = cursor.optional(node, |c, n| c.array(n, Cursor::int))?;
            }
            Some(140) => file.sort_order_id = cursor.optional(node, Cursor::int)?,
            Some(142) => file.first_row_id = cursor.optional(node, Cursor::long)?,
            Some(143) => {
                let path = cursor.optional(node, |c, n| Ok(c.string(n)?.to_string()))?;
                file.referenced_data_file = path;
            }
            Some(144) => file.content_offset = cursor.optional(node, Cursor::long)?,
            Some(145) => file.content_size_in_bytes = cursor.optional(node, Cursor::long)?,
            _ => cursor.skip(node)?,
        }
    }
    match (path, partition, counts) {
        (Some(path), Some(partition), (Some(records), Some(size))) if records >= 0 && size >= 0 => {
            (file.file_path, file.partition) = (path, partition);
            (file.record_count, file.file_size_in_bytes) = (records, size);
            Ok(file)
        }
        _ => cursor.fault(
            "fields 100 file_path, 102 partition, 103 record_count, 104 file_size_in_bytes, not \
             negative",
        ),
    }
}

fn content(cursor: &mut Cursor<'_>, node: &Node) -> Step<Content> {
    let code = cursor.int(node)?;
    Content::from_code(cursor, code)
}

pub(crate) fn location(cursor: &mut Cursor<'_>, node: &Node) -> Step<Location> {
    match Location::parse(cursor.string(node)?) {
        Ok(location) => Ok(location),
        Err(_) => cursor.fault("an absolute path or a URI, without .. and NUL"),
    }
}

/// A map of counts. A negative count occurs in the wild and says nothing: it is left out.
fn longs(cursor: &mut Cursor<'_>, node: &Node) -> Step<BTreeMap<i32, i64>> {
    let map = cursor.optional(node, |c, n| c.int_map(n, |c, n| c.long(n)))?;
    let mut map = map.unwrap_or_default();
    map.retain(|_, count| *count >= 0);
    Ok(map)
}

fn bounds(cursor: &mut Cursor<'_>, node: &Node) -> Step<BTreeMap<i32, Vec<u8>>> {
    let map = cursor.optional(node, |c, n| c.int_map(n, |c, n| Ok(c.bytes(n)?.to_vec())))?;
    Ok(map.unwrap_or_default())
}
