"""dtrain's layers for those of Keras. Each function takes a node and the values of its inputs, adds entries to the list
of layers, and returns the value of its output."""

import dataclasses
import re

from convolutions import Convolutions
from inputs import Inputs
from problems import Fields, is_count, shown
from values import ACTIVATIONS, KINDS, UNLIKE, Value, Variable, activation_name


class Converter(Convolutions, Inputs):
    def flatten(self, node, values):
        (value,) = values
        self.unpadded(node, value)
        if len(value.shape) == 1:
            return value
        if None in value.shape:
            self.report.problem(
                node.place, f"flattens maps of {self.size(value.shape)}", "build the model with a fixed input shape"
            )
            return Value(self.entry("flatten", node, value), (1,))
        features = 1
        for one in value.shape:
            features *= one
        shape = value.shape if len(value.shape) == 3 else (*value.shape, 1)
        turned = len(shape) == 3 and shape[2] > 1 and shape[0] * shape[1] > 1
        entry = self.entry("flatten", node, value)
        return Value(entry, (features,), maps=shape if turned else None, activation=value.activation)

    def reshape(self, node, values):
        (value,) = values
        target = node.config.get("target_shape")
        if not isinstance(target, list) or not all(is_count(one, -1) for one in target) or not target:
            Fields(node.config, node.place, self.report).wrong("target_shape", "a list of sizes")
            return value
        if len(target) == 1:
            return self.flatten(node, values)
        whole = tuple(target)
        if tuple(value.shape) == whole or tuple(value.shape) == (1, 1, whole[-1]) == whole:
            return value
        if value.entry is None and whole[-1] == 1 and -1 not in whole:
            return dataclasses.replace(value, shape=whole)  # of one channel: dtrain's pictures have it
        self.report.problem(
            node.place, f"makes {self.size(whole)} of {self.size(value.shape)}", "dtrain can flatten, and nothing else"
        )
        return Value(value.entry, whole)

    def activation(self, node, values):
        (value,) = values
        self.unpadded(node, value)
        fields = Fields(node.config, node.place, self.report)
        name = activation_name(fields.raw("activation", "linear"))
        return self.activate_value(node, value, fields, name)

    def activate_value(self, node, value, fields, name):
        if name in (None, "linear"):
            return value
        if name == "softmax":
            return dataclasses.replace(value, activation="softmax")
        if name not in ACTIVATIONS:
            self.no_activation(fields, "activation", name)
            return value
        entry = self.entry(ACTIVATIONS[name], node, value)
        return Value(entry, value.shape, value.maps, activation=ACTIVATIONS[name])

    def relu(self, node, values):
        (value,) = values
        self.unpadded(node, value)
        fields = Fields(node.config, node.place, self.report)
        fields.only("negative_slope", [0], "dtrain has relu and relu6")
        fields.only("threshold", [0], "dtrain has relu and relu6")
        fields.only("max_value", [None, 6], "dtrain has relu and relu6")
        return self.activate_value(node, value, fields, "relu6" if fields.raw("max_value") is not None else "relu")

    def softmax(self, node, values):
        return dataclasses.replace(values[0], activation="softmax")

    def norm(self, kind):
        def convert(node, values):
            (value,) = values
            self.unpadded(node, value)
            fields = Fields(node.config, node.place, self.report)
            self.check_training(fields, ())
            for name in ("scale", "center"):
                fields.only(name, [True], "dtrain's normalisations learn a scale and a bias")
            for name in ("renorm", "rms_scaling"):
                fields.only(name, [False])
            rank, features = len(value.shape), value.shape[-1]
            fields.only("axis", [-1, [-1], rank, [rank]], "dtrain normalises channels, or features")
            entry = self.entry(kind, node, value)
            epsilon = fields.number("epsilon", 1e-3, 1e-30, 1)
            if kind == "group_norm":
                groups = features if fields.raw("groups") == -1 else fields.count("groups", 32)
                if groups != 32:
                    entry.fields["groups"] = groups
                if value.maps and groups != 1:
                    self.report.problem(node.place, "groups flattened maps", "dtrain flattens them in another order")
            if kind == "batch_norm":
                self.synchronized.setdefault(fields.boolean("synchronized", False), node.place)
                momentum = fields.number("momentum", 0.99, 0, 1)
                if momentum != 0.99:
                    entry.fields["momentum"] = momentum
                if momentum == 1:
                    fields.problem("momentum", "is 1", "freeze the layer instead: trainable=False")
                if node.kept_in_inference and fields.boolean("trainable", True):
                    self.report.problem(
                        node.place,
                        "is called with training=False, and trainable",
                        "freeze it, too: dtrain's frozen batch_norm keeps its moving statistics",
                    )
            if epsilon != 1e-3:
                entry.fields["epsilon"] = epsilon
            names = {"weight": "gamma", "bias": "beta"}
            if kind == "batch_norm":
                names |= {"running_mean": "moving_mean", "running_var": "moving_variance"}
            for index, (ours, theirs) in enumerate(names.items()):
                entry.variables[ours] = Variable(node, theirs, index, (features,), "vector", value.maps)
            return Value(entry, value.shape, value.maps)

        return convert

    def dropout(self, node, values):
        (value,) = values
        self.unpadded(node, value)
        fields = Fields(node.config, node.place, self.report)
        fields.only("noise_shape", [None], "dtrain drops each number by itself")
        rate = fields.number("rate", 0.5, 0, 0.999999)
        if rate == 0 or node.kept_in_inference:
            return value
        if value.entry is None:
            self.report.note(f"{node.place} drops inputs")
        return Value(self.entry("dropout", node, value, rate=rate), value.shape, value.maps, None, value.activation)

    def add(self, node, values):
        if len(values) == 1 and len(node.constants) == 1:
            return self.constant(node, values)
        for value in values:
            self.unpadded(node, value)
        if len(values) < 2:
            self.report.problem(node.place, "adds no two layers")
            return values[0]
        if len({(value.shape, value.maps) for value in values}) > 1:
            sizes = ", ".join(self.size(value.shape) for value in values)
            self.report.problem(node.place, f"adds outputs of different sizes: {sizes}", "dtrain stretches none")
        places = {id(entry): number for number, entry in enumerate(self.entries)}
        values = sorted(values, key=lambda value: places.get(id(value.entry), -1))
        total = values[-1]  # what the list has last
        for other in reversed(values[:-1]):
            entry = self.entry("add", node, total)
            entry.fields["with"] = other.entry
            if other.entry is None:
                self.input_again(node)
            total = Value(entry, total.shape, total.maps)
        return total

    def input_again(self, node):
        self.report.problem(
            node.place, "takes the model's input again", "begin the branches after a layer: dtrain's input has no name"
        )

    def nothing(self, node, values):
        return values[0]

    # All layers

    def function_of(self, kind):
        """What converts layers of this class."""
        return {
            "Conv2D": self.conv2d,
            "DepthwiseConv2D": self.depthwise,
            "SeparableConv2D": self.separable,
            "Dense": self.dense,
            "MaxPooling2D": self.pool("max_pool2d"),
            "AveragePooling2D": self.pool("avg_pool2d"),
            "GlobalAveragePooling2D": self.global_average,
            "GlobalMaxPooling2D": self.global_maximum,
            "Flatten": self.flatten,
            "Reshape": self.reshape,
            "Activation": self.activation,
            "ReLU": self.relu,
            "Softmax": self.softmax,
            "BatchNormalization": self.norm("batch_norm"),
            "LayerNormalization": self.norm("layer_norm"),
            "GroupNormalization": self.norm("group_norm"),
            "Dropout": self.dropout,
            "Add": self.add,
            "ZeroPadding2D": self.zero_padding,
            "Rescaling": self.rescaling,
            "Normalization": self.normalization,
            "RandomFlip": self.random,
            "RandomRotation": self.random,
            **dict.fromkeys(UNLIKE, self.random),
            "TrueDivide": self.constant,
            "Divide": self.constant,
            "Multiply": self.constant,
            "Subtract": self.constant,
            "TFOpLambda": self.constant,
            "GetItem": self.get_item,
            "Stack": self.stack,
            "Identity": self.nothing,
        }.get(kind, self.unknown)

    def input(self, node):
        shape = node.config.get("batch_shape", node.config.get("batch_input_shape"))
        if not isinstance(shape, list) or not 2 <= len(shape) <= 4 or not all(
            one is None or is_count(one) for one in shape[1:]
        ):
            self.report.problem(
                node.place,
                "says no shape of the input" if shape is None else f"has an input of the shape {shown(shape)}",
                "dtrain takes images, and lists of numbers; call the model once before you save it",
            )
            shape = [None, None, None, 1]
        if shape[-1] is None or (len(shape) == 3 and None in shape[1:]):
            what = f"has an input of the open shape {shown(shape)}"
            self.report.problem(node.place, what, "build it with a fixed one")
            shape = [1 if one is None else one for one in shape]
        if self.input_shape is not None:
            self.report.problem(node.place, "is a second input", "dtrain's models have one")
        self.input_shape = tuple(shape[1:])
        return Value(None, self.input_shape)

    def convert(self, nodes, output):
        """The value of the output. The entries are then the layers, in order and with names."""
        heads = set()  # layers whose input is the model's input
        for node in nodes:
            if node.kind == "InputLayer":
                self.values[node] = self.input(node)
                continue
            values = [self.values[one] for one in node.inputs if one is not None]
            if not values:
                self.report.problem(node.place, "has no input")
                values = [Value(None, (None, None, 1))]
            if any(value.activation == "softmax" for value in values):
                self.report.problem(node.place, "follows a softmax", "dtrain has it in the loss, after all layers")
            if any(value.channel is not None for value in values) and node.kind != "Stack":
                self.report.problem(node.place, "takes one channel of the input", "dtrain's layers take all")
            if len(values) > 1 and node.kind not in ("Add", "Stack"):
                self.values[node] = self.unknown(node, values)
                continue
            before = len(self.entries)
            self.values[node] = self.function_of(node.kind)(node, values)
            if any(entry.variables for entry in self.entries[before:]):
                self.note_type(node)
            if any(entry.source is None for entry in self.entries[before:]):
                heads.add(node)
        if len(heads) > 1:
            self.input_again(sorted(heads, key=nodes.index)[1])
        value = self.values[output]
        self.unpadded(output, value)
        self.name_entries()
        return value

    def note_type(self, node):
        policy = node.config.get("dtype", "float32")
        if isinstance(policy, dict):
            inner = policy.get("config")
            policy = inner.get("name") if isinstance(inner, dict) else None
        if isinstance(policy, str):
            self.types.setdefault(policy, node.place)

    def name_entries(self):
        """Names for all layers with variables, and for those that others name."""
        named = {id(entry.fields.get("with")) for entry in self.entries}
        for before, entry in zip([None, *self.entries], self.entries):
            if entry.source is not None and entry.source is not before:
                named.add(id(entry.source))
        taken = set()
        for entry in self.entries:
            if not entry.variables and id(entry) not in named:
                continue
            name = re.sub(r"[^A-Za-z0-9_]", "_", entry.node.name)[:50]
            name = name if name[0].isalpha() else "layer_" + name
            automatic = re.fullmatch(r"([a-z]+(?:2d)?(?:_[a-z]+2?d?)*?)(_\d+)?", name)
            if automatic and automatic[1] in KINDS and automatic[1] != entry.kind:
                name += "_keras"  # dtrain gives such names to layers without one
            unique, number = name, 1
            while unique in taken:
                number += 1
                unique = f"{name}_part{number}"
            taken.add(unique)
            entry.name = unique
