"""Compares trainings in phases with PyTorch's: the weights they come to, and the time they take. Started by
scripts/check_transfer."""

import json
import os
import pathlib
import signal
import statistics
import struct
import subprocess
import sys
import time

import numpy
import torch

import transfer_peer

REPLICAS = 2
BATCH = 64  # of a replica
ROUNDS = 3
# Adam divides by the root of a mean of squares, which makes much of the last digits of small gradients.
SGD = "train: {optimizer: {kind: sgd, momentum: 0.9}}"


def layers():
    lines = []
    for filters, stride in transfer_peer.CONVOLUTIONS:
        # Half of a window of 3 on every side, as PyTorch's padding=1.
        lines.append(
            f"{{kind: conv2d, filters: {filters}, stride: {stride}, padding: symmetric, use_bias: false}}"
        )
        lines += ["{kind: batch_norm, momentum: 0.9, epsilon: 1.0e-3}", "{kind: relu}"]
    lines += ["{kind: global_avg_pool2d}", f"{{kind: dense, units: {transfer_peer.CLASSES}}}"]
    return "\n".join(f"    - {line}" for line in lines)


def job(data, phases, replicas, batch, dtype="float32", more=""):
    return f"""
strategy: {{kind: mirrored, replicas: {replicas}, threads_per_replica: 1}}
data: {{dataset: arrays, path: {data}, shuffle: false}}
batch: {{per_replica: {batch}}}
model:
  kind: layers
  dtype: {dtype}
  layers:
{layers()}
{more}
phases:
{phases}
"""


def save_data(path, examples, side, dtype):
    generator = numpy.random.default_rng(7)
    features = generator.standard_normal((examples, 3, side, side)).astype(dtype)
    targets = generator.integers(0, transfer_peer.CLASSES, examples)
    few = slice(0, 40)  # to evaluate
    numpy.savez(path, x_train=features, y_train=targets, x_test=features[few], y_test=targets[few])


def run(program, folder, name, text, *options):
    spec = folder / f"{name}.yaml"
    spec.write_text(text)
    command = [program, "run", spec, "--run-dir", folder / name, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return folder / name


def kill(program, spec, run_folder, step):
    """Starts a run, and kills it when it has this step's checkpoint. Returns the name of the last that it has."""
    command = [program, "run", spec, "--run-dir", run_folder]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not (run_folder / "checkpoints" / f"step-{step:09}").exists():
            if running.poll() is not None:
                sys.exit(f"{' '.join(map(str, command))}: ended before step {step}")
            time.sleep(0.001)
        running.send_signal(signal.SIGKILL)
    return files_of(run_folder)[0]


def files_of(run_folder):
    """The last checkpoint's name and contents."""
    last = sorted((run_folder / "checkpoints").iterdir())[-1]
    return last.name, [(last / name).read_bytes() for name in ["model.safetensors", "optimizer.safetensors"]]


def weights_of(run_folder):
    """The variables of its last checkpoint, by name."""
    path = sorted((run_folder / "checkpoints").iterdir())[-1] / "model.safetensors"
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    types = {"F64": numpy.float64, "F32": numpy.float32, "I64": numpy.int64}
    variables = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        numbers = numpy.frombuffer(content[begin:end], types[entry["dtype"]]).reshape(entry["shape"])
        variables[name] = torch.from_numpy(numbers.copy())
    return variables


def counterparts(model):
    """dtrain's names of the model's variables: the kind, and from the second on its number."""
    counts, named = {}, {}
    kinds = {torch.nn.Conv2d: "conv2d", torch.nn.BatchNorm2d: "batch_norm", torch.nn.Linear: "dense"}
    for module in model:
        kind = kinds.get(type(module))
        if kind is None:
            continue
        number = counts[kind] = counts.get(kind, -1) + 1
        for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
            if name != "num_batches_tracked":
                named[f"{kind}{f'_{number}' if number else ''}.{name}"] = tensor
    return named


def compare_weights(program, folder):
    save_data(folder / "data.npz", 400, 12, numpy.float64)
    phases = """  - {epochs: 2, trainable: head, learning_rate: 0.01, cache_features: CACHE}
  - {epochs: 2, trainable: {last_layers: 5}, learning_rate: 0.001, cache_features: CACHE}
  - {epochs: 2, learning_rate: 0.001}
"""
    worst = {}
    for cache in ["auto", "none"]:
        text = job(folder / "data.npz", phases.replace("CACHE", cache), 1, 40, "float64", SGD)
        initial = weights_of(run(program, folder, f"initial-{cache}", text, "--set", "train.max_steps=0"))
        ours = weights_of(run(program, folder, f"trained-{cache}", text))
        model = transfer_peer.make_model(3).double()
        with torch.no_grad():
            for name, tensor in counterparts(model).items():
                tensor.copy_(initial[name])
        data = numpy.load(folder / "data.npz")
        inputs, targets = torch.from_numpy(data["x_train"]), torch.from_numpy(data["y_train"])
        batches = [(inputs[i : i + 40], targets[i : i + 40]) for i in range(0, len(inputs), 40)] * 2
        count = len(model)
        # dtrain's list has no flatten after the pooling, so its last five layers are: convolution, batch norm,
        # relu, pooling, dense.
        for trained, rate in [(count - 1, 0.01), (count - 6, 0.001), (0, 0.001)]:
            parameters = transfer_peer.freeze(model, trained)
            transfer_peer.train_phase(model, torch.optim.SGD(parameters, lr=rate, momentum=0.9), batches)
        theirs = counterparts(model)
        worst[cache] = max(
            ((ours[name] - theirs[name]).abs().max() / theirs[name].abs().max()).item()
            for name in theirs
            if "running_var" not in name  # PyTorch keeps the unbiased variance, Keras and dtrain the biased one
        )
    print("three phases in float64, largest difference from PyTorch's variables, relative to their largest numbers:")
    for cache, difference in worst.items():
        print(f"  cache_features: {cache:<5} {difference:.1e}")
    return max(worst.values()) < 1e-10


def our_seconds(program, folder, name, phase):
    """Of each epoch of the phase, and of the features before them."""
    more = "train: {channels_last: true}\ncheckpoint: {final: false}"
    text = job(folder / "data.npz", phase, REPLICAS, BATCH, more=more)
    text = text.replace("shuffle: false", "shuffle: true")
    events = [json.loads(line) for line in (run(program, folder, name, text) / "metrics.jsonl").open()]
    features = sum(event.get("feature_seconds", 0) for event in events if event["event"] == "phase")
    return features, [event["seconds"] for event in events if event["event"] == "epoch"]


def their_seconds(folder, trained, epochs):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={REPLICAS}"]
    command += [pathlib.Path(__file__).with_name("transfer_peer.py"), folder, trained, epochs, BATCH]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def compare_times(program, folder):
    epochs = 5
    save_data(folder / "data.npz", 4096, 32, numpy.float32)
    count = len(transfer_peer.make_model(3))
    head = f"  - {{epochs: {epochs}, trainable: head, cache_features: CACHE}}"
    tasks = {
        # In memory: a later round would read what an earlier one has written to disk.
        "the head, features kept": (head.replace("CACHE", "memory"), count - 1),
        "the head, features computed in every step": (head.replace("CACHE", "none"), count - 1),
        "the last block and the head": (
            f"  - {{epochs: {epochs}, trainable: {{last_layers: 5}}, cache_features: none}}",
            count - 6,
        ),
    }
    print(f"\n{REPLICAS} replicas with a thread each, {epochs} epochs, medians of {ROUNDS} rounds, seconds:")
    for number, (name, (phase, trained)) in enumerate(tasks.items()):
        ratios, ours, theirs = [], [], []
        for attempt in range(ROUNDS):
            features, seconds = our_seconds(program, folder, f"time-{number}-{attempt}", phase)
            ours.append(features + sum(seconds))
            theirs.append(sum(their_seconds(folder, trained, epochs)))
            ratios.append(theirs[-1] / ours[-1])
        print(
            f"  {name:<42} dtrain {statistics.median(ours):6.2f}  DDP {statistics.median(theirs):6.2f}  "
            f"ratio {statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    os.environ["PYTHONPATH"] = str(pathlib.Path(__file__).parent)
    equal = compare_weights(program, folder)
    if "--times" in sys.argv[3:]:
        compare_times(program, folder)
    sys.exit(0 if equal else "the weights differ")


if __name__ == "__main__":
    main()
