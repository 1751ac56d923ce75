"""A spec trained for some steps on random examples, by the program that `dtrain plan --stablehlo` writes and by
PyTorch."""

import json
import pathlib
import pickle
import subprocess
import zlib

import numpy as np
import torch

from stablehlo_reference import forward, losses_of, optimizer_of, own_sums


class Programs:
    """Writes the programs of specs, and has them run by JAX's client."""

    def __init__(self, program, python, folder):
        self.program, self.folder = program, folder
        runner = pathlib.Path(__file__).with_name("stablehlo_runner.py")
        self.runner = subprocess.Popen([python, runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def write(self, spec):
        job = self.folder / "job.yaml"
        job.write_text(json.dumps(spec))
        done = subprocess.run(
            [self.program, "plan", job, "--stablehlo", self.folder / "programs"], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        written = self.folder / "programs"
        signatures = json.loads((written / "signatures.json").read_text())
        return {name: (signature, (written / f"{name}.mlir").read_text()) for name, signature in signatures.items()}

    def run(self, program, devices, state, feeds):
        signature, text = program
        pickle.dump(
            {
                "text": text,
                "devices": devices,
                "state": state,
                "feeds": feeds,
                "arguments": [argument["name"] for argument in signature["arguments"]],
                "results": [result["name"] for result in signature["results"]],
            },
            self.runner.stdin,
        )
        self.runner.stdin.flush()
        answer = pickle.load(self.runner.stdout)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["state"], answer["given"]

    def close(self):
        self.runner.stdin.close()
        self.runner.wait()


def filled(rows, array):
    """With rows of zeros behind."""
    return np.concatenate([array, np.zeros((rows - len(array), *array.shape[1:]), array.dtype)])


class Case:
    """One spec trained for some steps on random examples, by its program and by PyTorch."""

    def __init__(
        self,
        name,
        layers,
        train,
        *,
        devices=1,
        rows=4,
        steps=1,
        shape=(2, 6, 6),
        outputs=3,
        dtype="float64",
        rate=1.0,
        uneven=False,
        numbers=False,
        mixed=False,
        frozen=(),
        data=None,
        tolerance=None,
        sums_tolerance=3e-7,
        scale=0.3,
    ):
        self.name, self.layers, self.train, self.devices, self.rows = name, layers, train, devices, rows
        self.steps, self.shape, self.outputs, self.dtype, self.rate = steps, shape, outputs, dtype, rate
        self.uneven, self.numbers, self.mixed, self.frozen, self.scale = uneven, numbers, mixed, frozen, scale
        self.data = data or {}
        self.tolerance = tolerance or (1e-6 if dtype == "float32" else 1e-10)
        self.sums_tolerance = sums_tolerance  # of the mean loss and the like; they are float32
        self.type = np.float32 if dtype == "float32" else np.float64
        self.random = np.random.default_rng(zlib.crc32(name.encode()))

    def spec(self, folder):
        if self.numbers:
            features = self.shape[0]
            table = folder / "table.csv"
            header = [f"x{i}" for i in range(features)] + [f"y{i}" for i in range(self.outputs)]
            lines = [",".join(f"{(i * 7 + j * 3) % 11 / 11}" for j in range(len(header))) for i in range(40)]
            table.write_text("\n".join([",".join(header)] + lines) + "\n")
            data = {
                "dataset": "csv",
                "path": str(table),
                "target": header[features:],
                "target_kind": "numbers",
                "split": {"test": 0.2},
            }
        else:
            data = {
                "dataset": "synthetic",
                "shape": list(self.shape),
                "classes": max(2, self.outputs),
                "train_examples": 64,
                "test_examples": 8,
            }
        if self.mixed:
            data["augment"] = [{"kind": "mixup"}]
        spec = {
            "name": "check",
            "data": {**data, **self.data},
            "batch": {"per_replica": self.rows},
            "strategy": {"kind": "mirrored", "replicas": self.devices, "threads_per_replica": 1},
            "evaluate": {"batch_per_replica": self.rows},
            "model": {"kind": "layers", "layers": self.layers, "dtype": self.dtype},
            "train": self.train,
        }
        if self.frozen:
            trained = [layer["name"] for layer in self.layers if layer["name"] not in self.frozen]
            spec["phases"] = [{"epochs": 1, "trainable": trained}]
        return spec

    def initial(self, arguments):
        """Random variables; memories as a training begins with them."""
        variables, memories = {}, {}
        for argument in arguments:
            name, shape = argument["name"], argument["shape"]
            if name == "step":
                break
            if name.startswith("optimizer."):
                memories[name] = np.zeros(shape, self.type)
            elif name.endswith(("running_var", "norm.weight")):
                variables[name] = self.random.uniform(0.5, 1.5, shape).astype(self.type)
            else:
                variables[name] = (self.random.normal(size=shape) * self.scale).astype(self.type)
        for name in memories:
            if name.startswith("optimizer.weights."):
                memories[name] = variables[name[len("optimizer.weights.") :]].copy()
        return variables, memories

    def batch(self, step):
        """Each device's rows: (inputs, targets, other_targets, shares)."""
        shares = []
        for device in range(self.devices):
            n = self.rows
            if self.uneven and step == self.steps - 1:
                n = max(0, self.rows - 1 - 2 * device)
            inputs = (
                self.random.normal(size=(n, *self.shape)).astype(self.type)
                if self.numbers
                else self.random.integers(0, 256, (n, *self.shape), np.uint8)
            )
            classes = max(2, self.outputs)
            targets = (
                self.random.random((n, self.outputs)).astype(self.type)
                if self.numbers
                else self.random.integers(0, classes, n).astype(np.int32)
            )
            shares.append(
                (
                    inputs,
                    targets,
                    self.random.integers(0, classes, n).astype(np.int32),
                    self.random.uniform(0.5, 1, n).astype(np.float32),
                )
            )
        return shares

    def feed(self, step, batch):
        def padded(i):
            return [filled(self.rows, each[i]) for each in batch]

        weights = [filled(self.rows, np.ones(len(each[0]), np.float32)) for each in batch]
        everywhere = {
            "step": np.float32(step + 1),
            "learning_rate": np.float32(self.rate),
            "examples": np.float32(sum(len(each[0]) for each in batch)),
            "seed": np.array([step, 7], np.uint32),
        }
        feed = {name: [value] * self.devices for name, value in everywhere.items()}
        feed.update(inputs=padded(0), targets=padded(1), weights=weights)
        if self.mixed:
            feed.update(other_targets=padded(2), shares=padded(3))
        return feed

    def torch_inputs(self, inputs):
        x = torch.from_numpy(inputs)
        if self.numbers:
            return x
        x = x.to(torch.float32 if self.dtype == "float32" else torch.float64) / 255
        image = self.data.get("image", {})
        mean = image.get("mean", self.data.get("mean", 0))
        deviation = image.get("standard_deviation", self.data.get("standard_deviation", 1))
        shape = (1, -1) + (1,) * (len(self.shape) - 1)
        return (x - x.new_tensor(mean).view(shape)) / x.new_tensor(deviation).view(shape)

    def reference(self, variables, batches):
        """The variables of each device after the steps, and the sums of each."""
        kind = self.train.get("loss", {}).get("kind", "cross_entropy")
        buffers = {name for name in variables if "running_" in name}
        trained = [name for name in variables if name not in buffers and name.rsplit(".", 1)[0] not in self.frozen]
        parameters = {
            name: torch.from_numpy(variables[name].copy()).requires_grad_(name in trained)
            for name in variables
            if name not in buffers
        }
        synchronised = self.train.get("sync_batch_norm", False)
        own = [{name: torch.from_numpy(variables[name].copy()) for name in buffers} for _ in range(self.devices)]
        optimizer = optimizer_of(self.train, [parameters[name] for name in trained], float(np.float32(self.rate)))
        decay = self.train.get("ema", {}).get("decay", 0)
        average = {name: parameters[name].detach().clone() for name in trained}
        all_sums = []
        for batch in batches:
            if synchronised:
                batch = [tuple(np.concatenate(parts) for parts in zip(*batch))]
            examples = sum(len(each[0]) for each in batch)
            optimizer.zero_grad()
            sums, total = 0, 0
            for device, (inputs, targets, others, shares) in enumerate(batch):
                if len(inputs) == 0:
                    continue
                x, t = self.torch_inputs(inputs), torch.from_numpy(targets)
                t = t if self.numbers else t.long()
                with torch.autocast("cpu", torch.bfloat16, enabled="precision" in self.train):
                    outputs = forward(self.layers, {**parameters, **own[device]}, x, True, frozen=self.frozen)
                outputs = outputs.to(x.dtype)
                losses = losses_of(self.train, outputs, t)
                if self.mixed:
                    share = torch.from_numpy(shares).to(losses.dtype)
                    others = losses_of(self.train, outputs, torch.from_numpy(others).long())
                    losses = losses * share + others * (1 - share)
                total = total + losses.sum()
                with torch.no_grad():
                    sums = sums + np.array([losses.sum(), len(x), *own_sums(kind, outputs, t)], np.float64)
            (total / examples).backward()
            for name in trained:
                if parameters[name].grad is None:
                    parameters[name].grad = torch.zeros_like(parameters[name])
            if self.train.get("clip_norm", 0):
                torch.nn.utils.clip_grad_norm_([parameters[name] for name in trained], self.train["clip_norm"])
            optimizer.step()
            with torch.no_grad():
                for name in trained:
                    average[name] += (parameters[name] - average[name]) * (1 - decay)
            all_sums.append(sums)
        if synchronised:
            own = own[:1] * self.devices
        finals = [{**parameters, **own[device]} for device in range(self.devices)]
        finals = [{name: tensor.detach().numpy() for name, tensor in final.items()} for final in finals]
        if decay:
            for final in finals:
                final.update({f"optimizer.weights.{name}": tensor.numpy() for name, tensor in average.items()})
        return finals, np.array(all_sums)

    def check(self, programs):
        written = programs.write(self.spec(programs.folder))
        signature, _ = written["training_step"]
        variables, memories = self.initial(signature["arguments"])
        batches = [self.batch(step) for step in range(self.steps)]
        state = {name: [array] * self.devices for name, array in {**variables, **memories}.items()}
        feeds = [self.feed(step, batch) for step, batch in enumerate(batches)]
        final, given = programs.run(written["training_step"], self.devices, state, feeds)
        expected, expected_sums = self.reference(variables, batches)
        problems, errors = [], {"sums": 0.0, "values": 0.0}

        def compare(kind, what, ours, theirs, tolerance):
            error = float(np.max(np.abs(ours - theirs), initial=0) / max(1.0, np.max(np.abs(theirs), initial=0)))
            errors[kind] = max(errors[kind], error)
            if not error <= tolerance:
                problems.append(f"{what} differs by {error:.2g}")

        for device in range(self.devices):
            for name, array in expected[device].items():
                compare("values", f"{name} of device {device}", final[name][device], array, self.tolerance)
        for name, arrays in final.items():
            if "running_" not in name and any(not np.array_equal(arrays[0], array) for array in arrays):
                problems.append(f"{name} is not the same on all devices")
        for step, sums in enumerate(expected_sums):
            for device in range(self.devices):
                ours = given[step]["sums"][device]
                compare("sums", f"the sums of step {step + 1}", ours / sums[1], sums / sums[1], self.sums_tolerance)
        inputs, _, _, _ = batches[0][0]
        outputs = programs.run(
            written["forward"],
            self.devices,
            {name: final[name] for name in variables},
            [{"inputs": [filled(self.rows, inputs)] * self.devices}],
        )[1][0]["outputs"]
        values = {name: torch.from_numpy(final[name][0].copy()) for name in variables}
        theirs = forward(self.layers, values, self.torch_inputs(inputs), False).numpy()
        compare("values", "the forward pass", outputs[0][: len(inputs)], theirs, self.tolerance)
        return errors, problems
