"""Writes a spec of dtrain, and a safetensors file of the weights, for a model of Keras. Started by
scripts/convert_weights; with --check it reads a .keras file's configuration alone, which needs no packages."""

import argparse
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

import archive
import graph
import pixels
import spec_text
import training
from layers import Converter
from problems import Refusal, Report, printable

OPEN_SIDE = 224  # of pictures for a model that takes any


class Job:
    """What was found in a file, for the spec."""

    def __init__(self, file, channels):
        self.file, self.report = file, Report()
        self.opened = archive.KerasArchive(file) if file.suffix == ".keras" else archive.H5File(file)
        self.version = self.opened.version
        nodes, output_node, self.title = graph.read(self.opened.config, self.report)
        converter = Converter(self.report)
        output = converter.convert(nodes, output_node)
        self.entries, self.steps, self.augment = converter.entries, converter.pixels, converter.augment
        self.dtype = "float64" if "float64" in converter.types else "float32"
        self.training = training.read(self.opened.compiled, output, self.entries, converter, self.report)
        if not self.entries:
            self.report.problem("the model", "has no layers that compute anything")
        elif output.entry is not self.entries[-1]:
            self.report.problem("the model's output", "is not its last layer: others are not used")
        if len(self.entries) > 999:
            self.report.problem("the model", f"has {len(self.entries):,} layers", "dtrain's have at most 1,000")
        self.network = pixels.network_of(nodes)
        self.trained = self.trained_layers()
        self.read_data(converter.input_shape or (1,), output)
        self.bgr = self.order(channels)

    def trained_layers(self):
        """The names of the trained layers, if others are frozen."""
        own = [entry for entry in self.entries if entry.variables]
        trained = [entry.name for entry in own if entry.node.config.get("trainable", True) is not False]
        if own and not trained:
            advice = "set layer.trainable = True for some, and save it"
            self.report.problem("the model", "has no trainable layers", advice)
        return trained if len(trained) < len(own) else []

    def read_data(self, shape, output):
        self.data = pixels.Data(shape, self.training, output, self.report)
        self.data.units_in = shape[0]
        if self.data.size and None in self.data.size:
            self.data.size = tuple(OPEN_SIDE if one is None else one for one in self.data.size)
            self.report.note(f"the model takes pictures of any size; {OPEN_SIDE} is a choice")
        if self.augment and self.data.dataset == "arrays":
            self.report.problem("the layers that change pictures at random", "have no counterpart for arrays")
        if self.steps and not self.data.has_pixels:
            self.report.problem(
                "the layers that scale the input",
                "have no counterpart for lists of numbers",
                "scale the arrays instead, and save the model without them; a table (csv) is always normalised",
            )

    def order(self, channels):
        """Whether the first layer takes blue first."""
        of_caffe = self.network is not None and pixels.NETWORKS[self.network][2] is pixels.CAFFE
        bgr = channels == "bgr" or (channels is None and of_caffe and not self.steps)
        bgr ^= sum(step == ("reverse",) for step in self.steps) % 2 == 1
        if not bgr or self.data.channels != 3:
            return False
        if any(entry.source is None and entry.kind != "conv2d" for entry in self.entries):
            self.report.problem("--channels bgr", "turns the first kernels, and the first layer is no convolution")
        self.report.note("the first kernels take red, green and blue here, and took blue, green and red in Keras")
        return True

    def set_scaling(self, weights):
        """data.image.mean and standard_deviation, if pixels need more than to be from 0 to 1."""
        self.scaling_text = None
        if not self.data.has_pixels:
            return
        preprocessed = pixels.NETWORKS[self.network][2] if self.network else None
        if self.steps:
            mean, deviation = pixels.scaling(self.steps, self.data.channels, weights, self.report)
            if self.bgr:
                mean, deviation = mean[::-1], deviation[::-1]
        elif preprocessed and self.data.channels == 3:
            mean, deviation = preprocessed
        else:
            return
        text = pixels.written(mean), pixels.written(deviation)
        if text == ("0", "1"):
            return
        if self.data.classes is not None:
            self.scaling_text = text
        elif self.steps:
            self.report.problem(
                "the layers that scale the input",
                "have no counterpart where the targets are numbers: dtrain then makes 0 to 1 of pixels, and no more",
                "scale the arrays instead, as float32, and save the model without them",
            )

    def refuse_problems(self):
        if self.report.problems:
            count = len(self.report.problems)
            raise Refusal(
                f"{count} {'thing has' if count == 1 else 'things have'} no counterpart in dtrain, so nothing is"
                f" written:\n{self.report.text()}"
            )


def convert(options):
    options.out = options.out or options.spec.with_suffix(".safetensors")  # beside the spec
    if options.out.resolve() == options.spec.resolve():
        raise Refusal(f"the spec and the weights would both be {options.spec}")
    for path in () if options.overwrite else (options.spec, options.out):
        if path.exists():
            raise Refusal(f"{path} is there; --overwrite replaces it")
    job = Job(options.file, options.channels)
    job.set_scaling(None)
    job.refuse_problems()
    if options.check:
        return
    import numpy

    sys.path.append(str(pathlib.Path(__file__).parent.with_name("bench")))
    import safetensors_file
    import weights as weights_of_keras

    job.spec = options.spec
    path = job.opened.unpack_weights(options.folder)
    weights = weights_of_keras.Weights(path, options.file.suffix == ".keras")
    job.set_scaling(weights)
    job.refuse_problems()
    tensors = weights_of_keras.tensors_of(job.entries, weights, numpy.dtype(job.dtype), job.bgr)
    weights.file.close()
    job.parameters = sum(
        tensor.size for name, tensor in tensors.items() if not name.rpartition(".")[2].startswith("running_")
    )
    out = options.out
    beside = out.resolve().parent == options.spec.resolve().parent
    job.weights_path = out.name if beside else str(out.resolve())
    text = spec_text.write(job)
    metadata = {"source": printable(f"{options.file.name}: {job.title}")}
    safetensors_file.write(out, tensors, metadata)
    safetensors_file.written_whole(options.spec, lambda part: part.write_text(text))
    print(f"{options.file}: {job.title}, {len(job.entries)} layers, {job.parameters:,} parameters")
    for note in job.report.notes:
        print(f"  {note}")
    print(f"written: {options.spec}, {out}; read the {text.count('FILL IN') - 1} lines with FILL IN, then:")
    print(f"  dtrain run {options.spec}")


def bound_memory(megabytes):
    bytes_ = (6 * megabytes + 8192) << 20
    resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))


def convert_in_a_child(options):
    """Its exit code. A damaged HDF5 file can make the library crash, run for ever or take all memory."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # which ends the child, too
    megabytes = options.file.stat().st_size >> 20
    seconds = 120 + megabytes
    with tempfile.TemporaryDirectory(prefix="dtrain-weights-") as folder:
        command = [sys.executable, __file__, "--folder", folder, *sys.argv[1:]]
        try:
            code = subprocess.run(
                command,
                timeout=seconds,
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # each thread reserves memory
                preexec_fn=lambda: bound_memory(megabytes),
            ).returncode
        except subprocess.TimeoutExpired as error:
            raise Refusal(f"it cannot be read in {seconds} seconds: it is damaged") from error
    if code < 0:
        raise Refusal(f"the HDF5 library fails ({signal.Signals(-code).name}): it is damaged")
    return code


def main():
    parser = argparse.ArgumentParser(prog="convert_weights")
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--spec", type=pathlib.Path)
    parser.add_argument("--channels", choices=["bgr", "rgb"])
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", help="for what is unpacked; without it, a process with one is started")
    options = parser.parse_args()
    try:
        if not options.check and not options.folder:
            sys.exit(convert_in_a_child(options))
        convert(options)
    except (Refusal, OSError, RecursionError, MemoryError) as error:
        lines = map(printable, str(error).split("\n"))
        sys.exit(f"convert_weights: {options.file}: " + "\n".join(lines))


if __name__ == "__main__":
    main()
