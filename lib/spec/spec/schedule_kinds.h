// What is known of each schedule by its name. Room `optim` computes them.
#pragma once

#include <string>

namespace dtrain {

// Whether this kind of schedule uses the field: one that uses `metric` goes by evaluations, one that uses
// `values` has learning rates of its own, one that uses `over` is stretched over the training. Throws
// Error(kBug) for an unknown kind.
bool schedule_uses(const std::string& kind, const std::string& field);

}  // namespace dtrain
