"""configs/flowers_mirrored.yaml in Keras with MirroredStrategy, as the tutorials do it: two logical CPUs as the replicas,
pictures decoded and scaled once and then kept in memory. Reports the pictures of each window of steps."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import peer
import picture_peer

REPLICAS = 2
CLASSES = 5


def make_data(options):
    files, labels = picture_peer.files_and_labels(options.pictures)

    def read(path, label):
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(picture, [options.size, options.size]) / 255, label

    data = tf.data.Dataset.from_tensor_slices((files, labels)).map(read, num_parallel_calls=tf.data.AUTOTUNE).cache()
    data = data.shuffle(1000).repeat().batch(options.batch, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    choices = tf.data.Options()
    choices.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    return data.with_options(choices)


def make_model(size):
    layers = tf.keras.layers
    return tf.keras.Sequential(
        [
            layers.Input((size, size, 3)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(CLASSES),
        ]
    )


class Reporter(tf.keras.callbacks.Callback):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def on_train_batch_end(self, batch, logs=None):
        if (batch + 1) % self.window == 0:
            peer.report(batch + 1, logs["loss"])


def main():
    options = picture_peer.options()
    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * REPLICAS)
    tf.random.set_seed(42)
    strategy = tf.distribute.MirroredStrategy([f"CPU:{replica}" for replica in range(REPLICAS)])
    with strategy.scope():
        model = make_model(options.size)
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.Adam(peer.LEARNING_RATE), loss)
    model.fit(make_data(options), steps_per_epoch=options.steps, verbose=0, callbacks=[Reporter(options.window)])


if __name__ == "__main__":
    main()
