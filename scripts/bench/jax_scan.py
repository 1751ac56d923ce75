"""The workload in JAX, compiled whole. On processors all steps of a window are one lax.scan, and several replicas are
devices of one process. On a GPU (one replica) STEPS_OF_CALL steps are one lax.scan, as in a call of dtrain's, and all
data and the rows of a window's batches are on the device."""

import os

import peer

OPTIONS = peer.options(devices=["cpu", "gpu"])
if OPTIONS.device == "cpu":
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, set(cores[: OPTIONS.replicas]))  # before XLA counts them
    flags = os.environ.get("XLA_FLAGS", "")  # such as --xla_cpu_max_isa=AVX2
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={OPTIONS.replicas}"
    if OPTIONS.replicas > 1 and OPTIONS.model == "cnn":
        os.environ["NPROC"] = str(4 * OPTIONS.replicas)  # XLA's threads: with fewer, its all-reduce waits for ever

import functools  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy  # noqa: E402
from jax import lax  # noqa: E402

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8
STEPS_OF_CALL = 32  # on a GPU; --window is a multiple


def dense(random, inputs, outputs):
    """PyTorch's and dtrain's initial values: uniform, within 1 / sqrt(inputs)."""
    bound = inputs**-0.5
    values = random.uniform(-bound, bound, (inputs + 1, outputs)).astype(numpy.float32)
    return values[:-1], values[-1]


def make_model(kind):
    random = numpy.random.default_rng(42)
    if kind in peer.HIDDEN:
        widths = [784, *peer.HIDDEN[kind], peer.CLASSES]
        return [dense(random, inputs, outputs) for inputs, outputs in zip(widths, widths[1:])]
    side = (28 - peer.KERNEL + 1) // peer.POOL
    kernel, bias = dense(random, peer.KERNEL**2, peer.FILTERS)
    return [
        (kernel.reshape(peer.KERNEL, peer.KERNEL, 1, peer.FILTERS), bias),
        dense(random, peer.FILTERS * side * side, peer.DENSE),
        dense(random, peer.DENSE, peer.CLASSES),
    ]


def outputs_of(layers, images):
    values = images
    if layers[0][0].ndim == 4:
        values = lax.conv_general_dilated(
            values[..., None], layers[0][0], (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        window = (1, peer.POOL, peer.POOL, 1)
        values = lax.reduce_window(jax.nn.relu(values + layers[0][1]), -jnp.inf, lax.max, window, window, "VALID")
        layers = layers[1:]
    values = values.reshape(len(values), -1)
    for weight, bias in layers[:-1]:
        values = jax.nn.relu(values @ weight + bias)
    return values @ layers[-1][0] + layers[-1][1]


def loss_of(layers, images, labels):
    logs = jax.nn.log_softmax(outputs_of(layers, images))
    return -jnp.take_along_axis(logs, labels[:, None], axis=1).mean()


def adam(parameter, gradient, average, square, step):
    average = BETA1 * average + (1 - BETA1) * gradient
    square = BETA2 * square + (1 - BETA2) * gradient**2
    rate = peer.LEARNING_RATE / (1 - BETA1**step)
    return parameter - rate * average / (jnp.sqrt(square / (1 - BETA2**step)) + EPSILON), average, square


def step_of(images, labels, state, chosen, mean=lambda values: lax.pmean(values, "replicas")):
    layers, averages, squares, step = state
    step += 1
    loss, gradients = jax.value_and_grad(loss_of)(layers, images[chosen], labels[chosen])
    gradients, loss = mean((gradients, loss))
    updated = jax.tree.map(lambda *of_one: adam(*of_one, step), layers, gradients, averages, squares)
    layers, averages, squares = jax.tree.transpose(jax.tree.structure(layers), jax.tree.structure((0, 0, 0)), updated)
    return (layers, averages, squares, step), loss


def on_all_replicas(tree):
    """A copy of all arrays on each device."""
    copies = jax.tree.map(lambda array: numpy.broadcast_to(array, (OPTIONS.replicas, *numpy.shape(array))), tree)
    return jax.pmap(lambda arrays: arrays)(copies)


def make_window(images, labels):
    """The function of a window: (state, what is chosen) -> (state, loss)."""
    images, labels = on_all_replicas(images), on_all_replicas(labels)
    on_replicas = functools.partial(jax.pmap, axis_name="replicas", donate_argnums=2)

    def scan(images, labels, state, chosen):
        state, losses = lax.scan(functools.partial(step_of, images, labels), state, chosen)
        return state, losses.mean()

    if OPTIONS.model in peer.HIDDEN:
        return functools.partial(on_replicas(scan), images, labels)
    step = on_replicas(step_of)  # within a scan, XLA's convolutions are ten times slower on processors

    def steps(state, chosen):
        for number in range(chosen.shape[1]):
            state, loss = step(images, labels, state, chosen[:, number])
        return state, loss

    return steps


def make_gpu_window(images, labels):
    """The function of a window on one GPU: (state, what is chosen) -> (state, loss)."""
    # By themselves, JAX's products of float32 on a GPU are TensorFloat-32.
    jax.config.update("jax_default_matmul_precision", "float32" if OPTIONS.precision == "float32" else "tensorfloat32")
    images, labels = jax.device_put((images, labels))

    @functools.partial(jax.jit, donate_argnums=2)
    def call(images, labels, state, chosen, number):
        step = functools.partial(step_of, images, labels, mean=lambda values: values)
        return lax.scan(step, state, lax.dynamic_index_in_dim(chosen, number, keepdims=False))

    def calls(state, chosen):
        chosen = jax.device_put(chosen.reshape(-1, STEPS_OF_CALL, OPTIONS.batch))
        losses = []
        for number in range(len(chosen)):
            state, of_steps = call(images, labels, state, chosen, number)
            losses.append(of_steps)
        return state, [jnp.concatenate(losses).mean()]

    return calls


def windows(count, batch, replicas, window):
    """What each replica takes in a window, [replicas, steps, batch], without end: a new order every epoch."""
    random = numpy.random.default_rng(42)
    of_step = batch * replicas
    order = numpy.empty(0, numpy.int32)
    while True:
        while len(order) < window * of_step:
            epoch = random.permutation(count).astype(numpy.int32)
            order = numpy.concatenate([order, epoch[: count // of_step * of_step]])
        yield order[: window * of_step].reshape(window, replicas, batch).swapaxes(0, 1)
        order = order[window * of_step :]


def main():
    images, labels = peer.load_data(OPTIONS.data)
    if OPTIONS.model in peer.HIDDEN:
        images = images.reshape(len(images), -1)
    on_gpu = OPTIONS.device == "gpu"
    window = (make_gpu_window if on_gpu else make_window)(images, labels.astype(numpy.int32))
    layers = make_model(OPTIONS.model)
    none = jax.tree.map(numpy.zeros_like, layers)
    state = (layers, none, none, numpy.float32(0))
    state = jax.device_put(state) if on_gpu else on_all_replicas(state)
    chosen = windows(len(images), OPTIONS.batch, OPTIONS.replicas, OPTIONS.window)
    for step in range(OPTIONS.window, OPTIONS.steps + 1, OPTIONS.window):
        state, loss = window(state, next(chosen))
        peer.report(step, loss[0])


if __name__ == "__main__":
    main()
