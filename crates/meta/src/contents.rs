//! What may be in a column, as far as metadata tells.
//!
//! Manifest lists, partition tuples and file metrics tell the same story in three tongues: may there be
//! nulls, may there be NaNs, may there be other values, and between which bounds. [`Contents`] is that
//! story; what nobody told is *maybe*, and *maybe* is never skipped.
//!
//! ```text
//!   value_counts 4, null_value_counts 1            nulls   maybe
//!   lower_bounds "S01", upper_bounds "S02"         NaNs    no           store_id = 'S03' cannot match:
//!                                                  values  S01 .. S02   upper bound S02 is below S03
//! ```
//!
//! From it follow both verdicts. A test *cannot match* if none of the things that may be there passes it.
//! It *must match* if there is no null and its opposite cannot match.
//!
//! # What is not believed
//!
//! - A negative count, a bound that cannot be read (half a letter, a wrong length), a NaN as a bound, bounds
//!   that contradict each other: as if absent.
//! - A column without any metrics: unknown, never null. The file may be older than the column, and then
//!   its rows have the column's `initial-default`.
//! - The order of uuids: Java compares their halves as signed numbers, so its bounds may be the wrong way
//!   round. Only where both bounds are one uuid do they say something.
//! - Bounds of text may be cut: they bound the values and are none. They count as equal to all values only
//!   where lower and upper are the same.
//! - In a delete file, columns that it does not delete by.
//!
//! -0.0 and 0.0 are one number to a filter, so it does not matter which of them is the bound; NaN is above
//! every number, and no bound covers it (see [`crate::filter`]).
//!
//! Specification: "Field-level Metrics and Statistics", "Manifest Lists", Appendix D.

use crate::data_file::{Content, DataFile};
use crate::filter::{Column, Op, Truth, compare, is_nan, starts_with};
use crate::literal::plain;
use crate::manifest_list::FieldSummary;
use crate::types::Primitive;
use crate::value::Value;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What may be in a column, or in a partition field.
#[derive(Debug, Clone, PartialEq)]
pub struct Contents {
    /// Whether there may be nulls.
    pub nulls: bool,
    /// Whether there may be NaNs.
    pub nans: bool,
    /// Whether there may be other values; the bounds are theirs.
    pub values: bool,
    /// No value is below it.
    pub lower: Option<Value>,
    /// No value is above it.
    pub upper: Option<Value>,
}

/// Why no row of a column passes a test.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// Nothing is null, and the test asks for null.
    NoNulls,
    /// Nothing is NaN, and the test asks for NaN.
    NoNans,
    /// Everything is null, or everything is null or NaN.
    NoValues {
        /// Whether there may be nulls.
        nulls: bool,
        /// Whether there may be NaNs.
        nans: bool,
    },
    /// The highest value is too low.
    TooLow {
        /// The upper bound.
        upper: Value,
        /// What was asked for.
        asked: Value,
    },
    /// The lowest value is too high.
    TooHigh {
        /// The lower bound.
        lower: Value,
        /// What was asked for.
        asked: Value,
    },
    /// None of the members of a set lies between the bounds.
    Gap {
        /// The lower bound, if known.
        lower: Option<Value>,
        /// The upper bound, if known.
        upper: Option<Value>,
        /// How many values were asked for.
        asked: usize,
    },
    /// Everything is this value, or begins with it, and the test excludes it.
    Only(Value),
    /// The partition has this value, which does not pass.
    Partition {
        /// The value of the tuple.
        value: Option<Value>,
        /// The projected test.
        op: Op,
    },
}

impl Contents {
    /// Nothing is known: anything may be there.
    pub fn unknown() -> Contents {
        Contents { nulls: true, nans: true, values: true, lower: None, upper: None }
    }

    /// A partition field of one file: one value.
    pub fn of_partition(value: Option<&Value>) -> Contents {
        let number = value.filter(|value| !is_nan(value)).cloned();
        Contents {
            nulls: value.is_none(),
            nans: value.is_some_and(is_nan),
            values: number.is_some(),
            lower: number.clone(),
            upper: number,
        }
    }

    /// A partition field of all files of a manifest.
    pub fn of_summary(summary: &FieldSummary, primitive: Primitive) -> Contents {
        let nans = is_float(primitive) && summary.contains_nan != Some(false);
        // No bounds mean nothing but nulls and NaNs, provided that there are such.
        let bounded = summary.lower_bound.is_some() || summary.upper_bound.is_some();
        let explained = summary.contains_null || summary.contains_nan == Some(true);
        Contents {
            nulls: summary.contains_null,
            nans,
            values: bounded || !explained,
            ..Contents::unknown()
        }
        .bounded(summary.lower_bound.as_deref(), summary.upper_bound.as_deref(), primitive)
    }

    /// A column of a file.
    pub fn of_column(file: &DataFile, column: &Column) -> Contents {
        let id = &column.id;
        let told = match file.content {
            Content::Data => true,
            Content::PositionDeletes => false,
            Content::EqualityDeletes => file.equality_ids.iter().flatten().any(|by| by == id),
        };
        if !told {
            return Contents::unknown();
        }
        let count =
            |counts: &BTreeMap<i32, i64>| counts.get(id).copied().filter(|count| *count >= 0);
        let float = is_float(column.primitive);
        let (nulls, nans) = (count(&file.null_value_counts), count(&file.nan_value_counts));
        let total = count(&file.value_counts).unwrap_or(0).max(file.record_count);
        let others = nulls.unwrap_or(0).saturating_add(if float { nans.unwrap_or(0) } else { 0 });
        let (lower, upper) = (file.lower_bounds.get(id), file.upper_bounds.get(id));
        Contents {
            nulls: nulls != Some(0),
            nans: float && nans != Some(0) && nulls.is_none_or(|nulls| nulls < total),
            values: others < total || lower.is_some() || upper.is_some(),
            ..Contents::unknown()
        }
        .bounded(lower.map(Vec::as_slice), upper.map(Vec::as_slice), column.primitive)
    }

    fn bounded(self, lower: Option<&[u8]>, upper: Option<&[u8]>, primitive: Primitive) -> Contents {
        let read =
            |bytes: &[u8]| Value::from_bytes(primitive, bytes).filter(|bound| !is_nan(bound));
        let (lower, upper) = (lower.and_then(read), upper.and_then(read));
        let believed = match (&lower, &upper) {
            (Some(lower), Some(upper)) => match compare(lower, upper) {
                Some(Ordering::Less) => primitive != Primitive::Uuid,
                Some(Ordering::Equal) => true,
                _ => false,
            },
            _ => primitive != Primitive::Uuid,
        };
        if believed { Contents { lower, upper, ..self } } else { self }
    }

    /// Why nothing that may be here passes `op`; `None` when something may.
    pub fn refuses(&self, op: &Op) -> Option<Fact> {
        let nan = Value::Double(f64::NAN);
        let null_passes = self.nulls && *op == Op::IsNull;
        let nan_passes = self.nans && op.eval(Some(&nan)) != Truth::False;
        if null_passes || nan_passes {
            return None;
        }
        match op {
            Op::IsNull => Some(Fact::NoNulls),
            Op::IsNan if self.values => Some(Fact::NoNans),
            _ if !self.values => Some(Fact::NoValues { nulls: self.nulls, nans: self.nans }),
            _ => self.values_refuse(op),
        }
    }

    /// Whether everything that may be here passes `op`.
    pub fn must_pass(&self, op: &Op) -> bool {
        let nulls_pass = !self.nulls || *op == Op::IsNull;
        nulls_pass && self.refuses(&op.clone().negate()).is_some()
    }

    /// Why no value between the bounds passes.
    fn values_refuse(&self, op: &Op) -> Option<Fact> {
        // Each holds only where the bound is known and comparable.
        let low = |asked: &Value, low_enough: fn(Ordering) -> bool| {
            let upper = self.upper.clone()?;
            let hit = compare(&upper, asked).is_some_and(low_enough);
            hit.then(|| Fact::TooLow { upper, asked: asked.clone() })
        };
        let high = |asked: &Value, high_enough: fn(Ordering) -> bool| {
            let lower = self.lower.clone()?;
            let hit = compare(&lower, asked).is_some_and(high_enough);
            hit.then(|| Fact::TooHigh { lower, asked: asked.clone() })
        };
        match op {
            Op::Lt(v) | Op::LtEq(v) | Op::Gt(v) | Op::GtEq(v) if matches!(v, Value::Uuid(_)) => {
                None
            }
            Op::Lt(v) => high(v, Ordering::is_ge),
            Op::LtEq(v) => high(v, Ordering::is_gt),
            Op::Gt(v) => low(v, Ordering::is_le),
            Op::GtEq(v) => low(v, Ordering::is_lt),
            Op::Eq(v) => low(v, Ordering::is_lt).or_else(|| high(v, Ordering::is_gt)),
            Op::NotEq(v) => {
                let only = self.only().filter(|only| compare(only, v) == Some(Ordering::Equal));
                only.cloned().map(Fact::Only)
            }
            Op::NotIn(set) => {
                self.only().filter(|only| set.contains(only) == Some(true)).cloned().map(Fact::Only)
            }
            Op::In(set) => {
                let next = match &self.lower {
                    Some(lower) => set.first_from(lower),
                    None => set.as_slice().first(),
                };
                let above =
                    |next: &Value, upper: &Value| compare(next, upper) == Some(Ordering::Greater);
                let gap = match (next, &self.upper) {
                    (None, _) => true,
                    (Some(next), Some(upper)) => above(next, upper),
                    (Some(_), None) => false,
                };
                let (lower, upper) = (self.lower.clone(), self.upper.clone());
                gap.then(|| Fact::Gap { lower, upper, asked: set.as_slice().len() })
            }
            Op::StartsWith(v) => low(v, Ordering::is_lt).or_else(|| {
                // What begins with v is not below v, and all of it lies together.
                let begins = self.lower.as_ref().and_then(|lower| starts_with(lower, v));
                if begins == Some(false) { high(v, Ordering::is_gt) } else { None }
            }),
            Op::NotStartsWith(v) => {
                let both = [self.lower.as_ref()?, self.upper.as_ref()?];
                let begin = both.iter().all(|bound| starts_with(bound, v) == Some(true));
                begin.then(|| Fact::Only(v.clone()))
            }
            Op::IsNull | Op::IsNan | Op::NotNull | Op::NotNan => None,
        }
    }

    /// The value that all values are.
    fn only(&self) -> Option<&Value> {
        let (lower, upper) = (self.lower.as_ref()?, self.upper.as_ref()?);
        (compare(lower, upper) == Some(Ordering::Equal)).then_some(lower)
    }
}

fn is_float(primitive: Primitive) -> bool {
    matches!(primitive, Primitive::Float | Primitive::Double)
}

impl std::fmt::Display for Fact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let equal = |a: &Value, b: &Value| compare(a, b) == Some(Ordering::Equal);
        match self {
            Fact::NoNulls => f.write_str("no value is null"),
            Fact::NoNans => f.write_str("no value is NaN"),
            Fact::NoValues { nulls: true, nans: true } => f.write_str("every value is null or NaN"),
            Fact::NoValues { nans: true, .. } => f.write_str("every value is NaN"),
            Fact::NoValues { .. } => f.write_str("every value is null"),
            Fact::TooLow { upper, asked } => {
                let relation = if equal(upper, asked) { "is not above" } else { "is below" };
                write!(f, "upper bound {} {relation} {}", plain(upper), plain(asked))
            }
            Fact::TooHigh { lower, asked } => {
                let relation = if equal(lower, asked) { "is not below" } else { "is above" };
                write!(f, "lower bound {} {relation} {}", plain(lower), plain(asked))
            }
            Fact::Gap { lower, upper, asked } => {
                write!(f, "none of the {asked} values asked for is within the bounds")?;
                let (lower, upper) = (lower.as_ref().map(plain), upper.as_ref().map(plain));
                let bound = |bound: Option<String>| bound.unwrap_or_else(|| "unknown".into());
                write!(f, " {} to {}", bound(lower), bound(upper))
            }
            Fact::Only(value) => write!(f, "every value is or begins with {}", plain(value)),
            Fact::Partition { value, op } => {
                let value = value.as_ref().map_or("null".into(), plain);
                write!(f, "the partition value is {value}, asked is {}", Asked(op))
            }
        }
    }
}

/// A projected test in words; a set is only counted, as it may be long.
struct Asked<'a>(&'a Op);

impl std::fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Op::IsNull => f.write_str("null"),
            Op::NotNull => f.write_str("not null"),
            Op::IsNan => f.write_str("NaN"),
            Op::NotNan => f.write_str("not NaN"),
            Op::Lt(v) => write!(f, "below {}", plain(v)),
            Op::LtEq(v) => write!(f, "at most {}", plain(v)),
            Op::Gt(v) => write!(f, "above {}", plain(v)),
            Op::GtEq(v) => write!(f, "at least {}", plain(v)),
            Op::Eq(v) => f.write_str(&plain(v)),
            Op::NotEq(v) => write!(f, "not {}", plain(v)),
            Op::In(set) => match set.as_slice() {
                [one] => f.write_str(&plain(one)),
                many => write!(f, "one of {} values", many.len()),
            },
            Op::NotIn(set) => match set.as_slice() {
                [one] => write!(f, "not {}", plain(one)),
                many => write!(f, "none of {} values", many.len()),
            },
            Op::StartsWith(v) => write!(f, "what begins with {}", plain(v)),
            Op::NotStartsWith(v) => write!(f, "what does not begin with {}", plain(v)),
        }
    }
}
