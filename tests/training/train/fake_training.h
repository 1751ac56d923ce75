// A trainer over a strategy that only writes down what it was asked for.
#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "core/error.h"
#include "files.h"
#include "small_jobs.h"
#include "train/assembly.h"
#include "train/trainer.h"

namespace dtrain {

// Says what it was asked for and returns made-up sums: training step s (from 1, over the run) has a loss of s
// for each example, an evaluation one of 0.5.
class FakeStrategy : public Strategy {
 public:
  std::vector<std::string> calls;
  std::vector<int64_t> steps;     // Share::step of each training step
  std::vector<int64_t> examples;  // of each
  std::vector<double> learning_rates;
  int64_t evaluated = 0;
  int64_t sums = 0;

  CollectedVariables restored;
  int64_t steps_before = 0;         // of a run that this one goes on from
  std::optional<int64_t> own_step;  // where this replica stands, if not where the others do

  int64_t spoiled_step = 0;  // the step whose loss is `spoiled_loss`; 0: none
  double spoiled_loss = std::nan("");
  double evaluation_loss = 0.5;
  std::vector<double> evaluation_losses;  // of the first evaluations, before evaluation_loss
  std::optional<double> test_loss;        // of the evaluation of small_job()'s 7 test examples, if it differs
  int64_t forgotten = 0;                  // examples that the sums of an evaluation lack
  bool stops_at_phase = false;            // another worker has left when a phase is to begin
  int64_t failing_step = 0;               // throws instead
  int64_t peer_lacks = -1;                // after so many steps another replica has no data
  std::optional<int64_t> all_ready;       // steps for which all have data at each meeting, if not own
  std::vector<int64_t> meetings;          // after which step they met for that
  bool loses_step = false;                // which leaves the variables of the step before

  std::function<void()> on_finish = [] {};
  int64_t kept = 0;  // evaluated examples of which rows were asked for
  std::unique_ptr<Objective> objective = make_objective(TrainSpec());

  bool defers = false;             // its steps are made when sums are asked for
  bool tells_all = false;          // `calls` has sums and checks, too
  std::vector<int64_t> decisions;  // after which step the replicas agreed
  std::vector<int64_t> checks;     // after which step the variables were checked
  int64_t corrupt_step = 0;        // from which on they are corrupt; 0: never
  int64_t suspect_step = -1;       // which makes them suspect; -1: none

  bool defers_steps() const override { return defers; }
  int64_t place_variables() override {
    calls.push_back("place");
    return own_step.value_or(0);
  }
  bool begin_phase(int64_t, const TrainedLayers&) override {
    calls.push_back("phase");
    return !stops_at_phase;
  }
  MetricSums train_step(const Share& share, const StepContext& context) override {
    calls.push_back("train");
    const int64_t step = context.step;
    CHECK(step == steps_before + static_cast<int64_t>(steps.size()) + 1);
    if (step == failing_step && loses_step) throw StepLost(ExitCode::kPeerLost, "a replica is gone");
    if (step == failing_step) throw Error(ExitCode::kPeerLost, "a replica is gone");
    steps.push_back(share.step);
    learning_rates.push_back(context.learning_rate);
    examples.push_back(examples_of(share));
    CHECK(share.global_examples == examples.back());  // one replica takes it all
    return make_sums(examples.back(), step == spoiled_step ? spoiled_loss : static_cast<double>(step));
  }
  MetricSums evaluate(const Share& share) override {
    if (calls.back() != "evaluate") {
      calls.push_back("evaluate");
      if (!evaluation_losses.empty()) {
        evaluation_loss = evaluation_losses.front();
        evaluation_losses.erase(evaluation_losses.begin());
      }
    }
    evaluated += examples_of(share);
    const int64_t counted = examples_of(share) - forgotten;
    forgotten = 0;
    const bool is_test = test_loss && examples_of(share) == 7;
    MetricSums made = make_sums(counted, is_test ? *test_loss : evaluation_loss);
    if (!share.keeps_rows) return made;
    const int64_t count = examples_of(share);
    kept += count;
    MetricSums sums;
    sums.add_evaluated(*objective, at::zeros({count, 3}), at::zeros({count}, at::kLong),
                       /*keeps_rows=*/true);
    sums.values() = made.values();
    sums.counts() = at::Tensor();
    return sums;
  }
  MetricSums sum_over_replicas(MetricSums own) override {
    ++sums;
    if (tells_all) calls.push_back("sums");
    return own;
  }
  Decision agree(const Decision& own) override {
    ++sums;
    decisions.push_back(std::ssize(steps));
    return own;
  }
  int64_t fewest_ready(int64_t own) override {
    const auto made = static_cast<int64_t>(steps.size());
    meetings.push_back(made);
    return made > peer_lacks ? all_ready.value_or(own) : std::min(own, peer_lacks - made);
  }
  std::string check_variables() override {
    const auto step = static_cast<int64_t>(steps.size());
    checks.push_back(step);
    if (tells_all) calls.push_back("check");
    if (corrupt_step != 0 && step >= corrupt_step) throw Error(ExitCode::kDisagree, "memory is corrupt");
    return step == suspect_step ? "it looks odd" : "";
  }
  CollectedVariables collect_variables() override {
    calls.push_back("collect");
    const auto step = static_cast<int64_t>(steps.size());
    return {{{"weight", at::full({2}, static_cast<double>(step))}}, {}, step == suspect_step ? "odd" : ""};
  }
  int64_t restore_variables(const CollectedVariables& variables, int64_t step) override {
    calls.push_back("restore");
    restored = variables;
    return own_step.value_or(step);
  }
  std::optional<WorkersReport> end_training() override {
    calls.push_back("end");
    return std::nullopt;
  }
  void finish() override {
    calls.push_back("finish");
    on_finish();
  }

 private:
  static int64_t examples_of(const Share& share) {
    int64_t count = 0;
    for (const MicroBatch& batch : share.micro_batches) count += batch.size();
    return count;
  }
  static MetricSums make_sums(int64_t count, double loss) {
    MetricSums sums;
    if (count > 0) {
      sums.add_batch(*make_objective(TrainSpec()), at::zeros({count, 3}), at::zeros({count}, at::kLong),
                     at::scalar_tensor(loss * static_cast<double>(count), at::kDouble));
    }
    return sums;
  }
};

// A trainer with everything around it.
struct Training {
  JobPlan job;
  Dataset dataset;
  FakeStrategy strategy;
  RecordingSink sink;
  TemporaryFolder folder;
  std::unique_ptr<StatusBoard> board = StatusBoard::create(1);
  int64_t shares_made = 0;  // how often

  explicit Training(const std::vector<std::string>& overrides = {})
      : job(small_job(overrides)), dataset(load_dataset(job.spec.data, 42)) {}

  void run(bool evaluates = true, const Resumption* from = nullptr) {
    const RunPlan& plan = job.distributed_run();
    const MakeShares make_shares = [&](const PhasePlan&) {
      ++shares_made;
      ReplicaShares shares{std::make_unique<ShareLoader>(dataset.train, train_options(job, plan, 0))};
      if (!evaluates) return shares;
      const LoaderOptions options = evaluation_options(job, plan, 0);
      shares.evaluated =
          std::make_unique<ShareLoader>(dataset.validation ? dataset.validation : dataset.test, options);
      if (job.data.has_final_test()) shares.final_test = std::make_unique<ShareLoader>(dataset.test, options);
      return shares;
    };
    CallbackList callbacks({job, plan, folder / "", sink}, /*leads=*/true);
    RunReporter reporter(job, plan, callbacks);
    ActivityLog activity(*board, 0);
    StepClock clock;
    RunCheckpoints checkpoints(job, plan, folder / "checkpoints", /*leads=*/true, callbacks, nullptr);
    Trainer(job, plan, {strategy, clock}, make_shares, {reporter, checkpoints, callbacks, activity},
            /*leads=*/true)
        .run(from);
  }

  // How the run failed; the strategy is not asked for anything afterwards and no end is reported.
  std::pair<ExitCode, std::string> failure() {
    try {
      run();
    } catch (const Error& error) {
      if (!strategy.calls.empty()) CHECK(strategy.calls.back() != "finish");
      CHECK(sink.of("run_end").empty());
      return {error.code(), error.what()};
    }
    FAIL("the run did not fail");
    return {};
  }

  // The values of one key in all events of a kind.
  template <class T>
  std::vector<T> values(const std::string& kind, const std::string& key) const {
    std::vector<T> found;
    for (const Event& event : sink.of(kind)) found.push_back(event.at(key).get<T>());
    return found;
  }
};

using Numbers = std::vector<int64_t>;

}  // namespace dtrain
