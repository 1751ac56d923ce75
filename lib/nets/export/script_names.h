// The names that the TorchScript code of a layer may use (LayerKind::torchscript).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/error.h"
#include "export/export_form.h"

namespace dtrain {

class ScriptNames {
 public:
  explicit ScriptNames(const NamedTensors& variables) : variables_(variables) {}

  // A variable of the layer: "self.dense.weight". Throws Error(kCheckpoint) if there is none.
  std::string operator()(const PlacedLayer& layer, const char* name) const {
    const std::string full = layer.name + "." + name;
    const auto has_name = [&full](const auto& any) { return any.first == full; };
    if (std::any_of(variables_.begin(), variables_.end(), has_name)) return "self." + full;
    throw Error(ExitCode::kCheckpoint, "the checkpoint has no '{}' of its own model", full);
  }
  // "self.dense.bias", or "None" if it has none.
  std::string bias(const PlacedLayer& layer, bool has_bias) const {
    return has_bias ? (*this)(layer, "bias") : "None";
  }
  // The output of a layer, kept for layers other than the next one.
  static std::string kept(int64_t layer) { return fmt::format("kept_{}", layer); }

 private:
  const NamedTensors& variables_;
};

}  // namespace dtrain
