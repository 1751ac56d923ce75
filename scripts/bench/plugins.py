"""Compares trainings with a plug-in's kinds (tests/plugins/kinds.cpp) with PyTorch's: variables, losses and metrics, on
one host and on two. Kills one and resumes it. Started by scripts/check_plugins.

    python plugins.py PROGRAM PLUGIN FOLDER     FOLDER: an empty one to work in

The two hosts are network namespaces, which need root."""

import json
import pathlib
import sys
import typing

import numpy
import torch
from torch import nn
from torch.nn import functional

import transfer
from differences import Failures, command, difference, report
from two_hosts import ADDRESSES, run_on_two_hosts

CLASSES = 10  # as transfer.save_data has
BATCH = 16  # of all replicas
STEPS = 10
SIDE = 6
NUMBERS = 3 * SIDE * SIDE  # of an example
UNITS = 12
LATENT = 6
RATE = 0.01
LIMIT = 1e-10  # of variables
METRICS_LIMIT = 1e-9


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = nn.Sequential(nn.Linear(LATENT, UNITS), nn.Tanh(), nn.Linear(UNITS, NUMBERS))
        self.discriminator = nn.Sequential(nn.Linear(NUMBERS, UNITS), nn.Tanh(), nn.Linear(UNITS, 1))


def adversarial(model, inputs, _):
    real = inputs.flatten(1)
    noise = torch.cos(real.sum(1, keepdim=True) * torch.arange(1, LATENT + 1))
    fake = torch.sigmoid(model.generator(noise))
    of_real, of_fake = model.discriminator(real), model.discriminator(fake.detach())
    discriminator = (functional.softplus(-of_real) + functional.softplus(of_fake)).sum()  # -log p and -log(1 - p)
    generator = functional.softplus(-model.discriminator(fake)).sum()
    losses = [(discriminator, model.discriminator.parameters()), (generator, model.generator.parameters())]
    metrics = {"generator_loss": generator, "discriminator_loss": discriminator, "loss": generator + discriminator}
    return losses, metrics


class GatedMlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.values = nn.Linear(NUMBERS, UNITS)
        self.gates = nn.Linear(NUMBERS, UNITS)
        self.head = nn.Linear(UNITS, CLASSES)

    def forward(self, inputs):
        rows = inputs.flatten(1)
        return self.head(self.values(rows) * torch.sigmoid(self.gates(rows)))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = nn.Parameter(torch.empty(1))

    def forward(self, inputs):
        return inputs * self.factor


class Scaled(nn.Module):
    """The names of its variables are those that dtrain gives to layers."""

    def __init__(self):
        super().__init__()
        self.dense, self.scale = nn.Linear(NUMBERS, UNITS), Scale()
        self.dense_1, self.scale_1 = nn.Linear(UNITS, CLASSES), Scale()

    def forward(self, inputs):
        return self.scale_1(self.dense_1(torch.relu(self.scale(self.dense(inputs.flatten(1))))))


def of_classes(of_each):
    def losses(model, inputs, targets):
        total = of_each(functional.cross_entropy(model(inputs), targets, reduction="none")).sum()
        return [(total, model.parameters())], {"loss": total}

    return losses


class Optimizers:
    """Several that make their steps together."""

    def __init__(self, *several):
        self.several = several

    def zero_grad(self):
        for optimizer in self.several:
            optimizer.zero_grad()

    def step(self):
        for optimizer in self.several:
            optimizer.step()


class Case(typing.NamedTuple):
    spec: str  # the sections that differ
    module: type
    losses: typing.Callable  # (model, inputs, targets) -> [(sum, the parameters that it trains)], {metric: sum}
    optimizer: typing.Callable  # (model) -> optimizer


GAN = f"""
model: {{kind: gan, dtype: float64, latent: {LATENT}, gan_units: {UNITS}}}
train: {{loss: {{kind: adversarial, noise: of_example}}, optimizer: {{kind: adam, learning_rate: {RATE}}}}}
"""
TWO_OPTIMIZERS = (
    GAN.rstrip()[:-1]
    + """,
  optimizers: [{parameters: discriminator.*, kind: rmsprop, learning_rate: 0.002, momentum: 0.5, weight_decay: 0.1}]}
"""
)
GATED_MLP = f"""
model: {{kind: gated_mlp, dtype: float64, gated_units: {UNITS}}}
train:
  loss: {{kind: focal, gamma: 1.5}}
  optimizer:
    {{kind: heavy_ball, learning_rate: {RATE}, inertia: 0.8, weight_decay: 0.01, weight_decay_exclude: none}}
"""
SCALED = f"""
model:
  kind: layers
  dtype: float64
  layers:
    - {{kind: flatten}}
    - {{kind: dense, units: {UNITS}}}
    - {{kind: scale, by: 1.5}}
    - {{kind: relu}}
    - {{kind: dense, units: {CLASSES}}}
    - {{kind: scale}}
train: {{optimizer: {{kind: sgd, learning_rate: {RATE}, momentum: 0.9}}}}
"""
CASES = {
    "gan": Case(GAN, Gan, adversarial, lambda model: torch.optim.Adam(model.parameters(), RATE, eps=1e-8)),
    "gan, two optimizers": Case(
        TWO_OPTIMIZERS,
        Gan,
        adversarial,
        lambda model: Optimizers(
            torch.optim.Adam(model.generator.parameters(), RATE, eps=1e-8),
            torch.optim.RMSprop(
                [  # biases do not decay
                    {"params": [each for each in model.discriminator.parameters() if each.dim() > 1]},
                    {"params": [each for each in model.discriminator.parameters() if each.dim() == 1], "weight_decay": 0},
                ],
                0.002,
                momentum=0.5,
                weight_decay=0.1,
            ),
        ),
    ),
    "gated_mlp": Case(
        GATED_MLP,
        GatedMlp,
        of_classes(lambda minus_log_p: (1 - torch.exp(-minus_log_p)) ** 1.5 * minus_log_p),
        lambda model: torch.optim.SGD(model.parameters(), RATE, momentum=0.8, weight_decay=0.01),
    ),
    "layers": Case(
        SCALED,
        Scaled,
        of_classes(lambda minus_log_p: minus_log_p),
        lambda model: torch.optim.SGD(model.parameters(), RATE, momentum=0.9),
    ),
}


def job(folder, plugin, sections, replicas, strategy="mirrored", more=""):
    return f"""
plugins: [{plugin}]
strategy: {{kind: {strategy}, replicas: {replicas}, threads_per_replica: 1}}
data: {{dataset: arrays, path: {folder}/data.npz, shuffle: false}}
batch: {{global: {BATCH}}}
metrics: {{every_steps: 1}}
{sections}
{more}
"""


def arrays(folder, part):
    data = numpy.load(folder / "data.npz")
    return torch.from_numpy(data[f"x_{part}"]), torch.from_numpy(data[f"y_{part}"])


def means(case, model, inputs, targets):
    _, metrics = case.losses(model, inputs, targets)
    return {name: metric.item() / len(inputs) for name, metric in metrics.items()}


class Trained(typing.NamedTuple):
    variables: dict
    steps: list  # the metrics of each
    evaluated: dict  # on the test examples


def train_in_torch(folder, case, initial, replicas):
    """Replicas take equal parts of a batch, and their gradients are added up."""
    model = case.module().double()
    model.load_state_dict(initial)
    optimizer = case.optimizer(model)
    inputs, targets = arrays(folder, "train")
    steps = []
    for begin in range(0, len(inputs), BATCH):
        batch = inputs[begin : begin + BATCH], targets[begin : begin + BATCH]
        steps.append(means(case, model, *batch))
        optimizer.zero_grad()
        for share in zip(*(tensor.chunk(replicas) for tensor in batch)):
            losses, _ = case.losses(model, *share)
            for loss, parameters in losses:
                (loss / BATCH).backward(inputs=list(parameters))
        optimizer.step()
    return Trained(model.state_dict(), steps, means(case, model, *arrays(folder, "test")))


def compare(name, run_folder, theirs):
    ours = transfer.weights_of(run_folder)
    if ours.keys() != theirs.variables.keys():
        sys.exit(f"{name}: other variables: {sorted(ours.keys() ^ theirs.variables.keys())}")
    worst = numpy.max([difference(ours[key], theirs.variables[key]) for key in ours])  # of NaN it is NaN
    report(f"{name}: {len(ours)} variables after {STEPS} steps", worst, LIMIT)
    events = [json.loads(line) for line in (run_folder / "metrics.jsonl").open()]
    events = [event for kind in ["step", "epoch", "eval"] for event in events if event["event"] == kind]
    for metric in theirs.evaluated:
        of_steps = [step[metric] for step in theirs.steps]
        expected = [*of_steps, sum(of_steps) / STEPS, theirs.evaluated[metric]]
        found = [event[metric] for event in events]
        report(f"{name}: {metric} of steps, epoch and evaluation", difference(found, expected), METRICS_LIMIT)


def check_numbers(program, plugin, folder):
    """What PyTorch comes to, by case and replicas."""
    theirs = {}
    for name, case in CASES.items():
        for replicas in [1, 2]:
            text = job(folder, plugin, case.spec, replicas)
            run = f"{name.replace(', ', '-').replace(' ', '-')}-{replicas}"
            initial = transfer.run(program, folder, f"{run}-initial", text, "--set", "train.max_steps=0")
            initial = transfer.weights_of(initial)
            theirs[name, replicas] = train_in_torch(folder, case, initial, replicas)
            kept = [key for key, value in initial.items() if torch.equal(value, theirs[name, replicas].variables[key])]
            if kept:
                sys.exit(f"{name}: no training has changed {', '.join(kept)}")
            run_folder = transfer.run(program, folder, run, text)
            compare(f"{name}, {replicas} replica{'s'[: replicas - 1]}", run_folder, theirs[name, replicas])
    return theirs


def same_bytes(what, files, expected):
    Failures.count += files != expected
    print(f"{'ok    ' if files == expected else 'FAILED'} {what}: the same bytes", flush=True)


def check_kill(program, plugin, folder):
    """Noise is drawn in steps, and in evaluations, which must not change what later steps draw."""
    epochs = 40
    text = job(folder, plugin, GAN, 2, more="checkpoint: {every_steps: 1, keep: 1000}")
    text = text.replace("of_example", "drawn").replace("shuffle: false", "shuffle: true")
    text = text.replace("train: {", f"train: {{epochs: {epochs}, ")
    whole = transfer.run(program, folder, "whole", text)
    unevaluated = transfer.run(program, folder, "unevaluated", text, "--set", f"evaluate.every_epochs={epochs}")
    same_bytes("evaluated once instead of after every epoch", transfer.files_of(unevaluated), transfer.files_of(whole))
    for step in [1, STEPS + 3, 20 * STEPS]:  # in the first epoch, in another, at the end of one
        broken = folder / f"killed-{step}"
        stopped = transfer.kill(program, folder / "whole.yaml", broken, step)
        if stopped == transfer.files_of(whole)[0]:
            sys.exit("the run was over before it was killed")
        command(program, "run", "--resume", broken)
        same_bytes(f"killed at {stopped} and resumed", transfer.files_of(broken), transfer.files_of(whole))


def check_hosts(program, plugin, folder, theirs):
    hosts = f"hosts: [{', '.join(ADDRESSES)}]"
    (folder / "hosts.yaml").write_text(job(folder, plugin, GAN, 2, "multi_worker_mirrored", hosts))
    run_on_two_hosts([program, "run", folder / "hosts.yaml", "--run-dir", folder / "hosts"])
    compare("gan, 2 hosts", folder / "hosts", theirs)


def main():
    program, plugin, folder = (pathlib.Path(argument).resolve() for argument in sys.argv[1:])
    torch.set_num_threads(1)
    transfer.save_data(folder / "data.npz", BATCH * STEPS, SIDE, numpy.float64)
    theirs = check_numbers(program, plugin, folder)
    check_kill(program, plugin, folder)
    check_hosts(program, plugin, folder, theirs["gan", 2])
    sys.exit(f"{Failures.count} failed" if Failures.count else 0)


if __name__ == "__main__":
    main()
