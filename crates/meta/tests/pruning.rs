//! Pruning never loses a row: random rows, filters and specs, against a filter evaluated row by row.
//!
//! The model knows nothing of binding, projection or bounds. It compares the values of a row with the
//! values of a filter, and has three truths. Rows are grouped into files by their partition tuples;
//! each file gets metrics, exact, cut or missing. Then:
//!
//! ```text
//!   skipped                   =>  the model wants none of its rows
//!   covered                   =>  the model wants all of its rows
//!   residual, on its rows     =   the filter
//!   parse(print(filter))      =   the filter
//! ```

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may stop where it fails")]

use kiosko_meta::Location;
use kiosko_meta::data_file::DataFile;
use kiosko_meta::filter::{Filter, Op, Truth};
use kiosko_meta::filter_bind::{Case, Predicate};
use kiosko_meta::filter_sql::parse;
use kiosko_meta::literal::Literal;
use kiosko_meta::manifest_list::{Counts, FieldSummary, ManifestContent, ManifestFile};
use kiosko_meta::partition::{PartitionField, PartitionSpec, Tuple};
use kiosko_meta::project;
use kiosko_meta::prune::{Decision, Pruner, all_match, metrics};
use kiosko_meta::schema::{Field, Schema};
use kiosko_meta::transform::Transform;
use kiosko_meta::types::Primitive;
use kiosko_meta::value::Value;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::cmp::Ordering;

const TYPES: [(&str, Primitive); 14] = [
    ("i", Primitive::Int),
    ("l", Primitive::Long),
    ("f", Primitive::Float),
    ("d", Primitive::Double),
    ("dec", Primitive::Decimal { precision: 9, scale: 2 }),
    ("date", Primitive::Date),
    ("ts", Primitive::Timestamp),
    ("tz", Primitive::Timestamptz),
    ("ns", Primitive::TimestampNs),
    ("s", Primitive::String),
    ("b", Primitive::Binary),
    ("u", Primitive::Uuid),
    ("flag", Primitive::Boolean),
    ("odd \"name\"", Primitive::Time),
];

fn schema() -> Schema {
    let field = |(at, (name, primitive)): (usize, &(&str, Primitive))| {
        Field::optional(at as i32 + 1, name, *primitive)
    };
    Schema::new(TYPES.iter().enumerate().map(field).collect())
}

/// Values close to each other and to every boundary.
fn value(column: usize) -> BoxedStrategy<Value> {
    const DAY: i64 = 86_400_000_000;
    let moment =
        || (-40i64..40, select(vec![-1i64, 0, 1])).prop_map(|(half, off)| half * DAY / 2 + off);
    let float = || {
        select(vec![
            f64::NAN,
            -0.0,
            0.0,
            1.0,
            -1.0,
            1.5,
            f64::INFINITY,
            f64::NEG_INFINITY,
            0.1,
            1e30,
        ])
    };
    match TYPES[column].1 {
        Primitive::Int => {
            prop_oneof![9 => -25..25i32, 1 => select(vec![i32::MIN, i32::MAX, i32::MAX - 1])]
                .prop_map(Value::Int)
                .boxed()
        }
        Primitive::Long => prop_oneof![9 => -25..25i64, 1 => select(vec![i64::MIN, i64::MAX])]
            .prop_map(Value::Long)
            .boxed(),
        Primitive::Float => float().prop_map(|v| Value::Float(v as f32)).boxed(),
        Primitive::Double => float().prop_map(Value::Double).boxed(),
        Primitive::Decimal { .. } => (-150..150i128).prop_map(|v| Value::Decimal(v, 2)).boxed(),
        Primitive::Date => prop_oneof![-40..40i32, -800..800i32].prop_map(Value::Date).boxed(),
        Primitive::Timestamp => moment().prop_map(Value::Timestamp).boxed(),
        Primitive::Timestamptz => moment().prop_map(Value::Timestamptz).boxed(),
        Primitive::TimestampNs => {
            moment().prop_map(|v| Value::TimestampNs(v * 1000 + v % 3)).boxed()
        }
        Primitive::String => {
            vec(select(vec!['a', 'b', 'ä', '%', '_', '\\', '\'', '\u{d7ff}', '\u{10ffff}']), 0..4)
                .prop_map(|v| Value::String(v.into_iter().collect()))
                .boxed()
        }
        Primitive::Binary => {
            vec(select(vec![0u8, 1, 254, 255]), 0..4).prop_map(Value::Binary).boxed()
        }
        Primitive::Uuid => select(vec![0u128, 1, u128::MAX, 1 << 127, 1 << 63, 1 << 64])
            .prop_map(|v| Value::Uuid(uuid::Uuid::from_u128(v)))
            .boxed(),
        Primitive::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        _ => (0..3i64).prop_map(|v| Value::Time(v * 1_000_001)).boxed(),
    }
}

type Row = Vec<Option<Value>>;

fn row() -> impl Strategy<Value = Row> {
    (0..TYPES.len()).map(|column| option::weighted(0.8, value(column))).collect::<Vec<_>>()
}

/// A filter of the model. `Test` is a column, the number of an operator, and values.
#[derive(Debug, Clone)]
enum Model {
    Test(usize, usize, Vec<Value>),
    And(Vec<Model>),
    Or(Vec<Model>),
    Not(Box<Model>),
}

/// A filter on any column.
fn model() -> impl Strategy<Value = Model> {
    model_of((0..TYPES.len()).collect())
}

/// A filter on these columns.
fn model_of(columns: Vec<usize>) -> impl Strategy<Value = Model> {
    let test = (select(columns), 0..14usize)
        .prop_flat_map(|(column, op)| (Just(column), Just(op), vec(value(column), 1..4)))
        .prop_map(|(column, op, mut values)| {
            let float = matches!(TYPES[column].1, Primitive::Float | Primitive::Double);
            let text = matches!(TYPES[column].1, Primitive::String | Primitive::Binary);
            values.retain(|v| !nan(v)); // no literal is NaN
            let op = match op {
                2 | 3 if !float => op - 2,
                12 | 13 if !text => op - 4,
                4..=9 | 12 | 13 if values.is_empty() => 0,
                op => op,
            };
            let op = if (4..=9).contains(&op) && values.is_empty() { 1 } else { op };
            Model::Test(column, op, values)
        });
    test.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..4).prop_map(Model::And),
            vec(inner.clone(), 1..4).prop_map(Model::Or),
            inner.prop_map(|inner| Model::Not(Box::new(inner))),
        ]
    })
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Float(v) => Some(f64::from(*v)),
        Value::Double(v) => Some(*v),
        _ => None,
    }
}

fn nan(value: &Value) -> bool {
    number(value).is_some_and(f64::is_nan)
}

/// The order of the model: one zero, NaN above all.
fn order(a: &Value, b: &Value) -> Ordering {
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap_or(a.is_nan().cmp(&b.is_nan())),
        _ => a.order(b),
    }
}

impl Model {
    /// Three truths: `None` is unknown.
    fn wants(&self, row: &Row) -> Option<bool> {
        match self {
            Model::And(parts) => {
                let all: Vec<_> = parts.iter().map(|part| part.wants(row)).collect();
                if all.contains(&Some(false)) {
                    return Some(false);
                }
                if all.contains(&None) { None } else { Some(true) }
            }
            Model::Or(parts) => {
                let all: Vec<_> = parts.iter().map(|part| part.wants(row)).collect();
                if all.contains(&Some(true)) {
                    return Some(true);
                }
                if all.contains(&None) { None } else { Some(false) }
            }
            Model::Not(inner) => inner.wants(row).map(|wanted| !wanted),
            Model::Test(column, op, values) => {
                let Some(value) = &row[*column] else {
                    return (*op < 2).then_some(*op == 0);
                };
                let begins = |prefix: &Value| value.to_bytes().starts_with(&prefix.to_bytes());
                Some(match op {
                    0 => false,
                    1 => true,
                    2 => nan(value),
                    3 => !nan(value),
                    4 => order(value, &values[0]).is_lt(),
                    5 => order(value, &values[0]).is_le(),
                    6 => order(value, &values[0]).is_gt(),
                    7 => order(value, &values[0]).is_ge(),
                    8 => order(value, &values[0]).is_eq(),
                    9 => order(value, &values[0]).is_ne(),
                    10 => values.iter().any(|v| order(value, v).is_eq()),
                    11 => values.iter().all(|v| order(value, v).is_ne()),
                    12 => begins(&values[0]),
                    _ => !begins(&values[0]),
                })
            }
        }
    }

    fn predicate(&self) -> Predicate {
        let all = |parts: &[Model]| parts.iter().map(Model::predicate).collect();
        match self {
            Model::And(parts) => Predicate::And(all(parts)),
            Model::Or(parts) => Predicate::Or(all(parts)),
            Model::Not(inner) => !inner.predicate(),
            Model::Test(column, op, values) => {
                let first = || Literal::from(&values[0]);
                let set = || values.iter().map(Literal::from).collect();
                let op = match op {
                    0 => Op::IsNull,
                    1 => Op::NotNull,
                    2 => Op::IsNan,
                    3 => Op::NotNan,
                    4 => Op::Lt(first()),
                    5 => Op::LtEq(first()),
                    6 => Op::Gt(first()),
                    7 => Op::GtEq(first()),
                    8 => Op::Eq(first()),
                    9 => Op::NotEq(first()),
                    10 => Op::In(set()),
                    11 => Op::NotIn(set()),
                    12 => Op::StartsWith(first()),
                    _ => Op::NotStartsWith(first()),
                };
                Predicate::Test(vec![TYPES[*column].0.into()], op)
            }
        }
    }

    fn bound(&self) -> Filter {
        self.predicate().bind(&schema(), Case::Sensitive).unwrap()
    }
}

fn eval(filter: &Filter, row: &Row) -> Truth {
    filter.eval(&|id| row[id as usize - 1].as_ref())
}

/// A filter and a spec that look at the same one or two columns.
fn model_and_spec() -> impl Strategy<Value = (Model, PartitionSpec)> {
    vec(0..TYPES.len(), 1..3).prop_flat_map(|columns| (model_of(columns.clone()), spec_of(columns)))
}

fn spec_of(columns: Vec<usize>) -> impl Strategy<Value = PartitionSpec> {
    let width = select(vec![1u32, 2, 3, 10]);
    let transform = prop_oneof![
        3 => width.prop_map(Transform::Truncate),
        2 => Just(Transform::Bucket(3)),
        2 => select(vec![Transform::Year, Transform::Month, Transform::Day, Transform::Hour]),
        2 => Just(Transform::Identity),
        1 => select(vec![Transform::Void, Transform::Unknown("zorder".into())]),
    ];
    vec((select(columns), transform), 0..4).prop_map(|fields| PartitionSpec {
        spec_id: 7,
        fields: fields
            .into_iter()
            .zip(1000..)
            .map(|((column, transform), field_id)| PartitionField {
                source_id: column as i32 + 1,
                field_id,
                name: format!("p{field_id}"),
                transform,
            })
            .collect(),
    })
}

/// The tuple of a row, if every transform takes its value. `early` rounds times before 1970 as old
/// writers did; an unknown transform writes anything.
fn tuple(spec: &PartitionSpec, row: &Row, early: bool) -> Option<Tuple> {
    let one = |field: &PartitionField| {
        if let Transform::Unknown(_) = field.transform {
            return Some(Some(Value::Int(3)));
        }
        let value = row[field.source_id as usize - 1].as_ref();
        let applied = field.transform.apply(value)?;
        let time = !matches!(value, Some(Value::Date(_))) || field.transform != Transform::Day;
        Some(match (&field.transform, applied) {
            (Transform::Truncate(_) | Transform::Bucket(_) | Transform::Identity, value) => value,
            (_, Some(Value::Int(v))) if early && v < 0 => Some(Value::Int(v + 1)),
            (_, Some(Value::Date(v))) if early && v < 0 && time => Some(Value::Date(v + 1)),
            (_, value) => value,
        })
    };
    spec.fields.iter().map(one).collect()
}

/// How a writer measures: cut bounds to so many letters, leave out every n-th column, use old widths.
#[derive(Debug, Clone)]
struct Measure {
    cut: Option<usize>,
    without: Vec<usize>,
    narrow: bool,
}

fn measure() -> impl Strategy<Value = Measure> {
    let without = vec(0..TYPES.len() * 3, 0..9);
    (option::of(1usize..3), without, any::<bool>()).prop_map(|(cut, without, narrow)| Measure {
        cut,
        without,
        narrow,
    })
}

/// The upper bound cut to `length`: the last letter that has a next one is raised.
fn cut_upper(value: &Value, length: usize) -> Option<Value> {
    match value {
        Value::String(text) if text.chars().count() > length => {
            let mut letters: Vec<char> = text.chars().take(length).collect();
            while let Some(last) = letters.pop() {
                let next = if last == '\u{d7ff}' {
                    Some('\u{e000}')
                } else {
                    char::from_u32(last as u32 + 1)
                };
                if let Some(next) = next {
                    letters.push(next);
                    return Some(Value::String(letters.into_iter().collect()));
                }
            }
            None
        }
        Value::Binary(bytes) if bytes.len() > length => {
            let mut bytes = bytes[..length].to_vec();
            while let Some(last) = bytes.pop() {
                if let Some(next) = last.checked_add(1) {
                    bytes.push(next);
                    return Some(Value::Binary(bytes));
                }
            }
            None
        }
        value => Some(value.clone()),
    }
}

fn cut_lower(value: Value, length: usize) -> Value {
    Transform::Truncate(length as u32)
        .apply(Some(&value))
        .flatten()
        .filter(|_| matches!(value, Value::String(_) | Value::Binary(_)))
        .unwrap_or(value)
}

fn bytes(value: &Value, narrow: bool) -> Vec<u8> {
    match value {
        Value::Long(v) if narrow && i32::try_from(*v).is_ok() => (*v as i32).to_le_bytes().to_vec(),
        Value::Double(v) if narrow && f64::from(*v as f32) == *v => {
            (*v as f32).to_le_bytes().to_vec()
        }
        value => value.to_bytes(),
    }
}

/// Java's order of uuids: two signed halves.
fn java_order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Uuid(a), Value::Uuid(b)) => {
            let halves = |u: &uuid::Uuid| (u.as_u64_pair().0 as i64, u.as_u64_pair().1 as i64);
            halves(a).cmp(&halves(b))
        }
        _ => a.order(b),
    }
}

fn file(rows: &[Row], tuple: Tuple, measure: &Measure) -> DataFile {
    let mut file =
        DataFile::new(Location::parse("/w/t/f.parquet").unwrap(), rows.len() as i64, 100);
    file.partition = tuple;
    for column in 0..TYPES.len() {
        let id = column as i32 + 1;
        let told = |what: usize| !measure.without.contains(&(column * 3 + what));
        let values: Vec<&Value> = rows.iter().filter_map(|row| row[column].as_ref()).collect();
        let numbers: Vec<&Value> = values.iter().copied().filter(|v| !nan(v)).collect();
        file.value_counts.insert(id, rows.len() as i64);
        if told(0) {
            file.null_value_counts.insert(id, (rows.len() - values.len()) as i64);
        }
        if told(1) && matches!(TYPES[column].1, Primitive::Float | Primitive::Double) {
            file.nan_value_counts.insert(id, (values.len() - numbers.len()) as i64);
        }
        let lower = numbers.iter().min_by(|a, b| java_order(a, b)).map(|v| (*v).clone());
        let upper = numbers.iter().max_by(|a, b| java_order(a, b)).map(|v| (*v).clone());
        let (lower, upper) = match measure.cut {
            Some(n) => (lower.map(|v| cut_lower(v, n)), upper.and_then(|v| cut_upper(&v, n))),
            None => (lower, upper),
        };
        if told(2) {
            file.lower_bounds.extend(lower.map(|v| (id, bytes(&v, measure.narrow))));
            file.upper_bounds.extend(upper.map(|v| (id, bytes(&v, measure.narrow))));
        }
    }
    file
}

fn summary(tuples: &[Tuple], at: usize) -> FieldSummary {
    let values: Vec<&Value> = tuples.iter().filter_map(|tuple| tuple[at].as_ref()).collect();
    let numbers: Vec<&Value> = values.iter().copied().filter(|v| !nan(v)).collect();
    FieldSummary {
        contains_null: values.len() < tuples.len(),
        contains_nan: Some(numbers.len() < values.len()),
        lower_bound: numbers.iter().min_by(|a, b| java_order(a, b)).map(|v| v.to_bytes()),
        upper_bound: numbers.iter().max_by(|a, b| java_order(a, b)).map(|v| v.to_bytes()),
    }
}

fn manifest(spec: &PartitionSpec, tuples: &[Tuple]) -> ManifestFile {
    ManifestFile {
        manifest_path: Location::parse("/w/t/m.avro").unwrap(),
        manifest_length: 1,
        partition_spec_id: spec.spec_id,
        content: ManifestContent::Data,
        sequence_number: 1,
        min_sequence_number: 1,
        added_snapshot_id: 1,
        counts: Counts { added_files: Some(tuples.len() as i32), ..Counts::default() },
        partitions: Some((0..spec.fields.len()).map(|at| summary(tuples, at)).collect()),
        key_metadata: None,
        first_row_id: None,
    }
}

/// The rows of each file: those with one tuple.
fn grouped(spec: &PartitionSpec, rows: Vec<Row>, early: bool) -> Vec<(Tuple, Vec<Row>)> {
    let mut groups: Vec<(Tuple, Vec<Row>)> = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        let Some(tuple) = tuple(spec, &row, early && index % 2 == 0) else { continue };
        match groups.iter_mut().find(|(other, _)| *other == tuple) {
            Some((_, rows)) => rows.push(row),
            None => groups.push((tuple, vec![row])),
        }
    }
    groups
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn a_bound_filter_is_the_model(model in model(), row in row()) {
        let wanted = model.wants(&row);
        prop_assert_eq!(eval(&model.bound(), &row) == Truth::True, wanted == Some(true));
        let negated = Model::Not(Box::new(model));
        prop_assert_eq!(eval(&negated.bound(), &row) == Truth::True, wanted == Some(false));
    }

    #[test]
    fn what_is_printed_reads_as_it_was(model in model()) {
        let filter = model.bound();
        let text = filter.to_string();
        let again = parse(&text).unwrap().bind(&schema(), Case::Sensitive).unwrap();
        prop_assert_eq!(again, filter, "{}", text);
        let written = model.predicate().to_string();
        prop_assert_eq!(parse(&written).unwrap().to_string(), parse(&parse(&written).unwrap().to_string()).unwrap().to_string());
        prop_assert_eq!(parse(&written).unwrap().bind(&schema(), Case::Sensitive).unwrap(), model.bound());
    }

    #[test]
    fn metrics_never_lose_a_row((model, _) in model_and_spec(), rows in vec(row(), 0..5), how in measure()) {
        let (filter, file) = (model.bound(), file(&rows, Tuple::new(), &how));
        if let Decision::Skip(reason) = metrics(&filter, &file) {
            prop_assert!(rows.iter().all(|row| model.wants(row) != Some(true)), "{}: {}", filter, reason);
        }
        if all_match(&filter, &file) {
            prop_assert!(rows.iter().all(|row| model.wants(row) == Some(true)), "{}", filter);
        }
    }

    #[test]
    fn partitions_never_lose_a_row(
        (model, spec) in model_and_spec(), rows in vec(row(), 0..6), how in measure(), early in any::<bool>()
    ) {
        let filter = model.bound();
        let pruner = Pruner::new(&filter, &spec);
        let groups = grouped(&spec, rows, early);
        let tuples: Vec<Tuple> = groups.iter().map(|(tuple, _)| tuple.clone()).collect();
        if let Decision::Skip(reason) = pruner.manifest(&manifest(&spec, &tuples)) {
            let wanted = groups.iter().flat_map(|(_, rows)| rows).any(|row| model.wants(row) == Some(true));
            prop_assert!(!wanted, "{}: {}", filter, reason);
        }
        let (inclusive, strict) = (project::inclusive(&filter, &spec), project::strict(&filter, &spec));
        for (tuple, rows) in groups {
            let wanted: Vec<bool> = rows.iter().map(|row| model.wants(row) == Some(true)).collect();
            let of_tuple = |id: i32| tuple[id as usize - 1000].as_ref();
            if wanted.contains(&true) {
                prop_assert_eq!(inclusive.eval(&of_tuple), Truth::True, "{} -> {}", filter, inclusive);
                prop_assert_eq!(pruner.partition(&tuple), Decision::Keep);
            }
            if strict.eval(&of_tuple) == Truth::True {
                prop_assert!(!wanted.contains(&false), "{} -> {}", filter, strict);
            }
            let residual = pruner.residual(&tuple);
            for (row, wanted) in rows.iter().zip(&wanted) {
                prop_assert_eq!(eval(&residual, row) == Truth::True, *wanted, "{} -> {}", filter, residual);
            }
            let file = file(&rows, tuple.clone(), &how);
            if let Decision::Skip(reason) = pruner.file(&file) {
                prop_assert!(!wanted.contains(&true), "{}: {}", filter, reason);
            }
            if pruner.covers(&file) {
                prop_assert!(!wanted.contains(&false), "{}", filter);
            }
        }
    }

    #[test]
    fn numbers_between_and_beyond_integers(x in any::<i32>(), literal in -6_000_000_000i64..6_000_000_000, near in any::<bool>(), op in 0..6usize) {
        // A literal with one digit after the point, often right beside x.
        let literal = if near { i64::from(x) * 10 + literal % 20 } else { literal * 10 + 5 };
        let ops = [Op::Lt, Op::LtEq, Op::Gt, Op::GtEq, Op::Eq, Op::NotEq];
        let filter = Predicate::test("i", ops[op](Literal::Number(literal.into(), 1)));
        let order = (i64::from(x) * 10).cmp(&literal);
        let want = [order.is_lt(), order.is_le(), order.is_gt(), order.is_ge(), order.is_eq(), order.is_ne()][op];
        let mut row: Row = vec![None; TYPES.len()];
        for (value, want) in [(Some(Value::Int(x)), want), (None, false)] {
            row[0] = value;
            let bound = filter.bind(&schema(), Case::Sensitive).unwrap();
            prop_assert_eq!(eval(&bound, &row) == Truth::True, want);
            let bound = (!filter.clone()).bind(&schema(), Case::Sensitive).unwrap();
            prop_assert_eq!(eval(&bound, &row) == Truth::True, row[0].is_some() && !want);
        }
    }

    #[test]
    fn no_text_panics(text in "[a-z0-9'\"(),.=<>%_\\\\ \\-]{0,40}", any in any::<String>()) {
        let _ = (parse(&text), parse(&any));
    }
}
