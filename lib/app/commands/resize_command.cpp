#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <thread>

#include "commands/commands.h"
#include "core/error.h"
#include "core/text.h"
#include "job/other_replicas.h"
#include "plan/plan_file.h"
#include "runs/run_directory.h"

namespace dtrain {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20);

int64_t replicas_of(const std::filesystem::path& run) {
  return read_plan(run / "plan.json").distributed_run().replicas;
}

}  // namespace

ExitCode resize_command(const ResizeOptions& options) {
  const std::filesystem::path run = options.run;
  require_run(run, ExitCode::kUsage, "dtrain resize RUN");
  const JobPlan job = read_plan(run / "plan.json");
  const int64_t before = job.distributed_run().replicas;
  with_replicas(job, options.replicas);  // refuses what is not possible
  if (!is_in_use(run))
    throw Error(ExitCode::kUsage,
                "{}: no dtrain runs this job; to go on with another number: dtrain run --resume {} --set "
                "strategy.replicas={}",
                printable(run.string()), shell_word(run.string()), options.replicas);
  if (before != options.replicas) {
    ask_for_replicas(run, options.replicas);
    while (replicas_of(run) != options.replicas) {
      if (!is_in_use(run)) throw Error(ExitCode::kUsage, "{}: the job has ended", printable(run.string()));
      std::this_thread::sleep_for(kLook);
    }
  }
  std::cout << fmt::format("{} goes on with {} (before: {})\n", printable(run.string()),
                           counted(options.replicas, "replica"), before);
  return ExitCode::kDone;
}

}  // namespace dtrain
