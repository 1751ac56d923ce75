// layer_norm and group_norm, which normalise each example by itself, whatever the batch.
//
// layer_norm: the mean and variance of an example's features, of each token's features, or at each pixel of
// its channels: Keras' LayerNormalization of channels_last images, and not PyTorch's LayerNorm over a whole
// image.
//
// group_norm (Wu and He 2018, arXiv:1803.08494): the mean and variance of each group of an example's
// channels, over all pixels, or of its features, over all tokens. As Keras' GroupNormalization of
// channels_last images, and PyTorch's GroupNorm.
#include <ATen/ops/group_norm.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "kernels/transpose.h"
#include "layers/norms.h"
#include "layers/tokens.h"

namespace dtrain {
namespace {

std::string norm_problem(const Shape& input) {
  if (!input.empty() && input.size() <= 3) return "";
  return fmt::format(
      "expects an input of [features], [tokens, features] or [channels, height, width] but gets {}",
      to_string(input));
}

LayerSizes place_layer_norm(const LayerSpec&, const Shape& input) {
  if (auto problem = norm_problem(input); !problem.empty()) return fault(problem);
  return {input, 2 * normalised_numbers(input)};
}

class LayerNorm final : public Norm {
 public:
  using Norm::Norm;
  at::Tensor forward(const at::Tensor& input) override {
    if (input.dim() < 4) return normalised(input);
    return normalised(input.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
  }

 private:
  // Over the last dimension.
  at::Tensor normalised(const at::Tensor& input) const {
    return at::layer_norm(input, weight_.sizes(), weight_, bias_, epsilon_);
  }
};

// The channels of each pixel are normalised by themselves: rows of numbers, once each image is transposed.
struct PixelRows {
  ChannelSize size;
  int64_t rows;
  float* means;  // [rows], as the next
  float* inverse_deviations;

  explicit PixelRows(const LayerWork& work)
      : size(channel_size(work)),
        rows(size.numbers_of_channel()),
        means(work.kept),
        inverse_deviations(means + rows) {}

  // `images` as rows, in `place` unless they are rows already.
  const float* of(const float* images, float* place) const {
    if (size.pixels == 1) return images;
    transpose_each(size.examples, size.channels, size.pixels, images, place);
    return place;
  }
  // Where the rows of `images` are to be made: in `place` unless images are rows.
  float* for_result(float* images, float* place) const { return size.pixels == 1 ? images : place; }
  void finish(const float* place, float* images) const {
    if (size.pixels > 1) transpose_each(size.examples, size.pixels, size.channels, place, images);
  }
  static int64_t scratch(const LayerWork& work) {
    return channel_size(work).pixels == 1 ? 0 : 3 * channel_size(work).numbers();
  }
};

void layer_norm(const LayerWork& work) {
  const PixelRows pixels(work);
  float* const result = pixels.for_result(work.output, work.scratch + pixels.size.numbers());
  normalise_rows(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch), work.weight_data(),
                 work.bias_data(), static_cast<float>(norm_fields(*work.layer).epsilon), pixels.means,
                 pixels.inverse_deviations, result);
  pixels.finish(result, work.output);
}

// Before what adds to the gradients of the weight and the bias.
void begin_gradients(const LayerWork& work, bool adds) {
  if (adds) return;
  std::fill_n(work.weight_gradient, work.weight.numel(), 0.0F);
  std::fill_n(work.bias_gradient, work.bias.numel(), 0.0F);
}

void layer_norm_backward_weights(const LayerWork& work, bool adds) {
  const PixelRows pixels(work);
  begin_gradients(work, adds);
  normalise_rows_backward_weights(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch),
                                  pixels.of(work.output_gradient, work.scratch + pixels.size.numbers()),
                                  pixels.means, pixels.inverse_deviations, work.weight_gradient,
                                  work.bias_gradient);
}

void layer_norm_backward_input(const LayerWork& work) {
  const PixelRows pixels(work);
  const int64_t numbers = pixels.size.numbers();
  float* const result = pixels.for_result(work.input_gradient, work.scratch + 2 * numbers);
  normalise_rows_backward_input(pixels.rows, pixels.size.channels, pixels.of(work.input, work.scratch),
                                pixels.of(work.output_gradient, work.scratch + numbers), work.weight_data(),
                                pixels.means, pixels.inverse_deviations, result);
  pixels.finish(result, work.input_gradient);
}

const LayerPasses kLayerNormPasses = {
    .forward = layer_norm,
    .backward_input = layer_norm_backward_input,
    .backward_weights = layer_norm_backward_weights,
    .layout = ImageLayout::kEither,
    .scratch = PixelRows::scratch,
    .kept = [](const LayerWork& work) { return 2 * channel_size(work).numbers_of_channel(); }};

// ONNX normalises the last dimension by default, so the channels of an image go there and back.
void layer_norm_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const auto transpose = [&](const char* suffix, const std::vector<int64_t>& order) {
    if (layer.input_shape.size() == 3)
      graph.add("Transpose", layer.name + suffix, {}, {onnx_attribute("perm", order)});
  };
  transpose(".channels_last", {0, 2, 3, 1});
  graph.add("LayerNormalization", layer.name, graph.weights(layer),
            {onnx_attribute("epsilon", static_cast<float>(norm_fields(layer).epsilon))});
  transpose(".channels_first", {0, 3, 1, 2});
}

std::string layer_norm_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  const auto norm_of = [&](const char* input) {
    return fmt::format("torch.layer_norm({}, [{}], {}, {}, {:#})", input,
                       normalised_numbers(layer.input_shape), names(layer, "weight"), names(layer, "bias"),
                       norm_fields(layer).epsilon);
  };
  if (layer.input_shape.size() < 3) return norm_of("x");
  return fmt::format("torch.permute({}, [0, 3, 1, 2])", norm_of("torch.permute(x, [0, 2, 3, 1])"));
}

// Like batch_norm's, with means of each example's own numbers (Ba et al. 2016, arXiv:1607.06450). `planes`
// makes of a batch one whose dimension 1 has the channels, and in_shape() of what it makes of that the batch.
// In the shape `rows` dimension 1 has what is normalised together.
LoweredLayer lower_example_norm(const LayerUse& use, Value (*planes)(const Value& batch), const Shape& rows) {
  TextBuilder& builder = use.builder();
  const Value input = planes(use.input);
  const auto mean = [&builder](const Value& value) {
    const Value means = builder.sum(value, {kChannels}) / static_cast<double>(value.size(kChannels));
    return builder.broadcast(means, but_channels(value), value.shape);
  };
  const Value numbers = in_shape(input, rows);
  const Value centred = numbers - mean(numbers);
  const Value inverse = builder.apply("rsqrt", mean(centred * centred) + norm_fields(use.layer).epsilon);
  const Value of_rows = centred * inverse;
  const Value normalised = in_shape(of_rows, input.shape);
  return {in_shape(planes(scaled(use, normalised)), use.input.shape),
          [use, planes, rows, mean, inverse, of_rows, normalised](const Value& of_output,
                                                                  bool wants_input) -> Value {
            const Value gradient = planes(of_output);
            if (use.trained) learn_scale(use, gradient, normalised);
            if (!wants_input) return {};
            const Value slope = gradient * along_channels(use.variable("weight"), gradient);
            const Value arrived = in_shape(slope, rows);
            const Value centred = arrived - mean(arrived);
            const Value result = (centred - of_rows * mean(arrived * of_rows)) * inverse;
            return in_shape(planes(in_shape(result, normalised.shape)), use.input.shape);
          }};
}

LoweredLayer lower_layer_norm(const LayerUse& use) {
  const Value& input = use.input;
  return lower_example_norm(
      use, as_rows, input.rank() == 3 ? Shape{input.size(0) * input.size(1), input.size(2)} : input.shape);
}

// What is wrong with the groups, with the nearest numbers that are right. A group of one number has no
// deviation.
std::string groups_of_norm_problem(int64_t groups, const Shape& input) {
  constexpr int64_t kMostGroups = 1'000'000;  // of a spec
  if (auto problem = range_problem("groups", groups); !problem.empty()) return problem;
  const int64_t channels = normalised_numbers(input), numbers = bounded_product(input);
  const auto fits = [&](int64_t count) { return channels % count == 0 && (count < numbers || numbers == 1); };
  if (fits(groups)) return "";
  int64_t fewer = std::min(groups, channels), more = fewer;
  while (!fits(fewer)) --fewer;
  while (more < std::min(channels, kMostGroups) && !fits(more)) ++more;
  return fmt::format("its {} groups {}; did you mean {}{}?", groups,
                     channels % groups == 0 ? "would have one number each"
                                            : fmt::format("cannot share {} {} evenly", channels,
                                                          std::ssize(input) == 3 ? "channels" : "features"),
                     fewer, more > fewer && fits(more) ? fmt::format(" or {}", more) : "");
}

LayerSizes place_group_norm(const LayerSpec& spec, const Shape& input) {
  auto problem = norm_problem(input);
  if (problem.empty()) problem = groups_of_norm_problem(spec.own.get<NormFields>().groups, input);
  if (!problem.empty()) return fault(problem);
  return {input, 2 * normalised_numbers(input)};
}

class GroupNorm final : public Norm {
 public:
  GroupNorm(const PlacedLayer& layer, WeightMaker& weights)
      : Norm(layer, weights), groups_(norm_fields(layer).groups) {}
  at::Tensor forward(const at::Tensor& input) override {
    if (input.dim() == 3) return normalised(input.transpose(1, 2)).transpose(1, 2);
    return normalised(input);
  }

 private:
  at::Tensor normalised(const at::Tensor& input) const {
    return at::group_norm(input, groups_, weight_, bias_, epsilon_);
  }
  int64_t groups_;
};

GroupSize group_size(const LayerWork& work) {
  const int64_t channels = work.layer->input_shape[0];
  return {work.examples, channels, norm_fields(*work.layer).groups, work.inputs / channels};
}

void group_norm(const LayerWork& work) {
  normalise_groups(group_size(work), work.input, work.weight_data(), work.bias_data(),
                   static_cast<float>(norm_fields(*work.layer).epsilon), work.kept, work.output);
}

void group_norm_backward_weights(const LayerWork& work, bool adds) {
  begin_gradients(work, adds);
  sum_groups(group_size(work), work.input, work.output_gradient, work.kept);
  normalise_groups_backward_weights(group_size(work), work.kept, work.weight_gradient, work.bias_gradient);
}

void group_norm_backward_input(const LayerWork& work) {
  if (work.weight_gradient == nullptr)  // else it has these sums already
    sum_groups(group_size(work), work.input, work.output_gradient, work.kept);
  normalise_groups_backward_input(group_size(work), work.input, work.output_gradient, work.weight_data(),
                                  work.kept, work.input_gradient);
}

const LayerPasses kGroupNormPasses = {.forward = group_norm,
                                      .backward_input = group_norm_backward_input,
                                      .backward_weights = group_norm_backward_weights,
                                      .kept = [](const LayerWork& work) { return group_size(work).kept(); }};

// Not of tokens: the layers that make them have no compiled form.
LayerMatch match_group_norm(const std::vector<PlacedLayer>& layers, size_t first) {
  return {layers[first].input_shape.size() == 2 ? nullptr : &kGroupNormPasses};
}

// In our opset GroupNormalization has a weight for each group, not for each channel. So the groups are
// normalised as the channels of InstanceNormalization, which get weights of 1.
void group_norm_onnx(OnnxGraph& graph, const PlacedLayer& layer) {
  const Shape& shape = layer.input_shape;
  const bool of_tokens = shape.size() == 2;
  const Shape of_weight = shape.size() == 3 ? Shape{shape[0], 1, 1} : Shape{};
  const int64_t groups = norm_fields(layer).groups;
  const auto named = [&](const char* part) { return layer.name + "." + part; };
  const auto turn = [&](const char* part) {
    if (of_tokens)
      graph.add("Transpose", named(part), {}, {onnx_attribute("perm", std::vector<int64_t>{0, 2, 1})});
  };
  turn("by_features");
  onnx_reshape(graph, named("groups"), {groups, bounded_product(shape) / groups});
  const at::Tensor ones = graph.scalar(1).repeat({groups});
  graph.add("InstanceNormalization", named("normalised"),
            {graph.constant(named("ones"), ones), graph.constant(named("zeros"), at::zeros_like(ones))},
            {onnx_attribute("epsilon", static_cast<float>(norm_fields(layer).epsilon))});
  onnx_reshape(graph, named("together"), of_tokens ? Shape{shape[1], shape[0]} : shape);
  turn("by_tokens");
  graph.add("Mul", named("scaled"), {graph.variable(layer, "weight", of_weight)});
  graph.add("Add", layer.name, {graph.variable(layer, "bias", of_weight)});
}

std::string group_norm_torchscript(const PlacedLayer& layer, const ScriptNames& names) {
  const auto norm_of = [&](const char* input) {
    return fmt::format("torch.group_norm({}, {}, {}, {}, {:#})", input, norm_fields(layer).groups,
                       names(layer, "weight"), names(layer, "bias"), norm_fields(layer).epsilon);
  };
  if (layer.input_shape.size() != 2) return norm_of("x");
  return fmt::format("torch.transpose({}, 1, 2)", norm_of("torch.transpose(x, 1, 2)"));
}

// Tokens [rows, tokens, features] with the features as channels, or back. Others stay as they are.
Value turned_tokens(const Value& batch) {
  return batch.rank() == 3 ? batch.builder->transpose(batch, {0, 2, 1}) : batch;
}

LoweredLayer lower_group_norm(const LayerUse& use) {
  const int64_t groups = norm_fields(use.layer).groups;
  return lower_example_norm(use, turned_tokens,
                            {use.input.size(0) * groups, bounded_product(use.layer.input_shape) / groups});
}

}  // namespace

const LayerKind kLayerNorm = {.name = "layer_norm",
                              .place = place_layer_norm,
                              .make = make_module<LayerNorm>,
                              .passes = &kLayerNormPasses,
                              .onnx = layer_norm_onnx,
                              .torchscript = layer_norm_torchscript,
                              .lower = lower_layer_norm};

const LayerKind kGroupNorm = {.name = "group_norm",
                              .place = place_group_norm,
                              .make = make_module<GroupNorm>,
                              .match = match_group_norm,
                              .onnx = group_norm_onnx,
                              .torchscript = group_norm_torchscript,
                              .lower = lower_group_norm};

}  // namespace dtrain
