"""The layers of a Keras model as a list in which each comes after its inputs; models within models are dissolved."""

from problems import Refusal, is_number, printable, shown

MOST_LAYERS, MOST_MODELS = 5000, 16
SEQUENTIAL, FUNCTIONAL = {"Sequential"}, {"Functional", "Model"}
SEVERAL_CALLS = "build a layer for each call: dtrain's layers share no weights"


class Node:
    """A layer. `path` says where its variables are: the models it is in, from the outermost, and it itself, each as
    (class, name, how many of this class are before it in its model)."""

    def __init__(self, entry, path, report):
        self.kind, self.name, self.path = entry["class_name"].rpartition(">")[2], entry["name"], path
        self.config = entry["config"]
        self.place = f"layer '{self.name}' ({self.kind})"
        self.inputs = []  # nodes
        self.constants = []
        self.kept_in_inference = False  # called with training=False, which Keras 2 obeys
        self.report = report

    def __repr__(self):
        return self.place


def entries_of(config, place):
    layers = config.get("layers") if isinstance(config, dict) else None
    if not isinstance(layers, list):
        raise Refusal(f"{place} has no list of layers")
    if len(layers) > MOST_LAYERS:
        raise Refusal(f"{place} has more than {MOST_LAYERS:,} layers")
    found, ordinals = [], {}
    for number, entry in enumerate(layers):
        kind = entry.get("class_name") if isinstance(entry, dict) else None
        if not isinstance(kind, str) or not 0 < len(kind) <= 200 or not kind.isprintable():
            raise Refusal(f"layer {number} of {place} has no class_name")
        inner = entry.get("config")
        if not isinstance(inner, dict):
            raise Refusal(f"layer {number} of {place} has no config")
        name = entry.get("name", inner.get("name"))
        if not isinstance(name, str) or not 0 < len(name) <= 200 or not name.isprintable():
            raise Refusal(f"layer {number} of {place} has no name")
        ordinal = ordinals[kind] = ordinals.get(kind, -1) + 1
        found.append({**entry, "config": inner, "name": name, "ordinal": ordinal})
    names = [entry["name"] for entry in found]
    if len(set(names)) < len(names):
        raise Refusal(f"two layers of {place} have the same name")
    return found


def history(reference, place):
    """The name in ["dense", 0, 0], of whose three parts dtrain's layers need only the first."""
    if not isinstance(reference, list) or len(reference) < 3 or not isinstance(reference[0], str):
        raise Refusal(f"{place} has the wrong input {shown(reference)}")
    if reference[2] != 0:
        raise Refusal(f"{place} takes the second output of '{reference[0]}', which has no counterpart")
    return reference[0]


def several(references):
    """[["dense", 0, 0]] for ["dense", 0, 0], as the inputs and outputs of a model of one each are written."""
    if isinstance(references, dict):
        references = list(references.values())
    if isinstance(references, list) and references and isinstance(references[0], str):
        return [references]
    return references if isinstance(references, list) else []


def arguments_of(call, place):
    """(names of the inputs, constants, keyword arguments) of a call, as Keras 3 or Keras 2 writes it."""
    names, constants, keywords = [], [], {}
    if isinstance(call, dict):
        todo = list(reversed(call.get("args") if isinstance(call.get("args"), list) else []))
        keywords = call.get("kwargs") if isinstance(call.get("kwargs"), dict) else {}
        while todo:
            one = todo.pop()
            if isinstance(one, dict) and one.get("class_name") == "__keras_tensor__":
                inner = one.get("config")
                names.append(history(inner.get("keras_history") if isinstance(inner, dict) else None, place))
            elif isinstance(one, list):
                todo += reversed(one)
            else:
                constants.append(one)
        return names, constants, {name: value for name, value in keywords.items() if name != "training"}
    if isinstance(call, list):
        for reference in several(call):
            names.append(history(reference, place))
            if len(reference) > 3 and isinstance(reference[3], dict):
                keywords.update(reference[3])
                constants += [reference[3][name] for name in ("y", "value") if is_number(reference[3].get(name))]
    return names, constants, keywords


class Builder:
    def __init__(self, report):
        self.report, self.models, self.nodes = report, 0, []

    def add(self, node):
        if len(self.nodes) >= MOST_LAYERS:
            raise Refusal(f"it has more than {MOST_LAYERS:,} layers")
        self.nodes.append(node)
        return node

    def inner(self, entry, path, inputs, inference):
        """What the entry computes: a layer, or the last layer of a model within the model."""
        kind = entry["class_name"].rpartition(">")[2]
        path = (*path, (kind, entry["name"], entry["ordinal"]))
        if kind in SEQUENTIAL | FUNCTIONAL:
            if len(inputs) > 1:
                self.report.problem(f"model '{entry['name']}'", "has several inputs", "dtrain's models have one")
            return self.model(kind, entry["config"], entry["name"], path, inputs[0] if inputs else None, inference)
        node = Node(entry, path, self.report)
        node.inputs, node.kept_in_inference = inputs, inference
        return self.add(node)

    def model(self, kind, config, name, path, source, inference=False):
        self.models += 1
        if self.models > MOST_MODELS:
            raise Refusal(f"it has more than {MOST_MODELS} models within models")
        entries = entries_of(config, f"model '{name}'")
        if kind in SEQUENTIAL:
            for entry in entries:
                if entry["class_name"] == "InputLayer" and source is not None:
                    continue
                source = self.inner(entry, path, [source] if source is not None else [], inference)
            return source
        return self.functional(config, entries, name, path, source, inference)

    def functional(self, config, entries, name, path, source, inference):
        place = f"model '{name}'"
        starts, ends = several(config.get("input_layers")), several(config.get("output_layers"))
        for what, found in (("inputs", starts), ("outputs", ends)):
            if len(found) != 1:
                self.report.problem(place, f"has {len(found)} {what}", "dtrain's models have one")
        if not ends:
            raise Refusal(f"{place} has no output")
        by_name = {entry["name"]: entry for entry in entries}
        done, under_way = {}, set()
        todo = [history(ends[0], place)]
        while todo:  # depth first, so that the layers of a branch stay together
            current = todo[-1]
            if current in done:
                todo.pop()
                continue
            if current not in by_name:
                raise Refusal(f"{place} has no layer '{shown(current)}', which another one names as its input")
            entry = by_name[current]
            calls = entry.get("inbound_nodes")
            calls = calls if isinstance(calls, list) else []
            where = f"layer '{current}' ({entry['class_name'][:60]})"
            if len(calls) > 1:
                self.report.problem(where, f"is called {len(calls)} times", SEVERAL_CALLS)
            names, constants, keywords = arguments_of(calls[0], where) if calls else ([], [], {})
            missing = [one for one in names if one not in done]
            if missing:
                if current in under_way:
                    raise Refusal(f"{where} is its own input")
                under_way.add(current)
                todo += reversed(missing)
                continue
            if entry["class_name"] == "InputLayer" and source is not None:
                done[current] = source
                continue
            still = inference or keywords.get("training") is False
            node = self.inner(entry, path, [done[one] for one in names], still)
            if node is not None:
                node.constants = node.constants or constants
            done[current] = node
        return done[history(ends[0], place)]


def read(config, report):
    """(nodes, the one with the output)"""
    kind = config.get("class_name")
    kind = kind.rpartition(">")[2] if isinstance(kind, str) else shown(kind)
    inner = config.get("config")
    if kind not in SEQUENTIAL | FUNCTIONAL:
        raise Refusal(
            f"its model is of the class {printable(kind[:100])}; only Sequential and functional models list their layers."
            " Build it as one of these, copy the weights (new.set_weights(old.get_weights())), and save that"
        )
    name = inner.get("name") if isinstance(inner, dict) else None
    name = name if isinstance(name, str) and name.isprintable() and len(name) <= 200 else "model"
    builder = Builder(report)
    source = None
    if kind in SEQUENTIAL:
        source = implied_input(config, inner, builder, report)
    output = builder.model(kind, inner, name, (), source)
    if output is None or not builder.nodes:
        raise Refusal("its model has no layers")
    return builder.nodes, output, f"{kind} '{name}'"


def implied_input(config, inner, builder, report):
    """An InputLayer for a Sequential model whose first layer says the shape, or that was built by its first batch."""
    layers = inner.get("layers") if isinstance(inner, dict) else None
    if not isinstance(layers, list) or not layers or not isinstance(layers[0], dict):
        return None
    kind = str(layers[0].get("class_name"))
    if kind == "InputLayer":
        return None
    first, built = layers[0].get("config"), config.get("build_config")
    shapes = [
        first.get("batch_input_shape") if isinstance(first, dict) else None,
        first.get("batch_shape") if isinstance(first, dict) else None,
        inner.get("build_input_shape"),
        built.get("input_shape") if isinstance(built, dict) else None,
    ]
    if kind in SEQUENTIAL | FUNCTIONAL:
        shapes += [entry["config"].get("batch_shape") for entry in entries_of(first, "the first model")[:1]]
    shape = next((one for one in shapes if isinstance(one, list)), None)
    entry = {"class_name": "InputLayer", "name": "input", "config": {"batch_shape": shape}}
    return builder.add(Node(entry, (), report))
