// tune, sweep and find-lr: commands that try values of a spec's fields.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/terminal.h"
#include "display/rate_plot.h"
#include "display/sweep.h"
#include "display/tune.h"
#include "experiments/first_steps.h"
#include "experiments/tune.h"
#include "host/own_process.h"
#include "job/run_output.h"
#include "launch/place.h"
#include "report/report.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The folder of the planned tune; nullopt if there are problems, which are printed.
std::optional<fs::path> begin_tune(const TuneCommandOptions& options) {
  std::vector<Problem> problems;
  TuneOptions plan = options.plan;
  plan.fields = read_tries(plan.tries, problems);
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
  const fs::path folder = make_empty_folder(options.out, planned.tune.name, "-tune");
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
  if (code == ExitCode::kStopped || code == ExitCode::kDisk)
    std::cerr << "dtrain: stopped; " << command_on("tune --resume", folder) << " continues it" << std::endl;
  return code;
}

ExitCode sweep_command(const SweepCommandOptions& options) {
  leave_write_errors_to_writers();
  catch_requests();
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  if (!loaded.ok()) return report_problems(loaded.problems);
  require_alone("a sweep", loaded.spec.hosts);
  JobSpec spec = loaded.spec;
  if (spec.batch.per_replica == kLargestThatFits)
    throw Error(
        ExitCode::kUsage,
        "batch.per_replica: auto: a sweep compares numbers of replicas with a batch that it knows; use "
        "--set batch.per_replica=NUMBER");
  DatasetInfo data = find_dataset(spec.data);
  spec.data.resolved_cache = resolve_cache(data, spec.data);
  if (prepare_data(data, spec.data, options.quiet)) data = find_dataset(spec.data);
  measure_data(data, spec, options.quiet);
  SweepOptions plan = options.plan;
  plan.strong = options.mode == "strong";
  for (std::vector<int64_t>* values : {&plan.replicas, &plan.batches}) {
    std::ranges::sort(*values);
    values->erase(std::unique(values->begin(), values->end()), values->end());
  }
  PlannedSweep planned = plan_sweep(spec, data, plan);
  planned.sweep.directory = make_empty_folder(options.out, loaded.spec.name, "-sweep").string();
  std::ostream nowhere(nullptr);
  const ExitCode code = run_sweep(planned, own_program().string(), options.quiet ? nowhere : std::cerr);
  std::cout << (options.json ? event_text(sweep_document(planned.sweep), 2) + "\n"
                             : sweep_table(planned.sweep, width_limit(STDOUT_FILENO)))
            << std::flush;
  if (!std::cout)
    report_failure("dtrain: standard output cannot be written; the numbers are in " +
                   planned.sweep.directory);
  return code;
}

ExitCode find_lr_command(const RateCommandOptions& options) {
  leave_write_errors_to_writers();
  catch_requests();
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  const PlannedJob planned = plan_job(loaded, find_dataset);
  if (!planned.ok()) return report_problems(planned.problems);
  require_alone("a range test", loaded.spec.hosts);
  if (options.out) require_own_page(*options.out, options.overwrite, "dtrain find-lr");
  RateTest test = rate_test_of(loaded.spec, options.test);
  const std::filesystem::path folder = make_empty_folder({}, loaded.spec.name, "-find-lr");
  if (!options.quiet)
    report_failure(fmt::format("dtrain: {} steps with learning rates from {:g} to {:g}, in {}", test.steps,
                               test.from, test.to, folder.string()),
                   /*expected=*/true);
  run_rate_test(loaded.spec, folder, test);
  std::cout << (options.json ? event_text(rate_document(test), 2) + "\n" : rate_plot(test)) << std::flush;
  if (options.out) write_output(*options.out, rate_page(test), "--out");
  return test.end == RateTestEnd::kStopped ? ExitCode::kStopped : ExitCode::kDone;
}

}  // namespace dtrain
