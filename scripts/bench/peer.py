"""What the peers' training scripts share: options, the data, and the lines in which they say how far they are."""

import argparse
import datetime
import gzip
import json
import pathlib

import numpy

CLASSES = 10
LEARNING_RATE = 1e-3
HIDDEN = {"mlp": (256, 128), "wide": (4096, 4096, 1200)}
FILTERS, KERNEL, POOL, DENSE = 32, 3, 2, 64  # of the CNN


def options(loops=(), compress=(), devices=()):
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=[*HIDDEN, "cnn", "resnet", "resnet_bf16"], required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder with the IDX files")
    parser.add_argument("--batch", type=int, required=True, help="examples per replica")
    parser.add_argument("--replicas", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--window", type=int, required=True, help="report every so many steps")
    if loops:
        parser.add_argument("--loop", choices=loops, default=loops[0])
    if compress:
        parser.add_argument("--compress", choices=compress, default=compress[0], help="what gradients are sent as")
    if devices:
        parser.add_argument("--device", choices=devices, default=devices[0])
        parser.add_argument("--precision", choices=["float32", "tf32"], default="float32", help="of products on a GPU")
    return parser.parse_args()


def _read_idx(path):
    packed = path.with_name(path.name + ".gz")
    content = gzip.open(packed).read() if packed.exists() else path.read_bytes()
    dimensions = content[3]
    shape = numpy.frombuffer(content, ">i4", dimensions, 4)
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * dimensions).reshape(shape)


def load_data(folder, part="train"):
    """Images as float32 in 0..1, [count, 28, 28], and labels as int64, [count]; `part` is train or t10k."""
    images = _read_idx(folder / f"{part}-images-idx3-ubyte").astype(numpy.float32) / 255
    return images, _read_idx(folder / f"{part}-labels-idx1-ubyte").astype(numpy.int64)


def report(step, loss):
    """Says that `step` optimizer steps are done; `loss` is a number, so that they really are."""
    time = datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
    print(json.dumps({"event": "step", "step": step, "time": time, "loss": float(loss)}), flush=True)


def report_accuracy(accuracy):
    print(json.dumps({"event": "accuracy", "accuracy": accuracy}), flush=True)
