//! Filters: which rows are wanted, as a predicate over field ids.
//!
//! ```text
//!   store_id = 'S03' AND (net_amount > 10 OR coupon IS NULL)
//!
//!   And ─┬─ Test  2: store_id    Eq 'S03'
//!        └─ Or ─┬─ Test  5: net_amount  Gt 10.00
//!               └─ Test  8: coupon      IsNull
//! ```
//!
//! A [`Filter`] is bound: columns are field ids, literals have the type of their column, and there is
//! no NOT left in it ([`crate::filter_bind`] pushes it down to the tests, where `NOT a < b` is
//! `a >= b`). So it can be projected, pruned with and evaluated without ever failing. AND and OR are
//! lists, not pairs: five thousand alternatives lie side by side, not inside each other.
//!
//! # Three truths
//!
//! SQL has three truths, ordered `False < Unknown < True`; AND is their minimum, OR their maximum, NOT
//! turns the order round. A test on null is unknown, except `IS NULL` and `IS NOT NULL`. A row is wanted
//! when the filter is true of it; so neither `x = 2` nor `NOT x = 2` wants the row where x is null:
//!
//! ```text
//!   x             1       2       null       NaN
//!   x = 2         False   True    Unknown    False
//!   NOT x = 2     True    False   Unknown    True
//!   x > 2         False   False   Unknown    True
//!   x IS NAN      False   False   Unknown    True
//! ```
//!
//! # Floats
//!
//! NaN is equal to itself and greater than every number, and -0.0 equals 0.0: the order of Spark, DuckDB
//! and SQL sorting, not that of IEEE 754. It is the only choice under which `NOT x > 2` is `x <= 2`, and
//! it is what makes a file with a NaN in it a candidate for `x > 5`, whatever its upper bound says.
//!
//! Specification: "Scan Planning", "Field-level Metrics and Statistics".

use crate::types::Primitive;
use crate::value::Value;
use std::cmp::Ordering;
use std::sync::Arc;

/// Which rows are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Every row.
    True,
    /// No row.
    False,
    /// What all of these want.
    And(Vec<Filter>),
    /// What any of these wants.
    Or(Vec<Filter>),
    /// One test on one column.
    Test(Test),
}

/// One test on one column.
#[derive(Debug, Clone, PartialEq)]
pub struct Test {
    /// What is tested.
    pub column: Column,
    /// The test.
    pub op: Op,
}

/// A column, or a partition field, that a test looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its field id.
    pub id: i32,
    /// Its name, after the names of the structs around it.
    pub path: Vec<String>,
    /// Its type.
    pub primitive: Primitive,
}

/// A test. Before binding its literals are as written (see [`crate::literal::Literal`]); after it they
/// are values of the column's type.
#[derive(Debug, Clone, PartialEq)]
pub enum Op<V = Value, S = Values> {
    /// Is null.
    IsNull,
    /// Is not null.
    NotNull,
    /// Is NaN.
    IsNan,
    /// Is a number.
    NotNan,
    /// Is below.
    Lt(V),
    /// Is below or equal.
    LtEq(V),
    /// Is above.
    Gt(V),
    /// Is above or equal.
    GtEq(V),
    /// Is equal.
    Eq(V),
    /// Is not equal.
    NotEq(V),
    /// Is one of these.
    In(S),
    /// Is none of these.
    NotIn(S),
    /// Text or bytes that begin so.
    StartsWith(V),
    /// Text or bytes that do not begin so.
    NotStartsWith(V),
}

/// A set of values of one type, sorted: 100,000 of them are searched in 17 steps, and cost nothing to
/// clone.
#[derive(Debug, Clone, PartialEq)]
pub struct Values(Arc<[Value]>);

/// What a filter says of a row. Declared in their order, so that AND is `min` and OR is `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    /// The row is not wanted.
    False,
    /// A null stood in the way: the row is not wanted, and its opposite is not, either.
    Unknown,
    /// The row is wanted.
    True,
}

impl std::ops::Not for Truth {
    type Output = Truth;

    fn not(self) -> Truth {
        match self {
            Truth::False => Truth::True,
            Truth::Unknown => Truth::Unknown,
            Truth::True => Truth::False,
        }
    }
}

impl From<bool> for Truth {
    fn from(holds: bool) -> Truth {
        if holds { Truth::True } else { Truth::False }
    }
}

/// Compares two values of one type as filters do: NaN equals itself and is above all, -0.0 is 0.0.
/// `None` when the types do not compare: then nothing is known.
pub fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    let one_zero = |v: f64| if v == 0.0 { 0.0 } else { v };
    match (a, b, a.float(), b.float()) {
        (.., Some(a), Some(b)) => Some(one_zero(a).total_cmp(&one_zero(b))),
        (Value::Decimal(_, a), Value::Decimal(_, b), ..) if a != b => None,
        _ => (a.family() == b.family()).then(|| a.order(b)),
    }
}

impl Filter {
    /// What all of `parts` want: lists in lists are made one, and what is settled is left out.
    pub fn and(parts: impl IntoIterator<Item = Filter>) -> Filter {
        let mut list = Vec::new();
        for part in parts {
            match part {
                Filter::True => {}
                Filter::False => return Filter::False,
                Filter::And(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        match list.len() {
            0 => Filter::True,
            1 => list.remove(0),
            _ => Filter::And(list),
        }
    }

    /// What any of `parts` wants, made as simple as [`Filter::and`] makes it.
    pub fn or(parts: impl IntoIterator<Item = Filter>) -> Filter {
        let mut list = Vec::new();
        for part in parts {
            match part {
                Filter::False => {}
                Filter::True => return Filter::True,
                Filter::Or(inner) => list.extend(inner),
                other => list.push(other),
            }
        }
        match list.len() {
            0 => Filter::False,
            1 => list.remove(0),
            _ => Filter::Or(list),
        }
    }

    /// What the filter says of a row; `row` gives the value of a field id, `None` for null. A column that
    /// the row's file is too old to have is its default, which the caller's `row` must know.
    pub fn eval<'r>(&self, row: &dyn Fn(i32) -> Option<&'r Value>) -> Truth {
        match self {
            Filter::True => Truth::True,
            Filter::False => Truth::False,
            Filter::Test(test) => test.op.eval(row(test.column.id)),
            Filter::And(parts) => {
                let mut least = Truth::True;
                for part in parts {
                    least = least.min(part.eval(row));
                    if least == Truth::False {
                        break;
                    }
                }
                least
            }
            Filter::Or(parts) => {
                let mut most = Truth::False;
                for part in parts {
                    most = most.max(part.eval(row));
                    if most == Truth::True {
                        break;
                    }
                }
                most
            }
        }
    }

    /// Every test of the filter, in the order written.
    pub fn tests(&self) -> Vec<&Test> {
        let (mut found, mut open) = (Vec::new(), vec![self]);
        while let Some(filter) = open.pop() {
            match filter {
                Filter::True | Filter::False => {}
                Filter::And(parts) | Filter::Or(parts) => open.extend(parts.iter().rev()),
                Filter::Test(test) => found.push(test),
            }
        }
        found
    }
}

impl<V, S> Op<V, S> {
    /// The test that holds where this one does not, null aside.
    pub fn negate(self) -> Op<V, S> {
        match self {
            Op::IsNull => Op::NotNull,
            Op::NotNull => Op::IsNull,
            Op::IsNan => Op::NotNan,
            Op::NotNan => Op::IsNan,
            Op::Lt(v) => Op::GtEq(v),
            Op::GtEq(v) => Op::Lt(v),
            Op::Gt(v) => Op::LtEq(v),
            Op::LtEq(v) => Op::Gt(v),
            Op::Eq(v) => Op::NotEq(v),
            Op::NotEq(v) => Op::Eq(v),
            Op::In(set) => Op::NotIn(set),
            Op::NotIn(set) => Op::In(set),
            Op::StartsWith(v) => Op::NotStartsWith(v),
            Op::NotStartsWith(v) => Op::StartsWith(v),
        }
    }
}

impl Op {
    /// What the test says of one value, `None` for null.
    pub fn eval(&self, value: Option<&Value>) -> Truth {
        let Some(value) = value else {
            return match self {
                Op::IsNull => Truth::True,
                Op::NotNull => Truth::False,
                _ => Truth::Unknown,
            };
        };
        let holds = match self {
            Op::IsNull => Some(false),
            Op::NotNull => Some(true),
            Op::IsNan => Some(is_nan(value)),
            Op::NotNan => Some(!is_nan(value)),
            Op::Lt(v) => compare(value, v).map(Ordering::is_lt),
            Op::LtEq(v) => compare(value, v).map(Ordering::is_le),
            Op::Gt(v) => compare(value, v).map(Ordering::is_gt),
            Op::GtEq(v) => compare(value, v).map(Ordering::is_ge),
            Op::Eq(v) => compare(value, v).map(Ordering::is_eq),
            Op::NotEq(v) => compare(value, v).map(Ordering::is_ne),
            Op::In(set) => set.contains(value),
            Op::NotIn(set) => set.contains(value).map(|holds| !holds),
            Op::StartsWith(v) => starts_with(value, v),
            Op::NotStartsWith(v) => starts_with(value, v).map(|holds| !holds),
        };
        holds.map_or(Truth::Unknown, Truth::from)
    }
}

/// Whether a float is NaN; no other value is.
pub(crate) fn is_nan(value: &Value) -> bool {
    value.float().is_some_and(f64::is_nan)
}

/// Whether text or bytes begin with `prefix`; UTF-8 makes it the same question.
pub(crate) fn starts_with(value: &Value, prefix: &Value) -> Option<bool> {
    match (value, prefix) {
        (Value::String(value), Value::String(prefix)) => Some(value.starts_with(prefix.as_str())),
        (Value::Binary(value), Value::Binary(prefix)) => Some(value.starts_with(prefix)),
        _ => None,
    }
}

impl Values {
    /// The set of these values, which must be of one type.
    pub fn new(values: impl IntoIterator<Item = Value>) -> Values {
        let mut values: Vec<Value> = values.into_iter().collect();
        let order = |a: &Value, b: &Value| compare(a, b).unwrap_or(Ordering::Equal);
        values.sort_by(order);
        values.dedup_by(|a, b| order(a, b).is_eq());
        Values(values.into())
    }

    /// The values, rising.
    pub fn as_slice(&self) -> &[Value] {
        &self.0
    }

    /// Whether `value` is one of them; `None` when it is of another type.
    pub fn contains(&self, value: &Value) -> Option<bool> {
        if let Some(first) = self.0.first() {
            compare(first, value)?;
        }
        let order = |member: &Value| compare(member, value).unwrap_or(Ordering::Less);
        Some(self.0.binary_search_by(order).is_ok())
    }

    /// The first member that is not below `lower`, if any.
    pub fn first_from(&self, lower: &Value) -> Option<&Value> {
        let start = self.0.partition_point(|v| compare(v, lower).is_some_and(Ordering::is_lt));
        self.0.get(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_at_the_top() {
        let row = [
            Some(Value::Double(1.0)),
            Some(Value::Double(2.0)),
            None,
            Some(Value::Double(f64::NAN)),
        ];
        use Truth::{False, True, Unknown};
        let two = Value::Double(2.0);
        for (op, want) in [
            (Op::Eq(two.clone()), [False, True, Unknown, False]),
            (Op::Eq(two.clone()).negate(), [True, False, Unknown, True]),
            (Op::Gt(two), [False, False, Unknown, True]),
            (Op::IsNan, [False, False, Unknown, True]),
            (Op::NotNan, [True, True, Unknown, False]),
            (Op::IsNull, [False, False, True, False]),
        ] {
            assert_eq!(row.each_ref().map(|v| op.eval(v.as_ref())), want, "{op:?}");
        }
    }

    #[test]
    fn sets_are_sorted_and_floats_have_one_zero() {
        let set = Values::new([3.0, -0.0, 0.0, f64::NAN, 1.0].map(Value::Double));
        assert_eq!(set.as_slice().len(), 4);
        for (value, want) in [(0.0, true), (f64::NAN, true), (2.0, false)] {
            assert_eq!(set.contains(&Value::Double(value)), Some(want));
        }
        assert_eq!(set.contains(&Value::Int(1)), None);
        assert_eq!(set.first_from(&Value::Double(2.0)), Some(&Value::Double(3.0)));
        assert_eq!(compare(&Value::Date(1), &Value::Timestamp(1)), None);
    }
}
