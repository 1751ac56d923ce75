#!/usr/bin/env python3
"""The metrics of `dtrain eval` are scikit-learn's for the same predictions: of eight classes, of a yes or no, of
several at once, and of two numbers, by two replicas.

    metrics_test.py DTRAIN
"""
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy
    from sklearn import metrics
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-sklearn)")
    sys.exit(77)

SPEC = """name: metrics
data: {dataset: csv, path: FOLDER, target: TARGET}
batch: {per_replica: 32}
model: {kind: mlp, hidden: [8], dtype: float64}
train: {epochs: 8, loss: LOSS, optimizer: {kind: adam, learning_rate: 3.0e-2}}
"""
MACRO = {"macro_precision": metrics.precision_score, "macro_recall": metrics.recall_score, "macro_f1": metrics.f1_score}


def write_table(path, seed, count):
    """Columns a and b; a class of eight, of which some are rare; a word; three of yes or no; numbers far apart."""
    draw = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["a", "b", "kind", "word", "y0", "y1", "y2", "small", "large"])
        for _ in range(count):
            a, b = draw.gauss(0, 1), draw.gauss(0, 1)
            kind = min(7, int(abs(a + draw.gauss(0, 0.7)) * 2.5))
            word = "yes" if a * b + draw.gauss(0, 0.5) > 0.7 else "no"
            outputs = [int(a + draw.gauss(0, 0.8) > limit) for limit in (0, 0.8, 2)]
            numbers = [f"{a - b + draw.gauss(0, 0.1):.6f}", f"{1000 + draw.gauss(0, 1):.6f}"]
            table.writerow([f"{a:.6f}", f"{b:.6f}", f"k{kind}", word] + outputs + numbers)


def check(what, own, theirs, tolerance=1e-9):
    if abs(own - theirs) > tolerance:
        sys.exit(f"{what}: dtrain has {own}, scikit-learn {theirs}")
    print(f"ok {what}: {own:.6f}")


class Job:
    """A job that has been trained, evaluated and asked for its predictions of the test examples."""

    def __init__(self, program, folder, target, loss):
        self.name = f"{loss} of {target}"
        spec, run = folder / "job.yaml", folder / self.name.replace(" ", "-")
        spec.write_text(SPEC.replace("FOLDER", str(folder)).replace("TARGET", target).replace("LOSS", loss))
        ignored = [name for name in ("kind", "word", "y0", "y1", "y2", "small", "large") if name not in target]
        dtrain = lambda *arguments: subprocess.run([program, *map(str, arguments)], check=True, capture_output=True,
                                                   text=True).stdout
        dtrain("run", spec, "--run-dir", run, "--quiet", "--set", f"data.ignore=[{','.join(ignored)}]")
        self.own = json.loads(dtrain("eval", run, "--json", "--replicas", 2))
        self.predicted = list(csv.DictReader(dtrain("predict", run, folder / "test.csv").splitlines()))
        self.rows = list(csv.DictReader((folder / "test.csv").open()))
        events = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
        self.trained = [event for event in events if event["event"] == "eval"][-1]

    def check_macro(self, actual, predicted):
        for name, score in MACRO.items():
            theirs = score(actual, predicted, average="macro", zero_division=0)
            check(f"{self.name}: {name}", self.own[name], theirs)
            check(f"{self.name}: {name} while training", self.trained[name], theirs)

    def check_area(self, theirs):
        check(f"{self.name}: auc, within its error", self.own["auc"], theirs, self.own["auc_error"] + 1e-6)
        assert self.own["auc_error"] < 1e-3, self.own["auc_error"]


def check_classes(job):
    names = [one["name"] for one in job.own["classes"]]
    actual, predicted = [row["kind"] for row in job.rows], [row["kind"] for row in job.predicted]
    scores = numpy.array([[float(row["p_" + name]) for name in names] for row in job.predicted])
    check(f"{job.name}: accuracy", job.own["accuracy"], metrics.accuracy_score(actual, predicted))
    check(f"{job.name}: top_5_accuracy", job.own["top_5_accuracy"],
          metrics.top_k_accuracy_score(actual, scores, k=5, labels=names))
    job.check_macro(actual, predicted)
    for name, score in {"precision": metrics.precision_score, "recall": metrics.recall_score,
                        "f1": metrics.f1_score}.items():
        for one, theirs in zip(job.own["classes"], score(actual, predicted, average=None, labels=names, zero_division=0)):
            check(f"{job.name}: {name} of {one['name']}", one[name], theirs)


def check_word(job):
    actual = [row["word"] == "yes" for row in job.rows]
    scores = [float(row["p_yes"]) for row in job.predicted]
    job.check_macro(actual, [row["word"] == "yes" for row in job.predicted])
    check(f"{job.name}: f1", job.own["f1"], metrics.f1_score(actual, [score > 0.5 for score in scores]))
    job.check_area(metrics.roc_auc_score(actual, scores))


def check_outputs(job):
    names = [one["name"] for one in job.own["outputs"]]
    actual = numpy.array([[int(row[name]) for name in names] for row in job.rows])
    scores = numpy.array([[float(row[name]) for name in names] for row in job.predicted])
    job.check_macro(actual, scores > 0.5)
    check(f"{job.name}: f1", job.own["f1"], metrics.f1_score(actual, scores > 0.5, average="micro"))
    job.check_area(metrics.roc_auc_score(actual, scores, average="macro"))


def check_numbers(job):
    names = [one["name"] for one in job.own["outputs"]]
    actual = numpy.array([[float(row[name]) for name in names] for row in job.rows])
    predicted = numpy.array([[float(row[name]) for name in names] for row in job.predicted])
    theirs = metrics.r2_score(actual, predicted)
    check(f"{job.name}: r2", job.own["r2"], theirs, 1e-5 * max(1, abs(theirs)))  # predictions are printed rounded
    check(f"{job.name}: r2 while training", job.trained["r2"], job.own["r2"], 1e-9 * max(1, abs(theirs)))
    check(f"{job.name}: mae", job.own["mae"], metrics.mean_absolute_error(actual, predicted), 1e-3)
    for place, one in enumerate(job.own["outputs"]):
        own, other = actual[:, place], predicted[:, place]
        theirs = metrics.r2_score(own, other)
        check(f"{job.name}: r2 of {one['name']}", one["r2"], theirs, 1e-5 * max(1, abs(theirs)))
        check(f"{job.name}: rmse of {one['name']}", one["rmse"], metrics.mean_squared_error(own, other) ** 0.5, 1e-3)
        check(f"{job.name}: mae of {one['name']}", one["mae"], metrics.mean_absolute_error(own, other), 1e-3)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_table(folder / "train.csv", 1, 1000)
        write_table(folder / "test.csv", 2, 500)
        check_classes(Job(program, folder, "kind", "cross_entropy"))
        check_word(Job(program, folder, "word", "binary_cross_entropy"))
        check_outputs(Job(program, folder, "[y0, y1, y2]", "binary_cross_entropy"))
        check_numbers(Job(program, folder, "[small, large]", "huber"))


if __name__ == "__main__":
    main()
