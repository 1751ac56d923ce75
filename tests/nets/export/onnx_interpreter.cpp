#include "onnx_interpreter.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace dtrain {
namespace {

using Operands = std::vector<at::Tensor>;
using Integers = std::vector<int64_t>;

void demand(bool holds, const std::string& problem) {
  if (!holds) throw std::runtime_error("ONNX: " + problem);
}

template <class T>
T attribute_or(const OnnxAttributes& attributes, const std::string& name, T otherwise) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? otherwise : std::get<T>(found->second);
}

Integers strides_of(const OnnxAttributes& attributes) {
  return attribute_or(attributes, "strides", Integers{1, 1});
}

// The images with cells of `value` around them; ONNX has all beginnings before all ends.
at::Tensor with_pads(const at::Tensor& images, const OnnxAttributes& attributes, double value) {
  const Integers pads = attribute_or(attributes, "pads", Integers{0, 0, 0, 0});
  demand(pads.size() == 4, "pads are four");
  const int64_t top = pads[0], left = pads[1], bottom = pads[2], right = pads[3];
  return at::constant_pad_nd(images, {left, right, top, bottom}, value);
}

at::Tensor conv(const Operands& in, const OnnxAttributes& attributes) {
  const at::Tensor& kernels = in[1];
  const Integers size = attribute_or(attributes, "kernel_shape", kernels.sizes().slice(2).vec());
  demand(kernels.sizes().slice(2) == size, "kernel_shape is not the kernels'");
  const int64_t groups = attribute_or(attributes, "group", int64_t{1});
  return at::conv2d(with_pads(in[0], attributes, 0), kernels, in.size() > 2 ? in[2] : at::Tensor(),
                    strides_of(attributes), /*padding=*/Integers{0, 0}, /*dilation=*/Integers{1, 1}, groups);
}

at::Tensor max_pool(const Operands& in, const OnnxAttributes& attributes) {
  const at::Tensor padded = with_pads(in[0], attributes, -std::numeric_limits<double>::infinity());
  return at::max_pool2d(padded, std::get<Integers>(attributes.at("kernel_shape")), strides_of(attributes));
}

// Cells of padding count only if count_include_pad says so.
at::Tensor average_pool(const Operands& in, const OnnxAttributes& attributes) {
  const auto means = [&](const at::Tensor& images) {
    return at::avg_pool2d(with_pads(images, attributes, 0), std::get<Integers>(attributes.at("kernel_shape")),
                          strides_of(attributes));
  };
  const bool all_count = attribute_or(attributes, "count_include_pad", int64_t{0}) != 0;
  return all_count ? means(in[0]) : means(in[0]) / means(at::ones_like(in[0]));
}

at::Tensor global_average_pool(const Operands& in, const OnnxAttributes&) {
  return in[0].mean({2, 3}, /*keepdim=*/true);
}

at::Tensor flatten_to_matrix(const Operands& in, const OnnxAttributes& attributes) {
  const int64_t axis = attribute_or(attributes, "axis", int64_t{1});
  int64_t rows = 1;
  for (int64_t i = 0; i < axis; ++i) rows *= in[0].size(i);
  return in[0].reshape({rows, -1});
}

at::Tensor gemm(const Operands& in, const OnnxAttributes& attributes) {
  const bool turned = attribute_or(attributes, "transB", int64_t{0}) != 0;
  const at::Tensor product = at::matmul(in[0], turned ? in[1].t() : in[1]);
  return in.size() > 2 ? product + in[2] : product;
}

at::Tensor batch_normalization(const Operands& in, const OnnxAttributes& attributes) {
  const double epsilon = attribute_or(attributes, "epsilon", 1e-5F);
  Integers sizes(static_cast<size_t>(in[0].dim()), 1);
  sizes.at(1) = in[0].size(1);  // a number for each channel
  const auto channel = [&](size_t operand) { return in[operand].reshape(sizes); };
  const at::Tensor scale = channel(1), shift = channel(2), mean = channel(3), variance = channel(4);
  return (in[0] - mean) / at::sqrt(variance + epsilon) * scale + shift;
}

// Over the last dimension, ONNX' default, with a scale and a shift for each of its places.
at::Tensor layer_normalization(const Operands& in, const OnnxAttributes& attributes) {
  const double epsilon = attribute_or(attributes, "epsilon", 1e-5F);
  const at::Tensor centred = in[0] - in[0].mean(-1, /*keepdim=*/true);
  const at::Tensor variance = centred.square().mean(-1, /*keepdim=*/true);
  return centred / at::sqrt(variance + epsilon) * in[1] + in[2];
}

// Each channel of each example by itself.
at::Tensor instance_normalization(const Operands& in, const OnnxAttributes& attributes) {
  const double epsilon = attribute_or(attributes, "epsilon", 1e-5F);
  const at::Tensor rows = in[0].flatten(2);
  const at::Tensor centred = rows - rows.mean(2, /*keepdim=*/true);
  const at::Tensor variance = centred.square().mean(2, /*keepdim=*/true);
  const at::Tensor scaled = centred / at::sqrt(variance + epsilon) * in[1].unsqueeze(1) + in[2].unsqueeze(1);
  return scaled.reshape(in[0].sizes());
}

at::Tensor transpose(const Operands& in, const OnnxAttributes& attributes) {
  return in[0].permute(std::get<Integers>(attributes.at("perm")));
}

Integers integers_of(const at::Tensor& numbers) {
  demand(numbers.scalar_type() == at::kLong && numbers.dim() == 1, "sizes are a list of int64");
  return {numbers.const_data_ptr<int64_t>(), numbers.const_data_ptr<int64_t>() + numbers.numel()};
}

at::Tensor reshape(const Operands& in, const OnnxAttributes&) { return in[0].reshape(integers_of(in[1])); }

// The sizes of dimensions from `start` to before `end`.
at::Tensor shape_of(const Operands& in, const OnnxAttributes& attributes) {
  const int64_t start = attribute_or(attributes, "start", int64_t{0});
  const int64_t end = attribute_or(attributes, "end", in[0].dim());
  return at::tensor(in[0].sizes().slice(start, end - start), at::kLong);
}

// To the larger of both sizes in each dimension, the last ones below each other.
at::Tensor expand(const Operands& in, const OnnxAttributes&) {
  return in[0] + at::zeros(integers_of(in[1]), in[0].options());
}

at::Tensor concat(const Operands& in, const OnnxAttributes& attributes) {
  return at::cat(in, std::get<int64_t>(attributes.at("axis")));
}

// With an index that is a number, without the dimension.
at::Tensor gather(const Operands& in, const OnnxAttributes& attributes) {
  demand(in[1].scalar_type() == at::kLong && in[1].dim() == 0, "an index is an int64");
  return in[0].select(attribute_or(attributes, "axis", int64_t{0}), in[1].item<int64_t>());
}

// TensorProto.DataType: 1 is float, 11 double.
at::Tensor cast(const Operands& in, const OnnxAttributes& attributes) {
  const auto type = std::get<int64_t>(attributes.at("to"));
  demand(type == 1 || type == 11, "a cast to neither float nor double");
  return in[0].to(type == 1 ? at::kFloat : at::kDouble);
}

at::Tensor softmax(const Operands& in, const OnnxAttributes& attributes) {
  const at::Tensor powers = at::exp(in[0]);
  return powers / powers.sum(attribute_or(attributes, "axis", int64_t{-1}), /*keepdim=*/true);
}

at::Tensor same(const Operands& in, const OnnxAttributes&) { return in[0]; }
at::Tensor rectified(const Operands& in, const OnnxAttributes&) { return at::clamp_min(in[0], 0); }
at::Tensor clipped(const Operands& in, const OnnxAttributes&) {
  return at::minimum(at::maximum(in[0], in[1]), in[2]);
}
at::Tensor product_of(const Operands& in, const OnnxAttributes&) { return at::matmul(in[0], in[1]); }
at::Tensor gelu_of(const Operands& in, const OnnxAttributes&) {
  return in[0] * 0.5 * (1 + at::erf(in[0] / std::sqrt(2.0)));
}
at::Tensor tanh_of(const Operands& in, const OnnxAttributes&) { return at::tanh(in[0]); }
at::Tensor sigmoid_of(const Operands& in, const OnnxAttributes&) { return at::sigmoid(in[0]); }
at::Tensor sum_of(const Operands& in, const OnnxAttributes&) { return in[0] + in[1]; }
at::Tensor scaled_by(const Operands& in, const OnnxAttributes&) { return in[0] * in[1]; }
at::Tensor difference_of(const Operands& in, const OnnxAttributes&) { return in[0] - in[1]; }
at::Tensor quotient_of(const Operands& in, const OnnxAttributes&) { return in[0] / in[1]; }

struct OnnxOperator {
  at::Tensor (*compute)(const Operands& in, const OnnxAttributes& attributes);
  size_t fewest_inputs;
  size_t most_inputs;
  std::set<std::string> attributes;  // of ONNX's, those that compute() heeds
};

const std::map<std::string, OnnxOperator> kOperators = {
    {"Add", {sum_of, 2, 2, {}}},
    {"AveragePool", {average_pool, 1, 1, {"count_include_pad", "kernel_shape", "pads", "strides"}}},
    {"BatchNormalization", {batch_normalization, 5, 5, {"epsilon"}}},
    {"Cast", {cast, 1, 1, {"to"}}},
    {"Clip", {clipped, 3, 3, {}}},
    {"Concat", {concat, 2, 2, {"axis"}}},
    {"Conv", {conv, 2, 3, {"group", "kernel_shape", "pads", "strides"}}},
    {"Div", {quotient_of, 2, 2, {}}},
    {"Expand", {expand, 2, 2, {}}},
    {"Flatten", {flatten_to_matrix, 1, 1, {"axis"}}},
    {"Gelu", {gelu_of, 1, 1, {}}},
    {"Gather", {gather, 2, 2, {"axis"}}},
    {"Gemm", {gemm, 2, 3, {"transB"}}},
    {"GlobalAveragePool", {global_average_pool, 1, 1, {}}},
    {"Identity", {same, 1, 1, {}}},
    {"InstanceNormalization", {instance_normalization, 3, 3, {"epsilon"}}},
    {"LayerNormalization", {layer_normalization, 3, 3, {"epsilon"}}},
    {"MatMul", {product_of, 2, 2, {}}},
    {"MaxPool", {max_pool, 1, 1, {"kernel_shape", "pads", "strides"}}},
    {"Mul", {scaled_by, 2, 2, {}}},
    {"Reshape", {reshape, 2, 2, {}}},
    {"Relu", {rectified, 1, 1, {}}},
    {"Shape", {shape_of, 1, 1, {"end", "start"}}},
    {"Sigmoid", {sigmoid_of, 1, 1, {}}},
    {"Softmax", {softmax, 1, 1, {"axis"}}},
    {"Sub", {difference_of, 2, 2, {}}},
    {"Tanh", {tanh_of, 1, 1, {}}},
    {"Transpose", {transpose, 1, 1, {"perm"}}}};

// The values so far, by name.
class OnnxValues {
 public:
  explicit OnnxValues(const std::map<std::string, at::Tensor>& initializers) : values_(initializers) {}

  void add(const std::string& name, const at::Tensor& value) {
    demand(!name.empty() && values_.emplace(name, value).second,
           "'" + name + "' is there twice, or nameless");
  }
  const at::Tensor& use(const std::string& name) {
    const auto found = values_.find(name);
    demand(found != values_.end(), "nothing before has made '" + name + "'");
    used_.insert(name);
    return found->second;
  }
  void require_all_used() const {
    for (const auto& [name, value] : values_) demand(used_.contains(name), "nothing uses '" + name + "'");
  }

 private:
  std::map<std::string, at::Tensor> values_;
  std::set<std::string> used_;
};

void require_type(const at::Tensor& tensor, const OnnxValue& value) {
  bool fits = tensor.scalar_type() == value.type && tensor.dim() == static_cast<int64_t>(value.shape.size());
  for (size_t i = 0; fits && i < value.shape.size(); ++i)
    fits = value.shape[i] == (i == 0 ? "batch" : std::to_string(tensor.size(static_cast<int64_t>(i))));
  demand(fits, "'" + value.name + "' is not of its shape and type");
}

at::Tensor compute_node(const OnnxNode& node, OnnxValues& values) {
  const auto found = kOperators.find(node.kind);
  demand(found != kOperators.end(), "no operator " + node.kind);
  const OnnxOperator& known = found->second;
  for (const auto& [name, value] : node.attributes)
    demand(known.attributes.contains(name), node.kind + " has no attribute " + name);
  Operands in;
  for (const std::string& name : node.inputs) in.push_back(values.use(name));
  demand(in.size() >= known.fewest_inputs && in.size() <= known.most_inputs, node.kind + " has other inputs");
  const bool has_sizes = node.kind == "Reshape" || node.kind == "Expand" || node.kind == "Gather";
  for (size_t i = 0; i < (has_sizes ? 1 : in.size()); ++i)
    demand(in[i].scalar_type() == in[0].scalar_type(), node.name + " mixes types");
  return known.compute(in, node.attributes);
}

}  // namespace

at::Tensor run_onnx(const OnnxModel& model, const at::Tensor& input) {
  demand(model.inputs.size() == 1 && model.outputs.size() == 1, "one input and one output are expected");
  OnnxValues values(model.initializers);
  require_type(input, model.inputs[0]);
  values.add(model.inputs[0].name, input);
  std::set<std::string> names;
  for (const OnnxNode& node : model.nodes) {
    demand(names.insert(node.name).second, "two nodes are called '" + node.name + "'");
    demand(node.outputs.size() == 1, node.name + " has other outputs");
    values.add(node.outputs[0], compute_node(node, values));
  }
  const at::Tensor output = values.use(model.outputs[0].name);
  require_type(output, model.outputs[0]);
  values.require_all_used();
  return output;
}

}  // namespace dtrain
