#include "commands/report_problems.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "core/terminal.h"
#include "core/text.h"

namespace dtrain {
namespace {

void report_lines(const char* begin, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::cerr << begin << printable_lines(text);
  std::cerr.flush();
}

}  // namespace

ExitCode report_problems(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) std::cerr << printable_lines(problem.to_string());
  const bool about_fields = std::any_of(problems.begin(), problems.end(), [](const Problem& problem) {
    return problem.line > 0 || !problem.path.empty();
  });
  std::cerr << fmt::format("{}{}\n", counted(std::ssize(problems), "problem"),
                           about_fields ? "; docs/spec.md and `dtrain schema` describe every field" : "");
  return ExitCode::kUsage;
}

void report_notes(const std::vector<std::string>& notes) { report_lines("NOTE: ", notes); }

void report_warnings(const std::vector<std::string>& warnings) { report_lines("WARNING: ", warnings); }

void report_failure(const std::string& message, bool expected) {
  const bool on_terminal = is_terminal(STDERR_FILENO);
  const bool red = on_terminal && !expected && shows_colour(STDERR_FILENO);
  const int width = on_terminal ? terminal_width(STDERR_FILENO) : 0;
  std::istringstream lines(printable_lines(message));
  for (std::string line; std::getline(lines, line);)
    std::cerr << (red ? kRed : "") << wrapped(line, width, 2) << (red ? kPlain : "") << '\n';
  std::cerr.flush();
}

}  // namespace dtrain
