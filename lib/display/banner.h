// The block that opens a run: every number that shapes it, before the first step.
#pragma once

#include <string>

#include "metrics/events.h"

namespace dtrain {

// Lines of text that say what the event says.
std::string start_banner(const RunStartEvent& start, bool colour);

// One line that says that another dataset than the one asked for is used; empty when it is not so.
std::string fallback_note(const RunStartEvent& start, bool colour);

}  // namespace dtrain
