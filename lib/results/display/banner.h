// The terminal's text for single events: the banner at the start of a run, with the numbers of the run, and
// others.
#pragma once

#include <string>

#include "display/console.h"
#include "metrics/events.h"

namespace dtrain {

// The lines of text for a run_start event.
std::string start_banner(const RunStartEvent& start, const ConsoleOptions& options);

// A note for each fallback: a dataset in place of the one asked for, mirrored in place of tpu. Empty: none.
std::string fallback_notes(const RunStartEvent& start, const ConsoleOptions& options);

// "PHASE 1 of 2 (head): trains 5,130 of 11,181,642 parameters, learning rate 0.001 (no scaling)"
std::string phase_line(const PhaseEvent& event);

// An `inspect` event as a table: what each replica contributed to the step, the result, and the verdict.
std::string inspection_table(const InspectEvent& inspection);

}  // namespace dtrain
