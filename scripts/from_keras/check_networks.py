"""The networks that scripts/check_keras converts: those of Keras' lessons, some of keras.applications, and one of every
layer. Each function takes the rate of dropout, and returns a compiled model."""

import functools

import keras
from keras import layers

SIDE, CLASSES = 64, 5


def of_layers(shape, *rest):
    return keras.Sequential([keras.Input(shape), *rest])


def compiled(model, loss=None, optimizer=None):
    loss = loss or keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    metrics = ["mae"] if loss == "mean_squared_error" else ["accuracy"]
    model.compile(optimizer or keras.optimizers.Adam(1e-3), loss, metrics=metrics)
    return model


def mnist_mlp(dropout):
    return compiled(
        of_layers(
            (784,),
            layers.Dense(128, activation="relu"),
            layers.Dropout(dropout),
            layers.Dense(10, activation="softmax"),
        ),
        "sparse_categorical_crossentropy",
    )


def mnist_cnn(dropout):
    """https://keras.io/examples/vision/mnist_convnet"""
    return compiled(
        of_layers(
            (28, 28, 1),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(dropout),
            layers.Dense(10, activation="softmax"),
        ),
        "sparse_categorical_crossentropy",
    )


def flowers_cnn(dropout):
    """TensorFlow's lesson on classifying pictures, on smaller ones."""
    blocks = []
    for filters in (16, 32, 64):
        blocks += [layers.Conv2D(filters, 3, padding="same", activation="relu"), layers.MaxPooling2D()]
    return compiled(
        of_layers(
            (48, 32, 3),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.Rescaling(1 / 255),
            *blocks,
            layers.Dropout(dropout),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(CLASSES),
        )
    )


def every_layer(dropout):
    """Each kind of layer and of padding that has a counterpart, and branches."""
    start = keras.Input((30, 30, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(start)
    x = layers.ZeroPadding2D(2)(x)
    x = layers.Conv2D(12, 5, strides=2, use_bias=False, name="stem.conv")(x)
    x = layers.BatchNormalization(momentum=0.9, epsilon=1e-4)(x)
    x = layers.ReLU()(x)
    x = layers.ZeroPadding2D(1)(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    branch = layers.Conv2D(16, 1, use_bias=False)(x)
    x = layers.SeparableConv2D(16, 3, padding="same", depth_multiplier=2, activation="gelu")(x)
    x = layers.LayerNormalization()(x)
    x = layers.Add()([branch, x])
    before = x
    x = layers.Activation("silu")(x)
    x = layers.DepthwiseConv2D(3, padding="same", depth_multiplier=1, activation="tanh")(x)
    x = layers.Conv2D(16, 3, padding="same", groups=4, kernel_initializer="he_normal")(x)
    x = layers.GroupNormalization(4)(x)
    x = layers.Add()([before, x])
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(x)
    x = layers.DepthwiseConv2D(3, strides=2, use_bias=False)(x)
    x = layers.ReLU(6.0)(x)
    inner = keras.Sequential([layers.Dense(8, activation="sigmoid"), layers.Flatten()])
    x = inner(x)
    x = layers.BatchNormalization()(x)
    x = layers.Dropout(dropout)(x)
    return compiled(keras.Model(start, layers.Dense(CLASSES)(x)))


def pooled(dropout):
    """Averages, a maximum of whole maps, and pixels that are normalised in the model; one output."""
    start = keras.Input((32, 32, 3))
    x = layers.Normalization(mean=[120.0, 110.0, 100.0], variance=[3000.0, 2500.0, 2000.0])(start)
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.AveragePooling2D(3, strides=2, padding="same")(x)
    average = layers.GlobalAveragePooling2D()(x)
    largest = layers.GlobalMaxPooling2D()(x)
    x = layers.Add()([average, largest])
    return compiled(keras.Model(start, layers.Dense(1, activation="sigmoid")(x)), "binary_crossentropy")


def frozen(dropout):
    """The first layers keep their variables, and their moving statistics."""
    first = [layers.Conv2D(8, 3, use_bias=False), layers.BatchNormalization(), layers.ReLU()]
    for layer in first:
        layer.trainable = False
    rest = [layers.Conv2D(8, 3, strides=2, activation="relu"), layers.Flatten(), layers.Dense(CLASSES)]
    rate = keras.optimizers.schedules.CosineDecay(0.05, 8)
    return compiled(of_layers((16, 16, 3), *first, *rest), optimizer=keras.optimizers.SGD(rate))


def optimizer_of(name, **fields):
    """A small network with other optimizers."""

    def make(dropout):
        model = of_layers((12,), layers.Dense(16, activation="tanh"), layers.Dense(3))
        return compiled(model, "mean_squared_error", getattr(keras.optimizers, name)(**fields))

    return make


def scheduled(kind, *arguments, **fields):
    def make(dropout):
        rate = getattr(keras.optimizers.schedules, kind)(*arguments, **fields)
        return optimizer_of("SGD", learning_rate=rate)(dropout)

    return make


def application(name, dropout, **options):
    network = getattr(keras.applications, name)(
        weights=None, include_top=False, input_shape=(SIDE, SIDE, 3), pooling="avg", **options
    )
    return compiled(keras.Sequential([keras.Input((SIDE, SIDE, 3)), network, layers.Dense(CLASSES)]))


def resnet50_head(dropout):
    """Transfer learning: the network's own preprocessing in the model, frozen layers, one output."""
    network = keras.applications.ResNet50(weights=None, include_top=False, input_shape=(SIDE, SIDE, 3))
    network.trainable = False
    start = keras.Input((SIDE, SIDE, 3))
    x = keras.applications.resnet.preprocess_input(start)
    x = layers.GlobalAveragePooling2D()(network(x, training=False))
    x = layers.Dropout(dropout)(x)
    return compiled(keras.Model(start, layers.Dense(1, activation="sigmoid")(x)), "binary_crossentropy")


def vgg16_top(dropout):
    """With its own top, whose first dense layer takes flattened maps."""
    return compiled(
        keras.applications.VGG16(weights=None, classes=CLASSES, input_shape=(SIDE, SIDE, 3)),
        "sparse_categorical_crossentropy",
    )


SMALL = {  # trained, too
    "mnist_mlp": mnist_mlp,
    "mnist_cnn": mnist_cnn,
    "flowers_cnn": flowers_cnn,
    "every_layer": every_layer,
    "pooled": pooled,
    "frozen": frozen,
    "sgd": optimizer_of("SGD", learning_rate=0.05, momentum=0.9, nesterov=True, global_clipnorm=1.0),
    "sgd_decay": optimizer_of("SGD", learning_rate=0.05, weight_decay=0.01),
    "adamw": optimizer_of("AdamW", learning_rate=0.01, weight_decay=0.1),
    "rmsprop": optimizer_of("RMSprop", learning_rate=1e-3, momentum=0.5),
    "lion": optimizer_of("Lion", learning_rate=1e-3, weight_decay=0.1),
    "piecewise": scheduled("PiecewiseConstantDecay", [2, 5], [0.1, 0.05, 0.01]),
    "exponential": scheduled("ExponentialDecay", 0.1, 3, 0.5),
    "staircase": scheduled("ExponentialDecay", 0.1, 3, 0.5, staircase=True),
    "cosine": scheduled("CosineDecay", 0.1, 8, alpha=0.1),
    "polynomial": scheduled("PolynomialDecay", 0.1, 8, end_learning_rate=0.01, power=2.0),
}
LARGE = {
    "resnet50": functools.partial(application, "ResNet50"),
    "resnet101": functools.partial(application, "ResNet101"),
    "vgg16": functools.partial(application, "VGG16"),
    "vgg19": functools.partial(application, "VGG19"),
    "mobilenet_v2": functools.partial(application, "MobileNetV2"),
    "resnet50_head": resnet50_head,
    "vgg16_top": vgg16_top,
}
