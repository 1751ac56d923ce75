#include "commands/report_problems.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "core/terminal.h"
#include "core/text.h"
#include "documentation/configs.h"

namespace dtrain {
namespace {

void report_lines(const char* begin, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::cerr << begin << printable_lines(text);
  std::cerr.flush();
}

// What a user may mean by a file that is no spec.
std::string advice_on_file(const Problem& problem) {
  const std::filesystem::path file(problem.file);
  const std::string name = printable(problem.file), example = file.stem().string();
  if (!problem.path.empty()) return "";
  if (std::filesystem::exists(file / "spec.yaml")) return "; to resume a run: dtrain run --resume " + name;
  if (std::filesystem::is_directory(file) || file.extension() == ".csv")
    return fmt::format("; for a spec for such data: dtrain init --from {} > job.yaml", name);
  const std::vector<std::string> names = shipped_config_names();
  const bool is_example = std::find(names.begin(), names.end(), example) != names.end();
  if (!is_example || std::filesystem::exists(file)) return "";
  return fmt::format("; `dtrain configs {0}` writes the example of this name to {0}.yaml here", example);
}

}  // namespace

ExitCode report_problems(const std::vector<Problem>& problems) {
  for (const Problem& problem : problems)
    std::cerr << printable_lines(problem.to_string() + advice_on_file(problem));
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
