// What each kind of layer computes, against numbers worked out by hand and plain loops.
#include "models/layer_kinds.h"

#include <torch/nn/modules/normalization.h>

#include <algorithm>
#include <cmath>

#include "models/tensors.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

void set(Layer& layer, const std::string& name, const at::Tensor& value) {
  at::NoGradGuard no_grad;
  layer.named_parameters()[name].copy_(value);
}

TEST_CASE("dense: input * weight' + bias") {
  const auto layer = make_layer(dense(2), {3});
  set(*layer, "weight", tensor({1, 2, 3, 4, 5, 6}, {2, 3}));
  set(*layer, "bias", tensor({10, 20}, {2}));
  CHECK(difference(layer->forward(tensor({1, 0, -1, 2, 2, 2}, {2, 3})), tensor({8, 18, 22, 50}, {2, 2})) ==
        0);
  CHECK(make_layer(without_bias(dense(2)), {3})->parameters().size() == 1);
}

TEST_CASE("activations") {
  const at::Tensor x = tensor({-2, -0.5, 0, 0.5, 2}, {1, 5});
  const auto apply = [&](const std::string& kind, double (*f)(double)) {
    std::vector<double> expected;
    for (const double value : {-2.0, -0.5, 0.0, 0.5, 2.0}) expected.push_back(f(value));
    return difference(make_layer(layer(kind), {5})->forward(x), tensor(expected, {1, 5}));
  };
  CHECK(apply("relu", [](double v) { return v > 0 ? v : 0; }) == 0);
  CHECK(difference(make_layer(layer("relu6"), {4})->forward(tensor({-1, 3, 6, 7}, {1, 4})),
                   tensor({0, 3, 6, 6}, {1, 4})) == 0);
  CHECK(apply("tanh", [](double v) { return std::tanh(v); }) < 1e-15);
  CHECK(apply("sigmoid", [](double v) { return 1 / (1 + std::exp(-v)); }) < 1e-15);
  CHECK(apply("silu", [](double v) { return v / (1 + std::exp(-v)); }) < 1e-15);
  CHECK(apply("gelu", [](double v) { return v / 2 * (1 + std::erf(v / std::sqrt(2.0))); }) < 1e-15);
  CHECK(difference(x, tensor({-2, -0.5, 0, 0.5, 2}, {1, 5})) == 0);  // none works in place
}

TEST_CASE("flatten is a view in row-major order") {
  const at::Tensor x = noise({2, 3, 4, 5});
  const at::Tensor y = make_layer(layer("flatten"), {3, 4, 5})->forward(x);
  CHECK(y.sizes() == at::IntArrayRef({2, 60}));
  CHECK(y.data_ptr() == x.data_ptr());
  CHECK(y[1][37].item<double>() == x[1][1][3][2].item<double>());
}

TEST_CASE("flatten makes rows of one number of numbers") {
  const at::Tensor y = make_layer(layer("flatten"), {})->forward(noise({3}));
  CHECK(y.sizes() == at::IntArrayRef({3, 1}));
}

TEST_CASE("adaptive pooling averages the cells under each pixel of its output") {
  const auto pool = make_layer(adaptive(2), {1, 3, 4});
  // Rows 0-1 and 1-2, columns 0-1 and 2-3.
  CHECK(difference(pool->forward(counting(3, 4)), tensor({3.5, 5.5, 7.5, 9.5}, {1, 1, 2, 2})) == 0);
  const at::Tensor x = noise({2, 3, 5, 8});
  for (const int64_t size : {1, 3, 7, 11}) {
    CHECK(difference(make_layer(adaptive(size), {3, 5, 8})->forward(x),
                     at::adaptive_avg_pool2d(x, {size, size})) == 0);
  }
  const at::Tensor same = noise({2, 3, 7, 7});
  CHECK(difference(make_layer(adaptive(7), {3, 7, 7})->forward(same), same) == 0);
}

TEST_CASE("valid pooling drops what does not fill a window") {
  const at::Tensor x = counting(3, 5);
  CHECK(difference(make_layer(pool2d("max_pool2d", 2), {1, 3, 5})->forward(x),
                   tensor({7, 9}, {1, 1, 1, 2})) == 0);
  CHECK(difference(make_layer(pool2d("avg_pool2d", 2), {1, 3, 5})->forward(x),
                   tensor({4, 6}, {1, 1, 1, 2})) == 0);
}

TEST_CASE("same pooling puts the odd cell of padding at the bottom and right, and does not count it") {
  const auto pool = [](const std::string& kind, int64_t size, int64_t stride, const at::Tensor& x) {
    return make_layer(with_padding(with_stride(pool2d(kind, size), stride), "same"),
                      {1, x.size(2), x.size(3)})
        ->forward(x);
  };
  const at::Tensor three = counting(3, 3);
  CHECK(difference(pool("max_pool2d", 2, 2, three), tensor({5, 6, 8, 9}, {1, 1, 2, 2})) == 0);
  CHECK(difference(pool("avg_pool2d", 2, 2, three), tensor({3, 4.5, 7.5, 9}, {1, 1, 2, 2})) == 0);
  CHECK(difference(pool("max_pool2d", 2, 1, three), tensor({5, 6, 6, 8, 9, 9, 8, 9, 9}, {1, 1, 3, 3})) == 0);
  CHECK(difference(pool("avg_pool2d", 2, 1, three),
                   tensor({3, 4, 4.5, 6, 7, 7.5, 7.5, 8.5, 9}, {1, 1, 3, 3})) == 0);
  const at::Tensor four = counting(4, 4);
  CHECK(difference(pool("max_pool2d", 3, 2, four), tensor({11, 12, 15, 16}, {1, 1, 2, 2})) == 0);
  CHECK(difference(pool("avg_pool2d", 3, 2, four), tensor({6, 7.5, 12, 13.5}, {1, 1, 2, 2})) == 0);
  // Padding on both sides alike, and inputs below zero, which zeros as padding would beat.
  CHECK(difference(pool("avg_pool2d", 3, 1, three),
                   tensor({3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7}, {1, 1, 3, 3})) < 1e-15);
  CHECK(difference(pool("max_pool2d", 3, 1, -three),
                   tensor({-1, -1, -2, -1, -1, -2, -4, -4, -5}, {1, 1, 3, 3})) == 0);
  CHECK(difference(pool("max_pool2d", 2, 1, -three),
                   tensor({-1, -2, -3, -4, -5, -6, -7, -8, -9}, {1, 1, 3, 3})) == 0);
}

TEST_CASE("symmetric average pooling is PyTorch's without the padding in the count") {
  const at::Tensor x = noise({2, 3, 7, 6});
  const auto layer =
      make_layer(with_padding(with_stride(pool2d("avg_pool2d", 3), 2), "symmetric"), {3, 7, 6});
  const auto pytorch = [&](bool count_include_pad) {
    return at::avg_pool2d(x, {3, 3}, {2, 2}, /*padding=*/{1, 1}, /*ceil_mode=*/false, count_include_pad);
  };
  CHECK(difference(layer->forward(x), pytorch(false)) == 0);
  CHECK(difference(layer->forward(x), pytorch(true)) > 0.01);  // PyTorch's default
}

TEST_CASE("same convolution pads with zeros, the odd cell at the bottom and right") {
  const auto sum_of_window = [](int64_t kernel, int64_t stride, const at::Tensor& x) {
    const auto layer =
        make_layer(with_padding(with_stride(conv2d(1, kernel), stride), "same"), {1, x.size(2), x.size(3)});
    set(*layer, "weight", at::ones({1, 1, kernel, kernel}, at::kDouble));
    return layer->forward(x);
  };
  CHECK(difference(sum_of_window(2, 1, counting(3, 3)),
                   tensor({12, 16, 9, 24, 28, 15, 15, 17, 9}, {1, 1, 3, 3})) < 1e-12);
  CHECK(difference(sum_of_window(3, 2, counting(4, 4)), tensor({54, 45, 72, 54}, {1, 1, 2, 2})) < 1e-12);
  CHECK(difference(sum_of_window(3, 1, counting(2, 2)), tensor({10, 10, 10, 10}, {1, 1, 2, 2})) < 1e-12);
  CHECK(difference(sum_of_window(5, 3, counting(1, 4)), tensor({6, 9}, {1, 1, 1, 2})) < 1e-12);
}

TEST_CASE("layer_norm: Keras' over the last axis of [n, features] and of channels_last images") {
  // keras.layers.LayerNormalization(epsilon=0.001) of [[1, 2, 6], [-4, 0, 1]], by hand: the means are 3 and
  // -1, the variances 14/3 each.
  const double deviation = std::sqrt(14.0 / 3 + 0.001);
  const auto features = make_layer(layer("layer_norm"), {3});
  const at::Tensor x = tensor({1, 2, 6, -4, 0, 1}, {2, 3});
  CHECK(difference(features->forward(x), tensor({-2, -1, 3, -3, 1, 2}, {2, 3}) / deviation) < 1e-15);
  set(*features, "weight", tensor({1, 2, 3}, {3}));
  set(*features, "bias", tensor({10, 20, 30}, {3}));
  CHECK(difference(features->forward(x),
                   tensor({-2, -2, 9, -3, 2, 6}, {2, 3}) / deviation + tensor({10, 20, 30}, {3})) < 1e-14);

  const auto channels = make_layer(layer("layer_norm"), {3, 4, 5});
  set(*channels, "weight", tensor({1, 2, 3}, {3}));
  set(*channels, "bias", tensor({10, 20, 30}, {3}));
  const at::Tensor image = noise({2, 3, 4, 5});
  const at::Tensor y = channels->forward(image);
  REQUIRE(y.sizes() == image.sizes());
  // Each pixel by itself, as if its channels were features.
  CHECK(difference(y.select(3, 4).select(2, 1), [&] {
          const auto pixel = make_layer(layer("layer_norm"), {3});
          set(*pixel, "weight", tensor({1, 2, 3}, {3}));
          set(*pixel, "bias", tensor({10, 20, 30}, {3}));
          return pixel->forward(image.select(3, 4).select(2, 1));
        }()) < 1e-14);
}

// By its formula, and for images and numbers in a row PyTorch's module.
TEST_CASE("group_norm: each group of an example's channels, over all pixels or tokens, by itself") {
  const Shape input = GENERATE(Shape{6}, Shape{6, 4, 5}, Shape{7, 6});
  const int64_t groups = GENERATE(1, 2, 3);
  const bool of_tokens = input.size() == 2;
  INFO(to_string(input) << " in " << groups);
  const auto norm =
      make_layer({.kind = "group_norm", .own = NormFields{.epsilon = 0.01, .groups = groups}}, input);
  const at::Tensor weight = noise({6}, 2), bias = noise({6}, 3);
  set(*norm, "weight", weight);
  set(*norm, "bias", bias);
  Shape sizes = input;
  sizes.insert(sizes.begin(), 5);
  const at::Tensor x = noise(sizes) * 3 + 1;
  const at::Tensor by_channels = of_tokens ? x.transpose(1, 2) : x;
  const at::Tensor rows = by_channels.reshape({5, groups, -1});
  const at::Tensor centred = rows - rows.mean(2, /*keepdim=*/true);
  const at::Tensor normalised =
      (centred / (centred.square().mean(2, /*keepdim=*/true) + 0.01).sqrt()).reshape({5, 6, -1});
  const at::Tensor scaled =
      (normalised * weight.view({6, 1}) + bias.view({6, 1})).reshape(by_channels.sizes());
  const at::Tensor expected = of_tokens ? scaled.transpose(1, 2) : scaled;
  CHECK(difference(norm->forward(x), expected) < 1e-12);
  CHECK(difference(norm->forward(x.slice(0, 2, 3)), expected.slice(0, 2, 3)) < 1e-12);  // whatever the batch
  if (of_tokens) return;
  torch::nn::GroupNorm theirs(torch::nn::GroupNormOptions(groups, 6).eps(0.01));
  theirs->to(at::kDouble);
  const at::NoGradGuard no_grad;
  theirs->weight.copy_(weight);
  theirs->bias.copy_(bias);
  CHECK(difference(norm->forward(x), theirs->forward(x)) < 1e-10);
}

TEST_CASE("a filter of a convolution in groups sees the channels of its group only") {
  const int64_t groups = GENERATE(2, 4);  // 4: depthwise, two filters for each channel
  const auto grouped = make_layer(in_groups(conv2d(8, 3), groups), {4, 6, 7});
  const at::Tensor weight = grouped->named_parameters()["weight"];
  REQUIRE(weight.sizes() == at::IntArrayRef({8, 4 / groups, 3, 3}));
  const at::Tensor bias = noise({8}, 3);
  set(*grouped, "bias", bias);
  const at::Tensor image = noise({2, 4, 6, 7});
  std::vector<at::Tensor> parts;
  for (int64_t group = 0; group < groups; ++group)
    parts.push_back(at::conv2d(image.narrow(1, group * 4 / groups, 4 / groups),
                               weight.narrow(0, group * 8 / groups, 8 / groups)));
  const at::Tensor expected = at::cat(parts, 1) + bias.view({1, 8, 1, 1});
  CHECK(difference(grouped->forward(image), expected) < 1e-13);
}

// The cells before the input on one axis as TensorFlow documents them (tf.nn, "Notes on padding"): written
// differently from the layers' own formula on purpose.
int64_t padding_before(int64_t input, int64_t size, int64_t stride, bool same) {
  if (!same) return 0;
  const int64_t beyond = input % stride == 0 ? stride : input % stride;
  return std::max<int64_t>(size - beyond, 0) / 2;
}

enum class Sliding { kConv, kMax, kAvg };

// One output cell by a plain loop. image: [channels, height, width]; kernel: [channels, size, size].
double window_value(Sliding what, const at::Tensor& image, const at::Tensor& kernel, int64_t size,
                    int64_t row, int64_t column, int64_t channel) {
  const auto cells = image.accessor<double, 3>();
  const auto weights = kernel.accessor<double, 3>();
  double sum = 0, largest = -1e9;
  int64_t count = 0;
  for (int64_t i = std::max<int64_t>(row, 0); i < std::min(row + size, image.size(1)); ++i) {
    for (int64_t j = std::max<int64_t>(column, 0); j < std::min(column + size, image.size(2)); ++j) {
      largest = std::max(largest, cells[channel][i][j]);
      ++count;
      if (what == Sliding::kAvg) sum += cells[channel][i][j];
      for (int64_t c = 0; what == Sliding::kConv && c < image.size(0); ++c) {
        sum += cells[c][i][j] * weights[c][i - row][j - column];
      }
    }
  }
  return what == Sliding::kMax ? largest : what == Sliding::kAvg ? sum / static_cast<double>(count) : sum;
}

// Compares a layer of one output cell per channel (one filter for conv2d) with the plain loop; false when it
// differs.
bool agrees(Sliding what, const Shape& input, int64_t size, int64_t stride, bool same) {
  LayerSpec spec = what == Sliding::kConv ? conv2d(1, size)
                                          : pool2d(what == Sliding::kMax ? "max_pool2d" : "avg_pool2d", size);
  spec = with_padding(with_stride(spec, stride), same ? "same" : "valid");
  const auto layer = make_layer(spec, input);
  const at::Tensor images = noise({2, input[0], input[1], input[2]});
  const at::Tensor actual = layer->forward(images).detach();
  const at::Tensor kernel = what == Sliding::kConv ? layer->named_parameters()["weight"].detach()[0]
                                                   : at::zeros({1, 1, 1}, at::kDouble);
  const auto outputs = [&](int64_t length) {
    return same ? (length + stride - 1) / stride : (length - size) / stride + 1;
  };
  at::Tensor expected = at::zeros(
      {2, what == Sliding::kConv ? 1 : input[0], outputs(input[1]), outputs(input[2])}, at::kDouble);
  auto values = expected.accessor<double, 4>();
  for (int64_t n = 0; n < 2; ++n) {
    for (int64_t c = 0; c < expected.size(1); ++c) {
      for (int64_t i = 0; i < expected.size(2); ++i) {
        for (int64_t j = 0; j < expected.size(3); ++j) {
          values[n][c][i][j] = window_value(what, images[n], kernel, size,
                                            i * stride - padding_before(input[1], size, stride, same),
                                            j * stride - padding_before(input[2], size, stride, same), c);
        }
      }
    }
  }
  return difference(actual, expected) < 1e-12;
}

TEST_CASE("sliding layers agree with a plain loop at every size, kernel, stride and padding") {
  for (const Sliding what : {Sliding::kConv, Sliding::kMax, Sliding::kAvg}) {
    for (int64_t height = 1; height <= 6; ++height) {
      for (int64_t size = 1; size <= 4; ++size) {
        for (int64_t stride = 1; stride <= 4; ++stride) {
          const int64_t width = 7 - height + size / 4;
          INFO("kind " << static_cast<int>(what) << " " << height << "x" << width << " window " << size
                       << " stride " << stride);
          CHECK(agrees(what, {2, height, width}, size, stride, true));
          if (size <= height && size <= width) CHECK(agrees(what, {2, height, width}, size, stride, false));
        }
      }
    }
  }
}

TEST_CASE("batch_norm follows its formula in training and evaluation") {
  const bool flat = GENERATE(true, false);
  const Shape input = flat ? Shape{3} : Shape{3, 4, 5};
  const auto norm =
      make_layer({.kind = "batch_norm", .own = NormFields{.momentum = 0.9, .epsilon = 0.01}}, input);
  set(*norm, "weight", tensor({1, 2, 3}, {3}));
  set(*norm, "bias", tensor({-1, 0, 1}, {3}));
  const at::Tensor x = flat ? noise({8, 3}) * 3 + 1 : noise({8, 3, 4, 5}) * 3 + 1;
  const std::vector<int64_t> over = flat ? std::vector<int64_t>{0} : std::vector<int64_t>{0, 2, 3};
  const std::vector<int64_t> wide = flat ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{1, 3, 1, 1};
  const at::Tensor mean = x.mean(over);
  const at::Tensor variance = (x - mean.reshape(wide)).square().mean(over);  // biased
  const auto normalised = [&](const at::Tensor& centre, const at::Tensor& spread) {
    return (x - centre.reshape(wide)) / (spread.reshape(wide) + 0.01).sqrt() * tensor({1, 2, 3}, wide) +
           tensor({-1, 0, 1}, wide);
  };

  CHECK(difference(norm->forward(x), normalised(mean, variance)) < 1e-12);
  const at::Tensor running_mean = norm->named_buffers()["running_mean"];
  const at::Tensor running_var = norm->named_buffers()["running_var"];
  CHECK(difference(running_mean, 0.1 * mean) < 1e-12);
  CHECK(difference(running_var, 0.9 + 0.1 * variance) < 1e-12);
  norm->forward(x);
  CHECK(difference(running_mean, 0.19 * mean) < 1e-12);
  CHECK_FALSE(running_mean.requires_grad());

  norm->eval();
  const at::Tensor before = running_mean.clone();
  CHECK(difference(norm->forward(x), normalised(running_mean, running_var)) < 1e-12);
  CHECK(difference(running_mean, before) == 0);
}

TEST_CASE("batch_norm survives shares of one example and of none") {
  const auto norm = make_layer(layer("batch_norm"), {3}, at::kFloat);
  const at::Tensor one = tensor({5, -2, 0}, {1, 3}).to(at::kFloat);
  CHECK(difference(norm->forward(one), at::zeros({1, 3}, at::kFloat)) < 1e-4);
  const at::Tensor running_var = norm->named_buffers()["running_var"];
  CHECK(difference(running_var, at::full({3}, 0.99, at::kFloat)) < 1e-5);
  CHECK(running_var.min().item<double>() > 0);

  const at::Tensor before = running_var.clone();
  CHECK(norm->forward(one.slice(0, 0, 0)).sizes() == at::IntArrayRef({0, 3}));
  CHECK(difference(running_var, before) == 0);
}

TEST_CASE("dropout drops a share of `rate`, keeps the expectation, and does nothing in evaluation") {
  const auto drop = make_layer({.kind = "dropout", .own = DropoutFields{0.2}}, {1000});
  const at::Tensor x = at::ones({100, 1000}, at::kDouble);
  at::manual_seed(5);
  const at::Tensor y = drop->forward(x);
  const double dropped = (y == 0).to(at::kDouble).mean().item<double>();
  CHECK(dropped == Approx(0.2).margin(0.01));                  // 8 standard deviations
  CHECK(y.mean().item<double>() == Approx(1).margin(0.0125));  // likewise
  CHECK(y.max().item<double>() == Approx(1.25));
  at::manual_seed(5);
  CHECK(difference(drop->forward(x), y) == 0);
  CHECK(difference(drop->forward(x), y) > 0);
  const at::Tensor images = at::rand({3, 8, 5, 4});
  at::manual_seed(5);
  const at::Tensor dropped_images = drop->forward(images);
  at::manual_seed(5);
  const at::Tensor last = drop->forward(images.contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(at::equal(last, dropped_images));  // whatever their order in memory
  CHECK(last.is_contiguous(at::MemoryFormat::ChannelsLast));
  drop->eval();
  CHECK(difference(drop->forward(x), x) == 0);
}

}  // namespace
}  // namespace dtrain
