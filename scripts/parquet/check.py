#!/usr/bin/env python3
"""scripts/check_parquet starts this: check.py PROGRAM FOLDER"""
import datetime
import decimal
import io
import json
import pathlib
import subprocess
import sys
import tarfile
import time

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

PROGRAM, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])  # or --pyarrow FILE
ROWS = 3000
failed = 0

JOB = """
name: table
strategy: {{kind: mirrored, replicas: 1}}
data:
  dataset: {dataset}
  path: {path}
  target: y
  missing: mean
  {columns}
  split: {{test: 0.2}}
batch: {{per_replica: 100}}
model: {{kind: mlp, hidden: [8]}}
train: {{epochs: 1, loss: mean_squared_error}}
"""


def claim(what, holds):
    global failed
    failed += not holds
    print(("ok      " if holds else "FAILED  ") + what, flush=True)


def dtrain(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def make_columns():
    """The table, as pyarrow has it and as text."""
    random = np.random.default_rng(7)
    missing = random.random((20, ROWS)) < 0.1
    day, utc = datetime.date(1970, 1, 1), datetime.timezone.utc
    days = random.integers(-20000, 40000, ROWS).tolist()
    moments = [datetime.datetime(1970, 1, 1, tzinfo=utc) + datetime.timedelta(days=d, seconds=int(s))
               for d, s in zip(days, random.integers(0, 86400, ROWS))]
    cents = random.integers(-10**9, 10**9, ROWS).tolist()
    made = {
        "double": (random.normal(size=ROWS).tolist(), pa.float64(), repr),
        "single": (random.normal(size=ROWS).astype(np.float32).tolist(), pa.float32(), repr),
        "int": (random.integers(-10**12, 10**12, ROWS).tolist(), pa.int64(), str),
        "small": (random.integers(0, 200, ROWS).tolist(), pa.uint8(), str),
        "flag": ((random.random(ROWS) < 0.3).tolist(), pa.bool_(), lambda value: str(int(value))),
        "cents": ([decimal.Decimal(c) / 100 for c in cents], pa.decimal128(18, 2), str),
        "day": ([day + datetime.timedelta(days=d) for d in days], pa.date32(), str),
        "moment": (moments, pa.timestamp("us", tz="UTC"), lambda value: value.strftime("%Y-%m-%d %H:%M:%S")),
        "word": ([f"word {w}" for w in random.integers(0, 50, ROWS)], pa.string(), str),
        "y": (random.normal(size=ROWS).tolist(), pa.float64(), repr),
    }
    arrays, text = {}, {}
    for place, (name, (values, kind, write)) in enumerate(made.items()):
        if name != "y":
            values = [None if gone else value for value, gone in zip(values, missing[place])]
        arrays[name] = pa.array(values, kind)
        text[name] = ["" if value is None else write(value) for value in values]
    return pa.table(arrays), text


def numbers_of(column):
    """As dtrain should see them, computed by others: float64 without the missing ones; None for words."""
    kind = column.type
    if pa.types.is_string(kind):
        return None
    values = [value for value in column.to_pylist() if value is not None]
    if pa.types.is_date(kind):
        return np.array([(value - datetime.date(1970, 1, 1)).days for value in values], np.float64)
    if pa.types.is_timestamp(kind):
        return np.array([value.timestamp() / 86400 for value in values])
    return np.array([float(value) for value in values])


def run(dataset, path, name):
    """Trains, and returns the loss of each epoch and the description of the table."""
    job = FOLDER / f"{name}.yaml"
    columns = "columns: {day: date, moment: date, word: words}" if dataset == "csv" else ""
    job.write_text(JOB.format(dataset=dataset, path=path, columns=columns))
    done = dtrain("run", job, "--run-dir", FOLDER / "runs" / name)
    if done.returncode != 0:
        print(done.stderr)
        return None
    return (FOLDER / "runs" / name / "metrics.jsonl").read_text()


def losses(metrics):
    lines = [json.loads(line) for line in (metrics or "").splitlines()]
    return [line.get("metrics") or line.get("loss") for line in lines if line.get("event") == "epoch"]


def write_files(table):
    """Yields the name and the path of each file that another program writes."""
    for compression in ("none", "snappy", "gzip", "brotli", "zstd", "lz4"):
        path = FOLDER / f"{compression}.parquet"
        pq.write_table(table, path, compression=compression, row_group_size=700)
        yield f"pyarrow, {compression}", path
    forms = {
        "pages of version 2": {"data_page_version": "2.0", "data_page_size": 1000},
        "format 1.0, checksums": {"version": "1.0", "write_page_checksum": True},
        "without dictionaries": {"use_dictionary": False},
        "INT96": {"use_deprecated_int96_timestamps": True},
        "decimals as integers": {"store_decimal_as_integer": True},
        "delta and split encodings": {"use_dictionary": False, "column_encoding": {
            "double": "BYTE_STREAM_SPLIT", "single": "BYTE_STREAM_SPLIT", "int": "DELTA_BINARY_PACKED",
            "word": "DELTA_BYTE_ARRAY"}},
    }
    for name, options in forms.items():
        path = FOLDER / f"{name.replace(' ', '_')}.parquet"
        pq.write_table(table, path, **options)
        yield f"pyarrow, {name}", path
    pl.from_arrow(table).write_parquet(FOLDER / "polars.parquet")
    yield "polars", FOLDER / "polars.parquet"
    duckdb.sql(f"COPY table TO '{FOLDER}/duckdb.parquet' (FORMAT parquet)".replace("table", "made"))
    yield "DuckDB", FOLDER / "duckdb.parquet"
    parts = FOLDER / "parts"
    parts.mkdir()
    for part in range(3):
        pq.write_table(table.slice(part * 1000, 1000), parts / f"part-{part}.parquet")
    yield "a folder of three files", parts


def check_values(table, text):
    global made
    made = table  # DuckDB finds it by its name
    path = FOLDER / "table.csv"
    lines = [",".join(text)] + [",".join(cells) for cells in zip(*text.values())]
    path.write_text("\n".join(lines) + "\n")
    wanted = losses(run("csv", path, "csv"))
    claim(f"the table in CSV is trained: {wanted}", bool(wanted))
    for number, (name, path) in enumerate(write_files(table)):
        claim(f"{name}: trains to the bits of CSV", losses(run("parquet", path, f"run{number}")) == wanted)
    job = FOLDER / "run0.yaml"
    shown = dtrain("data", "check", job)
    claim("data check finds nothing to refuse", shown.returncode == 0)
    for data in ("none.parquet", "table.csv"):
        predicted = dtrain("predict", FOLDER / "runs" / "run0", FOLDER / data)
        claim(f"a model of Parquet predicts {data}", predicted.returncode == 0)
        (FOLDER / f"{data}.predicted").write_text(predicted.stdout)
    claim("and both alike", (FOLDER / "none.parquet.predicted").read_text() == (FOLDER / "table.csv.predicted").read_text())
    began = dtrain("init", "--from", FOLDER / "none.parquet", "--target", "y")
    claim("init --from writes a job", began.returncode == 0 and "dataset: parquet" in began.stdout)


PARTS = """
name: parts
strategy: {{kind: mirrored, replicas: 1}}
data: {{dataset: {dataset}, path: {path}, target: y, id: nr, split: {{test: 0.2, {by}}}}}
batch: {{per_replica: 50}}
model: {{kind: mlp, hidden: [8]}}
train: {{epochs: 1, loss: mean_squared_error}}
"""


def check_parts():
    """Parts by groups and by times, and the column that names the rows, against CSV."""
    random, rows = np.random.default_rng(5), 600
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=int(s))
               for s in random.integers(0, 10**7, rows)]
    values = {"nr": [f"row {number}" for number in range(rows)], "patient": random.integers(0, 40, rows).tolist(),
              "seen": moments, "x": random.normal(size=rows).tolist(), "y": random.normal(size=rows).tolist()}
    pq.write_table(pa.table({**values, "seen": pa.array(moments, pa.timestamp("us"))}), FOLDER / "parts.parquet",
                   row_group_size=100)
    lines = [",".join(values)] + [",".join(map(str, row)) for row in zip(*values.values())]
    (FOLDER / "parts.csv").write_text("\n".join(lines) + "\n")
    for by in ("group: patient", "time: seen"):
        found, printed = [], []
        for dataset in ("csv", "parquet"):
            name = f"parts-{dataset}-{by.split(':')[0]}"
            job = FOLDER / f"{name}.yaml"
            job.write_text(PARTS.format(dataset=dataset, path=FOLDER / f"parts.{dataset}", by=by))
            columns = () if dataset == "parquet" else ("--set", "data.columns={seen: date}")
            done = dtrain("run", job, "--run-dir", FOLDER / "runs" / name, *columns)
            metrics = FOLDER / "runs" / name / "metrics.jsonl"
            found.append(losses(metrics.read_text()) if done.returncode == 0 else done.stderr)
            printed.append(dtrain("predict", FOLDER / "runs" / name, FOLDER / f"parts.{dataset}").stdout)
        claim(f"by {by}: trains to the bits of CSV {found[0] if found[0] == found[1] else found}",
              found[0] == found[1] and isinstance(found[0], list))
        claim("and predicts each row by its name", printed[0] == printed[1] and "\nrow 599," in printed[0])


def find(document, key):
    """The text that has this key, anywhere in it."""
    if isinstance(document, dict) and isinstance(document.get(key), str):
        return document[key]
    parts = document.values() if isinstance(document, dict) else document if isinstance(document, list) else []
    return next((found for found in (find(part, key) for part in parts) if found), None)


def check_statistics(table):
    """The means and deviations that are kept with the model, against numpy's, of a run without a test part."""
    test = FOLDER / "both"
    test.mkdir()
    pq.write_table(table, test / "train.parquet")
    pq.write_table(table.slice(0, 100), test / "test.parquet")
    job = FOLDER / "both.yaml"
    job.write_text(JOB.format(dataset="parquet", path=test, columns="").replace("  split: {test: 0.2}\n", ""))
    done = dtrain("run", job, "--run-dir", FOLDER / "runs" / "both")
    if done.returncode != 0:
        return claim(f"trains: {done.stderr}", False)
    text = next((FOLDER / "runs" / "both").rglob("manifest.json")).read_text()
    inputs = json.loads(json.loads(find(json.JSONDecoder().raw_decode(text)[0], "table"))["format"])["inputs"]
    worst = 0
    for column in inputs:
        numbers = numbers_of(table[column["name"]])
        if numbers is None:
            claim("the words are the categories", column["categories"] == sorted(set(table["word"].to_pylist()) - {None}))
            continue
        off = max(abs(column["mean"] - numbers.mean()), abs(column["standard_deviation"] - numbers.std()))
        worst = max(worst, off / numbers.std())
    claim(f"means and deviations are numpy's: off by at most {worst:.1e} deviations", worst < 1e-12)


PICTURES = """
name: pictures
strategy: {{kind: mirrored, replicas: 1}}
data:
  dataset: {dataset}
  path: {path}
  image: {{size: [24, 32], mean: measured}}
  class_names: [zebra, ant, cat]
  split: {split}
batch: {{per_replica: 8}}
model: {{kind: mlp, hidden: [8]}}
train: {{epochs: 2}}
"""


def make_pictures():
    """The bytes of each picture in its format, and its pixels as Pillow decodes them again."""
    random = np.random.default_rng(3)
    for number in range(60):
        pixels = Image.fromarray(random.integers(0, 256, (24, 32, 3), np.uint8))
        file = io.BytesIO()
        ending = ("jpeg", "png", "webp")[number % 3]
        pixels.save(file, ending, lossless=True)
        yield ending, file.getvalue(), np.asarray(Image.open(file).convert("RGB"))


def write_tar(pictures, path):
    """With the names that dtrain gives to rows."""
    with tarfile.open(path, "w") as archive:
        for row, (ending, content, _) in enumerate(pictures, 1):
            for member, bytes_ in ((f"row-{row:08d}.{ending}", content), (f"row-{row:08d}.cls", b"%d" % (row % 3))):
                entry = tarfile.TarInfo(member)
                entry.size = len(bytes_)
                archive.addfile(entry, io.BytesIO(bytes_))


def write_pictures(pictures, path):
    struct = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    table = pa.table({"image": pa.array([{"bytes": content, "path": None} for _, content, _ in pictures], struct),
                      "label": pa.array([row % 3 for row in range(1, len(pictures) + 1)], pa.int64())})
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": ["zebra", "ant", "cat"]}}
    table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path, row_group_size=7)


def train_pictures(dataset, path, split):
    job, run = FOLDER / f"{path.parent.name}.yaml", FOLDER / "runs" / path.parent.name
    job.write_text(PICTURES.format(dataset=dataset, path=path, split=split))
    done = dtrain("run", job, "--run-dir", run)
    claim(f"{dataset} trains {done.stderr if done.returncode else ''}", done.returncode == 0)
    return run


def check_pictures():
    pictures = list(make_pictures())
    for folder in ("as_tar", "as_parquet", "hub"):
        (FOLDER / folder).mkdir(exist_ok=True)
    # One name, which decides the order: of both a file without parts.
    write_tar(pictures, FOLDER / "as_tar" / "pictures.tar")
    write_pictures(pictures, FOLDER / "as_parquet" / "pictures.tar")
    drawn = "{test: 0.25, validation: 0.25}"
    tar = train_pictures("tar", FOLDER / "as_tar" / "pictures.tar", drawn)
    parquet = train_pictures("image_parquet", FOLDER / "as_parquet" / "pictures.tar", drawn)
    hashes = [losses((run / "metrics.jsonl").read_text()) for run in (tar, parquet)]
    claim(f"pictures in Parquet train to the bits of the same ones in tar: {hashes[0][-1:]}",
          bool(hashes[0]) and hashes[0] == hashes[1])
    weights = [sorted(run.rglob("model.safetensors"))[-1].read_bytes() for run in (tar, parquet)]
    claim("and to the same weights", weights[0] == weights[1])

    write_pictures(pictures[:45], FOLDER / "hub" / "train-00000-of-00001.parquet")
    write_pictures(pictures[45:], FOLDER / "hub" / "test-00000-of-00001.parquet")
    began = dtrain("init", "--from", FOLDER / "hub")
    claim("init --from knows them", began.returncode == 0 and "dataset: image_parquet" in began.stdout)
    job = FOLDER / "hub.yaml"
    job.write_text(PICTURES.format(dataset="image_parquet", path=FOLDER / "hub", split="{validation: none}"))
    claim("data check finds nothing to refuse", dtrain("data", "check", job).returncode == 0)
    done = dtrain("run", job, "--run-dir", FOLDER / "runs" / "hub")
    spec = (FOLDER / "runs" / "hub" / "spec.yaml").read_text() if done.returncode == 0 else "mean: [0]" + done.stderr
    found = [float(word) for word in spec.split("mean: [")[1].split("]")[0].split(",")]
    theirs = np.mean([pixels for _, _, pixels in pictures[:45]], axis=(0, 1, 2)) / 255
    claim(f"the mean of the pixels is Pillow's: {found}", np.abs(theirs - found).max() < 1e-6)


def best_of(count, work):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def read_with_pyarrow(path):
    """Prints the seconds that pyarrow and numpy take for what dtrain makes of the table, first in this process."""
    begin = time.perf_counter()
    read = pq.read_table(path)
    inputs = []
    for name in read.column_names[:-1]:
        column = read[name]
        if pa.types.is_string(column.type):
            codes = column.combine_chunks().dictionary_encode()
            hot = np.zeros((len(codes), len(codes.dictionary)), np.float32)
            hot[np.arange(len(codes)), codes.indices.to_numpy()] = 1
            inputs.append(hot)
        else:
            values = column.to_numpy().astype(np.float64)
            inputs.append(((values - values.mean()) / values.std()).astype(np.float32)[:, None])
    np.concatenate(inputs, 1), read["y"].to_numpy()
    print(time.perf_counter() - begin)


def check_speed():
    """Each reads in a process of its own, as a job does. The start of the process does not count."""
    random, rows = np.random.default_rng(0), 900_000
    columns = {f"x{i}": random.normal(size=rows) for i in range(10)}
    columns["int"] = random.integers(0, 10**9, rows)
    columns["small"] = random.integers(0, 1000, rows).astype(np.int32)
    columns["word"] = np.array(["red", "green", "blue", "yellow"])[random.integers(0, 4, rows)]
    columns["when"] = np.datetime64("2020-01-01", "ms") + random.integers(0, 10**11, rows).astype("timedelta64[ms]")
    columns["single"] = random.normal(size=rows).astype(np.float32)
    columns["y"] = columns["x0"] * 2 + columns["x1"]
    table = pa.table(columns)
    pq.write_table(table, FOLDER / "large.parquet")
    pq.write_table(table.slice(0, 1000), FOLDER / "tiny.parquet")

    times = {}
    for name in ("large", "tiny"):
        job = FOLDER / f"{name}.yaml"
        job.write_text(JOB.format(dataset="parquet", path=FOLDER / f"{name}.parquet", columns=""))
        times[name] = best_of(5, lambda: dtrain("plan", job))
    command = [sys.executable, __file__, "--pyarrow", str(FOLDER / "large.parquet")]
    theirs = min(float(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout) for _ in range(5))
    ours = times["large"] - times["tiny"]
    size = (FOLDER / "large.parquet").stat().st_size / 1e6
    print(f"        {size:.0f} MB to normalised tensors: dtrain {ours:.2f} s (dtrain plan, less that of a tiny table), "
          f"pyarrow and numpy {theirs:.2f} s")
    claim(f"{theirs / ours:.1f} times as fast as pyarrow", ours <= theirs)


def main():
    if PROGRAM == "--pyarrow":
        return read_with_pyarrow(FOLDER)
    table, text = make_columns()
    check_values(table, text)
    check_statistics(table)
    check_parts()
    check_pictures()
    check_speed()
    sys.exit(failed > 0)


main()
