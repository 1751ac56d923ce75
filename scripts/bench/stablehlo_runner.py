"""Runs StableHLO programs with JAX's client for processors; scripts/bench/stablehlo.py asks it to, through a pipe.

Reads pickled requests from the standard input: {"text", "devices", "arguments" and "results" (names in order),
"state": {name: an array for each device}, "feeds": [{name: an array for each device}, one for each step]}. Results with
the name of an argument take its place in the next step. Answers each with the final "state" and, for each step, the
other results of each device, "given"; or with the "error".
"""

import os
import pickle
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np
from jax._src.lib import xla_client
from jax.sharding import Mesh, NamedSharding, PartitionSpec

jax.config.update("jax_enable_x64", True)


def place(arrays, devices):
    """One value for each device, as the argument of a program that all of them run."""
    parts = [jax.device_put(np.asarray(array), device) for array, device in zip(arrays, devices)]
    everywhere = NamedSharding(Mesh(np.array(devices), ("all",)), PartitionSpec())
    return jax.make_array_from_single_device_arrays(parts[0].shape, everywhere, parts)


def run(request):
    devices = jax.devices("cpu")[: request["devices"]]
    options = xla_client.CompileOptions()
    options.num_replicas, options.num_partitions = len(devices), 1
    assignment = xla_client.DeviceAssignment.create(np.array([[device.id] for device in devices]))
    options.device_assignment = assignment
    program = devices[0].client.compile_and_load(request["text"], xla_client.DeviceList(tuple(devices)), options)
    state = {name: place(arrays, devices) for name, arrays in request["state"].items()}
    given = []
    for feed in request["feeds"]:
        values = dict(state, **{name: place(arrays, devices) for name, arrays in feed.items()})
        outcome = program.execute_sharded([values[name] for name in request["arguments"]])
        others = {}
        for name, parts in zip(request["results"], outcome.disassemble_into_single_device_arrays()):
            if name in state:
                state[name] = place(parts, devices)
            else:
                others[name] = [np.asarray(part) for part in parts]
        given.append(others)
    final = {name: [np.asarray(shard.data) for shard in array.addressable_shards] for name, array in state.items()}
    return {"state": final, "given": given}


def main():
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write into the answers
    while True:
        try:
            request = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = run(request)
        except Exception as error:  # told, so that the others go on
            answer = {"error": f"{type(error).__name__}: {error}"}
        pickle.dump(answer, answers)
        answers.flush()


main()
