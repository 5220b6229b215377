//! Predicates as written, and how they are bound to a schema.
//!
//! A [`Predicate`] has names, literals and NOT, as somebody wrote them. Binding it to a schema makes a
//! [`Filter`] of it, in one walk that carries a flag, "inside an odd number of NOTs":
//!
//! ```text
//!   NOT (Qty < 3000000000 OR store = 'S03')       names: any case
//!    │
//!    ├─ OR under NOT is AND                        De Morgan
//!    ├─ NOT qty < 3000000000 is qty >= 3000000000  the opposite test, null stays unknown
//!    │      no int is that large                   False
//!    └─ NOT store = 'S03' is store != 'S03'
//!   False AND store != 'S03' is False
//! ```
//!
//! NOT goes before the literal is placed. The other way round, `qty < 3000000000` would become
//! `qty IS NOT NULL`, and its NOT would want the rows where qty is null, of which nobody knows whether
//! they are below. A row that is unknown is never wanted: an overwrite of `x = 2` leaves null alone.
//!
//! Names are paths: `address.city` is the field city in the struct address. Lists and maps have many
//! values in a row, so nothing in them can be tested.
//!
//! Specification: "Scan Planning"; names and literals are SQL's.

use crate::filter::{Column, Filter, Op, Test, Values};
use crate::filter_words::name;
use crate::literal::{Cast, Literal};
use crate::schema::{Field, Schema};
use crate::types::{Primitive, Type};
use crate::{Error, Result};

/// How deep a predicate may be nested. Lists are not depth: ANDs of any length are one.
pub const MAX_DEPTH: usize = 400;

/// Which rows are wanted, in names.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Every row.
    True,
    /// No row.
    False,
    /// What all of these want.
    And(Vec<Predicate>),
    /// What any of these wants.
    Or(Vec<Predicate>),
    /// The rows of which this is false; not those of which it is unknown.
    Not(Box<Predicate>),
    /// One test on the column of this path.
    Test(Vec<String>, Op<Literal, Vec<Literal>>),
}

/// How names are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// `A` and `a` are two columns.
    Sensitive,
    /// `A` and `a` are one name; a schema that has both makes it ambiguous.
    Insensitive,
}

impl Predicate {
    /// A test on a column; a dot in `name` leads into a struct.
    pub fn test(name: &str, op: Op<Literal, Vec<Literal>>) -> Predicate {
        Predicate::Test(name.split('.').map(str::to_string).collect(), op)
    }

    /// Both; a chain of these is one list.
    pub fn and(self, other: Predicate) -> Predicate {
        match self {
            Predicate::And(mut list) => {
                list.push(other);
                Predicate::And(list)
            }
            first => Predicate::And(vec![first, other]),
        }
    }

    /// Either; a chain of these is one list.
    pub fn or(self, other: Predicate) -> Predicate {
        match self {
            Predicate::Or(mut list) => {
                list.push(other);
                Predicate::Or(list)
            }
            first => Predicate::Or(vec![first, other]),
        }
    }

    /// Binds names to the columns of `schema` and literals to their types.
    ///
    /// # Errors
    /// [`Error::Invalid`] naming the column, its type and the literal: no such column, two such columns,
    /// or a literal that its type has no place for. [`Error::Unsupported`] beyond [`MAX_DEPTH`].
    pub fn bind(&self, schema: &Schema, case: Case) -> Result<Filter> {
        self.bind_at(schema, case, false, 0)
    }

    fn bind_at(&self, schema: &Schema, case: Case, negated: bool, depth: usize) -> Result<Filter> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(
                format!("a filter nested deeper than {MAX_DEPTH}"),
                "make long ANDs and ORs one list",
            ));
        }
        let list = |parts: &[Predicate]| -> Result<Vec<Filter>> {
            parts.iter().map(|part| part.bind_at(schema, case, negated, depth + 1)).collect()
        };
        Ok(match (self, negated) {
            (Predicate::True, false) | (Predicate::False, true) => Filter::True,
            (Predicate::True, true) | (Predicate::False, false) => Filter::False,
            (Predicate::And(parts), false) | (Predicate::Or(parts), true) => {
                Filter::and(list(parts)?)
            }
            (Predicate::And(parts), true) | (Predicate::Or(parts), false) => {
                Filter::or(list(parts)?)
            }
            (Predicate::Not(inner), _) => inner.bind_at(schema, case, !negated, depth + 1)?,
            (Predicate::Test(path, op), _) => {
                let column = resolve(schema, path, case)?;
                bind_op(column, if negated { op.clone().negate() } else { op.clone() })?
            }
        })
    }
}

impl std::ops::Not for Predicate {
    type Output = Predicate;

    fn not(self) -> Predicate {
        Predicate::Not(Box::new(self))
    }
}

/// The column at the end of `path`.
fn resolve(schema: &Schema, path: &[String], case: Case) -> Result<Column> {
    let same = |a: &str, b: &str| match case {
        Case::Sensitive => a == b,
        Case::Insensitive => a.to_lowercase() == b.to_lowercase(),
    };
    let shown = name(path);
    let refuse = |why: String| Error::invalid(format!("the column {shown} in a filter"), why);
    let mut fields: &[Field] = &schema.fields;
    let mut found = Vec::new();
    for (depth, part) in path.iter().enumerate() {
        let mut hits = fields.iter().filter(|field| same(&field.name, part));
        let Some(field) = hits.next() else {
            let names: Vec<_> = fields.iter().map(|field| field.name.as_str()).collect();
            return Err(refuse(format!("there is no {part:?}; there is {}", names.join(", "))));
        };
        if let Some(other) = hits.next() {
            let (a, b) = (&field.name, &other.name);
            return Err(refuse(format!("{part:?} could be {a:?} or {b:?}; mind the case")));
        }
        found.push(field.name.clone());
        match &field.field_type {
            Type::Primitive(primitive) if depth + 1 == path.len() => {
                return Ok(Column { id: field.id, path: found, primitive: *primitive });
            }
            Type::Struct(inner) if depth + 1 < path.len() => fields = inner,
            other => {
                return Err(refuse(format!(
                    "{part:?} is a {other}; only single values are tested"
                )));
            }
        }
    }
    Err(refuse("it has no name".into()))
}

fn bind_op(column: Column, op: Op<Literal, Vec<Literal>>) -> Result<Filter> {
    let to = column.primitive;
    let refuse = |literal: &dyn std::fmt::Display, why: String| {
        let shown = name(&column.path);
        Error::invalid(format!("{literal} for the column {shown} of type {to}"), why)
    };
    let cast = |literal: &Literal| literal.cast(to).map_err(|why| refuse(literal, why));
    let some = Some::<Op>;
    let (never, always) = (None, Some(Op::NotNull)); // of null even the surest test is unknown
    let bound = match op {
        Op::IsNull => some(Op::IsNull),
        Op::NotNull => always,
        Op::IsNan | Op::NotNan if !matches!(to, Primitive::Float | Primitive::Double) => {
            return Err(refuse(&"is_nan", "only floats can be NaN".into()));
        }
        Op::IsNan => some(Op::IsNan),
        Op::NotNan => some(Op::NotNan),
        Op::Lt(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::Lt(v)),
            Cast::Between(v) => some(Op::LtEq(v)),
            Cast::Below => never,
            Cast::Above => always,
        },
        Op::LtEq(literal) => match cast(&literal)? {
            Cast::Exact(v) | Cast::Between(v) => some(Op::LtEq(v)),
            Cast::Below => never,
            Cast::Above => always,
        },
        Op::Gt(literal) => match cast(&literal)? {
            Cast::Exact(v) | Cast::Between(v) => some(Op::Gt(v)),
            Cast::Below => always,
            Cast::Above => never,
        },
        Op::GtEq(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::GtEq(v)),
            Cast::Between(v) => some(Op::Gt(v)),
            Cast::Below => always,
            Cast::Above => never,
        },
        Op::Eq(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::Eq(v)),
            _ => never,
        },
        Op::NotEq(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::NotEq(v)),
            _ => always,
        },
        Op::In(literals) => match set(&literals, cast)?.as_slice() {
            [] => never,
            [one] => some(Op::Eq(one.clone())),
            many => some(Op::In(Values::new(many.iter().cloned()))),
        },
        Op::NotIn(literals) => match set(&literals, cast)?.as_slice() {
            [] => always,
            [one] => some(Op::NotEq(one.clone())),
            many => some(Op::NotIn(Values::new(many.iter().cloned()))),
        },
        Op::StartsWith(literal) | Op::NotStartsWith(literal)
            if !matches!(to, Primitive::String | Primitive::Binary) =>
        {
            return Err(refuse(&literal, "only text and bytes have a beginning".into()));
        }
        Op::StartsWith(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::StartsWith(v)),
            _ => never,
        },
        Op::NotStartsWith(literal) => match cast(&literal)? {
            Cast::Exact(v) => some(Op::NotStartsWith(v)),
            _ => always,
        },
    };
    Ok(bound.map_or(Filter::False, |op| Filter::Test(Test { column, op })))
}

/// The members of a set that its column can have; the others change nothing.
fn set(literals: &[Literal], cast: impl Fn(&Literal) -> Result<Cast>) -> Result<Values> {
    let mut values = Vec::new();
    for literal in literals {
        if let Cast::Exact(value) = cast(literal)? {
            values.push(value);
        }
    }
    Ok(Values::new(values))
}

/// The way back, for printing: a bound filter is a predicate too.
impl From<&Filter> for Predicate {
    fn from(filter: &Filter) -> Predicate {
        match filter {
            Filter::True => Predicate::True,
            Filter::False => Predicate::False,
            Filter::And(parts) => Predicate::And(parts.iter().map(Predicate::from).collect()),
            Filter::Or(parts) => Predicate::Or(parts.iter().map(Predicate::from).collect()),
            Filter::Test(test) => Predicate::Test(test.column.path.clone(), unbind(&test.op)),
        }
    }
}

fn unbind(op: &Op) -> Op<Literal, Vec<Literal>> {
    let set = |values: &Values| values.as_slice().iter().map(Literal::from).collect();
    match op {
        Op::IsNull => Op::IsNull,
        Op::NotNull => Op::NotNull,
        Op::IsNan => Op::IsNan,
        Op::NotNan => Op::NotNan,
        Op::Lt(v) => Op::Lt(v.into()),
        Op::LtEq(v) => Op::LtEq(v.into()),
        Op::Gt(v) => Op::Gt(v.into()),
        Op::GtEq(v) => Op::GtEq(v.into()),
        Op::Eq(v) => Op::Eq(v.into()),
        Op::NotEq(v) => Op::NotEq(v.into()),
        Op::In(values) => Op::In(set(values)),
        Op::NotIn(values) => Op::NotIn(set(values)),
        Op::StartsWith(v) => Op::StartsWith(v.into()),
        Op::NotStartsWith(v) => Op::NotStartsWith(v.into()),
    }
}
