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

void report_lines(const char* begin, const std::vector<std::string>& texts, std::ostream& out) {
  for (const std::string& text : texts) out << begin << printable_lines(text);
  out.flush();
}

}  // namespace

void report_problems(const std::vector<Problem>& problems, std::ostream& out) {
  for (const Problem& problem : problems) out << printable_lines(problem.to_string());
  const bool about_fields = std::any_of(problems.begin(), problems.end(), [](const Problem& problem) {
    return problem.line > 0 || !problem.path.empty();
  });
  out << fmt::format("{}{}\n", counted(std::ssize(problems), "problem"),
                     about_fields ? "; docs/spec.md and `dtrain schema` describe every field" : "");
}

void report_notes(const std::vector<std::string>& notes, std::ostream& out) {
  report_lines("NOTE: ", notes, out);
}

void report_warnings(const std::vector<std::string>& warnings, std::ostream& out) {
  report_lines("WARNING: ", warnings, out);
}

void report_failure(const std::string& message, std::ostream& out, bool expected) {
  const bool on_terminal = &out == &std::cerr && is_terminal(STDERR_FILENO);
  const bool red = on_terminal && !expected && shows_colour(STDERR_FILENO);
  const int width = on_terminal ? terminal_width(STDERR_FILENO) : 0;
  std::istringstream lines(printable_lines(message));
  for (std::string line; std::getline(lines, line);)
    out << (red ? kRed : "") << wrapped(line, width, 2) << (red ? kPlain : "") << '\n';
  out.flush();
}

}  // namespace dtrain
