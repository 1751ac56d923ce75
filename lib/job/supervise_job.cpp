#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "checkpoint/checkpoint.h"
#include "core/clock.h"
#include "core/files.h"
#include "core/signals.h"
#include "core/text.h"
#include "identity/identity.h"
#include "identity/role.h"
#include "job/host_links.h"
#include "job/job.h"
#include "job/restarts.h"
#include "job/supervise_run.h"
#include "metrics/events.h"
#include "plan/warnings.h"
#include "store/local_store.h"
#include "supervise/diagnosis.h"
#include "supervise/supervisor.h"
#include "train/meeting.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

constexpr double kSaveSeconds = 600;  // after a stop signal; a second one does not wait

// Starts and watches the replicas of one run on this host alone.
SuperviseResult supervise_here(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                               const std::string& program, LocalReplicas replicas) {
  const HostedLocalStore hosted = host_local_store(rendezvous_timeout(job.spec));
  for (int64_t rank = 0; rank < run.processes(); ++rank)
    replicas.identities.push_back(local_identity(rank, run.processes(), hosted.name));
  return supervise_replicas(job, run, directory, program, replicas);
}

// Those of one run on all hosts: the distributed one, or one that this host does while the others wait.
SuperviseResult supervise_everywhere(const JobPlan& job, const RunPlan& run, const RunDirectory& directory,
                                     const std::string& program, LocalReplicas replicas,
                                     LeadingHost* others) {
  if (others == nullptr) return supervise_here(job, run, directory, program, replicas);
  replicas.interrupted = [others] { return others->interrupted(); };
  if (!run.traits().spans_hosts) return supervise_here(job, run, directory, program, replicas);
  others->tell_losses_to(replicas.on_lost);
  replicas.identities = others->start(replicas.restart, replicas.resumes);
  return others->gather(supervise_replicas(job, run, directory, program, replicas));
}

// The same, with what a run that saves checkpoints says when it was stopped.
SuperviseResult supervise_once(const JobPlan& job, const RunPlan& run, const ResumePoint* from,
                               const std::string& program, RunOutput& output, LocalReplicas replicas,
                               LeadingHost* others) {
  bool saved = false;      // for a stop signal
  std::string last_words;  // of rank 0, when it failed otherwise
  replicas.on_failed = [&](const Event& event) {
    saved = integer_at(event, "code") == static_cast<int>(ExitCode::kStopped);
    // That its peers are gone is no news.
    const bool news = !saved && integer_at(event, "code") != static_cast<int>(ExitCode::kPeerLost);
    if (news) last_words = text_at(event, "message").value_or("");
  };
  replicas.on_lost = [&](const LostReplica& lost) {
    auto event = begin_event<WorkerLostEvent>(run.name());
    event.worker = lost.rank;
    event.reason = lost.reason;
    if (lost.restart > 0) event.restart = lost.restart;
    output.on_event(encode(event));
  };
  if (from != nullptr) {
    replicas.resumes = true;
    replicas.checkpoint = from->checkpoint;
  }
  if (saves_checkpoints(job, run)) replicas.stop_seconds = kSaveSeconds;
  SuperviseResult result = supervise_everywhere(job, run, output.directory(), program, replicas, others);
  if (result.code != ExitCode::kStopped) return result;
  if (output.is_complete(run)) return {};  // it was about to end anyway
  if (!last_words.empty()) result.message += " (" + last_words + ")";
  if (!saved) output.look_for_checkpoints();  // ended before it could tell of the last one
  result.message = stopped_message(result.message, output, saved);
  return result;
}

// What stopped the job while nothing runs: a signal here, or one that another host tells of.
std::optional<SuperviseResult> stop_between(const LocalReplicas& replicas, LeadingHost* others) {
  if (stop_signals_received() > replicas.stop_signals_before)
    return stopped_by_signal(last_stop_signal(), replicas.host);
  return others == nullptr ? std::nullopt : others->stopped();
}

// Waits until `end`, steady_seconds(), or until the job is stopped.
std::optional<SuperviseResult> wait_until(double end, const LocalReplicas& replicas, LeadingHost* others) {
  while (true) {
    if (const auto stop = stop_between(replicas, others)) return stop;
    if (steady_seconds() >= end) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// What a run that has lost a process goes on from: the newest checkpoint that it has saved and that is good,
// else what it began from, else its beginning (nullopt).
std::optional<ResumePoint> restart_point(const RunOutput& output, const ResumePoint* from) {
  ResumePoint point;
  point.run = output.directory().path();
  const auto folder = checkpoint_folder(point.run);
  const auto warn = [&](const std::string& warning) { point.warnings.push_back(warning); };
  const auto is_own = [&](const SavedCheckpoint& saved) { return output.has_saved(saved); };
  try {
    point.checkpoint = latest_good_checkpoint(folder, warn, is_own);
  } catch (const Error&) {  // none
    if (from == nullptr) return std::nullopt;
    point.checkpoint = from->checkpoint;
    // Retention may have removed it for a later one, which turned out to be damaged.
    if (!std::filesystem::exists(point.checkpoint)) point.checkpoint = latest_good_checkpoint(folder, warn);
  }
  point.state = read_manifest(point.checkpoint).state;
  return point;
}

// A failure with why it was not tried again, and how a user goes on.
SuperviseResult with_advice(SuperviseResult failure, const RestartPolicy& policy, const RunOutput& output) {
  if (!policy.why_not().empty()) failure.message += "\n" + policy.why_not();
  if (may_end_otherwise(failure.code)) failure.message += go_on_message(output);
  return failure;
}

// The same, restarted when a process dies, here or elsewhere, and the spec allows it.
SuperviseResult supervise_run(const JobPlan& job, const RunPlan& run, const ResumePoint* from,
                              const std::string& program, RunOutput& output, LocalReplicas replicas,
                              LeadingHost* others) {
  RestartPolicy policy(most_restarts(job, run), job.spec.restarts.backoff_seconds);
  std::optional<ResumePoint> point = from ? std::optional(*from) : std::nullopt;
  while (true) {
    const bool spans_hosts = others != nullptr && run.traits().spans_hosts;  // then on those that are left
    SuperviseResult result =
        supervise_once(spans_hosts ? others->job() : job, spans_hosts ? others->job().runs.back() : run,
                       point ? &*point : nullptr, program, output, replicas, others);
    if (result.code == ExitCode::kDone || result.code == ExitCode::kStopped) return result;
    output.look_for_checkpoints();
    const std::string error = result.reason.substr(0, result.reason.find('\n'));
    const FailedAttempt failed{result.code, error, result.cause.empty() ? error : result.cause, result.step,
                               output.checkpoint_step()};
    if (stop_signals_received() > replicas.stop_signals_before) return with_advice(result, policy, output);
    const std::optional<double> wait = policy.on_failure(failed);
    if (!wait) return with_advice(result, policy, output);
    ++replicas.restart;
    std::optional<SuperviseResult> stop;
    try {
      if (others) others->announce_restart();
      point = restart_point(output, from);
      const double end = steady_seconds() + *wait;
      if (others) others->meet_again(replicas.stop_signals_before);
      output.restart(failed, *wait, point ? &*point : nullptr);
      stop = wait_until(end, replicas, others);
    } catch (const Error& error) {
      if (error.code() == ExitCode::kStopped) stop = stop_between(replicas, others);
      if (!stop) {
        result.message += std::string("\n") + error.what();
        return with_advice(result, policy, output);
      }
    }
    if (!stop) continue;
    stop->message = stopped_message(stop->message, output, /*saved=*/false);
    return *stop;
  }
}

// The folder of this job's logs on another host than the first, inside of the run's folder, so that hosts
// which share a disk do not meet there.
RunDirectory make_folder_elsewhere(const JobPlan& job, const OutputOptions& options,
                                   const FollowingHost& leader, const HostPlace& place) {
  RunDirectoryOptions directory = options.directory;
  directory.directory =
      directory.directory.value_or(directory.parent / leader.folder()) / fmt::format("host-{}", place.index);
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
  LocalReplicas replicas;
  replicas.host = hosts.own_name();
  replicas.interrupted = [&leader] { return leader.interrupted(); };
  replicas.on_lost = [&leader](const LostReplica& lost) { leader.tell_loss(lost); };
  replicas.on_status = options.say;
  replicas.stop_signals_before = signals_before;
  if (saves_checkpoints(job, job.runs.back())) replicas.stop_seconds = kSaveSeconds;
  while (true) {
    const std::optional<HostStart> start = leader.wait_for_start(signals_before);
    SuperviseResult own;
    if (start) {
      replicas.identities = start->identities;
      replicas.restart = start->restart;
      replicas.resumes = start->resume;  // the first host knows from what
      own = supervise_replicas(leader.job(), leader.job().runs.back(), directory, program, replicas);
    } else {
      own = leader.interrupted().value_or(stopped_by_signal(last_stop_signal(), hosts.own_name()));
    }
    if (const auto verdict = leader.report(own)) return *verdict;
  }
}

}  // namespace

JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out, const std::optional<JobHosts>& hosts) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  const std::optional<ResumePoint> point = resume_point(job, options);
  const ResumePoint* from = point ? &*point : nullptr;
  if (from != nullptr && from->state.step >= job.runs.back().total_steps) {
    out << fmt::format("{} is complete: all {} steps are done; more train.epochs would go on from there\n",
                       from->run.string(), with_separators(from->state.step));
    return {};
  }
  std::unique_ptr<RunOutput> output;
  const auto make_output = [&] {
    output = std::make_unique<RunOutput>(job, options, out, from);
    return std::filesystem::absolute(output->directory().path()).filename().string();
  };
  std::optional<LeadingHost> others;
  if (hosts) {
    others.emplace(job, *hosts, make_output);
  } else {
    make_output();
  }
  if (from == nullptr) {
    for (const std::string& warning : plan_warnings(job)) output->warn(warning);
  }
  LocalReplicas replicas;
  replicas.on_event = [&output](const Event& event) { output->on_event(event); };
  replicas.on_tick = [&output] { output->on_tick(); };
  replicas.on_status = [&output](const std::string& text) { output->say(text); };
  replicas.stop_signals_before = signals_before;
  if (hosts) replicas.host = hosts->own_name();
  for (const RunPlan& run : job.runs) {
    if (from != nullptr && !run.traits().resumes) continue;  // it was made before
    SuperviseResult result;
    try {
      result = supervise_run(job, run, from, program, *output, replicas, others ? &*others : nullptr);
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
    result = leader.report(result).value_or(result);
  }
  return {result.code, result.message, result.reason, {}};
}

}  // namespace dtrain
