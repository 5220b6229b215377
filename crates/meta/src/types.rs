//! The types of columns (specification, "Schemas and Data Types").
//!
//! ```text
//!   Type ── Primitive   int, string, decimal(9, 2), ...          JSON: a string
//!        ├─ Struct      named fields, each with an id            JSON: an object
//!        ├─ List        one element, which has an id of its own
//!        └─ Map         a key and a value, each with an id
//! ```
//!
//! In JSON a primitive is its name, and a nested type an object with a `type` key:
//!
//! ```json
//!   {"type": "list", "element-id": 4, "element": "string", "element-required": true}
//! ```

use crate::json::At;
use crate::schema::Field;
use crate::{Error, Result};
use serde_json::{Value, json};

/// The type of a column, or of a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// A single value.
    Primitive(Primitive),
    /// A tuple of named fields.
    Struct(Vec<Field>),
    /// A sequence of values.
    List(Box<List>),
    /// Pairs of key and value.
    Map(Box<MapType>),
}

/// The type of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct List {
    /// The field id of the element.
    pub element_id: i32,
    /// The type of the element.
    pub element: Type,
    /// Whether no element may be null.
    pub element_required: bool,
}

/// The type of a map. Keys are never null.
#[derive(Debug, Clone, PartialEq)]
pub struct MapType {
    /// The field id of the key.
    pub key_id: i32,
    /// The type of the key.
    pub key: Type,
    /// The field id of the value.
    pub value_id: i32,
    /// The type of the value.
    pub value: Type,
    /// Whether no value may be null.
    pub value_required: bool,
}

/// A primitive type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Primitive {
    /// True or false.
    Boolean,
    /// 32-bit signed integer.
    Int,
    /// 64-bit signed integer.
    Long,
    /// 32-bit IEEE 754.
    Float,
    /// 64-bit IEEE 754.
    Double,
    /// Fixed-point number of `precision` digits, `scale` of them after the point.
    Decimal {
        /// Digits in all, at most 38.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Days since 1970-01-01.
    Date,
    /// Microseconds since midnight, without zone.
    Time,
    /// Microseconds since 1970-01-01T00:00, without zone.
    Timestamp,
    /// Microseconds since 1970-01-01T00:00 in UTC.
    Timestamptz,
    /// Nanoseconds since 1970-01-01T00:00, without zone (v3).
    TimestampNs,
    /// Nanoseconds since 1970-01-01T00:00 in UTC (v3).
    TimestamptzNs,
    /// UTF-8 text.
    String,
    /// 16 bytes.
    Uuid,
    /// A byte string of this length.
    Fixed(u32),
    /// A byte string of any length.
    Binary,
}

impl Type {
    /// The primitive, if this is one.
    pub fn primitive(&self) -> Option<Primitive> {
        match self {
            Type::Primitive(primitive) => Some(*primitive),
            _ => None,
        }
    }

    /// Reads a type from its JSON form.
    pub fn from_json(at: &At<'_>) -> Result<Type> {
        if let Value::String(name) = at.value() {
            return match Primitive::parse(name) {
                Some(primitive) => Ok(Type::Primitive(primitive)),
                None => match name.split('(').next().unwrap_or_default() {
                    "unknown" | "variant" | "geometry" | "geography" => Err(Error::unsupported(
                        format!("the type {name} at {}", at.path()),
                        "the types that format version 3 added are not read yet",
                    )),
                    _ => Err(at.wrong("the name of a primitive type")),
                },
            };
        }
        match at.need("type")?.string()? {
            "struct" => Ok(Type::Struct(Field::list_from_json(&at.need("fields")?)?)),
            "list" => Ok(Type::List(Box::new(List {
                element_id: at.need("element-id")?.int()?,
                element: Type::from_json(&at.need("element")?)?,
                element_required: at.need("element-required")?.boolean()?,
            }))),
            "map" => Ok(Type::Map(Box::new(MapType {
                key_id: at.need("key-id")?.int()?,
                key: Type::from_json(&at.need("key")?)?,
                value_id: at.need("value-id")?.int()?,
                value: Type::from_json(&at.need("value")?)?,
                value_required: at.need("value-required")?.boolean()?,
            }))),
            _ => Err(at.need("type")?.wrong("struct, list or map")),
        }
    }

    /// The JSON form.
    pub fn to_json(&self) -> Value {
        match self {
            Type::Primitive(primitive) => json!(primitive.to_string()),
            Type::Struct(fields) => json!({
                "type": "struct",
                "fields": fields.iter().map(Field::to_json).collect::<Vec<_>>(),
            }),
            Type::List(list) => json!({
                "type": "list",
                "element-id": list.element_id,
                "element": list.element.to_json(),
                "element-required": list.element_required,
            }),
            Type::Map(map) => json!({
                "type": "map",
                "key-id": map.key_id,
                "key": map.key.to_json(),
                "value-id": map.value_id,
                "value": map.value.to_json(),
                "value-required": map.value_required,
            }),
        }
    }

    /// Every field id inside this type, nested ones included.
    pub fn ids(&self) -> Vec<i32> {
        match self {
            Type::Primitive(_) => Vec::new(),
            Type::Struct(fields) => {
                fields.iter().flat_map(|f| [vec![f.id], f.field_type.ids()].concat()).collect()
            }
            Type::List(list) => [vec![list.element_id], list.element.ids()].concat(),
            Type::Map(map) => {
                [vec![map.key_id], map.key.ids(), vec![map.value_id], map.value.ids()].concat()
            }
        }
    }
}

impl Primitive {
    /// Reads the name of a primitive type: `decimal(9, 2)`, `decimal(9,2)`, `fixed[16]`, `int`.
    pub fn parse(name: &str) -> Option<Primitive> {
        Some(match name {
            "boolean" => Primitive::Boolean,
            "int" => Primitive::Int,
            "long" => Primitive::Long,
            "float" => Primitive::Float,
            "double" => Primitive::Double,
            "date" => Primitive::Date,
            "time" => Primitive::Time,
            "timestamp" => Primitive::Timestamp,
            "timestamptz" => Primitive::Timestamptz,
            "timestamp_ns" => Primitive::TimestampNs,
            "timestamptz_ns" => Primitive::TimestamptzNs,
            "string" => Primitive::String,
            "uuid" => Primitive::Uuid,
            "binary" => Primitive::Binary,
            _ => {
                if let Some(length) = name.strip_prefix("fixed[") {
                    return Some(Primitive::Fixed(length.strip_suffix(']')?.trim().parse().ok()?));
                }
                let (precision, scale) =
                    name.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
                let (precision, scale) =
                    (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
                if !(1..=38).contains(&precision) || scale > precision {
                    return None;
                }
                Primitive::Decimal { precision, scale }
            }
        })
    }
}

impl std::fmt::Display for Primitive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Primitive::Boolean => "boolean",
            Primitive::Int => "int",
            Primitive::Long => "long",
            Primitive::Float => "float",
            Primitive::Double => "double",
            Primitive::Date => "date",
            Primitive::Time => "time",
            Primitive::Timestamp => "timestamp",
            Primitive::Timestamptz => "timestamptz",
            Primitive::TimestampNs => "timestamp_ns",
            Primitive::TimestamptzNs => "timestamptz_ns",
            Primitive::String => "string",
            Primitive::Uuid => "uuid",
            Primitive::Binary => "binary",
            Primitive::Fixed(length) => return write!(f, "fixed[{length}]"),
            Primitive::Decimal { precision, scale } => {
                return write!(f, "decimal({precision}, {scale})");
            }
        };
        f.write_str(name)
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Primitive(primitive) => primitive.fmt(f),
            Type::Struct(fields) => {
                let fields: Vec<_> =
                    fields.iter().map(|x| format!("{}: {}", x.name, x.field_type)).collect();
                write!(f, "struct<{}>", fields.join(", "))
            }
            Type::List(list) => write!(f, "list<{}>", list.element),
            Type::Map(map) => write!(f, "map<{}, {}>", map.key, map.value),
        }
    }
}
