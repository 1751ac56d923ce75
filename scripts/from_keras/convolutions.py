"""Convolutions, dense layers and pools."""

import dataclasses

from problems import Fields, is_count
from values import Base, Value, Variable, PADDING_ADVICE


class Convolutions(Base):
    def conv2d(self, node, values):
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.check_training(fields)
        fields.only("dilation_rate", [[1, 1], 1], "dtrain's kernels are not dilated")
        height, width, channels = self.images(fields, value)
        filters, groups = fields.count("filters", 1), fields.count("groups", 1)
        kernel, stride = fields.square("kernel_size", 1), fields.square("strides", 1)
        padding, out = self.padding(fields, value, kernel, stride)
        entry = self.convolution(node, value, filters, kernel, stride, padding, groups)
        if channels % groups or filters % groups:
            fields.wrong("groups", "a divisor of the channels and the filters")
            groups = 1
        shape = (kernel, kernel, channels // groups, filters)
        entry.variables["weight"] = Variable(node, "kernel", 0, shape, "conv")
        self.add_bias(entry, fields, node, 1, filters)
        self.initializer(fields, "kernel_initializer", entry)
        return Value(entry, (*out, filters), activation=self.activate(node, fields, entry))

    def convolution(self, node, value, filters, kernel, stride=1, padding="valid", groups=1):
        entry = self.entry("conv2d", node, value, filters=filters, kernel_size=kernel)
        for name, number, usual in (("stride", stride, 1), ("padding", padding, "valid"), ("groups", groups, 1)):
            if number != usual:
                entry.fields[name] = number
        return entry

    def depthwise(self, node, values):
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.check_training(fields, ("depthwise", "kernel"))
        entry, out, filters = self.per_channel(node, fields, value)
        entry.variables["weight"] = self.depthwise_kernel(node, value, entry, "kernel")
        self.add_bias(entry, fields, node, 1, filters)
        return Value(entry, (*out, filters), activation=self.activate(node, fields, entry))

    def per_channel(self, node, fields, value):
        """A convolution with a kernel of its own for each channel."""
        fields.only("dilation_rate", [[1, 1], 1], "dtrain's kernels are not dilated")
        channels = self.images(fields, value)[2]
        filters = channels * fields.count("depth_multiplier", 1, 1, 1000)
        kernel, stride = fields.square("kernel_size", 1), fields.square("strides", 1)
        padding, out = self.padding(fields, value, kernel, stride)
        return self.convolution(node, value, filters, kernel, stride, padding, channels), out, filters

    def depthwise_kernel(self, node, value, entry, name):
        channels, kernel = value.shape[-1], entry.fields["kernel_size"]
        shape = (kernel, kernel, channels, entry.fields["filters"] // channels)
        return Variable(node, name, 0, shape, "depthwise")

    def separable(self, node, values):
        """The convolution of each channel, without a bias, and then one of pixels."""
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.check_training(fields, ("depthwise", "pointwise"))
        first, out, middle = self.per_channel(node, fields, value)
        first.fields["use_bias"] = False
        first.variables["weight"] = self.depthwise_kernel(node, value, first, "depthwise_kernel")
        filters = fields.count("filters", 1)
        second = self.convolution(node, Value(first, (*out, middle)), filters, 1)
        second.variables["weight"] = Variable(node, "pointwise_kernel", 1, (1, 1, middle, filters), "conv")
        self.add_bias(second, fields, node, 2, filters)
        return Value(second, (*out, filters), activation=self.activate(node, fields, second))

    def dense(self, node, values):
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.check_training(fields)
        self.unpadded(node, value)
        units, inputs = fields.count("units", 1), value.shape[-1]
        if len(value.shape) == 3:  # of each pixel
            entry = self.convolution(node, value, units, 1)
            entry.variables["weight"] = Variable(node, "kernel", 0, (inputs, units), "pixel")
        else:
            if len(value.shape) != 1:
                self.report.problem(node.place, f"gets {self.size(value.shape)}", "add a Flatten before it")
            entry = self.entry("dense", node, value, units=units)
            entry.variables["weight"] = Variable(node, "kernel", 0, (inputs, units), "dense", value.maps)
        self.add_bias(entry, fields, node, 1, units)
        self.initializer(fields, "kernel_initializer", entry)
        return Value(entry, (*value.shape[:-1], units), activation=self.activate(node, fields, entry))

    def pool(self, kind):
        def convert(node, values):
            (value,) = values
            fields = Fields(node.config, node.place, self.report)
            channels = self.images(fields, value)[2]
            size = fields.square("pool_size", 2)
            stride = fields.square("strides", size)
            if value.padding and kind == "avg_pool2d":
                self.unpadded(node, value)
            elif value.padding and value.activation not in ("relu", "relu6", "sigmoid"):
                self.report.problem(
                    node.place,
                    "takes the largest of padded zeros and of numbers that may be negative",
                    "dtrain's max_pool2d never takes its padding: pool what a relu puts out",
                )
            padding, out = self.padding(fields, value, size, stride)
            entry = self.entry(kind, node, value, pool_size=size)
            if stride != size:
                entry.fields["stride"] = stride
            if padding != "valid":
                entry.fields["padding"] = padding
            return Value(entry, (*out, channels), activation=value.activation)

        return convert

    def global_average(self, node, values):
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.unpadded(node, value)
        channels = self.images(fields, value)[2]
        if fields.boolean("keepdims", False):
            entry = self.entry("adaptive_avg_pool2d", node, value, output_size=1)
            return Value(entry, (1, 1, channels))
        return Value(self.entry("global_avg_pool2d", node, value), (channels,))

    def global_maximum(self, node, values):
        (value,) = values
        fields = Fields(node.config, node.place, self.report)
        self.unpadded(node, value)
        height, width, channels = self.images(fields, value)
        if height is None or height != width:
            maps = self.size(value.shape[:2])
            self.report.problem(node.place, f"gets maps of {maps}", "build the model with a square input")
            height = 1
        entry = self.entry("max_pool2d", node, value, pool_size=height)
        if fields.boolean("keepdims", False):
            return Value(entry, (1, 1, channels))
        return Value(self.entry("flatten", node, Value(entry, (1, 1, channels))), (channels,))

    def zero_padding(self, node, values):
        (value,) = values
        self.unpadded(node, value)
        fields = Fields(node.config, node.place, self.report)
        height, width, channels = self.images(fields, value)
        amounts = fields.raw("padding", 1)
        amounts = amounts if isinstance(amounts, list) else [amounts, amounts]
        flat = [side for one in amounts for side in (one if isinstance(one, list) and len(one) == 2 else [one, one])]
        if len(flat) != 4 or not all(is_count(one, 0, 4096) for one in flat):
            fields.wrong("padding", "a number, two, or two pairs")
            return value
        if not any(flat):
            return value
        shape = (
            None if height is None else height + flat[0] + flat[1],
            None if width is None else width + flat[2] + flat[3],
            channels,
        )
        return dataclasses.replace(value, shape=shape, padding=tuple(flat))
