#include "host/environment.h"

#include <charconv>
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
  int64_t number = 0;
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, number);
  if (error != std::errc() || stop != end || number < lowest || number > highest) {
    throw Error(ExitCode::kUsage, "the environment has {}={}, which is not a whole number from {} to {}",
                name, printable(*text, 40), lowest, highest);
  }
  return number;
}

}  // namespace dtrain
