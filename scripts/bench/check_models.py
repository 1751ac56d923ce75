"""Compares dtrain's named models with torchvision's and Keras'. Started by scripts/check_models."""

import contextlib
import json
import pathlib
import shutil
import sys

import numpy
import torch
import torchvision

import convert_weights
import safetensors_file
from differences import Failures, command, difference, report

CLASSES = 5
BATCH = 8
STEPS = 5
SIDE = 64
RATE, MOMENTUM = 0.01, 0.9
MOST = 1e-10  # relative difference in float64
MOST_KERAS = 1e-4  # in float32

# What dtrain calls torchvision's models. A VGG's last layers have 120 million parameters and are the same in all: only
# one is compared with them, the others by their feature maps, pooled.
MODELS = {
    **{f"resnet{depth}": f"kind: resnet, depth: {depth}" for depth in (18, 34, 50, 101)},
    **{f"wide_resnet{depth}_2": f"kind: wide_resnet, depth: {depth}" for depth in (50, 101)},
    "mobilenet_v2": "kind: mobilenet_v2",
    "vit_b_16": "kind: vit",
    "vit_b_32": "kind: vit, patch: 32",
    "vgg11": "kind: vgg, depth: 11",
    **{f"vgg{depth}": f"kind: vgg, depth: {depth}, include_top: false" for depth in (13, 16, 19)},
    **{
        f"vgg{depth}_bn": f"kind: vgg, depth: {depth}, batch_norm: true, include_top: false"
        for depth in (11, 13, 16, 19)
    },
}
JOB = """name: check_models
data: {{dataset: arrays, path: {data}, shuffle: false}}
batch: {{per_replica: {batch}}}
strategy: {{kind: one_device}}
model: {{{model}, dtype: float64, weights: {weights}}}
train: {{max_steps: {steps}, optimizer: {{kind: sgd, learning_rate: {rate}, momentum: {momentum}}}}}
metrics: {{every_steps: 1, skip_steps: 0}}
checkpoint: {{final: {final}}}
"""
KERAS_JOB = """name: check_models
data: {{dataset: arrays, path: {data}, shuffle: false,
        image: {{mean: [0.48501960784, 0.45795686275, 0.40760392157], standard_deviation: 0.003921568627451}}}}
batch: {{per_replica: {batch}}}
strategy: {{kind: one_device}}
model: {{kind: resnet, depth: 50, bottleneck_stride: first, weights: {weights}}}
train: {{max_steps: 0}}
"""


def events_of(run, kind):
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [event for event in map(json.loads, lines) if event["event"] == kind]


class WithoutTop(torch.nn.Sequential):
    """A VGG's feature maps, pooled, and one dense layer."""

    def __init__(self, network):
        pool = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())
        super().__init__(network.features, pool, torch.nn.Linear(512, CLASSES, dtype=torch.float64))


def last_norm(module):
    """The last batch normalisation of what a residual block adds; None for other modules."""
    if isinstance(module, torchvision.models.resnet.Bottleneck):
        return module.bn3
    if isinstance(module, torchvision.models.resnet.BasicBlock):
        return module.bn2
    if isinstance(module, torchvision.models.mobilenetv2.InvertedResidual) and module.use_res_connect:
        return module.conv[-1]
    return None


def make_network(name):
    """torchvision's model with other numbers than those that normalisations begin with."""
    torch.manual_seed(1)
    options = {"dropout": 0.0} if name.startswith(("vgg", "mobilenet")) else {}
    if name.startswith("vit"):
        options = {"image_size": SIDE}
    network = torchvision.models.get_model(name, weights=None, num_classes=CLASSES, **options).double()
    for module in network.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            for values, low, high in (
                (module.weight, 0.5, 1.5),
                (module.bias, -0.1, 0.1),
                (module.running_mean, -0.1, 0.1),
                (module.running_var, 0.5, 1.5),
            ):
                torch.nn.init.uniform_(values, low, high)
    if name.startswith("vit"):  # whose last weights begin with zeros, and biases with nearly that
        for key, values in network.named_parameters():
            if key.endswith("bias") or key in ("heads.head.weight", "class_token"):
                torch.nn.init.uniform_(values, -0.1, 0.1)
    # As in trained networks, blocks add little to what they get: else 100 layers amplify rounding a million times.
    for module in network.modules():
        last = last_norm(module)
        if last:
            torch.nn.init.uniform_(last.weight, 0.05, 0.15)
    return network


def write_data(folder):
    """Training and test examples whose numbers float32 has too."""
    folder.mkdir()
    generator = numpy.random.default_rng(1)
    for part, examples in (("train", BATCH * STEPS), ("test", BATCH)):
        numpy.save(folder / f"x_{part}.npy", generator.integers(-128, 128, (examples, 3, SIDE, SIDE)) / 64)
        numpy.save(folder / f"y_{part}.npy", generator.integers(0, CLASSES, examples))


def arrays_of(folder):
    return [torch.from_numpy(numpy.load(folder / f"{name}.npy")) for name in ("x_train", "y_train", "x_test", "y_test")]


def train_in_torch(network, data):
    """The loss of the test examples, the losses of the steps, and the statistics' numbers of pixels by module."""
    images, labels, test_images, test_labels = arrays_of(data)
    loss = torch.nn.CrossEntropyLoss()
    network.eval()
    with torch.no_grad():
        evaluated = loss(network(test_images), test_labels).item()
    pixels = {}
    for name, module in network.named_modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.register_forward_hook(
                lambda _, inputs, __, name=name: pixels.update({name: inputs[0].numel() // inputs[0].size(1)})
            )
    network.train()
    optimizer = torch.optim.SGD(network.parameters(), RATE, momentum=MOMENTUM)
    losses = []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        optimizer.zero_grad()
        value = loss(network(images[part]), labels[part])
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return evaluated, losses, pixels


def run_dtrain(program, folder, model, weights, data, steps, final):
    run = folder / f"run{steps}"
    job = folder / "job.yaml"
    job.write_text(
        JOB.format(data=data, batch=BATCH, model=model, weights=weights, steps=steps, rate=RATE, momentum=MOMENTUM,
                   final=str(final).lower())
    )
    command(program, "run", job, "--run-dir", run)
    return run


def final_variables(network, before, pixels):
    """Parameters and buffers in their order. PyTorch averages the unbiased variance, dtrain (like Keras) the biased one
    that normalises; both have begun with the same."""
    state = [(name, value.detach().numpy()) for name, value in network.named_parameters()]
    if state[0][0] == "class_token":  # in dtrain after the patches' kernel and bias
        state.insert(2, state.pop(0))
    kept = (1 - 0.1) ** STEPS
    for name, value in network.named_buffers():
        if name.endswith("num_batches_tracked"):
            continue
        value = value.numpy()
        if name.endswith("running_var"):
            count = pixels[name.rpartition(".")[0]]
            value = kept * before[name] + (value - kept * before[name]) * (count - 1) / count
        state.append((name, value))
    return state


def saved_variables(run):
    """Those of the run's last checkpoint, parameters first, in their order."""
    (file,) = (run / "checkpoints").glob("step-*/model.safetensors")
    return safetensors_file.read(file)


def check_torchvision(program, folder, data, name, model):
    network = make_network(name)
    weights = folder / "weights.safetensors"
    torch.save(network.state_dict(), folder / "weights.pth")
    with contextlib.redirect_stdout(None):
        convert_weights.convert(folder / "weights.pth", weights)
    (folder / "weights.pth").unlink()

    has_top = "include_top: false" not in model
    run = run_dtrain(program, folder, model, weights, data, 0, final=not has_top)
    own_loss = events_of(run, "eval")[-1]["loss"]
    if not has_top:  # of the new dense layer, dtrain's initial weights
        network = WithoutTop(network)
        own = saved_variables(run)
        network[2].load_state_dict({one: torch.tensor(own[f"dense.{one}"]) for one in ("weight", "bias")})
    before = {key: value.clone().numpy() for key, value in network.state_dict().items()}

    evaluated, losses, pixels = train_in_torch(network, data)
    report(f"{name}, loss of the outputs", difference(own_loss, evaluated), MOST)
    run = run_dtrain(program, folder, model, weights, data, STEPS, final=True)
    own_losses = [event["loss"] for event in events_of(run, "step")]
    report(f"{name}, losses of {len(own_losses)} steps", difference(own_losses, losses), MOST)
    ours, theirs = saved_variables(run), final_variables(network, before, pixels)
    same_shapes = [value.shape for value in ours.values()] == [value.shape for _, value in theirs]
    worst = max(map(difference, ours.values(), (value for _, value in theirs))) if same_shapes else float("inf")
    moved = numpy.median([difference(before[key], value) for key, value in theirs])
    report(f"{name}, {len(ours)} variables after them, half of which moved by {moved:.0e} or more", worst, MOST)


def check_keras(program, folder, python):
    """Keras' ResNet-50 in each of the formats that it writes."""
    maker = pathlib.Path(__file__).with_name("keras_resnet.py")
    command(python, maker, folder)
    converter = pathlib.Path(__file__).with_name("convert_weights.py")
    pixels = torch.from_numpy(numpy.load(folder / "x_test.npy"))
    theirs = numpy.load(folder / "logits.npy")
    for file in ("model.keras", "model.h5", "only.weights.h5"):
        weights = folder / f"{file}.safetensors"
        command(python, converter, folder / file, weights)
        job, run = folder / "job.yaml", folder / f"run-{file}"
        job.write_text(KERAS_JOB.format(data=folder, batch=BATCH, weights=weights))
        command(program, "run", job, "--run-dir", run)
        labels = torch.from_numpy(numpy.load(folder / "y_test.npy"))
        loss = torch.nn.functional.cross_entropy(torch.tensor(theirs), labels)
        own_loss = events_of(run, "eval")[-1]["loss"]
        report(f"Keras' ResNet-50 from {file}, loss of the outputs", difference(own_loss, loss.item()), MOST_KERAS)
        command(program, "export", run, "--format", "torchscript", "--out", folder / f"{file}.pt")
        with torch.no_grad():
            ours = torch.jit.load(folder / f"{file}.pt")(pixels)
        report(f"Keras' ResNet-50 from {file}, outputs", difference(ours, theirs), MOST_KERAS)


def main():
    program, root, keras_python, *chosen = sys.argv[1:]
    root = pathlib.Path(root)
    unknown = set(chosen) - set(MODELS) - {"keras_resnet50"}
    if unknown:
        sys.exit(f"check_models: unknown: {', '.join(unknown)}; known: {', '.join(MODELS)}, keras_resnet50")
    data = root / "data"
    write_data(data)
    for name, model in MODELS.items():
        if not chosen or name in chosen:
            folder = root / name
            folder.mkdir()
            check_torchvision(program, folder, data, name, model)
            shutil.rmtree(folder)
    if not chosen or "keras_resnet50" in chosen:
        folder = root / "keras"
        folder.mkdir()
        check_keras(program, folder, keras_python)
    sys.exit(1 if Failures.count else 0)


if __name__ == "__main__":
    main()
