#include "models/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"

namespace dtrain {
namespace {

LayerSizes fault(std::string problem) { return {{}, 0, 0, std::move(problem)}; }

// What is wrong with a count, or an empty string. The shape arithmetic below relies on these bounds.
std::string range_problem(const char* field, int64_t value) {
  if (value >= 1 && value <= kMostNumbers) return "";
  return fmt::format("{} must be from 1 to {}, not {}", field, with_separators(kMostNumbers), value);
}

std::string initializer_problem(const std::string& name) {
  const auto& known = initializers_built();
  if (std::find(known.begin(), known.end(), name) != known.end()) return "";
  return fmt::format("unknown initializer '{}'; known: {}{}", printable(name), join(known),
                     did_you_mean(name, known));
}

std::string groups_problem(const LayerSpec& spec, int64_t channels) {
  if (auto problem = range_problem("groups", spec.groups); !problem.empty()) return problem;
  if (channels % spec.groups == 0 && spec.filters % spec.groups == 0) return "";
  return fmt::format(
      "its {} input channels and {} filters cannot both be divided into {} groups; each must be a multiple",
      channels, spec.filters, spec.groups);
}

std::string channels_problem(const Shape& input) {
  if (input.size() == 1 || input.size() == 3) return "";
  return fmt::format("expects an input of [features] or [channels, height, width] but gets {}",
                     to_string(input));
}

Window slide(int64_t input, int64_t size, int64_t stride, const std::string& kind) {
  if (kind != "same") {
    const int64_t side = kind == "symmetric" ? (size - 1) / 2 : 0;
    const int64_t cells = input + 2 * side;
    return {side, side, cells < size ? 0 : (cells - size) / stride + 1};
  }
  const int64_t output = (input - 1) / stride + 1;
  const int64_t padding = std::max<int64_t>(0, (output - 1) * stride + size - input);
  return {padding / 2, padding - padding / 2, output};
}

Window2d slide2d(int64_t size, int64_t stride, const std::string& padding, const Shape& input) {
  return {size, stride, slide(input[1], size, stride, padding), slide(input[2], size, stride, padding)};
}

int64_t pool_stride(const LayerSpec& spec) { return spec.stride.value_or(spec.pool_size); }

// What is wrong with a layer that slides a window of `size` over its input, or an empty string. `field` is
// the name of the size in the layer's spec.
std::string window_problem(const LayerSpec& spec, const char* field, int64_t size, int64_t stride,
                           const Shape& input) {
  if (input.size() != 3) {
    return fmt::format("expects an input of [channels, height, width] but gets {}{}", to_string(input),
                       input.size() == 1 ? "; put it before the flatten layer" : "");
  }
  if (auto problem = range_problem(field, size); !problem.empty()) return problem;
  if (auto problem = range_problem("stride", stride); !problem.empty()) return problem;
  if (spec.padding != "valid" && spec.padding != "same" && spec.padding != "symmetric")
    return fmt::format("unknown padding '{}'; known: valid, same, symmetric", printable(spec.padding));
  const Window2d window = slide2d(size, stride, spec.padding, input);
  if (window.rows.output == 0 || window.columns.output == 0) {
    return fmt::format(
        "its window {} is larger than its input {}, so the output would be empty; use a smaller {} or "
        "padding: same",
        to_string({size, size}), to_string(input), field);
  }
  const Shape padded = {input[0], input[1] + window.rows.before + window.rows.after,
                        input[2] + window.columns.before + window.columns.after};
  if (bounded_product(padded) > kMostNumbers) {
    return fmt::format("its input {} becomes {} with padding, more than {} numbers", to_string(input),
                       to_string(padded), with_separators(kMostNumbers));
  }
  return "";
}

}  // namespace

int64_t bounded_product(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t factor : shape) {
    if (__builtin_mul_overflow(product, factor, &product) || product > kMostNumbers)
      product = kMostNumbers + 1;
  }
  return product;
}

int64_t bounded_product(std::initializer_list<int64_t> factors) { return bounded_product(Shape(factors)); }

Window2d conv2d_window(const LayerSpec& spec, const Shape& input) {
  return slide2d(spec.kernel_size, spec.stride.value_or(1), spec.padding, input);
}

Window2d pool2d_window(const LayerSpec& spec, const Shape& input) {
  return slide2d(spec.pool_size, pool_stride(spec), spec.padding, input);
}

LayerSizes place_conv2d(const LayerSpec& spec, const Shape& input) {
  auto problem = window_problem(spec, "kernel_size", spec.kernel_size, spec.stride.value_or(1), input);
  if (problem.empty()) problem = range_problem("filters", spec.filters);
  if (problem.empty()) problem = groups_problem(spec, input[0]);
  if (problem.empty()) problem = initializer_problem(spec.initializer);
  if (!problem.empty()) return fault(problem);
  const Window2d window = conv2d_window(spec, input);
  const int64_t weights_per_filter =
      bounded_product({spec.kernel_size, spec.kernel_size, input[0] / spec.groups});
  return {{spec.filters, window.rows.output, window.columns.output},
          bounded_product({spec.filters, weights_per_filter + (spec.use_bias ? 1 : 0)}),
          0,
          ""};
}

LayerSizes place_pool2d(const LayerSpec& spec, const Shape& input) {
  const auto problem = window_problem(spec, "pool_size", spec.pool_size, pool_stride(spec), input);
  if (!problem.empty()) return fault(problem);
  const Window2d window = pool2d_window(spec, input);
  return {{input[0], window.rows.output, window.columns.output}, 0, 0, ""};
}

LayerSizes place_global_pool2d(const LayerSpec&, const Shape& input) {
  if (input.size() != 3)
    return fault(fmt::format("expects an input of [channels, height, width] but gets {}", to_string(input)));
  return {{input[0]}, 0, 0, ""};
}

LayerSizes place_adaptive_pool2d(const LayerSpec& spec, const Shape& input) {
  if (input.size() != 3)
    return fault(fmt::format("expects an input of [channels, height, width] but gets {}", to_string(input)));
  if (auto problem = range_problem("output_size", spec.output_size); !problem.empty()) return fault(problem);
  return {{input[0], spec.output_size, spec.output_size}, 0, 0, ""};
}

std::vector<std::vector<double>> adaptive_shares(int64_t input, int64_t output) {
  std::vector<std::vector<double>> shares;
  for (int64_t i = 0; i < output; ++i) {
    const int64_t begin = i * input / output, end = ((i + 1) * input + output - 1) / output;
    std::vector<double>& row = shares.emplace_back(input, 0.0);
    std::fill(row.begin() + begin, row.begin() + end, 1.0 / static_cast<double>(end - begin));
  }
  return shares;
}

LayerSizes place_flatten(const LayerSpec&, const Shape& input) {
  return {{bounded_product(input)}, 0, 0, ""};
}

LayerSizes place_dense(const LayerSpec& spec, const Shape& input) {
  if (input.size() != 1) {
    return fault(fmt::format("expects an input of [features] but gets {}; put a flatten layer before it",
                             to_string(input)));
  }
  auto problem = range_problem("units", spec.units);
  if (problem.empty()) problem = initializer_problem(spec.initializer);
  if (!problem.empty()) return fault(problem);
  return {{spec.units}, bounded_product({spec.units, input[0] + (spec.use_bias ? 1 : 0)}), 0, ""};
}

LayerSizes place_batch_norm(const LayerSpec&, const Shape& input) {
  if (auto problem = channels_problem(input); !problem.empty()) return fault(problem);
  return {input, 2 * input[0], 2 * input[0], ""};
}

LayerSizes place_layer_norm(const LayerSpec&, const Shape& input) {
  if (auto problem = channels_problem(input); !problem.empty()) return fault(problem);
  return {input, 2 * input[0], 0, ""};
}

LayerSizes place_elementwise(const LayerSpec&, const Shape& input) { return {input, 0, 0, ""}; }

}  // namespace dtrain
