#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "checkpoint/checkpoint.h"
#include "core/clock.h"
#include "core/exit_codes.h"
#include "core/signals.h"
#include "core/text.h"
#include "job/host_links.h"
#include "job/job.h"
#include "job/other_replicas.h"
#include "job/replica_process.h"
#include "job/restarts.h"
#include "launch/identity.h"
#include "metrics/events.h"
#include "processes/supervisor.h"
#include "store/local_store.h"
#include "train/meeting.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

// What a run that has lost a process resumes from: the newest checkpoint that it has saved and that is good,
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

FailedAttempt failed_attempt(const SuperviseResult& result, const RunOutput& output) {
  const std::string error = result.reason.substr(0, result.reason.find('\n'));
  return {result.code, error, result.cause.empty() ? error : result.cause, result.step,
          output.checkpoint_step()};
}

// Starts the replicas of each run as processes, here and on the other hosts, and restarts a run that lost
// one, if the spec allows it.
class SupervisingLauncher : public RunLauncher {
 public:
  // `from`: what the job resumes from, or nullptr. `others`: nullptr where the job has one host.
  SupervisingLauncher(const JobPlan& job, const std::string& program, const ResumePoint* from,
                      RunOutput& output, LeadingHost* others, int signals_before)
      : job_(job),
        program_(program),
        from_(from),
        output_(output),
        others_(others),
        signals_before_(signals_before),
        restart_(output.directory().attempts()) {
    if (from != nullptr) point_ = *from;
  }

  SuperviseResult train(const RunPlan& run) override {
    RestartPolicy policy(most_restarts(job_, run), job_.spec.restarts.backoff_seconds);
    while (true) {
      SuperviseResult result = attempt(run);
      const bool planned = is_planned(result);
      if (result.code == ExitCode::kDone || (result.code == ExitCode::kStopped && !planned)) return result;
      output_.look_for_checkpoints();
      const FailedAttempt failed = failed_attempt(result, output_);
      if (!planned && stop_signals_received() > signals_before_) return with_advice(result, policy, run);
      const std::optional<double> wait = planned ? 0 : policy.on_failure(failed);
      if (!wait) return with_advice(result, policy, run);
      std::optional<SuperviseResult> stop;
      try {
        stop = restart(failed, *wait, planned);
      } catch (const Error& error) {
        if (error.code() == ExitCode::kStopped) stop = stop_between();
        if (!stop) {
          result.message += std::string("\n") + error.what();
          return with_advice(result, policy, run);
        }
      }
      if (!stop) continue;
      stop->message = stopped_message(stop->message, output_, /*saved=*/false);
      return *stop;
    }
  }

  void dismiss(const SuperviseResult& result) override {
    if (others_ != nullptr) others_->dismiss(result);
  }

 private:
  // One attempt, on the hosts that are left. Says what it saved when it was stopped.
  SuperviseResult attempt(const RunPlan& run) {
    bool saved = false;      // for a stop signal
    std::string last_words;  // of rank 0, when it failed otherwise
    ExitCode last_code = ExitCode::kBug;
    LocalReplicas replicas = local_replicas(run);
    replicas.on_failed = [&](const Event& event) {
      last_code = to_exit_code(static_cast<int>(integer_at(event, "code").value_or(-1)));
      saved = last_code == ExitCode::kStopped;
      // That its peers are gone is no news.
      const bool news = !saved && last_code != ExitCode::kPeerLost;
      if (news) last_words = text_at(event, "message").value_or("");
    };
    replicas.watching.on_lost = [&](const LostReplica& lost) {
      auto event = begin_event<WorkerLostEvent>(run.name());
      event.worker = lost.rank;
      event.reason = lost.reason;
      if (lost.restart > 0) event.restart = lost.restart;
      output_.on_event(encode(event));
    };
    SuperviseResult result = supervise_everywhere(run, replicas);
    if (result.code != ExitCode::kStopped) return result;
    if (output_.is_complete(run)) return {};  // it was about to end anyway
    // Going on would repeat in silence what was trained since the last checkpoint. kData: the stop itself may
    // have interrupted a fetch; whatever else it is comes again.
    const bool failed = !last_words.empty() && last_code != ExitCode::kData;
    if (const std::string text = "rank 0 failed: " + last_words; failed && is_planned(result))
      return {.code = last_code,
              .first_failing_rank = 0,
              .message = text,
              .reason = text.substr(0, text.find('\n')),
              .evidence = Evidence::kFailedItself};
    if (!last_words.empty()) result.message += " (" + last_words + ")";
    if (!saved) output_.look_for_checkpoints();  // ended before it could tell of the last one
    result.message = stopped_message(result.message, output_, saved);
    return result;
  }

  SuperviseResult supervise_everywhere(const RunPlan& run, LocalReplicas replicas) {
    if (others_ == nullptr) return supervise_here(run, std::move(replicas));
    replicas.watching.interrupted = [this] { return others_->interrupted(); };
    if (!run.traits().spans_hosts) return supervise_here(run, std::move(replicas));
    others_->tell_losses_to(replicas.watching.on_lost);
    replicas.identities = others_->start(replicas.restart, replicas.resumes);
    return others_->gather(
        supervise_replicas(plan(), plan().distributed_run(), output_.directory(), program_, replicas));
  }

  SuperviseResult supervise_here(const RunPlan& run, LocalReplicas replicas) {
    const HostedLocalStore hosted = host_local_store(rendezvous_timeout(job_.spec));
    const bool can_resize = run.traits().resumes && run.virtual_replicas > 0 && others_ == nullptr;
    const JobPlan& plan = can_resize ? this->plan() : job_;
    const RunPlan& own = can_resize ? plan.distributed_run() : run;
    if (can_resize) {
      if (!desk_) desk_.emplace(output_.directory().path());
      desk_->open(own.replicas);
      replicas.watching.interrupted = [this] { return resize_if_asked(); };
    }
    for (int64_t rank = 0; rank < own.processes(); ++rank)
      replicas.identities.push_back(local_identity(rank, own.processes(), hosted.name));
    return supervise_replicas(plan, own, output_.directory(), program_, replicas);
  }

  const JobPlan& plan() const { return others_ != nullptr ? others_->job() : resized_ ? *resized_ : job_; }

  // Whether the replicas were stopped in order to go on with another number of them, and by nobody else.
  bool is_planned(const SuperviseResult& result) const {
    return result.code == ExitCode::kStopped && result.evidence < Evidence::kFailedItself &&
           (next_ || (others_ != nullptr && others_->grows()));
  }

  // Stops the replicas, which then save a checkpoint, if another number of them is asked for and possible.
  std::optional<SuperviseResult> resize_if_asked() {
    if (next_) return std::nullopt;
    const std::optional<int64_t> replicas = desk_->take();
    if (!replicas || *replicas == plan().distributed_run().replicas) return std::nullopt;
    try {
      next_ = with_replicas(plan(), *replicas);
    } catch (const Error& error) {
      desk_->refuse(error.what());
      return std::nullopt;
    }
    return SuperviseResult{.code = ExitCode::kStopped};
  }

  // Takes the output back to where the run restarts. Returns what stopped the job meanwhile.
  std::optional<SuperviseResult> restart(FailedAttempt failed, double wait_seconds, bool planned) {
    ++restart_;
    const int64_t before = plan().distributed_run().replicas;
    if (others_ != nullptr) others_->announce_restart();
    point_ = restart_point(output_, from_);
    const double end = steady_seconds() + wait_seconds;
    const std::string why = others_ != nullptr
                                ? others_->meet_again(signals_before_, [this] { output_.on_tick(); })
                                : "dtrain resize";
    if (next_) resized_ = std::exchange(next_, std::nullopt);
    if (planned)
      failed.error = fmt::format("{}: {} instead of {}", why,
                                 counted(plan().distributed_run().replicas, "replica"), before);
    output_.restart(failed, wait_seconds, point_ ? &*point_ : nullptr);
    return wait_until(end);
  }

  // What stopped the job while nothing runs: a signal here, or one that another host tells of.
  std::optional<SuperviseResult> stop_between() const {
    if (stop_signals_received() > signals_before_)
      return stopped_by_signal(last_stop_signal(), others_ == nullptr ? "" : others_->own_name());
    return others_ == nullptr ? std::nullopt : others_->stopped();
  }

  // Waits until `end`, steady_seconds(), or until the job is stopped. Others see in the events that it lives.
  std::optional<SuperviseResult> wait_until(double end) const {
    while (true) {
      if (const auto stop = stop_between()) return stop;
      if (steady_seconds() >= end) return std::nullopt;
      output_.on_tick();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  // A failure with why it was not tried again, and how a user resumes, or would.
  SuperviseResult with_advice(SuperviseResult failure, const RestartPolicy& policy,
                              const RunPlan& run) const {
    if (!policy.why_not().empty()) failure.message += "\n" + policy.why_not();
    const int64_t saved = output_.checkpoint_step();
    const bool again = may_end_otherwise(failure.code);
    if (saved >= 0 && (again || failure.code == ExitCode::kDisk))  // on which a user makes room
      failure.message += fmt::format("\nto resume from step {}: {}", with_separators(saved),
                                     resume_command(output_.directory().path()));
    else if (again && run.traits().saves && failure.step > 0 && !job_.spec.checkpoint.saves_during_run())
      failure.message += fmt::format(
          "\nnothing was saved; with checkpoint: {{every_epochs: 1}} the job {} from its last checkpoint",
          job_.spec.restarts.max.value_or(1) > 0 ? "restarts" : "can be resumed");
    return failure;
  }

  LocalReplicas local_replicas(const RunPlan& run) const {
    LocalReplicas replicas;
    replicas.on_event = [this](const Event& event) { output_.on_event(event); };
    SuperviseOptions& watching = replicas.watching;
    watching.on_tick = [this] { output_.on_tick(); };
    watching.on_status = [this](const std::string& text) { output_.say(text); };
    watching.stop_signals_before = signals_before_;
    if (others_ != nullptr) watching.host = others_->own_name();
    if (saves_checkpoints(job_, run)) watching.stop_seconds = kSaveSeconds;
    replicas.restart = restart_;
    replicas.resumes = point_.has_value();
    if (point_) replicas.checkpoint = point_->checkpoint;
    return replicas;
  }

  const JobPlan& job_;
  const std::string& program_;
  const ResumePoint* from_;
  RunOutput& output_;
  LeadingHost* others_;
  int signals_before_;
  std::optional<ResumePoint> point_;  // what the next attempt resumes from
  int64_t restart_;                   // how often the run was started before, by earlier jobs too
  std::optional<ResizeDesk> desk_;    // while the number of replicas can be changed
  std::optional<JobPlan> resized_;    // the job with another number of replicas than it began with
  std::optional<JobPlan> next_;       // what the next attempt makes of it
};

}  // namespace

JobResult supervise_job(const JobPlan& job, const OutputOptions& options, const std::string& program,
                        std::ostream& out, const std::optional<JobHosts>& hosts) {
  catch_stop_signals();
  const int signals_before = stop_signals_received();
  const std::optional<ResumePoint> point = resume_point(job, options);
  const ResumePoint* from = point ? &*point : nullptr;
  const std::string complete = nothing_left(job, from);
  if (!complete.empty()) {
    auto message = begin_event<MessageEvent>(name_of(RunKind::kDistributed));
    message.text = complete;
    ConsoleOptions shown = options.console;
    shown.quiet = false;  // this is all that the command has to say
    Console(out, shown).on_event(encode(message));
  }
  std::unique_ptr<RunOutput> output;
  const auto make_output = [&] {
    if (!complete.empty()) throw Error(ExitCode::kDone, complete);  // which the other hosts get, too
    output = std::make_unique<RunOutput>(job, options, out, from);
    return std::filesystem::absolute(output->directory().path()).filename().string();
  };
  std::optional<LeadingHost> others;
  try {
    if (hosts) {
      others.emplace(job, *hosts, make_output);
    } else {
      make_output();
    }
  } catch (const Error& error) {
    if (complete.empty()) throw;
    if (error.code() != ExitCode::kDone) options.say(error.what());  // hosts that do not come miss nothing
    return {};
  }
  if (from == nullptr) {
    const int64_t sharing =
        hosts ? std::ssize(hosts->place.hosts) : 1;  // those of TF_CONFIG are not in the spec
    const int64_t here = (job.distributed_run().processes() + sharing - 1) / sharing;
    for (const std::string& warning : plan_warnings(job, here)) output->warn(warning);
  }
  SupervisingLauncher launcher(job, program, from, *output, others ? &*others : nullptr, signals_before);
  return run_job(job, from != nullptr, launcher, output.get());
}

JobResult run_job(const JobPlan& job, bool resumes, RunLauncher& launcher, RunOutput* output) {
  // What `work` throws is the end of the job, too: a full disk, for instance.
  const auto result_of = [](const auto& work) {
    try {
      return work();
    } catch (...) {
      return describe_supervising_failure();
    }
  };
  SuperviseResult result;
  for (const RunPlan& run : job.runs) {
    if (resumes && !run.traits().resumes) continue;  // it was made before
    result = result_of([&] {
      if (output != nullptr) output->begin(job, run);
      return launcher.train(run);
    });
    if (result.code == ExitCode::kDone) continue;
    if (output != nullptr) output->fail(run, result.code, result.message);
    break;
  }
  if (output != nullptr && result.code == ExitCode::kDone)
    result = result_of([&] {
      output->finish(job);
      return SuperviseResult();
    });
  launcher.dismiss(result);
  return {result.code, result.message, result.reason, output != nullptr ? output->summary() : Event()};
}

}  // namespace dtrain
