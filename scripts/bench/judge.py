"""Compares intervals, differences, calibration and thresholds with scikit-learn and SciPy; see scripts/check_judge."""
import csv
import json
import pathlib
import re
import subprocess
import sys

import numpy
from safetensors import safe_open
from scipy.special import expit, softmax
from scipy.stats import binomtest, bootstrap
from sklearn import metrics
from sklearn.calibration import calibration_curve

ROWS = 3000
CLASSES = """name: judged
strategy: {kind: mirrored, replicas: REPLICAS, threads_per_replica: 1}
data: {dataset: csv, path: DATA, target: TARGET, ignore: [IGNORED], split: {test: 0.5}}
batch: {global: 32}
model: {kind: mlp, hidden: [16]}
train: {epochs: 2, loss: LOSS, optimizer: {kind: adam, learning_rate: 0.003}}
evaluate: {batch_per_replica: 100}
"""


def check(what, holds):
    print("ok     " if holds else "FAILED ", what, flush=True)
    if not holds:
        sys.exit(1)


def near(left, right, tolerance):
    return numpy.allclose(left, right, rtol=0, atol=tolerance)


def write_table(path):
    random = numpy.random.default_rng(1)
    with open(path, "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["x", "y", "z", "kind", "flag", "size", "town"])
        for _ in range(ROWS):
            x, y, z = random.normal(size=3)
            kind = ["elm", "fir", "oak"][int(numpy.argmax([x, y, z] + random.gumbel(size=3)))]
            flag = "yes" if x - y + random.logistic() > 0 else "no"
            table.writerow([f"{x:.6f}", f"{y:.6f}", f"{z:.6f}", kind, flag, f"{x + 2 * y + random.normal():.6f}",
                            ["Ulm", "Bern"][int(random.integers(2))]])


def results_of(run):
    with safe_open(run / "examples.safetensors", "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}


class Jobs:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.table = folder / "table.csv"
        write_table(self.table)

    def call(self, *arguments):
        command = [self.program, *map(str, arguments)]
        return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout

    def run(self, name, target, loss, replicas=2, *more):
        spec = CLASSES.replace("DATA", str(self.table)).replace("TARGET", target).replace("LOSS", loss)
        others = [column for column in ("kind", "flag", "size", "town") if column != target]
        spec = spec.replace("IGNORED", ", ".join(others)).replace("REPLICAS", str(replicas))
        (self.folder / f"{name}.yaml").write_text(spec)
        run = self.folder / name
        self.call("run", self.folder / f"{name}.yaml", "--quiet", "--run-dir", run,
                  "--set", "checkpoint.every_epochs=1", *more)
        return run

    def end_of(self, run):
        return json.loads((run / "summary.json").read_text())["distributed"]["run_end"]


# Those of one class against the rest.
def check_page(jobs, run, names, wanted, scores, right, confidence):
    page = run / "page.html"
    jobs.call("report", run, "--out", page)
    text = page.read_text()
    error = float(re.search(r"Expected calibration error ([\d.]+)", text).group(1))
    shares, means = calibration_curve(right, confidence, n_bins=15)
    counts = numpy.histogram(numpy.searchsorted(numpy.linspace(0, 1, 16)[1:-1], confidence), bins=range(16))[0]
    counts = counts[counts > 0]
    expected = numpy.average(abs(shares - means), weights=counts)
    check(f"{run.name}: calibration error {error}", near(error, expected, 6e-5))
    for name, is_class, score in zip(names, wanted, scores):
        row = re.search(rf'<th scope="row">[^<]*{name}</th>((?:<td>[^<]*</td>)+)', text[text.index(">Thresholds<"):])
        count, area, precision, f1, _ = re.findall(r"<td>([^<]*)</td>", row.group(1))
        precisions, recalls, _ = metrics.precision_recall_curve(is_class, score)
        best = numpy.max(2 * precisions * recalls / numpy.maximum(precisions + recalls, 1e-12))
        check(f"{run.name}: {name}: area {area}, average precision {precision}, best f1 {f1}",
              int(count.replace(",", "")) == sum(is_class)
              and near(float(area), metrics.roc_auc_score(is_class, score), 6e-5)
              and near(float(precision), metrics.average_precision_score(is_class, score), 6e-5)
              and near(float(f1), best, 6e-5))


# The ends of an interval are quantiles of 1,000 draws: other draws give ends that differ by some percent of its width.
def check_interval(what, found, data, statistic):
    theirs = bootstrap(data, statistic, paired=True, vectorized=False, n_resamples=2000, method="percentile",
                       rng=numpy.random.default_rng(3)).confidence_interval
    width = theirs.high - theirs.low
    check(f"{what}: {found[0]:.4f} to {found[1]:.4f}, SciPy {theirs.low:.4f} to {theirs.high:.4f}",
          near(found, theirs, 0.12 * width))


def check_classes(jobs):
    run = jobs.run("kinds", "kind", "cross_entropy")
    found, end = results_of(run), jobs.end_of(run)
    label, logits = found["target"][:, 0].astype(int), found["output"]
    probability = softmax(logits.astype(float), axis=1)
    said = logits.argmax(1)
    check("kinds: accuracy, loss and f1 of the file are those of the run",
          near(end["accuracy"], metrics.accuracy_score(label, said), 1e-12)
          and near(end["loss"], metrics.log_loss(label, probability), 1e-5)
          and near(end["loss"], found["loss"].mean(), 1e-5)
          and near(end["macro_f1"], metrics.f1_score(label, said, average="macro"), 1e-12))
    check_interval("kinds: accuracy", end["intervals"]["accuracy"], (label, said), metrics.accuracy_score)
    check_interval("kinds: macro_f1", end["intervals"]["macro_f1"], (label, said),
                   lambda a, b: metrics.f1_score(a, b, average="macro"))
    check_interval("kinds: loss", end["intervals"]["loss"], (found["loss"], found["loss"]), lambda a, _: a.mean())
    check_page(jobs, run, ["elm", "fir", "oak"], [label == one for one in range(3)], probability.T, label == said,
               probability.max(1))
    return run, label, said, found


def check_groups(jobs, run, label):
    told = json.loads(jobs.call("eval", run, "--by", "town", "--json"))
    check("kinds: --by town has every example once", sum(one["examples"] for one in told["groups"]) == len(label))
    check("kinds: --by town adds up to the accuracy",
          near(sum(one["examples"] * one["accuracy"] for one in told["groups"]) / len(label), told["accuracy"], 1e-9))
    first = {key: told[key] for key in ("accuracy", "intervals")}
    several = json.loads(jobs.call("eval", run, "--replicas", 3, "--json"))
    check("kinds: eval by three replicas has the same intervals", several["intervals"] == first["intervals"])


def check_compare(jobs, run, label, said):
    other = jobs.run("seeded", "kind", "cross_entropy", 1, "--set", "seed=2", "--set", "train.epochs=4")
    theirs = results_of(other)["output"].argmax(1)
    told = json.loads(jobs.call("compare", run, other, "--json"))["chance"][0]
    only_first = int(((said == label) & (theirs != label)).sum())
    only_this = int(((said != label) & (theirs == label)).sum())
    tested = told["mcnemar"]
    chance = binomtest(only_first, only_first + only_this).pvalue if only_first + only_this else 1
    check(f"compare: McNemar: {tested}",
          (tested["only_first"], tested["only_this"]) == (only_first, only_this) and near(tested["p"], chance, 1e-9))
    difference = told["differences"]["accuracy"]
    check("compare: the difference", near(difference["difference"], (only_this - only_first) / len(label), 1e-12))
    check_interval("compare: accuracy", difference["interval"], (said == label, theirs == label),
                   lambda a, b: b.mean() - a.mean())
    part = jobs.run("part", "kind", "cross_entropy", 1, "--set", "data.split.test=0.4")
    check("compare: other examples are told",
          "why_not" in json.loads(jobs.call("compare", run, part, "--json"))["chance"][0])


def check_answers(jobs):
    run = jobs.run("flags", "flag", "binary_cross_entropy")
    found, end = results_of(run), jobs.end_of(run)
    yes, logit = found["target"][:, 0] > 0.5, found["output"][:, 0].astype(float)
    check("flags: accuracy, auc and precision of the file are those of the run",
          near(end["accuracy"], metrics.accuracy_score(yes, logit > 0), 1e-12)
          and near(end["auc"], metrics.roc_auc_score(yes, logit), 1e-4)
          and near(end["precision"], metrics.precision_score(yes, logit > 0), 1e-12))
    check_interval("flags: auc", end["intervals"]["auc"], (yes, logit), metrics.roc_auc_score)
    check_page(jobs, run, ["yes"], [yes], [expit(logit)], yes, expit(logit))


def check_numbers(jobs):
    run = jobs.run("sizes", "size", "mean_squared_error")
    found, end = results_of(run), jobs.end_of(run)
    wanted, given = found["target"][:, 0].astype(float), found["output"][:, 0].astype(float)
    check("sizes: rmse and r2 of the file are those of the run",
          near(end["rmse"], metrics.mean_squared_error(wanted, given) ** 0.5, 1e-5)
          and near(end["r2"], metrics.r2_score(wanted, given), 1e-5))
    check_interval("sizes: r2", end["intervals"]["r2"], (wanted, given), metrics.r2_score)
    check_interval("sizes: mae", end["intervals"]["mae"], (wanted, given), metrics.mean_absolute_error)


def main():
    jobs = Jobs(sys.argv[1], pathlib.Path(sys.argv[2]))
    run, label, said, _ = check_classes(jobs)
    check_groups(jobs, run, label)
    check_compare(jobs, run, label, said)
    check_answers(jobs)
    check_numbers(jobs)


if __name__ == "__main__":
    main()
