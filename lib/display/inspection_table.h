// A look at one step, for people.
#pragma once

#include <string>

#include "metrics/events.h"

namespace dtrain {

// As a table: what each replica brought to the step, what came out, and the verdict.
std::string inspection_table(const InspectEvent& inspection);

}  // namespace dtrain
