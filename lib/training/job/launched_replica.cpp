#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "core/signals.h"
#include "core/stack_reporter.h"
#include "host/machine.h"
#include "job/job.h"
#include "job/replica_process.h"
#include "launch/place.h"
#include "processes/diagnosis.h"
#include "store/store.h"
#include "train/meeting.h"
#include "train/replica.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

// Ends rank 0 at the next event after a stop signal, so that it can say how the run ended. Its peers die of
// the signal. A run that saves checkpoints ends by itself.
class StoppableSink : public EventSink {
 public:
  explicit StoppableSink(EventSink& next) : next_(next) {}
  void let_it_end() { ends_by_itself_ = true; }
  bool has_stopped_it() const { return has_stopped_it_; }
  void on_event(const Event& event) override {
    if (!ends_by_itself_ && stop_signals_received() > 0) {
      has_stopped_it_ = true;
      throw Error(ExitCode::kStopped, "stopped");
    }
    next_.on_event(event);
  }
  void settle() override { next_.settle(); }

 private:
  EventSink& next_;
  bool ends_by_itself_ = false;
  bool has_stopped_it_ = false;
};

// The exception that is being handled, as the end of a run. `output` is rank 0's. `saved`: it ended by itself
// if it was stopped, and saved a checkpoint.
SuperviseResult describe_failed_run(const RunOutput* output, bool saved) {
  SuperviseResult result = describe_supervising_failure();
  const bool stopped = result.code == ExitCode::kStopped;
  // Peers that died of the signal first are no news.
  if (!stopped && stop_signals_received() == 0) return result;
  result.code = ExitCode::kStopped;
  result.message = result.reason = stop_text(last_stop_signal(), "", "");
  if (output != nullptr) result.message = stopped_message(result.message, *output, stopped && saved);
  return result;
}

// One of the processes that a launcher started takes part in each run.
class LaunchedReplica : public RunLauncher {
 public:
  // `output`: rank 0's, nullptr elsewhere and if nothing is left to do. All parameters outlive this.
  LaunchedReplica(const JobPlan& job, Identity& identity, const MeetingOptions& meeting,
                  const RunContext& context, RunOutput* output)
      : job_(job),
        identity_(identity),
        meeting_(meeting),
        context_(context),
        output_(output),
        board_(StatusBoard::create(identity.local_world_size)),
        reporter_([this] { return describe_replica(identity_, *board_); }) {
    if (leads()) listener_.emplace(*output);
  }

  SuperviseResult train(const RunPlan& run) override {
    try {
      if (!store_) meet();
      take_part(run);
      return {};
    } catch (...) {
      return describe_failed_run(output_, leads() && !listener_->has_stopped_it());
    }
  }

  void dismiss(const SuperviseResult& result) override {
    if (leads() && result.code == ExitCode::kDone)
      announce_completion(store_, identity_.world_size, rendezvous_timeout(job_.spec));
  }

 private:
  bool leads() const { return output_ != nullptr; }

  void meet() {
    dataset_ = planned_dataset(job_);
    try {
      store_ = meet_replicas(job_, identity_, meeting_);
    } catch (const Error& error) {
      if (error.code() != ExitCode::kPeerLost) throw;
      throw Error(error.code(), "{}; {}", error.what(), advice_on_leftovers(identity_));
    }
  }

  // Rank 0 alone trains a run of one process, while the others wait, however long that takes.
  void take_part(const RunPlan& run) {
    const bool alone = run.processes() == 1;
    if (leads() && saves_checkpoints(job_, run)) listener_->let_it_end();
    if (leads() || !alone) {
      const Identity own = alone ? Identity{} : identity_;
      EventSink& sink = leads() ? static_cast<EventSink&>(*listener_) : nobody_;
      run_replica({job_, run, own, store_, context_, *board_, sink}, dataset_);
    }
    const std::string done = "done/" + run.name();
    leads() ? set_key(store_, done) : wait_for_key(store_, done);
    const bool is_last = &run == &job_.distributed_run();
    if (!leads() && is_last) await_completion(store_, identity_.world_size);
  }

  const JobPlan& job_;
  Identity& identity_;
  const MeetingOptions& meeting_;
  const RunContext& context_;
  RunOutput* output_;
  std::unique_ptr<StatusBoard> board_;
  StackReporter reporter_;
  NullSink nobody_;
  std::optional<StoppableSink> listener_;  // of rank 0
  Dataset dataset_;
  StorePtr store_;
};

}  // namespace

JobResult run_launched_replica(const JobPlan& job, Identity identity, const OutputOptions& options,
                               const MeetingOptions& meeting, std::ostream& out) {
  const bool leads = identity.rank == 0;
  end_at_later_stop_signals();
  if (leads) catch_stop_signals();
  leave_write_errors_to_writers();
  std::unique_ptr<RunOutput> output;
  RunContext context;
  context.resumes = options.resume.has_value();
  MeetingOptions own = meeting;
  if (leads) {
    const std::optional<ResumePoint> point = resume_point(job, options);
    const ResumePoint* from = point ? &*point : nullptr;
    own.complete = nothing_left(job, from);
    if (!own.complete.empty()) {
      options.say(own.complete);  // and what the run has written stays as it is
    } else {
      output = std::make_unique<RunOutput>(job, options, out, from);
      context.folder = output->directory().path();
    }
    if (from != nullptr) {
      context.checkpoint = from->checkpoint;
    } else {
      for (const std::string& warning : plan_warnings(job, identity.local_world_size)) output->warn(warning);
    }
  } else if (identity.local_rank == 0 && !context.resumes) {
    const std::string warning = cores_warning(job, identity.local_world_size);
    if (!warning.empty()) options.say(fmt::format("host {}: {}", own_host_name(), warning));
  }
  LaunchedReplica replica(job, identity, own, context, output.get());
  JobResult result = run_job(job, context.resumes, replica, output.get());
  const std::string host = identity.spans_hosts() ? " on host " + own_host_name() : "";
  result.message = fmt::format("dtrain: rank {}{}: {}", identity.rank, host, result.message);
  return result;
}

}  // namespace dtrain
