//! Transforms: how a partition value, or a sort key, comes from a column's value (specification,
//! "Partition Transforms" and Appendix B).
//!
//! ```text
//!   identity     store_id "S01"                      -> "S01"
//!   bucket[16]   "iceberg"                           -> 9      murmur3, sign bit off, modulo 16
//!   truncate[10] -1                                  -> -10    always downwards
//!   truncate[3]  "iceberg"                           -> "ice"  by code point; bytes by byte
//!   year         2017-11-16T22:31:08                 -> 47     years since 1970
//!   month                                            -> 574    months since 1970-01
//!   day                                              -> 17486  a date
//!   hour                                             -> 419686 hours since 1970-01-01T00
//!   void         anything                            -> null
//! ```
//!
//! Everything before 1970 is floored, never cut toward zero: one microsecond before 1970 is in year -1,
//! month -1, day -1 and hour -1. Nanoseconds are floored to microseconds before they are hashed, so that
//! a column keeps its buckets when its unit changes; so are int and long hashed alike.

use crate::iso::civil;
use crate::types::Primitive;
use crate::value::{Value, decimal_to_bytes};

/// How a partition value comes from a column's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transform {
    /// The value itself.
    Identity,
    /// A hash, modulo this many buckets.
    Bucket(u32),
    /// The value cut to this width.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970-01.
    Month,
    /// Days since 1970-01-01.
    Day,
    /// Hours since 1970-01-01T00.
    Hour,
    /// Always null: what a dropped v1 field becomes.
    Void,
    /// A transform this version does not know. It is kept, and never written with.
    Unknown(String),
}

impl Transform {
    /// Reads a transform: `identity`, `bucket[16]`, `truncate[4]`, `day`. A name that is not known
    /// is kept as [`Transform::Unknown`]; a known name with a bad argument is `None`.
    pub fn parse(text: &str) -> Option<Transform> {
        let width = |prefix: &str| -> Option<u32> {
            let digits = text.strip_prefix(prefix)?.strip_suffix(']')?;
            digits.parse().ok().filter(|width| (1..=i32::MAX as u32).contains(width))
        };
        Some(match text {
            "identity" => Transform::Identity,
            "year" => Transform::Year,
            "month" => Transform::Month,
            "day" => Transform::Day,
            "hour" => Transform::Hour,
            "void" => Transform::Void,
            _ if text.starts_with("bucket[") => Transform::Bucket(width("bucket[")?),
            _ if text.starts_with("truncate[") => Transform::Truncate(width("truncate[")?),
            _ => Transform::Unknown(text.to_string()),
        })
    }

    /// The type of the result for a source of this type, if the transform is known.
    pub fn result_type(&self, source: Primitive) -> Option<Primitive> {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => Some(source),
            Transform::Day => Some(Primitive::Date),
            Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => {
                Some(Primitive::Int)
            }
            Transform::Unknown(_) => None,
        }
    }
}

impl std::fmt::Display for Transform {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Transform::Identity => f.write_str("identity"),
            Transform::Bucket(buckets) => write!(f, "bucket[{buckets}]"),
            Transform::Truncate(width) => write!(f, "truncate[{width}]"),
            Transform::Year => f.write_str("year"),
            Transform::Month => f.write_str("month"),
            Transform::Day => f.write_str("day"),
            Transform::Hour => f.write_str("hour"),
            Transform::Void => f.write_str("void"),
            Transform::Unknown(text) => f.write_str(text),
        }
    }
}

impl Transform {
    /// The transform's value for `value`; null becomes null.
    ///
    /// `None` in the outer position: the transform is unknown, does not take such a value, or the result
    /// does not fit its type (an hour of the year 250,000). Nothing may be written or skipped then.
    pub fn apply(&self, value: Option<&Value>) -> Option<Option<Value>> {
        let Some(value) = value else {
            return match self {
                Transform::Unknown(_) => None,
                _ => Some(None),
            };
        };
        let int = |wide: i64| Some(Value::Int(i32::try_from(wide).ok()?));
        let result = match self {
            Transform::Void => return Some(None),
            Transform::Unknown(_) => return None,
            Transform::Identity => value.clone(),
            Transform::Bucket(buckets) => {
                let hash = hash(value)? & i32::MAX;
                int(i64::from(hash) % i64::from(*buckets))?
            }
            Transform::Truncate(width) => truncate(value, *width)?,
            Transform::Year => int(civil(days(value)?).0 - 1970)?,
            Transform::Month => {
                let (year, month, _) = civil(days(value)?);
                int((year - 1970) * 12 + month - 1)?
            }
            Transform::Day => Value::Date(i32::try_from(days(value)?).ok()?),
            Transform::Hour => int(micros(value)?.div_euclid(3_600_000_000))?,
        };
        Some(Some(result))
    }
}

/// Microseconds since 1970 of a timestamp of either unit.
fn micros(value: &Value) -> Option<i64> {
    match value {
        Value::Timestamp(v) | Value::Timestamptz(v) => Some(*v),
        Value::TimestampNs(v) | Value::TimestamptzNs(v) => Some(v.div_euclid(1000)),
        _ => None,
    }
}

/// Days since 1970-01-01 of a date or timestamp.
fn days(value: &Value) -> Option<i64> {
    match value {
        Value::Date(days) => Some(i64::from(*days)),
        other => Some(micros(other)?.div_euclid(86_400_000_000)),
    }
}

fn truncate(value: &Value, width: u32) -> Option<Value> {
    let floor = |v: i128| v - v.rem_euclid(i128::from(width));
    Some(match value {
        // The lowest values have no multiple of the width below them.
        Value::Int(v) => Value::Int(i32::try_from(floor(i128::from(*v))).ok()?),
        Value::Long(v) => Value::Long(i64::try_from(floor(i128::from(*v))).ok()?),
        Value::Decimal(unscaled, scale) => {
            let width = i128::from(width);
            Value::Decimal(unscaled.checked_sub(unscaled.rem_euclid(width))?, *scale)
        }
        Value::String(text) => Value::String(text.chars().take(width as usize).collect()),
        Value::Binary(bytes) => Value::Binary(bytes.iter().copied().take(width as usize).collect()),
        _ => return None,
    })
}

/// The 32-bit hash of a value (Appendix B).
pub fn hash(value: &Value) -> Option<i32> {
    let long = |v: i64| murmur3(&v.to_le_bytes());
    Some(match value {
        Value::Int(v) | Value::Date(v) => long(i64::from(*v)),
        Value::Long(v) | Value::Time(v) => long(*v),
        Value::Timestamp(_)
        | Value::Timestamptz(_)
        | Value::TimestampNs(_)
        | Value::TimestamptzNs(_) => long(micros(value)?),
        Value::Decimal(unscaled, _) => murmur3(&decimal_to_bytes(*unscaled)),
        Value::String(text) => murmur3(text.as_bytes()),
        Value::Uuid(uuid) => murmur3(uuid.as_bytes()),
        Value::Fixed(bytes) | Value::Binary(bytes) => murmur3(bytes),
        Value::Boolean(v) => long(i64::from(*v)),
        Value::Float(v) => long(double_bits(f64::from(*v))),
        Value::Double(v) => long(double_bits(*v)),
    })
}

/// The bits of a double, with one NaN and one zero.
fn double_bits(value: f64) -> i64 {
    let value = if value == 0.0 { 0.0 } else { value };
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() as i64 }
}

/// Murmur3, 32 bits, x86 variant, seed 0: four bytes at a time are stirred into the state, then those
/// left over, then the length.
fn murmur3(bytes: &[u8]) -> i32 {
    let stir = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (chunks, tail) = bytes.as_chunks::<4>();
    let mut state = 0u32;
    for chunk in chunks {
        state ^= stir(u32::from_le_bytes(*chunk));
        state = state.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let left = tail.iter().rev().fold(0, |k, byte| k << 8 | u32::from(*byte));
    state ^= stir(left);
    state ^= bytes.len() as u32;
    state = (state ^ state >> 16).wrapping_mul(0x85eb_ca6b);
    state = (state ^ state >> 13).wrapping_mul(0xc2b2_ae35);
    (state ^ state >> 16) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2017-11-16T22:31:08 in microseconds.
    const MOMENT: i64 = 1_510_871_468_000_000;

    #[test]
    fn hashes_are_those_of_appendix_b() {
        let uuid = "f79c3e09-677c-4bbd-a479-3f349cb785e7".parse().unwrap();
        let vectors = [
            (Value::Int(34), 2_017_239_379),
            (Value::Long(34), 2_017_239_379),
            (Value::Decimal(1420, 2), -500_754_589),
            (Value::Date(17_486), -653_330_422),
            (Value::Time(81_068_000_000), -662_762_989),
            (Value::Timestamp(MOMENT), -2_047_944_441),
            (Value::Timestamptz(MOMENT + 1), -1_207_196_810),
            (Value::TimestampNs(MOMENT * 1000), -2_047_944_441),
            (Value::TimestamptzNs(MOMENT * 1000 + 1001), -1_207_196_810),
            (Value::String("iceberg".into()), 1_210_000_089),
            (Value::String("34".into()), -427_558_391),
            (Value::String(String::new()), 0),
            (Value::Uuid(uuid), 1_488_055_340),
            (Value::Fixed(vec![0, 1, 2, 3]), -188_683_207),
            (Value::Binary(vec![0, 1, 2, 3]), -188_683_207),
            (Value::Boolean(true), 1_392_991_556),
            (Value::Float(1.0), -142_385_009),
            (Value::Double(-0.0), 1_669_671_676),
        ];
        for (value, want) in vectors {
            assert_eq!(hash(&value), Some(want), "{value}");
        }
    }

    #[test]
    fn buckets_drop_the_sign_bit() {
        let bucket = |n, value: Value| Transform::Bucket(n).apply(Some(&value)).flatten();
        for (value, want) in [
            (Value::Int(34), 3),
            (Value::Int(-1), 8),
            (Value::Decimal(1420, 2), 3),
            (Value::String("iceberg".into()), 9),
            (Value::Date(17_486), 10),
        ] {
            assert_eq!(bucket(16, value), Some(Value::Int(want)));
        }
        assert_eq!(bucket(100, Value::Int(34)), Some(Value::Int(79)));
    }

    #[test]
    fn times_before_1970_are_floored() {
        let all = [Transform::Year, Transform::Month, Transform::Day, Transform::Hour];
        let cases = [
            (MOMENT, [47, 574, 17_486, 419_686]),
            (-1, [-1, -1, -1, -1]),
            (-31_536_001_000_000, [-2, -13, -366, -8761]), // 1968-12-31T23:59:59
            (0, [0, 0, 0, 0]),
        ];
        for (micros, want) in cases {
            for (transform, want) in all.iter().zip(want) {
                let got = transform.apply(Some(&Value::Timestamp(micros))).flatten();
                let got = match got {
                    Some(Value::Int(v) | Value::Date(v)) => v,
                    other => panic!("{other:?}"),
                };
                assert_eq!(got, want, "{transform} of {micros}");
            }
        }
        let before = Value::TimestampNs(-1);
        assert_eq!(Transform::Day.apply(Some(&before)).flatten(), Some(Value::Date(-1)));
        let far = Value::Timestamp(i64::MAX);
        assert!(Transform::Hour.apply(Some(&far)).is_none_or(|hour| hour.is_some()));
    }

    #[test]
    fn truncation_goes_down() {
        let cut = |width, value: Value| Transform::Truncate(width).apply(Some(&value)).flatten();
        for (value, want) in [(9, 0), (-1, -10), (-10, -10), (-11, -20)] {
            assert_eq!(cut(10, Value::Int(value)), Some(Value::Int(want)));
        }
        assert_eq!(cut(10, Value::Int(i32::MIN)), None);
        assert_eq!(cut(50, Value::Decimal(-1065, 2)), Some(Value::Decimal(-1100, 2)));
        assert_eq!(cut(2, Value::String("äbc".into())), Some(Value::String("äb".into())));
        assert_eq!(Transform::Void.apply(Some(&Value::Int(1))), Some(None));
        assert_eq!(Transform::Identity.apply(None), Some(None));
    }

    #[test]
    fn transforms_parse_and_print() {
        for text in ["identity", "bucket[16]", "truncate[4]", "day", "void", "zorder[a, b]"] {
            assert_eq!(Transform::parse(text).unwrap().to_string(), text);
        }
        for text in ["bucket[0]", "bucket[]", "truncate[-1]", "bucket[4", "truncate[4294967296]"] {
            assert_eq!(Transform::parse(text), None, "{text}");
        }
    }
}
