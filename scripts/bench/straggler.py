#!/usr/bin/env python3
"""What a slow worker costs the others under parameter_server.

Trains twice, the second time with worker 1 stopped for four fifths of the time, and prints every worker's updates per second
and how fast the others were against the first time. Where processes outnumber cores, a slow worker leaves the others more of
them: there the ratio says nothing about the protocol, unless all workers idle for a part of their steps.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOPPED, RUNNING = 0.04, 0.01  # seconds: a fifth of the time is left


def steps_done(metrics: pathlib.Path) -> int:
    """The last step that worker 0 has reported."""
    done = 0
    for line in metrics.read_text().splitlines() if metrics.exists() else []:
        try:
            event = json.loads(line)
        except ValueError:  # the half line that is being written
            continue
        if event["event"] == "step":
            done = event["step"]
    return done


def worker_process(job: int, rank: int) -> int:
    for task in pathlib.Path(f"/proc/{job}/task").iterdir():
        for child in (task / "children").read_text().split():
            if f"RANK={rank}".encode() in pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
                return int(child)
    raise SystemExit(f"worker {rank} is not there")


def slow_down(process: int, job: subprocess.Popen, metrics: pathlib.Path, steps: int) -> None:
    """Until worker 0 is done; it then waits for the slow one, which nobody measures any more."""
    try:
        while job.poll() is None and steps_done(metrics) < steps:
            until = time.monotonic() + 1
            while job.poll() is None and time.monotonic() < until:
                os.kill(process, signal.SIGSTOP)
                time.sleep(STOPPED)
                os.kill(process, signal.SIGCONT)
                time.sleep(RUNNING)
    except ProcessLookupError:
        pass


def train(options: argparse.Namespace, folder: pathlib.Path, steps: int, slowed: bool) -> dict:
    overrides = ["compare.baseline=none", "train.epochs=1000000", "evaluate.every_epochs=1000000",
                 f"train.max_steps={steps}", f"strategy.max_staleness={options.max_staleness}", *options.set]
    command = [options.program, "run", options.spec, "--run-dir", folder, "--quiet"]
    for override in overrides:
        command += ["--set", override]
    metrics = folder / "metrics.jsonl"
    with subprocess.Popen(command) as job:
        if slowed:
            while job.poll() is None and steps_done(metrics) == 0:
                time.sleep(0.02)
            slow_down(worker_process(job.pid, 1), job, metrics, steps)
    if job.returncode != 0:
        raise SystemExit(f"the job failed with exit code {job.returncode}")
    return json.loads((folder / "summary.json").read_text())["distributed"]["run_end"]


def rates(end: dict) -> list[float]:
    return [worker["updates_per_second"] for worker in end["workers"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec", nargs="?", default=ROOT / "configs/mnist_parameter_server.yaml", help="a job with workers")
    parser.add_argument("--program", default=ROOT / "build/release/dtrain")
    parser.add_argument("--seconds", type=float, default=20, help="training time of each run (default: %(default)s)")
    parser.add_argument("--max-staleness", default="none", help="a bound, or none (default)")
    parser.add_argument("--set", action="append", default=[], metavar="PATH=VALUE", help="as for dtrain run")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="dtrain-straggler-") as name:
        folder = pathlib.Path(name)
        probe = train(options, folder / "probe", 300, slowed=False)
        steps = max(300, int(rates(probe)[0] * options.seconds))
        print(f"# {os.cpu_count()} cores, max_staleness {options.max_staleness}, {steps} steps of each worker")
        equal = train(options, folder / "equal", steps, slowed=False)
        slowed = train(options, folder / "slowed", steps, slowed=True)
    print(f"# {'worker':>6} {'updates/s':>10} {'with worker 1 slowed':>21} {'ratio':>6}")
    for worker, (before, after) in enumerate(zip(rates(equal), rates(slowed))):
        print(f"  {worker:>6} {before:>10.1f} {after:>21.1f} {after / before:>6.2f}")
    print("# worker 1 is let go when worker 0 is done, so that its own rate says little")
    staleness = slowed["staleness"]
    print(f"# staleness with worker 1 slowed: {staleness['mean']:.2f} on average, {staleness['maximum']} at most")


if __name__ == "__main__":
    main()
