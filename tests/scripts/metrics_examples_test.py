#!/usr/bin/env python3
"""Runs the examples of docs/metrics.md, which read metrics.jsonl into pandas and MLflow, over a job that it trains.

Usage: metrics_examples_test.py PROGRAM. Leaves out an example whose library is missing; exit code 77 if both are.
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


def run_example(name):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example(name), f"docs/metrics.md: {name}", "exec"), {})
    return printed.getvalue()


def evaluations():
    events = [json.loads(line) for line in open("metrics.jsonl")]
    return [e for e in events if e["event"] == "eval" and e["run"] == "distributed"]


def check_pandas():
    printed = run_example("pandas")
    losses = [e["loss"] for e in evaluations() if e["epoch"] > 0]
    best = losses.index(min(losses)) + 1
    assert f"best epoch by loss: {best}" in printed, printed
    assert len(printed.splitlines()) == 1 + 3 + 1, printed  # a heading, three epochs, the best


def check_mlflow():
    os.environ["MLFLOW_TRACKING_URI"] = "sqlite:///mlflow.db"
    import mlflow

    run_example("mlflow")
    runs = mlflow.search_runs(output_format="list")
    assert len(runs) == 1 and runs[0].data.params["replicas"] == "2", runs
    history = mlflow.MlflowClient().get_metric_history(runs[0].info.run_id, "test_loss")
    assert [(m.step, m.value) for m in history] == [(e["epoch"], e["loss"]) for e in evaluations()], history


def main():
    program = os.path.abspath(sys.argv[1])
    checks = {"pandas": check_pandas, "mlflow": check_mlflow}
    present = [name for name in checks if importlib.util.find_spec(name)]
    for name in checks:
        example(name)
    if not present:
        print("skipped: neither pandas nor mlflow is installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pathlib.Path("job.yaml").write_text(SPEC)
        subprocess.run([program, "run", "job.yaml", "--quiet", "--run-dir", "run"], check=True, capture_output=True)
        os.chdir("run")
        for name in present:
            checks[name]()
            print(f"{name}: the example reads the run")
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
