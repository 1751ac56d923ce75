// The tables of the fields of layers and of operations on pictures.
#include "spec/field_table.h"
#include "spec/fields.h"

namespace dtrain {
namespace {

const Choices kPaddings{"padding", {"valid", "same", "symmetric"}};
const Choices kDirections{"direction", {"horizontal", "vertical"}};
const Choices kPaddingModes{"mode", {"zero", "reflect"}};

}  // namespace

const Choices& layer_kinds() {
  static const Choices choices{
      "layer",
      {"conv2d", "max_pool2d", "avg_pool2d", "global_avg_pool2d", "flatten", "dense", "relu", "gelu", "tanh",
       "sigmoid", "batch_norm", "layer_norm", "dropout", "add"}};
  return choices;
}

const Choices& augment_kinds() {
  static const Choices choices{"operation", {"flip", "random_crop", "random_resized_crop"}};
  return choices;
}

#define LAYER(...) FIELD(LayerSpec, __VA_ARGS__)
#define AUGMENT(...) FIELD(AugmentSpec, __VA_ARGS__)

const Fields<LayerSpec>& layer_fields() {
  static const std::string kLayerName = "[A-Za-z][A-Za-z0-9_]{0,63}";
  static const Condition weighted{{"kind"}, {"conv2d", "dense"}};
  static const Condition sliding{{"kind"}, {"conv2d", "max_pool2d", "avg_pool2d"}};
  static const Condition pools{{"kind"}, {"max_pool2d", "avg_pool2d"}};
  static const Condition conv2d{{"kind"}, {"conv2d"}};
  static const Condition dense{{"kind"}, {"dense"}};
  static const Condition dropout{{"kind"}, {"dropout"}};
  static const Condition add{{"kind"}, {"add"}};
  static const Condition batch_norm{{"kind"}, {"batch_norm"}};
  static const Condition norms{{"kind"}, {"batch_norm", "layer_norm"}};
  // clang-format off
  static const Fields<LayerSpec> fields = {
      LAYER(kind, .doc = "what the layer does; layer_norm normalises each example by itself, over its features or at "
          "each pixel over the channels", .choices = &layer_kinds(), .required = true),
      LAYER(units, .doc = "outputs", .unit = "units", .bounds = between(1, 1e6), .when = dense, .required = true),
      LAYER(filters, .doc = "output channels", .unit = "filters", .bounds = between(1, 1e6), .when = conv2d,
            .required = true),
      LAYER(kernel_size, .doc = "height and width of the kernel", .unit = "pixels", .bounds = between(1, 1024),
            .when = conv2d),
      LAYER(pool_size, .doc = "height and width of the pooled window", .unit = "pixels", .bounds = between(1, 1024),
            .when = pools),
      LAYER(stride, .doc = "the step of the kernel or window", .unit = "pixels", .bounds = between(1, 1024),
            .otherwise = "conv2d: 1; pools: `pool_size`", .when = sliding),
      LAYER(padding, .doc = "valid: none; same: zeros, so that a stride of 1 keeps the size, the odd one at the end "
          "as in TensorFlow; symmetric: half the window on every side, as in PyTorch; an average leaves padded cells "
          "out, as PyTorch's does with count_include_pad=False", .choices = &kPaddings, .when = sliding),
      LAYER(groups, .doc = "the input channels and the filters are divided into this many groups, and each filter sees "
          "the channels of its own group only; as many groups as channels: a depthwise convolution. Both numbers "
          "must be multiples of it", .bounds = between(1, 1e6), .when = conv2d),
      LAYER(use_bias, .doc = "add a learned bias", .when = weighted),
      LAYER(activation, .doc = "short for a layer of this kind after it; where another layer names this one, the "
          "output of the activation is meant", .choices = &activation_kinds(), .word = "none", .when = weighted),
      LAYER(initializer, .doc = "the distribution of the initial weights; the bias starts at zero",
            .choices = &initializer_kinds(), .when = weighted),
      LAYER(rate, .doc = "the share of inputs set to zero while training", .bounds = zero_to_below_one(),
            .when = dropout),
      LAYER(momentum, .doc = "the share of the moving statistics that a step keeps", .bounds = zero_to_below_one(),
            .when = batch_norm),
      LAYER(epsilon, .doc = "added to the variance", .bounds = above_zero_to(1), .when = norms),
      LAYER(with, .doc = "the name of the earlier layer whose output is added to this one's input",
            .pattern = kLayerName, .when = add, .required = true),
      LAYER(name, .doc = "the name that other layers use for it, and that its variables begin with",
            .pattern = kLayerName, .otherwise = "kind and number, such as `dense_1`"),
      LAYER(from, .doc = "the name of the earlier layer whose output is this one's input", .pattern = kLayerName,
            .otherwise = "the layer before it"),
  };
  // clang-format on
  return fields;
}

const Fields<AugmentSpec>& augment_fields() {
  static const Condition flip{{"kind"}, {"flip"}};
  static const Condition random_crop{{"kind"}, {"random_crop"}};
  static const Condition areas{{"kind"}, {"random_resized_crop"}};
  // clang-format off
  static const Fields<AugmentSpec> fields = {
      AUGMENT(kind, .doc = "what is done", .choices = &augment_kinds(), .required = true),
      AUGMENT(probability, .doc = "the share of the examples that it is done to", .bounds = between(0, 1),
              .otherwise = "flip: 0.5; others: 1"),
      AUGMENT(direction, .doc = "horizontal: left and right change places; vertical: top and bottom",
              .choices = &kDirections, .when = flip),
      AUGMENT(padding, .doc = "the picture is moved by up to this much, in each direction", .unit = "pixels",
              .bounds = between(1, 4096), .when = random_crop),
      AUGMENT(padding_mode, .doc = "what comes in at the border: black, or the picture reflected",
              .choices = &kPaddingModes, .when = random_crop),
      AUGMENT(scale, .doc = "the least and the largest area, as a part of the picture's",
              .bounds = {0.0, 1.0, true, false}, .length = {2, 2}, .otherwise = "`[0.08, 1]`", .when = areas),
      AUGMENT(ratio, .doc = "the least and the largest width of that area, as a part of its height",
              .bounds = {1e-3, 1e3, false, false}, .length = {2, 2}, .otherwise = "`[0.75, 1.333]`", .when = areas),
  };
  // clang-format on
  return fields;
}

template <>
const EntryList<LayerSpec>& entry_list() {
  static const EntryList<LayerSpec> list{"model.layers", "a layer",     "layers", "{kind: dense, units: 10}",
                                         layer_kinds(),  layer_fields()};
  return list;
}

template <>
const EntryList<AugmentSpec>& entry_list() {
  static const EntryList<AugmentSpec> list{"data.augment",  "an operation",
                                           "operations",    "{kind: random_crop, padding: 4}",
                                           augment_kinds(), augment_fields()};
  return list;
}

}  // namespace dtrain
