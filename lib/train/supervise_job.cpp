#include <fmt/format.h>

#include <memory>
#include <optional>

#include "comm/store.h"
#include "core/files.h"
#include "core/signals.h"
#include "launch/identity.h"
#include "launch/supervisor.h"
#include "train/host_links.h"
#include "train/job.h"
#include "train/meeting.h"
#include "train/supervise_run.h"

namespace dtrain {
namespace {

// Starts and watches the replicas of one run on this host alone.
SuperviseResult supervise_here(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                               const std::string& program, LocalReplicas replicas) {
  const HostedStore hosted = host_store("127.0.0.1", 0, rendezvous_timeout(job.spec));
  for (int64_t rank = 0; rank < run.replicas; ++rank)
    replicas.identities.push_back(local_identity(rank, run.replicas, hosted.port));
  return supervise_replicas(run, directory, program, replicas);
}

// Those of one run on all hosts: the distributed one, or one that this host does while the others wait.
SuperviseResult supervise_run(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                              const std::string& program, LocalReplicas replicas, LeadingHost* others) {
  if (others == nullptr) return supervise_here(job, run, directory, program, replicas);
  replicas.interrupted = [others] { return others->interrupted(); };
  if (run.replicas == 1) return supervise_here(job, run, directory, program, replicas);
  replicas.identities = others->start();
  return others->gather(supervise_replicas(run, directory, program, replicas));
}

// The folder of this job's logs on another host than the first, inside of the run's folder, so that hosts
// which share a disk do not meet there.
RunDirectory make_folder_elsewhere(const JobPlan& job, const OutputOptions& options,
                                   const std::string& folder, const HostPlace& place) {
  RunDirectoryOptions directory = options.directory;
  directory.directory =
      directory.directory.value_or(directory.parent / folder) / fmt::format("host-{}", place.index);
  RunDirectory made = RunDirectory::create(directory);
  write_file_atomically(made.spec_file(), print_spec(job.spec));
  return made;
}

SuperviseResult follow(const JobPlan& job, const OutputOptions& options, const std::string& program,
                       const JobHosts& hosts, FollowingHost& leader, int signals_before) {
  const RunDirectory directory = make_folder_elsewhere(job, options, leader.folder(), hosts.place);
  LocalReplicas replicas;
  const auto identities = leader.wait_for_start();
  if (!identities) {
    if (const auto ended = leader.interrupted()) return *ended;
    SuperviseResult stopped;
    stopped.code = ExitCode::kStopped;
    stopped.message = stopped.reason = fmt::format("stopped on host {}", hosts.own_name());
    stopped.evidence = Evidence::kFailedItself;
    return stopped;
  }
  replicas.identities = *identities;
  replicas.host = hosts.own_name();
  replicas.interrupted = [&leader] { return leader.interrupted(); };
  replicas.stop_signals_before = signals_before;
  return supervise_replicas(job.runs.back(), directory, program, replicas);
}

}  // namespace

JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out, const std::optional<JobHosts>& hosts) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  std::unique_ptr<RunOutput> output;
  const auto make_output = [&] {
    output = std::make_unique<RunOutput>(job, options, out);
    return std::filesystem::absolute(output->directory().path()).filename().string();
  };
  std::optional<LeadingHost> others;
  hosts ? (void)others.emplace(job, *hosts, make_output) : (void)make_output();
  LocalReplicas replicas;
  replicas.on_event = [&output](const Event& event) { output->on_event(event); };
  replicas.on_tick = [&output] { output->on_tick(); };
  replicas.stop_signals_before = signals_before;
  if (hosts) replicas.host = hosts->own_name();
  for (const RunPlan& run : job.runs) {
    SuperviseResult result;
    try {
      result = supervise_run(job, run, output->directory(), program, replicas, others ? &*others : nullptr);
    } catch (...) {
      result = describe_supervising_failure();
    }
    if (result.code == ExitCode::kDone) continue;
    if (others) others->dismiss(result);
    output->fail(run, result.code == ExitCode::kStopped ? "stopped" : "failed", result.code, result.message);
    return {result.code, result.message, result.reason, output->summary()};
  }
  if (others) others->dismiss({});
  output->finish(job);
  return {ExitCode::kDone, "", "", output->summary()};
}

JobResult supervise_job_elsewhere(const JobPlan& job, const OutputOptions& options,
                                  const std::string& program, const JobHosts& hosts) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  FollowingHost leader(job, hosts);
  SuperviseResult result;
  try {
    result = follow(job, options, program, hosts, leader, signals_before);
  } catch (...) {
    result = describe_supervising_failure();
  }
  result = leader.report(result);
  return {result.code, result.message, result.reason, {}};
}

}  // namespace dtrain
