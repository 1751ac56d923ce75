"""The train section of a spec from what Keras' model was compiled with."""

from problems import Fields, is_number, plain, shown
from values import activation_name

OPTIMIZERS = ("Adam", "AdamW", "SGD", "RMSprop", "Lion", "Lamb")
USUAL_OPTIMIZER = {"kind": "adam", "learning_rate": 0.001, "epsilon": 1e-7}
LOSSES = {
    "cross_entropy": ("sparsecategoricalcrossentropy", "categoricalcrossentropy"),
    "binary_cross_entropy": ("binarycrossentropy",),
    "mean_squared_error": ("meansquarederror", "mse"),
    "mean_absolute_error": ("meanabsoluteerror", "mae"),
    "huber": ("huber", "huberloss"),
    "log_cosh": ("logcosh",),
}
# Keras' metrics and dtrain's, by the loss with which dtrain has them; of losses for numbers it has the same.
NUMBERS = {
    "meansquarederror": "rmse, its root", "mse": "rmse, its root", "rootmeansquarederror": "rmse",
    "meanabsoluteerror": "mae", "mae": "mae", "r2score": "r2",
}  # fmt: skip
METRICS = {
    "cross_entropy": {
        "accuracy": "accuracy", "acc": "accuracy", "sparsecategoricalaccuracy": "accuracy",
        "categoricalaccuracy": "accuracy", "sparsecategoricalcrossentropy": "loss", "categoricalcrossentropy": "loss",
        "sparsetopkcategoricalaccuracy": "top_5_accuracy", "topkcategoricalaccuracy": "top_5_accuracy",
        "f1score": "macro_f1",
    },
    "binary_cross_entropy": {
        "accuracy": "accuracy", "acc": "accuracy", "binaryaccuracy": "accuracy", "binarycrossentropy": "loss",
        "precision": "precision", "recall": "recall", "f1score": "f1", "auc": "auc",
    },
}  # fmt: skip
USUAL_OPTIONS = {
    "k": [5], "threshold": [0.5, None], "thresholds": [0.5, None, [0.5]], "curve": ["ROC"], "top_k": [None],
    "class_id": [None], "multi_label": [False], "axis": [-1], "label_smoothing": [0, 0.0],
}  # fmt: skip


class Training:
    """The fields of `train` and of its sections; `precision` and others by their path."""

    def __init__(self, report):
        self.report = report
        self.loss, self.loss_fields = None, {}
        self.optimizer, self.schedule, self.fields = {}, {}, {}
        self.accumulate = None
        self.metrics = []  # (Keras' name, dtrain's)
        self.compiled = False


def class_and_config(value, place, report):
    """("Adam", its fields) of a configuration, or of a text, which is a name."""
    if isinstance(value, str):
        return value, Fields({}, place, report)
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        name = value["class_name"].rpartition(">")[2]
        inner = value.get("config")
        if name == "function" and isinstance(inner, str):  # mean_squared_error as a function
            return inner.rpartition(".")[2], Fields({}, place, report)
        if isinstance(inner, dict):
            return name, Fields(inner, place, report)
    report.problem(place, f"is {shown(value)}, which has no counterpart", "use a loss, metric or optimizer of Keras")
    return None, Fields({}, place, report)


def key(name):
    return name.lower().replace("_", "").replace(" ", "")


def read(compiled, output, entries, converter, report):
    """What the file says about the training; without it, what the output suggests."""
    training = Training(report)
    units = output.shape[-1] if len(output.shape) == 1 else None
    if units is None:
        report.problem(
            "the model's output",
            f"is {' x '.join(map(str, output.shape))}: feature maps without a last layer",
            "add GlobalAveragePooling2D and Dense for your classes, and save that model; or convert its weights alone",
        )
    training.compiled = isinstance(compiled, dict) and bool(compiled)
    if training.compiled:
        read_loss(training, compiled.get("loss"), output, units)
        optimizer = compiled.get("optimizer", compiled.get("optimizer_config"))
        if optimizer is None:  # Keras 3 leaves it out where the model was saved as .h5 before
            report.note("the file has no optimizer: this is adam with Keras' numbers")
            training.optimizer = dict(USUAL_OPTIMIZER)
        else:
            read_optimizer(training, optimizer)
        for name in ("metrics", "weighted_metrics"):
            read_metrics(training, compiled.get(name), f"compile, {name}")
        if compiled.get("loss_weights") not in (None, [1.0], [1], 1, 1.0):
            report.problem("compile, loss_weights", "has no counterpart", "weight classes: train.loss.class_weights")
    else:
        guess_loss(training, output, units)
        training.optimizer = dict(USUAL_OPTIMIZER)
    read_penalties(training, converter)
    read_types(training, converter)
    if len(converter.synchronized) > 1:
        report.problem(converter.synchronized[True], "is synchronized, and others are not", "dtrain has one for all")
    elif True in converter.synchronized:
        training.fields["sync_batch_norm"] = True
    end_without_activation(training, output, entries)
    return training


# The loss


def guess_loss(training, output, units):
    if output.activation == "softmax" or (units and units > 1 and output.activation is None):
        training.loss = "cross_entropy"
    elif output.activation == "sigmoid":
        training.loss = "binary_cross_entropy"
    else:
        training.loss = "mean_squared_error"


def read_loss(training, value, output, units):
    report, place = training.report, "compile, loss"
    while isinstance(value, (list, dict)) and len(value) == 1:  # for the outputs, of which there is one
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
    name, fields = class_and_config(value, place, report)
    if name is None:
        guess_loss(training, output, units)
        return
    found = [ours for ours, theirs in LOSSES.items() if key(name) in theirs]
    if not found:
        report.problem(place, f"is {shown(name)}, which has no counterpart", f"dtrain has {', '.join(LOSSES)}")
        guess_loss(training, output, units)
        return
    (training.loss,) = found
    fields.only("reduction", ["sum_over_batch_size", "auto", "mean", None], "dtrain takes the mean over the examples")
    fields.only("ignore_class", [None])
    fields.only("axis", [-1])
    smoothing = fields.number("label_smoothing", 0, 0, 0.999999)
    if smoothing:
        training.fields["label_smoothing"] = plain(smoothing)
    if training.loss == "huber":
        training.loss_fields["delta"] = plain(fields.number("delta", 1.0, 1e-12, 1e9))
    last = {"cross_entropy": "softmax", "binary_cross_entropy": "sigmoid"}.get(training.loss)
    if last:
        logits = fields.boolean("from_logits", False)
        if logits and output.activation == last:
            report.problem(
                f"{place}, from_logits",
                f"is true, and the model ends with a {last}, so that it is computed twice",
                f"leave out the {last}, or from_logits",
            )
        elif not logits and output.activation != last:
            report.problem(
                f"{place}, from_logits",
                f"is false, and the model does not end with a {last}",
                f"end it with one, or use from_logits=True if the outputs are to go through a {last}",
            )
    if training.loss == "cross_entropy" and units == 1:
        report.problem(place, "needs an output for each class, and the model has one", "binary_crossentropy has one")


def end_without_activation(training, output, entries):
    """Takes the last softmax or sigmoid away, if the loss has it."""
    if output.activation == "softmax" and training.loss != "cross_entropy":
        training.report.problem(
            "the model's output", "ends with a softmax", "dtrain has it in the loss cross_entropy alone"
        )
    if training.loss != "binary_cross_entropy" or output.activation != "sigmoid" or not entries:
        return
    last = output.entry
    if last.kind == "sigmoid" and entries[-1] is last:
        output.entry = last.source
        entries.pop()
    elif last.fields.get("activation") == "sigmoid":
        del last.fields["activation"]


# The optimizer


def read_optimizer(training, value):
    report, place = training.report, "compile, optimizer"
    name, fields = class_and_config(value, place, report)
    if name == "LossScaleOptimizer":
        name, fields = class_and_config(fields.raw("inner_optimizer"), place, report)
    if name is None:
        return
    kind = next((one for one in OPTIMIZERS if key(one) == key(name)), None)
    if kind is None:
        report.problem(place, f"is {shown(name)}, which has no counterpart", f"dtrain has {', '.join(OPTIMIZERS)}")
        return
    training.optimizer = {"kind": kind.lower()}
    read_rate(training, fields, {"SGD": 0.01}.get(kind, 0.001))
    own = training.optimizer
    if kind in ("Adam", "AdamW", "Lion", "Lamb"):
        own["beta1"] = plain(fields.number("beta_1", 0.9, 0, 0.999999999))
        own["beta2"] = plain(fields.number("beta_2", 0.99 if kind == "Lion" else 0.999, 0, 0.999999999))
        fields.only("amsgrad", [False], f"dtrain's {kind.lower()} has none")
        if kind != "Lion":
            own["epsilon"] = plain(fields.number("epsilon", 1e-7, 1e-30, 1))
        usual = {"beta1": 0.9, "beta2": 0.99 if kind == "Lion" else 0.999}
        for one, number in usual.items():
            if own[one] == number:
                del own[one]
    else:
        momentum = plain(fields.number("momentum", 0.0, 0, 0.999999999))
        if momentum:
            own["momentum"] = momentum
        if kind == "RMSprop":
            own["decay"] = plain(fields.number("rho", 0.9, 0, 0.999999999))
            own["epsilon"] = float(f"{fields.number('epsilon', 1e-7, 1e-30, 1) ** 0.5:.4g}")
            report.note("optimizer.epsilon is the root of that in Keras, which adds it before it takes the root")
            fields.only("centered", [False], "dtrain's rmsprop is not centered")
        elif fields.boolean("nesterov", False):
            own["nesterov"] = True
    if kind == "Lamb":  # Keras scales the changes of all variables
        own["weight_decay_exclude"] = "none"
    read_decay(training, kind, fields)
    read_limits(training, fields)


def read_decay(training, kind, fields):
    """Keras' decay is decoupled from the gradients in all optimizers, and is of all variables."""
    strength = fields.raw("weight_decay")
    if strength in (None, False, 0) or not is_number(strength):
        if strength not in (None, False, 0):
            fields.wrong("weight_decay", "a number")
        return
    if kind == "Adam":
        training.optimizer["kind"] = "adamw"
    elif kind == "Lamb":
        fields.problem(
            "weight_decay",
            "is outside of the ratio in Keras, and in dtrain a part of what lamb scales",
            "compile the model without it, and set train.optimizer.weight_decay yourself: 0.01 is usual",
        )
        return
    elif kind == "RMSprop" or (kind == "SGD" and "momentum" in training.optimizer):
        fields.problem("weight_decay", "is decoupled in Keras, and in dtrain only of adamw and lion", "use AdamW")
        return
    training.optimizer["weight_decay"] = plain(strength)
    training.optimizer["weight_decay_exclude"] = "none"


def read_limits(training, fields):
    fields.only("clipnorm", [None], "dtrain clips the norm of all gradients together: global_clipnorm")
    fields.only("clipvalue", [None], "dtrain clips the norm of all gradients together: global_clipnorm")
    fields.only("decay", [None, 0], "use a schedule: keras.optimizers.schedules")
    clip = fields.number("global_clipnorm", None, 0, 1e12)
    if clip:
        training.fields["clip_norm"] = plain(clip)
    if fields.boolean("use_ema", False):
        fields.only("ema_overwrite_frequency", [None], "dtrain trains the weights, and evaluates their average")
        training.fields["ema"] = {"decay": plain(fields.number("ema_momentum", 0.99, 0, 0.999999999))}
    training.accumulate = fields.count("gradient_accumulation_steps", None, 1, 10000)


def read_rate(training, fields, usual):
    rate = fields.raw("learning_rate", fields.raw("lr", usual))
    if is_number(rate) and 0 < rate <= 1e6:
        training.optimizer["learning_rate"] = plain(rate)
        return
    name, inner = class_and_config(rate, fields.place_of("learning_rate"), training.report)
    if name is None:
        return
    convert = {
        "PiecewiseConstantDecay": piecewise,
        "ExponentialDecay": exponential,
        "CosineDecay": cosine,
        "PolynomialDecay": polynomial,
    }.get(name)
    if convert is None:
        what = f"is a {shown(name)}, which has no counterpart"
        training.report.problem(fields.place_of("learning_rate"), what, "docs/schedules.md lists dtrain's")
        return
    convert(training, inner)


def first_rate(training, fields):
    rate = plain(fields.number("initial_learning_rate", 0.001, 1e-30, 1e6))
    training.optimizer["learning_rate"] = rate
    return rate


def piecewise(training, fields):
    boundaries, values = fields.raw("boundaries"), fields.raw("values")
    right = isinstance(boundaries, list) and isinstance(values, list) and len(values) == len(boundaries) + 1 > 1
    if not right or not all(is_number(one) and 0 <= one < 1e12 and one == int(one) for one in boundaries):
        fields.wrong("boundaries", "a list of steps, one less than values")
        return
    if not all(is_number(one) and 0 < one <= 1e6 for one in values):
        fields.wrong("values", "a list of learning rates")
        return
    # At a boundary Keras still uses the old rate, dtrain the new one.
    training.schedule = {
        "kind": "piecewise", "unit": "steps", "boundaries": [int(one) + 1 for one in boundaries],
        "values": [plain(one) for one in values],
    }  # fmt: skip


def exponential(training, fields):
    first_rate(training, fields)
    factor = plain(fields.number("decay_rate", 0.1, 0))
    if not 0 < factor < 1:
        fields.wrong("decay_rate", "a number between 0 and 1")
    kind = "step" if fields.boolean("staircase", False) else "exponential"
    training.schedule = {"kind": kind, "unit": "steps", "every": steps(fields, "decay_steps"), "factor": factor}


def steps(fields, name):
    number = fields.raw(name)
    if isinstance(number, float) and number == int(number):
        fields.values = {**fields.values, name: int(number)}
    return fields.count(name, 1, 1, 10**12)


def cosine(training, fields):
    first_rate(training, fields)
    fields.only("warmup_target", [None], "use train.learning_rate_scaling.warmup_steps")
    alpha = plain(fields.number("alpha", 0.0, 0, 0.999999999))
    training.schedule = {"kind": "cosine", "unit": "steps", "over": steps(fields, "decay_steps")}
    if alpha:
        training.schedule["final_factor"] = alpha


def polynomial(training, fields):
    rate = first_rate(training, fields)
    fields.only("cycle", [False], "dtrain's schedules do not begin again")
    last = fields.number("end_learning_rate", 0.0001, 0)
    if not last < rate:
        fields.wrong("end_learning_rate", "less than the initial rate")
    training.schedule = {"kind": "polynomial", "unit": "steps", "over": steps(fields, "decay_steps")}
    power = plain(fields.number("power", 1.0, 1e-9, 100))
    if power != 1:
        training.schedule["power"] = power
    if last:
        training.schedule["final_factor"] = float(f"{last / rate:.9g}")


# Metrics


def read_metrics(training, value, place):
    while isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):  # for the outputs
        value = value[0]
    if isinstance(value, dict) and "class_name" not in value and len(value) == 1:
        (value,) = value.values()
    for one in value if isinstance(value, list) else [value] if value is not None else []:
        name, fields = class_and_config(one, place, training.report)
        if name is None:
            continue
        if name == "MeanMetricWrapper":  # of Keras 2
            name = activation_name(fields.raw("fn", "")) or ""
            fields.values = {}
        known = METRICS.get(training.loss, NUMBERS)
        ours = known.get(key(name))
        if ours is None:
            training.report.problem(
                f"{place}, {name[:100]}",
                f"has no counterpart with the loss {training.loss}",
                f"compile the model without it; dtrain has {', '.join(dict.fromkeys(known.values()))}",
            )
            continue
        for option, usual in USUAL_OPTIONS.items():
            if option in fields.values:
                fields.place = f"{place}, {name[:100]}"
                fields.only(option, usual)
        training.metrics.append((name, ours))


# What the layers say about the training


def read_penalties(training, converter):
    if not converter.penalties:
        return
    report, (strength, place) = training.report, next(iter(converter.penalties.items()))
    advice = "dtrain has one for all kernels: train.optimizer.weight_decay"
    if len(converter.penalties) > 1:
        report.problem(list(converter.penalties.values())[1], "differs from that of other layers", advice)
    elif converter.plain_kernels:
        report.problem(place, "is not of all layers with kernels", advice)
    elif training.optimizer.get("kind") not in ("sgd", "rmsprop", "adam") or "weight_decay" in training.optimizer:
        report.problem(place, "is a penalty beside a decoupled decay", "use one of the two")
    elif strength:
        # Keras adds strength * w^2 to the loss, so 2 * strength * w to the gradient.
        training.optimizer["weight_decay"] = plain(2 * strength)
        report.note("optimizer.weight_decay is the L2 penalty of the kernels; reported losses are without it")


def read_types(training, converter):
    kinds = {"mixed_bfloat16": "bf16_mixed", "mixed_float16": "fp16_mixed"}
    for name, place in converter.types.items():
        if name in kinds:
            if training.fields.setdefault("precision", kinds[name]) != kinds[name]:
                training.report.problem(f"{place}, dtype", "differs from other layers'", "dtrain has one for all")
        elif name not in ("float32", "float64", "uint8"):
            training.report.problem(f"{place}, dtype", f"is {shown(name)}", "dtrain computes in float32 or float64")
    if "float64" in converter.types and len(converter.types) > 1:
        training.report.problem(f"{converter.types['float64']}, dtype", "differs from other layers'",
                                "dtrain has one for all")  # fmt: skip
