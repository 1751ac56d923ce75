// Prints the reference of the spec as Markdown.
#pragma once

#include <string>

namespace dtrain {

// The text of docs/spec.md: every section, field, default and bound, from the fields' descriptions.
std::string spec_markdown();

}  // namespace dtrain
