#include "models/variables.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/error.h"
#include "core/text.h"
#include "models/layer_kinds.h"

namespace dtrain {
namespace {

constexpr size_t kMostDifferences = 5;  // that are told

[[noreturn]] void refuse(std::vector<std::string> differences) {
  const size_t more = differences.size() - std::min(differences.size(), kMostDifferences);
  differences.resize(differences.size() - more);
  throw Error(ExitCode::kCheckpoint,
              "the checkpoint is of another model: {}{}; use the spec that it was trained with",
              join(differences, "; "), more == 0 ? "" : fmt::format("; and {} more", more));
}

}  // namespace

Variables named_variables(const Model& model) {
  Variables all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

Variables trained_parameters(const Model& model) {
  Variables trained;
  for (const auto& item : model.named_parameters()) {
    if (item.value().requires_grad()) trained.emplace_back(item.key(), item.value());
  }
  return trained;
}

std::vector<at::Tensor> tensors_of(const Variables& variables) {
  std::vector<at::Tensor> tensors;
  for (const auto& [name, tensor] : variables) tensors.push_back(tensor);
  return tensors;
}

std::string outline_text(const at::Tensor& tensor) {
  return fmt::format("{} [{}]", at::toString(tensor.scalar_type()), fmt::join(tensor.sizes(), ", "));
}

void require_variables(const Model& model, const Variables& variables) {
  const Variables own = named_variables(model);
  const std::map<std::string, at::Tensor> values(variables.begin(), variables.end());
  std::vector<std::string> differences;
  for (const auto& [name, tensor] : own) {
    const auto value = values.find(name);
    if (value == values.end()) {
      differences.push_back("it has no '" + name + "'");
    } else if (value->second.sizes() != tensor.sizes() ||
               value->second.scalar_type() != tensor.scalar_type()) {
      differences.push_back(fmt::format("its '{}' is {}, the model's {}", name, outline_text(value->second),
                                        outline_text(tensor)));
    }
  }
  if (own.size() != variables.size())
    differences.push_back(fmt::format("it has {} variables, the model {}", variables.size(), own.size()));
  if (!differences.empty()) refuse(std::move(differences));
}

void write_variables(Model& model, const Variables& variables) {
  const at::NoGradGuard no_grad;
  require_variables(model, variables);
  const std::map<std::string, at::Tensor> values(variables.begin(), variables.end());
  for (const auto& [name, tensor] : named_variables(model)) tensor.copy_(values.at(name));
}

std::vector<int64_t> layer_depths(const std::vector<PlacedLayer>& layers) {
  const auto count = std::ssize(layers);
  std::vector<int64_t> last_reader(layers.size() + 1, 0);  // of the model's input, and of each layer
  for (int64_t i = 0; i < count; ++i) {
    const PlacedLayer& layer = layers[static_cast<size_t>(i)];
    last_reader[static_cast<size_t>(layer.input + 1)] = i;
    if (kind_of(layer).combine != nullptr) last_reader[static_cast<size_t>(layer.with + 1)] = i;
  }
  std::vector<int64_t> depths(layers.size());
  int64_t depth = -1, begin = 0, open = 0;  // layer `open` is the last that reads what was before this one
  bool was_half = false, multiplies = false, is_half = false;
  for (int64_t i = 0; i < count; ++i) {
    const LayerKind& kind = kind_of(layers[static_cast<size_t>(i)]);
    multiplies |= kind.operations != nullptr && layers[static_cast<size_t>(i)].parameters > 0;
    is_half |= kind.is_half_block;
    open = std::max(open, last_reader[static_cast<size_t>(i)]);
    if (open > i) continue;
    const bool is_other_half = was_half && i > begin;
    if (multiplies && !is_other_half) ++depth;
    std::fill(depths.begin() + begin, depths.begin() + i + 1, std::max<int64_t>(0, depth));
    if (multiplies) was_half = is_half && i > begin && !is_other_half;
    begin = i + 1;
    multiplies = is_half = false;
  }
  return depths;
}

std::vector<double> layer_factors(const Model& model, const Variables& parameters, double decay) {
  if (decay == 1) return {};
  const std::vector<PlacedLayer>& layers = model.layers();
  const std::vector<int64_t> depths = layer_depths(layers);
  std::map<std::string, int64_t> depth_of;  // no name of a layer has a dot
  for (size_t i = 0; i < layers.size(); ++i) depth_of[layers[i].name] = depths[i];
  std::vector<double> factors;
  for (const auto& [name, parameter] : parameters)
    factors.push_back(
        std::pow(decay, static_cast<double>(depths.back() - depth_of.at(name.substr(0, name.find('.'))))));
  return factors;
}

}  // namespace dtrain
