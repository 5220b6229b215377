//! The schema of an Avro file, compiled from its JSON.
//!
//! ```text
//!   {"type": "record", "name": "manifest_entry", "fields": [        Record
//!     {"name": "status", "type": "int", "field-id": 0},               0 status: Long(Int)
//!     {"name": "snapshot_id", "type": ["null", "long"],               1 snapshot_id: Union
//!      "field-id": 1}]}                                                   Null, Long(Long)
//! ```

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How deep a schema may nest. Iceberg's own schemas stay under ten.
pub const MAX_DEPTH: usize = 64;

/// A type of the file's schema.
#[derive(Debug)]
pub enum Node {
    /// No bytes.
    Null,
    /// One byte.
    Boolean,
    /// A variable-length integer: Avro's int and long.
    Long(Logical),
    /// Four bytes.
    Float,
    /// Eight bytes.
    Double,
    /// Length and bytes: Avro's bytes and string.
    Bytes(Logical),
    /// A fixed number of bytes.
    Fixed(usize, Logical),
    /// Fields, one after the other.
    Record(Vec<Field>),
    /// Blocks of items. A map with keys that are not strings is an array of two-field records.
    Array(Arc<Node>),
    /// Blocks of string keys and values.
    Map(Arc<Node>),
    /// A branch number, and a value of that branch.
    Union(Vec<Arc<Node>>),
}

/// What the value of a [`Node`] stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Logical {
    /// Itself: a 32-bit integer.
    Int,
    /// Itself: a 64-bit integer.
    Long,
    /// Itself: bytes.
    Bytes,
    /// Itself: UTF-8.
    String,
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Microseconds since 1970 and whether in UTC.
    Timestamp(bool),
    /// Nanoseconds since 1970 and whether in UTC.
    TimestampNs(bool),
    /// An unscaled big-endian integer with this scale.
    Decimal(u8),
    /// A UUID.
    Uuid,
}

/// A field of a record.
#[derive(Debug)]
pub struct Field {
    /// Iceberg's field id, by which the value is known.
    pub id: Option<i32>,
    /// The name, for messages only.
    pub name: String,
    /// The type.
    pub node: Arc<Node>,
}

/// A node of a schema, and how large it is with everything below it. A type may be named and used
/// again, so a short text can describe a huge tree; both measures are bounded.
#[derive(Clone)]
struct Sized {
    node: Arc<Node>,
    depth: usize,
    weight: usize,
}

/// How many nodes a schema may have, named types counted wherever they are used.
const MAX_NODES: usize = 5_000;

/// Compiles the text of a schema.
pub(crate) fn compile(text: &[u8]) -> Result<Arc<Node>, String> {
    let json: Json = serde_json::from_slice(text).map_err(|e| e.to_string())?;
    let mut compiler = Compiler { names: BTreeMap::new() };
    match compiler.node(&json) {
        Some(Sized { node, .. }) if matches!(*node, Node::Record(_)) => Ok(node),
        Some(_) => Err("another type".into()),
        None => Err("a schema that is none, or is too deep or too large".into()),
    }
}

struct Compiler {
    names: BTreeMap<String, Sized>,
}

impl Compiler {
    /// The node of `json`. Its nesting is bounded by the JSON parser's own limit of 128 levels.
    fn node(&mut self, json: &Json) -> Option<Sized> {
        let (mut depth, mut weight) = (0, 1);
        let mut below = |child: Sized| {
            depth = depth.max(child.depth + 1);
            weight += child.weight;
            child.node
        };
        let node = match json {
            Json::Array(branches) => {
                let branches = branches.iter().map(|branch| self.node(branch).map(&mut below));
                Node::Union(branches.collect::<Option<_>>()?)
            }
            Json::String(name) => return self.named(name, json),
            Json::Object(object) => match object.get("type")? {
                Json::String(name) => match name.as_str() {
                    "record" => {
                        let mut fields = Vec::new();
                        for field in object.get("fields")?.as_array()? {
                            let id = field.get("field-id").and_then(Json::as_i64);
                            let name = field.get("name").and_then(Json::as_str);
                            fields.push(Field {
                                id: id.and_then(|id| i32::try_from(id).ok()),
                                name: name.unwrap_or_default().to_string(),
                                node: below(self.node(field.get("type")?)?),
                            });
                        }
                        Node::Record(fields)
                    }
                    "array" => Node::Array(below(self.node(object.get("items")?)?)),
                    "map" => Node::Map(below(self.node(object.get("values")?)?)),
                    "fixed" => {
                        let size = usize::try_from(object.get("size")?.as_u64()?).ok()?;
                        Node::Fixed(size, logical(json).unwrap_or(Logical::Bytes))
                    }
                    "enum" => Node::Long(Logical::Int),
                    _ => return self.named(name, json),
                },
                nested => return self.node(nested),
            },
            _ => return None,
        };
        if depth > MAX_DEPTH || weight > MAX_NODES {
            return None;
        }
        let sized = Sized { node: Arc::new(node), depth, weight };
        if let Some(name) = json.get("name").and_then(Json::as_str) {
            self.names.insert(name.to_string(), sized.clone());
        }
        Some(sized)
    }

    /// A primitive by its name, or a named type seen before.
    fn named(&self, name: &str, json: &Json) -> Option<Sized> {
        let logical = |plain| logical(json).unwrap_or(plain);
        let node = match name {
            "null" => Node::Null,
            "boolean" => Node::Boolean,
            "int" => Node::Long(logical(Logical::Int)),
            "long" => Node::Long(logical(Logical::Long)),
            "float" => Node::Float,
            "double" => Node::Double,
            "bytes" => Node::Bytes(logical(Logical::Bytes)),
            "string" => Node::Bytes(logical(Logical::String)),
            _ => return self.names.get(name).cloned(),
        };
        Some(Sized { node: Arc::new(node), depth: 0, weight: 1 })
    }
}

fn logical(json: &Json) -> Option<Logical> {
    let utc = || json.get("adjust-to-utc").and_then(Json::as_bool).unwrap_or(false);
    Some(match json.get("logicalType")?.as_str()? {
        "date" => Logical::Date,
        "time-micros" => Logical::Time,
        "timestamp-micros" => Logical::Timestamp(utc()),
        "timestamp-nanos" => Logical::TimestampNs(utc()),
        "decimal" => Logical::Decimal(json.get("scale")?.as_u64()?.try_into().ok()?),
        "uuid" => Logical::Uuid,
        _ => return None,
    })
}
