"""Reads what dtrain wrote with the programs it is written for; see scripts/check_formats."""
import gzip
import json
import pathlib
import subprocess
import sys

import numpy
import onnxruntime
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
EXAMPLES = 2000
PREDICTED = 200
SPEC = """name: formats
strategy: {kind: mirrored, replicas: 2, threads_per_replica: 1}
data: {dataset: fashion_mnist, path: DATA, train_examples: 4000, test_examples: EXAMPLES, mean: 0.286,
       standard_deviation: 0.353}
batch: {global: 64}
MODEL
train: {epochs: 2, optimizer: {kind: adam}, schedule: {kind: cosine}}
checkpoint: {every_epochs: 1}
callbacks: {tensorboard: true, tensorboard_histograms: true, csv: true, profile: {start_step: 20, steps: 3}}
metrics: {every_steps: 10}
"""
MODELS = {
    "mlp": "model: {kind: mlp, hidden: [32, 16], activation: gelu, dropout: 0.1}",
    "cnn": "model: {kind: cnn, filters: [8], hidden: [16]}",
    "layers": "model: {kind: layers, layers: [{kind: conv2d, filters: 4, padding: same, stride: 2}, {kind: batch_norm},"
              " {kind: tanh}, {kind: avg_pool2d, padding: same, pool_size: 3, stride: 2}, {kind: conv2d, filters: 6,"
              " kernel_size: 4, padding: same, use_bias: false}, {kind: max_pool2d, padding: same, pool_size: 3},"
              " {kind: sigmoid}, {kind: flatten}, {kind: dense, units: 10}]}",
    "graph": "model: {kind: layers, layers: [{kind: conv2d, filters: 4, padding: symmetric, stride: 2, name: stem},"
             " {kind: batch_norm}, {kind: relu, name: block}, {kind: conv2d, filters: 6, padding: symmetric, stride: 2},"
             " {kind: batch_norm, name: body}, {kind: conv2d, filters: 6, kernel_size: 1, stride: 2, from: block},"
             " {kind: add, with: body}, {kind: relu}, {kind: global_avg_pool2d}, {kind: dense, units: 10}]}",
    "blocks": "model: {kind: layers, layers: [{kind: conv2d, filters: 8, padding: same, activation: gelu, name: stem},"
              " {kind: conv2d, filters: 8, kernel_size: 5, padding: same, groups: 8}, {kind: layer_norm},"
              " {kind: group_norm, groups: 2},"
              " {kind: conv2d, filters: 16, kernel_size: 1, activation: gelu}, {kind: conv2d, filters: 8, kernel_size: 1},"
              " {kind: add, with: stem}, {kind: flatten}, {kind: layer_norm}, {kind: dense, units: 16, activation: tanh},"
              " {kind: dense, units: 10}]}",
    "transformer": "model: {kind: layers, layers: [{kind: patch_embedding, patch: 7, units: 24}, {kind: class_token},"
                   " {kind: positional_embedding, name: embedded}, {kind: layer_norm},"
                   " {kind: attention, heads: 3, dropout: 0.1}, {kind: stochastic_depth, rate: 0.1},"
                   " {kind: add, with: embedded, name: middle}, {kind: layer_norm}, {kind: dense, units: 48,"
                   " activation: gelu}, {kind: dense, units: 24}, {kind: add, with: middle}, {kind: layer_norm},"
                   " {kind: first_token}, {kind: dense, units: 10}]}",
    "double": "model: {kind: mlp, hidden: [16], dtype: float64}",
}


def read_idx(name):
    file = next(path for path in (DATA / name, DATA / (name + ".gz")) if path.exists())
    data = gzip.open(file).read() if file.suffix == ".gz" else file.read_bytes()
    dimensions = data[3]
    shape = numpy.frombuffer(data, ">u4", dimensions, 4)
    return numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def check(what, holds):
    print("ok     " if holds else "FAILED ", what, flush=True)
    if not holds:
        sys.exit(1)


def evaluate(onnx, images, labels):
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    kind = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64}[session.get_inputs()[0].type]
    logits = session.run(["logits"], {"pixels": images[:, None].astype(kind)})[0].astype(numpy.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    losses = numpy.log(numpy.exp(shifted).sum(axis=1)) - shifted[numpy.arange(len(labels)), labels]
    confusion = numpy.zeros((10, 10), int)
    numpy.add.at(confusion, (labels, logits.argmax(axis=1)), 1)
    return losses.mean(), confusion


def predict(dtrain, run, folder, images):
    """The probabilities by `dtrain predict`, [image, class]."""
    some = images[:PREDICTED]
    file = folder / "some-images"
    file.write_bytes(b"\0\0\x08\x03" + numpy.array(some.shape, ">u4").tobytes() + some.tobytes())
    lines = [json.loads(line) for line in dtrain("predict", run, file, "--json", "--top", 10).stdout.splitlines()]
    return numpy.array([[one["probability"] for one in sorted(line["predictions"], key=lambda one: one["class"])]
                        for line in lines])


def check_bytes_model(onnx, name, images, predicted):
    session = onnxruntime.InferenceSession(onnx, providers=["CPUExecutionProvider"])
    check(f"{name}: --uint8 makes a model of bytes", session.get_inputs()[0].type == "tensor(uint8)")
    own = session.run(["probabilities"], {"pixels": images[:PREDICTED, None]})[0]
    check(f"{name}: and --softmax one of dtrain's probabilities", numpy.allclose(own, predicted, atol=1e-5))
    about = session.get_modelmeta().custom_metadata_map
    check(f"{name}: it tells the classes, the mean and the layout", json.loads(about["classes"])[9] == "Ankle boot"
          and (about["mean"], about["standard_deviation"], about["layout"]) == ("0.286", "0.353", "NCHW"))


def check_model(program, folder, name, images, labels):
    spec, run = folder / f"{name}.yaml", folder / name
    spec.write_text(SPEC.replace("DATA", str(DATA)).replace("EXAMPLES", str(EXAMPLES)).replace("MODEL", MODELS[name]))
    dtrain = lambda *arguments: subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True)
    dtrain("run", spec, "--run-dir", run, "--quiet")
    own = json.loads(dtrain("eval", run, "--json").stdout)
    for kind in ("onnx", "safetensors", "torchscript"):
        dtrain("export", run, "--format", kind, "--out", folder / f"{name}.{kind}")
    dtrain("export", run, "--format", "onnx", "--uint8", "--softmax", "--out", folder / f"{name}.bytes.onnx")
    dtrain("export", run, "--format", "torchscript", "--softmax", "--out", folder / f"{name}.softmax.pt")
    predicted = predict(dtrain, run, folder, images)
    own["probabilities"] = predicted.tolist()
    (folder / f"{name}.json").write_text(json.dumps(own))  # for torchscript.py

    loss, confusion = evaluate(folder / f"{name}.onnx", images, labels)
    check(f"{name}: ONNX Runtime's loss {loss:.7f} is dtrain's {own['loss']:.7f}", abs(loss - own["loss"]) < 1e-5)
    check(f"{name}: and so is every prediction (accuracy {own['accuracy']})", confusion.tolist() == own["confusion"])
    check_bytes_model(folder / f"{name}.bytes.onnx", name, images, predicted)
    events = [json.loads(line) for line in open(run / "metrics.jsonl")]
    trained = [event for event in events if event["event"] == "eval"][-1]
    check(f"{name}: the evaluation while training had the same accuracy", trained["accuracy"] == own["accuracy"])

    if name != "double":
        with safe_open(folder / f"{name}.safetensors", "np") as file, \
                safe_open(sorted(run.glob("checkpoints/step-*"))[-1] / "model.safetensors", "np") as saved:
            same = all(numpy.array_equal(file.get_tensor(key), saved.get_tensor(key)) for key in saved.keys())
            check(f"{name}: Python's safetensors reads the export and the checkpoint", same and len(saved.keys()) > 0)
            check(f"{name}: the export says what goes in", "pixel / 255 - 0.286" in file.metadata()["input"])

    board = EventAccumulator(str(run / "tensorboard"), size_guidance={"histograms": 0}).Reload()
    for tag, kind in (("train/loss", "step"), ("eval/accuracy", "eval"), ("learning_rate", "step")):
        field = tag.split("/")[-1]
        wanted = [(event["step"], event[field]) for event in events if event["event"] == kind]
        seen = [(scalar.step, scalar.value) for scalar in board.Scalars(tag)]
        check(f"{name}: TensorBoard shows {len(seen)} values of {tag}",
              [step for step, _ in wanted] == [step for step, _ in seen]
              and numpy.allclose([value for _, value in wanted], [value for _, value in seen], rtol=1e-6))

    check_histograms(name, run, board)
    check_profile(name, run)


def check_histograms(name, run, board):
    """The last ones are of the weights before the last update: of those after it they differ by its size."""
    with safe_open(sorted(run.glob("checkpoints/step-*"))[-1] / "model.safetensors", "np") as saved:
        for key in (key for key in saved.keys() if "running" not in key):
            last, values = board.Histograms("weights/" + key)[-1].histogram_value, saved.get_tensor(key)
            spread = max(1e-2, numpy.abs(values).max() / 20)
            if not (last.num == values.size and abs(last.min - values.min()) < spread and abs(last.max - values.max()) < spread
                    and sum(last.bucket) == values.size and numpy.isclose(last.sum, values.sum(), atol=spread * values.size)):
                check(f"{name}: TensorBoard's histogram of {key} is that of the weights", False)
    tags = board.Tags()["histograms"]
    steps = [event.step for event in board.Histograms(tags[0])]
    check(f"{name}: TensorBoard shows {len(tags)} histograms of updates {steps}", steps == [63, 126]
          and {tag.split("/")[0] for tag in tags} == {"weights", "gradients"})


def check_profile(name, run):
    events = json.load(open(run / "profile.json"))["traceEvents"]
    of = lambda rank, kind: [event for event in events if event["pid"] == rank and event.get("cat") == kind]
    whole = all([event["name"] for event in of(rank, "step")] == ["step 20", "step 21", "step 22"]
                and {"compute", "communicate", "update"} <= {event["name"] for event in of(rank, "phase")}
                and len(of(rank, "operator")) > 10 and len(of(rank, "backward")) > 5 for rank in (0, 1))
    check(f"{name}: the profile has steps, phases and operators of both replicas", whole)


def main():
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    images, labels = read_idx("t10k-images-idx3-ubyte")[:EXAMPLES], read_idx("t10k-labels-idx1-ubyte")[:EXAMPLES]
    for name in MODELS:
        check_model(program, folder, name, images, labels)
    numpy.savez(folder / "test", images=images, labels=labels)


main()
