// Reads environment variables that other programs set, and checks their bounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dtrain {

// nullopt if the variable is not set, or empty: scripts that mean "none" often set it so.
std::optional<std::string> environment_text(const char* name);

// A decimal integer in [lowest, highest]; nullopt if the variable is not set or empty. For anything else,
// throws an Error(kUsage) that names the variable and its value.
std::optional<int64_t> environment_number(const char* name, int64_t lowest, int64_t highest);

}  // namespace dtrain
