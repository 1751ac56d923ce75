#!/usr/bin/env python3
"""Makes the Parquet files of tests/data/tables/parquet, with pyarrow (scripts/arrow.txt has its version).

    make_tables.py FOLDER

The values are in tests/data/tables/parquet_test.cpp too: change both. Each file is small.
"""
import datetime
import decimal
import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def types_table():
    """A column of each type that dtrain reads, of five rows with a missing value in the fourth."""
    date, utc = datetime.date, datetime.timezone.utc
    moments = [datetime.datetime(1970, 1, 1, tzinfo=utc), datetime.datetime(1970, 1, 2, 12, tzinfo=utc),
               datetime.datetime(1969, 12, 31, 18, tzinfo=utc), None, datetime.datetime(2024, 2, 29, 6, tzinfo=utc)]
    days = [date(1970, 1, 1), date(2024, 2, 29), date(1969, 12, 31), None, date(1970, 1, 2)]
    columns = {"flag": pa.array([True, False, True, None, False])}
    for bits in (8, 16, 32, 64):
        columns[f"i{bits}"] = pa.array([-2**(bits - 1), 2**(bits - 1) - 1, 0, None, 1], pa.from_numpy_dtype(f"int{bits}"))
        columns[f"u{bits}"] = pa.array([0, 2**bits - 1, 1, None, 2], pa.from_numpy_dtype(f"uint{bits}"))
    columns["half"] = pa.array([0.5, -2, 65504, None, 2**-24], pa.float64()).cast(pa.float16())
    columns["single"] = pa.array([0.5, -1.25, 3e38, None, 0.1], pa.float32())
    columns["double"] = pa.array([0.1, -1e300, 0, None, 2.5], pa.float64())
    for digits, scale in ((7, 2), (16, 3), (38, 10), (50, 5)):
        kind = pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(digits, scale)
        values = ["1.5", "-12345.67", "0", None, "99999.99"]
        columns[f"decimal{digits}"] = pa.array([value and decimal.Decimal(value) for value in values], kind)
    columns["date32"] = pa.array(days, pa.date32())
    columns["date64"] = pa.array(days, pa.date64())
    for unit in ("ms", "us", "ns"):
        columns[f"time_{unit}"] = pa.array(moments, pa.timestamp(unit, tz="UTC"))
    columns["of_day"] = pa.array([datetime.time(6), datetime.time(12), datetime.time(0), None, datetime.time(18)],
                                 pa.time64("us"))
    words = ["red", "green", "red", None, "blue"]
    columns["text"] = pa.array(words)
    columns["large_text"] = pa.array(words, pa.large_string())
    columns["category"] = pa.array(words).dictionary_encode()
    columns["nothing"] = pa.nulls(5)
    columns["y"] = pa.array([1, 0, 1, 0, 1], pa.int32())
    return pa.table(columns)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    types = types_table()
    small = {"write_statistics": False, "store_schema": False}
    pq.write_table(types, folder / "types.parquet", row_group_size=3, compression="zstd", **small)
    # Old forms: pages of version 1, timestamps as INT96, no dictionary.
    old = types.select(["time_ns", "text", "double", "y"])
    pq.write_table(old, folder / "old.parquet", version="1.0", data_page_version="1.0", use_dictionary=False,
                   use_deprecated_int96_timestamps=True, compression="gzip", write_page_checksum=True, **small)
    nested = pa.table({"y": [1, 2, 3], "list": [[1], [2, 3], []], "pair": [{"a": 1, "b": 2}] * 3, "x": [0.5, 1.5, 2.5],
                       "raw": pa.array([b"abc"] * 3, pa.binary(3))})
    pq.write_table(nested, folder / "nested.parquet")
    pq.write_table(pa.table({"y": pa.array([], pa.float64()), "x": pa.array([], pa.float64())}), folder / "empty.parquet")


if __name__ == "__main__":
    main()
