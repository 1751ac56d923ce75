// Facts about each kind of model, by name. Room `architectures` makes their lists of layers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace dtrain {

struct ModelTraits {
  std::string name;                  // model.kind
  std::vector<int64_t> depths = {};  // model.depth is one of them; empty: the kind has no depth
  int64_t usual_depth = 0;           // if the spec gives none
  bool is_published = false;         // a known network: it can do without its top, and names its variables
  bool is_own = false;               // the user's: no field of dtrain's own describes it
  bool is_program = false;           // the same, and it is not a list of layers
  bool is_bottleneck = false;        // residual blocks of three convolutions, at depths of 50 and more
  // Those of `depths` whose layers model.widen_factor widens; they have no bottlenecks and no stem of choice.
  std::vector<int64_t> widened_depths = {};

  bool widens(int64_t depth) const;
};

// Adds a plug-in's model.
void add_model(const std::string& name);

// Throws Error(kBug) if the name is not in the table, because specs are checked before.
const ModelTraits& model_traits(const std::string& kind);

// The names of the models for which `holds` returns true.
std::vector<std::string> models_where(const std::function<bool(const ModelTraits&)>& holds);

}  // namespace dtrain
