// Optimizers of plug-ins.
#pragma once

#include <string>

namespace dtrain {

// Adds the optimizer of this name to those that a spec may have (optim/optimizer_kinds.h).
void add_plugin_optimizer(const std::string& name);

}  // namespace dtrain
