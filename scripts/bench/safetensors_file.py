"""Reads and writes safetensors files: eight bytes with the length of the header, little endian, the header, which is
JSON, and the tensors' bytes (https://huggingface.co/docs/safetensors)."""

import json
import math
import struct

import numpy

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}


def write(path, tensors, metadata):
    """tensors: {name: NumPy array}; metadata: {text: text}."""
    codes = {numpy.dtype(code): name for name, code in TYPES.items()}
    header, offset = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors.values():
            file.write(numpy.ascontiguousarray(tensor).tobytes())


def read(path):
    """{name: NumPy array}"""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return {
        name: numpy.frombuffer(
            data, TYPES[entry["dtype"]], math.prod(entry["shape"]), entry["data_offsets"][0]
        ).reshape(entry["shape"])
        for name, entry in header.items()
    }
