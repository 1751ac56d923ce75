#!/usr/bin/env python3
"""Runs the example of docs/metrics.md, which reads metrics.jsonl into pandas, over a job that it trains.

Usage: metrics_examples_test.py PROGRAM. Without pandas the exit code is 77.
"""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SPEC = """
name: examples
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: synthetic, train_examples: 96, test_examples: 32}
batch: {global: 32}
model: {kind: mlp, hidden: [8]}
train: {epochs: 3}
compare: {baseline: one_device}
"""


def example(name):
    """The first block of Python in docs/metrics.md that imports `name`."""
    text = (pathlib.Path(__file__).parents[2] / "docs/metrics.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    found = [block for block in blocks if re.search(rf"^import .*\b{name}\b", block, re.M)]
    assert found, f"docs/metrics.md has no example with {name}"
    return found[0]


def run_example(text):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, "docs/metrics.md", "exec"), {})
    return printed.getvalue()


def evaluations():
    events = [json.loads(line) for line in open("metrics.jsonl")]
    return [e for e in events if e["event"] == "eval" and e["run"] == "distributed"]


def check_pandas(text):
    printed = run_example(text)
    losses = [e["loss"] for e in evaluations() if e["epoch"] > 0]
    best = losses.index(min(losses)) + 1
    assert f"best epoch by loss: {best}" in printed, printed
    assert len(printed.splitlines()) == 1 + 3 + 1, printed  # a heading, three epochs, the best


def main():
    program = os.path.abspath(sys.argv[1])
    text = example("pandas")
    if not importlib.util.find_spec("pandas"):
        print("skipped: pandas is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("job.yaml").write_text(SPEC)
        subprocess.run([program, "run", "job.yaml", "--quiet", "--run-dir", "run"], check=True, capture_output=True)
        os.chdir("run")
        check_pandas(text)
        print("pandas: the example reads the run")
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
