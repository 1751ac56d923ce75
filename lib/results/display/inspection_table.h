// Shows the inspection of one step as a table.
#pragma once

#include <string>

#include "metrics/events.h"

namespace dtrain {

// An `inspect` event as a table: what each replica contributed to the step, the result, and the verdict.
std::string inspection_table(const InspectEvent& inspection);

}  // namespace dtrain
