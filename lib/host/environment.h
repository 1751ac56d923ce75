// Environment variables read with bounds, for values that another program set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dtrain {

std::optional<std::string> environment_text(const char* name);

// A whole decimal number in [lowest, highest]; nullopt when the variable is not set. Throws Error(kUsage)
// that names the variable and its value for anything else, the empty text included.
std::optional<int64_t> environment_number(const char* name, int64_t lowest, int64_t highest);

}  // namespace dtrain
