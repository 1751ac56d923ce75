"""What the functions for layers of Keras share: dtrain's layers, what flows between them, and their common fields."""

import dataclasses

from problems import Fields, is_number, shown

ACTIVATIONS = {name: name for name in ("relu", "relu6", "gelu", "silu", "tanh", "sigmoid")} | {"swish": "silu"}
INITIALIZERS = {
    "HeNormal": "he_normal", "HeUniform": "he_uniform", "GlorotNormal": "glorot_normal",
    "LecunUniform": "lecun_uniform",
}  # fmt: skip
KINDS = (
    "conv2d max_pool2d avg_pool2d global_avg_pool2d adaptive_avg_pool2d flatten dense relu relu6 gelu silu tanh sigmoid"
    " batch_norm layer_norm group_norm dropout add"
).split()
ADVICE = {
    "Lambda": "dtrain runs no code from a file: write its computation into the data, or as layers",
    "Concatenate": "dtrain's branches are added: Add",
}
# Layers that change pictures in training alone, and what in data.augment is like them.
UNLIKE = {
    "RandomZoom": "data.augment's random_resized_crop",
    "RandomCrop": "data.augment's random_crop",
    "RandomContrast": "data.augment's color_jitter",
    "RandomBrightness": "data.augment's color_jitter",
    "RandomTranslation": "data.augment's random_crop",
}
CHANNELS_FIRST = "save the model with channels_last; dtrain turns the images itself"
PADDING_ADVICE = (
    "dtrain's convolutions pad as padding='same' does, or by (kernel - 1) // 2 on every side; before a convolution with"
    " padding='valid' such a layer becomes that"
)


@dataclasses.dataclass
class Variable:
    """A variable of dtrain's layer: which one of Keras' layer it is (its name there, its place in the list), of which
    shape, and how its numbers have to be turned."""

    node: object
    keras: str
    index: int
    shape: tuple
    turn: str
    maps: tuple = None  # the height, width and channels of feature maps that were flattened before


@dataclasses.dataclass
class Entry:
    kind: str
    node: object
    fields: dict
    variables: dict = dataclasses.field(default_factory=dict)  # by dtrain's suffix
    name: str = None
    source: object = None  # the Entry whose output it takes; None: the model's input


@dataclasses.dataclass
class Value:
    """What a layer puts out. An entry of None is the model's input."""

    entry: object
    shape: tuple  # without the batch; (height, width, channels), with None for what is open, or (features,)
    maps: tuple = None  # of flattened features: the maps they were
    padding: tuple = None  # of zeros that are still to be added: top, bottom, left, right
    activation: str = None  # the last one, of the output's layer
    channel: int = None  # the only one of the input's that is left


def spread(size, kernel, stride, padding):
    """Of the output of a convolution or a pool along one side."""
    if size is None:
        return None
    return -(-size // stride) if padding == "same" else (size - kernel) // stride + 1


def padding_of_same(size, kernel, stride):
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class Base:
    def __init__(self, report):
        self.report = report
        self.entries = []
        self.values = {}
        self.pixels = []  # what the model does to its input: ("affine", scale, offset) or ("normalization", node)
        self.augment = []
        self.input_shape = None
        self.types = {}  # types of numbers: the first place with each
        self.penalties = {}  # L2 penalties: the first place with each
        self.plain_kernels = 0  # kernels without a penalty
        self.synchronized = {}  # whether batch normalisations are: the first place with each

    def entry(self, kind, node, value, **fields):
        entry = Entry(kind, node, fields, source=value.entry)
        self.entries.append(entry)
        return entry

    def activate(self, node, fields, entry, name="activation"):
        """The activation of a layer as a field of the entry, or as what the output is left with."""
        activation = activation_name(fields.raw(name, "linear"))
        if activation in (None, "linear"):
            return None
        if activation == "softmax":
            return "softmax"
        if activation not in ACTIVATIONS:
            self.no_activation(fields, name, activation)
            return None
        if entry.kind in ("conv2d", "dense"):
            entry.fields["activation"] = ACTIVATIONS[activation]
        return ACTIVATIONS[activation]

    def no_activation(self, fields, name, activation):
        known = ", ".join(sorted(set(ACTIVATIONS.values())))
        fields.problem(name, f"is {shown(activation)}, which has no counterpart", f"dtrain has {known}")

    def check_training(self, fields, kernels=("kernel",)):
        """Penalties and constraints of variables."""
        for name, value in fields.values.items():
            if name.endswith("_constraint") and value is not None:
                fields.problem(name, "has no counterpart", "train without it")
            if not name.endswith("_regularizer"):
                continue
            if name.removesuffix("_regularizer") in kernels:
                self.penalty(fields, name, value)
            elif value is not None:
                fields.problem(name, "has no counterpart", "penalise kernels alone: train.optimizer.weight_decay")

    def penalty(self, fields, name, value):
        if value is None:
            self.plain_kernels += 1
            return
        inner = value.get("config") if isinstance(value, dict) else None
        inner = inner if isinstance(inner, dict) else {}
        strength, others = inner.get("l2"), inner.get("l1", 0)
        if not is_number(strength) or not 0 <= strength <= 500 or others != 0:
            fields.problem(name, "has no counterpart", "dtrain has the L2 penalty: train.optimizer.weight_decay")
            return
        self.penalties.setdefault(strength, fields.place_of(name))

    def initializer(self, fields, name, entry):
        value = fields.raw(name)
        kind = value.get("class_name") if isinstance(value, dict) else None
        if isinstance(kind, str) and kind in INITIALIZERS:
            entry.fields["initializer"] = INITIALIZERS[kind]

    def images(self, fields, value, what="takes images"):
        """Height, width, channels; reports other inputs and layouts."""
        fields.only("data_format", ["channels_last", None], CHANNELS_FIRST)
        if len(value.shape) != 3:
            self.report.problem(fields.place, f"{what}, and gets {self.size(value.shape)}", "add a Reshape")
            return (None, None, 1)
        return value.shape

    @staticmethod
    def size(shape):
        return " x ".join("any" if one is None else str(one) for one in shape)

    def padding(self, fields, value, kernel, stride):
        """(dtrain's padding, the output's height and width), with the zeros that a ZeroPadding2D left to this layer."""
        name = fields.text("padding", "valid").lower()
        if name not in ("valid", "same"):
            fields.wrong("padding", "'valid' or 'same'")
            name = "valid"
        if len(value.shape) != 3:
            return "valid", [None, None]
        height, width = value.shape[:2]
        if kernel == stride == 1:
            name = "valid"  # as there is nothing to pad
        if not value.padding:
            out = [spread(size, kernel, stride, name) for size in (height, width)]
            if any(one is not None and one < 1 for one in out):
                self.report.problem(fields.place, f"its window of {kernel} is larger than the maps")
                out = [None, None]
            return name, out
        top, bottom, left, right = value.padding
        height, width = (
            None if size is None else size - sum(zeros)
            for size, zeros in ((height, (top, bottom)), (width, (left, right)))
        )
        if name == "same":
            self.report.problem(fields.place, "pads what a ZeroPadding2D has padded", PADDING_ADVICE)
            return "valid", [None, None]
        out = [spread(size, kernel, stride, "valid") for size in value.shape[:2]]
        if top == bottom == left == right == (kernel - 1) // 2:  # which is less than half of an even one
            return "symmetric", out
        both = None not in (height, width)
        if both and (top, bottom, left, right) == (
            *padding_of_same(height, kernel, stride),
            *padding_of_same(width, kernel, stride),
        ):
            return "same", out
        self.report.problem(
            fields.place,
            f"follows zeros at the top, bottom, left and right ({top}, {bottom}, {left}, {right})",
            PADDING_ADVICE,
        )
        return "valid", [None, None]

    def unpadded(self, node, value):
        """Reports zeros that no convolution took over."""
        if value.padding:
            self.report.problem(node.place, "takes what a ZeroPadding2D has padded", PADDING_ADVICE)

    def add_bias(self, entry, fields, node, index, outputs):
        if not fields.boolean("use_bias", True):
            entry.fields["use_bias"] = False
            return
        entry.variables["bias"] = Variable(node, "bias", index, (outputs,), "vector")

    def unknown(self, node, values):
        self.report.problem(node.place, "has no counterpart", ADVICE.get(node.kind, "dtrain has " + ", ".join(KINDS)))
        return values[0] if values else Value(None, (None, None, 1))


def activation_name(value):
    """The name of an activation, which Keras writes as a text or as a configuration."""
    if isinstance(value, dict):
        inner = value.get("config")
        value = inner if isinstance(inner, str) else value.get("class_name")
    if value is None:
        return None
    return value.lower() if isinstance(value, str) else shown(value)
