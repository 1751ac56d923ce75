"""Pictures read as TensorFlow programs do: tf.data, two calls at once. Its resize has no antialiasing by default."""

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import picture_peer


def main():
    options = picture_peer.options()
    files, labels = picture_peer.files_and_labels(options.pictures)

    def read(path, label):
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        picture = tf.image.resize(picture, [options.size, options.size]) / 255
        return tf.image.random_flip_left_right(picture), label

    data = tf.data.Dataset.from_tensor_slices((files, labels)).shuffle(len(files)).repeat()
    data = data.map(read, num_parallel_calls=2).batch(options.batch, drop_remainder=True).prefetch(2)
    threads = tf.data.Options()
    threads.threading.private_threadpool_size = 2
    picture_peer.read_all(data.with_options(threads), options)


if __name__ == "__main__":
    main()
