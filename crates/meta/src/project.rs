//! From rows to partitions: what a filter on columns says of a file's partition tuple.
//!
//! A file knows not its rows but their common partition values. Two questions can be asked of those:
//!
//! ```text
//!                        rows of a file, spec day(ts)
//!   ts > 2026-08-02 10:00     |  08-01  |  08-02  |  08-03  |
//!                                         ::::#####|#########       # wanted rows
//!   inclusive  ts_day >= 08-02            ^^^^^^^^^ ^^^^^^^^^       may hold a wanted row: read it
//!   strict     ts_day >  08-02                      ^^^^^^^^^       holds wanted rows only
//! ```
//!
//! **Inclusive**: if a row is wanted, its partition is. What it refuses may be skipped. **Strict**: if
//! a partition is wanted, all its rows are. What it takes needs no further look, and may be deleted
//! whole. An unprojectable test is *true* to the one and *false* to the other.
//!
//! Three facts make every line below:
//!
//! 1. Null goes to null, and only null does. (`void` sends everything there: it says nothing.)
//! 2. Equal values have equal partitions, so other partitions have other values. For `bucket` that
//!    is all.
//! 3. `truncate`, `year`, `month`, `day` and `hour` never fall when the value rises. So `x <= v` gives
//!    `p <= T(v)`, and `p < T(v)` gives `x < v`. Where values can be counted, `x < v` is first made
//!    `x <= v - 1`: `x < 20` under `truncate[10]` is `p <= 10`, and `ts < 08-02 00:00` is
//!    `ts_day <= 08-01`.
//!
//! ```text
//!   truncate[3] of text              inclusive           strict
//!   x < 'abc'                        p < 'abc'           p < 'abc'     no longer than 3: x >= p
//!   x < 'abcd'                       p <= 'abc'          p < 'abc'     'abc' itself is below 'abcd'
//!   x LIKE 'ab%'                     p LIKE 'ab%'        same          the prefix is all in p
//!   x LIKE 'abcd%'                   p = 'abc'           -
//!   NOT x LIKE 'ab%'                 NOT p LIKE 'ab%'    same
//!   NOT x LIKE 'abcd%'               -                   p != 'abc'    p = 'abc' could be either
//!   x = 'ab'                         p = 'ab'            same          shorter than 3: p is x
//! ```
//!
//! Before 1970 early writers rounded dates and times toward zero, one too high. Such values are still in
//! old tables, so below zero the partition one higher is taken for possible, too.
//!
//! Specification: "Scan Planning", "Partition Transforms".

use crate::filter::{Column, Filter, Op, Test, Values};
use crate::partition::{PartitionField, PartitionSpec};
use crate::transform::Transform;
use crate::value::Value;

/// The partitions that may hold a row that `filter` wants.
pub fn inclusive(filter: &Filter, spec: &PartitionSpec) -> Filter {
    match filter {
        Filter::True => Filter::True,
        Filter::False => Filter::False,
        Filter::And(parts) => Filter::and(parts.iter().map(|part| inclusive(part, spec))),
        Filter::Or(parts) => Filter::or(parts.iter().map(|part| inclusive(part, spec))),
        // Every field of the column has its say, as a row's partition must meet all of them.
        Filter::Test(test) => Filter::and(project(test, spec, inclusive_op)),
    }
}

/// The partitions that hold nothing but rows that `filter` wants.
pub fn strict(filter: &Filter, spec: &PartitionSpec) -> Filter {
    match filter {
        Filter::True => Filter::True,
        Filter::False => Filter::False,
        Filter::And(parts) => Filter::and(parts.iter().map(|part| strict(part, spec))),
        Filter::Or(parts) => Filter::or(parts.iter().map(|part| strict(part, spec))),
        // One field that is sure is enough.
        Filter::Test(test) => Filter::or(project(test, spec, strict_op)),
    }
}

/// A test, projected onto each field of its column where that can be done.
fn project<'a>(
    test: &'a Test,
    spec: &'a PartitionSpec,
    op: fn(&Transform, &Op) -> Option<Op>,
) -> impl Iterator<Item = Filter> + 'a {
    let fields = spec.fields.iter().filter(|field| field.source_id == test.column.id);
    fields.filter_map(move |field| {
        let column = partition_column(field, &test.column)?;
        Some(Filter::Test(Test { column, op: op(&field.transform, &test.op)? }))
    })
}

/// The partition field as a column.
fn partition_column(field: &PartitionField, source: &Column) -> Option<Column> {
    let primitive = field.transform.result_type(source.primitive)?;
    Some(Column { id: field.field_id, path: vec![field.name.clone()], primitive })
}

/// What must be true of the partition value when `op` is true of the value.
fn inclusive_op(transform: &Transform, op: &Op) -> Option<Op> {
    match transform {
        Transform::Void | Transform::Unknown(_) => return None,
        Transform::Identity => return Some(op.clone()),
        _ => {}
    }
    Some(match op {
        Op::IsNull | Op::NotNull => op.clone(),
        Op::Eq(v) => Op::In(Values::new(images(transform, v)?)),
        Op::In(set) => Op::In(image_set(transform, set)?),
        _ if matches!(transform, Transform::Bucket(_)) => return None,
        Op::Lt(v) => match step(v, -1) {
            Some(below) => Op::LtEq(highest(transform, &below)?),
            None if highest(transform, v)? == *v => Op::Lt(v.clone()),
            None => Op::LtEq(highest(transform, v)?),
        },
        Op::LtEq(v) => Op::LtEq(highest(transform, v)?),
        Op::Gt(v) => Op::GtEq(lowest(transform, step(v, 1).as_ref().unwrap_or(v))?),
        Op::GtEq(v) => Op::GtEq(lowest(transform, v)?),
        Op::StartsWith(v) if length(v)? <= width(transform)? => op.clone(),
        Op::StartsWith(v) => Op::Eq(lowest(transform, v)?),
        Op::NotStartsWith(v) if length(v)? <= width(transform)? => op.clone(),
        Op::NotEq(v) if length(v)? < width(transform)? => op.clone(),
        Op::NotIn(_) | Op::NotEq(_) | Op::NotStartsWith(_) | Op::IsNan | Op::NotNan => return None,
    })
}

/// What, true of the partition value, makes `op` true of every value.
fn strict_op(transform: &Transform, op: &Op) -> Option<Op> {
    match transform {
        Transform::Void | Transform::Unknown(_) => return None,
        Transform::Identity => return Some(op.clone()),
        _ => {}
    }
    Some(match op {
        Op::IsNull | Op::NotNull => op.clone(),
        Op::NotEq(v) => Op::NotIn(Values::new(images(transform, v)?)),
        Op::NotIn(set) => Op::NotIn(image_set(transform, set)?),
        _ if matches!(transform, Transform::Bucket(_)) => return None,
        Op::Lt(v) => Op::Lt(lowest(transform, v)?),
        Op::LtEq(v) => Op::Lt(lowest(transform, step(v, 1).as_ref().unwrap_or(v))?),
        Op::Gt(v) => Op::Gt(highest(transform, v)?),
        Op::GtEq(v) => match step(v, -1) {
            Some(below) => Op::Gt(highest(transform, &below)?),
            None if highest(transform, v)? == *v => Op::GtEq(v.clone()),
            None => Op::Gt(highest(transform, v)?),
        },
        Op::StartsWith(v) | Op::NotStartsWith(v) if length(v)? <= width(transform)? => op.clone(),
        Op::NotStartsWith(v) => Op::NotEq(lowest(transform, v)?),
        Op::Eq(v) if length(v)? < width(transform)? => op.clone(),
        Op::Eq(_) | Op::In(_) | Op::StartsWith(_) | Op::IsNan | Op::NotNan => return None,
    })
}

/// The partition values that files with this value may have: one, and before 1970 the next one too.
fn images(transform: &Transform, value: &Value) -> Option<Vec<Value>> {
    if value.float().is_some() {
        return None; // nothing but identity is defined for floats
    }
    let image = transform.apply(Some(value)).flatten()?;
    let next = match (transform, &image) {
        (Transform::Truncate(_) | Transform::Bucket(_), _) => None,
        (Transform::Day, _) if matches!(value, Value::Date(_)) => None,
        (_, Value::Int(v) | Value::Date(v)) if *v < 0 => step(&image, 1),
        _ => None,
    };
    Some([Some(image), next].into_iter().flatten().collect())
}

fn image_set(transform: &Transform, set: &Values) -> Option<Values> {
    let images: Option<Vec<_>> = set.as_slice().iter().map(|v| images(transform, v)).collect();
    Some(Values::new(images?.into_iter().flatten()))
}

fn lowest(transform: &Transform, value: &Value) -> Option<Value> {
    images(transform, value)?.into_iter().next()
}

fn highest(transform: &Transform, value: &Value) -> Option<Value> {
    images(transform, value)?.into_iter().next_back()
}

/// The next value of a type whose values can be counted, up or down.
fn step(value: &Value, by: i8) -> Option<Value> {
    let int = |v: &i32| v.checked_add(by.into());
    let long = |v: &i64| v.checked_add(by.into());
    Some(match value {
        Value::Int(v) => Value::Int(int(v)?),
        Value::Date(v) => Value::Date(int(v)?),
        Value::Long(v) => Value::Long(long(v)?),
        Value::Timestamp(v) => Value::Timestamp(long(v)?),
        Value::Timestamptz(v) => Value::Timestamptz(long(v)?),
        Value::TimestampNs(v) => Value::TimestampNs(long(v)?),
        Value::TimestamptzNs(v) => Value::TimestamptzNs(long(v)?),
        Value::Decimal(v, scale) => Value::Decimal(v.checked_add(by.into())?, *scale),
        _ => return None,
    })
}

/// The length of text or bytes as `truncate` counts it.
fn length(value: &Value) -> Option<usize> {
    match value {
        Value::String(text) => Some(text.chars().count()),
        Value::Binary(bytes) => Some(bytes.len()),
        _ => None,
    }
}

fn width(transform: &Transform) -> Option<usize> {
    match transform {
        Transform::Truncate(width) => usize::try_from(*width).ok(),
        _ => None,
    }
}
