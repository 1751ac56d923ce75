#include "job/host_links.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"
#include "spec/print.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitCode::kUsage, "the job cannot go on without the lost hosts: " + why);
}

}  // namespace

JobPlan with_fewer_hosts(const JobPlan& job, const std::vector<std::string>& hosts, size_t hosts_before) {
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
  std::vector<std::string> overrides = {fmt::format("strategy.replicas={}", replicas)};
  if (!is_virtual) {  // no micro-batch is larger than before: each replica accumulates more of them
    overrides.push_back(fmt::format("batch.global={}", run.batch.global));
    overrides.push_back(fmt::format("batch.per_replica={}", run.batch.per_replica));
  }
  if (!job.spec.hosts.empty()) overrides.push_back(fmt::format("hosts=[{}]", join(hosts)));
  LoadedSpec spec =
      parse_spec(print_spec(job.spec), "the job's spec",
                 {overrides, is_virtual ? std::vector<std::string>() : std::vector<std::string>{"batch"}});
  spec.spec.model.kept_file = job.spec.model.kept_file;
  PlannedJob fewer = plan_job(spec, job.data, {.hosts = count, .by = "the list of hosts left"});
  if (!fewer.ok()) refuse(fewer.problems.front().to_string());
  return std::move(fewer.job);
}

}  // namespace dtrain
