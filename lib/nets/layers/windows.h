// Square windows that slide over images: conv2d's and the pools'.
#pragma once

#include <string>
#include <vector>

#include "compiled/layer_passes.h"
#include "export/layer_exports.h"
#include "models/layer_kinds.h"
#include "models/products.h"

namespace dtrain {

// TorchScript.
inline std::string script_pair(int64_t value) { return fmt::format("[{0}, {0}]", value); }

inline std::string script_padding(const Window2d& window) {
  return fmt::format("[{}, {}]", window.padding()[0], window.padding()[1]);
}

inline std::string script_padded(const std::string& input, const Window2d& window, const char* value) {
  if (window.is_symmetric()) return input;
  return fmt::format("torch.constant_pad_nd({}, [{}, {}, {}, {}], {})", input, window.columns.before,
                     window.columns.after, window.rows.before, window.rows.after, value);
}

// ONNX.
inline std::vector<std::string> onnx_window(const Window2d& window) {
  const std::vector<int64_t> pads = {window.rows.before, window.columns.before, window.rows.after,
                                     window.columns.after};
  return {onnx_attribute("kernel_shape", std::vector<int64_t>{window.size, window.size}),
          onnx_attribute("strides", std::vector<int64_t>{window.stride, window.stride}),
          onnx_attribute("pads", pads)};
}

// A compiled layer's input with its padding, where that differs between two sides.
inline at::Tensor padded_input(const LayerWork& work, const Window2d& window, double value) {
  return padded(work.input_tensor(), window, value);
}

// Writes the gradient of padded_input() as that of the input.
inline void put_gradient_of_padded(const LayerWork& work, const Window2d& window,
                                   const at::Tensor& gradient) {
  const Shape& shape = work.layer->input_shape;
  work.input_gradient_tensor().copy_(
      window.is_symmetric()
          ? gradient
          : gradient.narrow(2, window.rows.before, shape[1]).narrow(3, window.columns.before, shape[2]));
}

// max_pool2d together with the layers before it.

// A max_pool2d of 2 x 2 pixels that do not overlap, without padding.
bool is_max_pool2x2(const PlacedLayer& layer);

// A relu and the max_pool2d after it in one layer: the same values with a quarter of the relu's work. Null if
// `next` is another layer.
std::shared_ptr<Layer> make_rectified_max_pool2d(const PlacedLayer& next);

// The passes of a relu and the 2x2 max_pool2d after it, if there is one (LayerKind::match of relu).
LayerMatch match_rectified_max_pool2x2(const std::vector<PlacedLayer>& layers, size_t first);

}  // namespace dtrain
