// Whether the kinds of plug-ins fit among those that there are.
#pragma once

#include <string>
#include <vector>

#include "plugins/plugin.h"
#include "spec/added_kinds.h"

namespace dtrain {

// Throws Error(kUsage) if there is a kind of this name, if one of its fields cannot be beside those of other
// kinds in a spec, or if a spec could not have the value of `options` that stands where none is given.
void require_fitting(AddedKind::What what, const AddedKind& kind, const std::vector<OptionInfo>& options);

// Of what an optimizer remembers, and of a step's metrics: throws Error(kUsage) if one is no name, is there
// twice, or means something else in checkpoints or events.
void require_memory_names(const std::vector<std::string>& names);
void require_metric_names(const std::vector<std::string>& names);

}  // namespace dtrain
