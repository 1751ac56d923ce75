// dropout: in training, sets each value to zero with probability `rate`, and scales the others by 1 / (1 -
// rate). stochastic_depth does so with whole examples, before the sum of a residual branch (Huang et al.
// 2016, arXiv:1603.09382, as in torchvision). Exports leave both out: they do nothing after training.
#include <cmath>

#include "kernels/transpose.h"
#include "layers/elementwise.h"
#include "spec/layer_kinds.h"

namespace dtrain {
namespace {

double dropout_rate(const LayerSpec& spec) { return spec.own.get<DropoutFields>().rate; }

// Draws a factor for each of these places, in their order, from the default generator.
at::Tensor noise_for(const at::Tensor& input, at::IntArrayRef places, double rate) {
  return at::empty(places, input.options()).bernoulli_(1 - rate).div_(1 - rate);
}

// On a processor at::dropout draws in the order in memory, which depends on the kernels of the layers before.
class Dropout final : public Layer {
 public:
  explicit Dropout(const PlacedLayer& layer) : rate_(dropout_rate(layer.spec)) {}
  at::Tensor forward(const at::Tensor& input) override {
    if (!is_training() || rate_ == 0) return input;
    if (!input.is_cpu()) return at::dropout(input, rate_, true);
    return input * noise_for(input, input.sizes(), rate_).contiguous(input.suggest_memory_format());
  }

 private:
  double rate_;
};

class StochasticDepth final : public Layer {
 public:
  explicit StochasticDepth(const PlacedLayer& layer) : rate_(dropout_rate(layer.spec)) {}
  at::Tensor forward(const at::Tensor& input) override {
    if (!is_training() || rate_ == 0) return input;
    Shape of_examples(static_cast<size_t>(input.dim()), 1);
    of_examples[0] = input.size(0);
    return input * noise_for(input, of_examples, rate_);
  }

 private:
  double rate_;
};

void product_into(at::Tensor& result, const at::Tensor& numbers, const at::Tensor& noise) {
  at::mul_out(result, numbers, noise);
}

// Draws what the module draws from the same generator, whatever the layout of images.
void dropout(const LayerWork& work) {
  const double rate = dropout_rate(work.layer->spec);
  at::Tensor noise = work.view({work.outputs}, work.kept);
  if (rate == 0 || work.examples == 0) {
    noise.fill_(1);
  } else if (work.channels_inside && work.layer->input_shape.size() == 3) {
    const Shape& shape = work.layer->input_shape;
    const at::Tensor planes = at::empty(noise.sizes(), at::kFloat).bernoulli_(1 - rate).div_(1 - rate);
    transpose_each(work.examples, shape[0], shape[1] * shape[2], planes.const_data_ptr<float>(), work.kept);
  } else {
    noise.bernoulli_(1 - rate).div_(1 - rate);
  }
  in_pieces(numbers_of(work), product_into, work.output, work.input, work.kept);
}

void dropout_backward_input(const LayerWork& work) {
  in_pieces(numbers_of(work), product_into, work.input_gradient, work.output_gradient, work.kept);
}

const LayerPasses kDropoutPasses = {.forward = dropout,
                                    .backward_input = dropout_backward_input,
                                    .in_place = true,
                                    .only_in_training = true,
                                    .layout = ImageLayout::kEither,
                                    .kept = numbers_of};

// What is drawn is a function of the step, the device, the layer and the place of the element alone.
LoweredLayer lower_dropout(const LayerUse& use) {
  const double rate = dropout_rate(use.layer.spec);
  if (!use.scope.training || rate == 0)
    return {use.input, [](const Value& gradient, bool) { return gradient; }};
  TextBuilder& builder = use.builder();
  const double first = kDrawsOfLayer * static_cast<double>(use.number);
  const Value state =
      builder.concatenate({use.scope.key, use.scope.first_draw + builder.constant(first, "ui64", {1})}, 0);
  const Value bits = builder.random_bits(state, use.input.shape);
  const Value bound = builder.constant(std::floor(std::ldexp(rate, 32)), "ui32", bits.shape);
  const Value dropped = builder.compare("LT", bits, bound);
  const auto drop = [dropped, rate](const Value& value) {
    return zero_where(dropped, value * (1 / (1 - rate)));
  };
  return {drop(use.input), [drop](const Value& gradient, bool) { return drop(gradient); }};
}

}  // namespace

const LayerKind kDropout = {.name = "dropout",
                            .place = place_elementwise,
                            .make = make_module<Dropout>,
                            .draws = [](const LayerSpec& spec) { return dropout_rate(spec) > 0; },
                            .passes = &kDropoutPasses,
                            .onnx = [](OnnxGraph&, const PlacedLayer&) {},
                            .torchscript = script<"">,
                            .lower = lower_dropout,
                            .rounds = true};

const LayerKind kStochasticDepth = {.name = "stochastic_depth",
                                    .place = place_elementwise,
                                    .make = make_module<StochasticDepth>,
                                    .draws = kDropout.draws,
                                    .onnx = kDropout.onnx,
                                    .torchscript = kDropout.torchscript};

}  // namespace dtrain
