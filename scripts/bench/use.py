"""Runs the programs and commands of docs/use-the-model.md; see scripts/check_use.

use.py PROGRAM FOLDER PYTHON_WITH_TORCH [PART...]
"""
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import numpy
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/use-the-model.md").read_text()
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
CLASSES = ["top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"]
EXACT = 1e-5   # of probabilities, for pictures that are not scaled
SCALED = 0.02  # where some bytes differ by 1
LOST = 0.02    # of the accuracy, by int8
COMMAND = re.compile(r"(dtrain|python3|c\+\+|\./\w+|mlflow|tensorboard|prometheus-node-exporter|tail|export|mkdir) ")
SERVER = re.compile(r"^(mlflow server|tensorboard|prometheus-node-exporter) .*\n.*[^`\s]", re.M)  # and another line
OTHER_FORMS = """name: other
data: {dataset: image_folder, path: clothes, train_examples: 600, test_examples: 100,
       image: {size: [24, 30], fit: FIT, channels: CHANNELS, mean: 0.3}}
batch: {global: 32}
model: {kind: mlp, hidden: [16]}
train: {epochs: 2}
"""
FLOWERS = """name: lilies
data: {dataset: csv, path: flowers.csv, target: kind, split: {test: 0.2}}
batch: {global: 32}
model: {kind: mlp, hidden: [16]}
train: {epochs: 3}
"""


def programs():
    """The text of each block of the page that begins with a comment with its name."""
    blocks = re.findall(r"^```(?:python|cpp)\n(.*?)^```", PAGE, re.S | re.M)
    return {re.match(r"(?:#|//) ([\w.]+)", block)[1]: block for block in blocks}


def commands():
    """The commands of the page, in its order, each in one line."""
    fence, lines = None, []
    for line in PAGE.replace("\\\n", "").splitlines():
        if line.startswith("```"):
            fence = line if fence is None else None
        elif fence == "```sh" or fence is None and line.startswith("    "):
            lines.append(line.strip())
    return [line for line in lines if COMMAND.match(line)]


def check(what, holds):
    print("ok     " if holds else "FAILED ", what, flush=True)
    if not holds:
        sys.exit(1)


class Session:
    """A folder with what the page tells to have, where its commands run."""

    def __init__(self, program, folder, torch_python):
        self.program, self.folder = pathlib.Path(program), pathlib.Path(folder)
        self.left = commands()  # those of the page that have not run
        here = pathlib.Path(sys.executable).parent
        (self.folder / "bin").mkdir()
        (self.folder / "bin/dtrain").symlink_to(self.program)
        (self.folder / "bin/torch").write_text(f'#!/bin/sh\nexec "{torch_python}" "$@"\n')
        (self.folder / "bin/torch").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{self.folder / 'bin'}:{here}:{os.environ['PATH']}",
                            "HOME": str(self.folder), "MLFLOW_TRACKING_URI": "", "MLFLOW_DISABLE_TELEMETRY": "true",
                            "DO_NOT_TRACK": "true"}
        for name, text in programs().items():
            (self.folder / name).write_text(text)
        for name, text in re.findall(r"`(\w+\.yaml)`[^`]*?:\n\n```yaml\n(.*?)^```", PAGE, re.S | re.M):
            (self.folder / name).write_text(text)

    def shown(self, beginning):
        """The command of the page that begins so and has not run."""
        found = next((line for line in self.left if line.startswith(beginning)), None)
        check(f"the page has a command {beginning!r}", found) if found is None else self.left.remove(found)
        return found

    def run(self, command, limit=300):
        """What it prints."""
        result = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
        if result.returncode != 0:
            check(f"{command}\n{result.stdout[-2000:]}{result.stderr[-4000:]}", False)
        return result.stdout

    def of_page(self, beginning, *changes):
        """Runs a command of the page, with the changes (what, by what)."""
        command = self.shown(beginning)
        for old, new in changes:
            assert old in command, (old, command)
            command = command.replace(old, new)
        return self.run(command)

    @contextlib.contextmanager
    def started(self, command, name):
        """A command that runs meanwhile; its output is in the file `name`."""
        with open(self.folder / name, "w") as log:
            process = subprocess.Popen(["bash", "-c", command], cwd=self.folder, env=self.environment, stdout=log,
                                       stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, start_new_session=True)
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(10)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def events(self, run):
        """The events of a run so far; a line that is being written is left out."""
        file = self.folder / run / "metrics.jsonl"
        lines = file.read_text().splitlines(keepends=True) if file.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]


def wait_for(what, get, process=None, limit=180):
    """The first result of `get` that is something; while the process runs, if there is one."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        ended = process is not None and process.poll() is not None
        with contextlib.suppress(OSError, KeyError):
            found = get()
            if found:
                check(what, not ended)
                return found
        if ended:
            break
        time.sleep(0.2)
    check(what, False)


def free_port():
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def fetch(address):
    with urllib.request.urlopen(address, timeout=20) as answer:
        return answer.read().decode()


def read_idx(name, count):
    data = gzip.decompress((DATA / f"{name}.gz").read_bytes())
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">u4", dimensions, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)[:count]


def make_pictures(folder):
    """Fashion-MNIST as coloured pictures of many sizes and formats; each tenth has the size of the model."""
    draw = random.Random(1)
    for part, name, count in (("train", "train", 6000), ("test", "t10k", 1500)):
        images, labels = (read_idx(f"{name}-{kind}", count) for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"))
        for i, (pixels, label) in enumerate(zip(images, labels)):
            tint = numpy.array([draw.uniform(0.5, 1) for _ in range(3)])
            size = (32, 32) if i % 10 == 0 else (draw.randrange(36, 72), draw.randrange(36, 56))
            picture = Image.fromarray((pixels[..., None] * tint).astype(numpy.uint8)).resize(size, Image.BICUBIC)
            file = folder / f"clothes/{part}/{CLASSES[label]}/{i:05}.{('png', 'jpg', 'ppm')[i % 3]}"
            file.parent.mkdir(parents=True, exist_ok=True)
            picture.save(file, **({"quality": 90} if file.suffix == ".jpg" else {}))
    (folder / "new").mkdir()
    some = Image.fromarray(numpy.random.default_rng(1).integers(0, 256, (60, 40, 4), numpy.uint8))
    turned = Image.Exif()
    turned[0x112] = 6
    some.convert("RGB").save(folder / "new/1.jpg", exif=turned)
    some.save(folder / "new/2.png")  # transparent
    some.convert("RGB").save(folder / "new/3.ppm")
    (folder / "new/4.ppm").write_bytes(b"P6\n# by GIMP\n45 31\n255\n" + some.convert("RGB").resize((45, 31)).tobytes())
    some.convert("L").save(folder / "new/5.png")
    some.convert("RGB").quantize(16).save(folder / "new/6.png", transparency=3)
    Image.fromarray(numpy.random.default_rng(2).integers(0, 65536, (60, 40), numpy.uint16)).save(folder / "new/7.png")


def lines_of(printed):
    """{picture: (class, probability)} of what a program prints."""
    return {file: (name, float(probability)) for file, name, probability in map(str.split, printed.splitlines())}


def predicted(session, run, files):
    """{picture: {class: probability}} by dtrain."""
    printed = session.run(f"dtrain predict {run} {' '.join(files)} --json --top 10")
    return {line["file"]: {one["name"]: one["probability"] for one in line["predictions"]}
            for line in map(json.loads, printed.splitlines())}


def compare(what, found, own, tolerance):
    """That a program finds dtrain's class, unless two are equally probable, and its probability."""
    if found.keys() != own.keys():
        check(f"{what}: all {len(own)} pictures, and not {len(found)}", False)
    most = max(abs(probability - own[file][name]) for file, (name, probability) in found.items())
    behind = max(max(own[file].values()) - own[file][name] for file, (name, _) in found.items())
    other = sum(max(own[file], key=own[file].get) != name for file, (name, _) in found.items())
    but = f" but for {other}, where two are equally probable within {behind:.1g}" if other else ""
    check(f"{what}, {len(own)} pictures: dtrain's classes{but}; the probabilities are {most:.1e} apart at most",
          max(most, behind) <= tolerance)


def files_of(session, pattern):
    return [str(path.relative_to(session.folder)) for path in sorted(session.folder.glob(pattern))]


def split_by_size(session, files):
    exact = [file for file in files if Image.open(session.folder / file).size == (32, 32)]
    return exact, [file for file in files if file not in exact]


def compare_all(session, what, program, files):
    """What a program prints for pictures of the model's size, and for others, against dtrain predict."""
    for kind, some, tolerance in zip(("of the model's size", "scaled"), split_by_size(session, files), (EXACT, SCALED)):
        compare(f"{what}, {kind}", lines_of(session.run(f"{program} {' '.join(some)}")),
                predicted(session, "runs/clothes", some), tolerance)


def train_clothes(session):
    make_pictures(session.folder)
    session.of_page("dtrain run clothes.yaml --run-dir")
    session.of_page("dtrain export runs/clothes --format onnx")
    session.of_page("dtrain export runs/clothes --format torchscript")


def make_other_forms(session):
    """Runs and models with the other ways to fit a picture, one of them grey."""
    for fit, channels in (("pad", 1), ("stretch", 3)):
        (session.folder / f"{fit}.yaml").write_text(OTHER_FORMS.replace("FIT", fit).replace("CHANNELS", str(channels)))
        session.run(f"dtrain run {fit}.yaml --run-dir runs/{fit} --quiet")
        session.run(f"dtrain export runs/{fit} --format onnx --uint8 --softmax --out {fit}.onnx")


def check_pictures(session):
    compare("classify.py, turned and transparent", lines_of(session.of_page("python3 classify.py clothes.onnx")),
            predicted(session, "runs/clothes", ["new/1.jpg", "new/2.png"]), SCALED)
    files = ["new/5.png", "new/6.png", "new/7.png"]
    compare("classify.py, grey, with a palette, of 16 bits",
            lines_of(session.run(f"python3 classify.py clothes.onnx {' '.join(files)}")),
            predicted(session, "runs/clothes", files), SCALED)
    compare_all(session, "classify.py", "python3 classify.py clothes.onnx", files_of(session, "clothes/test/*/*"))
    for fit in ("pad", "stretch"):
        files = files_of(session, "clothes/test/b*/*")
        compare(f"classify.py, fit: {fit}", lines_of(session.run(f"python3 classify.py {fit}.onnx {' '.join(files)}")),
                predicted(session, f"runs/{fit}", files), SCALED)


def check_cpp(session):
    command = session.shown("c++ -std=c++17 -O2 -I\"$ONNXRUNTIME")
    shown = session.shown("./classify_onnx")
    if not os.environ.get("ONNXRUNTIME"):
        return  # check_use has said so
    session.run(command.replace("c++ ", "c++ -Wall -Wextra "))
    compare("classify_onnx.cpp", lines_of(session.run(shown)),
            predicted(session, "runs/clothes", ["new/3.ppm", "new/4.ppm"]), SCALED)
    files = files_of(session, "clothes/test/*/*.ppm")
    compare_all(session, "classify_onnx.cpp", "./classify_onnx clothes.onnx", files)
    for fit in ("pad", "stretch"):
        compare(f"classify_onnx.cpp, fit: {fit}",
                lines_of(session.run(f"./classify_onnx {fit}.onnx {' '.join(files)}")),
                predicted(session, f"runs/{fit}", files), SCALED)


def check_int8(session):
    session.of_page("python3 quantise.py")
    before, after = (re.search(r"(\d+) of (\d+) are right", session.of_page(f"python3 accuracy.py {name}")).groups()
                     for name in ("clothes.onnx", "clothes.int8.onnx"))
    own = json.loads(session.run("dtrain eval runs/clothes --json"))
    check(f"accuracy.py: in float32 {before[0]} of {before[1]} are right, by dtrain eval {own['correct']}",
          int(before[1]) == own["examples"] and abs(int(before[0]) - own["correct"]) <= 3)
    check(f"accuracy.py: in int8 {after[0]} of {after[1]}", int(before[0]) - int(after[0]) <= LOST * int(before[1]))
    sizes = [(session.folder / name).stat().st_size for name in ("clothes.onnx", "clothes.int8.onnx")]
    check(f"the file of int8 is smaller: {sizes[1]:,} bytes instead of {sizes[0]:,}", sizes[1] < 0.4 * sizes[0])
    files = " ".join(files_of(session, "clothes/test/b*/*"))
    found = lines_of(session.run(f"python3 classify.py clothes.int8.onnx {files}"))
    check("classify.py takes it, and it knows its classes", {name for name, _ in found.values()} <= set(CLASSES))


def check_torchscript(session):
    compare("classify_torch.py", lines_of(session.of_page("python3 classify_torch.py", ("python3", "torch"))),
            predicted(session, "runs/clothes", ["new/1.jpg", "new/2.png"]), SCALED)
    compare_all(session, "classify_torch.py", "torch classify_torch.py clothes.pt",
                files_of(session, "clothes/test/*/*"))
    session.of_page("c++ -std=c++17 -O2 -isystem")
    compare("classify_torch.cpp", lines_of(session.of_page("./classify_torch")),
            predicted(session, "runs/clothes", ["new/3.ppm", "new/4.ppm"]), SCALED)
    compare_all(session, "classify_torch.cpp", "./classify_torch clothes.pt", files_of(session, "clothes/test/*/*.ppm"))


def compare_tables(what, found, own):
    heading, *rows = (line.split(",") for line in found.splitlines())
    own_heading, *own_rows = (line.split(",") for line in own.splitlines())
    a, b = (numpy.array(some)[:, -len(heading):].astype(float) for some in (rows, own_rows))
    apart = (abs(a - b) / numpy.maximum(1, abs(b))).max()
    names = [name.removeprefix("p_") for name in own_heading[-len(heading):]]
    check(f"{what}: dtrain's numbers for {len(rows)} rows, {apart:.1e} apart at most",
          heading == names and a.shape == b.shape and apart < 1e-4)


def check_tables(session):
    session.run(f"{ROOT}/scripts/make_table .")
    text = (session.folder / "houses.csv").read_text().replace("Ulm", "Bonn", 3).replace(",,", ",N/A,", 2)
    more = text.replace(",Jena,", ",null,", 2)  # unknown and missing words
    (session.folder / "more.csv").write_text(more, encoding="utf-8-sig")
    session.of_page("dtrain run houses.yaml")
    session.of_page("dtrain export runs/houses")
    compare_tables("predict_rows.py", session.of_page("python3 predict_rows.py"),
                   session.run("dtrain predict runs/houses houses.csv"))
    compare_tables("predict_rows.py, unknown and missing cells, a byte order mark",
                   session.run("python3 predict_rows.py houses.onnx more.csv"),
                   session.run("dtrain predict runs/houses more.csv"))
    (session.folder / "europe.csv").write_text(text.replace(",", ";").replace(".", ","))
    spec = (session.folder / "houses.yaml").read_text().replace("houses.csv", "europe.csv")
    (session.folder / "europe.yaml").write_text(spec)
    session.run("dtrain run europe.yaml --run-dir runs/europe && dtrain export runs/europe --format onnx --out e.onnx")
    compare_tables("predict_rows.py, decimal commas", session.run("python3 predict_rows.py e.onnx europe.csv"),
                   session.run("dtrain predict runs/europe europe.csv"))
    (session.folder / "flowers.yaml").write_text(FLOWERS)
    session.run("dtrain run flowers.yaml --run-dir runs/flowers")
    session.run("dtrain export runs/flowers --format onnx --softmax --out flowers.onnx")
    compare_tables("predict_rows.py, classes", session.run("python3 predict_rows.py flowers.onnx flowers.csv"),
                   session.run("dtrain predict runs/flowers flowers.csv"))


# What the relays send: for each event the name of its part.
PARTS = {"step": "train", "eval": "eval"}


def wanted(session, run, name):
    """The (step, value) of `train/loss` or the like in metrics.jsonl."""
    part, field = name.split("/")
    return [(event["step"], event[field]) for event in session.events(run) if PARTS.get(event["event"]) == part]


def same_points(found, own):
    return len(found) == len(own) and [step for step, _ in found] == [step for step, _ in own] and numpy.allclose(
        [value for _, value in found], [value for _, value in own], rtol=1e-6)


def long_run(session, run):
    """Trains, for long enough to be watched."""
    shutil.rmtree(session.folder / run, ignore_errors=True)
    return session.started(f"dtrain run clothes.yaml --run-dir {run} --set train.epochs=25", "training.log")


def check_tensorboard(session):
    port, run = free_port(), "runs/watched"
    command = session.shown("tensorboard ").replace("6006", str(port)) + " --reload_interval 1 --load_fast false"
    address = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?"

    def points(tag):
        which = urllib.parse.urlencode({"run": "watched/tensorboard", "tag": tag})
        return [(step, value) for _, step, value in json.loads(fetch(address + which))]

    with session.started(command, "tensorboard.log"), long_run(session, run) as training:
        wait_for("TensorBoard shows eval/accuracy while the job trains", lambda: points("eval/accuracy"), training)
        check("the job ends well", training.wait(300) == 0)
        for tag in ("train/loss", "eval/accuracy"):
            own = wanted(session, run, tag)
            wait_for(f"TensorBoard shows {len(own)} values of {tag}, those of metrics.jsonl",
                     lambda: same_points(points(tag), own))


def check_mlflow(session):
    port, run = free_port(), "runs/clothes"
    server = session.shown("mlflow server").replace("5000", str(port))
    address = session.shown("export MLFLOW_TRACKING_URI=").split("=")[1].replace("5000", str(port))
    session.environment["MLFLOW_TRACKING_URI"] = os.environ["MLFLOW_TRACKING_URI"] = address
    from mlflow import MlflowClient

    client = MlflowClient()
    newest = lambda: client.search_runs(["0"], order_by=["attributes.start_time DESC"])[0]
    history = lambda tag: [(one.step, one.value) for one in client.get_metric_history(newest().info.run_id, tag)]
    with session.started(server, "mlflow.log"):
        wait_for("MLflow's server answers", lambda: fetch(f"{address}/health") == "OK")
        shutil.rmtree(session.folder / run)
        relay = session.shown("tail -n +1 -F")
        with session.started(relay, "relay.log") as relaying, long_run(session, run) as training:
            wait_for("MLflow has eval/accuracy while the job trains",
                     lambda: client.search_runs(["0"]) and history("eval/accuracy"), training)
            check("the job ends well", training.wait(300) == 0)
            check("and the relay with it", relaying.wait(60) == 0)
        for tag in ("train/loss", "eval/accuracy"):
            own = wanted(session, run, tag)
            check(f"MLflow has {len(own)} values of {tag}, those of metrics.jsonl", same_points(history(tag), own))
        start = next(event for event in session.events(run) if event["event"] == "run_start")
        check("and the parameters, the name and the end of the run",
              newest().data.params["global_batch"] == str(start["global_batch"]) and newest().info.run_name == "clothes"
              and newest().info.status == "FINISHED")
        session.run(f"set +o pipefail; {relay}")  # tail ends when nobody reads
        own = wanted(session, run, "eval/accuracy")
        check("it has the same of a job that has ended", same_points(history("eval/accuracy"), own))
        relay_a_restart(session, relay, history)


def relay_a_restart(session, relay, history):
    """A job that goes on from a checkpoint, because one of its replicas is killed."""
    run = "runs/restarted"
    options = "--set train.epochs=40 --set checkpoint.every_epochs=2 --set restarts.max=1"
    with session.started(relay.replace("runs/clothes", run), "relay.log") as relaying, \
            session.started(f"exec dtrain run clothes.yaml --run-dir {run} {options}", "training.log") as training:
        wait_for("a job has trained for some epochs", lambda: len(wanted(session, run, "eval/accuracy")) > 4, training)
        replicas = pathlib.Path(f"/proc/{training.pid}/task/{training.pid}/children").read_text().split()
        os.kill(int(replicas[-1]), signal.SIGKILL)
        check("it restarts and ends well", training.wait(300) == 0)
        check("and the relay with it", relaying.wait(60) == 0)
    own, found = wanted(session, run, "eval/accuracy"), history("eval/accuracy")
    restarts = sum(event["event"] == "restart" for event in session.events(run))
    check(f"MLflow has each of its {len(own)} evaluations, {len(found) - len(own)} of them twice",
          restarts == 1 and sorted(set(found)) == own)


def check_prometheus(session):
    from prometheus_client.parser import text_string_to_metric_families

    session.of_page("mkdir -p node-exporter")
    port = free_port()
    exporter = session.shown("prometheus-node-exporter").replace("9100", str(port))
    shown = session.shown("dtrain run clothes.yaml --json")
    relay = shown.replace("--json", "--json --run-dir runs/relayed --set train.epochs=25")

    def numbers(text):
        return {(one.name, one.labels.get("part")): one.value for family in text_string_to_metric_families(text)
                for one in family.samples if one.name.startswith("dtrain_") and one.labels["name"] == "clothes"}

    def served():
        return numbers(fetch(f"http://127.0.0.1:{port}/metrics"))

    file, seen = session.folder / "node-exporter/clothes.prom", []
    present = shutil.which("prometheus-node-exporter", path=session.environment["PATH"])
    with contextlib.ExitStack() as stack:
        if present:
            stack.enter_context(session.started(exporter, "exporter.log"))
        training = stack.enter_context(session.started(relay, "prometheus.log"))
        wait_for("the file has the accuracy of an evaluation while the job trains",
                 lambda: numbers(file.read_text())["dtrain_accuracy", "eval"], training)
        if present:
            wait_for("and so has the node exporter", lambda: ("dtrain_accuracy", "eval") in served(), training)
        while training.poll() is None:
            try:
                seen.append(numbers(file.read_text()))
            except (LookupError, ValueError) as error:
                check(f"the file was whole each time that it was read: {error}", False)
            time.sleep(0.002)
        check("the job and the relay end well", training.returncode == 0)
        check(f"the file was whole each of {len(seen)} times that it was read, and changed "
              f"({len({one.get(('dtrain_step', 'train')) for one in seen})} steps)",
              all(one.keys() == seen[-1].keys() for one in seen) and seen[0] != seen[-1])
        own = {(f"dtrain_{field}", part): value for event in session.events("runs/relayed")
               for kind, part in PARTS.items() if event["event"] == kind
               for field, value in event.items() if isinstance(value, (int, float))}
        check("it said that the job has not ended", not seen[0]["dtrain_ended", None])
        own |= {("dtrain_ended", None): 1, ("dtrain_failed", None): 0}
        check(f"at the end it has the {len(own)} newest numbers of metrics.jsonl", numbers(file.read_text()) == own)
        if present:
            check("and the node exporter serves these", served() == own)
        diverges = "--json --set train.optimizer.kind=sgd --set train.optimizer.learning_rate=1000000"
        session.run("set +o pipefail; " + shown.replace("--json", diverges))
        last = served() if present else numbers(file.read_text())
        check("of a job that diverges it says so, and that the loss is not finite",
              last["dtrain_failed", None] == 1 and not numpy.isfinite(last["dtrain_loss", "train"]))


CHECKS = {"pictures": check_pictures, "cpp": check_cpp, "int8": check_int8, "torchscript": check_torchscript,
          "tables": check_tables, "tensorboard": check_tensorboard, "mlflow": check_mlflow,
          "prometheus": check_prometheus}


def main():
    program, folder, torch_python, *parts = sys.argv[1:]
    if unknown := [part for part in parts if part not in CHECKS]:
        sys.exit(f"check_use: unknown: {', '.join(unknown)}; known: {', '.join(CHECKS)}")
    check("the page starts each server alone, or at the end of a block", not SERVER.search(PAGE))
    session = Session(program, folder, torch_python)
    train_clothes(session)
    make_other_forms(session)
    for part in parts or CHECKS:
        CHECKS[part](session)
    if not parts:
        check(f"every command of the page has run{''.join(f'; not {one}' for one in session.left)}", not session.left)


main()
