#include "yaml/environment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "core/text.h"

namespace dtrain {
namespace {

constexpr size_t kMaxExpandedBytes = 64 * 1024;

bool is_variable_name(const std::string& name) {
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); });
}

}  // namespace

Expansion expand_variables(const std::string& text) {
  Expansion result;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 3, "$${") == 0) {
      result.text += "${";
      at += 3;
      continue;
    }
    if (text.compare(at, 2, "${") != 0) {
      result.text += text[at++];
      continue;
    }
    const size_t end = text.find('}', at);
    const std::string name = end == std::string::npos ? "" : text.substr(at + 2, end - at - 2);
    if (!is_variable_name(name)) {
      result.problem =
          fmt::format("'{}' is not of the form ${{NAME}}; write $${{ for a literal ${{",
                      printable(text.substr(at, end == std::string::npos ? end : end - at + 1), 40));
      return result;
    }
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) {
      result.problem = fmt::format("the environment variable {} is not set", printable(name, 60));
      return result;
    }
    result.text += value;
    result.expanded = true;
    if (result.text.size() > kMaxExpandedBytes) {
      result.problem =
          fmt::format("the environment variables in it hold more than {}", human_bytes(kMaxExpandedBytes));
      return result;
    }
    at = end + 1;
  }
  return result;
}

}  // namespace dtrain
