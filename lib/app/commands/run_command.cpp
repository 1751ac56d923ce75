// run, resize and what they start.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>

#include "commands/commands.h"
#include "commands/shared.h"
#include "core/signals.h"
#include "core/terminal.h"
#include "core/text.h"
#include "data/dataset.h"
#include "experiments/first_steps.h"
#include "host/own_process.h"
#include "job/job.h"
#include "job/other_replicas.h"
#include "launch/identity.h"
#include "launch/place.h"
#include "plan/devices.h"
#include "runs/run_directory.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

void say(const std::string& line) { report_failure("dtrain: " + line, /*expected=*/true); }

OutputOptions output_options(const RunOptions& options) {
  OutputOptions output;
  if (options.run_directory) output.directory.directory = *options.run_directory;
  output.directory.overwrite = options.overwrite;
  output.resume = options.resume;
  output.console.is_terminal = is_terminal(STDOUT_FILENO);
  output.console.colour = shows_colour(STDOUT_FILENO);
  output.console.quiet = options.quiet;
  output.console.json = options.json;
  output.console.width = terminal_width(STDOUT_FILENO);
  output.console.has_room = [] { return has_room(STDOUT_FILENO); };
  output.say = say;
  return output;
}

Launched launched_by(const Place& place) {
  if (place.replica)
    return {.replicas = place.replica->world_size,
            .here = place.replica->local_world_size,
            .by = place.source == "environment" ? "the launcher" : place.source,
            .advice = advice_on_leftovers(*place.replica)};
  if (place.host)
    return {.hosts = static_cast<int64_t>(place.host->hosts.size()),
            .servers = place.host->servers,
            .by = place.source};
  return {};
}

// Prints this process's place in the job, and where it is from.
void announce(const Place& place) {
  const std::string source = place.source == "environment" ? "RANK and WORLD_SIZE" : place.source;
  if (place.replica && place.replica->rank == 0)
    say(fmt::format("rank 0 of {}, {} on this host (from {})", place.replica->world_size,
                    place.replica->local_world_size, source));
  if (place.host)
    say(fmt::format("host {}, number {} of {} (from {}); {} leads, at port {}",
                    place.host->hosts[static_cast<size_t>(place.host->index)], place.host->index + 1,
                    place.host->hosts.size(), source, place.host->hosts.front(), place.host->port));
}

// The job with as many examples a pass as fit, for a spec that leaves that to dtrain.
PlannedJob with_fitting_batch(LoadedSpec loaded, const JobPlan& job, const Place& place, bool quiet) {
  if (place.replica || place.host)
    throw Error(
        ExitCode::kUsage,
        "batch.per_replica: auto measures on one host, with processes of its own: write a number where a "
        "launcher starts them");
  const auto progress = [quiet](const std::string& line) {
    if (!quiet) say("batch.per_replica: auto: " + line);
  };
  loaded.spec.data = job.spec.data;  // with what was measured
  loaded.spec.batch.per_replica = measured_fit(job, progress);
  PlannedJob fitting = plan_job(loaded, find_dataset, launched_by(place));
  if (!fitting.ok()) return fitting;
  const BatchPlan& batch = fitting.job.distributed_run().batch;
  progress(fmt::format("{} fit; accumulate_steps is {}", with_separators(batch.per_replica),
                       batch.accumulate_steps));
  return fitting;
}

JobResult take_part(const JobPlan& job, const Place& place, const MeetingOptions& meeting,
                    const RunOptions& options) {
  if (place.replica)
    return run_launched_replica(job, *place.replica, output_options(options), meeting, std::cout);
  const std::string program = own_program().string();
  std::optional<JobHosts> hosts;
  if (place.host) hosts = JobHosts{*place.host, meeting};
  if (hosts && !hosts->place.leads())
    return supervise_job_elsewhere(job, output_options(options), program, *hosts);
  return supervise_job(job, output_options(options), program, std::cout, hosts);
}

}  // namespace

ExitCode run_command(const RunOptions& options) {
  leave_write_errors_to_writers();
  catch_requests();
  const LoadedSpec loaded = load_spec(options.spec.spec, options.spec.overrides);
  const JobSpec& spec = loaded.spec;
  const Place place = loaded.ok() ? find_place(spec.hosts, spec.network.port,
                                               strategy_traits(spec.strategy.kind).is_synchronous)
                                  : Place{};
  if (!place.replica || place.replica->rank == 0) report_notes(loaded.notes);
  PlannedJob planned = plan_job(loaded, find_dataset, launched_by(place));
  JobPlan& job = planned.job;
  if (planned.ok()) {
    require_devices(job.spec, job.devices, find_devices(job.spec));
    if (!place.replica && !place.host) require_loopback(job);
    if (!options.quiet) announce(place);
    const bool speaks = !options.quiet && (!place.replica || place.replica->local_rank == 0);
    if (prepare_data(job.data, job.spec.data, !speaks))
      planned = plan_job(loaded, find_dataset, launched_by(place));
  }
  if (planned.ok()) {
    measure_data(job.data, job.spec, options.quiet || (place.replica && place.replica->rank != 0));
    if (job.spec.batch.per_replica == kLargestThatFits)
      planned = with_fitting_batch(loaded, job, place, options.quiet);
  }
  if (!planned.ok()) return report_problems(planned.problems);
  const MeetingOptions meeting{job_token(), say, options.resume.has_value()};
  const JobResult result = take_part(job, place, meeting, options);
  if (result.code != ExitCode::kDone)
    report_failure(result.message, /*expected=*/result.code == ExitCode::kStopped);
  return result.code;
}

ExitCode replica_command(const ReplicaOptions& options) {
  return run_supervised_replica(options.plan, options.run,
                                {options.folder, options.resumes, options.checkpoint});
}

ExitCode resize_command(const ResizeOptions& options) {
  const std::filesystem::path run = options.run;
  require_run(run, ExitCode::kUsage, "dtrain resize RUN");
  const int64_t before = resize(run, options.replicas);
  std::cout << fmt::format("{} goes on with {} (before: {})\n", printable(run.string()),
                           counted(options.replicas, "replica"), before);
  return ExitCode::kDone;
}

}  // namespace dtrain
