#include "documentation/exit_code_help.h"

#include <fmt/format.h>

namespace dtrain {
namespace {

constexpr size_t kLineWidth = 100;

std::string one(const ExitCodeMeaning& each) {
  return fmt::format("{} {}", static_cast<int>(each.code), each.meaning);
}

// Breaks lines only between parts.
std::string text_of(const std::vector<std::string>& parts) {
  std::string text = "Exit codes:";
  size_t line_begin = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part = parts[i] + (i + 1 < parts.size() ? ";" : ".");
    const bool fits = text.size() - line_begin + 1 + part.size() <= kLineWidth;
    text += fits ? ' ' : '\n';
    if (!fits) line_begin = text.size();
    text += part;
  }
  return text;
}

}  // namespace

std::string exit_code_help() {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& each : exit_codes()) parts.push_back(one(each));
  return text_of(parts);
}

std::string exit_code_help(const std::vector<ExitCodeMeaning>& own) {
  std::vector<std::string> parts;
  for (const ExitCodeMeaning& each : own) parts.push_back(one(each));
  parts.emplace_back("the others as for dtrain run");
  return text_of(parts);
}

}  // namespace dtrain
