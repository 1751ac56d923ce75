// A look at one step, for people.
#pragma once

#include <string>

#include "metrics/event.h"

namespace dtrain {

// An `inspect` event as a table: what each replica brought to the step, what came out, and the verdict.
std::string inspection_table(const Event& inspection);

}  // namespace dtrain
