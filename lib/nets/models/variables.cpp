#include "models/variables.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/text.h"

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

}  // namespace dtrain
