"""Writes Keras' ResNet-50 with random weights in each format that Keras has, images, and its outputs. Started by
scripts/check_models: keras_resnet.py FOLDER"""

import pathlib
import sys

import keras
import numpy

CLASSES, SIDE, EXAMPLES = 5, 64, 8

folder = pathlib.Path(sys.argv[1])
keras.utils.set_random_seed(1)
generator = numpy.random.default_rng(1)
model = keras.applications.ResNet50(
    weights=None, classes=CLASSES, input_shape=(SIDE, SIDE, 3), classifier_activation=None
)
images = generator.integers(0, 256, (EXAMPLES, SIDE, SIDE, 3), numpy.uint8)
inputs = keras.applications.resnet.preprocess_input(images.astype(numpy.float32))
norms = [layer for layer in model.layers if isinstance(layer, keras.layers.BatchNormalization)]
for layer in model.layers:  # no number stays what it begins with
    if isinstance(layer, keras.layers.Conv2D):
        layer.bias.assign(generator.uniform(-1, 1, layer.bias.shape))
for layer in norms:
    layer.gamma.assign(generator.uniform(0.5, 1.5, layer.gamma.shape))
    layer.beta.assign(generator.uniform(-0.5, 0.5, layer.beta.shape))
    layer.momentum = 0.0  # the moving statistics become those of these images
model(inputs, training=True)
for layer in norms:
    layer.momentum = 0.99
    layer.moving_variance.assign(layer.moving_variance * generator.uniform(0.9, 1.1, layer.moving_variance.shape))

for part in ("train", "test"):
    numpy.save(folder / f"x_{part}.npy", images.transpose(0, 3, 1, 2).copy())
    numpy.save(folder / f"y_{part}.npy", numpy.arange(EXAMPLES) % CLASSES)
numpy.save(folder / "logits.npy", numpy.asarray(model(inputs, training=False)))
model.save(folder / "model.keras")
model.save(folder / "model.h5")
model.save_weights(folder / "only.weights.h5")
