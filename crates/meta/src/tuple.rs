//! Partition tuples in Avro: field 102 of a data file, whose type hangs on the manifest's spec.
//!
//! ```text
//!   spec  [1000 store_id identity, 1001 order_ts_day day]
//!   Avro  r102 { store_id: ["null", "string"]  field-id 1000,
//!                order_ts_day: ["null", date]  field-id 1001 }
//! ```
//!
//! Partition fields are named freely and Avro's names are not, so a name is written in Avro's
//! alphabet, the true one beside it as `iceberg-field-name`; readers go by the id.

use crate::avro::{Cursor, Field, Logical, Node, Step, put_bytes, put_long};
use crate::partition::{PartitionField, PartitionSpec, Tuple};
use crate::transform::Transform;
use crate::types::Primitive;
use crate::value::{Value, decimal_from_bytes, decimal_to_bytes};
use crate::{Error, Location, Result};
use serde_json::{Value as Json, json};

/// Reads a partition tuple: the values of the spec's fields by their ids, in the spec's order.
pub(crate) fn decode(cursor: &mut Cursor<'_>, node: &Node, spec: &PartitionSpec) -> Step<Tuple> {
    let Node::Record(fields) = node else {
        return cursor.fault("field 102 partition: a struct");
    };
    let mut tuple: Tuple = vec![None; spec.fields.len()];
    for Field { id, node, .. } in fields {
        let place = spec.fields.iter().position(|field| Some(field.field_id) == *id);
        match place.and_then(|place| tuple.get_mut(place)) {
            Some(slot) => *slot = cursor.optional(node, value)?,
            None => cursor.skip(node)?,
        }
    }
    // Some writers, old ones and DuckDB, write a day as a plain int.
    for (slot, field) in tuple.iter_mut().zip(&spec.fields) {
        if let (Some(Value::Int(day)), Transform::Day) = (&*slot, &field.transform) {
            *slot = Some(Value::Date(*day));
        }
    }
    Ok(tuple)
}

/// A primitive value, by the type that the file's schema gives it.
fn value(cursor: &mut Cursor<'_>, node: &Node) -> Step<Value> {
    Ok(match node {
        Node::Boolean => Value::Boolean(cursor.boolean(node)?),
        Node::Long(Logical::Int) => Value::Int(cursor.int(node)?),
        Node::Long(Logical::Date) => Value::Date(cursor.int(node)?),
        Node::Long(Logical::Time) => Value::Time(cursor.long(node)?),
        Node::Long(Logical::Timestamp(false)) => Value::Timestamp(cursor.long(node)?),
        Node::Long(Logical::Timestamp(true)) => Value::Timestamptz(cursor.long(node)?),
        Node::Long(Logical::TimestampNs(false)) => Value::TimestampNs(cursor.long(node)?),
        Node::Long(Logical::TimestampNs(true)) => Value::TimestamptzNs(cursor.long(node)?),
        Node::Long(_) => Value::Long(cursor.long(node)?),
        Node::Float => Value::Float(cursor.float(node)? as f32),
        Node::Double => Value::Double(cursor.float(node)?),
        Node::Bytes(Logical::String) => Value::String(cursor.string(node)?.to_string()),
        Node::Bytes(Logical::Decimal(scale)) | Node::Fixed(_, Logical::Decimal(scale)) => {
            match decimal_from_bytes(cursor.bytes(node)?) {
                Some(unscaled) => Value::Decimal(unscaled, *scale),
                None => return cursor.fault("a decimal of 1 to 16 bytes"),
            }
        }
        Node::Fixed(16, Logical::Uuid) | Node::Bytes(Logical::Uuid) => {
            let bytes = cursor.bytes(node)?;
            // Iceberg's uuid is 16 bytes, Avro's own is text.
            match uuid::Uuid::from_slice(bytes).or_else(|_| uuid::Uuid::try_parse_ascii(bytes)) {
                Ok(uuid) => Value::Uuid(uuid),
                Err(_) => return cursor.fault("a uuid of 16 bytes"),
            }
        }
        Node::Bytes(_) => Value::Binary(cursor.bytes(node)?.to_vec()),
        Node::Fixed(..) => Value::Fixed(cursor.bytes(node)?.to_vec()),
        _ => return cursor.fault("a primitive partition value"),
    })
}

/// Checks that a file's tuple has a fitting value for each field of its spec.
pub(crate) fn check(file: &Location, tuple: &Tuple, types: &[Primitive]) -> Result<()> {
    let fit = |(value, want): (&Option<Value>, &Primitive)| {
        value.as_ref().is_none_or(|value| fits(value, *want))
    };
    if tuple.len() != types.len() || !tuple.iter().zip(types).all(fit) {
        let types: Vec<_> = types.iter().map(Primitive::to_string).collect();
        return Err(Error::invalid(
            format!("the partition tuple of {file}"),
            format!("its spec asks for values of the types ({})", types.join(", ")),
        ));
    }
    Ok(())
}

/// Whether `value` can stand in a field of type `want`, as it is or promoted.
fn fits(value: &Value, want: Primitive) -> bool {
    match (value, want) {
        (Value::Int(_), Primitive::Date) => true,
        (Value::Timestamp(_), Primitive::Timestamptz) => true, // as iceberg-rust writes them
        (Value::TimestampNs(_), Primitive::TimestamptzNs) => true,
        (Value::Int(_), Primitive::Long) | (Value::Float(_), Primitive::Double) => true,
        (Value::Fixed(v), Primitive::Fixed(length)) => v.len() == length as usize,
        (Value::Decimal(v, a), Primitive::Decimal { precision, scale }) => {
            *a == scale && decimal_to_bytes(*v).len() <= decimal_width(precision)
        }
        (Value::Boolean(_), Primitive::Boolean)
        | (Value::Int(_), Primitive::Int)
        | (Value::Long(_), Primitive::Long)
        | (Value::Float(_), Primitive::Float)
        | (Value::Double(_), Primitive::Double)
        | (Value::Date(_), Primitive::Date)
        | (Value::Time(_), Primitive::Time)
        | (Value::Timestamp(_), Primitive::Timestamp)
        | (Value::Timestamptz(_), Primitive::Timestamptz)
        | (Value::TimestampNs(_), Primitive::TimestampNs)
        | (Value::TimestamptzNs(_), Primitive::TimestamptzNs)
        | (Value::String(_), Primitive::String)
        | (Value::Uuid(_), Primitive::Uuid)
        | (Value::Binary(_), Primitive::Binary) => true,
        _ => false,
    }
}

/// Bytes that hold every unscaled value of `precision` digits.
fn decimal_width(precision: u8) -> usize {
    (1..16).find(|n| 10i128.pow(precision.into()) <= 1i128 << (8 * n - 1)).unwrap_or(16)
}

/// The Avro field of one partition value: always optional, known by the partition field's id.
pub(crate) fn field_schema(field: &PartitionField, primitive: Primitive) -> String {
    let name = sanitise(&field.name);
    let avro = match primitive {
        Primitive::Boolean => json!("boolean"),
        Primitive::Int => json!("int"),
        Primitive::Long => json!("long"),
        Primitive::Float => json!("float"),
        Primitive::Double => json!("double"),
        Primitive::String => json!("string"),
        Primitive::Binary => json!("bytes"),
        Primitive::Date => json!({"type": "int", "logicalType": "date"}),
        Primitive::Time => json!({"type": "long", "logicalType": "time-micros"}),
        Primitive::Timestamp | Primitive::Timestamptz => json!({
            "type": "long", "logicalType": "timestamp-micros",
            "adjust-to-utc": primitive == Primitive::Timestamptz}),
        Primitive::TimestampNs | Primitive::TimestamptzNs => json!({
            "type": "long", "logicalType": "timestamp-nanos",
            "adjust-to-utc": primitive == Primitive::TimestamptzNs}),
        Primitive::Uuid => json!({
            "type": "fixed", "size": 16, "name": format!("uuid_{name}"), "logicalType": "uuid"}),
        Primitive::Fixed(size) => json!({
            "type": "fixed", "size": size, "name": format!("fixed_{name}")}),
        Primitive::Decimal { precision, scale } => json!({
            "type": "fixed", "size": decimal_width(precision), "name": format!("decimal_{name}"),
            "logicalType": "decimal", "precision": precision, "scale": scale}),
    };
    let mut json = json!({
        "name": name, "type": ["null", avro], "default": null, "field-id": field.field_id});
    if let (true, Some(object)) = (name != field.name, json.as_object_mut()) {
        object.insert("iceberg-field-name".into(), Json::String(field.name.clone()));
    }
    json.to_string()
}

/// Appends a partition value that [`check`] found to fit its type.
pub(crate) fn put(out: &mut Vec<u8>, value: &Value, primitive: Primitive) {
    match (value, primitive) {
        (Value::Int(v) | Value::Date(v), _) => put_long(out, i64::from(*v)),
        (
            Value::Long(v)
            | Value::Time(v)
            | Value::Timestamp(v)
            | Value::Timestamptz(v)
            | Value::TimestampNs(v)
            | Value::TimestamptzNs(v),
            _,
        ) => put_long(out, *v),
        (Value::String(v), _) => put_bytes(out, v.as_bytes()),
        (Value::Binary(v), _) => put_bytes(out, v),
        (Value::Float(v), Primitive::Double) => out.extend(f64::from(*v).to_le_bytes()),
        (Value::Decimal(unscaled, _), Primitive::Decimal { precision, .. }) => {
            let wide = unscaled.to_be_bytes();
            out.extend(wide.iter().skip(wide.len() - decimal_width(precision)));
        }
        (value, _) => out.extend(value.to_bytes()),
    }
}

/// The name in Avro's alphabet: a leading digit gets a `_`, any other foreign character becomes
/// `_x` and its UTF-16 code in upper hex.
fn sanitise(name: &str) -> String {
    let mut out = String::new();
    for (index, unit) in name.encode_utf16().enumerate() {
        match char::from_u32(unit.into()) {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => out.push(c),
            Some(c) if c.is_ascii_digit() && index > 0 => out.push(c),
            Some(c) if c.is_ascii_digit() => out.extend(['_', c]),
            _ => out.push_str(&format!("_x{unit:X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_in_avros_alphabet() {
        for (name, avro) in [
            ("store_id", "store_id"),
            ("1st", "_1st"),
            ("x.y_trunc", "x_x2Ey_trunc"),
            ("my col", "my_x20col"),
            ("a9", "a9"),
            ("\u{1F600}", "_xD83D_xDE00"),
        ] {
            assert_eq!(sanitise(name), avro);
        }
    }

    #[test]
    fn decimals_are_as_wide_as_their_precision_needs() {
        let widths = [(1, 1), (2, 1), (3, 2), (4, 2), (9, 4), (10, 5), (18, 8), (19, 9), (38, 16)];
        for (precision, width) in widths {
            assert_eq!(decimal_width(precision), width, "precision {precision}");
        }
        let mut out = Vec::new();
        put(&mut out, &Value::Decimal(-1420, 2), Primitive::Decimal { precision: 9, scale: 2 });
        assert_eq!(out, [0xff, 0xff, 0xfa, 0x74]);
    }
}
