#!/usr/bin/env python3
"""What replicas lose where they share cores with each other or with other work.

Trains a synthetic perceptron (784-256-128-10, batch 64 per replica) on one device, with one thread and with two, and on
two replicas, in turn over some rounds: on one core; on one core beside a busy loop; on two cores with a busy loop on
each; and on two cores alone. Several --program (an old and a new one, say) are measured in turn too.
"""

import argparse
import contextlib
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile

SPEC = """
name: crowded
strategy: {kind: mirrored}
data:
  {dataset: synthetic, shape: [1, 28, 28], classes: 10, train_examples: 12800, test_examples: 64, drop_remainder: true}
batch: {per_replica: 64}
model: {kind: mlp, hidden: [256, 128]}
train:
  epochs: 1000000
  optimizer: {kind: adam, learning_rate: 1.0e-3}
evaluate: {every_epochs: 1000000}
compare: {baseline: none}
"""
BATCH = 64
ONE, TWO = (1, 1), (2, 1)  # replicas, and threads of each
CONTENDERS = {ONE: "one device", (1, 2): "one device, 2 threads", TWO: "2 replicas"}
PLACES = {  # cores, and those of them with a busy loop
    "one core": ("{0}", []),
    "one core, busy": ("{0}", [0]),
    "two cores, busy": ("{0},{1}", [0, 1]),
    "two cores": ("{0},{1}", []),
}


@contextlib.contextmanager
def busy_loops(cores):
    loops = [subprocess.Popen(["taskset", "-c", str(core), "sh", "-c", "while :; do :; done"]) for core in cores]
    try:
        yield
    finally:
        for loop in loops:
            loop.send_signal(signal.SIGKILL)
            loop.wait()


def train(program, cores, contender, options):
    """Examples/s, from the mean time of a step."""
    replicas, threads = contender
    settings = {
        "strategy.kind": "mirrored" if replicas > 1 else "one_device",
        "strategy.replicas": replicas,
        "strategy.threads_per_replica": threads,
        "train.max_steps": options.steps,
    }
    with tempfile.TemporaryDirectory(prefix="dtrain-crowded-") as name:
        folder = pathlib.Path(name)
        (folder / "job.yaml").write_text(SPEC)
        command = ["taskset", "-c", cores, str(program), "run", str(folder / "job.yaml"), "--quiet"]
        command += ["--run-dir", str(folder / "run")]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        end = json.loads((folder / "run" / "summary.json").read_text())["distributed"]["run_end"]
    return 1000 * BATCH * replicas / sum(end["phases_ms"].values())


def measure(options, place, contender):
    cores, busy = PLACES[place]
    cores = cores.format(*options.cores)
    with busy_loops([options.cores[index] for index in busy]):
        return [train(program, cores, contender, options) for program in options.program]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", action="append", type=pathlib.Path, help="a dtrain; may be given again")
    parser.add_argument("--cores", default="0,1", help="two of this machine's (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=1000, help="of each run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="(default: %(default)s)")
    options = parser.parse_args()
    programs = options.program or [pathlib.Path(__file__).resolve().parents[2] / "build/release/dtrain"]
    options.program = [program.resolve() for program in programs]
    options.cores = [int(core) for core in options.cores.split(",")]

    rates = {}  # by place, contender and program
    for _ in range(options.rounds):
        for place in PLACES:
            for contender in CONTENDERS:
                for program, rate in zip(options.program, measure(options, place, contender)):
                    rates.setdefault((place, contender, program), []).append(rate)
                    print(f"# {place}, {CONTENDERS[contender]}, {program}: {rate:,.0f}", file=sys.stderr)
    median = {key: statistics.median(values) for key, values in rates.items()}
    names = list(CONTENDERS.values())
    print(f"# examples/s, medians of {options.rounds} rounds (lowest to highest), {options.steps} steps each")
    print(f"| | program | {' | '.join(names)} | 2 replicas of one device there | of one device alone on a core |")
    print(f"| --- | --- |{' ---: |' * (len(names) + 2)}")
    for place in PLACES:
        for program in options.program:
            cells = []
            for contender in CONTENDERS:
                values = rates[place, contender, program]
                cells.append(f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})")
            two = median[place, TWO, program]
            cells += [f"{two / median[key]:.2f}" for key in ((place, ONE, program), ("one core", ONE, program))]
            print(f"| {place} | {program.name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
