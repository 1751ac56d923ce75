"""Converts weights of torchvision's and Keras' models to safetensors with torchvision's names. Started by
scripts/convert_weights."""

import argparse
import pathlib
import pickle
import re
import sys

import numpy

import safetensors_file

TORCHVISION = (
    ["resnet18", "resnet34", "resnet50", "resnet101", "wide_resnet50_2", "wide_resnet101_2", "mobilenet_v2"]
    + ["vit_b_16", "vit_b_32"]
    + [f"vgg{depth}" for depth in (11, 13, 16, 19)]
    + [f"vgg{depth}_bn" for depth in (11, 13, 16, 19)]
)
KERAS_BLOCKS = {"resnet50": (3, 4, 6, 3), "resnet101": (3, 4, 23, 3)}
EPSILON = 1e-5  # of dtrain's and torchvision's batch normalisation


class Refusal(Exception):
    """Why a file cannot be converted."""


# PyTorch


def named_tensors(saved):
    """The tensors by name in what torch.save() has written: a state_dict, or one among other things."""
    import torch

    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(saved, dict) and isinstance(saved.get(key), dict):
            saved = saved[key]
    if not isinstance(saved, dict) or not saved or not all(isinstance(one, torch.Tensor) for one in saved.values()):
        raise Refusal("it holds no state_dict, that is, tensors by name")
    if all(name.startswith("module.") for name in saved):  # of DistributedDataParallel
        saved = {name.removeprefix("module."): tensor for name, tensor in saved.items()}
    # torchvision's own files of vision transformers have the names of an earlier version.
    earlier = {".mlp.linear_1.": ".mlp.0.", ".mlp.linear_2.": ".mlp.3."}
    for old, new in earlier.items():
        saved = {name.replace(old, new): tensor for name, tensor in saved.items()}
    return {name: tensor for name, tensor in saved.items() if not name.endswith("num_batches_tracked")}


def torchvision_shapes(name):
    """{variable: shape} of a model, and the name of its last layer."""
    import torch
    import torchvision

    with torch.device("meta"):
        state = torchvision.models.get_model(name, weights=None).state_dict()
    shapes = {key: tuple(value.shape) for key, value in state.items() if not key.endswith("num_batches_tracked")}
    return shapes, list(shapes)[-1].rpartition(".")[0]


def differences_from(name, found):
    """What keeps variables of these shapes from being torchvision's model of this name, but for its classes and the
    number of a vision transformer's patches."""
    expected, head = torchvision_shapes(name)
    problems = [f"'{key}' is unknown" for key in found if key not in expected]
    for key, shape in expected.items():
        is_head = key.startswith(head + ".")
        if key not in found:
            if not is_head:
                problems.append(f"'{key}' is missing")
        elif key.endswith(".pos_embedding") and found[key][-1:] == shape[-1:]:
            continue
        elif found[key] != shape and not (is_head and found[key][1:] == shape[1:]):
            problems.append(f"'{key}' is {list(found[key])} and not {list(shape)}")
    return problems


def from_torch(path):
    import torch

    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise Refusal("it holds more than weights, or is damaged; save model.state_dict() alone") from error
    state = named_tensors(saved)
    shapes = {name: tuple(tensor.shape) for name, tensor in state.items()}
    problems = {name: differences_from(name, shapes) for name in TORCHVISION}
    model = min(problems, key=lambda name: len(problems[name]))
    if problems[model]:
        raise Refusal(
            f"it is no model that is known here ({', '.join(TORCHVISION)}); of {model}, the nearest:\n  "
            + "\n  ".join(problems[model][:10])
        )
    _, head = torchvision_shapes(model)
    classes = shapes.get(head + ".weight", ["none: without its last layer"])[0]
    tensors = {
        name: tensor.to(tensor.dtype if tensor.dtype == torch.float64 else torch.float32).numpy()
        for name, tensor in state.items()
    }
    return f"torchvision's {model}, classes: {classes}", tensors, {"bottleneck_stride": "middle"}


# Keras


def keras_model(path):
    """A model with the weights at `path`, which has them alone or a whole model."""
    import h5py
    import keras

    if path.suffix == ".keras":
        return keras.models.load_model(path, compile=False, safe_mode=True)
    with h5py.File(path) as file:
        if "model_config" in file.attrs:
            return keras.models.load_model(path, compile=False, safe_mode=True)
        names, tops, is_101 = [], [], False

        def look(name, item):
            nonlocal is_101
            names.append(name)
            is_101 = is_101 or "conv4_block7" in name
            if isinstance(item, h5py.Dataset) and item.ndim == 2:
                tops.append(item.shape[1])

        file.visititems(look)
    network = keras.applications.ResNet101 if is_101 else keras.applications.ResNet50
    top = {"include_top": True, "classes": tops[-1]} if tops else {"include_top": False}
    model = network(weights=None, classifier_activation=None, **top) if tops else network(weights=None, **top)
    model.load_weights(path)
    return model


def all_layers(model):
    for layer in model.layers:
        if hasattr(layer, "layers"):
            yield from all_layers(layer)
        else:
            yield layer


def torchvision_name(layer):
    """"layer1.0.conv2" for "conv2_block1_2_conv"; None for a layer without such a name."""
    if layer in ("conv1_conv", "conv1_bn"):
        return layer.replace("conv1_conv", "conv1").replace("conv1_bn", "bn1")
    if layer in ("predictions", "probs"):
        return "fc"
    match = re.fullmatch(r"conv(\d)_block(\d+)_(\d)_(conv|bn)", layer)
    if not match:
        return None
    stage, block, number, kind = int(match[1]) - 1, int(match[2]) - 1, match[3], match[4]
    part = f"downsample.{'01'[kind == 'bn']}" if number == "0" else f"{kind}{number}"
    return f"layer{stage}.{block}.{part}"


def expected_names(blocks):
    """The names of the layers with weights of a bottleneck ResNet without its last one."""
    names = {"conv1", "bn1"}
    for stage, count in enumerate(blocks, 1):
        names.update(f"layer{stage}.0.downsample.{i}" for i in (0, 1))
        for block in range(count):
            names.update(f"layer{stage}.{block}.{kind}{i}" for kind in ("conv", "bn") for i in (1, 2, 3))
    return names


def from_keras(path, channels):
    layers, others = {}, []
    for layer in all_layers(keras_model(path)):
        name = torchvision_name(layer.name)
        if name:
            layers[name] = layer
        elif layer.weights:
            others.append(layer.name)
    base = set(layers) - {"fc"}
    known = [name for name, blocks in KERAS_BLOCKS.items() if base == expected_names(blocks)]
    if not known:
        raise Refusal(f"it is no {' or '.join(KERAS_BLOCKS)} of Keras: it has {len(base)} of their layers by name")

    tensors, folded = {}, 0
    for name, layer in layers.items():
        weights = [numpy.asarray(one, numpy.float32) for one in layer.get_weights()]
        if name == "fc":
            tensors["fc.weight"], tensors["fc.bias"] = weights[0].T, weights[1]
            continue
        if layer.__class__.__name__ != "Conv2D":
            continue
        kernel = weights[0].transpose(3, 2, 0, 1)  # height, width, inputs, outputs
        if name == "conv1" and channels == "bgr":
            kernel = kernel[:, ::-1]
        tensors[name + ".weight"] = kernel
        # The normalisation after it: of x + bias as of x, with a mean that is less by the bias, and with our epsilon.
        norm_name = name.replace("conv", "bn").replace("downsample.0", "downsample.1")
        norm = layers[norm_name]
        gamma, beta, mean, variance = (numpy.asarray(one, numpy.float64) for one in norm.get_weights())
        if layer.use_bias:
            mean = mean - weights[1]
            folded += 1
        variance = variance + (norm.epsilon - EPSILON)
        for variable, value in (("weight", gamma), ("bias", beta), ("running_mean", mean), ("running_var", variance)):
            tensors[f"{norm_name}.{variable}"] = value.astype(numpy.float32)
    print(f"the biases of {folded} convolutions are now part of the means of the batch normalisations after them")
    if channels == "bgr":
        print("the first kernels take red, green and blue now, instead of blue, green and red")
    if others:
        print(f"left out: {', '.join(others)}")
    classes = tensors["fc.bias"].size if "fc.bias" in tensors else "none: without its last layer"
    print("set model.bottleneck_stride: first, as these blocks have their stride in the first convolution")
    return f"Keras' {known[0]}, classes: {classes}", tensors, {"bottleneck_stride": "first"}


def check_numbers(tensors):
    for name, tensor in tensors.items():
        if not numpy.isfinite(tensor).all():
            raise Refusal(f"'{name}' has numbers that are not finite")
        if name.endswith("running_var") and tensor.min() < 0:
            raise Refusal(f"'{name}' has negative variances")


def convert(file, out, channels="bgr"):
    """Prints what it found. Raises Refusal, or what PyTorch and Keras raise for a damaged file."""
    if file.suffix in (".pth", ".pt"):
        found, tensors, metadata = from_torch(file)
    else:
        found, tensors, metadata = from_keras(file, channels)
    check_numbers(tensors)
    parameters = sum(
        tensor.size for name, tensor in tensors.items() if not name.rpartition(".")[2].startswith("running_")
    )
    safetensors_file.write(out, tensors, {**metadata, "source": f"{file.name}: {found}"})
    print(f"{file}: {found}, {parameters:,} parameters; written to {out}")


def main():
    parser = argparse.ArgumentParser(prog="convert_weights")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--channels", choices=["bgr", "rgb"], default="bgr")
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it is there")
    options = parser.parse_args()
    if options.out.exists() and not options.overwrite:
        sys.exit(f"convert_weights: {options.out} is there; --overwrite replaces it")
    try:
        convert(options.file, options.out, options.channels)
    except Exception as error:  # the readers of both raise errors of many kinds for a damaged file
        sys.exit(f"convert_weights: {options.file}: {error}")


if __name__ == "__main__":
    main()
