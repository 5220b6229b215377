//! Dates and times as text (ISO 8601), in both directions.
//!
//! ```text
//!   17486                      days    2017-11-16
//!   81_068_123_456_000         nanos   22:31:08.123456
//!   1_510_871_468_000_000_000  nanos   2017-11-16 22:31:08          + zone: 2017-11-16 22:31:08+00:00
//!
//!   year ─ month ─ day   T or blank   hour : minute [: second [. 1 to 9 digits]]   [Z | ±hh:mm]
//! ```
//!
//! The calendar is the proleptic Gregorian one. A year has four digits, or a sign and up to seven, as
//! an `int` of days reaches the year 5,881,580. Nothing here knows leap seconds: neither does Iceberg.
//!
//! Specification: "Primitive Types", Appendix D.

/// Nanoseconds of a day.
pub(crate) const DAY: i128 = 86_400_000_000_000;
const SECOND: i128 = 1_000_000_000;

/// Days since 1970-01-01 of `2017-11-16`.
pub(crate) fn parse_date(text: &str) -> Option<i32> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut parts = digits.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    let signed = digits.len() != text.len();
    if parts.next().is_some() || (!signed && year.len() != 4) || !(4..=7).contains(&year.len()) {
        return None;
    }
    let (year, month, day) = (sign * number(year)?, two(month)?, two(day)?);
    let days = days(year, month, day);
    // 2026-02-30 would be 2026-03-02: a date is one that prints as it was written.
    (civil(days) == (year, month, day)).then_some(i32::try_from(days).ok()?)
}

/// Nanoseconds since midnight of `22:31:08.123456`.
pub(crate) fn parse_time(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (hour, minute) = (two(parts.next()?)?, two(parts.next()?)?);
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(text) => match text.split_once('.') {
            None => (two(text)?, 0),
            Some((second, digits)) => {
                let scale = 10i64.checked_pow(9u32.checked_sub(u32::try_from(digits.len()).ok()?)?);
                (two(second)?, number(digits)? * scale?)
            }
        },
    };
    let in_range = hour < 24 && minute < 60 && second < 60 && parts.next().is_none();
    in_range.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000_000 + fraction)
}

/// Nanoseconds since 1970 of `2017-11-16T22:31:08`, and whether it names a zone; a date alone is its
/// midnight.
pub(crate) fn parse_timestamp(text: &str) -> Option<(i128, bool)> {
    let Some((date, rest)) = text.split_once(['T', ' ']) else {
        return Some((i128::from(parse_date(text)?) * DAY, false));
    };
    let (time, offset) = match rest.find(['Z', '+', '-']) {
        None => (rest, None),
        Some(at) => (rest.get(..at)?, Some(parse_offset(rest.get(at..)?)?)),
    };
    let local = i128::from(parse_date(date)?) * DAY + i128::from(parse_time(time)?);
    Some((local - i128::from(offset.unwrap_or(0)) * SECOND, offset.is_some()))
}

/// Seconds east of UTC of `Z`, `+02:00` or `-05`.
fn parse_offset(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let (hour, minute) = digits.split_once(':').unwrap_or((digits, "00"));
    let (hour, minute) = (two(hour)?, two(minute)?);
    (hour <= 18 && minute < 60).then_some(sign * (hour * 3600 + minute * 60))
}

fn two(text: &str) -> Option<i64> {
    if text.len() == 2 { number(text) } else { None }
}

fn number(text: &str) -> Option<i64> {
    if text.bytes().all(|b| b.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// `2017-11-16` of days since 1970-01-01.
pub(crate) fn date(days: i128) -> String {
    let (year, month, day) = civil(i64::try_from(days).unwrap_or(i64::from(i32::MAX)));
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+05}"),
    };
    format!("{year}-{month:02}-{day:02}")
}

/// `22:31:08.123456` of nanoseconds since midnight: no fraction, six digits or nine.
pub(crate) fn time(nanos: i128) -> String {
    let (seconds, nanos) = (nanos / SECOND, nanos % SECOND);
    let fraction = match nanos {
        0 => String::new(),
        _ if nanos % 1000 == 0 => format!(".{:06}", nanos / 1000),
        _ => format!(".{nanos:09}"),
    };
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}{fraction}")
}

/// `2017-11-16 22:31:08` of nanoseconds since 1970, and `+00:00` behind it when `zoned`.
pub(crate) fn timestamp(nanos: i128, zoned: bool) -> String {
    let zone = if zoned { "+00:00" } else { "" };
    format!("{} {}{zone}", date(nanos.div_euclid(DAY)), time(nanos.rem_euclid(DAY)))
}

/// Days since 1970-01-01. Years begin in March here, so that the leap day ends one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (month + if month > 2 { -3 } else { 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Year, month and day of days since 1970-01-01: [`days`] backwards. Every span is a division: 400 years
/// have 146,097 days, and five months from March on have 153.
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let january = i64::from(month >= 10);
    (year + era * 400 + january, if month < 10 { month + 3 } else { month - 9 }, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_becomes_moments() {
        assert_eq!(parse_date("2017-11-16"), Some(17_486));
        assert_eq!(parse_date("1969-12-31"), Some(-1));
        assert_eq!(parse_date("+5881580-07-11"), Some(i32::MAX));
        assert_eq!(parse_date("-5877641-06-23"), Some(i32::MIN));
        assert_eq!(parse_time("22:31:08"), Some(81_068_000_000_000));
        let nanos = 1_510_871_468_000_000_000;
        assert_eq!(parse_timestamp("2017-11-16T22:31:08"), Some((nanos, false)));
        assert_eq!(parse_timestamp("2017-11-16 22:31:08.000001Z"), Some((nanos + 1000, true)));
        assert_eq!(parse_timestamp("2017-11-16T14:31:08-08:00"), Some((nanos, true)));
        assert_eq!(parse_timestamp("2017-11-16"), Some((17_486 * DAY, false)));
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in ["2026-02-30", "2026-13-01", "26-01-01", "2026-1-1", "12026-01-01", "", "a"] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in ["24:00", "1:00", "10:60", "10:00:60", "10:00:00.1234567890", "10:00:00:00"] {
            assert_eq!(parse_time(text), None, "{text}");
        }
        for text in ["2026-08-01 10:00+25:00", "2026-08-01 10:00+2", "2026-08-01Z", "é 10:00"] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn moments_survive(days in any::<i32>(), micros in any::<i64>(), nanos in 0..86_400_000_000_000i64) {
            prop_assert_eq!(parse_date(&date(days.into())), Some(days));
            prop_assert_eq!(parse_time(&time(nanos.into())), Some(nanos));
            let wide = i128::from(micros) * 1000;
            prop_assert_eq!(parse_timestamp(&timestamp(wide, true)), Some((wide, true)));
        }

        #[test]
        fn no_text_panics(text in ".{0,30}") {
            let _ = (parse_date(&text), parse_time(&text), parse_timestamp(&text));
        }
    }
}
