#include <fmt/format.h>

#include <filesystem>
#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/files.h"
#include "core/signals.h"
#include "display/rate_plot.h"
#include "experiments/first_steps.h"
#include "launch/place.h"
#include "plan/job_plan.h"
#include "report/report.h"

namespace dtrain {

ExitCode find_lr_command(const RateCommandOptions& options) {
  leave_write_errors_to_writers();
  catch_requests();
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  report_notes(loaded.notes);
  const PlannedJob planned = plan_job(loaded, find_dataset);
  if (!planned.ok()) return report_problems(planned.problems);
  require_alone("a range test", loaded.spec.hosts);
  if (options.out) require_own_page(*options.out, options.overwrite, "dtrain find-lr");
  RateTest test = options.test;
  test.name = loaded.spec.name;
  const std::filesystem::path folder = make_empty_folder({}, loaded.spec.name + "-find-lr");
  if (!options.quiet)
    report_failure(fmt::format("dtrain: {} steps with learning rates from {:g} to {:g}, in {}", test.steps,
                               test.from, test.to, folder.string()),
                   /*expected=*/true);
  run_rate_test(loaded.spec, folder, test);
  if (options.out) write_file_atomically(*options.out, rate_page(test), "--out");
  std::cout << (options.json ? event_text(rate_document(test), 2) + "\n" : rate_plot(test)) << std::flush;
  return test.end == RateTestEnd::kStopped ? ExitCode::kStopped : ExitCode::kDone;
}

}  // namespace dtrain
