//! Pruning, case by case: every value of a small world under every transform, and the faults that other
//! implementations shipped, each by its number in the project's list of pitfalls.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop where it fails"
)]

use kiosko_meta::contents::Contents;
use kiosko_meta::data_file::{Content, DataFile};
use kiosko_meta::filter::{Column, Filter, Op, Test, Truth, Values};
use kiosko_meta::filter_bind::{Case, MAX_DEPTH, Predicate};
use kiosko_meta::filter_sql::parse;
use kiosko_meta::manifest_list::{Counts, FieldSummary, ManifestContent, ManifestFile};
use kiosko_meta::partition::{PartitionField, PartitionSpec, Tuple};
use kiosko_meta::prune::{Decision, Pruner, all_match, metrics};
use kiosko_meta::schema::{Field, Schema};
use kiosko_meta::transform::Transform;
use kiosko_meta::types::{Primitive, Type};
use kiosko_meta::value::Value;
use kiosko_meta::{Error, Location, project};

fn schema() -> Schema {
    let inner = Type::Struct(vec![Field::optional(11, "city", Primitive::String)]);
    Schema::new(vec![
        Field::optional(1, "x", Primitive::Int),
        Field::optional(2, "s", Primitive::String),
        Field::optional(3, "d", Primitive::Double),
        Field::optional(4, "ts", Primitive::Timestamp),
        Field::optional(5, "tz", Primitive::Timestamptz),
        Field::optional(6, "day", Primitive::Date),
        Field::optional(7, "dec", Primitive::Decimal { precision: 7, scale: 2 }),
        Field::optional(8, "u", Primitive::Uuid),
        Field::optional(9, "l", Primitive::Long),
        Field { field_type: inner, ..Field::optional(10, "address", Primitive::Int) },
        Field::optional(12, "ns", Primitive::TimestampNs),
    ])
}

fn bind(text: &str) -> Filter {
    parse(text).unwrap().bind(&schema(), Case::Sensitive).unwrap()
}

fn refused(text: &str) -> String {
    match parse(text).and_then(|predicate| predicate.bind(&schema(), Case::Sensitive)) {
        Ok(filter) => panic!("{text} became {filter}"),
        Err(error) => error.to_string(),
    }
}

fn spec(source_id: i32, transform: Transform) -> PartitionSpec {
    let field = PartitionField { source_id, field_id: 1000, name: "p".into(), transform };
    PartitionSpec { spec_id: 1, fields: vec![field] }
}

fn file(rows: i64) -> DataFile {
    DataFile::new(Location::parse("/w/t/f.parquet").unwrap(), rows, 100)
}

/// A file of `rows` rows with bounds and null count for one column.
fn bounded(id: i32, rows: i64, nulls: i64, lower: &Value, upper: &Value) -> DataFile {
    let mut file = file(rows);
    file.value_counts.insert(id, rows);
    file.null_value_counts.insert(id, nulls);
    file.lower_bounds.insert(id, lower.to_bytes());
    file.upper_bounds.insert(id, upper.to_bytes());
    file
}

fn reason(decision: Decision) -> String {
    match decision {
        Decision::Skip(reason) => reason.to_string(),
        Decision::Keep => "keep".into(),
    }
}

fn text(v: &str) -> Value {
    Value::String(v.into())
}

fn manifest(summary: Option<FieldSummary>) -> ManifestFile {
    ManifestFile {
        manifest_path: Location::parse("/w/t/m.avro").unwrap(),
        manifest_length: 1,
        partition_spec_id: 1,
        content: ManifestContent::Data,
        sequence_number: 1,
        min_sequence_number: 1,
        added_snapshot_id: 1,
        counts: Counts::default(),
        partitions: summary.map(|summary| vec![summary]),
        key_metadata: None,
        first_row_id: None,
    }
}

fn summary(nulls: bool, lower: &Value, upper: &Value) -> FieldSummary {
    FieldSummary {
        contains_null: nulls,
        contains_nan: None,
        lower_bound: Some(lower.to_bytes()),
        upper_bound: Some(upper.to_bytes()),
    }
}

/// Every test with every value of a world, under every transform: the projections against each value
/// of the world. Returns how often each projection decided something.
fn exhaust(primitive: Primitive, world: &[Value], transforms: &[Transform]) -> (usize, usize) {
    let (mut skipped, mut covered) = (0, 0);
    let with_null = || world.iter().map(Some).chain([None]);
    for transform in transforms {
        let spec = spec(1, transform.clone());
        let image = |value: Option<&Value>| transform.apply(value);
        for asked in world {
            let v = || asked.clone();
            let pair = || Values::new([v(), world[0].clone()]);
            let mut ops = vec![
                Op::IsNull,
                Op::NotNull,
                Op::Lt(v()),
                Op::LtEq(v()),
                Op::Gt(v()),
                Op::GtEq(v()),
                Op::Eq(v()),
                Op::NotEq(v()),
                Op::In(pair()),
                Op::NotIn(pair()),
            ];
            if matches!(primitive, Primitive::String | Primitive::Binary) {
                ops.extend([Op::StartsWith(v()), Op::NotStartsWith(v())]);
            }
            for op in ops {
                let column = Column { id: 1, path: vec!["x".into()], primitive };
                let filter = Filter::Test(Test { column, op: op.clone() });
                let inclusive = project::inclusive(&filter, &spec);
                let strict = project::strict(&filter, &spec);
                for value in with_null() {
                    let Some(partition) = image(value) else { continue };
                    let of = |filter: &Filter| filter.eval(&|_| partition.as_ref()) == Truth::True;
                    let wanted = op.eval(value) == Truth::True;
                    let place = format!("{filter} of {value:?} under {transform}");
                    assert!(of(&inclusive) || !wanted, "{place}: {inclusive}");
                    assert!(wanted || !of(&strict), "{place}: {strict}");
                    skipped += usize::from(!of(&inclusive));
                    covered += usize::from(of(&strict));
                }
            }
        }
    }
    (skipped, covered)
}

#[test]
fn every_text_under_truncate() {
    let mut world = vec![String::new()];
    for length in 0..4 {
        let longer: Vec<_> =
            world.iter().filter(|t| t.chars().count() == length).cloned().collect();
        world.extend(longer.iter().flat_map(|t| ["a", "ä"].map(|letter| format!("{t}{letter}"))));
    }
    let values: Vec<_> = world.iter().map(|t| text(t)).collect();
    let widths = [1, 2, 3].map(Transform::Truncate);
    let (skipped, covered) = exhaust(Primitive::String, &values, &widths);
    assert!(skipped > 8_000 && covered > 8_000, "{skipped} {covered}");
    let bytes: Vec<_> = world.iter().map(|t| Value::Binary(t.bytes().take(3).collect())).collect();
    exhaust(Primitive::Binary, &bytes, &widths);
}

#[test]
fn every_number_under_truncate_and_bucket() {
    let transforms =
        [1, 2, 3, 10].map(Transform::Truncate).into_iter().chain([Transform::Bucket(3)]);
    let transforms: Vec<_> = transforms.collect();
    let mut ints: Vec<_> = (-22..22).map(Value::Int).collect();
    ints.extend([i32::MIN, i32::MIN + 1, i32::MAX - 1, i32::MAX].map(Value::Int));
    let (skipped, covered) = exhaust(Primitive::Int, &ints, &transforms);
    assert!(skipped > 20_000 && covered > 20_000, "{skipped} {covered}");
    let decimals: Vec<_> = (-22..22).map(|v| Value::Decimal(v, 2)).collect();
    exhaust(Primitive::Decimal { precision: 7, scale: 2 }, &decimals, &transforms);
}

#[test]
fn every_moment_under_time_transforms() {
    let transforms = [Transform::Year, Transform::Month, Transform::Day, Transform::Hour];
    let half = 43_200_000_000i64;
    let days = [-366, -365, -32, -31, -2, -1, 0, 1, 31, 365];
    let moments: Vec<i64> =
        days.iter().flat_map(|d| [-1, 0, 1, half].map(|o| d * 2 * half + o)).collect();
    let micros: Vec<_> = moments.iter().map(|v| Value::Timestamp(*v)).collect();
    let nanos: Vec<_> =
        moments.iter().flat_map(|v| [-1, 0].map(|n| Value::TimestampNs(v * 1000 + n))).collect();
    let (skipped, covered) = exhaust(Primitive::Timestamp, &micros, &transforms);
    assert!(skipped > 20_000 && covered > 10_000, "{skipped} {covered}");
    exhaust(Primitive::TimestampNs, &nanos, &transforms);
    let dates: Vec<_> = (-40..40).map(Value::Date).collect();
    exhaust(Primitive::Date, &dates, &transforms[..3]);
}

#[test]
fn f1_times_before_1970_floor_and_early_files_are_kept() {
    let before = bind("ts = timestamp '1969-12-31 23:59:59.999999'");
    let inclusive = project::inclusive(&before, &spec(4, Transform::Day));
    assert_eq!(inclusive.to_string(), "p IN (date '1969-12-31', date '1970-01-01')");
    let pruner = Pruner::new(&before, &spec(4, Transform::Hour));
    for (hour, want) in [(-2, false), (-1, true), (0, true), (1, false)] {
        let keep = pruner.partition(&vec![Some(Value::Int(hour))]) == Decision::Keep;
        assert_eq!(keep, want, "hour {hour}");
    }
}

#[test]
fn f2_an_hour_too_far_is_never_projected() {
    let far = bind("ts > timestamp '+250000-01-01 00:00:00'");
    assert_eq!(project::inclusive(&far, &spec(4, Transform::Hour)), Filter::True);
    assert_eq!(project::strict(&far, &spec(4, Transform::Hour)), Filter::False);
}

#[test]
fn f4_f5_f7_f10_transforms_of_literals() {
    let ns = bind("ns = timestamp '2017-11-16 22:31:08.000001001'");
    let hours = project::inclusive(&ns, &spec(12, Transform::Hour));
    assert_eq!(hours.to_string(), "p IN (419686)");
    let day = project::inclusive(&ns, &spec(12, Transform::Day));
    assert_eq!(day.tests()[0].column.primitive, Primitive::Date);
    let dec = bind("dec = 14.20");
    assert_eq!(project::inclusive(&dec, &spec(7, Transform::Bucket(16))).to_string(), "p IN (3)");
}

#[test]
fn f8_f41_zero_and_empty_are_values() {
    let empty = bounded(2, 3, 0, &text(""), &text(""));
    assert_eq!(reason(metrics(&bind("s = 'a'"), &empty)), "s: upper bound  is below a");
    assert!(all_match(&bind("s = ''"), &empty));
    let pruner = Pruner::new(&bind("x = 0"), &spec(1, Transform::Identity));
    assert_eq!(pruner.partition(&vec![Some(Value::Int(0))]), Decision::Keep);
    assert_ne!(pruner.partition(&vec![None]), Decision::Keep);
    let pruner = Pruner::new(&bind("s = ''"), &spec(2, Transform::Truncate(4)));
    assert_eq!(pruner.partition(&vec![Some(text(""))]), Decision::Keep);
}

#[test]
fn f11_not_starts_with() {
    let spec = spec(2, Transform::Truncate(2));
    let shown = |filter: &str| {
        let filter = bind(filter);
        (
            project::inclusive(&filter, &spec).to_string(),
            project::strict(&filter, &spec).to_string(),
        )
    };
    assert_eq!(shown("s NOT LIKE 'abc%'"), ("TRUE".into(), "p != 'ab'".into()));
    assert_eq!(shown("s NOT LIKE 'äb%'"), ("p NOT LIKE 'äb%'".into(), "p NOT LIKE 'äb%'".into()));
    assert_eq!(shown("s LIKE 'abc%'"), ("p = 'ab'".into(), "FALSE".into()));
    let not_ab = bind("s NOT LIKE 'ab%'");
    for (value, want) in
        [("ab", false), ("abc", false), ("a", true), ("äb", true)].map(|(v, w)| (Some(text(v)), w))
    {
        assert_eq!(not_ab.eval(&|_| value.as_ref()) == Truth::True, want, "{value:?}");
    }
    assert_eq!(not_ab.eval(&|_| None), Truth::Unknown);
    let all_ab = bounded(2, 2, 0, &text("ab"), &text("abz"));
    assert_eq!(reason(metrics(&not_ab, &all_ab)), "s: every value is or begins with ab");
}

#[test]
fn f13_strict_not_in_with_nan_and_nulls() {
    let mut file = bounded(3, 2, 0, &Value::Double(1.0), &Value::Double(f64::NAN));
    file.nan_value_counts.insert(3, 1);
    assert!(!all_match(&bind("d NOT IN (1, 2)"), &file));
    let nulls = bounded(1, 3, 1, &Value::Int(5), &Value::Int(9));
    assert!(!all_match(&bind("x != 1"), &nulls));
    assert!(all_match(
        &bind("x != 1 OR x IS NULL"),
        &bounded(1, 3, 0, &Value::Int(5), &Value::Int(9))
    ));
}

#[test]
fn f14_f16_null_is_not_nan() {
    let not_nan = bind("d IS NOT NAN");
    let pruner = Pruner::new(&not_nan, &spec(3, Transform::Identity));
    assert_ne!(pruner.partition(&vec![None]), Decision::Keep);
    assert_eq!(pruner.partition(&vec![Some(Value::Double(1.0))]), Decision::Keep);
    assert_eq!(metrics(&not_nan, &file(3)), Decision::Keep); // no word of the column
    let values = [Some(Value::Double(f64::NAN)), Some(Value::Double(1.0)), None];
    let wanted =
        |filter: &str| values.each_ref().map(|v| bind(filter).eval(&|_| v.as_ref()) == Truth::True);
    assert_eq!(wanted("is_nan(d)"), [true, false, false]);
    assert_eq!(wanted("NOT isnan(d)"), [false, true, false]);
}

#[test]
fn f17_nan_is_above_every_bound() {
    let mut file = bounded(3, 3, 0, &Value::Double(1.0), &Value::Double(2.0));
    let above = bind("d > 5");
    assert_eq!(metrics(&above, &file), Decision::Keep); // the count of NaNs is unknown
    file.nan_value_counts.insert(3, 1);
    assert_eq!(metrics(&above, &file), Decision::Keep);
    assert_ne!(metrics(&bind("d < 0"), &file), Decision::Keep);
    file.nan_value_counts.insert(3, 0);
    assert_eq!(reason(metrics(&above, &file)), "d: upper bound 2 is below 5");
}

#[test]
fn f19_void_and_unknown_transforms_say_nothing() {
    for transform in [Transform::Void, Transform::Unknown("content".into())] {
        for filter in ["x != 2", "NOT (x = 0)", "x IS NULL", "x IS NOT NULL"] {
            assert_eq!(
                project::inclusive(&bind(filter), &spec(1, transform.clone())),
                Filter::True
            );
            assert_eq!(project::strict(&bind(filter), &spec(1, transform.clone())), Filter::False);
        }
    }
}

#[test]
fn f20_a_pruner_may_be_shared() {
    fn shared<T: Send + Sync>(_: &T) {}
    let pruner = Pruner::new(&bind("x = 1"), &spec(1, Transform::Identity));
    shared(&pruner);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for x in 0..200 {
                    let keep = pruner.partition(&vec![Some(Value::Int(x))]) == Decision::Keep;
                    assert_eq!(keep, x == 1);
                }
            });
        }
    });
}

#[test]
fn f22_negative_counts_say_nothing() {
    let mut file = file(3);
    file.value_counts.insert(1, -1);
    file.null_value_counts.insert(1, -1);
    for filter in ["x = 1", "x IS NULL", "x IS NOT NULL"] {
        assert_eq!(metrics(&bind(filter), &file), Decision::Keep);
        assert!(!all_match(&bind(filter), &file));
    }
}

#[test]
fn f23_a_manifest_of_existing_entries_is_alive() {
    let pruner = Pruner::new(&bind("x IS NOT NULL"), &spec(1, Transform::Identity));
    let mut line = manifest(Some(summary(false, &Value::Int(1), &Value::Int(2))));
    let counts = |added, existing| Counts {
        added_files: added,
        existing_files: existing,
        ..Counts::default()
    };
    line.counts = counts(Some(0), Some(3));
    assert_eq!(pruner.manifest(&line), Decision::Keep);
    line.counts = counts(None, None); // version 1
    assert_eq!(pruner.manifest(&line), Decision::Keep);
    line.counts = counts(Some(0), Some(0));
    assert_eq!(reason(pruner.manifest(&line)), "every file of it is deleted");
}

#[test]
fn f25_no_function_reaches_a_bound() {
    for (filter, want) in [
        ("abs(x) = 5", "the function abs in a filter, at line 1, column 1"),
        ("x % 3 = 0", "an expression in a filter, at line 1, column 3"),
        ("s = 'a' AND\n lower(s) = 'a'", "the function lower in a filter, at line 2, column 2"),
        ("x + 1 > 2", "an expression"),
        ("x > 2 + 1", "an expression"),
        ("x = l", "comparing two columns"),
        ("s LIKE 'a%c'", "the pattern 'a%c'"),
        ("s LIKE '_a'", "the pattern"),
        ("cast(x AS string) = '1'", "a cast"),
    ] {
        let error = parse(filter).unwrap_err();
        assert!(matches!(error, Error::Unsupported { .. }), "{filter}");
        assert!(error.to_string().contains(want), "{error}");
    }
}

#[test]
fn f26_a_cast_to_date_is_a_range() {
    let filter = bind("cast(ts AS date) = date '2026-08-01'");
    let want = "ts >= timestamp '2026-08-01 00:00:00' AND ts < timestamp '2026-08-02 00:00:00'";
    assert_eq!(filter.to_string(), want);
    let ten = Value::Timestamp(1_785_578_400_000_000); // 2026-08-01 10:00
    assert_eq!(filter.eval(&|_| Some(&ten)), Truth::True);
    assert_eq!(bind("cast(ts AS date) <> '2026-08-01'").eval(&|_| Some(&ten)), Truth::False);
    assert_eq!(
        bind("cast(ts AS date) BETWEEN '2026-07-31' AND '2026-08-01'").eval(&|_| Some(&ten)),
        Truth::True
    );
    assert!(refused("cast(tz AS date) = '2026-08-01'").contains("names no zone"));
    let days = project::inclusive(&filter, &spec(4, Transform::Day));
    assert_eq!(days.to_string(), "p >= date '2026-08-01' AND p <= date '2026-08-01'");
}

#[test]
fn f31_half_a_letter_as_a_bound_is_ignored() {
    let mut file = bounded(2, 2, 0, &text("a"), &text("b"));
    file.lower_bounds.insert(2, vec![0x7b, 0x22, 0x4f, 0xe2]);
    assert_eq!(metrics(&bind("s = 'A'"), &file), Decision::Keep);
    assert_eq!(reason(metrics(&bind("s = 'c'"), &file)), "s: upper bound b is below c");
}

#[test]
fn f34_f35_decimal_bounds_extend_their_sign() {
    let low = Value::Decimal(-996_953, 2);
    assert_eq!(low.to_bytes(), [0xf0, 0xc9, 0xa7]);
    let file = bounded(7, 2, 0, &low, &Value::Decimal(350, 2));
    assert_eq!(metrics(&bind("dec = -9969.53"), &file), Decision::Keep);
    assert_eq!(
        reason(metrics(&bind("dec < -9969.53"), &file)),
        "dec: lower bound -9969.53 is not below -9969.53"
    );
    assert_eq!(
        reason(metrics(&bind("dec > 3.5"), &file)),
        "dec: upper bound 3.50 is not above 3.50"
    );
}

#[test]
fn f37_nanoseconds_are_compared_as_nanoseconds() {
    let moment = 1_785_578_400_000_000_000;
    let file = bounded(12, 2, 0, &Value::TimestampNs(moment), &Value::TimestampNs(moment + 1));
    assert_eq!(
        metrics(&bind("ns = timestamp '2026-08-01 10:00:00.000000001'"), &file),
        Decision::Keep
    );
    assert_ne!(
        metrics(&bind("ns > timestamp '2026-08-01 10:00:00.000000001'"), &file),
        Decision::Keep
    );
    // In microseconds there is no such moment, so the test moves to the one before.
    let micros = bind("ts < timestamp '2026-08-01 10:00:00.000000001'");
    assert_eq!(micros.to_string(), "ts <= timestamp '2026-08-01 10:00:00'");
    assert_eq!(bind("ts = '2026-08-01T10:00:00.000000001'"), Filter::False);
}

#[test]
fn f40_literals_move_to_the_column_and_not_back() {
    for (written, bound) in [
        ("x < 3e9", "x IS NOT NULL"),
        ("NOT x < 3e9", "FALSE"),
        ("x > 3000000000", "FALSE"),
        ("x != 3000000000", "x IS NOT NULL"),
        ("x IN (1, 3000000000)", "x = 1"),
        ("x IN (2.5)", "FALSE"),
        ("2.5 > x", "x <= 2"),
        ("l = 5", "l = 5"),
        ("dec = 5", "dec = 5.00"),
        ("dec < 1.005", "dec <= 1.00"),
        ("dec < 100000", "dec IS NOT NULL"),
        ("day = '2026-08-01'", "day = date '2026-08-01'"),
        ("day < timestamp '2026-08-01 10:00:00'", "day <= date '2026-08-01'"),
        ("tz = '2026-08-01 12:00:00+02:00'", "tz = timestamp '2026-08-01 10:00:00+00:00'"),
        ("d = 1e300", "d = 1e300"),
    ] {
        assert_eq!(bind(written).to_string(), bound, "{written}");
    }
    for (written, want) in [
        ("x = 'a'", "'a' for the column x of type int is not allowed: text is no int"),
        ("s = 5", "5 for the column s of type string"),
        ("ts = '2026-08-01 10:00:00Z'", "the column has none"),
        ("tz = '2026-08-01 10:00:00'", "names no zone; add +00:00"),
        ("day = 'yesterday'", "a date looks like"),
        ("is_nan(x)", "only floats can be NaN"),
        ("x LIKE 'a%'", "only text and bytes have a beginning"),
        ("nothing = 1", "there is no \"nothing\"; there is x, s"),
        ("address = 1", "\"address\" is a struct<city: string>"),
        ("x = NULL", "ask IS NULL"),
        ("x = ", "the filter at line 1, column 4"),
        ("x = 1 y", "expected AND, OR or the end, found y"),
        ("(x = 1", "expected AND, OR or ), found the end"),
    ] {
        let error = refused(written);
        assert!(error.contains(want), "{written}: {error}");
    }
}

#[test]
fn f44_null_and_nan_and_both_zeros_as_partition_values() {
    let pruner = Pruner::new(&bind("d = 0"), &spec(3, Transform::Identity));
    for (value, want) in
        [(Some(-0.0), true), (Some(0.0), true), (Some(f64::NAN), false), (None, false)]
    {
        let tuple: Tuple = vec![value.map(Value::Double)];
        assert_eq!(pruner.partition(&tuple) == Decision::Keep, want, "{value:?}");
    }
    let zero = bounded(3, 1, 0, &Value::Double(-0.0), &Value::Double(-0.0));
    assert_eq!(metrics(&bind("d >= 0"), &zero), Decision::Keep);
}

#[test]
fn f46_large_filters_take_bounded_time_and_stack() {
    let many: Vec<String> = (0..100_000).map(|v| (v * 2).to_string()).collect();
    let filter = bind(&format!("x IN ({})", many.join(", ")));
    let pruner = Pruner::new(&filter, &spec(1, Transform::Bucket(16)));
    let odd = bounded(1, 1, 0, &Value::Int(7), &Value::Int(7));
    let want = "x: none of the 100000 values asked for is within the bounds 7 to 7";
    assert_eq!(reason(metrics(&filter, &odd)), want);
    for v in 0..1000 {
        let file = DataFile { partition: vec![Some(Value::Int(v % 16))], ..odd.clone() };
        assert_eq!(reason(pruner.file(&file)), want);
    }
    let ors: Vec<String> = (0..200_000).map(|v| format!("x = {v}")).collect();
    let text = ors.join(" OR ");
    assert!(parse(&format!("{text} OR )")).is_err());
    let negative = bounded(1, 1, 0, &Value::Int(-7), &Value::Int(-7));
    assert!(reason(metrics(&bind(&text), &negative)).ends_with("; and 199997 more alternatives"));

    let deep = format!("{}x = 1{}", "(".repeat(50_000), ")".repeat(50_000));
    assert!(matches!(parse(&deep), Err(Error::Unsupported { .. })));
    bind(&format!("{}x = 1{}", "NOT (".repeat(100), ")".repeat(100)));
    bind(&format!("{}x = 1", "NOT ".repeat(50_000)));
    let nested = (0..=MAX_DEPTH).fold(Predicate::test("x", Op::IsNull), |inner, _| !inner);
    assert!(matches!(nested.bind(&schema(), Case::Sensitive), Err(Error::Unsupported { .. })));
    let chain = (0..5000)
        .fold(Predicate::False, |all, v: i64| all.or(Predicate::test("x", Op::Eq(v.into()))));
    assert_eq!(chain.bind(&schema(), Case::Sensitive).unwrap().tests().len(), 5000);
}

#[test]
fn d1_an_unknown_predicate_takes_no_row() {
    let rows = [Some(Value::Int(1)), Some(Value::Int(2)), None];
    let wanted = |filter: &str| rows.each_ref().map(|v| bind(filter).eval(&|_| v.as_ref()));
    assert_eq!(wanted("x = 2"), [Truth::False, Truth::True, Truth::Unknown]);
    assert_eq!(wanted("NOT x = 2"), [Truth::True, Truth::False, Truth::Unknown]);
    assert_eq!(wanted("x = 2 OR x IS NULL"), [Truth::False, Truth::True, Truth::True]);
    let file = bounded(1, 3, 1, &Value::Int(2), &Value::Int(2));
    assert!(!all_match(&bind("x = 2"), &file)); // the null row must stay
    assert!(all_match(
        &bind("x = 2 OR x IS NULL"),
        &bounded(1, 3, 0, &Value::Int(2), &Value::Int(2))
    ));
}

#[test]
fn e1_e2_a_dropped_source_projects_to_nothing() {
    let gone = spec(99, Transform::Bucket(8));
    let filter = bind("x = 1");
    assert_eq!(project::inclusive(&filter, &gone), Filter::True);
    assert_eq!(project::strict(&filter, &gone), Filter::False);
    let pruner = Pruner::new(&filter, &gone);
    assert_eq!(pruner.partition(&vec![Some(Value::Int(3))]), Decision::Keep);
    assert_eq!(pruner.residual(&vec![Some(Value::Int(3))]), filter);
}

#[test]
fn e4_a_tuple_or_summary_of_another_length_says_nothing() {
    let mut two = spec(99, Transform::Identity);
    let mut second = two.fields[0].clone();
    (second.source_id, second.field_id) = (1, 1001);
    two.fields.push(second);
    let pruner = Pruner::new(&bind("x = 5"), &two);
    let one = manifest(Some(summary(false, &Value::Int(1), &Value::Int(2))));
    assert_eq!(pruner.manifest(&one), Decision::Keep);
    assert_eq!(pruner.partition(&vec![Some(Value::Int(1))]), Decision::Keep);
    let whole = vec![Some(Value::Int(5)), Some(Value::Int(1))];
    assert_eq!(reason(pruner.partition(&whole)), "p: the partition value is 1, asked is 5");
}

#[test]
fn e5_e7_two_fields_of_one_column_both_count() {
    let mut two = spec(4, Transform::Day);
    two.fields.push(PartitionField {
        field_id: 1001,
        transform: Transform::Hour,
        ..two.fields[0].clone()
    });
    let pruner = Pruner::new(&bind("ts = timestamp '2026-08-01 10:00:00'"), &two);
    let (day, hour) = (Value::Date(20_666), 20_666 * 24 + 10);
    assert_eq!(pruner.partition(&vec![Some(day.clone()), Some(Value::Int(hour))]), Decision::Keep);
    assert_ne!(pruner.partition(&vec![Some(day), Some(Value::Int(hour + 1))]), Decision::Keep);
}

#[test]
fn e8_a_manifest_of_another_spec_is_kept() {
    let pruner = Pruner::new(&bind("x = 5"), &spec(1, Transform::Identity));
    let mut line = manifest(Some(summary(false, &Value::Int(1), &Value::Int(2))));
    assert_eq!(reason(pruner.manifest(&line)), "p: upper bound 2 is below 5");
    line.partition_spec_id = 0;
    assert_eq!(pruner.manifest(&line), Decision::Keep);
    assert_eq!(pruner.manifest(&manifest(None)), Decision::Keep);
}

#[test]
fn e22_an_absent_column_is_not_null() {
    let mut old = bounded(1, 3, 0, &Value::Int(1), &Value::Int(2)); // knows x only
    old.null_value_counts.insert(1, 0);
    for filter in ["s = 'US'", "s IS NULL", "s IS NOT NULL", "s != 'US'"] {
        assert_eq!(metrics(&bind(filter), &old), Decision::Keep, "{filter}");
        assert!(!all_match(&bind(filter), &old), "{filter}");
    }
}

#[test]
fn e28_names_in_any_case_are_one_or_ambiguous() {
    let twins = Schema::new(vec![
        Field::optional(1, "A", Primitive::Int),
        Field::optional(2, "a", Primitive::Int),
    ]);
    let filter = parse("a = 1").unwrap();
    assert_eq!(filter.bind(&twins, Case::Sensitive).unwrap().tests()[0].column.id, 2);
    let error = filter.bind(&twins, Case::Insensitive).unwrap_err().to_string();
    assert!(error.contains("could be \"A\" or \"a\""), "{error}");
    let city = parse("ADDRESS.City = 'Lima'").unwrap();
    assert!(city.bind(&schema(), Case::Sensitive).is_err());
    let bound = city.bind(&schema(), Case::Insensitive).unwrap();
    assert_eq!(bound.tests()[0].column.id, 11);
    assert_eq!(bound.to_string(), "address.city = 'Lima'");
}

#[test]
fn bounds_from_before_a_promotion_and_bounds_that_contradict() {
    let mut file = bounded(9, 2, 0, &Value::Int(1), &Value::Int(7)); // l was an int
    assert_eq!(reason(metrics(&bind("l > 7"), &file)), "l: upper bound 7 is not above 7");
    file.upper_bounds.insert(9, Value::Long(0).to_bytes()); // below the lower bound
    assert_eq!(metrics(&bind("l > 7"), &file), Decision::Keep);
    file.upper_bounds.insert(9, vec![1, 2, 3]);
    assert_eq!(metrics(&bind("l > 7"), &file), Decision::Keep);
    let uuid = |v| Value::Uuid(uuid::Uuid::from_u128(v));
    let uuids = bounded(8, 3, 0, &uuid(5), &uuid(9));
    let other = bind("u = '00000000-0000-0000-0000-000000000001'");
    assert_eq!(metrics(&other, &uuids), Decision::Keep);
    assert_ne!(metrics(&other, &bounded(8, 3, 0, &uuid(5), &uuid(5))), Decision::Keep);
}

#[test]
fn a_delete_file_speaks_of_the_columns_it_deletes_by() {
    let mut deletes = bounded(1, 2, 0, &Value::Int(1), &Value::Int(4));
    deletes.content = Content::EqualityDeletes;
    let nine = bind("x = 9");
    assert_eq!(metrics(&nine, &deletes), Decision::Keep);
    deletes.equality_ids = Some(vec![1]);
    assert_eq!(reason(metrics(&nine, &deletes)), "x: upper bound 4 is below 9");
    deletes.content = Content::PositionDeletes;
    assert_eq!(metrics(&nine, &deletes), Decision::Keep);
}

#[test]
fn the_drawing_of_prune() {
    let pruner = Pruner::new(&bind("s = 'S03' AND dec > 10"), &spec(2, Transform::Identity));
    let line = manifest(Some(summary(false, &text("S01"), &text("S02"))));
    assert_eq!(reason(pruner.manifest(&line)), "p: upper bound S02 is below S03");
    let tuple = |store: &str| vec![Some(text(store))];
    let s02 = "p: the partition value is S02, asked is S03";
    assert_eq!(reason(pruner.partition(&tuple("S02"))), s02);
    assert_eq!(pruner.residual(&tuple("S03")).to_string(), "dec > 10.00");
    let amounts = |low, high| DataFile {
        partition: tuple("S03"),
        ..bounded(7, 4, 0, &Value::Decimal(low, 2), &Value::Decimal(high, 2))
    };
    assert_eq!(reason(pruner.file(&amounts(150, 990))), "dec: upper bound 9.90 is below 10.00");
    assert!(pruner.covers(&amounts(1200, 1500)) && !pruner.covers(&amounts(900, 1500)));
    assert_eq!(Contents::of_partition(None).refuses(&Op::IsNull), None);
}
