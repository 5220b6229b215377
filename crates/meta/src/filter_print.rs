//! Filters as SQL text, for messages and for `--explain`; [`crate::filter_sql::parse`] reads it back.
//!
//! ```text
//!   And [ Or [ a < 3, b IS NULL ], Test "order".x StartsWith '5%' ]
//!   (a < 3 OR b IS NULL) AND "order".x LIKE '5\%%'
//! ```
//!
//! Parentheses stand where OR is inside AND and after NOT, and nowhere else; a list in a list of its
//! own kind keeps its parentheses too, so that what is read back has the same shape. Names that are
//! words of the language, or no plain names, stand in double quotes.
//!
//! The specification has no text for filters; this is SQL's.

use crate::filter::{Filter, Op};
use crate::filter_bind::Predicate;
use crate::filter_words::name;
use crate::literal::Literal;
use std::fmt::{Display, Formatter, Result};

impl Display for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        Predicate::from(self).fmt(f)
    }
}

impl Display for Predicate {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Predicate::True => f.write_str("TRUE"),
            Predicate::False => f.write_str("FALSE"),
            Predicate::And(parts) => list(f, parts, "AND", "TRUE"),
            Predicate::Or(parts) => list(f, parts, "OR", "FALSE"),
            Predicate::Not(inner) => write!(f, "NOT ({inner})"),
            Predicate::Test(path, op) => test(f, &name(path), op),
        }
    }
}

fn list(f: &mut Formatter<'_>, parts: &[Predicate], word: &str, of_none: &str) -> Result {
    if parts.is_empty() {
        return f.write_str(of_none);
    }
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            write!(f, " {word} ")?;
        }
        match part {
            Predicate::Or(_) => write!(f, "({part})")?,
            Predicate::And(_) if word == "AND" => write!(f, "({part})")?,
            _ => part.fmt(f)?,
        }
    }
    Ok(())
}

fn test(f: &mut Formatter<'_>, name: &str, op: &Op<Literal, Vec<Literal>>) -> Result {
    match op {
        Op::IsNull => write!(f, "{name} IS NULL"),
        Op::NotNull => write!(f, "{name} IS NOT NULL"),
        Op::IsNan => write!(f, "is_nan({name})"),
        Op::NotNan => write!(f, "NOT is_nan({name})"),
        Op::Lt(v) => write!(f, "{name} < {v}"),
        Op::LtEq(v) => write!(f, "{name} <= {v}"),
        Op::Gt(v) => write!(f, "{name} > {v}"),
        Op::GtEq(v) => write!(f, "{name} >= {v}"),
        Op::Eq(v) => write!(f, "{name} = {v}"),
        Op::NotEq(v) => write!(f, "{name} != {v}"),
        Op::In(values) => members(f, name, "IN", values),
        Op::NotIn(values) => members(f, name, "NOT IN", values),
        Op::StartsWith(v) => prefix(f, name, "", v),
        Op::NotStartsWith(v) => prefix(f, name, "NOT ", v),
    }
}

fn members(f: &mut Formatter<'_>, name: &str, word: &str, values: &[Literal]) -> Result {
    write!(f, "{name} {word} (")?;
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        value.fmt(f)?;
    }
    f.write_str(")")
}

fn prefix(f: &mut Formatter<'_>, name: &str, not: &str, prefix: &Literal) -> Result {
    match prefix {
        Literal::Text(text) => {
            let text = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            write!(f, "{name} {not}LIKE {}", Literal::Text(text + "%"))
        }
        bytes => write!(f, "{not}starts_with({name}, {bytes})"),
    }
}
