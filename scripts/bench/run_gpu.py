"""The checks and benchmarks that need a GPU, and their report. Started by scripts/check_gpu."""

import argparse
import concurrent.futures
import functools
import hashlib
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import gpu_bench
from gpu_bench import Cell, Contender, Failed, last

ONE = {"strategy.kind": "one_device"}
OF_ROUND = ("dtrain recorded", "dtrain XLA", "JAX", "PyTorch graph")  # eager DDP is far slower, so it runs once


# What is compared.


def xla_settings(options):
    return {"train.step": "xla", **({"strategy.plugin": options.plugin} if options.plugin else {})}


def dtrain_run(config, settings):
    def run(check, steps, window, limit):
        return check.dtrain(config, {**settings, "train.max_steps": steps, "metrics.every_steps": window}, limit)

    return run


def mnist_cell(options, model, batch, window):
    """Every contender computes its products alike: in float32, or in TensorFloat-32."""
    tf32 = options.precision == "tf32"
    own = {**ONE, "batch.per_replica": batch, **({"cuda.tf32": "true"} if tf32 else {})}
    override = {} if tf32 else {"NVIDIA_TF32_OVERRIDE": "0"}  # of PyTorch, whose scripts ask for TensorFloat-32

    def torch(script):
        return lambda check, steps, window, limit: check.python(
            script, model, batch, steps, window, limit=limit, environment=override
        )

    def jax(check, steps, window, limit):
        more = ["--replicas=1", "--device=gpu", f"--precision={options.precision}"]
        return check.python("jax_scan.py", model, batch, steps, window, *more, limit=limit)

    def dtrain(settings):
        return dtrain_run(f"{model}.yaml", {**own, **settings})

    contenders = {
        "dtrain recorded": Contender(dtrain({"cuda.cudnn_benchmark": "true"}), True, window, 20),
        "dtrain XLA": Contender(dtrain(xla_settings(options)), True, window, 30),
        "JAX": Contender(jax, False, -(-window // 32) * 32, 30),  # of calls of 32 steps
        "PyTorch graph": Contender(torch("torch_graph.py"), False, window, 20),
        "eager DDP": Contender(torch("torch_gpu.py"), False, window // 4, 20),
    }
    targets = [
        ("dtrain XLA", "JAX", 0.95 if batch == 64 else 1.0),
        ("dtrain XLA", "dtrain recorded", 1.0),
        ("dtrain recorded", "PyTorch graph", 1.0),
        ("dtrain recorded", "eager DDP", {"mlp": 5, "cnn": 3}[model]),
    ]
    return Cell(f"{model.upper()} {batch}, {options.precision}", batch, contenders, targets)


def mnist_cells(options):
    # Windows are whole epochs: dtrain reports each of them, as it does in any job.
    shapes = [("mlp", 64, 1874), ("mlp", 1024, 348), ("cnn", 64, 937), ("cnn", 1024, 174)]
    return [mnist_cell(options, *shape) for shape in shapes]


def resnet_cells(_):
    settings = {**ONE, "data.dataset": "synthetic"}

    def torch(*more):
        return lambda check, steps, window, limit: check.python(
            "torch_gpu.py", "resnet18", 256, steps, window, "--bf16", *more, limit=limit
        )

    contenders = {
        "dtrain": Contender(dtrain_run("gpu_resnet.yaml", settings), True, 20, 30),
        "eager DDP": Contender(torch(), False, 20, 30),
        "torch.compile": Contender(torch("--compile"), False, 20, 100),
    }
    targets = [("dtrain", "eager DDP", 1.1), ("dtrain", "torch.compile", 0.95)]
    return [Cell("ResNet-18, bf16, 256 of 128 x 128", 256, contenders, targets)]


def nccl_cells(_):
    cells = []
    for model in ("mlp", "cnn"):
        nccl = {"strategy.replicas": 1, "strategy.communication": "nccl"}
        contenders = {
            "mirrored over NCCL": Contender(dtrain_run(f"{model}.yaml", nccl), True, 1600, 20),
            "one_device": Contender(dtrain_run(f"{model}.yaml", ONE), True, 1600, 20),
        }
        targets = [("mirrored over NCCL", "one_device", 0.99)]
        cells.append(Cell(f"{model.upper()} 64, world of 1", 64, contenders, targets))
    return cells


def rounds(make_cells, numbers, only, name):
    """A check that runs these rounds, such as 0, of some cells with `only` these contenders, or all."""

    def body(check):
        for cell in make_cells(check.options):
            for number in numbers:
                check.measure(check.bench.cells.setdefault(cell.name, cell), number, only)

    body.__doc__ = name
    return body


# The checks. The text of each stands in its row if it does not come to an end.


def first_line(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout.strip().splitlines()[0]


def environment(check):
    """Environment"""
    facts, options = check.bench.facts, check.options
    facts["GPU"] = first_line(["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"])
    facts["dtrain"] = first_line([options.program, "--version"])
    show = "import importlib.metadata as m, sys; have = {d.name: d.version for d in m.distributions()}\n"
    show += "print(sys.version.split()[0], *(f'{name} {have.get(name)}' for name in sys.argv[1:]), sep=', ')"
    facts["Python"] = first_line([options.python, "-c", show, "torch", "jax", "jax-cuda13-pjrt"])
    facts["plugin of XLA"] = options.plugin or "found by dtrain"
    facts["products of MNIST's models"] = {"float32": "float32", "tf32": "TensorFloat-32"}[options.precision]
    facts["cores"] = len(os.sched_getaffinity(0))
    check.row("GPU, driver, memory", facts["GPU"])
    check.row("versions", f"{facts['dtrain']}; Python {facts['Python']}")


def same_as_cpu(check):
    """Weights of the GPU against the CPU"""
    settings = {"train.max_steps": 200, "metrics.every_steps": 200, "train.epochs": 1, "evaluate.every_epochs": 1}
    # Steps that somebody looks at run between replays of the recorded one.
    observed = {"callbacks.tensorboard": "true", "callbacks.tensorboard_histograms": "true", "metrics.inspect_step": 50}
    ways = {
        "the CPU": {"strategy.devices": "cpu"},
        "recorded": {},
        "eager": {"cuda.graphs": "false"},
        "uploaded": {"cuda.data": "uploaded"},
        "observed": observed,
        "XLA": {**ONE, **xla_settings(check.options)},
    }
    jobs = {name: {**settings, "strategy.replicas": 1, **more} for name, more in ways.items()}
    outcomes = check.jobs_at_once("mlp.yaml", jobs)
    cpu = last(outcomes.pop("the CPU"), "run_end")["loss"]
    for name, events in outcomes.items():
        with check.row_of(f"test loss after 200 steps, {name}", "<= 1e-3") as show:
            loss = last(events, "run_end")["loss"]
            show(f"{loss:.6f}, {abs(loss / cpu - 1):.1e} from the CPU's", abs(loss / cpu - 1) <= 1e-3)
    with check.row_of("test loss, observed against recorded", "<= 1e-6") as show:
        of_observed, of_recorded = (last(outcomes[name], "run_end")["loss"] for name in ("observed", "recorded"))
        show(f"{abs(of_observed / of_recorded - 1):.1e}", abs(of_observed / of_recorded - 1) <= 1e-6)


def float64(check):
    """float64 on the GPU against the CPU"""
    settings = {**ONE, "model.dtype": "float64", "train.max_steps": 24, "metrics.every_steps": 1}
    jobs = {device: {**settings, "strategy.devices": device} for device in ("cpu", "cuda:0")}
    outcomes = check.jobs_at_once("mlp.yaml", jobs)
    cpu, gpu = (last(events, "step") for events in outcomes.values())
    difference = abs(gpu["loss"] / cpu["loss"] - 1)
    text = f"{difference:.1e} from the CPU's at step {gpu['step']}"
    check.row("float64: the loss after 24 steps", text, "<= 1e-12", gpu["step"] == 24 and difference <= 1e-12)


def shared_gpu(check):
    """Two ranks on one GPU over gloo against one rank"""
    settings = {"train.max_steps": 100, "metrics.every_steps": 100, "train.epochs": 1, "evaluate.every_epochs": 1}
    # In float64: in float32 a batch of another size takes other kernels, whose roundings differ by as much.
    settings.update({"train.optimizer.kind": "sgd", "train.optimizer.learning_rate": 0.1, "model.dtype": "float64"})
    jobs = {n: {**settings, "strategy.replicas": n, "batch.per_replica": 128 // n} for n in (1, 2)}
    outcomes = check.jobs_at_once("mlp.yaml", jobs)
    one, two = (last(events, "run_end")["loss"] for events in outcomes.values())
    difference = abs(two / one - 1)
    name = "two ranks on one GPU over gloo, against one with twice the batch"
    check.row(name, f"{difference:.1e}", "<= 1e-5", difference <= 1e-5)


def killed_rank(check):
    """A killed rank"""
    with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
        command = check.dtrain_command(folder, "mlp.yaml", {"strategy.replicas": 2, "metrics.every_steps": 20})
        with check.started(command, "step") as job:
            children = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text().split()
            ranks = {}
            for child in children:
                environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().decode().split("\0")
                ranks.update({int(entry[5:]): int(child) for entry in environment if entry.startswith("RANK=")})
            began = time.monotonic()
            os.kill(ranks[1], signal.SIGKILL)
            _, errors = job.communicate(timeout=check.left())
            took = time.monotonic() - began
    named = "rank 1" in errors
    text = f"exit {job.returncode} after {took:.1f} s, {'names' if named else 'does not name'} rank 1"
    check.row("rank 1 of 2 is killed", text, "exit 4, < 10 s, named", job.returncode == 4 and took < 10 and named)


def trained(folder):
    """The digest of a run's final weights and optimizer."""
    files = max((pathlib.Path(folder) / "run/checkpoints").glob("step-*")).glob("*.safetensors")
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(files))).hexdigest()[:12]


def same_bits(check):
    """Same seed, same bits"""
    ways = {"recorded": {}, "XLA": xla_settings(check.options)}
    runs = ("once", "again", "killed and resumed")

    def train(way, run):
        settings = {**ONE, **ways[way], "train.max_steps": 10000, "checkpoint.every_steps": 1000}
        with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
            command = check.dtrain_command(folder, "mlp.yaml", settings)
            if run == "killed and resumed":
                with check.started(command, "checkpoint") as job:
                    os.killpg(job.pid, signal.SIGKILL)
                    job.communicate(timeout=check.left())
                if job.returncode != -signal.SIGKILL:
                    raise Failed("the run ended before it was killed")
                command = [check.options.program, "run", "--resume", f"{folder}/run", "--json"]
            check.run(command)
            return trained(folder)

    works = {(way, run): functools.partial(train, way, run) for way in ways for run in runs}
    outcomes = check.at_once(works)
    for way in ways:
        for run in runs[1:]:
            with check.row_of(f"final checkpoint of {way} steps, {run}", "the same bits") as show:
                digests = [gpu_bench.value_of(outcomes[way, which]) for which in ("once", run)]
                show(" and ".join(digests), digests[0] == digests[1])


def profile(check):
    """The profile shows kernels"""
    with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
        more = {"train.max_steps": 200, "callbacks.profile.start_step": 100, "callbacks.profile.steps": 5}
        told = check.run(check.dtrain_command(folder, "mlp.yaml", {**ONE, **more}))
        events = json.loads(pathlib.Path(f"{folder}/run/profile.json").read_text())["traceEvents"]
    kernels = [event["name"] for event in events if event.get("cat") == "kernel"]
    text = f"{len(kernels)} kernels in 5 recorded steps, {len(set(kernels))} of different names"
    for event in told:
        if event["event"] == "message" and event["text"].startswith("cuda:0: "):
            text += "; " + event["text"].removeprefix("cuda:0: ").split(" (")[0]
    check.row("the profile shows kernels", text, "some in each step", len(kernels) >= 5)


def time_to_accuracy(check):
    """MNIST CNN to 99 %"""
    events = check.dtrain("gpu_99.yaml", ONE)
    name, target = "MNIST CNN to 99 % test accuracy", "< 1 s of training"
    epochs = [event["seconds"] for event in events if event["event"] == "epoch"]
    good = [event["epoch"] for event in events if event["event"] == "eval" and event["accuracy"] >= 0.99]
    if not good:
        return check.row(name, "never reached", target, False)
    # In the first epoch CUDA loads its libraries' kernels, and the step is recorded.
    start = max(0.0, epochs[0] - statistics.median(epochs[1:]))
    trained = sum(epochs[: good[0]]) - start
    text = f"{trained:.2f} s of training in {good[0]} epochs, after {start:.2f} s for loading kernels and recording"
    return check.row(name, text, target, trained < 1)


def accuracy(check):
    """Accuracy against eager DDP"""
    for model in ("mlp", "cnn"):
        steps = 60000 // 64 * 5
        ours = check.dtrain(f"{model}.yaml", {**ONE, "train.max_steps": steps, "evaluate.every_epochs": 5})
        theirs = check.python("torch_gpu.py", model, 64, steps, 500, "--evaluate")
        ours, theirs = last(ours, "run_end")["accuracy"], last(theirs, "accuracy")["accuracy"]
        text = f"{ours:.4f} against {theirs:.4f}"
        check.row(f"{model.upper()} after 5 epochs", text, "within 0.005", abs(ours - theirs) <= 0.005)


# By name: the check, and the seconds that it may take. What says most comes first, because the time may be over before
# the last ones. Those of a group run at once: they time nothing that is short.
GROUPS = [
    {"environment": (environment, 30)},
    # While nothing else runs: XLA measures kernels, and keeps those that were the fastest.
    {"mnist_speed": (rounds(mnist_cells, [0], OF_ROUND, "MNIST against JAX and PyTorch"), 120)},
    {
        "same_as_cpu": (same_as_cpu, 45),
        "float64": (float64, 45),
        "shared_gpu": (shared_gpu, 45),
        "same_bits": (same_bits, 45),
        "killed_rank": (killed_rank, 45),
        "profile": (profile, 45),
    },
    {"time_to_accuracy": (time_to_accuracy, 20)},
    {"resnet": (rounds(resnet_cells, [0], ["dtrain", "eager DDP"], "ResNet-18 in bf16"), 45)},
    {"nccl_overhead": (rounds(nccl_cells, [0, 1], None, "NCCL with one rank against one device"), 45)},
    {"eager": (rounds(mnist_cells, [0], ["eager DDP"], "MNIST against eager DDP"), 45)},
    {"mnist_again": (rounds(mnist_cells, [1], OF_ROUND, "MNIST, a second round"), 120)},
    {"compiled": (rounds(resnet_cells, [0], ["torch.compile"], "ResNet-18 in bf16 against torch.compile"), 120)},
    {"accuracy": (accuracy, 120)},
]
KNOWN = [name for group in GROUPS for name in group]
IF_TIME = ("mnist_again", "compiled", "accuracy")  # a report without these is whole


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with MNIST's IDX files")
    parser.add_argument("--minutes", type=float, required=True, help="everything ends after so many")
    parser.add_argument("--spent", type=float, default=0, help="seconds of them that are over")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--json", type=pathlib.Path, help="the report with all rates as JSON")
    parser.add_argument("--only", default="", help="checks, separated by commas")
    parser.add_argument("--precision", choices=["float32", "tf32"], default="float32", help="of MNIST's products")
    parser.add_argument("--plugin", help="of XLA for GPUs; by default dtrain looks for it")
    parser.add_argument("--run-limit", type=float, default=100, help="seconds, of one run at most")
    parser.add_argument("--check-limit", type=float, default=120, help="seconds, of one check at most")
    options = parser.parse_args()
    options.data = options.data.resolve()
    if not any(options.data.glob("train-images-idx3-ubyte*")):
        sys.exit(f"{options.data} has no MNIST: name a folder with its four IDX files (--data)")
    options.chosen = options.only.split(",") if options.only else KNOWN
    for name in options.chosen:
        if name not in KNOWN:
            sys.exit(f"unknown check '{name}'; known: {', '.join(KNOWN)}")
    return options


def main():
    bench = gpu_bench.Bench(arguments())
    chosen = bench.options.chosen
    for group in GROUPS:
        checks = [(name, *of_check, name in IF_TIME) for name, of_check in group.items() if name in chosen]
        with concurrent.futures.ThreadPoolExecutor(len(group)) as pool:
            list(pool.map(lambda of_check: bench.check(*of_check), checks))
    bench.write()
    print(bench.options.out.read_text())
    sys.exit(1 if any(row.reached is False for row in bench.rows) else 0)


if __name__ == "__main__":
    main()
