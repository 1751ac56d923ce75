"""Compares the programs that `dtrain plan --stablehlo` writes, run by XLA, with PyTorch: the gradients of each kind of
layer and loss, the updates of each optimizer, and trainings of 50 steps. Started by scripts/check_stablehlo."""

import pathlib
import sys

import numpy as np
import torch

from stablehlo_case import Case, Programs
from stablehlo_reference import forward, losses_of


def layer(kind, name=None, **fields):
    return {"kind": kind, "name": name or kind, **fields}


def head(outputs=3):
    return [layer("flatten"), layer("dense", units=outputs)]


PLAIN = {"optimizer": {"kind": "sgd", "learning_rate": 1.0}}  # the change of a variable is its gradient


def layer_cases():
    first = layer("conv2d", "first", filters=4)  # so that each layer has to pass on a gradient
    windows = [
        {"padding": padding, "stride": stride} for padding in ("valid", "same", "symmetric") for stride in (1, 2)
    ]
    middles = {f"conv2d {w}": [layer("conv2d", filters=6, kernel_size=3, **w)] for w in windows}
    # With more channels the gradient of the kernel is another operation.
    many = layer("conv2d", "many", filters=6)
    middles |= {f"conv2d of many {w}": [many, layer("conv2d", filters=6, kernel_size=3, **w)] for w in windows}
    middles |= {f"conv2d of groups {w}": [layer("conv2d", filters=6, kernel_size=2, groups=2, **w)] for w in windows}
    middles["conv2d depthwise, no bias"] = [layer("conv2d", filters=8, groups=4, use_bias=False, padding="same")]
    middles["conv2d 1x1, stride 3"] = [layer("conv2d", filters=5, kernel_size=1, stride=3)]
    for kind in ("max_pool2d", "avg_pool2d"):
        middles |= {f"{kind} {w}": [layer(kind, pool_size=3, **w)] for w in windows}
        middles[f"{kind} 2x2"] = [layer(kind)]
        middles[f"relu, {kind} with ties"] = [layer("relu"), layer(kind, pool_size=3, stride=1)]
    middles["adaptive_avg_pool2d to 3"] = [layer("adaptive_avg_pool2d", output_size=3)]
    middles["adaptive_avg_pool2d to 9"] = [layer("adaptive_avg_pool2d", output_size=9)]
    middles["batch_norm"] = [layer("batch_norm", "norm")]
    middles["layer_norm"] = [layer("layer_norm", "norm")]
    middles["group_norm"] = [layer("group_norm", "norm", groups=2)]
    for kind in ("relu", "relu6", "gelu", "silu", "tanh", "sigmoid"):
        middles[kind] = [layer(kind)]
    middles["add"] = [layer("conv2d", filters=4, padding="same"), layer("tanh"), layer("add", **{"with": "first"})]
    middles["a branch"] = [layer("tanh"), layer("sigmoid", **{"from": "first"}), layer("add", **{"with": "tanh"})]
    for name, middle in middles.items():
        wide = 30.0 if name in ("relu6",) else 0.5
        for dtype in ("float64", "float32"):
            yield Case(
                f"{name}, {dtype}",
                [first, *middle, *head()],
                PLAIN,
                dtype=dtype,
                shape=(2, 8, 7),
                scale=wide if dtype == "float64" else 0.1,
            )
    yield Case("global_avg_pool2d", [first, layer("global_avg_pool2d"), layer("dense", units=3)], PLAIN)
    flat = [layer("flatten"), layer("dense", "first", units=7)]
    numbers = layer("group_norm", "norm", groups=1)
    yield Case("group_norm of numbers", [*flat, numbers, layer("dense", units=3)], PLAIN, rows=6)
    for kind in ("batch_norm", "layer_norm"):
        yield Case(f"{kind} of numbers", [*flat, layer(kind, "norm"), layer("dense", units=3)], PLAIN, rows=6)
        for sync in (False, True):
            if kind == "batch_norm":
                yield Case(
                    f"batch_norm on 4 devices, synchronised: {sync}",
                    [first, layer("batch_norm", "norm"), layer("conv2d", filters=3), *head()],
                    {**PLAIN, "sync_batch_norm": sync},
                    devices=4,
                    rows=5,
                    steps=3,
                    rate=0.1,
                    uneven=True,
                )
    yield Case(
        "frozen layers",
        [
            first,
            layer("batch_norm", "norm"),
            layer("relu"),
            layer("conv2d", filters=3),
            layer("batch_norm", "second_norm"),
            *head(),
        ],
        PLAIN,
        frozen=("first", "norm"),
        steps=2,
    )
    yield Case(
        "a frozen layer in the middle",
        [first, layer("batch_norm", "norm"), layer("relu"), layer("conv2d", filters=3), *head()],
        PLAIN,
        frozen=("norm", "conv2d"),
        steps=2,
        rate=0.1,
    )
    yield Case(
        "channels normalised each",
        [first, *head()],
        PLAIN,
        shape=(3, 6, 6),
        data={"image": {"mean": [0.5, 0.4, 0.3], "standard_deviation": [0.2, 0.3, 0.4]}},
    )


def loss_cases():
    small = [layer("flatten"), layer("dense", units=3)]
    one = [layer("flatten"), layer("dense", units=1)]
    for smoothing in (0, 0.2):
        for weights in (None, [0.5, 2.0, 1.0]):
            for mixed in (False, True):
                loss = {"kind": "cross_entropy", **({"class_weights": weights} if weights else {})}
                yield Case(
                    f"cross_entropy, smoothing {smoothing}, weights {weights}, mixed {mixed}",
                    small,
                    {**PLAIN, "loss": loss, "label_smoothing": smoothing},
                    devices=2,
                    rows=5,
                    mixed=mixed,
                    uneven=True,
                )
    for smoothing, weights in ((0, None), (0.2, [0.5, 3.0])):
        loss = {"kind": "binary_cross_entropy", **({"class_weights": weights} if weights else {})}
        train = {**PLAIN, "loss": loss, "label_smoothing": smoothing}
        yield Case(f"binary_cross_entropy of classes {weights}", one, train, outputs=1, devices=2, uneven=True)
        yield Case(
            f"binary_cross_entropy of numbers {weights}", [layer("dense", units=3)], train, shape=(5,), numbers=True
        )
    for kind in ("mean_squared_error", "mean_absolute_error", "huber", "log_cosh"):
        loss = {"kind": kind, **({"delta": 0.4} if kind == "huber" else {})}
        yield Case(
            kind,
            [layer("dense", units=2)],
            {**PLAIN, "loss": loss},
            shape=(5,),
            numbers=True,
            outputs=2,
            devices=2,
            rows=6,
            uneven=True,
        )


def optimizer_cases():
    net = [
        layer("flatten"),
        layer("dense", "first", units=8),
        layer("layer_norm", "norm"),
        layer("tanh"),
        layer("dense", units=3),
    ]
    for optimizer in (
        {"kind": "sgd"},
        {"kind": "sgd", "momentum": 0.9},
        {"kind": "sgd", "momentum": 0.9, "nesterov": True},
        {"kind": "rmsprop"},
        {"kind": "rmsprop", "momentum": 0.9},
        {"kind": "adam"},
        {"kind": "adamw"},
        {"kind": "lion"},
        {"kind": "lion", "beta1": 0.8, "beta2": 0.9},
        {"kind": "lars", "learning_rate": 0.01},
        {"kind": "lars", "learning_rate": 0.01, "momentum": 0.5, "trust_coefficient": 0.7, "epsilon": 1e-3},
        {"kind": "lamb"},
        {"kind": "lamb", "beta1": 0.8, "beta2": 0.95, "epsilon": 1e-4},
        {"kind": "muon", "learning_rate": 0.01},
        {"kind": "muon", "learning_rate": 0.01, "momentum": 0.8, "nesterov": False, "adam_learning_rate": 0.005},
        {"kind": "adam", "beta1": 0.8, "beta2": 0.99, "epsilon": 1e-4},
    ):
        for more in ({}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "weight_decay_exclude": "none"}):
            yield Case(f"{optimizer} {more}", net, {"optimizer": {**optimizer, **more}}, steps=5, rate=0.01, devices=2)
    yield Case("adam in 32 bits", net, {"optimizer": {"kind": "adam"}}, steps=5, rate=0.01, dtype="float32")
    yield Case("clipped", net, {**PLAIN, "clip_norm": 0.05}, steps=3, devices=2)
    yield Case("not clipped", net, {**PLAIN, "clip_norm": 1e6}, steps=2)
    yield Case(
        "an average of the weights", net, {"optimizer": {"kind": "adam"}, "ema": {"decay": 0.9}}, steps=5, rate=0.01
    )


def precision_cases():
    """Roundings to 16 bits fall in other places: what differs by more than their size is wrong."""
    most = {"dtype": "float32", "tolerance": 0.02, "sums_tolerance": 0.01}
    train = {**PLAIN, "precision": "bf16_mixed"}
    first = layer("conv2d", "first", filters=4)
    for middle in ("max_pool2d", "avg_pool2d", "gelu", "relu6", "layer_norm", "batch_norm"):
        name = "norm" if "norm" in middle else None
        yield Case(f"bf16_mixed, {middle}", [first, layer(middle, name), *head()], train, scale=0.1, **most)
    block = [layer("conv2d", filters=4, padding="same"), layer("add", **{"with": "first"}), *head()]
    yield Case("bf16_mixed, add", [first, *block], train, scale=0.1, devices=2, uneven=True, **most)


def residual_block(name, filters, stride, before):
    yield layer("conv2d", f"{name}_a", filters=filters, stride=stride, padding="same", use_bias=False)
    yield layer("batch_norm", f"{name}_a_norm")
    yield layer("relu", f"{name}_relu")
    yield layer("conv2d", f"{name}_b", filters=filters, padding="same", use_bias=False)
    yield layer("batch_norm", f"{name}_b_norm")
    yield layer(
        "conv2d", f"{name}_way", filters=filters, kernel_size=1, stride=stride, use_bias=False, **{"from": before}
    )
    yield layer("batch_norm", f"{name}_way_norm")
    yield layer("add", f"{name}_sum", **{"with": f"{name}_b_norm"})
    yield layer("relu", name)


def training_cases():
    mlp = [layer("flatten"), layer("dense", "first", units=32), layer("relu"), layer("dense", units=10)]
    cnn = [
        layer("conv2d", "first", filters=8),
        layer("relu"),
        layer("max_pool2d"),
        layer("conv2d", filters=8, padding="same"),
        layer("relu", "relu2"),
        layer("avg_pool2d"),
        *head(10),
    ]
    residual = [
        layer("conv2d", "stem", filters=8, padding="same"),
        layer("batch_norm", "stem_norm"),
        layer("relu", "begin"),
        *residual_block("one", 8, 1, "begin"),
        *residual_block("two", 16, 2, "one"),
        layer("global_avg_pool2d"),
        layer("dense", units=10),
    ]
    sgd = {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 1e-4}
    kinds = {
        "MLP": (mlp, {"kind": "adam"}, 1e-3, (1, 12, 12), 1e-5),
        "CNN": (cnn, sgd, 0.02, (1, 12, 12), 1e-4),
        "residual network": (residual, sgd, 0.01, (3, 12, 12), 1e-3),
    }
    for name, (layers, optimizer, rate, shape, tolerance) in kinds.items():
        for devices in (1, 2, 4):
            for dtype in ("float64", "float32"):
                # In 32 bits roundings grow from step to step, and faster in some weights than in the loss.
                most = {"tolerance": 1e-9} if dtype == "float64" else {"tolerance": 0.1, "sums_tolerance": tolerance}
                # The same global batch, whatever the number of devices.
                yield Case(
                    f"{name}, 50 steps on {devices} devices, {dtype}",
                    layers,
                    {"optimizer": optimizer},
                    steps=50,
                    devices=devices,
                    rows=32 // devices,
                    outputs=10,
                    uneven=True,
                    shape=shape,
                    rate=rate,
                    dtype=dtype,
                    **most,
                )


# What dropout draws is the program's own: checked by what its gradients show.


def check_dropout(programs):
    units, rate = 2000, 0.3
    layers = [
        layer("flatten"),
        layer("dense", "first", units=units),
        layer("dropout", rate=rate),
        layer("dense", units=2),
    ]
    case = Case("dropout", layers, PLAIN, rows=1, devices=2, outputs=2, shape=(1, 2, 2))
    written = programs.write(case.spec(programs.folder))["training_step"]
    variables, memories = case.initial(written[0]["arguments"])
    batch = case.batch(0)
    masks = []
    for step in (0, 1, 0):  # the seed is the step's
        on_one_device = []
        for device in range(2):
            feed = case.feed(step, batch)
            feed["weights"] = [np.array([float(each == device)], np.float32) for each in range(2)]
            state, _ = programs.run(written, 2, {name: [array] * 2 for name, array in variables.items()}, [feed])
            changed = {name: variables[name] - arrays[0] for name, arrays in state.items()}
            on_one_device.append((changed["dense.weight"][0] != 0).astype(np.float64))
            # With the mask that the one gradient shows, all others are PyTorch's.
            tensors = {name: torch.from_numpy(array).requires_grad_() for name, array in variables.items()}
            masked = torch.from_numpy(on_one_device[-1] / (1 - rate))
            outputs = forward(layers, tensors, case.torch_inputs(batch[device][0]), True, masked)
            (losses_of(PLAIN, outputs, torch.from_numpy(batch[device][1]).long()).sum() / 2).backward()
            for name, tensor in tensors.items():
                error = np.abs(tensor.grad.numpy() - changed[name]).max()
                if not error < 1e-10:
                    return f"{name} differs by {error:.2g}"
        masks.append(on_one_device)
    kept = np.mean(masks[:2])
    if abs(kept - (1 - rate)) > 4 * np.sqrt(rate * (1 - rate) / (4 * units)):
        return f"keeps {kept:.4f} of the numbers, not {1 - rate}"
    if not np.array_equal(masks[0], masks[2]):
        return "another mask for the same seed"
    if any(np.mean(a == b) > 0.65 for a, b in ((masks[0][0], masks[0][1]), (masks[0][0], masks[1][0]))):
        return "the masks of two devices or of two steps are alike"
    return ""


def main():
    program, python, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    part = sys.argv[4] if len(sys.argv) > 4 else ""
    torch.set_num_threads(1)
    programs = Programs(program, python, folder)
    failed = 0
    print("largest differences of variables and outputs, and of the steps' mean losses and other sums")
    for title, cases in (
        ("gradients of layers", layer_cases),
        ("losses", loss_cases),
        ("optimizers", optimizer_cases),
        ("products in 16 bits", precision_cases),
        ("trainings", training_cases),
    ):
        print(title)
        for case in cases():
            if part not in case.name:
                continue
            try:
                errors, problems = case.check(programs)
            except RuntimeError as error:
                errors, problems = {"values": float("nan"), "sums": float("nan")}, [str(error)]
            failed += bool(problems)
            print(
                f"  {'FAILED' if problems else 'ok':6}  {errors['values']:8.1e}  {errors['sums']:8.1e}  {case.name}"
                + "".join(f"\n          {problem}" for problem in problems[:3]),
                flush=True,
            )
    problem = check_dropout(programs)
    failed += bool(problem)
    print(f"dropout\n  {problem or 'ok'}")
    programs.close()
    print(f"{failed} failed" if failed else "all as PyTorch has it")
    sys.exit(1 if failed else 0)


main()
