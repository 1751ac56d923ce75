"""The layers, losses and optimizers of a spec in PyTorch, with everything that the documentation says of them: what
scripts/bench/stablehlo.py compares with."""

import torch
import torch.nn.functional as F

DEFAULTS = {
    "kernel_size": 3,
    "pool_size": 2,
    "padding": "valid",
    "groups": 1,
    "use_bias": True,
    "momentum": 0.99,
    "epsilon": 1e-3,
    "rate": 0.5,
    "stride": None,
}


def windowed(x, size, stride, padding, fill):
    """x padded as the spec says."""
    if padding == "valid":
        return x
    sides = []
    for cells in (x.shape[3], x.shape[2]):
        if padding == "symmetric":
            sides += [(size - 1) // 2] * 2
        else:
            total = max(0, ((cells - 1) // stride) * stride + size - cells)
            sides += [total // 2, total - total // 2]
    return F.pad(x, sides, value=fill)


def batch_norm(x, layer, variables, trains):
    name, given = layer["name"], x.dtype
    x = x.to(variables[f"{name}.weight"].dtype)
    dimensions = (0,) if x.dim() == 2 else (0, 2, 3)
    mean, variance = variables[f"{name}.running_mean"], variables[f"{name}.running_var"]
    if trains and len(x) > 0:
        batch = x.mean(dimensions), x.var(dimensions, unbiased=False)
        with torch.no_grad():
            for old, new in zip((mean, variance), batch):
                old.copy_(layer["momentum"] * old + (1 - layer["momentum"]) * new)
        mean, variance = batch
    shape = (1, -1) + (1,) * (x.dim() - 2)
    x = (x - mean.view(shape)) / torch.sqrt(variance.view(shape) + layer["epsilon"])
    x = x * variables[f"{name}.weight"].view(shape) + variables[f"{name}.bias"].view(shape)
    return x.to(given)


def forward(layers, variables, x, training, masks=None, frozen=()):
    values, number = {}, -1
    for given in layers:
        layer = {**DEFAULTS, **given}
        kind, name = layer["kind"], layer["name"]
        number += 1
        if "from" in layer:
            x = values[layer["from"]]
        size, pad = layer["pool_size"], layer["padding"]
        stride = layer["stride"] or (size if "pool" in kind else 1)
        if kind == "dense":
            x = F.linear(x, variables[f"{name}.weight"], variables.get(f"{name}.bias"))
        elif kind == "conv2d":
            cells = windowed(x, layer["kernel_size"], stride, pad, 0)
            x = F.conv2d(
                cells, variables[f"{name}.weight"], variables.get(f"{name}.bias"), stride, 0, 1, layer["groups"]
            )
        elif kind == "max_pool2d":
            x = F.max_pool2d(windowed(x, size, stride, pad, -torch.inf), size, stride)
        elif kind == "avg_pool2d":
            sums, ones = (
                F.avg_pool2d(windowed(t, size, stride, pad, 0), size, stride, divisor_override=1)
                for t in (x, torch.ones_like(x))
            )
            x = sums / ones
        elif kind == "global_avg_pool2d":
            x = x.mean((2, 3))
        elif kind == "adaptive_avg_pool2d":
            x = F.adaptive_avg_pool2d(x, layer["output_size"])
        elif kind == "flatten":
            x = x.flatten(1)
        elif kind == "batch_norm":
            x = batch_norm(x, layer, variables, training and name not in frozen)
        elif kind == "layer_norm":
            x = x.movedim(1, -1)
            x = F.layer_norm(
                x, x.shape[-1:], variables[f"{name}.weight"], variables[f"{name}.bias"], layer["epsilon"]
            ).movedim(-1, 1)
        elif kind == "group_norm":
            x = F.group_norm(
                x, layer["groups"], variables[f"{name}.weight"], variables[f"{name}.bias"], layer["epsilon"]
            )
        elif kind == "dropout":
            x = x * masks if training else x
        elif kind == "add":
            x = x + values[layer["with"]]
        else:
            functions = {"relu": F.relu, "relu6": F.relu6, "gelu": F.gelu, "silu": F.silu}
            x = (functions | {"tanh": torch.tanh, "sigmoid": torch.sigmoid})[kind](x)
        values[name] = x
    return x


def losses_of(train, outputs, targets):
    """The training loss of each example."""
    loss, smoothing = train.get("loss", {}), train.get("label_smoothing", 0)
    weights = loss.get("class_weights")
    kind = loss.get("kind", "cross_entropy")
    if kind == "cross_entropy":
        losses = F.cross_entropy(outputs, targets, reduction="none", label_smoothing=smoothing)
        return losses * outputs.new_tensor(weights)[targets] if weights else losses
    if kind == "binary_cross_entropy":
        hard = targets.to(outputs.dtype).view_as(outputs)
        weight = hard * (weights[1] - weights[0]) + weights[0] if weights else None
        return F.binary_cross_entropy_with_logits(
            outputs, hard * (1 - smoothing) + smoothing / 2, weight, reduction="none"
        ).mean(1)
    each = {
        "mean_squared_error": F.mse_loss,
        "mean_absolute_error": F.l1_loss,
        "huber": lambda *a, **k: F.huber_loss(*a, delta=loss.get("delta", 1), **k),
        "log_cosh": lambda outputs, targets, reduction: (outputs - targets).cosh().log(),
    }[kind]
    return each(outputs, targets, reduction="none").mean(1)


def own_sums(kind, outputs, targets):
    """What a step sums besides the loss and the examples."""
    if kind == "cross_entropy":
        return [(outputs.argmax(1) == targets).sum()]
    if kind == "binary_cross_entropy":
        positive, predicted = targets.view_as(outputs) > 0.5, outputs > 0
        return [
            (positive == predicted).double().mean(1).sum(),
            (positive & predicted).sum(),
            predicted.sum(),
            positive.sum(),
        ]
    errors = outputs - targets
    return [*errors.square().sum(0), *errors.abs().sum(0)]


class Lion(torch.optim.Optimizer):
    """Chen et al. 2023, arXiv 2302.06675, algorithm 2; PyTorch has none."""

    def __init__(self, groups, rate, beta1, beta2):
        super().__init__(groups, {"lr": rate, "beta1": beta1, "beta2": beta2})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                sign = torch.sign(group["beta1"] * mean + (1 - group["beta1"]) * p.grad)
                p.sub_(group["lr"] * (sign + group["weight_decay"] * p))
                mean.copy_(group["beta2"] * mean + (1 - group["beta2"]) * p.grad)


class Scaled(torch.optim.Optimizer):
    """LARS (You et al. 2017, arXiv 1708.03888, algorithm 1) and LAMB (You et al. 2020, arXiv 1904.00962, algorithm 2);
    PyTorch has neither."""

    def __init__(self, groups, rate, spec):
        super().__init__(groups, {"lr": rate})
        self.spec = spec
        self.steps = 0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        for group in self.param_groups:
            for p in group["params"]:
                if self.spec["kind"] == "lars":
                    self.lars(p, group)
                else:
                    self.lamb(p, group)

    def lars(self, p, group):
        velocity = self.state[p].setdefault("velocity", torch.zeros_like(p))
        decay, norm, slope = group["weight_decay"], p.norm(), p.grad.norm()
        ratio = 1
        if group["scales"] and norm > 0 and slope > 0:
            ratio = self.spec["trust_coefficient"] * norm / (slope + decay * norm + self.spec["epsilon"])
        velocity.copy_(self.spec["momentum"] * velocity + ratio * (p.grad + decay * p))
        p.sub_(group["lr"] * velocity)

    def lamb(self, p, group):
        beta1, beta2 = self.spec["beta1"], self.spec["beta2"]
        mean = self.state[p].setdefault("mean", torch.zeros_like(p))
        square = self.state[p].setdefault("square", torch.zeros_like(p))
        mean.copy_(beta1 * mean + (1 - beta1) * p.grad)
        square.copy_(beta2 * square + (1 - beta2) * p.grad**2)
        root = torch.sqrt(square / (1 - beta2**self.steps)) + self.spec["epsilon"]
        change = mean / (1 - beta1**self.steps) / root + group["weight_decay"] * p
        norm, moved = p.norm(), change.norm()
        ratio = norm / moved if group["scales"] and norm > 0 and moved > 0 else 1
        p.sub_(group["lr"] * ratio * change)


class Muon(torch.optim.Optimizer):
    """Muon (Jordan 2024) of matrices; torch.optim.Muon has no convolutions' kernels, and computes in bfloat16."""

    def __init__(self, groups, rate, spec):
        super().__init__(groups, {"lr": rate})
        self.spec = spec

    @torch.no_grad()
    def step(self):
        momentum = self.spec["momentum"]
        for group in self.param_groups:
            for p in group["params"]:
                mean = self.state[p].setdefault("mean", torch.zeros_like(p))
                mean.copy_(momentum * mean + (1 - momentum) * p.grad)
                update = momentum * mean + (1 - momentum) * p.grad if self.spec["nesterov"] else mean
                matrix = update.reshape(len(p), -1)
                left, values, right = torch.linalg.svd(matrix, full_matrices=False)
                values = values / (values.norm() + 1e-7)
                for _ in range(5):
                    values = 3.4445 * values - 4.775 * values**3 + 2.0315 * values**5
                scale = max(1, matrix.shape[0] / matrix.shape[1]) ** 0.5
                p.sub_(group["lr"] * (scale * (left * values @ right).reshape(p.shape) + group["weight_decay"] * p))


class Both:
    """Two optimizers, of the matrices and of the rest."""

    def __init__(self, *optimizers):
        self.optimizers = optimizers

    def zero_grad(self):
        for optimizer in self.optimizers:
            optimizer.zero_grad()

    def step(self):
        for optimizer in self.optimizers:
            optimizer.step()


def muon_of(groups, rate, spec):
    def only(wanted):
        chosen = [{**group, "params": [p for p in group["params"] if wanted(p)]} for group in groups]
        return [group for group in chosen if group["params"]]

    rest_rate = rate * spec["adam_learning_rate"] / spec["learning_rate"]
    rest = only(lambda p: p.dim() == 1)
    betas = (spec["beta1"], spec["beta2"])
    return Both(
        Muon(only(lambda p: p.dim() > 1), rate, spec),
        *([torch.optim.AdamW(rest, rest_rate, betas=betas, eps=spec["epsilon"])] if rest else []),
    )


def optimizer_of(train, parameters, rate):
    kind = train["optimizer"].get("kind")
    spec = {
        "kind": "adam",
        "momentum": {"lars": 0.9, "muon": 0.95}.get(kind, 0),
        "nesterov": kind == "muon",
        "adam_learning_rate": 3e-4,
        "trust_coefficient": 0.001,
        "decay": 0.99,
        "beta1": 0.9,
        "beta2": {"lion": 0.99, "muon": 0.95}.get(kind, 0.999),
        "epsilon": {"lamb": 1e-6, "muon": 1e-10}.get(kind, 1e-8),
        "weight_decay": 0,
        "weight_decay_exclude": "biases_and_norms",
        **train["optimizer"],
    }
    every = spec["weight_decay_exclude"] == "none"
    groups = [
        {"params": [p for p in parameters if p.dim() > 1 or every], "weight_decay": spec["weight_decay"]},
        {"params": [p for p in parameters if p.dim() == 1 and not every], "weight_decay": 0},
    ]
    groups[0]["scales"], groups[1]["scales"] = True, False
    groups = [group for group in groups if group["params"]]
    if spec["kind"] == "sgd":
        return torch.optim.SGD(groups, rate, momentum=spec["momentum"], nesterov=spec["nesterov"])
    if spec["kind"] == "rmsprop":
        return torch.optim.RMSprop(groups, rate, alpha=spec["decay"], eps=spec["epsilon"], momentum=spec["momentum"])
    if spec["kind"] == "lion":
        return Lion(groups, rate, spec["beta1"], spec["beta2"])
    if spec["kind"] in ("lars", "lamb"):
        return Scaled(groups, rate, spec)
    if spec["kind"] == "muon":
        return muon_of(groups, rate, spec)
    made = torch.optim.AdamW if spec["kind"] == "adamw" else torch.optim.Adam
    return made(groups, rate, betas=(spec["beta1"], spec["beta2"]), eps=spec["epsilon"])
