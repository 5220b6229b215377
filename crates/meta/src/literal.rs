//! Literals: what stands opposite a column, and how it becomes a value of the column's type.
//!
//! A literal is read before its column is known: `'2026-08-01'` is text until it meets a date. Binding
//! moves the literal to the column's type, never the column to the literal's: bounds and partition
//! values have the column's type, and only there do they compare.
//!
//! ```text
//!                     no value of the type
//!      Below   |   is there: Between(floor)   |   Above
//!   ───────────┤  2      2.5      3           ├───────────
//!              └─ lowest                      └─ highest
//!
//!   qty: int     qty < 2.5          qty <= 2               Between(2)
//!                qty = 2.5          false                  no int is
//!                qty < 3000000000   qty IS NOT NULL        Above: true of every int, unknown of null
//!                NOT qty < 3e9      false                  after push-down: qty >= 3000000000
//!   day: date    day = '2026-08-01'                        text becomes a date
//!   at: timestamptz   at >= '2026-08-01 00:00:00+00:00'    a zone is asked for; under timestamp, refused
//! ```
//!
//! Floats are the exception: a literal becomes the nearest float, as `f = 0.1` means the float that is
//! written 0.1.
//!
//! Specification: "Primitive Types"; it says nothing of literals.

use crate::iso;
use crate::types::Primitive;
use crate::value::Value;

/// A literal as written.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `true`
    Boolean(bool),
    /// `42`, `14.20`: the number without its point, and the digits after the point
    Number(i128, u8),
    /// A number beyond 38 digits: `1e300`
    Float(f64),
    /// `'S03'`
    Text(String),
    /// `X'00ff'`
    Bytes(Vec<u8>),
    /// `date '2026-08-01'`: days since 1970
    Date(i32),
    /// `time '22:31:08'`: nanoseconds since midnight
    Time(i64),
    /// `timestamp '2026-08-01 10:00:00'`: nanoseconds since 1970, and whether a zone was named
    Timestamp(i128, bool),
}

/// Where a literal lies among the values of a type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cast {
    /// It is this value.
    Exact(Value),
    /// It is above this value and below the next.
    Between(Value),
    /// It is below all values.
    Below,
    /// It is above all values.
    Above,
}

impl Literal {
    /// Finds the literal among the values of `to`; an error says why it has no place there.
    pub(crate) fn cast(&self, to: Primitive) -> Result<Cast, String> {
        let cast = match to {
            Primitive::Boolean => match self {
                Literal::Boolean(v) => Some(Cast::Exact(Value::Boolean(*v))),
                _ => None,
            },
            Primitive::Int => self.whole().map(|v| int(v, Value::Int)),
            Primitive::Long => self.whole().map(|v| long(v, Value::Long)),
            Primitive::Float => self.float()?,
            Primitive::Double => {
                self.double()?.map(|v| Cast::Exact(Value::Double(if v == 0.0 { 0.0 } else { v })))
            }
            Primitive::Decimal { precision, scale } => self.decimal(precision, scale)?,
            Primitive::Date => self.nanos(false)?.map(|v| int(floor(v, iso::DAY), Value::Date)),
            Primitive::Timestamp => {
                self.nanos(false)?.map(|v| long(floor(v, 1000), Value::Timestamp))
            }
            Primitive::Timestamptz => {
                self.nanos(true)?.map(|v| long(floor(v, 1000), Value::Timestamptz))
            }
            Primitive::TimestampNs => {
                self.nanos(false)?.map(|v| long((v, true), Value::TimestampNs))
            }
            Primitive::TimestamptzNs => {
                self.nanos(true)?.map(|v| long((v, true), Value::TimestamptzNs))
            }
            Primitive::Time => match self {
                Literal::Time(v) => Some(long(floor(i128::from(*v), 1000), Value::Time)),
                Literal::Text(text) => match iso::parse_time(text) {
                    Some(v) => Some(long(floor(i128::from(v), 1000), Value::Time)),
                    None => return Err("a time looks like '22:31:08'".into()),
                },
                _ => None,
            },
            Primitive::String => match self {
                Literal::Text(text) => Some(Cast::Exact(Value::String(text.clone()))),
                _ => None,
            },
            Primitive::Uuid => match self {
                Literal::Text(text) => match uuid::Uuid::try_parse(text) {
                    Ok(uuid) => Some(Cast::Exact(Value::Uuid(uuid))),
                    Err(_) => return Err("a uuid has 32 hexadecimal digits".into()),
                },
                _ => None,
            },
            Primitive::Fixed(length) => match self {
                Literal::Bytes(bytes) if bytes.len() == length as usize => {
                    Some(Cast::Exact(Value::Fixed(bytes.clone())))
                }
                Literal::Bytes(bytes) => return Err(format!("it has {} bytes", bytes.len())),
                _ => None,
            },
            Primitive::Binary => match self {
                Literal::Bytes(bytes) => Some(Cast::Exact(Value::Binary(bytes.clone()))),
                _ => None,
            },
        };
        cast.ok_or_else(|| format!("{} is no {to}; write {}", self.kind(), example(to)))
    }

    fn kind(&self) -> &'static str {
        match self {
            Literal::Boolean(_) => "a boolean",
            Literal::Number(..) | Literal::Float(_) => "a number",
            Literal::Text(_) => "text",
            Literal::Bytes(_) => "a byte string",
            Literal::Date(_) => "a date",
            Literal::Time(_) => "a time",
            Literal::Timestamp(..) => "a timestamp",
        }
    }

    /// The whole number below or at this one, and whether it is this one.
    fn whole(&self) -> Option<(i128, bool)> {
        match self {
            Literal::Number(unscaled, scale) => Some(match 10i128.checked_pow((*scale).into()) {
                Some(unit) => floor(*unscaled, unit),
                None => (unscaled.signum().min(0), *unscaled == 0),
            }),
            // Saturates: far outside of any integer type, either way.
            Literal::Float(v) if !v.is_nan() => Some((v.floor() as i128, v.fract() == 0.0)),
            _ => None,
        }
    }

    fn double(&self) -> Result<Option<f64>, String> {
        Ok(Some(match self {
            Literal::Number(unscaled, scale) => number(*unscaled, *scale),
            Literal::Float(v) if v.is_nan() => return Err("ask is_nan(column)".into()),
            Literal::Float(v) => *v,
            Literal::Text(text) if text == "Infinity" => f64::INFINITY,
            Literal::Text(text) if text == "-Infinity" => f64::NEG_INFINITY,
            _ => return Ok(None),
        }))
    }

    /// The nearest float. A decimal is rounded once, not to a double first.
    fn float(&self) -> Result<Option<Cast>, String> {
        let Some(double) = self.double()? else { return Ok(None) };
        let narrow = match self {
            Literal::Number(unscaled, scale) => number(*unscaled, *scale),
            _ => double as f32,
        };
        Ok(Some(match narrow {
            // Too large for a float: between the last one and infinity.
            f32::INFINITY if double.is_finite() => Cast::Between(Value::Float(f32::MAX)),
            f32::NEG_INFINITY if double.is_finite() => Cast::Between(Value::Float(narrow)),
            _ => Cast::Exact(Value::Float(if narrow == 0.0 { 0.0 } else { narrow })),
        }))
    }

    fn decimal(&self, precision: u8, scale: u8) -> Result<Option<Cast>, String> {
        let limit = 10i128.pow(precision.into());
        let place = |(unscaled, exact): (i128, bool)| match unscaled {
            v if v <= -limit => Cast::Below,
            v if v >= limit => Cast::Above,
            v if exact => Cast::Exact(Value::Decimal(v, scale)),
            v => Cast::Between(Value::Decimal(v, scale)),
        };
        Ok(Some(match self {
            Literal::Number(unscaled, from) => {
                let unit = |digits: u8| 10i128.checked_pow(digits.into());
                let wide = match scale.checked_sub(*from) {
                    Some(more) => {
                        unit(more).and_then(|u| unscaled.checked_mul(u)).map(|v| (v, true))
                    }
                    None => Some(
                        unit(from - scale)
                            .map_or((unscaled.signum().min(0), false), |u| floor(*unscaled, u)),
                    ),
                };
                // What does not fit 128 bits does not fit 38 digits.
                place(wide.unwrap_or((if *unscaled < 0 { -limit } else { limit }, true)))
            }
            Literal::Float(v) if v.abs() >= 1e38 => place((*v as i128, true)),
            Literal::Float(_) => return Err("write it with at most 38 digits".into()),
            _ => return Ok(None),
        }))
    }

    /// Nanoseconds since 1970, for a column with or without a zone.
    fn nanos(&self, zoned: bool) -> Result<Option<i128>, String> {
        let (nanos, has_zone) = match self {
            Literal::Date(days) => (i128::from(*days) * iso::DAY, false),
            Literal::Timestamp(nanos, has_zone) => (*nanos, *has_zone),
            Literal::Text(text) => iso::parse_timestamp(text)
                .ok_or("a date looks like '2026-08-01', a timestamp like '2026-08-01 10:00:00'")?,
            _ => return Ok(None),
        };
        match (zoned, has_zone) {
            (true, false) => Err("it names no zone; add +00:00".into()),
            (false, true) => Err("it names a zone, and the column has none".into()),
            _ => Ok(Some(nanos)),
        }
    }
}

fn example(to: Primitive) -> &'static str {
    match to {
        Primitive::Boolean => "true or false",
        Primitive::Int | Primitive::Long => "a whole number",
        Primitive::Float | Primitive::Double | Primitive::Decimal { .. } => {
            "a number, such as 14.20"
        }
        Primitive::Date => "'2026-08-01'",
        Primitive::Time => "'22:31:08'",
        Primitive::Timestamp | Primitive::TimestampNs => "'2026-08-01 10:00:00'",
        Primitive::Timestamptz | Primitive::TimestamptzNs => "'2026-08-01 10:00:00+00:00'",
        Primitive::String | Primitive::Uuid => "it in quotes",
        Primitive::Fixed(_) | Primitive::Binary => "hexadecimal bytes, X'00ff'",
    }
}

fn floor(value: i128, unit: i128) -> (i128, bool) {
    (value.div_euclid(unit), value.rem_euclid(unit) == 0)
}

fn int((floor, exact): (i128, bool), make: fn(i32) -> Value) -> Cast {
    place(i32::try_from(floor).ok().map(make), floor, exact)
}

fn long((floor, exact): (i128, bool), make: fn(i64) -> Value) -> Cast {
    place(i64::try_from(floor).ok().map(make), floor, exact)
}

fn place(value: Option<Value>, floor: i128, exact: bool) -> Cast {
    match value {
        Some(value) if exact => Cast::Exact(value),
        Some(value) => Cast::Between(value),
        None if floor < 0 => Cast::Below,
        None => Cast::Above,
    }
}

/// The nearest binary number, rounded once, as the standard library reads it.
fn number<T: std::str::FromStr + Default>(unscaled: i128, scale: u8) -> T {
    format!("{unscaled}e-{scale}").parse().unwrap_or_default()
}

impl From<bool> for Literal {
    fn from(v: bool) -> Literal {
        Literal::Boolean(v)
    }
}

impl From<i64> for Literal {
    fn from(v: i64) -> Literal {
        Literal::Number(v.into(), 0)
    }
}

impl From<f64> for Literal {
    fn from(v: f64) -> Literal {
        parse_number(&v.to_string()).filter(|_| v.is_finite()).unwrap_or(Literal::Float(v))
    }
}

impl From<&str> for Literal {
    fn from(v: &str) -> Literal {
        Literal::Text(v.into())
    }
}

impl From<&Value> for Literal {
    fn from(value: &Value) -> Literal {
        let moment =
            |count: i64, unit: i128, zoned| Literal::Timestamp(i128::from(count) * unit, zoned);
        match value {
            Value::Boolean(v) => Literal::Boolean(*v),
            Value::Int(v) => Literal::Number((*v).into(), 0),
            Value::Long(v) => Literal::Number((*v).into(), 0),
            // The shortest text that is this float, not the double behind it.
            Value::Float(v) => parse_number(&v.to_string()).unwrap_or(Literal::Float((*v).into())),
            Value::Double(v) => Literal::from(*v),
            Value::Decimal(unscaled, scale) => Literal::Number(*unscaled, *scale),
            Value::Date(v) => Literal::Date(*v),
            Value::Time(v) => Literal::Time(v.saturating_mul(1000)),
            Value::Timestamp(v) => moment(*v, 1000, false),
            Value::Timestamptz(v) => moment(*v, 1000, true),
            Value::TimestampNs(v) => moment(*v, 1, false),
            Value::TimestamptzNs(v) => moment(*v, 1, true),
            Value::String(v) => Literal::Text(v.clone()),
            Value::Uuid(v) => Literal::Text(v.to_string()),
            Value::Fixed(v) | Value::Binary(v) => Literal::Bytes(v.clone()),
        }
    }
}

/// Reads `42`, `-14.20` or `3e9` exactly, and as a float when it has more than 38 digits.
pub(crate) fn parse_number(text: &str) -> Option<Literal> {
    let float = || text.parse().ok().filter(|v: &f64| v.is_finite()).map(Literal::Float);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    let exact = || {
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let up = u32::try_from(-scale.min(0)).ok()?;
        let unscaled = digits.checked_mul(10i128.checked_pow(up)?)?;
        let fits = unscaled.unsigned_abs() < 10u128.pow(38) && scale <= 38;
        fits.then_some(Literal::Number(unscaled, u8::try_from(scale.max(0)).ok()?))
    };
    exact().or_else(float)
}

/// SQL text.
impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Literal::Boolean(v) => v.fmt(f),
            Literal::Number(unscaled, scale) => Value::Decimal(*unscaled, *scale).fmt(f),
            Literal::Float(v) if v.is_infinite() => {
                write!(f, "'{}Infinity'", if *v < 0.0 { "-" } else { "" })
            }
            Literal::Float(v) => write!(f, "{v:e}"),
            Literal::Text(v) => write!(f, "'{}'", v.replace('\'', "''")),
            Literal::Bytes(v) => {
                f.write_str("X'")?;
                v.iter().try_for_each(|b| write!(f, "{b:02x}"))?;
                f.write_str("'")
            }
            Literal::Date(v) => write!(f, "date '{}'", iso::date((*v).into())),
            Literal::Time(v) => write!(f, "time '{}'", iso::time((*v).into())),
            Literal::Timestamp(v, zoned) => write!(f, "timestamp '{}'", iso::timestamp(*v, *zoned)),
        }
    }
}

/// The value as a sentence shows it: as in SQL, without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match Literal::from(value) {
        Literal::Text(text) => text,
        Literal::Date(v) => iso::date(v.into()),
        Literal::Time(v) => iso::time(v.into()),
        Literal::Timestamp(v, zoned) => iso::timestamp(v, zoned),
        other => other.to_string(),
    }
}
