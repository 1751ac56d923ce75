#include "job/other_replicas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/text.h"
#include "job_file/print.h"
#include "runs/run_directory.h"
#include "train/run_checkpoints.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// In the run's folder: the present number of replicas, the one that is asked for, and why it is refused.
constexpr const char* kNow = "replicas.now";
constexpr const char* kRequest = "replicas.request";
constexpr const char* kAnswer = "replicas.answer";
constexpr int64_t kMostNumber = 20, kMostAnswer = 10000;  // bytes
constexpr auto kLook = std::chrono::milliseconds(20);

void remove_files(const fs::path& run) {
  std::error_code none;
  for (const char* name : {kNow, kRequest, kAnswer}) fs::remove(run / name, none);
}

// nullopt: there is no such file, or it has no number.
std::optional<int64_t> number_in(const fs::path& file) {
  try {
    return whole_number(read_file(file, kMostNumber, ExitCode::kUsage));
  } catch (const Error&) {
    return std::nullopt;
  }
}

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
  if (hosts.size() == hosts_before) return job;
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

bool hosts_may_change(const JobPlan& job) {
  const RunPlan& run = job.distributed_run();
  return run.virtual_replicas > 0 && job.spec.restarts.min_replicas && saves_checkpoints(job, run);
}

JobPlan with_replicas(const JobPlan& job, int64_t replicas) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ExitCode::kUsage, "the job cannot have {}: {}", counted(replicas, "replica"), why);
  };
  const RunPlan& run = job.distributed_run();
  if (run.virtual_replicas == 0)
    refuse("without strategy.virtual_replicas, another number would change the result");
  if (job.spans_hosts) refuse("it has several hosts; stop it, and resume it with another number");
  if (!saves_checkpoints(job, run)) refuse("it saves no checkpoint from which it could go on");
  const int64_t least = job.spec.restarts.min_replicas.value_or(1);
  if (replicas < least) refuse(fmt::format("restarts.min_replicas is {}", least));
  // The threads are divided anew.
  Overrides overrides = {fmt::format("strategy.replicas={}", replicas)};
  overrides.unset = {"strategy.threads_per_replica"};
  return planned_again(job, overrides, {}, refuse);
}

ResizeDesk::ResizeDesk(fs::path run) : run_(std::move(run)) { remove_files(run_); }

ResizeDesk::~ResizeDesk() { remove_files(run_); }

void ResizeDesk::open(int64_t replicas) { write_file_atomically(run_ / kNow, std::to_string(replicas)); }

std::optional<int64_t> ResizeDesk::take() {
  std::error_code none;
  if (!fs::exists(run_ / kRequest, none) || fs::is_empty(run_ / kRequest, none)) return std::nullopt;
  const std::optional<int64_t> replicas = number_in(run_ / kRequest);
  fs::remove(run_ / kAnswer, none);  // of a request that nobody waits for any more
  fs::remove(run_ / kRequest, none);
  if (!replicas) refuse("the request is no number of replicas");
  return replicas;
}

void ResizeDesk::refuse(const std::string& why) try {
  write_file_atomically(run_ / kAnswer, why);
} catch (const Error&) {  // a full disk: the job goes on, and who asked waits
}

int64_t resize(const fs::path& run, int64_t replicas) {
  const auto ended = [&](const std::string& what) {
    throw Error(ExitCode::kUsage, "{}: {}: dtrain run --resume {} --set strategy.replicas={}",
                printable(run.string()), what, shell_word(run.string()), replicas);
  };
  const std::optional<int64_t> before = number_in(run / kNow);
  if (!before || !is_in_use(run))
    ended(
        "no dtrain trains this job on one host with strategy.virtual_replicas now; a stopped job that has "
        "them goes on with another number");
  // Held until this one has its answer, which another one would take for its own.
  const Descriptor turn(::open((run / "logs").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool is_first = ::flock(turn.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (!is_first || number_in(run / kRequest))
    throw Error(ExitCode::kUsage, "{}: another dtrain resize is under way", printable(run.string()));
  write_file_atomically(run / kRequest, std::to_string(replicas));
  while (true) {
    // Until it is taken, an earlier request may be about to change the number, and the answer is to that one.
    std::error_code none;
    const bool taken = !fs::exists(run / kRequest, none);
    if (taken && number_in(run / kNow) == replicas) return *before;
    if (taken && fs::exists(run / kAnswer, none)) {
      const std::string why = read_file(run / kAnswer, kMostAnswer, ExitCode::kUsage);
      fs::remove(run / kAnswer, none);
      throw Error(ExitCode::kUsage, why);
    }
    if (!is_in_use(run))
      ended("the job has ended with as many replicas as before; to go on with another number");
    std::this_thread::sleep_for(kLook);
  }
}

}  // namespace dtrain
