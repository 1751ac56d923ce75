#include "documentation/exit_code_help.h"

#include <fmt/format.h>

namespace dtrain {
namespace {

constexpr size_t kLineWidth = 100;

}  // namespace

std::string exit_code_help(const std::vector<ExitCodeMeaning>& own) {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& each : own.empty() ? exit_codes() : own)
    parts.push_back(fmt::format("{} {}", static_cast<int>(each.code), each.meaning));
  if (!own.empty()) parts.emplace_back("the others as for dtrain run");
  std::string text = "Exit codes:";
  size_t line_begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {  // lines break only between parts
    const std::string part = parts[i] + (i + 1 < parts.size() ? ";" : ".");
    const bool fits = text.size() - line_begin + 1 + part.size() <= kLineWidth;
    text += fits ? ' ' : '\n';
    if (!fits) line_begin = text.size();
    text += part;
  }
  return text;
}

}  // namespace dtrain
