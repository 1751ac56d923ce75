#include "models/modules.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/avg_pool2d.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/hardtanh.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/tanh.h>
#include <cpuid.h>
#include <stdlib.h>

#include <array>
#include <limits>

#include "models/convolution.h"
#include "models/dense_product.h"
#include "models/pooling.h"
#include "models/shapes.h"

namespace dtrain {
namespace {

// Whether the processor says that it multiplies tiles (AMX) but not what a tile is, as some hypervisors do:
// leaf 7 has the feature, leaf 0x1D, the palette of tiles, is empty.
bool has_tiles_without_palette() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAmxTile = 1U << 24;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & kAmxTile) == 0) return false;
  return __get_cpuid_count(0x1D, 0, &a, &b, &c, &d) == 0 || a == 0;
}

// There oneDNN, which LibTorch calls, cannot make a convolution in 16 bits ("could not create a primitive"),
// unless it is told not to use tiles. It looks once, when it is first used.
[[maybe_unused]] const bool no_tiles =
    has_tiles_without_palette() && ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16", /*overwrite=*/0) == 0;

using Pair = std::array<int64_t, 2>;

Pair size_of(const Window2d& window) { return {window.size, window.size}; }
Pair stride_of(const Window2d& window) { return {window.stride, window.stride}; }
// LibTorch pads both sides equally; padded() does asymmetric padding beforehand.
Pair padding_of(const Window2d& window) {
  return window.is_symmetric() ? Pair{window.rows.before, window.columns.before} : Pair{0, 0};
}

// A kernel with an optional bias, shared by dense and conv2d.
class Weighted : public Layer {
 protected:
  Weighted(const LayerSpec& spec, const Shape& kernel_sizes, WeightMaker& weights) {
    weight_ = register_parameter("weight", weights.kernel(spec.initializer, kernel_sizes));
    if (spec.use_bias) bias_ = register_parameter("bias", weights.constant({kernel_sizes[0]}, 0));
  }
  at::Tensor weight_;
  at::Tensor bias_;
};

class Conv2d final : public Weighted {
 public:
  Conv2d(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(layer.spec,
                 {layer.spec.filters, layer.input_shape[0] / layer.spec.groups, layer.spec.kernel_size,
                  layer.spec.kernel_size},
                 weights),
        window_(conv2d_window(layer.spec, layer.input_shape)),
        groups_(layer.spec.groups) {}
  at::Tensor forward(const at::Tensor& input) override {
    return convolution(input, weight_, bias_, window_, groups_);
  }

 private:
  Window2d window_;
  int64_t groups_;
};

class Dense final : public Weighted {
 public:
  Dense(const PlacedLayer& layer, WeightMaker& weights)
      : Weighted(layer.spec, {layer.spec.units, layer.input_shape[0]}, weights) {}
  at::Tensor forward(const at::Tensor& input) override { return dense_product(input, weight_, bias_); }
};

class MaxPool2d final : public Layer {
 public:
  MaxPool2d(const Window2d& window, bool rectify) : window_(window), rectify_(rectify) {}
  at::Tensor forward(const at::Tensor& input) override {
    const bool plain = window_.size == 2 && window_.stride == 2 && window_.is_unpadded();
    const bool known = input.scalar_type() == at::kFloat || input.scalar_type() == at::kDouble;
    if (plain && known && input.device().is_cpu() && !lies_channels_last(input))
      return max_pool2x2(input.contiguous(), rectify_);
    // The maximum of rectified numbers is the rectified maximum; there are fewer maxima to rectify.
    return rectify_ ? at::relu(pool(input)) : pool(input);
  }

 private:
  // Which LibTorch's own pooling keeps.
  static bool lies_channels_last(const at::Tensor& input) {
    return input.is_contiguous(at::MemoryFormat::ChannelsLast) && !input.is_contiguous();
  }
  at::Tensor pool(const at::Tensor& input) const {
    const at::Tensor cells = padded(input, window_, -std::numeric_limits<double>::infinity());
    return at::max_pool2d(cells, size_of(window_), stride_of(window_), padding_of(window_));
  }
  Window2d window_;
  bool rectify_;
};

class AvgPool2d final : public Layer {
 public:
  explicit AvgPool2d(const Window2d& window) : window_(window) {}
  at::Tensor forward(const at::Tensor& input) override {
    if (window_.is_symmetric()) {
      return at::avg_pool2d(input, size_of(window_), stride_of(window_), padding_of(window_),
                            /*ceil_mode=*/false,
                            /*count_include_pad=*/false);
    }
    return sums(input) / sums(at::ones({1, 1, input.size(2), input.size(3)}, input.options()));
  }

 private:
  at::Tensor sums(const at::Tensor& cells) const {
    return at::avg_pool2d(padded(cells, window_, 0), size_of(window_), stride_of(window_), /*padding=*/0,
                          /*ceil_mode=*/false, /*count_include_pad=*/true, /*divisor_override=*/1);
  }
  Window2d window_;
};

class GlobalAvgPool2d final : public Layer {
 public:
  at::Tensor forward(const at::Tensor& input) override { return at::mean(input, {2, 3}); }
};

class AdaptiveAvgPool2d final : public Layer {
 public:
  explicit AdaptiveAvgPool2d(int64_t size) : size_({size, size}) {}
  at::Tensor forward(const at::Tensor& input) override {
    const bool is_there = input.size(2) == size_[0] && input.size(3) == size_[1];
    return is_there ? input : at::adaptive_avg_pool2d(input, size_);
  }

 private:
  Pair size_;
};

class Flatten final : public Layer {
 public:
  explicit Flatten(int64_t features) : features_(features) {}
  at::Tensor forward(const at::Tensor& input) override { return input.reshape({input.size(0), features_}); }

 private:
  int64_t features_;
};

class Activation final : public Layer {
 public:
  using Function = at::Tensor (*)(const at::Tensor&);
  explicit Activation(Function function) : function_(function) {}
  at::Tensor forward(const at::Tensor& input) override { return function_(input); }

 private:
  Function function_;
};

class BatchNorm final : public Layer {
 public:
  BatchNorm(const PlacedLayer& layer, WeightMaker& weights)
      : momentum_(layer.spec.momentum), epsilon_(layer.spec.epsilon) {
    const Shape channels = {layer.input_shape[0]};
    weight_ = register_parameter("weight", weights.constant(channels, 1));
    bias_ = register_parameter("bias", weights.constant(channels, 0));
    running_mean_ = register_buffer("running_mean", weights.constant(channels, 0));
    running_var_ = register_buffer("running_var", weights.constant(channels, 1));
  }
  void synchronise(const GatherRows& gather) override { gather_ = gather; }
  void leave_statistics_to(MovingStatistics& all) override { left_to_ = &all; }
  void freeze(bool frozen) override { frozen_ = frozen; }

  at::Tensor forward(const at::Tensor& input) override {
    const bool uses_batch = is_training() && !frozen_;
    if (uses_batch && gather_) return synchronised(input);
    if (!uses_batch || input.size(0) == 0) {
      return at::batch_norm(input, weight_, bias_, running_mean_, running_var_, /*training=*/false,
                            /*momentum=*/0, epsilon_, /*cudnn_enabled=*/true);
    }
    const auto [output, mean, inverse_deviation] =
        at::native_batch_norm(input, weight_, bias_, /*running_mean=*/{}, /*running_var=*/{},
                              /*training=*/true, /*momentum=*/0, epsilon_);
    MovingStatistics own;
    MovingStatistics& statistics = left_to_ != nullptr ? *left_to_ : own;
    statistics.add(running_mean_, running_var_, mean, inverse_deviation, 1 - momentum_, epsilon_);
    own.move();
    return output;
  }

 private:
  at::Tensor synchronised(const at::Tensor& input) {
    BatchStatistics statistics;
    const at::Tensor output = synchronised_norm(input, weight_, bias_, epsilon_, gather_, statistics);
    running_mean_.lerp_(statistics.mean, 1 - momentum_);
    running_var_.lerp_(statistics.variance, 1 - momentum_);
    return output;
  }

  GatherRows gather_;                    // empty: the statistics are of this replica only
  MovingStatistics* left_to_ = nullptr;  // null: this layer updates its own
  bool frozen_ = false;
  double momentum_;
  double epsilon_;
  at::Tensor weight_;
  at::Tensor bias_;
  at::Tensor running_mean_;
  at::Tensor running_var_;
};

class LayerNorm final : public Layer {
 public:
  LayerNorm(const PlacedLayer& layer, WeightMaker& weights) : epsilon_(layer.spec.epsilon) {
    const Shape channels = {layer.input_shape[0]};
    weight_ = register_parameter("weight", weights.constant(channels, 1));
    bias_ = register_parameter("bias", weights.constant(channels, 0));
  }
  at::Tensor forward(const at::Tensor& input) override {
    if (input.dim() == 2) return normalised(input);
    return normalised(input.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
  }

 private:
  // Over the last dimension.
  at::Tensor normalised(const at::Tensor& input) const {
    return at::layer_norm(input, weight_.sizes(), weight_, bias_, epsilon_);
  }

  double epsilon_;
  at::Tensor weight_;
  at::Tensor bias_;
};

class Dropout final : public Layer {
 public:
  explicit Dropout(double rate) : rate_(rate) {}
  at::Tensor forward(const at::Tensor& input) override { return at::dropout(input, rate_, is_training()); }

 private:
  double rate_;
};

}  // namespace

std::shared_ptr<Layer> make_conv2d(const PlacedLayer& layer, WeightMaker& weights) {
  return std::make_shared<Conv2d>(layer, weights);
}

std::shared_ptr<Layer> make_dense(const PlacedLayer& layer, WeightMaker& weights) {
  return std::make_shared<Dense>(layer, weights);
}

std::shared_ptr<Layer> make_max_pool2d(const PlacedLayer& layer, WeightMaker&) {
  return std::make_shared<MaxPool2d>(pool2d_window(layer.spec, layer.input_shape), /*rectify=*/false);
}

std::shared_ptr<Layer> make_rectified_max_pool2d(const PlacedLayer& layer) {
  return std::make_shared<MaxPool2d>(pool2d_window(layer.spec, layer.input_shape), /*rectify=*/true);
}

std::shared_ptr<Layer> make_avg_pool2d(const PlacedLayer& layer, WeightMaker&) {
  return std::make_shared<AvgPool2d>(pool2d_window(layer.spec, layer.input_shape));
}

std::shared_ptr<Layer> make_global_avg_pool2d(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<GlobalAvgPool2d>();
}

std::shared_ptr<Layer> make_adaptive_avg_pool2d(const PlacedLayer& layer, WeightMaker&) {
  return std::make_shared<AdaptiveAvgPool2d>(layer.spec.output_size);
}

std::shared_ptr<Layer> make_flatten(const PlacedLayer& layer, WeightMaker&) {
  return std::make_shared<Flatten>(layer.output_shape[0]);
}

std::shared_ptr<Layer> make_relu(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<Activation>(at::relu);
}

std::shared_ptr<Layer> make_relu6(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<Activation>([](const at::Tensor& input) { return at::hardtanh(input, 0, 6); });
}

std::shared_ptr<Layer> make_gelu(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<Activation>([](const at::Tensor& input) { return at::gelu(input, "none"); });
}

std::shared_ptr<Layer> make_tanh(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<Activation>(at::tanh);
}

std::shared_ptr<Layer> make_sigmoid(const PlacedLayer&, WeightMaker&) {
  return std::make_shared<Activation>(at::sigmoid);
}

std::shared_ptr<Layer> make_batch_norm(const PlacedLayer& layer, WeightMaker& weights) {
  return std::make_shared<BatchNorm>(layer, weights);
}

std::shared_ptr<Layer> make_layer_norm(const PlacedLayer& layer, WeightMaker& weights) {
  return std::make_shared<LayerNorm>(layer, weights);
}

std::shared_ptr<Layer> make_dropout(const PlacedLayer& layer, WeightMaker&) {
  return std::make_shared<Dropout>(layer.spec.rate);
}

}  // namespace dtrain
