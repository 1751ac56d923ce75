"""Opens .keras archives and .h5 files, which may come from strangers: bounded, and without running anything in them."""

import json
import pathlib
import re
import shutil
import zipfile

from problems import Refusal

MOST_JSON = 16 << 20  # bytes of a configuration: that of ResNet-152 has 0.5 MB
MOST_DEPTH = 100
MOST_GROWTH, SMALL = 100, 16 << 20  # weights hardly shrink, so more growth than this is no honest archive
WEIGHTS = "model.weights.h5"


def depth_of(text):
    """How deeply brackets are nested, those in quotes aside; what exceeds the bound is not followed further."""
    depth = deepest = 0
    quoted = escaped = False
    for character in text:
        if quoted:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > MOST_DEPTH:
                break
        elif character in "]}":
            depth -= 1
    return deepest


def parsed(text, what):
    if len(text) > MOST_JSON:
        raise Refusal(f"{what} has more than {MOST_JSON >> 20} MiB")
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise Refusal(f"{what} is no UTF-8") from error
    if depth_of(text) > MOST_DEPTH:
        raise Refusal(f"{what} is nested more than {MOST_DEPTH} levels deep")
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Refusal(f"{what} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refusal(f"{what} holds no model")
    return value


def version_text(version):
    known = isinstance(version, str) and re.fullmatch(r"[0-9A-Za-z.+-]{1,30}", version)
    return version if known else "of unknown version"


def member_bytes(archive, name, most):
    """The content of a small file in the archive, of which no more is unpacked than allowed."""
    with archive.open(name) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise Refusal(f"{name} in it has more than {most >> 20} MiB")
    return content


class KerasArchive:
    """A .keras file: a zip archive of config.json, metadata.json and model.weights.h5."""

    def __init__(self, path):
        try:
            self.archive = zipfile.ZipFile(path)
            names = self.archive.namelist()
            if "config.json" not in names:
                raise Refusal("it has no config.json: it is no file of model.save()")
            self.config = parsed(member_bytes(self.archive, "config.json", MOST_JSON), "config.json in it")
            metadata = {}
            if "metadata.json" in names:
                metadata = parsed(member_bytes(self.archive, "metadata.json", 1 << 20), "metadata.json in it")
            self.has_weights = WEIGHTS in names
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
            raise Refusal(f"cut off or damaged: {error}") from error
        self.compiled = self.config.get("compile_config")
        version = metadata.get("keras_version")
        self.version = version_text(version)

    def unpack_weights(self, folder):
        """The path of its HDF5 file, unpacked into the folder."""
        if not self.has_weights:
            raise Refusal(f"it has no {WEIGHTS}")
        info = self.archive.getinfo(WEIGHTS)
        if info.file_size > max(SMALL, MOST_GROWTH * info.compress_size):
            raise Refusal(f"{WEIGHTS} in it would grow to {info.file_size:,} bytes from {info.compress_size:,}")
        out = pathlib.Path(folder) / WEIGHTS
        try:
            if shutil.disk_usage(folder).free < info.file_size + SMALL:
                raise Refusal(f"{folder} has no room for its {info.file_size:,} bytes of weights: set TMPDIR")
            with self.archive.open(info) as source, open(out, "xb") as target:  # never more than file_size
                shutil.copyfileobj(source, target, 1 << 20)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
            raise Refusal(f"its weights cannot be unpacked: {error}") from error
        return out


def text_attribute(attributes, name):
    value = attributes.get(name)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None


class H5File:
    """A whole model that Keras has saved as .h5: the configurations are attributes."""

    def __init__(self, path):
        import h5py

        try:
            with h5py.File(path, "r") as file:
                config = text_attribute(file.attrs, "model_config")
                training = text_attribute(file.attrs, "training_config")
                version = text_attribute(file.attrs, "keras_version")
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            raise Refusal(f"cut off or damaged: {error}") from error
        if config is None:
            raise Refusal(
                "it holds weights alone, and a spec needs the layers too: save the whole model, with model.save()"
            )
        self.path = path
        self.config = parsed(config, "its model_config")
        self.compiled = parsed(training, "its training_config") if training else None
        self.version = version_text(version)

    def unpack_weights(self, folder):
        return self.path
