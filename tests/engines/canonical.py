"""The canonical form: one spelling for each value, so that two readers can be compared.

    value   one Arrow scalar   ->  its canonical JSON value
    rows    an Arrow table     ->  its rows, sorted
    run     a program's `main` ->  one JSON document on stdout, or an error and exit 1
"""

import json
import math
import struct
import sys

import pyarrow as pa


def value(scalar):
    """One Arrow scalar in canonical form.

    decimal "1.50" | date "2026-08-03" | time "08:45:00.000000" | timestamp
    "2026-08-03T08:45:00.000000", 9 digits for nanoseconds, +00:00 when zoned
    | binary lower hex | NaN and infinities as strings | map [[key, value], ...] sorted.
    """
    kind = scalar.type
    if not scalar.is_valid:
        return None
    if pa.types.is_dictionary(kind):
        return value(scalar.value)
    if pa.types.is_struct(kind):
        return {kind.field(i).name: value(scalar[i]) for i in range(kind.num_fields)}
    if pa.types.is_map(kind):
        pairs = [[value(pair["key"]), value(pair["value"])] for pair in scalar.values]
        return sorted(pairs, key=text)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [value(item) for item in scalar.values]
    if pa.types.is_timestamp(kind):
        return timestamp(scalar, kind)
    if pa.types.is_time(kind):
        return scalar.as_py().isoformat(timespec="microseconds")
    if pa.types.is_date(kind):
        return scalar.as_py().isoformat()
    if pa.types.is_decimal(kind):
        return format(scalar.as_py(), "f")
    if pa.types.is_float32(kind):
        return real(shortest_float32(scalar.as_py()))
    if pa.types.is_floating(kind):
        return real(scalar.as_py())
    plain = scalar.as_py()
    if isinstance(plain, bytes):
        return plain.hex()
    return plain if isinstance(plain, (bool, int, str)) else str(plain)  # str: a UUID


def timestamp(scalar, kind):
    zone = "+00:00" if kind.tz else ""
    ticks = scalar.value
    nanos = ""
    if kind.unit == "ns":  # Python's datetime stops at microseconds
        ticks, rest = divmod(ticks, 1000)
        nanos = f"{rest:03}"
    unit = "us" if kind.unit == "ns" else kind.unit
    whole = pa.scalar(ticks, pa.int64()).cast(pa.timestamp(unit)).as_py()
    return whole.isoformat(timespec="microseconds") + nanos + zone


def real(number):
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return number


def shortest_float32(number):
    """0.1 for the float nearest to it, not the 0.10000000149011612 it widens to."""
    if not math.isfinite(number):
        return number
    for digits in range(1, 10):
        candidate = float(f"{number:.{digits}g}")
        try:
            if struct.pack("<f", candidate) == struct.pack("<f", number):
                return candidate
        except OverflowError:  # rounded up past the largest float: more digits needed
            continue
    return number


def text(document):
    """Compact JSON with sorted keys: the form that is printed, and that sorting compares."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def rows(arrow):
    """The rows of an Arrow table, sorted by `id` where that is a number, then by JSON text."""

    def order(row):
        key = row.get("id")
        key = key if isinstance(key, int) else None
        return (key is not None, key or 0, text(row))

    return sorted(records(arrow), key=order)


def records(arrow):
    """The rows of an Arrow table, in its order."""
    columns = [[value(scalar) for scalar in column] for column in arrow.columns]
    return [dict(zip(arrow.column_names, row)) for row in zip(*columns)]


def run(main, usage):
    """Calls `main` with the arguments that `usage` names; prints what it returns."""
    arguments = sys.argv[1:]
    if len(arguments) != len(usage.split()) - 1:
        sys.exit(f"usage: {usage}")
    try:
        document = main(*arguments)
    except Exception as error:  # of any kind: the caller reads the reason, and exit 1
        sys.exit(f"{type(error).__name__}: {error}")
    sys.stdout.reconfigure(encoding="utf-8")
    print(text(document))
