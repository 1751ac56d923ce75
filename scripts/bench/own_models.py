"""Compares trainings of own networks, as TorchScript, with PyTorch's: the variables they come to, also on two hosts.
Kills one and resumes it. Started by scripts/check_own_models."""

import copy
import pathlib
import subprocess
import sys
import warnings

import numpy
import torch
import torchvision
from torch import nn

import transfer
from two_hosts import ADDRESSES, run_on_two_hosts

CLASSES = 10
BATCH = 16  # of all replicas
STEPS = 10
SIDE = 32
RATE = 0.01


class VisionTransformer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        width, patches = 24, (SIDE // 8) ** 2
        self.patches = nn.Conv2d(3, width, 8, stride=8)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(0.02 * torch.randn(1, patches + 1, width))
        layer = nn.TransformerEncoderLayer(width, 4, 48, dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, pictures):
        words = self.patches(pictures).flatten(2).transpose(1, 2)
        words = torch.cat([self.first.expand(len(words), -1, -1), words], 1) + self.positions
        return self.head(self.encoder(words)[:, 0])


class Branches(nn.Module):
    """Several paths of one input, a layer that is used twice, one that is used in some batches only, and an output that
    no loss sees."""

    def __init__(self):
        super().__init__()
        self.one = nn.Conv2d(3, 8, 1)
        self.three = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.GELU())
        self.shared = nn.Conv2d(8, 8, 3, padding=1)
        self.bright = nn.Conv2d(16, 16, 1)
        self.head = nn.Linear(16, CLASSES)
        self.auxiliary = nn.Linear(16, 3)

    def forward(self, pictures):
        left = self.shared(torch.relu(self.one(pictures)))
        right = self.shared(self.three(pictures))
        both = torch.cat([left, right], 1)
        if pictures.mean() > 0:
            both = both + self.bright(both)
        features = both.mean((2, 3))
        return {"auxiliary": self.auxiliary(features), "logits": self.head(features)}


NETWORKS = {
    "resnet18": lambda: torchvision.models.resnet18(num_classes=CLASSES),
    "vision transformer": lambda: VisionTransformer(dropout=0.0),
    "branches": Branches,
}


def job(folder, name, replicas, more="", strategy="mirrored"):
    output = "output: logits" if name == "branches" else ""
    return f"""
strategy: {{kind: {strategy}, replicas: {replicas}, threads_per_replica: 1}}
data: {{dataset: arrays, path: {folder}/data.npz, shuffle: false}}
batch: {{global: {BATCH}}}
model:
  kind: torchscript
  file: {folder}/{name.replace(' ', '_')}.pt
  dtype: float64
  {output}
train: {{optimizer: {{kind: sgd, learning_rate: {RATE}, momentum: 0.9}}}}
{more}
"""


def save_network(folder, name):
    torch.manual_seed(3)
    model = NETWORKS[name]().double().train()
    torch.jit.script(model).save(folder / f"{name.replace(' ', '_')}.pt")
    return model


def their_variables(model, batches, replicas):
    """Each replica has norms of its own share, as those of DistributedDataParallel; at the end they are averaged."""
    copies = [copy.deepcopy(model) for _ in range(replicas)]
    optimizer = torch.optim.SGD(copies[0].parameters(), lr=RATE, momentum=0.9)
    for inputs, targets in batches:
        for own, one, right in zip(copies, inputs.chunk(replicas), targets.chunk(replicas)):
            own.zero_grad(set_to_none=True)
            outputs = own(one)
            logits = outputs["logits"] if isinstance(outputs, dict) else outputs
            (nn.functional.cross_entropy(logits, right, reduction="sum") / len(inputs)).backward()
        for parameters in zip(*(own.parameters() for own in copies)):
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            # Without any it is zero, not missing: the momentum goes on.
            parameters[0].grad = sum(gradients) if gradients else torch.zeros_like(parameters[0])
        optimizer.step()
        with torch.no_grad():
            for parameters in zip(*(own.parameters() for own in copies)):
                for parameter in parameters[1:]:
                    parameter.copy_(parameters[0])
    states = [own.state_dict() for own in copies]
    return {
        name: sum(state[name] for state in states) / replicas if tensor.is_floating_point() else tensor
        for name, tensor in states[0].items()
    }


def compare(program, folder):
    data = numpy.load(folder / "data.npz")
    inputs, targets = torch.from_numpy(data["x_train"]), torch.from_numpy(data["y_train"])
    batches = [(inputs[i : i + BATCH], targets[i : i + BATCH]) for i in range(0, len(inputs), BATCH)]
    worst = 0
    print(f"{STEPS} steps in float64, largest difference from PyTorch's variables, relative to their largest numbers:")
    for name in NETWORKS:
        model = save_network(folder, name)
        for replicas, hosts in [(1, 1), (2, 1), (2, 2)]:
            theirs = their_variables(model, batches, replicas)
            run = f"{name.replace(' ', '_')}-{replicas}-{hosts}"
            if hosts == 1:
                ours = transfer.weights_of(transfer.run(program, folder, run, job(folder, name, replicas)))
            else:
                more = f"hosts: [{', '.join(ADDRESSES)}]"
                (folder / f"{run}.yaml").write_text(job(folder, name, replicas, more, "multi_worker_mirrored"))
                run_on_two_hosts([program, "run", folder / f"{run}.yaml", "--run-dir", folder / run])
                ours = transfer.weights_of(folder / run)
            if ours.keys() != theirs.keys():
                sys.exit(f"{name}: other variables: {sorted(ours.keys() ^ theirs.keys())}")
            trained = [key for key in theirs if not torch.equal(theirs[key], model.state_dict()[key])]
            difference = max(
                ((ours[key] - theirs[key]).abs().max() / theirs[key].abs().max().clamp_min(1e-300)).item()
                for key in theirs
            )
            worst = max(worst, difference)
            changed = f"{len(trained)} of {len(theirs)} have changed"
            print(f"  {name:<18} {replicas} replicas, {hosts} hosts: {difference:.1e} ({changed})")
    return worst < 1e-10


def check_kill(program, folder):
    """One with dropout, whose random numbers go on where they were."""
    torch.manual_seed(3)
    torch.jit.script(VisionTransformer(dropout=0.1)).save(folder / "dropout.pt")
    more = "checkpoint: {every_steps: 1, keep: 1000}"
    text = job(folder, "dropout", 2, more).replace("train: {", "train: {epochs: 8, ")
    whole = transfer.run(program, folder, "whole", text)
    alike = True
    for number, step in enumerate([1, 7, 30]):
        broken = folder / f"killed-{number}"
        stopped = transfer.kill(program, folder / "whole.yaml", broken, step)
        if stopped == transfer.files_of(whole)[0]:
            sys.exit("the run was over before it was killed")
        (folder / "dropout.pt").rename(folder / "moved.pt")  # the run has a copy, and its spec names another
        evaluated = subprocess.run([program, "eval", broken], capture_output=True, text=True, check=False)
        (folder / "moved.pt").rename(folder / "dropout.pt")
        if evaluated.returncode != 0:
            sys.exit(f"eval without the file: {evaluated.stdout}{evaluated.stderr}")
        resumed = subprocess.run([program, "run", "--resume", broken], capture_output=True, text=True, check=False)
        if resumed.returncode != 0:
            sys.exit(f"resume: {resumed.stdout}{resumed.stderr}")
        same = transfer.files_of(broken) == transfer.files_of(whole)
        alike = alike and same
        print(f"killed at {stopped} and resumed: {'the same bytes' if same else 'OTHER BYTES'}")
    return alike


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*non-constant submodule")  # of a module with the name "norm"
    transfer.save_data(folder / "data.npz", BATCH * STEPS, SIDE, numpy.float64)
    if not compare(program, folder):
        sys.exit("the variables differ")
    if not check_kill(program, folder):
        sys.exit("a resumed training has other bytes")


if __name__ == "__main__":
    main()
