#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/signals.h"
#include "core/terminal.h"
#include "display/tune.h"
#include "experiments/tune.h"
#include "job/run_output.h"
#include "launch/place.h"
#include "runs/require_folder.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The folder of the planned tune; nullopt if there are problems, which are printed.
std::optional<fs::path> begin_tune(const TuneCommandOptions& options) {
  std::vector<Problem> problems;
  TuneOptions plan = options.plan;
  plan.fields = read_tries(options.tries, problems);
  for (const std::string& set : options.spec.overrides.set) {
    for (const TriedField& field : plan.fields) {
      if (set.rfind(field.path + "=", 0) == 0)
        problems.push_back({"--try", 0, 0, field.path, "is set too; leave out one of --try and --set"});
    }
  }
  if (problems.empty() && options.spec.spec == "-")
    throw Error(ExitCode::kUsage, "a tune reads its spec once for each trial: name a file, not -");
  PlannedTune planned;
  if (problems.empty()) planned = plan_tune(options.spec.spec, options.spec.overrides, plan, problems);
  report_notes(planned.notes);
  if (!problems.empty()) {
    report_problems(problems);
    return std::nullopt;
  }
  if (options.out && fs::exists(fs::path(*options.out) / "tune.json"))
    throw Error(ExitCode::kUsage,
                "{0}: has a tune; dtrain tune --resume {0} continues it, or choose another folder with --out",
                *options.out);
  const fs::path folder = make_empty_folder(options.out, planned.tune.name + "-tune");
  planned.tune.directory = folder.string();
  prepare_data(planned.first.data, planned.first.spec.data, options.quiet);  // once, not in several trials
  save_tune(planned);
  return folder;
}

}  // namespace

ExitCode tune_command(const TuneCommandOptions& options) {
  leave_write_errors_to_writers();
  catch_requests();
  require_alone("a tune", {});
  fs::path folder;
  if (options.resume) {
    folder = *options.resume;
    require_folder(folder, ExitCode::kUsage);
    if (!fs::exists(folder / "tune.json"))
      throw Error(ExitCode::kUsage, folder.string() + ": is not the folder of a tune; it has no tune.json");
  } else {
    const std::optional<fs::path> made = begin_tune(options);
    if (!made) return ExitCode::kUsage;
    folder = *made;
  }
  std::ostream nowhere(nullptr);
  const ExitCode code = run_tune(folder, options.quiet ? nowhere : std::cerr);
  const Tune tune = read_tune(folder / "tune.json");
  std::cout << (options.json ? event_text(tune_document(tune), 2) + "\n"
                             : tune_table(tune, width_limit(STDOUT_FILENO)))
            << std::flush;
  if (!std::cout)
    report_failure("dtrain: standard output cannot be written; the results are in " + folder.string());
  if (code == ExitCode::kStopped)
    std::cerr << "dtrain: stopped; " << command_on("tune --resume", folder) << " continues it" << std::endl;
  return code;
}

}  // namespace dtrain
