#include "job/other_replicas.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "spec/print.h"
#include "train/run_checkpoints.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

constexpr const char* kRequest = "replicas.request";
constexpr int64_t kMostRequest = 64;  // bytes

// What the job would be, with other values of its spec. `refuse` gets what is wrong with it, and throws.
template <class Refuse>
JobPlan planned_again(const JobPlan& job, const Overrides& overrides, const Launched& launched,
                      const Refuse& refuse) {
  LoadedSpec spec = parse_spec(print_spec(job.spec), "the job's spec", overrides);
  spec.spec.model.kept_file = job.spec.model.kept_file;
  PlannedJob planned = plan_job(spec, job.data, launched);
  if (!planned.ok()) refuse(planned.problems.front().text);
  return std::move(planned.job);
}

}  // namespace

JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before) {
  const auto refuse = [](const std::string& why) {
    throw Error(ExitCode::kUsage, "the job cannot go on without the lost hosts: " + why);
  };
  const RunPlan& run = job.distributed_run();
  const auto count = static_cast<int64_t>(hosts.size());
  const int64_t replicas = run.replicas / static_cast<int64_t>(hosts_before) * count;
  const StrategyTraits& strategy = strategy_traits(run.strategy);
  if (!strategy.spans_hosts || !strategy.is_synchronous)
    refuse(fmt::format("{} cannot change its number of processes", run.strategy));
  if (!job.spec.restarts.min_replicas)
    refuse("restarts.min_replicas is all (a number lets it go on with so many)");
  if (replicas < *job.spec.restarts.min_replicas)
    refuse(fmt::format("{} would be left, and restarts.min_replicas is {}", counted(replicas, "replica"),
                       *job.spec.restarts.min_replicas));
  const bool is_virtual =
      run.virtual_replicas > 0;  // then replicas take other shares, and nothing else changes
  if (!is_virtual && run.batch.global % replicas != 0)
    refuse(fmt::format("{} replicas cannot share the global batch of {} evenly", replicas, run.batch.global));
  Overrides overrides = {fmt::format("strategy.replicas={}", replicas)};
  if (!is_virtual) {  // no micro-batch is larger than before: each replica accumulates more of them
    overrides.set.push_back(fmt::format("batch.global={}", run.batch.global));
    overrides.set.push_back(fmt::format("batch.per_replica={}", run.batch.per_replica));
    overrides.unset = {"batch"};
  }
  if (!job.spec.hosts.empty()) overrides.set.push_back(fmt::format("hosts=[{}]", join(hosts)));
  return planned_again(job, overrides, {.hosts = count, .by = "the list of hosts left"}, refuse);
}

JobPlan with_replicas(const JobPlan& job, int64_t replicas) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::kUsage, "the job cannot have {}: {}", counted(replicas, "replica"), why);
  };
  const RunPlan& run = job.distributed_run();
  if (run.virtual_replicas == 0)
    refuse("it has no strategy.virtual_replicas, so that another number would change what it trains");
  if (job.spans_hosts) refuse("it has several hosts; stop it, and resume it with another number");
  if (!saves_checkpoints(job, run)) refuse("it saves no checkpoint from which it could go on");
  const int64_t least = job.spec.restarts.min_replicas.value_or(1);
  if (replicas < least) refuse(fmt::format("restarts.min_replicas is {}", least));
  // The threads are divided anew.
  Overrides overrides = {fmt::format("strategy.replicas={}", replicas)};
  overrides.unset = {"strategy.threads_per_replica"};
  return planned_again(job, overrides, {}, refuse);
}

void ask_for_replicas(const std::filesystem::path& run, int64_t replicas) {
  write_file_atomically(run / kRequest, std::to_string(replicas));
}

bool is_asked_for_replicas(const std::filesystem::path& run) {
  std::error_code error;
  return std::filesystem::exists(run / kRequest, error);
}

int64_t take_replicas_asked_for(const std::filesystem::path& run) {
  const std::string text = read_file(run / kRequest, kMostRequest, ExitCode::kUsage);
  std::error_code error;
  std::filesystem::remove(run / kRequest, error);
  const std::optional<int64_t> replicas = whole_number(text);
  if (!replicas) throw Error(ExitCode::kUsage, "{}: no number of replicas", kRequest);
  return *replicas;
}

}  // namespace dtrain
