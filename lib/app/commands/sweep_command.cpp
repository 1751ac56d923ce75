#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/own_process.h"
#include "core/signals.h"
#include "core/terminal.h"
#include "display/sweep.h"
#include "experiments/sweep.h"
#include "launch/place.h"

namespace dtrain {
namespace {

SweepOptions sweep_options(const SweepCommandOptions& options) {
  SweepOptions plan = options.plan;
  plan.strong = options.mode == "strong";
  for (std::vector<int64_t>* values : {&plan.replicas, &plan.batches}) {
    std::sort(values->begin(), values->end());
    values->erase(std::unique(values->begin(), values->end()), values->end());
  }
  return plan;
}

}  // namespace

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
  PlannedSweep planned = plan_sweep(spec, data, sweep_options(options));
  planned.sweep.directory = make_empty_folder(options.out, loaded.spec.name + "-sweep").string();
  const std::string program = own_program().string();
  std::ostream nowhere(nullptr);
  const ExitCode code = run_sweep(planned, program, options.quiet ? nowhere : std::cerr);
  std::cout << (options.json ? event_text(sweep_document(planned.sweep), 2) + "\n"
                             : sweep_table(planned.sweep, width_limit(STDOUT_FILENO)))
            << std::flush;
  if (!std::cout)
    report_failure("dtrain: standard output cannot be written; the numbers are in " +
                   planned.sweep.directory);
  return code;
}

}  // namespace dtrain
