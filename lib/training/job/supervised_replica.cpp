#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>

#include "core/text.h"
#include "job/job.h"
#include "job/replica_process.h"
#include "launch/identity.h"
#include "processes/report.h"
#include "store/store.h"
#include "train/replica.h"

namespace dtrain {
namespace {

// Sends events to the supervisor.
class PipeSink : public EventSink {
 public:
  PipeSink(ReportPipe& pipe, const StatusBoard& board, int local_rank)
      : pipe_(pipe), board_(board), local_rank_(local_rank) {}
  void on_event(const Event& event) override { pipe_.write(event_text(event)); }
  void settle() override { pipe_.settle(board_, local_rank_); }

 private:
  ReportPipe& pipe_;
  const StatusBoard& board_;
  int local_rank_;
};

void take_part(const std::filesystem::path& plan, const std::string& run_name, const Identity& identity,
               const RunContext& context, StatusBoard& board, ReportPipe& pipe) {
  const JobPlan job = read_plan(plan);
  const auto found = std::ranges::find(job.runs, run_name, &RunPlan::name);
  if (found == job.runs.end()) throw Error(ExitCode::kBug, "the job has no run named '" + run_name + "'");
  const RunPlan& run = *found;
  const Role role = role_of(identity.rank, run.replicas, run.servers);
  spdlog::set_pattern(fmt::format("%Y-%m-%dT%H:%M:%S.%e {} %l: %v", role.name));
  spdlog::info("process {} takes part in the {} run of {} processes", ::getpid(), run_name,
               identity.world_size);
  board.set(identity.local_rank, Activity::kLoadingData, 0);
  Dataset dataset;
  if (!role.serves) dataset = planned_dataset(job);
  const StorePtr store = connect_to_job(identity, rendezvous_timeout(job.spec));
  if (!role.serves) {
    const DatasetInfo& data = dataset.info;
    spdlog::info("{} of {} loaded from {}", counts_of(data), data.name, printable(data.source));
  }
  PipeSink to_supervisor(pipe, board, identity.local_rank);
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

}  // namespace dtrain
