#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <optional>
#include <ostream>

#include "core/signals.h"
#include "core/stack_reporter.h"
#include "core/text.h"
#include "host/machine.h"
#include "identity/role.h"
#include "job/job.h"
#include "job/supervised.h"
#include "plan/plan_file.h"
#include "plan/warnings.h"
#include "store/store.h"
#include "supervise/diagnosis.h"
#include "supervise/report.h"
#include "train/assembly.h"
#include "train/describe_exception.h"
#include "train/replica.h"
#include "train/run_checkpoints.h"

namespace dtrain {
namespace {

// Sends events to the supervisor.
class PipeSink : public EventSink {
 public:
  explicit PipeSink(ReportPipe& pipe) : pipe_(pipe) {}
  void on_event(const Event& event) override { pipe_.write(event_text(event)); }

 private:
  ReportPipe& pipe_;
};

// For replicas that nobody listens to.
class NullSink : public EventSink {
 public:
  void on_event(const Event& /*event*/) override {}
};

const RunPlan& find_run(const JobPlan& job, const std::string& name) {
  for (const RunPlan& run : job.runs) {
    if (run.name() == name) return run;
  }
  throw Error(ExitCode::kBug, "the job has no run named '" + name + "'");
}

// What the plan was made for: the files may have changed since, or others be found.
Dataset planned_dataset(const JobPlan& job) {
  Dataset dataset = load_dataset(job.spec.data, static_cast<uint64_t>(job.spec.seed));
  const DatasetInfo &found = dataset.info, &planned = job.data;
  if (found.name == planned.name && found.image_shape == planned.image_shape &&
      found.classes == planned.classes && dataset.train->size() == planned.train_examples &&
      dataset.test->size() == planned.test_examples)
    return dataset;
  throw Error(
      ExitCode::kData,
      fmt::format("the data has changed since the job was planned: {} in {}, {} training and {} test "
                  "examples, then; now {} in {}, {} and {}",
                  planned.name, printable(planned.source), planned.train_examples, planned.test_examples,
                  found.name, printable(found.source), dataset.train->size(), dataset.test->size()));
}

void take_part(const std::filesystem::path& plan, const std::string& run_name, const Identity& identity,
               const RunContext& context, StatusBoard& board, ReportPipe& pipe) {
  const JobPlan job = read_plan(plan);
  const RunPlan& run = find_run(job, run_name);
  const Role role = role_of(identity.rank, run.replicas, run.servers);
  spdlog::set_pattern(fmt::format("%Y-%m-%dT%H:%M:%S.%e {} %l: %v", role.name));
  spdlog::info("process {} takes part in the {} run of {} processes", ::getpid(), run_name,
               identity.world_size);
  board.set(identity.local_rank, Activity::kLoadingData, 0);
  Dataset dataset;
  if (!role.serves) dataset = planned_dataset(job);
  const StorePtr store = connect_to_job(identity, rendezvous_timeout(job.spec));
  if (!role.serves) {
    spdlog::info("{} training and {} test examples of {} loaded from {}", dataset.train->size(),
                 dataset.test->size(), dataset.info.name, printable(dataset.info.source));
  }
  PipeSink to_supervisor(pipe);
  NullSink nobody;
  EventSink& sink = identity.rank == 0 || role.serves ? static_cast<EventSink&>(to_supervisor) : nobody;
  run_replica({job, run, identity, store, context, board, sink}, dataset);
  spdlog::info("finished");
}

}  // namespace

ExitCode run_supervised_replica(const std::filesystem::path& plan, const std::string& run,
                                const RunContext& context) {
  return run_supervised([&](const Identity& identity, StatusBoard& board, ReportPipe& pipe) {
    take_part(plan, run, identity, context, board, pipe);
  });
}

const char* const kStoppedAtEvent = "stopped";

// Ends rank 0 at the next event after a stop signal, so that it can say how the run ended. Its peers die of
// the signal. A run that saves checkpoints ends by itself.
class StoppableSink : public EventSink {
 public:
  explicit StoppableSink(EventSink& next) : next_(next) {}
  void let_it_end() { ends_by_itself_ = true; }
  void on_event(const Event& event) override {
    if (!ends_by_itself_ && stop_signals_received() > 0) throw Error(ExitCode::kStopped, kStoppedAtEvent);
    next_.on_event(event);
  }

 private:
  EventSink& next_;
  bool ends_by_itself_ = false;
};

struct JobFailure : Failure {
  bool saved = false;  // a checkpoint was made for a stop signal
};

JobFailure describe_failure() {
  const Failure failure = describe_current_exception();
  const bool stopped = failure.code == ExitCode::kStopped;
  // Peers that died of the signal first are no news.
  if (!stopped && stop_signals_received() == 0) return {failure};
  return {{ExitCode::kStopped, stop_text(last_stop_signal(), "", "")},
          stopped && failure.message != kStoppedAtEvent};
}

void run_launched_replica(const JobPlan& job, Identity identity, const OutputOptions& options,
                          const MeetingOptions& meeting, std::ostream& out) {
  const bool leads = identity.rank == 0;
  if (leads) catch_first_stop_signals();
  leave_write_errors_to_writers();
  const auto board = StatusBoard::create(identity.local_world_size);
  const StackReporter reporter([&] { return describe_replica(identity, *board); });
  std::unique_ptr<RunOutput> output;
  RunContext context;
  context.resumes = options.resume.has_value();
  if (leads) {
    const std::optional<ResumePoint> from = resume_point(job, options);
    if (from) context.checkpoint = from->checkpoint;
    output = std::make_unique<RunOutput>(job, options, out, from ? &*from : nullptr);
    context.folder = output->directory().path();
    if (!from) {
      for (const std::string& warning : plan_warnings(job, identity.local_world_size)) output->warn(warning);
    }
  }
  NullSink nobody;
  std::optional<StoppableSink> listener;
  if (leads) listener.emplace(*output);
  EventSink& sink = leads ? static_cast<EventSink&>(*listener) : nobody;
  const RunPlan* current = &job.runs.front();
  StorePtr store;
  try {
    const Dataset dataset = planned_dataset(job);
    store = meet_replicas(job, identity, meeting);
    for (const RunPlan& run : job.runs) {
      current = &run;
      if (options.resume && !run.traits().resumes) continue;  // it was made before
      const bool alone = run.processes() == 1;
      if (leads && saves_checkpoints(job, run)) listener->let_it_end();
      if (leads || !alone) {
        const Identity own = alone ? Identity{} : identity;
        run_replica({job, run, own, store, context, *board, sink}, dataset);
      }
      // The others wait here while rank 0 trains the baseline, however long that takes.
      const std::string done = "done/" + run.name();
      leads ? set_key(store, done) : wait_for_key(store, done);
    }
    if (!leads) await_completion(store, identity.world_size);
  } catch (...) {
    const JobFailure failure = describe_failure();
    const bool stopped = failure.code == ExitCode::kStopped;
    std::string message = failure.message;
    if (leads && stopped) message = stopped_message(failure.message, *output, failure.saved);
    if (leads) output->fail(*current, stopped ? "stopped" : "failed", failure.code, message);
    const std::string host = identity.spans_hosts() ? " on host " + own_host_name() : "";
    throw Error(failure.code, fmt::format("rank {}{}: {}", identity.rank, host, message));
  }
  if (!leads) return;
  output->finish(job);
  announce_completion(store, identity.world_size, rendezvous_timeout(job.spec));
}

}  // namespace dtrain
