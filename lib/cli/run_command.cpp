#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "cli/commands.h"
#include "cli/report_problems.h"
#include "data/dataset.h"
#include "launch/identity.h"
#include "train/job.h"

namespace dtrain {
namespace {

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

OutputOptions output_options(const RunOptions& options) {
  OutputOptions output;
  if (options.run_directory) output.directory.directory = *options.run_directory;
  output.directory.overwrite = options.overwrite;
  output.console.is_terminal = isatty(STDOUT_FILENO) == 1;
  output.console.colour = output.console.is_terminal && std::getenv("NO_COLOR") == nullptr;
  output.console.quiet = options.quiet;
  output.console.json = options.json;
  output.console.width = terminal_width();
  return output;
}

void require_one_host(const Identity& identity) {
  if (identity.world_size == identity.local_world_size) return;
  throw Error(
      ExitCode::kUsage,
      fmt::format(
          "the launcher started {} processes, {} of them on this host: several hosts need the strategy "
          "multi_worker_mirrored, which is not built yet",
          identity.world_size, identity.local_world_size));
}

}  // namespace

ExitCode run_command(const RunOptions& options) {
  const std::optional<Identity> identity = identity_from_environment();
  if (identity) require_one_host(*identity);
  LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  if (loaded.ok() && loaded.spec.hosts.size() > 1)
    throw Error(ExitCode::kUsage,
                "hosts: jobs on several hosts are not built yet; take hosts out of the spec");
  Launched launched;
  if (identity) launched = {.replicas = identity->world_size, .here = identity->local_world_size};
  const JobPlan job = plan_job(loaded, find_dataset, launched);
  if (!loaded.ok()) {
    report_problems(loaded.problems, std::cerr);
    return ExitCode::kUsage;
  }
  if (identity) {
    run_launched_replica(job, *identity, output_options(options), std::cout);
    return ExitCode::kDone;
  }
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const JobResult result = supervise_job(job, output_options(options), program, std::cout);
  if (result.code != ExitCode::kDone) report_failure(result.message, std::cerr);
  return result.code;
}

ExitCode replica_command(const std::string& spec, const std::string& run) {
  LoadedSpec loaded = load_spec(spec);
  return run_supervised_replica(loaded, run);
}

}  // namespace dtrain
