"""Compares how many times as fast dtrain is as LibTorch by hand with the ratios in a file. Started by
scripts/check_speed.

A ratio of two programs that run in turn changes far less than a speed when something else uses the machine. It depends
on the processor, so the file has a line for each of its models and instruction set."""

import argparse
import itertools
import os
import pathlib
import statistics
import sys

import run_peers

MODELS = ("mlp", "cnn")
OURS, PEER = "dtrain, one device", "LibTorch by hand, one core"
ALLOWED = 0.9  # of the stored ratio
# Steps that are timed together: about half a second for either program, so that both meet as much of other programs.
WINDOW = {("mlp", OURS): 1000, ("mlp", PEER): 400, ("cnn", OURS): 400, ("cnn", PEER): 50}
UNSTEADY = 1.2  # the highest ratio of the rounds to the lowest, from which a result says little
# As lib/nets/kernels/instructions.cpp chooses them.
WIDEST = (("avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}), ("avx2", {"avx2", "fma"}))
HEADING = """\
# How many times as fast as LibTorch by hand dtrain trains on one core. scripts/check_speed compares with this file;
# --update writes it.
# processor (vendor, family, model), instructions, trained model, ratio
"""


def kind_of_processor():
    """Such as "GenuineIntel-6-143 avx512": vendor, family and model, and the instructions that dtrain uses."""
    fields = {}
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = set(fields["flags"].split())
    widest = next((name for name, needed in WIDEST if needed <= flags), "portable")
    processor = "-".join(fields[name] for name in ("vendor_id", "cpu family", "model"))
    return f"{processor} {os.environ.get('DTRAIN_INSTRUCTIONS') or widest}"


def read_stored(path):
    """The ratios by "processor instructions model"."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = (line.rsplit(maxsplit=1) for line in lines if line and not line.startswith("#"))
    return {key: float(ratio) for key, ratio in rows}


def fastest(contender, model):
    """Examples/s of the fastest window: other programs on the machine can only make a window slower."""
    window, batch = WINDOW[model, contender.name], run_peers.BATCH[model]
    steps = window * (run_peers.WARM_UP + run_peers.WINDOWS)
    _, events, _ = run_peers.execute(contender, steps, window, model=model, batch=batch)
    times = [run_peers.time_of(event) for event in events if event["step"] % window == 0]
    return max(window * batch / (end - begin) for begin, end in itertools.pairwise(times[run_peers.WARM_UP - 1 :]))


def measure(options, model):
    """The median of the rounds' ratios."""
    pair = [one for one in run_peers.contenders(options) if one.name in (OURS, PEER)]
    ratios = []
    for number in range(options.rounds):
        # The other one first in every second round, so that neither profits from its place.
        order = pair if number % 2 == 0 else pair[::-1]
        rate = {one.name: fastest(one, model) for one in order}
        ratios.append(rate[OURS] / rate[PEER])
        print(
            f"round {number + 1}/{options.rounds} {model}: dtrain {rate[OURS]:,.0f} examples/s, "
            f"LibTorch by hand {rate[PEER]:,.0f}: {ratios[-1]:.2f} x",
            file=sys.stderr,
            flush=True,
        )
    if max(ratios) > UNSTEADY * min(ratios):
        print(f"{model}: the rounds differ because other programs run here; try again when it is idle", file=sys.stderr)
    return statistics.median(ratios)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--libtorch", type=pathlib.Path, required=True, help="the program of libtorch_by_hand.cpp")
    parser.add_argument("--stored", type=pathlib.Path, required=True, help="the file with the ratios")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--update", action="store_true")
    parser.set_defaults(
        environments=pathlib.Path(), dataset="fashion_mnist", data=pathlib.Path("/usr/share/datasets/fashion-mnist")
    )
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds needs a number from 1")

    kind = kind_of_processor()
    stored = read_stored(options.stored)
    missing = [model for model in MODELS if f"{kind} {model}" not in stored]
    if missing and not options.update:
        print(f"{options.stored} has no ratio for {kind}: store it with --update", file=sys.stderr)
        return 2
    slower = False
    for model in MODELS:
        key = f"{kind} {model}"
        ratio = measure(options, model)
        if options.update:
            stored[key] = ratio
            print(f"{key}: {ratio:.2f} x, stored")
            continue
        lost = ratio < ALLOWED * stored[key]
        slower = slower or lost
        change = 100 * (ratio / stored[key] - 1)
        print(f"{key}: {ratio:.2f} x, stored {stored[key]:.2f} x ({change:+.1f} %): {'SLOWER' if lost else 'ok'}")
    if options.update:
        rows = [f"{key} {ratio:.2f}\n" for key, ratio in sorted(stored.items())]
        options.stored.write_text(HEADING + "".join(rows))
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
