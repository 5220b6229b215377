//! Single values, and their binary form (specification, Appendix D).
//!
//! Bounds in manifests and partition summaries are single values in binary:
//!
//! ```text
//!   boolean                       one byte, 0 or not 0
//!   int date                      4 bytes, little-endian
//!   long time timestamp(tz)(_ns)  8 bytes, little-endian
//!   float double                  4 or 8 bytes, IEEE 754, little-endian
//!   decimal                       the unscaled value, big-endian two's complement, minimal length
//!   string                        UTF-8, no length
//!   uuid                          16 bytes, big-endian
//!   fixed binary                  the bytes
//!
//!   34 as int is 22 00 00 00; 14.20 as decimal(9, 2) is 05 8c; "iceberg" is its seven letters
//! ```
//!
//! A column may have been promoted since its bound was written, so a bound is read by its length:
//! four bytes under `long` are an int, four bytes under `double` a float.

use crate::types::Primitive;
use std::cmp::Ordering;
use std::mem::{Discriminant, discriminant};

/// A value of a primitive type.
#[derive(Debug, Clone)]
pub enum Value {
    /// `boolean`
    Boolean(bool),
    /// `int`
    Int(i32),
    /// `long`
    Long(i64),
    /// `float`
    Float(f32),
    /// `double`
    Double(f64),
    /// `decimal`: the unscaled value and the scale
    Decimal(i128, u8),
    /// `date`: days since 1970-01-01
    Date(i32),
    /// `time`: microseconds since midnight
    Time(i64),
    /// `timestamp`: microseconds since 1970-01-01T00:00
    Timestamp(i64),
    /// `timestamptz`: microseconds since 1970-01-01T00:00 in UTC
    Timestamptz(i64),
    /// `timestamp_ns`: nanoseconds since 1970-01-01T00:00
    TimestampNs(i64),
    /// `timestamptz_ns`: nanoseconds since 1970-01-01T00:00 in UTC
    TimestamptzNs(i64),
    /// `string`
    String(String),
    /// `uuid`
    Uuid(uuid::Uuid),
    /// `fixed`
    Fixed(Vec<u8>),
    /// `binary`
    Binary(Vec<u8>),
}

impl Value {
    /// Compares two values of one type, as bounds are compared: floats by `totalOrder`, so that -0.0
    /// is below 0.0 and NaN above all; text by its UTF-8 bytes, which is by code point; bytes
    /// unsigned. A value from before a promotion compares with the wider ones. Values of different
    /// types are equal here, which no caller relies on.
    pub fn order(&self, other: &Value) -> Ordering {
        match (self, other) {
            (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
            (Value::Decimal(a, _), Value::Decimal(b, _)) => a.cmp(b),
            (Value::String(a), Value::String(b)) => a.cmp(b),
            (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
            (Value::Fixed(a), Value::Fixed(b)) | (Value::Binary(a), Value::Binary(b)) => a.cmp(b),
            _ => match (self.integer(), other.integer(), self.float(), other.float()) {
                (Some(a), Some(b), ..) => a.cmp(&b),
                (.., Some(a), Some(b)) => a.total_cmp(&b),
                _ => Ordering::Equal,
            },
        }
    }

    /// The number behind an integer, a date or a time.
    fn integer(&self) -> Option<i64> {
        match self {
            Value::Int(v) | Value::Date(v) => Some(i64::from(*v)),
            Value::Long(v)
            | Value::Time(v)
            | Value::Timestamp(v)
            | Value::Timestamptz(v)
            | Value::TimestampNs(v)
            | Value::TimestamptzNs(v) => Some(*v),
            _ => None,
        }
    }

    /// The number behind a float or a double; there is one NaN.
    pub(crate) fn float(&self) -> Option<f64> {
        let number = match self {
            Value::Float(v) => f64::from(*v),
            Value::Double(v) => *v,
            _ => return None,
        };
        Some(if number.is_nan() { f64::NAN } else { number })
    }

    /// The type, narrow ones taken for what they can be promoted to, and timestamps for one whether
    /// zoned or not: within one partition field they cannot mix, but iceberg-rust's manifests do not
    /// tell them apart.
    pub(crate) fn family(&self) -> Discriminant<Value> {
        discriminant(match self {
            Value::Int(_) => &Value::Long(0),
            Value::Float(_) => &Value::Double(0.0),
            Value::Timestamptz(_) => &Value::Timestamp(0),
            Value::TimestamptzNs(_) => &Value::TimestampNs(0),
            value => value,
        })
    }

    /// The binary form.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Value::Boolean(v) => vec![u8::from(*v)],
            Value::Int(v) | Value::Date(v) => v.to_le_bytes().to_vec(),
            Value::Long(v)
            | Value::Time(v)
            | Value::Timestamp(v)
            | Value::Timestamptz(v)
            | Value::TimestampNs(v)
            | Value::TimestamptzNs(v) => v.to_le_bytes().to_vec(),
            Value::Float(v) => v.to_le_bytes().to_vec(),
            Value::Double(v) => v.to_le_bytes().to_vec(),
            Value::Decimal(unscaled, _) => decimal_to_bytes(*unscaled),
            Value::String(v) => v.as_bytes().to_vec(),
            Value::Uuid(v) => v.as_bytes().to_vec(),
            Value::Fixed(v) | Value::Binary(v) => v.clone(),
        }
    }

    /// Reads the binary form of a value of type `primitive`, also where the type was promoted after
    /// the bytes were written. `None` when no value of that type has such bytes; a bound like that
    /// is ignored by its reader.
    pub fn from_bytes(primitive: Primitive, bytes: &[u8]) -> Option<Value> {
        let int = || Some(i32::from_le_bytes(bytes.try_into().ok()?));
        let long = || Some(i64::from_le_bytes(bytes.try_into().ok()?));
        // Four bytes under a wider type: an int under `long`, under a timestamp a date, whose days
        // are counted in the timestamp's unit.
        let widened = |units: i64| match bytes.len() {
            4 => i64::from(int()?).checked_mul(units),
            _ => long(),
        };
        let float = || Some(f32::from_le_bytes(bytes.try_into().ok()?));
        Some(match primitive {
            Primitive::Boolean => Value::Boolean(*bytes.first()? != 0),
            Primitive::Int => Value::Int(int()?),
            Primitive::Date => Value::Date(int()?),
            Primitive::Long => Value::Long(widened(1)?),
            Primitive::Time => Value::Time(long()?),
            Primitive::Timestamp => Value::Timestamp(widened(86_400_000_000)?),
            Primitive::TimestampNs => Value::TimestampNs(widened(86_400_000_000_000)?),
            Primitive::Timestamptz => Value::Timestamptz(long()?),
            Primitive::TimestamptzNs => Value::TimestamptzNs(long()?),
            Primitive::Float => Value::Float(float()?),
            Primitive::Double => match bytes.len() {
                4 => Value::Double(f64::from(float()?)),
                _ => Value::Double(f64::from_le_bytes(bytes.try_into().ok()?)),
            },
            Primitive::Decimal { scale, .. } => Value::Decimal(decimal_from_bytes(bytes)?, scale),
            Primitive::String => Value::String(std::str::from_utf8(bytes).ok()?.to_string()),
            Primitive::Uuid => Value::Uuid(uuid::Uuid::from_slice(bytes).ok()?),
            Primitive::Fixed(length) if bytes.len() == length as usize => {
                Value::Fixed(bytes.to_vec())
            }
            Primitive::Fixed(_) => return None,
            Primitive::Binary => Value::Binary(bytes.to_vec()),
        })
    }
}

/// Equal as partition values are: NaN is NaN, -0.0 is not 0.0, and a value from before a promotion
/// is the wider one, so that a delete finds the files of its partition.
impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.family() == other.family() && self.order(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// Big-endian two's complement in as few bytes as hold the value: 0 is one byte, 128 is two.
pub fn decimal_to_bytes(unscaled: i128) -> Vec<u8> {
    let bytes = unscaled.to_be_bytes();
    let filler = if unscaled < 0 { 0xff } else { 0x00 };
    let mut start = 0;
    // A leading byte can go when it only repeats the sign that the next byte already carries.
    while let (Some(&first), Some(&next)) = (bytes.get(start), bytes.get(start + 1)) {
        if first != filler || (next ^ filler) & 0x80 != 0 {
            break;
        }
        start += 1;
    }
    bytes.get(start..).unwrap_or_default().to_vec()
}

/// Reads big-endian two's complement of 1 to 16 bytes, extending the sign.
pub fn decimal_from_bytes(bytes: &[u8]) -> Option<i128> {
    let first = *bytes.first()?;
    let mut wide = if first & 0x80 == 0 { [0x00; 16] } else { [0xff; 16] };
    let start = wide.len().checked_sub(bytes.len())?;
    wide.get_mut(start..)?.copy_from_slice(bytes);
    Some(i128::from_be_bytes(wide))
}

impl std::fmt::Display for Value {
    /// The value as a partition path or a listing shows it; bytes in lower hex, times as counts.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Boolean(v) => v.fmt(f),
            Value::Int(v) | Value::Date(v) => v.fmt(f),
            Value::Long(v)
            | Value::Time(v)
            | Value::Timestamp(v)
            | Value::Timestamptz(v)
            | Value::TimestampNs(v)
            | Value::TimestamptzNs(v) => v.fmt(f),
            Value::Float(v) => v.fmt(f),
            Value::Double(v) => v.fmt(f),
            Value::String(v) => v.fmt(f),
            Value::Uuid(v) => v.fmt(f),
            Value::Fixed(v) | Value::Binary(v) => v.iter().try_for_each(|b| write!(f, "{b:02x}")),
            Value::Decimal(unscaled, scale) => {
                let scale = usize::from(*scale);
                let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
                let (whole, part) = digits.split_at(digits.len() - scale);
                let sign = if *unscaled < 0 { "-" } else { "" };
                let point = if scale > 0 { "." } else { "" };
                write!(f, "{sign}{whole}{point}{part}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_take_as_few_bytes_as_the_specification_says() {
        let vectors: [(i128, &[u8]); 9] = [
            (0, &[0x00]),
            (127, &[0x7f]),
            (128, &[0x00, 0x80]),
            (-1, &[0xff]),
            (-128, &[0x80]),
            (-129, &[0xff, 0x7f]),
            (-256, &[0xff, 0x00]),
            (1420, &[0x05, 0x8c]),
            (-1420, &[0xfa, 0x74]),
        ];
        for (unscaled, bytes) in vectors {
            assert_eq!(decimal_to_bytes(unscaled), bytes, "{unscaled}");
            assert_eq!(decimal_from_bytes(bytes), Some(unscaled));
        }
        assert_eq!(decimal_from_bytes(&[0xf0, 0xc9, 0xa7]), Some(-996_953));
        assert_eq!(decimal_from_bytes(&[]), None);
        assert_eq!(decimal_from_bytes(&[0; 17]), None);
    }

    #[test]
    fn a_bound_from_before_a_promotion_is_read_by_its_length() {
        let int = Value::Int(-7).to_bytes();
        assert_eq!(Value::from_bytes(Primitive::Long, &int), Some(Value::Long(-7)));
        let float = Value::Float(1.5).to_bytes();
        assert_eq!(Value::from_bytes(Primitive::Double, &float), Some(Value::Double(1.5)));
        let date = Value::Date(1).to_bytes();
        let day = Value::Timestamp(86_400_000_000);
        assert_eq!(Value::from_bytes(Primitive::Timestamp, &date), Some(day));
        assert_eq!(Value::from_bytes(Primitive::Long, &[1, 2]), None);
        assert_eq!(Value::from_bytes(Primitive::String, &[0xff]), None);
    }

    #[test]
    fn decimals_print_with_their_scale() {
        for (unscaled, scale, text) in
            [(1420, 2, "14.20"), (-5, 2, "-0.05"), (7, 0, "7"), (0, 3, "0.000")]
        {
            assert_eq!(Value::Decimal(unscaled, scale).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn decimals_survive(unscaled in any::<i128>()) {
            prop_assert_eq!(decimal_from_bytes(&decimal_to_bytes(unscaled)), Some(unscaled));
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            for name in ["boolean", "long", "timestamp", "timestamp_ns", "double", "uuid", "fixed[3]"] {
                let _ = Value::from_bytes(Primitive::parse(name).unwrap(), &bytes);
            }
        }
    }
}
