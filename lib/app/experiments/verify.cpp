#include "experiments/verify.h"

#include <fmt/format.h>

#include <algorithm>

#include "checkpoint/checkpoint.h"
#include "checkpoint/retention.h"
#include "core/files.h"
#include "experiments/child_run.h"
#include "initial_state/resume.h"
#include "launch/place.h"
#include "metrics/events.h"
#include "runs/finished_run.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// The newest checkpoint that has none of the steps from `step` on; nullopt: the training begins before.
std::optional<SavedCheckpoint> checkpoint_before(const fs::path& run, int64_t step) {
  std::vector<SavedCheckpoint> saved = list_checkpoints(checkpoint_folder(run));
  for (auto at = saved.rbegin(); at != saved.rend(); ++at) {
    if (at->step < step && !at->suspect && inspect_checkpoint(at->path).problems.empty()) return *at;
  }
  return std::nullopt;
}

struct VerifiedRun {
  FinishedRun finished;
  int64_t replicas = 1, total_steps = 0;  // of its last start
  bool spans_hosts = false;               // a launcher's are not in the spec
};

VerifiedRun read_verified_run(const fs::path& folder) {
  VerifiedRun run;
  run.finished = read_finished_run(folder, [&](const Event& event) {
    const auto start = decode<RunStartEvent>(event);
    if (!start || start->run != "distributed") return;
    run.replicas = start->replicas.value_or(1);
    run.total_steps = start->total_steps.value_or(0);
    run.spans_hosts = run.spans_hosts || start->spans_hosts.value_or(false);
  });
  return run;
}

// The last of `steps` of which a run that is complete has left a receipt, if nothing was lost; 0: unknown.
int64_t last_receipt_of(const VerifiedRun& run, std::optional<Range> steps) {
  const RunEndEvent& end = run.finished.end;
  const auto every = run.finished.spec.receipts.every_steps;
  if (end.status != "completed" || !every) return 0;
  int64_t last = end.steps.value_or(0);
  if (steps) last = std::min(last, steps->end - 1);
  return last == run.total_steps ? last : last - last % *every;
}

// What the process gets besides the run's spec: it saves and compares nothing.
std::vector<std::string> arguments_for(const fs::path& folder, const VerifiedRun& verified,
                                       std::optional<int64_t> asked,
                                       const std::optional<SavedCheckpoint>& from) {
  const FinishedRun& run = verified.finished;
  const int64_t had = verified.replicas;
  const StrategySpec& strategy = run.spec.strategy;
  const int64_t replicas = asked.value_or(had);
  const bool is_virtual = strategy.virtual_replicas.has_value();
  if (replicas != had && !is_virtual)
    throw Error(
        ExitCode::kUsage,
        "--replicas {}: {} had {}, and without strategy.virtual_replicas other replicas add up in another "
        "order: the last bits differ",
        replicas, folder.string(), had);
  if (!is_virtual && (verified.spans_hosts || !run.spec.hosts.empty()))
    throw Error(
        ExitCode::kUsage,
        "{} had several hosts, and without strategy.virtual_replicas one host adds up in another order: "
        "the last bits differ",
        folder.string());
  if (is_virtual && replicas > *strategy.virtual_replicas)
    throw Error(ExitCode::kUsage, "--replicas {}: there is work for at most {} (strategy.virtual_replicas)",
                replicas, *strategy.virtual_replicas);
  std::vector<std::string> arguments = {(folder / "spec.yaml").string(), "--unset", "callbacks", "--unset",
                                        "checkpoint"};
  const auto set = [&](const std::string& value) { arguments.insert(arguments.end(), {"--set", value}); };
  for (const char* value : {"checkpoint.final=false", "restarts.max=0", "compare.baseline=none"}) set(value);
  set(fmt::format("strategy.replicas={}", replicas));
  if (from) arguments.insert(arguments.end(), {"--resume", from->path.string()});
  if (!is_virtual) return arguments;
  // The same bits on this host alone.
  if (!run.spec.hosts.empty()) arguments.insert(arguments.end(), {"--unset", "hosts"});
  if (replicas > 1 && strategy_traits(strategy.kind).has_one_replica) set("strategy.kind=mirrored");
  set("strategy.devices=cpu");
  return arguments;
}

}  // namespace

ReceiptsComparison verify_run(const fs::path& run, std::optional<Range> steps,
                              std::optional<int64_t> replicas,
                              const std::function<void(const std::string&)>& say) {
  require_alone("a verification", {});
  const VerifiedRun verified = read_verified_run(run);  // before the receipts: it may end meanwhile
  ReceiptReader written(run);
  const std::vector<Event> receipts = read_receipts(written, run, steps);
  const auto from = steps ? checkpoint_before(run, step_of(receipts.front())) : std::nullopt;
  const ScratchFolder folder("dtrain-verify");
  const fs::path again = folder.path() / "run";
  std::vector<std::string> arguments = arguments_for(run, verified, replicas, from);
  arguments.insert(arguments.end(), {"--run-dir", again.string()});
  say(fmt::format("computing steps {} to {} again{}", from ? from->step + 1 : 1, step_of(receipts.back()),
                  from ? ", from " + from->path.string() : ""));
  ReceiptsComparison comparison;
  // Before its end the file lacks no line: there the run was to leave fewer receipts, until it was resumed.
  if (const int64_t last = last_receipt_of(verified, steps); last > written.last_step())
    comparison.lost = last;
  ReceiptReader computed(again);
  auto next = receipts.begin();
  const auto is_over = [&] {
    for (const Event& receipt : computed.read()) {
      // A run that was to be shorter at first has a receipt of what was its last step then.
      for (; next != receipts.end() && step_of(*next) < step_of(receipt); ++next) ++comparison.passed_over;
      if (next == receipts.end()) break;
      if (step_of(*next) == step_of(receipt) && !comparison.add(*next++, receipt)) return true;
    }
    return next == receipts.end();
  };
  const auto start = [&] { return std::make_unique<ChildRun>(arguments, again, folder.path() / "run.log"); };
  const ChildRunEnd end = run_until(start, is_over);
  if (comparison.differs() || (next == receipts.end() && comparison.same > 0)) return comparison;
  if (end.code != ExitCode::kDone) throw Error(end.code, "computing the steps again: " + end.reason);
  throw Error(ExitCode::kUsage,
              "the spec in {} makes no receipt of step {}: the run was resumed with another one",
              run.string(), next == receipts.end() ? step_of(receipts.back()) : step_of(*next));
}

}  // namespace dtrain
