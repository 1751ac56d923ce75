// The reference of the events as Markdown.
#pragma once

#include <string>

namespace dtrain {

// The part of docs/metrics.md that lists the events and their fields, from the tables of the fields; with the
// comments at its ends.
std::string events_markdown();

}  // namespace dtrain
