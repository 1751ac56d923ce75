"""Compares what dtrain makes of converted models with what Keras does. Started by scripts/check_keras."""

import json
import pathlib
import re
import subprocess
import sys

import h5py
import keras
import numpy

import check_networks

sys.path.append(str(pathlib.Path(__file__).parent.with_name("bench")))
import safetensors_file  # noqa: E402
from differences import Failures, command, difference, report  # noqa: E402

EXAMPLES, BATCH, STEPS = 8, 8, 10
MOST_OUTPUTS, MOST_TRAINED, MOST_LOSSES = 1e-5, 1e-4, 2e-2  # relative differences
CONVERT = pathlib.Path(__file__).parent.with_name("convert_weights")
SCALES = {  # what a lesson does to pixels before the model
    "mnist_mlp": lambda pixels: pixels.reshape(-1, 784) / 255,
    **dict.fromkeys(("mnist_cnn", "frozen"), lambda pixels: pixels / 255),
    "mobilenet_v2": keras.applications.mobilenet_v2.preprocess_input,
    **dict.fromkeys(("resnet50", "resnet101"), keras.applications.resnet.preprocess_input),
    **dict.fromkeys(("vgg16", "vgg19", "vgg16_top"), keras.applications.vgg16.preprocess_input),
}


def set_type(name):
    keras.config.set_floatx(name)
    keras.config.set_dtype_policy(name)


def all_layers(model):
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from all_layers(layer)
        else:
            yield layer


def randomise(model):
    """Other numbers than those that biases and normalisations begin with. As in trained networks, residual branches
    add little: else 100 layers amplify rounding a million times."""
    generator = numpy.random.default_rng(1)
    for layer in all_layers(model):
        is_last = layer.name.endswith(("_3_bn", "_project_BN"))
        for variable in layer.weights:
            name, shape = variable.name, variable.shape
            if name == "bias":
                variable.assign(generator.uniform(-0.2, 0.2, shape))
            elif name == "gamma":
                variable.assign(generator.uniform(0.05, 0.15, shape) if is_last else generator.uniform(0.5, 1.5, shape))
            elif name in ("beta", "moving_mean"):
                variable.assign(generator.uniform(-0.1, 0.1, shape))
            elif name == "moving_variance":
                variable.assign(generator.uniform(0.5, 1.5, shape))


def make(network, dropout):
    keras.utils.set_random_seed(1)
    model = network(dropout)
    randomise(model)
    return model


def convert(model, folder, suffix="keras"):
    """(the spec, its weights)"""
    file, spec = folder / f"model.{suffix}", folder / f"{suffix}.yaml"
    model.save(file)
    command(CONVERT, file, "--spec", spec, "--python", sys.executable, "--overwrite")
    return spec, spec.with_suffix(".safetensors")


def inputs_of(model, name, examples):
    """(inputs of dtrain, inputs of Keras)"""
    generator = numpy.random.default_rng(2)
    shape = model.input_shape[1:]
    if name == "mnist_mlp":
        shape = (28, 28, 1)
    if len(shape) == 1:
        numbers = generator.standard_normal((examples, *shape)).astype(numpy.float32)
        return numbers, numbers
    pixels = generator.integers(0, 256, (examples, *shape), numpy.uint8)
    return pixels.transpose(0, 3, 1, 2).copy(), SCALES.get(name, lambda same: same)(pixels.astype(numpy.float32))


def scaled(pixels, spec):
    """What dtrain makes of pixels, as numbers: it does so itself where classes are predicted."""
    if pixels.dtype != numpy.uint8:
        return pixels
    numbers = []
    for name, usual in (("mean", "0"), ("standard_deviation", "1")):
        found = re.search(rf"^  image: .*{name}: (\[[^]]*\]|[^,}}]*)", spec.read_text(), re.MULTILINE)
        numbers.append(numpy.array(json.loads(found[1] if found else usual)).reshape(-1, 1, 1))
    return (pixels / 255.0 - numbers[0]) / numbers[1]


def without_last_activation(model):
    layer = model.layers[-1]
    layer.activation = keras.activations.linear
    return model


def run(program, spec, folder, data, *sets):
    """Runs the spec as it is, but for the data."""
    run_folder = folder / f"run-{data.stem}"
    sets = (
        "data.dataset=arrays", f"data.path={data}", "data.shuffle=false", "strategy.kind=one_device",
        f"batch.global={BATCH}", *sets,
    )  # fmt: skip
    options = [part for one in sets for part in ("--set", one)]
    is_scaled = numpy.load(data)["x_train"].dtype != numpy.uint8  # so that the spec's scaling is none of dtrain's
    for name in ("split", "augment", "classes", *(("image",) if is_scaled else ())):
        if re.search(rf"^  {name}: ", spec.read_text(), re.MULTILINE):
            options += ["--unset", f"data.{name}"]
    command(program, "run", spec, "--run-dir", run_folder, *options)
    return run_folder


def check_outputs(program, folder, name, network, suffix):
    model = make(network, dropout=0.3)
    spec, weights = convert(model, folder)
    if suffix == "h5":
        other = safetensors_file.read(convert(model, folder, "h5")[1])
        own = safetensors_file.read(weights)
        same = own.keys() == other.keys() and all((own[one] == other[one]).all() for one in own)
        report(f"{name}, weights from model.h5 instead", 0 if same else 1, 0)
    ours, theirs = inputs_of(model, name, EXAMPLES)
    targets = targets_of(model, EXAMPLES)
    numpy.savez(folder / "data.npz", x_train=ours, y_train=targets, x_test=ours, y_test=targets)  # that specs name
    command(program, "validate", spec)
    ours = scaled(ours, spec)
    logits = numpy.asarray(without_last_activation(model)(theirs, training=False))
    numpy.savez(folder / "outputs.npz", x_train=ours, x_test=ours, y_train=logits, y_test=logits)
    # The error of numbers, so that dtrain predicts the outputs themselves.
    changes = "train.max_steps=0", "train.loss=mean_squared_error"
    run_folder = run(program, spec, folder, folder / "outputs.npz", *changes)
    numpy.save(folder / "x.npy", ours)
    lines = command(program, "predict", run_folder, folder / "x.npy", "--json").splitlines()
    predicted = [[value for key, value in json.loads(line).items() if key not in ("file", "row")] for line in lines]
    report(f"{name}, outputs", difference(predicted, logits), MOST_OUTPUTS)


def targets_of(model, examples):
    generator = numpy.random.default_rng(3)
    units = model.output_shape[-1]
    if model.loss == "mean_squared_error":
        return generator.standard_normal((examples, units)).astype(numpy.float32)
    return generator.integers(0, max(units, 2), examples)


def trained_model(network, exact):
    """A model without what is random in training. With `exact`, epsilons are so small that it does not matter where an
    optimizer adds them: Keras' adam adds its own before it corrects the root, and its rmsprop within the root."""
    model = make(network, dropout=0.0)
    if any(layer.name.startswith("random_") for layer in model.layers):
        rest = [layer for layer in model.layers if not layer.name.startswith("random_")]
        model = check_networks.compiled(keras.Sequential([keras.Input(model.input_shape[1:]), *rest]))
    if exact and hasattr(model.optimizer, "epsilon"):
        model.optimizer.epsilon = 1e-30 if isinstance(model.optimizer, keras.optimizers.RMSprop) else 1e-18
    return model


def check_training(program, folder, name, network, exact):
    model = trained_model(network, exact)
    spec, before = convert(model, folder)
    ours, theirs = inputs_of(model, name, BATCH * STEPS)
    ours = scaled(ours, spec) if exact else ours  # in float64, too
    targets = targets_of(model, BATCH * STEPS)
    data = folder / f"train-{'exact' if exact else 'usual'}.npz"
    numpy.savez(data, x_train=ours, y_train=targets, x_test=ours[:4], y_test=targets[:4])
    epochs = "phases[0].epochs=1" if "phases:" in spec.read_text() else "train.epochs=1"
    run_folder = run(program, spec, folder, data, epochs, "metrics.every_steps=1", "metrics.skip_steps=0")
    before, losses = safetensors_file.read(before), []
    for begin in range(0, BATCH * STEPS, BATCH):
        part = slice(begin, begin + BATCH)
        model.reset_metrics()
        losses.append(float(model.train_on_batch(theirs[part], targets[part])[0]))
    if not exact:
        events = map(json.loads, (run_folder / "metrics.jsonl").read_text().splitlines())
        own = [event["loss"] for event in events if event["event"] == "step"]
        report(f"{name}, losses of {len(own)} steps", difference(own, losses), MOST_LOSSES)
        return
    expected = safetensors_file.read(convert(model, folder)[1])
    (file,) = (run_folder / "checkpoints").glob(f"step-*{STEPS}/model.safetensors")
    trained = safetensors_file.read(file)
    moved = max(difference(before[one], expected[one]) for one in expected)
    worst = max(difference(trained[one], expected[one]) for one in expected)
    report(
        f"{name}, {len(expected)} variables after {STEPS} steps, which moved them by {moved:.0e}", worst, MOST_TRAINED
    )


def crafted(kind, group, name, folder):
    """Puts something else in the place of a dataset."""
    values = group[name][()]
    del group[name]
    (folder / "secret").write_bytes(b"secret" * 1000)
    if kind == "a link to another file":
        group[name] = h5py.ExternalLink(str(folder / "other.h5"), "/x")
    elif kind == "numbers of another file":
        size = values.size * 4
        group.create_dataset(name, values.shape, "f4", external=[(str(folder / "secret"), 0, size)])
    elif kind == "a shape without numbers":
        group.create_dataset(name, (1 << 20, 1 << 20), "f4")
    elif kind == "numbers that grow":
        group.create_dataset(name, values.shape, "f4", chunks=True, fillvalue=1.0)
    elif kind == "integers":
        group[name] = values.astype(numpy.int64)
    else:
        group[name] = numpy.full_like(values, numpy.nan)


def check_crafted(folder):
    """Files that strangers have made are refused, with the layer's name."""
    model = check_networks.of_layers((3000,), keras.layers.Dense(2000, name="dense"))
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = numpy.zeros(2000, numpy.float32)
    for kind in ("a link to another file", "numbers of another file", "a shape without numbers", "numbers that grow",
                 "integers", "numbers that are not finite"):  # fmt: skip
        model.save(folder / "crafted.h5")
        with h5py.File(folder / "crafted.h5", "r+") as file:
            found = []
            file["model_weights"].visititems(lambda path, item: found.append(path) if path.endswith("kernel") else None)
            path, _, name = found[0].rpartition("/")
            crafted(kind, file["model_weights"][path], name, folder)
        arguments = [CONVERT, folder / "crafted.h5", "--spec", folder / "crafted.yaml", "--python", sys.executable]
        done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
        refused = done.returncode == 1 and "kernel" in done.stderr and not (folder / "crafted.yaml").exists()
        report(f"{kind} instead of a kernel: refused", int(not refused), 0)


def main():
    program, root, *chosen = sys.argv[1:]
    networks = check_networks.SMALL | check_networks.LARGE
    unknown = set(chosen) - networks.keys()
    if unknown:
        sys.exit(f"check_keras: unknown: {', '.join(sorted(unknown))}; known: {', '.join(networks)}")
    for name, network in networks.items():
        if chosen and name not in chosen:
            continue
        folder = pathlib.Path(root) / name
        folder.mkdir()
        # In float32 the rounding of 50 layers and more exceeds the bound.
        set_type("float64" if name in check_networks.LARGE else "float32")
        check_outputs(program, folder, name, network, "h5" if name in ("every_layer", "resnet50_head") else "keras")
        if name in check_networks.SMALL:
            check_training(program, folder, name, network, exact=False)
            set_type("float64")
            check_training(program, folder, name, network, exact=True)
    if not chosen:
        check_crafted(pathlib.Path(root))
    sys.exit(1 if Failures.count else 0)


if __name__ == "__main__":
    main()
