// validate and schema: commands about specs that start nothing.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands/commands.h"
#include "commands/report_problems.h"
#include "core/text.h"
#include "data/dataset.h"
#include "job_file/load.h"
#include "plan/warnings.h"
#include "reference/document.h"
#include "reference/events_document.h"
#include "reference/schema.h"
#include "start/obstacles.h"
#include "start/warm_start.h"

namespace dtrain {
namespace {

nlohmann::ordered_json to_json(const std::vector<Problem>& problems) {
  auto list = nlohmann::ordered_json::array();
  for (const Problem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"path", problem.path},
                    {"problem", problem.text}});
  }
  return list;
}

// The weights are a file that the spec names: without it, or with another model's, no host can run the job.
void check_weights(const JobPlan& job, LoadedSpec& loaded, ExitCode& code) {
  try {
    require_weights(job);
  } catch (const Error& error) {
    const std::string field = "model.weights", what = error.what();
    const size_t named = what.rfind(field + ": ", 0) == 0 ? field.size() + 2 : 0;
    loaded.problems.push_back(loaded.problem_at(field, what.substr(named)));
    if (code == ExitCode::kDone) code = error.code();
  }
}

}  // namespace

ExitCode validate_command(const std::vector<std::string>& specs, const Overrides& overrides, bool json) {
  std::vector<Problem> all;
  ExitCode code = ExitCode::kDone;
  for (const std::string& path : specs) {
    LoadedSpec loaded = load_spec(path, overrides);
    const std::string name = path == "-" ? "<stdin>" : printable(path, 1000);
    report_notes(loaded.notes, std::cerr);
    try {
      // Also checks shapes, shares and steps. If the files of a dataset are missing, its published shape is
      // used.
      const JobPlan job = plan_job(loaded, describe_dataset);
      if (loaded.ok()) {
        for (const std::string& warning : plan_warnings(job))
          report_warnings({fmt::format("{}: {}", name, warning)}, std::cerr);
        for (const std::string& obstacle : missing_on_host(job))
          report_notes({fmt::format("{}: {}", name, obstacle)}, std::cerr);
        check_weights(job, loaded, code);
      }
    } catch (const Error& error) {  // damaged files; continue with the next spec
      const char* const field = loaded.positions.contains("data.path") ? "data.path" : "data.dataset";
      loaded.problems.push_back(loaded.problem_at(field, error.what()));
      if (code == ExitCode::kDone) code = error.code();
    }
    if (loaded.ok() && !json) std::cout << name << ": valid\n";
    if (!loaded.ok() && code == ExitCode::kDone) code = ExitCode::kUsage;
    all.insert(all.end(), loaded.problems.begin(), loaded.problems.end());
  }
  if (json) {
    const nlohmann::ordered_json document = {{"valid", all.empty()}, {"problems", to_json(all)}};
    std::cout << printable_json(document.dump(2, ' ', false, nlohmann::json::error_handler_t::replace))
              << '\n';
  } else if (!all.empty()) {
    report_problems(all, std::cerr);
  }
  return code;
}

ExitCode schema_command(bool markdown, bool events) {
  std::cout << (events ? events_markdown() : markdown ? spec_markdown() : json_schema());
  return ExitCode::kDone;
}

}  // namespace dtrain
