// validate and schema: commands about specs that start nothing.
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/text.h"
#include "data/dataset.h"
#include "documentation/document.h"
#include "job_file/load.h"
#include "metrics/event.h"
#include "plan/warnings.h"

namespace dtrain {
namespace {

Event to_json(const std::vector<Problem>& problems) {
  Event list = Event::array();
  for (const Problem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"path", problem.path},
                    {"problem", problem.text}});
  }
  return list;
}

}  // namespace

ExitCode validate_command(const std::vector<std::string>& specs, const Overrides& overrides, bool json) {
  std::vector<Problem> all;
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : specs) {
    const LoadedSpec loaded = load_spec(path, overrides);
    std::vector<Problem> problems;
    const std::string name = path == "-" ? "<stdin>" : printable(path, 1000);
    report_notes(loaded.notes);
    try {
      // Also checks shapes, shares and steps. If the files of a dataset are missing, its published shape is
      // used.
      const PlannedJob planned = plan_job(loaded, describe_dataset);
      const JobPlan& job = planned.job;
      problems = planned.problems;
      if (planned.ok()) {
        for (const std::string& warning : plan_warnings(job))
          report_warnings({fmt::format("{}: {}", name, warning)});
        for (const std::string& obstacle : missing_on_host(job))
          report_notes({fmt::format("{}: {}", name, obstacle)});
        if (const auto problem = weights_problem(job)) {
          problems.push_back(loaded.problem_at("model.weights", *problem));
          if (code == ExitCode::kDone) code = ExitCode::kCheckpoint;
        }
      }
    } catch (const Error& error) {  // damaged files; continue with the next spec
      const char* const field = loaded.positions.contains("data.path") ? "data.path" : "data.dataset";
      problems.push_back(loaded.problem_at(field, error.what()));
      if (code == ExitCode::kDone) code = error.code();
    }
    if (problems.empty() && !json) std::cout << name << ": valid\n";
    if (!problems.empty() && code == ExitCode::kDone) code = ExitCode::kUsage;
    all.insert(all.end(), problems.begin(), problems.end());
  }
  if (json) {
    std::cout << event_text(Event{{"valid", all.empty()}, {"problems", to_json(all)}}, 2) << '\n';
  } else if (!all.empty()) {
    report_problems(all);
  }
  return code;
}

ExitCode schema_command(bool markdown, bool events) {
  std::cout << (events ? events_markdown() : markdown ? spec_markdown() : json_schema());
  return ExitCode::kDone;
}

}  // namespace dtrain
