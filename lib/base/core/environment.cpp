#include "core/environment.h"

#include <cstdlib>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {

std::optional<std::string> environment_text(const char* name) {
  const char* const value = std::getenv(name);
  return value && *value != '\0' ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<int64_t> environment_number(const char* name, int64_t lowest, int64_t highest) {
  const auto text = environment_text(name);
  if (!text) return std::nullopt;
  const auto number = whole_number(*text);
  if (!number || *number < lowest || *number > highest) {
    throw Error(ExitCode::kUsage, "the environment has {}={}, which is not a whole number from {} to {}",
                name, printable(*text, 40), lowest, highest);
  }
  return number;
}

}  // namespace dtrain
