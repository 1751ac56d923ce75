#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>

#include "core/files.h"
#include "core/signals.h"
#include "initial_state/resume.h"
#include "job/host_links.h"
#include "job/job.h"
#include "job/replica_process.h"
#include "job_file/print.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

// The folder of this job's logs on another host than the first, inside of the run's folder, so that hosts
// which share a disk do not meet there.
RunDirectory make_folder_elsewhere(const JobPlan& job, const OutputOptions& options,
                                   const FollowingHost& leader, const HostPlace& place) {
  RunDirectoryOptions directory = options.directory;
  std::filesystem::path run = directory.parent / leader.folder();
  try {  // That which is resumed, where it is here, too: it has the logs of the attempts before.
    const std::filesystem::path resumed = run_of_checkpoint(options.resume.value_or(""));
    if (resumed.filename() == leader.folder() && std::filesystem::exists(resumed)) run = resumed;
  } catch (const std::exception&) {  // a path of the first host's, at which this one may not look
  }
  directory.directory = directory.directory.value_or(run) / fmt::format("host-{}", place.index);
  const bool goes_on =
      (options.resume || leader.comes_back()) && std::filesystem::exists(*directory.directory);
  RunDirectory made = goes_on ? RunDirectory::reopen(*directory.directory) : RunDirectory::create(directory);
  write_file_atomically(made.spec_file(), print_spec(job.spec));
  return made;
}

// Does as the first host says, and returns how the job ended.
SuperviseResult follow(const JobPlan& job, const OutputOptions& options, const std::string& program,
                       const JobHosts& hosts, FollowingHost& leader, int signals_before) {
  const RunDirectory directory = make_folder_elsewhere(job, options, leader, hosts.place);
  const int64_t here =
      job.distributed_run().ranks_on(hosts.place.index, std::ssize(hosts.place.hosts)).size();
  if (const std::string warning = cores_warning(job, here); !warning.empty() && !options.resume)
    options.say(fmt::format("host {}: {}", hosts.own_name(), warning));
  LocalReplicas replicas;
  SuperviseOptions& watching = replicas.watching;
  watching.host = hosts.own_name();
  watching.interrupted = [&leader] { return leader.interrupted(); };
  watching.on_lost = [&leader](const LostReplica& lost) { leader.tell_loss(lost); };
  watching.on_status = options.say;
  watching.stop_signals_before = signals_before;
  if (saves_checkpoints(job, job.distributed_run())) watching.stop_seconds = kSaveSeconds;
  while (true) {
    const std::optional<HostStart> start = leader.wait_for_start(signals_before);
    SuperviseResult own;
    if (start) {
      replicas.identities = start->identities;
      replicas.restart = start->restart;
      replicas.resumes = start->resume;  // the first host knows from what
      own = supervise_replicas(leader.job(), leader.job().distributed_run(), directory, program, replicas);
    } else {
      own = leader.interrupted().value_or(stopped_by_signal(last_stop_signal(), hosts.own_name()));
    }
    if (const auto verdict = leader.report(own, signals_before)) return *verdict;
  }
}

}  // namespace

JobResult supervise_job_elsewhere(const JobPlan& job, const OutputOptions& options,
                                  const std::string& program, const JobHosts& hosts) try {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  FollowingHost leader(job, hosts);
  SuperviseResult result;
  try {
    result = follow(job, options, program, hosts, leader, signals_before);
  } catch (...) {
    result = describe_supervising_failure();
    result = leader.report(result, signals_before).value_or(result);
  }
  return {result.code, result.message, result.reason, {}};
} catch (const Error& error) {
  if (error.code() != ExitCode::kDone) throw;
  options.say(error.what());  // nothing is left to train
  return {};
}

}  // namespace dtrain
