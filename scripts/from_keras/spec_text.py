"""Writes the spec, with comments on what it takes over and on what the file does not say."""

import json
import re
import textwrap

from problems import printable

COLUMNS = 112
FILL_IN = "FILL IN: "


def number(value):
    """A number as YAML has it: 1.0e-07, as a number without a point is a text to many readers."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(number, value))}]"
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}" if e else text


def path(text):
    """A path as YAML has it; dtrain replaces ${NAME} in it, but not $${NAME}."""
    if re.fullmatch(r"[A-Za-z0-9_./-]+", text):
        return text
    return json.dumps(text.replace("${", "$${"), ensure_ascii=False)


def flow(fields):
    return "{" + ", ".join(f"{name}: {number(value)}" for name, value in fields.items()) + "}"


def wrapped(text, columns, first, others):
    kept = printable(text).replace(": ", ":\0")  # a name stays with its value
    lines = textwrap.wrap(kept, columns, initial_indent=first, subsequent_indent=others, break_long_words=False,
                          break_on_hyphens=False)  # fmt: skip
    return [one.replace(":\0", ": ") for one in lines]


def comment(text, indent=""):
    return wrapped(text, COLUMNS, f"{indent}# ", f"{indent}# ")


def job_name(stem):
    name = re.sub(r"[^A-Za-z0-9._-]", "_", stem)[:80].lstrip("._-")
    return name or "job"


def layer_line(entry, before):
    fields = {"kind": entry.kind}
    fields |= {name: value.name if name == "with" else value for name, value in entry.fields.items()}
    if entry.name:
        fields["name"] = entry.name
    if entry.source is not None and entry.source is not before:
        fields["from"] = entry.source.name
    return f"    - {flow(fields)}"


def data_lines(data, network, steps, scaling_text, augment):
    lines = ["data:"]
    if data.dataset in ("mnist", "cifar10", "cifar100"):
        say = (
            f"the input and the {data.units} outputs fit {data.dataset} (scripts/fetch_dataset {data.dataset}); name"
            " your own data instead if the model is for other pictures (docs/data.md)"
        )
        lines += comment(FILL_IN + say, "  ") + [f"  dataset: {data.dataset}"]
    elif data.dataset == "image_folder":
        say = (
            f"a folder with a folder of pictures for each of the {data.classes} classes, in the order of the model's"
            " outputs (docs/data.md)"
        )
        lines += comment(FILL_IN + say, "  ") + ["  dataset: image_folder", "  path: pictures"]
        lines += [f"  classes: {data.classes}"]
        lines += ["  split: {test: 0.2}            # the part to evaluate on, unless the folder has train/ and test/"]
    else:
        shape = " x ".join(map(str, [data.channels, *data.size])) if data.has_pixels else f"{data.units_in} numbers"
        numbers = "1 number" if data.units == 1 else f"{data.units} numbers"
        what = "its class, counted from 0" if data.classes else numbers
        say = (
            f"an .npz file with x_train (of each example {shape}), y_train (of each {what}), x_test and y_test; or a"
            " table, with dataset: csv (docs/tables.md)"
        )
        if data.has_pixels:
            say += ". dtrain has channels before height and width; unsigned bytes become 0 to 1, other numbers stay"
        lines += comment(FILL_IN + say, "  ") + ["  dataset: arrays", "  path: data.npz"]
        lines += [f"  classes: {data.classes}"] if data.classes else []
    image = {}
    if data.dataset == "image_folder":
        image["size"] = f"[{data.size[0]}, {data.size[1]}]"
        if data.channels == 1:
            image["channels"] = 1
    lines += pixel_lines(data, network, steps, scaling_text, image)
    if augment:
        lines += [f"  augment: [{', '.join(augment)}]"]
    return lines


def pixel_lines(data, network, steps, scaling_text, image):
    if not data.has_pixels or data.classes is None:
        return []
    if scaling_text:
        image |= {"mean": scaling_text[0], "standard_deviation": scaling_text[1]}
    if steps:
        say = "pixels come as 0 to 1 here. The model scaled them in its first layers, which this replaces"
    elif scaling_text:
        say = (
            FILL_IN + f"pixels come as 0 to 1 here; this does what preprocess_input of {network} does. If you gave the"
            " model other pixels, such as x / 255, change it; for blue, green and red in another order, see --channels"
        )
    else:
        say = (
            FILL_IN + "pixels come as 0 to 1, as after x / 255 in Keras. If you gave the model pixels from 0 to 255,"
            " write image: {mean: 0, standard_deviation: 0.003921568627}; after x / 127.5 - 1, {mean: 0.5,"
            " standard_deviation: 0.5}"
        )
    lines = comment(say, "  ")
    if image:
        lines.append("  image: {" + ", ".join(f"{name}: {value}" for name, value in image.items()) + "}")
    return lines


def train_lines(training, frozen):
    """The sections train and, if layers are frozen, phases."""
    lines = ["train:"]
    if not frozen:
        lines += ["  epochs: 5                     # FILL IN: fit's epochs, which the file does not have"]
    loss = {"kind": training.loss, **training.loss_fields} if training.loss_fields else None
    lines += [f"  loss: {flow(loss) if loss else training.loss}"]
    optimizer = {name: value for name, value in training.optimizer.items()}
    lines += [f"  optimizer: {flow(optimizer)}"]
    if training.schedule and not frozen:
        lines += [f"  schedule: {flow(training.schedule)}"]
    for name, value in training.fields.items():
        lines += [f"  {name}: {flow(value) if isinstance(value, dict) else number(value)}"]
    if frozen:
        lines += ["", *phase_lines(training, frozen)]
    return lines


def phase_lines(training, trained):
    lines = comment(
        "Layers that are not trainable in Keras stay as they are, and so do their moving statistics (docs/transfer.md)."
        " " + FILL_IN + "fit's epochs; and perhaps a second phase with trainable: all and a smaller learning_rate"
    )
    fields = {"epochs": 5}
    if training.schedule:
        schedule = dict(training.schedule)
        fields |= {"schedule": schedule.pop("kind"), **schedule}
    lines += ["phases:", "  - " + "\n    ".join(f"{name}: {number(value)}" for name, value in fields.items())]
    names = wrapped(", ".join(trained) + "]", COLUMNS, "    trainable: [", " " * 16)
    return lines + names


def write(job):
    """The text of the spec; `job` has what convert.py found."""
    lines = comment(
        f"Made by scripts/convert_weights from {job.file.name} (Keras {job.version}, {job.title},"
        f" {job.parameters:,} parameters)."
    )
    if job.network:
        say = f"Its layers are those of keras.applications.{job.network}."
        if job.network in ("ResNet50", "ResNet101"):
            say += (
                f" Shorter, with other momenta and the convolutions' biases made part of the normalisations, is model:"
                f" {{kind: resnet, depth: {job.network[6:]}, bottleneck_stride: first}}, with the weights that"
                " scripts/convert_weights FILE OUT.safetensors writes (docs/models.md)."
            )
        lines += comment(say)
    lines += comment(
        "It trains as it is: dtrain run SPEC. First read the lines with FILL IN: they are about what the file does not"
        " say. dtrain plan SPEC shows the layers and every number, docs/phrasebook.md the words of Keras and of dtrain."
    )
    for note in job.report.notes:
        lines += comment(f"- {note}.")
    lines += [f"name: {job_name(job.spec.stem)}", "seed: 42", "", "strategy:"]
    lines += comment("all GPUs, or all cores, of this host; other strategies: docs/strategies.md", "  ")
    lines += ["  kind: mirrored", ""]
    lines += data_lines(job.data, job.network, job.steps, job.scaling_text, job.augment)
    lines += ["", "batch:"]
    passes = job.training.accumulate or 1
    say = "fit's batch_size" + (f" x {passes}, as an update takes {passes} batches" if passes > 1 else "")
    lines += comment(FILL_IN + say + "; of all replicas together. Keras' batch_size is 32 by default", "  ")
    lines += [f"  global: {32 * passes}"]
    if passes > 1:
        lines += [f"  accumulate_steps: {passes}"]
    lines += ["", "model:", "  kind: layers"]
    if job.dtype == "float64":
        lines += ["  dtype: float64"]
    lines += [f"  weights: {path(job.weights_path)}"]
    lines += ["  # Remove the line above to train from initial weights.", "  layers:"]
    if job.data.flat_first:
        lines += ["    - {kind: flatten}  # mnist has 28 x 28 pixels"]
    before = None
    for entry in job.entries:
        lines += wrapped(layer_line(entry, before), COLUMNS + 4, "", " " * 7)
        before = entry
    lines += [*loss_comment(job), *train_lines(job.training, job.trained)]
    lines += ["", "checkpoint: {every_epochs: 1}"]
    return "\n".join(lines) + "\n"


def loss_comment(job):
    lines = [""]
    training = job.training
    last = {"cross_entropy": "softmax", "binary_cross_entropy": "sigmoid"}.get(training.loss)
    if last:
        lines += comment(f"The loss has the {last}, so that the last layer has none (as with from_logits=True).")
    if training.loss == "cross_entropy":
        lines += comment("Targets are classes, counted from 0, and no one-hot vectors.")
    if not training.compiled:
        lines += comment(
            FILL_IN + "the model was not compiled when it was saved: loss and optimizer are those that fit its outputs."
        )
    if training.metrics:
        said = ", ".join(dict.fromkeys(f"{theirs} as {ours}" for theirs, ours in training.metrics))
        lines += comment(f"Evaluations always have all metrics of the loss; of the model's: {said}.")
    return lines
