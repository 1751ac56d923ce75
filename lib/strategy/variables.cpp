#include "strategy/variables.h"

#include <ATen/ATen.h>

#include "core/error.h"

namespace dtrain {

Variables named_variables(const Model& model) {
  Variables all;
  for (const auto& item : model.named_parameters()) all.emplace_back(item.key(), item.value());
  for (const auto& item : model.named_buffers()) all.emplace_back(item.key(), item.value());
  return all;
}

Variables copy_variables(const Model& model) {
  const at::NoGradGuard no_grad;
  Variables copies = named_variables(model);
  for (auto& [name, tensor] : copies) tensor = tensor.detach().clone();
  return copies;
}

void write_variables(Model& model, const Variables& variables) {
  const at::NoGradGuard no_grad;
  const Variables own = named_variables(model);
  if (own.size() != variables.size()) {
    throw Error(ExitCode::kBug, "the number of variables does not match the model's");
  }
  for (size_t i = 0; i < own.size(); ++i) {
    const auto& [name, value] = variables[i];
    if (name != own[i].first || value.sizes() != own[i].second.sizes() ||
        value.scalar_type() != own[i].second.scalar_type()) {
      throw Error(ExitCode::kBug,
                  "variable '" + name + "' does not match the model's '" + own[i].first + "'");
    }
    own[i].second.copy_(value);
  }
}

}  // namespace dtrain
