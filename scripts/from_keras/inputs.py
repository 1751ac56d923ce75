"""What a model of Keras does to its input before the first layer."""

import dataclasses

from problems import Fields, is_count, is_number
from values import UNLIKE, Base


def numbers_in(value):
    """The numbers of a constant: of one, or of a list with a number for each channel."""
    if isinstance(value, dict) and value.get("class_name") in ("__tensor__", "__numpy__"):
        inner = value.get("config")
        value = inner.get("value") if isinstance(inner, dict) else None
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    value = value if isinstance(value, list) else [value]
    return [float(one) for one in value] if value and all(map(is_number, value)) else []


class Inputs(Base):
    def constant(self, node, values):
        """A multiplication, division, addition or subtraction of a number."""
        (value,) = values
        function = node.config.get("function", "")
        kind = {"math.truediv": "TrueDivide", "math.subtract": "Subtract", "math.multiply": "Multiply"}.get(function)
        kind = kind or ("Add" if node.kind == "TFOpLambda" and "add" in str(function) else node.kind)
        numbers = numbers_in(node.constants[0]) if len(node.constants) == 1 else []
        if len(numbers) not in (1, value.shape[-1]) or ("Divide" in kind and 0 in numbers):
            return self.unknown(node, values)
        if kind in ("TrueDivide", "Divide"):
            step = ("affine", [1 / one for one in numbers], [0.0])
        elif kind == "Multiply":
            step = ("affine", numbers, [0.0])
        elif kind in ("Add", "Subtract"):
            step = ("affine", [1.0], [-one for one in numbers] if kind == "Subtract" else numbers)
        else:
            return self.unknown(node, values)
        return self.scale_input(node, value, step)

    def get_item(self, node, values):
        """x[..., 2], as preprocess_input takes images apart. Until they are stacked again, the value is a channel."""
        (value,) = values
        before, number = node.constants if len(node.constants) == 2 else (None, None)
        all_before = isinstance(before, dict) and before.get("class_name") == "__ellipsis__"
        if value.entry is None and value.channel is None and len(value.shape) == 3 and all_before:
            if is_count(number, -3, 2):
                return dataclasses.replace(value, channel=number % 3)
            if isinstance(number, dict) and number.get("class_name") == "__slice__":
                bounds = number.get("config")
                if bounds == {"start": None, "stop": None, "step": -1}:
                    return self.scale_input(node, value, ("reverse",))
        return self.unknown(node, values)

    def stack(self, node, values):
        channels = [value.channel for value in values]
        if channels != [2, 1, 0] or node.config.get("axis") not in (-1, 3):
            return self.unknown(node, values)
        return self.scale_input(node, dataclasses.replace(values[0], channel=None), ("reverse",))

    def scale_input(self, node, value, step):
        if value.entry is not None or value.padding:
            self.report.problem(
                node.place, "computes with numbers inside the model", "dtrain scales inputs: data.image.mean"
            )
        else:
            self.pixels.append(step)
        return value

    def rescaling(self, node, values):
        fields = Fields(node.config, node.place, self.report)
        numbers = [numbers_in(fields.raw(name, usual)) for name, usual in (("scale", 1.0), ("offset", 0.0))]
        if not all(len(one) in (1, values[0].shape[-1]) for one in numbers):
            fields.wrong("scale", "a number, or one for each channel")
            return values[0]
        step = ("affine", *numbers)
        return self.scale_input(node, values[0], step)

    def normalization(self, node, values):
        fields = Fields(node.config, node.place, self.report)
        fields.only("invert", [False])
        rank = len(values[0].shape)
        fields.only("axis", [-1, [-1], rank, [rank]], "dtrain scales channels")
        return self.scale_input(node, values[0], ("normalization", node))

    def random(self, node, values):
        """A layer that changes pictures in training alone."""
        (value,) = values
        if node.kept_in_inference:
            return value
        fields = Fields(node.config, node.place, self.report)
        if value.entry is not None:
            self.report.problem(node.place, "is inside the model", "dtrain augments pictures before it: data.augment")
            return value
        if node.kind == "RandomFlip":
            mode = fields.text("mode", "horizontal_and_vertical")
            self.augment += [
                "flip" if one == "horizontal" else "{kind: flip, direction: vertical}"
                for one in ("horizontal", "vertical")
                if one in mode
            ]
            return value
        if node.kind in UNLIKE:
            self.report.note(f"{node.place} is left out: dtrain has none; {UNLIKE[node.kind]} is like it")
            return value
        factor = fields.raw("factor")
        low, high = factor if isinstance(factor, list) and len(factor) == 2 else (factor, factor)
        low = -low if factor is low and is_number(low) else low
        if not is_number(low) or not is_number(high) or abs(low) > 0.5 or abs(high) > 0.5 or low > high:
            fields.wrong("factor", "one or two numbers from -0.5 to 0.5")
            return value
        # Keras' positive angles are counter-clockwise, as dtrain's
        degrees = f"{high * 360:g}" if low == -high else f"[{low * 360:g}, {high * 360:g}]"
        self.augment.append(f"{{kind: rotate, degrees: {degrees}}}")
        if fields.text("fill_mode", "reflect") != "constant":
            self.report.note(f"{node.place} fills new corners by {fields.text('fill_mode', 'reflect')}; data.augment's"
                             " rotate makes them black")  # fmt: skip
        return value
