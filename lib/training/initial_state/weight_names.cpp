#include "initial_state/weight_names.h"

#include <algorithm>

#include "architectures/architectures.h"
#include "spec/layer_kinds.h"

namespace dtrain {
std::string WeightNames::layer_of(const std::string& variable) {
  const size_t dot = variable.rfind('.');
  return dot == std::string::npos ? "" : variable.substr(0, dot);
}

WeightNames::WeightNames(const JobPlan& job) {
  const Architecture model = architecture_of(job.spec.model, /*outputs=*/1);
  size_t placed = 0;  // an activation within a layer is a layer of its own there
  for (size_t i = 0; i < model.layers.size(); ++i) {
    const std::string& name = job.model.layers.at(placed).name;
    if (!model.torchvision[i].empty()) own_names_[model.torchvision[i]] = name;
    if (i >= model.head) head_.insert(name);
    placed += activation_of(model.layers[i]) ? 2 : 1;
  }
  ModelSpec whole = job.spec.model;
  whole.include_top = true;
  for (const std::string& name : architecture_of(whole, /*outputs=*/1).torchvision) {
    if (!name.empty() && own_names_.count(name) == 0) left_out_.insert(name);
  }
}

bool WeightNames::is_of_head(const std::string& variable) const {
  return head_.count(layer_of(variable)) > 0;
}

bool WeightNames::is_of_left_out_top(const std::string& variable) const {
  return left_out_.count(layer_of(variable)) > 0;
}

bool WeightNames::translate(const Model& model, Variables& variables) const {
  const Variables own = named_variables(model);
  const auto is_own = [&](const auto& variable) {
    return std::any_of(own.begin(), own.end(), [&](const auto& one) { return one.first == variable.first; });
  };
  const auto is_known = [&](const auto& variable) { return own_names_.count(layer_of(variable.first)) > 0; };
  if (std::any_of(variables.begin(), variables.end(), is_own)) return false;
  if (std::none_of(variables.begin(), variables.end(), is_known)) return false;
  Variables translated;
  for (const auto& [name, tensor] : variables) {
    const std::string layer = layer_of(name), variable = name.substr(layer.size());
    if (variable == ".num_batches_tracked") continue;
    const auto found = own_names_.find(layer);
    translated.emplace_back(found == own_names_.end() ? name : found->second + variable, tensor);
  }
  variables = std::move(translated);
  return true;
}

}  // namespace dtrain
