//! Metrics of a data file: counts and bounds for each column, read off the Parquet footer.
//!
//! The Parquet writer keeps the lowest and highest value of every column chunk. The bound of a column
//! is the lowest of the lowest and the highest of the highest, in Iceberg's binary form:
//!
//! ```text
//!   row group 0   unit_cost  min 0.35  max 0.60        lower_bounds {4: 0.35}
//!   row group 1   unit_cost  min 0.40  max 2.10   ->   upper_bounds {4: 2.10}
//! ```
//!
//! Text and bytes are cut to sixteen code points or bytes. A lower bound that is cut is still below;
//! an upper one has its last character raised, so that it is still above: "Phone Charger Cable"
//! becomes "Phone Charger Cb". Where no character can be raised there is no upper bound.

use meta::data_file::DataFile;
use meta::schema::Schema;
use meta::types::Primitive;
use meta::value::Value;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;
use std::collections::BTreeMap;

/// How many code points or bytes of a bound are kept: the default metrics mode, `truncate(16)`.
const WIDTH: usize = 16;

/// Fills in the counts, sizes, bounds and split offsets of `file` from its row groups. `nans` are the
/// NaNs of each float column, which footers do not count.
pub fn measure(
    file: &mut DataFile,
    groups: &[RowGroupMetaData],
    schema: &Schema,
    nans: BTreeMap<i32, i64>,
) {
    let mut bounds: BTreeMap<i32, (Value, Value)> = BTreeMap::new();
    let mut unbounded = Vec::new();
    let mut offsets = Vec::new();
    for group in groups {
        offsets.extend(group.file_offset());
        for chunk in group.columns() {
            let info = chunk.column_descr().self_type().get_basic_info();
            let Some(field) = info.has_id().then(|| schema.field_by_id(info.id())).flatten() else {
                continue;
            };
            *file.column_sizes.entry(field.id).or_default() += chunk.compressed_size();
            *file.value_counts.entry(field.id).or_default() += chunk.num_values();
            let nulls = chunk.statistics().and_then(Statistics::null_count_opt);
            if let Some(nulls) = nulls.and_then(|n| i64::try_from(n).ok()) {
                *file.null_value_counts.entry(field.id).or_default() += nulls;
            }
            let valued = nulls.is_none_or(|n| i64::try_from(n) != Ok(chunk.num_values()));
            let pair = chunk.statistics().zip(field.field_type.primitive());
            match pair.and_then(|(statistics, primitive)| range(statistics, primitive)) {
                Some((low, high)) => merge(&mut bounds, field.id, low, high),
                // A chunk with values and without statistics says nothing of the whole column.
                None if valued => unbounded.push(field.id),
                None => {}
            }
        }
    }
    bounds.retain(|id, _| !unbounded.contains(id));
    for (id, (low, high)) in bounds {
        file.lower_bounds.insert(id, lower(&low));
        if let Some(high) = upper(&high) {
            file.upper_bounds.insert(id, high);
        }
    }
    file.nan_value_counts = nans;
    offsets.sort_unstable();
    file.split_offsets = Some(offsets).filter(|offsets| !offsets.is_empty());
}

fn merge(bounds: &mut BTreeMap<i32, (Value, Value)>, id: i32, low: Value, high: Value) {
    match bounds.get_mut(&id) {
        None => drop(bounds.insert(id, (low, high))),
        Some((lowest, highest)) => {
            if low.order(lowest).is_lt() {
                *lowest = low;
            }
            if high.order(highest).is_gt() {
                *highest = high;
            }
        }
    }
}

/// The lowest and highest value of a column chunk, as the column's own type.
fn range(statistics: &Statistics, primitive: Primitive) -> Option<(Value, Value)> {
    macro_rules! pair {
        ($stats:expr, $make:expr) => {
            $stats.min_opt().and_then($make).zip($stats.max_opt().and_then($make))
        };
    }
    match statistics {
        Statistics::Boolean(s) => pair!(s, |v| Some(Value::Boolean(*v))),
        Statistics::Int32(s) => pair!(s, |v| from_i64(i64::from(*v), primitive)),
        Statistics::Int64(s) => pair!(s, |v| from_i64(*v, primitive)),
        Statistics::Float(s) => pair!(s, |v| Some(Value::Float(*v)).filter(|_| !v.is_nan())),
        Statistics::Double(s) => pair!(s, |v| Some(Value::Double(*v)).filter(|_| !v.is_nan())),
        Statistics::ByteArray(s) => pair!(s, |v| Value::from_bytes(primitive, v.data())),
        Statistics::FixedLenByteArray(s) => pair!(s, |v| Value::from_bytes(primitive, v.data())),
        Statistics::Int96(_) => None,
    }
}

fn from_i64(value: i64, primitive: Primitive) -> Option<Value> {
    let narrow = || i32::try_from(value).ok();
    Some(match primitive {
        Primitive::Int => Value::Int(narrow()?),
        Primitive::Date => Value::Date(narrow()?),
        Primitive::Long => Value::Long(value),
        Primitive::Time => Value::Time(value),
        Primitive::Timestamp => Value::Timestamp(value),
        Primitive::Timestamptz => Value::Timestamptz(value),
        Primitive::TimestampNs => Value::TimestampNs(value),
        Primitive::TimestamptzNs => Value::TimestamptzNs(value),
        Primitive::Decimal { scale, .. } => Value::Decimal(i128::from(value), scale),
        _ => return None,
    })
}

/// The value, or its first sixteen code points or bytes: nothing is below them that was not before.
fn lower(value: &Value) -> Vec<u8> {
    match value {
        Value::String(text) => text.chars().take(WIDTH).collect::<String>().into_bytes(),
        Value::Binary(bytes) => bytes.iter().copied().take(WIDTH).collect(),
        other => other.to_bytes(),
    }
}

/// The value, or a short one that is above it; `None` when there is no such one.
fn upper(value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(text) if text.chars().count() > WIDTH => {
            let mut chars: Vec<char> = text.chars().take(WIDTH).collect();
            while let Some(last) = chars.pop() {
                if let Some(raised) = raise(last) {
                    chars.push(raised);
                    return Some(chars.into_iter().collect::<String>().into_bytes());
                }
            }
            None
        }
        Value::Binary(bytes) if bytes.len() > WIDTH => {
            let mut bytes: Vec<u8> = bytes.iter().copied().take(WIDTH).collect();
            while let Some(last) = bytes.pop() {
                if let Some(raised) = last.checked_add(1) {
                    bytes.push(raised);
                    return Some(bytes);
                }
            }
            None
        }
        other => Some(other.to_bytes()),
    }
}

/// The next code point, stepping over the surrogates, which are none.
fn raise(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        c => char::from_u32(u32::from(c) + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_upper_bounds_are_raised() {
        let a = |n: usize| "a".repeat(n);
        let cases = [
            ("abcdefghijklmnopq".to_string(), Some("abcdefghijklmnoq".to_string())),
            (a(15) + "\u{D7FF}x", Some(a(15) + "\u{E000}")),
            (a(15) + "\u{10FFFF}x", Some(a(14) + "b")),
            ("\u{10FFFF}".repeat(17), None),
            (a(16), Some(a(16))),
            ("Phone Charger Cable".into(), Some("Phone Charger Cb".into())),
            (String::new(), Some(String::new())),
        ];
        for (text, want) in cases {
            assert_eq!(upper(&Value::String(text)), want.map(String::into_bytes));
        }
        let bytes = [vec![1; 14], vec![0xff, 0xff, 9]].concat();
        let want = [vec![1; 13], vec![2]].concat();
        assert_eq!(upper(&Value::Binary(bytes)), Some(want));
        assert_eq!(upper(&Value::Binary(vec![0xff; 17])), None);
    }

    #[test]
    fn lower_bounds_are_cut_by_code_point() {
        let text = "é".repeat(20);
        assert_eq!(lower(&Value::String(text)), "é".repeat(16).into_bytes());
        assert_eq!(lower(&Value::Long(1)), 1i64.to_le_bytes());
    }
}
