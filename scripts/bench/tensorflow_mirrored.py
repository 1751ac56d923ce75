"""The workload in TensorFlow's MirroredStrategy, two logical CPUs of one process as the replicas.

`--loop steps` is the fastest way that was found: a loop of our own with one thread per operation, two at once, and a
whole window of steps in one tf.function. `--loop fit` is how the tutorials do it: Keras' fit and default threads."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import peer


def make_model(kind):
    layers = tf.keras.layers
    if kind == "mlp":
        wide, narrow = peer.HIDDEN["mlp"]
        stack = [
            layers.Flatten(),
            layers.Dense(wide, activation="relu"),
            layers.Dense(narrow, activation="relu"),
        ]
    else:
        stack = [
            layers.Conv2D(peer.FILTERS, peer.KERNEL, activation="relu"),
            layers.MaxPooling2D(peer.POOL),
            layers.Flatten(),
            layers.Dense(peer.DENSE, activation="relu"),
        ]
    return tf.keras.Sequential([layers.Input((28, 28, 1)), *stack, layers.Dense(peer.CLASSES)])


def make_dataset(folder, global_batch):
    """Shuffles the indices and gathers whole batches: 1.7 times as fast here as shuffling the images."""
    images, labels = (tf.constant(array) for array in peer.load_data(folder))
    images = images[..., tf.newaxis]
    count = len(labels)
    dataset = tf.data.Dataset.range(count).cache().shuffle(count).batch(global_batch, drop_remainder=True)
    dataset = dataset.map(lambda chosen: (tf.gather(images, chosen), tf.gather(labels, chosen)))
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    return dataset.repeat().prefetch(4).with_options(options)


def run_steps(strategy, model, dataset, options):
    global_batch = options.batch * options.replicas
    with strategy.scope():
        optimizer = tf.keras.optimizers.Adam(peer.LEARNING_RATE)
        optimizer.build(model.trainable_variables)
    loss_of = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="sum")

    def step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = loss_of(targets, model(inputs, training=True)) / global_batch
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    @tf.function
    def window(batches):
        total = tf.constant(0.0)
        for _ in tf.range(options.window):
            losses = strategy.run(step, args=next(batches))
            total += strategy.reduce("SUM", losses, axis=None)
        return total / options.window

    batches = iter(strategy.experimental_distribute_dataset(dataset))
    for done in range(options.window, options.steps + 1, options.window):
        peer.report(done, window(batches))


def run_fit(strategy, model, dataset, options):
    with strategy.scope():
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.Adam(peer.LEARNING_RATE), loss)

    class Reporter(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if (batch + 1) % options.window == 0:
                peer.report(batch + 1, logs["loss"])

    model.fit(dataset, steps_per_epoch=options.steps, verbose=0, callbacks=[Reporter()])


def main():
    options = peer.options(loops=["steps", "fit"])
    if options.loop == "steps":
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(options.replicas)
    processor = tf.config.list_physical_devices("CPU")[0]
    logical = [tf.config.LogicalDeviceConfiguration()] * options.replicas
    tf.config.set_logical_device_configuration(processor, logical)
    tf.random.set_seed(42)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(options.replicas)])
    with strategy.scope():
        model = make_model(options.model)
    dataset = make_dataset(options.data, options.batch * options.replicas)
    (run_steps if options.loop == "steps" else run_fit)(strategy, model, dataset, options)


if __name__ == "__main__":
    main()
