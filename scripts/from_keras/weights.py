"""The variables of dtrain's layers from the HDF5 file of a Keras model. Needs h5py and numpy."""

import re

import h5py
import numpy

from problems import Refusal

MOST_GROUPS = 200_000
FAILURES = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)  # of h5py with a damaged file
OLD_NAMES = {"kernel": ("depthwise_kernel",)}  # of DepthwiseConv2D in Keras 2


def snake_case(kind):
    """The name of the group that Keras makes for a layer of this class."""
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", re.sub(r"\W+", "", kind))
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def inside(group, name):
    """What the group has under this name in the file itself: a link to another file is not followed."""
    link = group.get(name, getlink=True) if isinstance(group, h5py.Group) else None
    if link is None:
        return None
    if not isinstance(link, h5py.HardLink):
        raise Refusal(f"its weights have a link, {group.name}/{name}, which is not followed")
    return group[name]


def variables_of(group):
    return inside(group, "vars")


class ArchiveIndex:
    """Finds variables in model.weights.h5 of a .keras archive, where layers are numbered by class."""

    def __init__(self, file):
        self.file = file

    def group(self, node):
        group = self.file
        for kind, name, ordinal in node.path:
            group = self.child(group, snake_case(kind), name, ordinal)
            if group is None:
                return None
        return group

    def child(self, group, kind, name, ordinal):
        for container in ("layers", "_layer_checkpoint_dependencies"):  # Keras 3, Keras 2
            children = inside(group, container)
            if isinstance(children, h5py.Group):
                break
        else:
            return None
        exact = inside(children, kind if ordinal == 0 else f"{kind}_{ordinal}")
        if exact is not None:
            variables = variables_of(exact)
            own_name = variables.attrs.get("name", name) if variables is not None else name
            if container == "layers" and own_name == name:
                return exact
        # Keras 2 counts some layers twice: of those with variables it is the one with this number.
        numbered = {}
        for one in children:
            match = re.fullmatch(rf"{re.escape(kind)}(?:_(\d{{1,6}}))?", one)
            if match and has_variables(inside(children, one)):
                numbered[int(match[1] or 0)] = one
        ordered = [numbered[number] for number in sorted(numbered)]
        return inside(children, ordered[ordinal]) if ordinal < len(ordered) else None

    def find(self, node, name, index):
        variables = variables_of(self.group(node))
        return inside(variables, str(index)) if variables is not None else None


def has_variables(group):
    variables = variables_of(group)
    if variables is not None and len(variables) > 0:
        return True
    return any(inside(group, one) is not None for one in ("layers", "_layer_checkpoint_dependencies"))


class NamedIndex:
    """Finds variables in an .h5 file, where they have names: model_weights/dense/.../dense/kernel."""

    def __init__(self, file):
        self.root = inside(file, "model_weights") or file
        self.known = {}

    def names(self, top):
        """{(layer, variable): dataset} below the group of a layer of the outermost model."""
        if top in self.known:
            return self.known[top]
        found, seen = {}, 0
        group = self.root
        for part in top.split("/"):
            group = inside(group, part)
        todo = [(group, (top,))]
        while todo:
            group, path = todo.pop()
            if not isinstance(group, h5py.Group):
                continue
            for name in group:
                seen += 1
                if seen > MOST_GROUPS:
                    raise Refusal("its weights have too many groups")
                item = inside(group, name)
                if isinstance(item, h5py.Dataset):
                    place = (path[-1].rpartition("/")[2], name.partition(":")[0])
                    found[place] = None if place in found else item  # None: two have this name
                elif len(path) < 40:
                    todo.append((item, (*path, name)))
        self.known[top] = found
        return found

    def find(self, node, name, index):
        found = self.names(node.path[0][1])
        leaf = node.name.rpartition("/")[2]
        return next((found[leaf, one] for one in (name, *OLD_NAMES.get(name, ())) if (leaf, one) in found), None)


class Weights:
    def __init__(self, path, is_archive):
        try:
            self.file = h5py.File(path, "r")
            self.index = ArchiveIndex(self.file) if is_archive else NamedIndex(self.file)
        except FAILURES as error:
            raise Refusal(f"its weights are damaged: {error}") from error

    def numbers(self, node, name, index, shape):
        """The numbers of a variable, which must have this shape; None: any."""
        what = f"{node.place}: {name}"
        try:
            dataset = self.index.find(node, name, index)
            if not isinstance(dataset, h5py.Dataset):
                raise Refusal(f"{what} is not in the file, or not once")
            if shape is not None and dataset.shape != tuple(shape):
                raise Refusal(f"{what} is {list(dataset.shape)} and not {list(shape)}, as its layer says")
            if dataset.dtype.kind != "f":
                raise Refusal(f"{what} holds {dataset.dtype}, and no floating-point numbers")
            if dataset.is_virtual or dataset.external:
                raise Refusal(f"{what} is in another file")
            if dataset.chunks is None and dataset.id.get_storage_size() < dataset.nbytes:
                raise Refusal(f"{what} is not whole: the file is cut off")
            if dataset.nbytes > max(1 << 24, 100 * dataset.id.get_storage_size()):
                raise Refusal(f"{what} would grow to {dataset.nbytes:,} bytes")
            values = dataset[()]
        except FAILURES as error:
            raise Refusal(f"{what} cannot be read: {error}") from error
        values = numpy.asarray(values)
        if not numpy.isfinite(values).all():
            raise Refusal(f"{what} has numbers that are not finite")
        return values


def turned(variable, values):
    """The numbers in the order that dtrain has: outputs first, and channels before height and width."""
    if variable.turn == "conv":
        return values.transpose(3, 2, 0, 1)
    if variable.turn == "depthwise":
        height, width, channels, multiplier = values.shape
        return values.transpose(2, 3, 0, 1).reshape(channels * multiplier, 1, height, width)
    if variable.turn == "pixel":
        return values.T[:, :, None, None]
    if variable.maps:
        rest = values.shape[1:]
        axes = (2, 0, 1, *range(3, 3 + len(rest)))
        values = values.reshape(*variable.maps, *rest).transpose(axes).reshape(-1, *rest)
    return values.T if variable.turn == "dense" else values


def tensors_of(entries, weights, dtype, bgr):
    """{dtrain's name: numbers}"""
    tensors = {}
    for entry in entries:
        for suffix, variable in entry.variables.items():
            values = weights.numbers(variable.node, variable.keras, variable.index, variable.shape)
            if suffix == "running_var" and values.min() < 0:
                raise Refusal(f"{variable.node.place}: {variable.keras} has negative variances")
            values = turned(variable, values)
            if bgr and entry.source is None and suffix == "weight":
                values = values[:, ::-1]
            tensors[f"{entry.name}.{suffix}"] = numpy.ascontiguousarray(values, dtype)
    return tensors
