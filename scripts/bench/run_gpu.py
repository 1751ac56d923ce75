"""The checks and benchmarks that need a GPU, and their report in Markdown. Started by scripts/check_gpu."""

import argparse
import datetime
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROUNDS = 2
FAST = {"cuda.tf32": "true", "cuda.cudnn_benchmark": "true"}  # as torch_gpu.py
WINDOWS = 8  # timed, of each run
WARM_UP = 2  # windows
TIMEOUT = 180  # seconds, of one run


class Failed(Exception):
    pass


def time_of(event):
    return datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


class Checker:
    def __init__(self, options):
        self.options = options
        self.started = time.monotonic() - options.spent
        self.rows = []

    # What is run.

    def run(self, command, expect=0):
        """Returns the events that the command prints; every line of JSON is one."""
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failed(f"took more than {TIMEOUT} s: {' '.join(map(str, command))}") from None
        if done.returncode != expect:
            text = (done.stdout[-800:] + done.stderr[-1500:]).strip()
            raise Failed(f"ended with {done.returncode}, not {expect}: {text}")
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def dtrain_command(self, folder, config, settings):
        command = [self.options.program, "run", HERE / config, "--json", "--overwrite", "--run-dir", f"{folder}/run"]
        every = {"data.path": self.options.data, "strategy.devices": "cuda:0", **settings}
        if every.get("data.dataset") == "synthetic":
            del every["data.path"]
        for path, value in every.items():
            command += ["--set", f"{path}={value}"]
        return [str(part) for part in command]

    def dtrain(self, config, settings):
        with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
            return self.run(self.dtrain_command(folder, config, settings))

    def python(self, model, batch, steps, window, *more):
        command = [self.options.python, HERE / "torch_gpu.py", f"--model={model}", f"--data={self.options.data}"]
        command += [f"--batch={batch}", f"--steps={steps}", f"--window={window}", *more]
        return self.run([str(part) for part in command])

    # What comes out.

    def row(self, name, value, target, ok):
        mark = "" if ok is None else "yes" if ok else "**no**"
        self.rows.append((name, value, target, mark))
        print(f"[{time.monotonic() - self.started:5.0f} s] {name}: {value} (target: {target}) {mark}", file=sys.stderr, flush=True)

    def check(self, body):
        if time.monotonic() - self.started > self.options.minutes * 60:
            return self.row(body.__doc__, "not run: the time was over", "", False)
        try:
            return body()
        except Exception as failure:  # whatever it is, it must not cost the checks that follow
            return self.row(body.__doc__, f"failed: {failure!r}", "", False)

    @staticmethod
    def rate(events, window, batch):
        times = [time_of(event) for event in events if event.get("event") == "step" and event["step"] % window == 0]
        durations = [end - begin for begin, end in zip(times[WARM_UP - 1 :], times[WARM_UP:])]
        if len(durations) < WINDOWS // 2:
            raise Failed("too few windows were timed")
        return statistics.median(window * batch / duration for duration in durations)

    @staticmethod
    def last(events, kind, run="distributed"):
        found = [event for event in events if event.get("event") == kind and event.get("run", run) == run]
        if not found:
            raise Failed(f"no {kind} event")
        return found[-1]

    def compare(self, name, contenders, batch, targets, window):
        """Rates in turn over some rounds; the first contender against each of the others."""
        steps = window * (WARM_UP + WINDOWS)
        rates = {contender: [] for contender in contenders}
        for number in range(ROUNDS):
            order = list(contenders)
            for contender in order[number % len(order) :] + order[: number % len(order)]:
                rates[contender].append(self.rate(contenders[contender](steps, window), window, batch))
        medians = {contender: statistics.median(values) for contender, values in rates.items()}
        ours = next(iter(contenders))
        for contender, target in targets.items():
            ratios = [a / b for a, b in zip(rates[ours], rates[contender])]
            text = f"{medians[ours]:,.0f} against {medians[contender]:,.0f} examples/s: {medians[ours] / medians[contender]:.2f} x"
            text += f" ({min(ratios):.2f} to {max(ratios):.2f})"
            self.row(f"{name}, against {contender}", text, f">= {target} x", medians[ours] / medians[contender] >= target)

    # The checks.

    def environment(self):
        """Environment"""
        version = subprocess.run([self.options.program, "--version"], capture_output=True, text=True, check=True)
        show = "import torch; print(torch.cuda.get_device_properties(0));"
        show += "print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())"
        torch = subprocess.run([self.options.python, "-c", show], capture_output=True, text=True, check=True)
        gpu, versions = torch.stdout.strip().splitlines()
        self.row("GPU", gpu, "", None)
        self.row("versions", f"{version.stdout.strip()}; Python torch {versions}", "", None)

    def same_as_cpu(self):
        """Weights of the GPU against the CPU"""
        settings = {"train.max_steps": 200, "metrics.every_steps": 200, "train.epochs": 1, "evaluate.every_epochs": 1}
        losses = {}
        for name, more in {
            "the CPU": {"strategy.devices": "cpu"},
            "recorded": {},
            "eager": {"cuda.graphs": "false"},
            "uploaded": {"cuda.data": "uploaded"},
            # Steps that somebody looks at run between replays of the recorded one.
            "observed": {
                "callbacks.tensorboard": "true", "callbacks.tensorboard_histograms": "true", "metrics.inspect_step": 50
            },
        }.items():
            losses[name] = self.last(self.dtrain("mlp.yaml", {**settings, "strategy.replicas": 1, **more}), "run_end")["loss"]
        for name, loss in losses.items():
            difference = abs(loss / losses["the CPU"] - 1)
            if name != "the CPU":
                self.row(f"test loss after 200 steps, {name}", f"{loss:.6f}, {difference:.1e} from the CPU's", "<= 1e-3", difference <= 1e-3)
        difference = abs(losses["observed"] / losses["recorded"] - 1)
        self.row("test loss, observed against recorded", f"{difference:.1e}", "<= 1e-6", difference <= 1e-6)

    def shared_gpu(self):
        """Two ranks on one GPU over gloo against one rank"""
        settings = {"train.max_steps": 100, "metrics.every_steps": 100, "train.epochs": 1, "evaluate.every_epochs": 1}
        # In float64: in float32 a batch of another size takes other kernels, whose roundings differ by as much.
        settings.update({"train.optimizer.kind": "sgd", "train.optimizer.learning_rate": 0.1, "model.dtype": "float64"})
        one = self.last(self.dtrain("mlp.yaml", {**settings, "strategy.replicas": 1, "batch.per_replica": 128}), "run_end")
        two = self.last(self.dtrain("mlp.yaml", {**settings, "strategy.replicas": 2}), "run_end")
        difference = abs(two["loss"] / one["loss"] - 1)
        self.row("two ranks on one GPU over gloo, against one with twice the batch", f"{difference:.1e}", "<= 1e-5", difference <= 1e-5)

    def nccl_overhead(self):
        """NCCL with one rank against one device"""
        for model in ("mlp", "cnn"):
            def run(settings, model=model):
                return lambda steps, window: self.dtrain(
                    f"{model}.yaml", {"strategy.replicas": 1, "train.max_steps": steps, "metrics.every_steps": window, **settings}
                )
            contenders = {
                "mirrored over NCCL": run({"strategy.communication": "nccl"}),
                "one_device": run({"strategy.kind": "one_device"}),
            }
            self.compare(f"{model.upper()} 64, world of 1", contenders, 64, {"one_device": 0.99}, 1000)

    def mnist_speed(self):
        """MNIST against eager DDP"""
        for model, target in {"mlp": 5, "cnn": 3}.items():
            for batch, window in {64: 800, 1024: 200}.items():
                settings = {"strategy.kind": "one_device", "batch.per_replica": batch, **FAST}
                contenders = {
                    "dtrain": lambda steps, window, model=model, settings=settings: self.dtrain(
                        f"{model}.yaml", {**settings, "train.max_steps": steps, "metrics.every_steps": window}
                    ),
                    "eager DDP": lambda steps, window, model=model, batch=batch: self.python(model, batch, steps, window),
                }
                self.compare(f"{model.upper()} {batch}", contenders, batch, {"eager DDP": target}, window)

    def accuracy(self):
        """Accuracy against eager DDP"""
        for model in ("mlp", "cnn"):
            steps = 60000 // 64 * 5
            settings = {"strategy.kind": "one_device", "train.max_steps": steps, "evaluate.every_epochs": 5}
            ours = self.last(self.dtrain(f"{model}.yaml", settings), "run_end")["accuracy"]
            theirs = self.last(self.python(model, 64, steps, 500, "--evaluate"), "accuracy")["accuracy"]
            self.row(f"{model.upper()} after 5 epochs", f"{ours:.4f} against {theirs:.4f}", "within 0.005", abs(ours - theirs) <= 0.005)

    def time_to_accuracy(self):
        """MNIST CNN to 99 %"""
        events = self.dtrain("gpu_99.yaml", {"strategy.kind": "one_device"})
        epochs = [event["seconds"] for event in events if event["event"] == "epoch"]
        good = [event["epoch"] for event in events if event["event"] == "eval" and event["accuracy"] >= 0.99]
        if not good:
            return self.row("MNIST CNN to 99 % test accuracy", "never reached", "< 1 s", False)
        # In the first epoch CUDA loads its libraries' kernels, and the step is recorded.
        start = max(0.0, epochs[0] - statistics.median(epochs[1:]))
        trained = sum(epochs[: good[0]]) - start
        text = f"{trained:.2f} s of training in {good[0]} epochs, after {start:.2f} s for loading kernels and recording"
        return self.row("MNIST CNN to 99 % test accuracy", text, "< 1 s of training", trained < 1)

    def resnet(self):
        """ResNet-18 in bf16"""
        settings = {"strategy.kind": "one_device", "data.dataset": "synthetic"}
        contenders = {
            "dtrain": lambda steps, window: self.dtrain(
                "gpu_resnet.yaml", {**settings, "train.max_steps": steps, "metrics.every_steps": window}
            ),
            "eager": lambda steps, window: self.python("resnet18", 256, steps, window, "--bf16"),
            "torch.compile": lambda steps, window: self.python("resnet18", 256, steps, window, "--bf16", "--compile"),
        }
        self.compare("ResNet-18, bf16, 256 of 128 x 128", contenders, 256, {"eager": 1.1, "torch.compile": 0.95}, 20)

    def killed_rank(self):
        """A killed rank"""
        with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
            settings = {"strategy.replicas": 2, "metrics.every_steps": 20}
            command = self.dtrain_command(folder, "mlp.yaml", settings)
            job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for line in job.stdout:
                if line.startswith("{") and json.loads(line).get("event") == "step":
                    break
            children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            ranks = {}
            for child in children:
                environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().decode().split("\0")
                ranks.update({int(entry[5:]): int(child) for entry in environment if entry.startswith("RANK=")})
            began = time.monotonic()
            os.kill(ranks[1], signal.SIGKILL)
            _, errors = job.communicate(timeout=TIMEOUT)
            took = time.monotonic() - began
        named = "rank 1" in errors
        text = f"exit {job.returncode} after {took:.1f} s, {'names' if named else 'does not name'} rank 1"
        self.row("rank 1 of 2 is killed", text, "exit 4, < 10 s, named", job.returncode == 4 and took < 10 and named)

    def report(self):
        lines = [f"# dtrain on a GPU, {datetime.date.today().isoformat()}", ""]
        lines += [f"{ROUNDS} rounds in turn, medians (lowest to highest ratio).", ""]
        lines += ["| check | result | target | reached |", "| --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(str(cell).replace("|", "/").replace("\n", " ") for cell in row) + " |" for row in self.rows]
        lines += ["", f"{time.monotonic() - self.started:.0f} s in all."]
        return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with MNIST's IDX files")
    parser.add_argument("--minutes", type=float, required=True, help="no check begins after so many")
    parser.add_argument("--spent", type=float, default=0, help="seconds of them that are over")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="", help="checks, separated by commas")
    checker = Checker(parser.parse_args())
    known = ["environment", "same_as_cpu", "shared_gpu", "killed_rank", "time_to_accuracy", "mnist_speed", "resnet"]
    known += ["nccl_overhead", "accuracy"]
    chosen = checker.options.only.split(",") if checker.options.only else known
    for name in chosen:
        if name not in known:
            sys.exit(f"unknown check '{name}'; known: {', '.join(known)}")
        checker.check(getattr(checker, name))
        checker.options.out.write_text(checker.report())
    print(checker.report())
    sys.exit(0 if all(row[3] != "**no**" for row in checker.rows) else 1)


if __name__ == "__main__":
    main()
