"""Reads and writes safetensors files: eight bytes with the length of the header, little endian, the header, which is
JSON, and the tensors' bytes (https://huggingface.co/docs/safetensors)."""

import json
import math
import os
import pathlib
import struct

import numpy

TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}


def written_whole(path, write):
    """Lets write() make the file under another name, and renames it when it is whole."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def write(path, tensors, metadata):
    """tensors: {name: NumPy array}; metadata: {text: text}. A file that is there is replaced when the new one is
    whole."""
    codes = {numpy.dtype(code): name for name, code in TYPES.items()}
    header, offset = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        end = offset + tensor.nbytes
        header[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)

    def write_part(part):
        with open(part, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for tensor in tensors.values():
                file.write(numpy.ascontiguousarray(tensor).tobytes())

    written_whole(pathlib.Path(path), write_part)


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
