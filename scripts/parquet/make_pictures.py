#!/usr/bin/env python3
"""Makes the Parquet files of tests/data/pictures/parquet, with pyarrow: pictures as Hugging Face's datasets write them.

    make_pictures.py FOLDER

The pixels and classes are in tests/data/pictures/parquet_pictures_test.cpp too: change both.
"""
import json
import pathlib
import struct
import sys
import zlib

import pyarrow as pa
import pyarrow.parquet as pq

HEIGHT, WIDTH = 6, 8
NAMES = ["zebra", "ant", "cat"]  # in the order of the labels, which is not the alphabet's
PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def png(number):
    """A PNG file whose samples are (31 x + 17 y + 7 c + 23 number) mod 256."""
    rows = b"".join(b"\0" + bytes((31 * x + 17 * y + 7 * c + 23 * number) % 256 for x in range(WIDTH) for c in range(3))
                    for y in range(HEIGHT))

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def noted(table, features):
    return table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})


def class_label(names):
    return {"_type": "ClassLabel", "names": names}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, begin, end in (("train-00000-of-00002", 0, 5), ("train-00001-of-00002", 5, 10),
                             ("test-00000-of-00001", 10, 13)):
        numbers = range(begin, end)
        table = pa.table({"image": pa.array([{"bytes": png(n), "path": f"{n}.png"} for n in numbers], PICTURE),
                          "label": pa.array([n % 3 for n in numbers], pa.int64()),
                          "caption": pa.array([f"number {n}" for n in numbers])})
        features = {"image": {"_type": "Image"}, "label": class_label(NAMES)}
        pq.write_table(noted(table, features), folder / f"{name}.parquet", row_group_size=2)

    # Columns for what may be wrong; each is valid but for its third row.
    four = [png(n) for n in range(4)]
    structs = [{"bytes": bytes_, "path": None} for bytes_ in four]
    odd = pa.table({
        "plain": pa.array(four, pa.binary()),
        "no_bytes": pa.array(structs[:2] + [{"bytes": None, "path": "2.png"}] + structs[3:], PICTURE),
        "no_struct": pa.array(structs[:2] + [None] + structs[3:], PICTURE),
        "no_picture": pa.array(four[:2] + [b"<html>"] + four[3:], pa.binary()),
        "word": pa.array(["rose", "daisy", "rose", "daisy"]),
        "number": pa.array([1, 0, 1, 0], pa.int8()),
        "no_number": pa.array([1, 0, None, 0], pa.int8()),
        "no_word": pa.array(["a", "b", None, "b"]),
        "half": pa.array([0.0, 1.0, 0.5, 1.0]),
        "far": pa.array([0, 1, 3, 1], pa.int64()),
        "unknown": pa.array([0, 1, -1, 1], pa.int64()),
        "day": pa.array([0, 1, 2, 3], pa.date32()),
        "boxes": pa.array([[1], [2], [], [3]]),
    })
    features = {"far": class_label(NAMES), "unknown": class_label(NAMES)}
    pq.write_table(noted(odd, features), folder / "odd.parquet")


if __name__ == "__main__":
    main()
