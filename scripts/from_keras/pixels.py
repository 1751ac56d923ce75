"""The data section: a dataset that fits the model's input, and the scaling that it needs."""

import math

from problems import Fields, is_number

CAFFE = ([123.68, 116.779, 103.939], [1.0, 1.0, 1.0])  # preprocess_input takes these means away
HALVES = ([127.5] * 3, [127.5] * 3)  # and these make -1 to 1
NETWORKS = {  # of keras.applications: names of layers that it has, that it has not, and what preprocess_input does
    "ResNet50": ("conv4_block6_out conv5_block3_out conv1_conv", "conv4_block7_out", CAFFE),
    "ResNet101": ("conv4_block23_out conv5_block3_out conv1_conv", "conv4_block24_out", CAFFE),
    "ResNet152": ("conv4_block36_out conv3_block8_out conv1_conv", "", CAFFE),
    "VGG16": ("block1_conv1 block5_conv3", "block5_conv4", CAFFE),
    "VGG19": ("block1_conv1 block5_conv4", "", CAFFE),
    "MobileNetV2": ("Conv1 bn_Conv1 block_16_project_BN", "", HALVES),
}


def network_of(nodes):
    """The name of the network of keras.applications that these layers are, or are from."""
    names = {node.name for node in nodes}
    for network, (has, has_not, _) in NETWORKS.items():
        if names.issuperset(has.split()) and names.isdisjoint(has_not.split()):
            return network
    return None


class Data:
    """What the spec says about the data."""

    def __init__(self, shape, training, output, report):
        units = output.shape[-1] if output.shape else None
        classes = {"cross_entropy": units, "binary_cross_entropy": 2 if units == 1 else None}.get(training.loss)
        channels = shape[2] if len(shape) == 3 else 1 if len(shape) == 2 else None
        size = tuple(shape[:2]) if channels else None
        self.flat_first = tuple(shape) == (784,) and classes == units == 10
        self.size, self.channels, self.classes, self.units = size, channels, classes, units
        if self.flat_first or (size == (28, 28) and channels == 1 and units == 10 and classes == 10):
            self.dataset, self.size, self.channels = "mnist", (28, 28), 1
        elif size == (32, 32) and channels == 3 and classes == units and units in (10, 100):
            self.dataset = f"cifar{units}"
        elif channels in (1, 3) and classes:
            self.dataset = "image_folder"
        else:
            self.dataset = "arrays"
        if self.channels and len(shape) == 2 and self.dataset == "arrays" and None in shape:
            report.problem("the model's input", "has an open shape")

    @property
    def has_pixels(self):
        return self.channels is not None


def normalization_of(node, weights, channels, report):
    """(means, variances) of a layer of Keras that normalises, of each channel."""
    fields = Fields(node.config, node.place, report)
    found = []
    for index, name in enumerate(("mean", "variance")):
        values = fields.raw(name)
        if values is None and weights is not None:
            values = weights.numbers(node, name, index, None).reshape(-1).tolist()
        values = [1.0] if values is None else values
        while isinstance(values, list) and len(values) == 1 and isinstance(values[0], list):
            values = values[0]
        values = values if isinstance(values, list) else [values]
        values = values * channels if len(values) == 1 else values
        if len(values) != channels or not all(map(is_number, values)) or (index == 1 and min(values) < 0):
            fields.wrong(name, f"a number for each of {channels} channels")
            values = [1.0] * channels
        found.append(values)
    return found


def scaling(steps, channels, weights, report):
    """(mean, standard deviation) of each channel that make of pixels from 0 to 255 what the layers before the first
    one make of them."""
    scales, offsets = [1.0] * channels, [0.0] * channels
    for step in steps:
        if step[0] == "reverse":
            scales, offsets = scales[::-1], offsets[::-1]
            continue
        if step[0] == "affine":
            factors, terms = (one * channels if len(one) == 1 else one for one in step[1:])
            scales = [scale * factor for scale, factor in zip(scales, factors)]
            offsets = [offset * factor + term for offset, factor, term in zip(offsets, factors, terms)]
            continue
        means, variances = normalization_of(step[1], weights, channels, report)
        deviations = [max(math.sqrt(one), 1e-7) for one in variances]
        scales = [scale / one for scale, one in zip(scales, deviations)]
        offsets = [(offset - mean) / one for offset, mean, one in zip(offsets, means, deviations)]
    if not all(1e-30 < scale < 1e6 for scale in scales):
        report.problem("the layers before the first one", "scale pixels by a number that is not above 0")
        return [0.0] * channels, [1.0] * channels
    return [-offset / scale for scale, offset in zip(scales, offsets)], [1 / scale for scale in scales]


def written(values):
    """A number for data.image, or one for each channel, of values from 0 to 255."""
    numbers = [f"{value / 255 + 0.0:.10g}" for value in values]
    return numbers[0] if len(set(numbers)) == 1 else f"[{', '.join(numbers)}]"
