"""Runs the same workload in dtrain and its peers, in turn, and writes a Markdown table. Started by scripts/bench_peers.

Every contender is a command that prints a line of JSON whenever a window of steps is done: {"event": "step", "step": n,
"time": ...}. All figures come from those lines and from the kernel, in the same way for everyone."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
BATCH = {"mlp": 64, "cnn": 64, "resnet": 32, "resnet_bf16": 32}  # examples per replica
WINDOWS = 10  # timed, of each run
WARM_UP = 2  # windows
STEPS_OF_WINDOW = {"mlp": 200, "cnn": 50, "resnet": 2, "resnet_bf16": 2}
TIMEOUT = 600  # seconds, of one run
PEAK = "VmHWM"
PEERS = {"torch": "torch", "tensorflow": "tensorflow-cpu", "jax": "jax"}  # environments, and the packages to name


@dataclasses.dataclass
class Contender:
    name: str
    replicas: int
    command: list  # with {model}, {batch}, {steps}, {window}, {directory}
    processes_per_replica: bool = True
    environment: dict = dataclasses.field(default_factory=dict)
    trains_resnet: bool = False


@dataclasses.dataclass
class Run:
    examples_per_second: float = 0.0
    first_step: float = 0.0  # seconds since the command was started
    peak_memory: float = 0.0  # bytes of a replica


def contenders(options):
    python = {peer: str(options.environments / peer / "bin" / "python") for peer in PEERS}

    def workload(replicas):
        work = ["--model={model}", f"--data={options.data}", "--batch={batch}", "--steps={steps}", "--window={window}"]
        return [*work, f"--replicas={replicas}"]

    by_hand = [str(options.libtorch), "{model}", options.dataset, str(options.data), "{batch}", "{steps}", "{window}"]
    jax = [python["jax"], str(HERE / "jax_scan.py")]
    torchrun = [python["torch"], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    tensorflow = [python["tensorflow"], str(HERE / "tensorflow_mirrored.py"), *workload(2)]

    def dtrain(name, replicas, kind):
        settings = {
            "strategy.replicas": replicas,
            "strategy.kind": kind,
            "data.path": options.data,
            "data.dataset": options.dataset,
            "train.max_steps": "{steps}",
            "metrics.every_steps": "{window}",
        }
        command = [str(options.program), "run", str(HERE / "{model}.yaml"), "--json", "--run-dir", "{directory}/run"]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        return Contender(name, replicas, command, trains_resnet=True)

    return [
        dtrain("dtrain, 2 replicas", 2, "mirrored"),
        Contender(
            "PyTorch DDP, 2 ranks",
            2,
            [*torchrun, str(HERE / "torch_ddp.py"), *workload(2)],
            environment={"OMP_NUM_THREADS": "1"},
            trains_resnet=True,
        ),
        Contender("TensorFlow, own loop, 2 replicas", 2, [*tensorflow, "--loop=steps"], False),
        Contender("TensorFlow, Keras fit, 2 replicas", 2, [*tensorflow, "--loop=fit"], False),
        Contender("JAX, 2 devices", 2, [*jax, *workload(2)], False),
        dtrain("dtrain, one device", 1, "one_device"),
        Contender("JAX, one core", 1, [*jax, *workload(1)]),
        Contender("LibTorch by hand, one core", 1, by_hand),
        Contender("torch.compile, one core", 1, [python["torch"], str(HERE / "torch_compile.py"), *workload(1)]),
    ]


def children_of(pid):
    try:
        listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(found for child in listed for found in children_of(int(child)))]


def peak_of(pid):
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(PEAK):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def watch_memory(pid, peaks, ended):
    """The peak of the largest process of the job: a replica, for those that start processes."""
    while not ended.wait(0.2):
        for process in children_of(pid):
            peaks.append(peak_of(process))


def time_of(event):
    return datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def execute(contender, steps, window, **values):
    """Runs one command, with {steps}, {window}, {directory} and {values} filled in; returns when it was started, its
    `step` events and its largest process' peak."""
    with tempfile.TemporaryDirectory(prefix="bench-peers-") as directory:
        values |= {"steps": steps, "window": window, "directory": directory}
        command = [part.format(**values) for part in contender.command]
        log = pathlib.Path(directory) / "log"
        peaks, ended = [0], threading.Event()
        with log.open("w") as errors:
            started = time.time()
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **contender.environment},
            )
            watcher = threading.Thread(target=watch_memory, args=(process.pid, peaks, ended))
            watcher.start()
            try:
                output, _ = process.communicate(timeout=TIMEOUT)
            finally:
                process.kill()
                ended.set()
                watcher.join()
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}\nended with {process.returncode}:\n{output[-2000:]}{log.read_text()[-4000:]}")
    events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return started, [event for event in events if event.get("event") == "step"], max(peaks)


def throughput(contender, model, window=None):
    window = window or STEPS_OF_WINDOW[model]
    _, events, peak = execute(contender, window * (WARM_UP + WINDOWS), window, model=model, batch=BATCH[model])
    times = [time_of(event) for event in events if event["step"] % window == 0]
    durations = [end - begin for begin, end in zip(times[WARM_UP - 1 :], times[WARM_UP:])]
    examples = window * BATCH[model] * contender.replicas
    rate = statistics.median(examples / duration for duration in durations)
    return rate, peak if contender.processes_per_replica else peak / contender.replicas


def measure(contender, model):
    rate, peak = throughput(contender, model)
    started, events, _ = execute(contender, 1, 1, model=model, batch=BATCH[model])
    return Run(rate, time_of(events[0]) - started, peak)


def spread(values, form):
    return f"{form.format(statistics.median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def table(model, everyone, runs):
    """One row a contender: medians over the rounds, the lowest and the highest beside them."""
    rate_of = {name: statistics.median(run.examples_per_second for run in of_name) for name, of_name in runs.items()}
    ours = {one.replicas: rate_of[one.name] for one in everyone if one.name.startswith("dtrain")}
    lines = [
        f"| {model.upper()} | examples/s | dtrain is faster by | first step, s | memory a replica, MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for contender in everyone:
        name = contender.name
        rates = [run.examples_per_second for run in runs[name]]
        ratio = "" if name.startswith("dtrain") else f"{ours[contender.replicas] / rate_of[name]:.2f} x"
        lines.append(
            f"| {name} | {spread(rates, '{:,.0f}')} | {ratio} | "
            f"{spread([run.first_step for run in runs[name]], '{:.2f}')} | "
            f"{statistics.median(run.peak_memory for run in runs[name]) / 1e6:,.0f} |"
        )
    lines.append(f"\nScaling efficiency of dtrain at 2 replicas (weak): {ours[2] / ours[1] / 2:.2f}.\n")
    return lines


def version_of(command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[-1]


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(": ", 1)[1]
    return platform.machine()


def system():
    return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())


def heading(options):
    show = "import importlib.metadata as m; print(m.version('{}'))"
    versions = {
        peer: version_of([options.environments / peer / "bin/python", "-c", show.format(package)])
        for peer, package in PEERS.items()
        if (options.environments / peer).exists()
    }
    names = {"torch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX"}
    peers = "; ".join(f"{names[peer]} {version}" for peer, version in versions.items())
    return [
        f"{processor()}, {len(os.sched_getaffinity(0))} cores; {system()}; "
        f"{datetime.date.today().isoformat()}.",
        f"{version_of([options.program, '--version'])}; {peers}; "
        f"data: {options.dataset}; {options.rounds} rounds, all contenders in turn. Medians (lowest to highest).",
        "",
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--libtorch", type=pathlib.Path, required=True, help="the program of libtorch_by_hand.cpp")
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--only", choices=list(STEPS_OF_WINDOW))
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()

    everyone = contenders(options)
    models = [options.only] if options.only else list(STEPS_OF_WINDOW)
    entrants = {
        model: [one for one in everyone if not model.startswith("resnet") or one.trains_resnet] for model in models
    }
    runs = {model: {one.name: [] for one in entrants[model]} for model in models}
    for number in range(options.rounds):
        for model in models:
            # Another first one every round, so that nobody always follows the same neighbour.
            first = number % len(entrants[model])
            for contender in entrants[model][first:] + entrants[model][:first]:
                run = measure(contender, model)
                runs[model][contender.name].append(run)
                print(
                    f"round {number + 1}/{options.rounds} {model} {contender.name}: "
                    f"{run.examples_per_second:,.0f} examples/s, first step {run.first_step:.2f} s, "
                    f"{run.peak_memory / 1e6:,.0f} MB",
                    file=sys.stderr,
                    flush=True,
                )
    lines = heading(options)
    for model in models:
        lines += table(model, entrants[model], runs[model])
    text = "\n".join(lines)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
