#include "layers/windows.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>

#include "core/text.h"
#include "export/layer_exports.h"
#include "models/products.h"

namespace dtrain {
namespace {

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

}  // namespace

Window2d window_over(int64_t size, int64_t stride, const std::string& padding, const Shape& input) {
  return {size, stride, slide(input[1], size, stride, padding), slide(input[2], size, stride, padding)};
}

std::string image_problem(const Shape& input) {
  if (input.size() == 3) return "";
  return fmt::format("expects an input of [channels, height, width] but gets {}", to_string(input));
}

std::string window_problem(const char* field, int64_t size, int64_t stride, const std::string& padding,
                           const Shape& input) {
  if (const std::string problem = image_problem(input); !problem.empty())
    return problem + (input.size() == 1 ? "; put it before the flatten layer" : "");
  if (auto problem = range_problem(field, size); !problem.empty()) return problem;
  if (auto problem = range_problem("stride", stride); !problem.empty()) return problem;
  if (padding != "valid" && padding != "same" && padding != "symmetric")
    return fmt::format("unknown padding '{}'; known: valid, same, symmetric", printable(padding));
  const Window2d window = window_over(size, stride, padding, input);
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

std::string script_pair(int64_t value) { return fmt::format("[{0}, {0}]", value); }

std::string script_padding(const Window2d& window) {
  return fmt::format("[{}, {}]", window.padding()[0], window.padding()[1]);
}

std::string script_padded(const std::string& input, const Window2d& window, const char* value) {
  if (window.is_symmetric()) return input;
  return fmt::format("torch.constant_pad_nd({}, [{}, {}, {}, {}], {})", input, window.columns.before,
                     window.columns.after, window.rows.before, window.rows.after, value);
}

std::vector<std::string> onnx_window(const Window2d& window) {
  const std::vector<int64_t> pads = {window.rows.before, window.columns.before, window.rows.after,
                                     window.columns.after};
  return {onnx_attribute("kernel_shape", std::vector<int64_t>{window.size, window.size}),
          onnx_attribute("strides", std::vector<int64_t>{window.stride, window.stride}),
          onnx_attribute("pads", pads)};
}

std::array<std::array<int64_t, 2>, 2> sides_of(const Window2d& window) {
  return {{{window.rows.before, window.rows.after}, {window.columns.before, window.columns.after}}};
}

at::Tensor padded_input(const LayerWork& work, const Window2d& window, double value) {
  return padded(work.input_tensor(), window, value);
}

void put_gradient_of_padded(const LayerWork& work, const Window2d& window, const at::Tensor& gradient) {
  const Shape& shape = work.layer->input_shape;
  work.input_gradient_tensor().copy_(
      window.is_symmetric()
          ? gradient
          : gradient.narrow(2, window.rows.before, shape[1]).narrow(3, window.columns.before, shape[2]));
}

}  // namespace dtrain
