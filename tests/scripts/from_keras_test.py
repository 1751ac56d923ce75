#!/usr/bin/env python3
"""What scripts/convert_weights --spec makes of the configuration of a Keras model, without Keras, h5py or NumPy: the
layers, the training, all that has no counterpart, and files that strangers have crafted."""
import copy
import json
import pathlib
import random
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts" / "from_keras"))
import convert  # noqa: E402
import spec_text  # noqa: E402
from problems import Refusal, plain  # noqa: E402

failures = 0
temporary = tempfile.TemporaryDirectory()
folder = pathlib.Path(temporary.name)


def claim(what, found, expected=True):
    global failures
    if found != expected:
        failures += 1
        print(f"FAILED: {what}\n  found: {found}\n  expected: {expected}")


# Models as Keras 3 and Keras 2 write them


def layer(kind, name, **config):
    return {"class_name": kind, "config": {"name": name, "trainable": True, **config}}


def tensor(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def calls(entry, *inputs, together=False, **keywords):
    """The layer, called in a functional model of Keras 3."""
    args = [[tensor(one) for one in inputs]] if together else [tensor(one) for one in inputs]
    return {**entry, "name": entry["config"]["name"], "inbound_nodes": [{"args": args, "kwargs": keywords}]}


def start(*shape):
    return {**layer("InputLayer", "start", batch_shape=[None, *shape]), "name": "start", "inbound_nodes": []}


def conv(name, filters, kernel=3, **more):
    return layer("Conv2D", name, **{"filters": filters, "kernel_size": [kernel, kernel], "strides": [1, 1], **more})


def sequential(*layers, **more):
    return {"class_name": "Sequential", "config": {"name": "sequential", "layers": list(layers)}, **more}


def functional(*layers, **more):
    config = {
        "name": "functional", "layers": list(layers), "input_layers": [["start", 0, 0]],
        "output_layers": [[layers[-1]["config"]["name"], 0, 0]],
    }  # fmt: skip
    return {"class_name": "Functional", "config": config, **more}


def compiled(loss, optimizer="adam", **more):
    return {"compile_config": {"optimizer": optimizer, "loss": loss, **more}}


def optimizer(kind, **config):
    return {"class_name": kind, "config": config}


def file_of(config, **members):
    path = folder / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        if config is not None:
            archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return path


def job_of(config, channels=None):
    job = convert.Job(file_of(config), channels)
    job.set_scaling(None)
    return job


def text_of(config, **options):
    job = job_of(config, **options)
    job.refuse_problems()
    job.spec, job.parameters, job.weights_path = folder / "job.yaml", 0, "job.safetensors"
    text = spec_text.write(job)
    claim("no line is longer than 120 columns", [line for line in text.splitlines() if len(line) > 120], [])
    return text


def layers_of(config, **options):
    return [line.strip()[2:] for line in text_of(config, **options).splitlines() if line.startswith("    - {")]


def problems_of(config):
    return [f"{place}: {what}" for place, what, _ in job_of(config).report.problems]


def refusal(config):
    try:
        job_of(config).refuse_problems()
    except Refusal as error:
        return str(error)
    return ""


# Layers

mlp = sequential(
    layer("InputLayer", "input", batch_shape=[None, 784]),
    layer("Dense", "dense", units=128, activation="relu"),
    layer("Dropout", "dropout", rate=0.2),
    layer("Dense", "dense_1", units=10, activation="softmax"),
    **compiled("sparse_categorical_crossentropy", metrics=["accuracy"]),
)
claim(
    "the perceptron of MNIST",
    layers_of(mlp),
    [
        "{kind: flatten}  # mnist has 28 x 28 pixels",
        "{kind: dense, units: 128, activation: relu, name: dense}",
        "{kind: dropout, rate: 0.2}",
        "{kind: dense, units: 10, name: dense_1}",
    ],
)
text = text_of(mlp)
for line in ("  dataset: mnist", "  weights: job.safetensors", "  loss: cross_entropy",
             "  optimizer: {kind: adam, learning_rate: 0.001, epsilon: 1.0e-07}", "  kind: mirrored"):  # fmt: skip
    claim(f"its spec has the line {line}", line in text.splitlines())

pictures = sequential(
    layer("Rescaling", "rescaling", scale=1 / 127.5, offset=-1, batch_input_shape=[None, 32, 48, 3]),  # of Keras 2
    layer("ZeroPadding2D", "pad", padding=[[3, 3], [3, 3]]),
    conv("conv", 8, 7, strides=[2, 2], activation="swish"),
    layer("DepthwiseConv2D", "depth wise", kernel_size=3, strides=[2, 2], padding="same", depth_multiplier=2),
    layer("SeparableConv2D", "separable", filters=6, kernel_size=[3, 3], padding="same"),
    layer("BatchNormalization", "batch_normalization", momentum=0.9, epsilon=0.001, axis=[3]),
    layer("GroupNormalization", "in_groups", groups=3, axis=-1, epsilon=0.001),
    layer("GroupNormalization", "of_each", groups=-1, epsilon=1e-5),
    layer("MaxPooling2D", "pool", pool_size=[3, 3], strides=[2, 2], padding="same"),
    layer("Flatten", "flatten"),
    layer("Dense", "9", units=4, trainable=True),
)
claim(
    "layers of convolutions",
    layers_of(pictures),
    [
        "{kind: conv2d, filters: 8, kernel_size: 7, stride: 2, padding: symmetric, activation: silu, name: conv}",
        "{kind: conv2d, filters: 16, kernel_size: 3, stride: 2, padding: same, groups: 8, name: depth_wise}",
        "{kind: conv2d, filters: 16, kernel_size: 3, padding: same, groups: 16, use_bias: false, name: separable}",
        "{kind: conv2d, filters: 6, kernel_size: 1, name: separable_part2}",
        "{kind: batch_norm, momentum: 0.9, name: batch_normalization}",
        "{kind: group_norm, groups: 3, name: in_groups}",
        "{kind: group_norm, groups: 6, epsilon: 1.0e-05, name: of_each}",
        "{kind: max_pool2d, pool_size: 3, stride: 2, padding: same}",
        "{kind: flatten}",
        "{kind: dense, units: 4, name: layer_9}",
    ],
)
claim("pixels from -1 to 1", "image: {size: [32, 48], mean: 0.5, standard_deviation: 0.5}" in text_of(pictures))
job = job_of(pictures)
claim("the maps before the dense layer", job.entries[-1].variables["weight"].maps, (4, 6, 6))
claim("the shape of its kernel", job.entries[-1].variables["weight"].shape, (144, 4))
claim("of the depthwise one", job.entries[1].variables["weight"].shape, (3, 3, 8, 2))


def after_zeros(zeros, window):
    """What becomes of a window after zeros on every side."""
    job = job_of(sequential(
        layer("InputLayer", "input", batch_shape=[None, 16, 16, 3]),
        layer("ZeroPadding2D", "pad", padding=zeros),
        window,
        layer("GlobalAveragePooling2D", "mean"),
        layer("Dense", "dense", units=4),
    ))  # fmt: skip
    return job.entries[0].fields.get("padding", "valid") if not job.report.problems else "refused"


# dtrain's symmetric padding: (kernel - 1) // 2 zeros on every side.
for zeros, kernel, expected in ((1, 3, "symmetric"), (3, 7, "symmetric"), (1, 4, "symmetric"),
                                (1, 2, "refused"), (2, 4, "refused"), (2, 3, "refused")):  # fmt: skip
    claim(f"a kernel of {kernel} after {zeros} zeros", after_zeros(zeros, conv("conv", 4, kernel)), expected)
claim("an even pool after zeros", after_zeros(1, layer("MaxPooling2D", "pool", pool_size=2)), "refused")
claim("zeros at one end are those of an even kernel", after_zeros([[0, 1], [0, 1]], conv("conv", 4, 2)), "same")

block = functional(
    start(16, 16, 3),
    calls(conv("stem", 8, padding="same"), "start"),
    calls(conv("shortcut", 8, 1), "stem"),
    calls(conv("first", 8, padding="same", use_bias=False), "stem"),
    calls(layer("Add", "add"), "shortcut", "first", together=True),
    calls(layer("ReLU", "relu", max_value=6), "add"),
    calls(layer("GlobalAveragePooling2D", "mean"), "relu"),
    calls(layer("Dense", "dense", units=1, activation="sigmoid"), "mean"),
    **compiled({"class_name": "BinaryCrossentropy", "config": {"from_logits": False}}),
)
expected = [
    "{kind: conv2d, filters: 8, kernel_size: 3, padding: same, name: stem}",
    "{kind: conv2d, filters: 8, kernel_size: 1, name: shortcut}",
    "{kind: conv2d, filters: 8, kernel_size: 3, padding: same, use_bias: false, name: first, from: stem}",
    "{kind: add, with: shortcut}",
    "{kind: relu6}",
    "{kind: global_avg_pool2d}",
    "{kind: dense, units: 1, name: dense}",
]
claim("a residual block", layers_of(block), expected)
older = copy.deepcopy(block)  # as Keras 2 names inputs
for entry in older["config"]["layers"]:
    names = {"add": ["shortcut", "first"], "stem": ["start"], "shortcut": ["stem"], "first": ["stem"],
             "relu": ["add"], "mean": ["relu"], "dense": ["mean"]}.get(entry["name"], [])  # fmt: skip
    entry["inbound_nodes"] = [[[name, 0, 0, {}] for name in names]] if names else []
claim("the same from Keras 2", layers_of(older), expected)

inner = functional(
    start(8, 8, 3),
    calls({**conv("base", 4), "config": {**conv("base", 4)["config"], "trainable": False}}, "start"),
)
nested = functional(
    start(8, 8, 3),
    calls(layer("TrueDivide", "divide"), "start"),
    calls(layer("Subtract", "subtract"), "divide"),
    calls({"class_name": "Functional", "config": {**inner["config"], "name": "inner"}}, "subtract", training=False),
    calls(layer("Flatten", "flatten"), "inner"),
    calls(layer("Dense", "head", units=3), "flatten"),
)
for name, number in (("divide", 127.5), ("subtract", 1.0)):
    (entry,) = (one for one in nested["config"]["layers"] if one.get("name") == name)
    entry["inbound_nodes"][0]["args"].append(number)
text = text_of(nested)
claim("a model within a model", [line[:20] for line in layers_of(nested)],
      ["{kind: conv2d, filte", "{kind: flatten}", "{kind: dense, units:"])  # fmt: skip
claim("its frozen layers", "    trainable: [head]" in text.splitlines())
claim("the pixels of its own computations", "mean: 0.5, standard_deviation: 0.5" in text)
path = job_of(nested).entries[0].node.path
claim("where its variables are", path, (("Functional", "inner", 0), ("Conv2D", "base", 0)))

together = copy.deepcopy(pictures)
together["config"]["layers"][5]["config"]["synchronized"] = True
claim("statistics of all replicas", "  sync_batch_norm: true" in text_of(together).splitlines())
claim("a path with spaces", spec_text.path("my ${weights}.safetensors"), '"my $${weights}.safetensors"')

# Training


def train_lines(loss, made, **more):
    model = sequential(layer("InputLayer", "input", batch_shape=[None, 5]), layer("Dense", "dense", units=2))
    return text_of({**model, **compiled(loss, made, **more)}).splitlines()


logits = {"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": True}}
for made, line in (
    (optimizer("SGD", learning_rate=0.009999999776482582, momentum=0.9, nesterov=True),
     "{kind: sgd, learning_rate: 0.01, momentum: 0.9, nesterov: true}"),
    (optimizer("Adam", learning_rate=0.001, weight_decay=0.004),
     "{kind: adamw, learning_rate: 0.001, epsilon: 1.0e-07, weight_decay: 0.004, weight_decay_exclude: none}"),
    (optimizer("Custom>RMSprop", learning_rate=0.01),
     "{kind: rmsprop, learning_rate: 0.01, decay: 0.9, epsilon: 0.0003162}"),
    (optimizer("Lion", beta_2=0.95), "{kind: lion, learning_rate: 0.001, beta2: 0.95}"),
    (optimizer("Lamb", learning_rate=0.01, beta_1=0.8, weight_decay=None),
     "{kind: lamb, learning_rate: 0.01, beta1: 0.8, epsilon: 1.0e-07, weight_decay_exclude: none}"),
):  # fmt: skip
    claim(f"the optimizer {made['class_name']}", f"  optimizer: {line}" in train_lines(logits, made))
for schedule, line in (
    (optimizer("PiecewiseConstantDecay", boundaries=[10, 20], values=[0.1, 0.01, 0.001]),
     "{kind: piecewise, unit: steps, boundaries: [11, 21], values: [0.1, 0.01, 0.001]}"),
    (optimizer("ExponentialDecay", initial_learning_rate=0.1, decay_steps=100, decay_rate=0.9, staircase=True),
     "{kind: step, unit: steps, every: 100, factor: 0.9}"),
    (optimizer("CosineDecay", initial_learning_rate=0.1, decay_steps=50.0, alpha=0.1, warmup_target=None),
     "{kind: cosine, unit: steps, over: 50, final_factor: 0.1}"),
    (optimizer("PolynomialDecay", initial_learning_rate=0.1, decay_steps=50, end_learning_rate=0.01, power=2.0),
     "{kind: polynomial, unit: steps, over: 50, power: 2.0, final_factor: 0.1}"),
):  # fmt: skip
    lines = train_lines(logits, optimizer("Adam", learning_rate=schedule))
    claim(f"the schedule {schedule['class_name']}", f"  schedule: {line}" in lines)
huber = train_lines({"class_name": "Huber", "config": {"delta": 0.5}}, "adam", metrics=["mae", "RootMeanSquaredError"])
claim("a loss with a field", "  loss: {kind: huber, delta: 0.5}" in huber)
claim("accumulated batches", "  global: 128" in train_lines(logits, optimizer("Adam", gradient_accumulation_steps=4)))
claim("numbers as they were written", plain(0.0010000000474974513), 0.001)

claim("a file that has lost its optimizer",
      "  optimizer: {kind: adam, learning_rate: 0.001, epsilon: 1.0e-07}" in train_lines(logits, None))  # fmt: skip
zoomed = sequential(
    layer("InputLayer", "input", batch_shape=[None, 8, 8, 3]),
    layer("RandomZoom", "zoom", height_factor=0.1),
    layer("Flatten", "flatten"),
    layer("Dense", "head", units=3),
)
note = " ".join(text_of(zoomed).replace("\n# ", " ").split())
claim("what only changes pictures in training", "layer 'zoom' (RandomZoom) is left out" in note)

# What has no counterpart is found at once.

several = sequential(
    layer("InputLayer", "input", batch_shape=[None, 16, 16, 3]),
    conv("dilated", 4, dilation_rate=[2, 2], kernel_constraint={"class_name": "MaxNorm"}),
    layer("Conv2D", "oblong", filters=4, kernel_size=[3, 1], activation="elu"),
    layer("LeakyReLU", "leaky"),
    layer("ZeroPadding2D", "pad", padding=2),
    conv("padded", 4),
    layer("BatchNormalization", "norm", scale=False),
    layer("Flatten", "flatten"),
    layer("Lambda", "code", function={"class_name": "__lambda__", "config": {"code": "boom"}}),
    layer("Dense", "dense", units=3),
    **compiled("kl_divergence", optimizer("Adagrad", learning_rate=0.1), metrics=["cosine_similarity"]),
)
found = "\n".join(problems_of(several))
for part in (
    "layer 'dilated' (Conv2D), dilation_rate: is [2, 2]", "layer 'dilated' (Conv2D), kernel_constraint",
    "layer 'oblong' (Conv2D), kernel_size: is [3, 1]", "layer 'oblong' (Conv2D), activation: is 'elu'",
    "layer 'leaky' (LeakyReLU): has no counterpart", "layer 'padded' (Conv2D): follows zeros", "scale: is False",
    "layer 'code' (Lambda): has no counterpart", "compile, loss: is 'kl_divergence'",
    "compile, optimizer: is 'Adagrad'", "compile, metrics, cosine_similarity",
):  # fmt: skip
    claim(f"it says {part}", part in found)
mixed = sequential(
    layer("InputLayer", "input", batch_shape=[None, 4, 4, 2]),
    layer("Flatten", "flatten"),
    layer("GroupNormalization", "mixed", groups=2),
    layer("Dense", "dense", units=3),
)
claim("groups of another order", problems_of(mixed), ["layer 'mixed' (GroupNormalization): groups flattened maps"])
claim("and how many", refusal(several).startswith(f"{len(problems_of(several))} things have no counterpart"))
softmax_twice = {**mlp, **compiled({"class_name": "SparseCategoricalCrossentropy", "config": {"from_logits": True}})}
claim("a softmax that is computed twice", "computed twice" in refusal(softmax_twice))
decayed = {**mlp, **compiled("sparse_categorical_crossentropy", optimizer("Lamb", weight_decay=0.01))}
claim("a decay beside lamb's ratio", "weight_decay: is outside of the ratio" in refusal(decayed))
claim("a shared layer", "is called 2 times" in refusal(functional(
    start(4), {**calls(layer("Dense", "dense", units=4), "start"),
               "inbound_nodes": calls(layer("Dense", "dense", units=4), "start")["inbound_nodes"] * 2})))  # fmt: skip
claim("a class of its own", "class MyModel" in refusal({"class_name": "Custom>MyModel", "config": {}}))

# Crafted files


def file_refusal(path):
    try:
        convert.Job(path, None)
    except Refusal as error:
        return str(error)
    return ""


claim("no config.json", "no config.json" in file_refusal(file_of(None, other="")))
coloured = sequential(layer("InputLayer", "input", batch_shape=[None, 4]), layer("Dense\x1b[31m", "d", units=1))
terminal = refusal(coloured)
claim("an escape sequence does not reach the terminal", "\x1b" in terminal, False)
claim("no JSON", "is no JSON" in file_refusal(file_of("{")))
claim("no model", "holds no model" in file_refusal(file_of("[]")))
claim("a bomb of text", "more than 16 MiB" in file_refusal(file_of('{"a": "' + " " * (17 << 20) + '"}')))
claim("deep lists", "levels deep" in file_refusal(file_of('{"a": ' + "[" * 100_000)))
claim("brackets in a text are not deep", "class" in file_refusal(file_of(json.dumps({"a": '[[\\"' * 500}))))
loop = functional(start(4), calls(layer("Dense", "a", units=1), "b"), calls(layer("Dense", "b", units=1), "a"))
claim("a cycle", "is its own input" in refusal(loop))
claim("a missing layer", "has no layer" in refusal(functional(start(4), calls(layer("Dense", "a", units=1), "none"))))
many = sequential(*[layer("Dense", f"dense_{number}", units=1) for number in range(5001)])
claim("many layers", "more than 5,000 layers" in refusal(many))
deep = sequential(layer("Dense", "dense", units=1))
for _ in range(20):
    deep = {"class_name": "Sequential", "config": {"name": "s", "layers": [{**deep, "name": "s"}]}}
claim("models within models", "more than 16 models" in refusal(deep))
archive = convert.archive.KerasArchive(file_of(mlp, model__weights__h5=b"\0" * (20 << 20)))
try:
    archive.unpack_weights(folder)
    claim("weights that would grow are not unpacked", False)
except Refusal as error:
    claim("weights that would grow are not unpacked", "would grow to" in str(error))
archive.archive.close()

# Wrong values in any place end with a message.


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in items:
        yield from places(one, (*path, name))


generator = random.Random(7)
wrong = [None, True, -1, 0, 1e308, float("nan"), 10**30, "x", "", [], {}, [[]], [None, 1], {"class_name": 3}, "é\n"]
for number in range(1000):
    config = copy.deepcopy(generator.choice([mlp, pictures, block, older, nested, several]))
    for _ in range(generator.choice([1, 1, 2])):
        *way, last = generator.choice([path for path in places(config) if path])
        target = config
        for name in way:
            target = target[name]
        if generator.random() < 0.2 and isinstance(target, dict):
            del target[last]
        else:
            target[last] = copy.deepcopy(generator.choice(wrong))
    try:
        text_of(config)
    except Refusal:
        pass
    except Exception as error:
        claim(f"a wrong value in {[*way, last]} ends with a message", f"{type(error).__name__}: {error}", "Refusal")

print("failed" if failures else "passed")
sys.exit(1 if failures else 0)
