// The training loop. It never asks which strategy or device it runs on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "callbacks/callbacks.h"
#include "callbacks/run_reporter.h"
#include "core/error.h"
#include "core/step_clock.h"
#include "loader/batches.h"
#include "plan/job_plan.h"
#include "processes/status_board.h"
#include "strategy/decisions.h"
#include "train/run_checkpoints.h"

namespace dtrain {

// Notes on the status board what this replica is doing.
class ActivityLog {
 public:
  ActivityLog(StatusBoard& board, int rank) : board_(board), rank_(rank) {}
  void doing(Activity activity) { board_.set(rank_, activity, step_); }
  void at_step(int64_t step) { step_ = step; }

 private:
  StatusBoard& board_;
  int rank_;
  int64_t step_ = 0;
};

// The strategy that makes the steps, the clock that times them, and what looks at them.
struct SteppingParts {
  Strategy& strategy;
  StepClock& clock;
  StepWatches watches = {};
};

// This replica's examples in a phase.
struct ReplicaShares {
  std::unique_ptr<ShareLoader> train;
  std::unique_ptr<ShareLoader> evaluated = {};  // during training; null: this replica does not evaluate
  std::unique_ptr<ShareLoader> final_test =
      {};  // after it; null: there is no evaluation of its own at the end
};

// Makes them when a phase begins: variables then have values, the strategy knows the layers. Collective.
using MakeShares = std::function<ReplicaShares(const PhasePlan&)>;

// Where the progress of the training is reported and saved.
struct RunRecords {
  RunReporter& reporter;
  RunCheckpoints& checkpoints;
  CallbackList& callbacks;
  ActivityLog& activity;
};

class Trainer {
 public:
  // All of it outlives the trainer. `leads`: this is rank 0.
  // The strategy was made for the phase of `from`, or for the first.
  Trainer(const JobPlan& job, const RunPlan& run, const SteppingParts& stepping, MakeShares make_shares,
          const RunRecords& records, bool leads);

  // Trains to the end of the plan, from the start or from where `from` was saved. Collective. Throws on every
  // replica, after the same step: Error(kDiverged) when the loss is not a finite number, Error(kDisagree)
  // when the variables of one are found to be corrupt, Error(kStopped) after a stop signal if checkpoints are
  // saved. Passes on what the strategy throws.
  void run(const Resumption* from = nullptr);

 private:
  void resume(const Resumption& from);
  void restore_best();  // if the run ends with the weights of its best evaluation
  MetricSums restored_sums(const std::map<std::string, double>& sums) const;
  // Begins the phase of step `step` (0-based over the run) of epoch `epoch`, if it is not under way. Returns
  // whether it has now begun. Collective. Leaves if it cannot begin.
  bool enter_phase_of(int64_t step, int64_t epoch);
  ReplicaShares& shares();
  double learning_rate_at(int64_t step) const;
  // Goes on from step `step` of this replica; `from` says which step and pass that is.
  void go_to(int64_t step, const TrainingState& from);
  void train_epoch(int64_t epoch);
  void start_shares(int64_t epoch);
  // The next share in epoch `epoch` or its evaluation; nullopt: there is no other. Collective if examples are
  // elsewhere: when they do not come to a replica after a stop signal, all save the last step and leave, or
  // throw Error(kData) if that is no state to save, or without `epoch`.
  std::optional<Share> next_share(ShareLoader& loader, std::optional<int64_t> epoch);
  MetricSums make_step(const Share& share, const StepContext& context, int64_t epoch);
  // Between two steps of an epoch, and after an epoch with its evaluation: acts on what was decided.
  void after_step(int64_t epoch);
  void after_epoch(int64_t epoch);
  Decision decide(bool saves = false);  // `saves`: this replica wants a checkpoint
  // Checks the variables, if the spec asks for it. Collective.
  void check_variables();
  // Whether SIGUSR1 to this replica saves a checkpoint. If not, refuse_save_requests() gives advice.
  bool saves_here() const;
  void refuse_save_requests();
  void tell(const std::string& text) { callbacks_.on_event(message_event(run_, text)); }
  void await_disk();  // until the last checkpoint is on it. Collective.
  void save(int64_t epoch);
  [[noreturn]] void leave();
  void finish_strategy();
  // Saves the state before a step that is lost with a peer.
  void save_before_lost_step(int64_t epoch);
  // The sum of `own` over all replicas. Collective. Makes and times the steps that were deferred.
  MetricSums sums_of_all(MetricSums own);
  // The sums over all replicas of the current window, which stays open. Collective.
  MetricSums open_window();
  MetricSums finite_window();  // the same; checks the loss
  // Makes and times steps that were deferred, so that they take no part of what comes next.
  void finish_steps();
  TrainingState state(int64_t epoch, const MetricSums& window) const;
  bool pass_is_complete() const;
  // After so many epochs. Throws Error(kData) if the job selects by a metric that these examples do not have.
  void evaluate(int64_t epochs);
  // Evaluates the test examples after `epochs` epochs, if earlier evaluations were of a validation part.
  void test(int64_t epochs);
  // Adds up the replicas' results for each example in the evaluation that the run ends with. Collective.
  void gather_examples();
  // Keeps these results on rank 0, and computes the intervals of the metrics.
  NamedIntervals keep_examples();
  bool keeps(int64_t examples) const;  // for `examples` examples; the same on every replica
  // Evaluates all of `examples`, which are `count`. Collective. `epoch`: as for next_share().
  MetricSums pass_over(ShareLoader& examples, int64_t count, std::optional<int64_t> epoch = {});
  // Adds the window's sums over all replicas to the epoch's and reports them.
  void end_window(int64_t epoch, double learning_rate);
  // All replicas have the same loss, so all make the same decision.
  void require_finite(double loss, const char* of);

  const JobPlan& job_;
  const RunPlan& run_;
  Strategy& strategy_;
  const StepWatches watches_;
  MakeShares make_shares_;
  StepClock& clock_;
  RunReporter& reporter_;
  RunCheckpoints& checkpoints_;
  CallbackList& callbacks_;
  ActivityLog& activity_;
  bool leads_;  // rank 0
  // There may be something to decide during the run.
  const bool deciding_ = checkpoints_.are_saved() || has_callbacks(job_, run_);
  const PhasePlan* phase_ = &run_.phases.front();              // of the last step
  LearningRateSchedule learning_rate_{phase_->learning_rate};  // of that phase
  std::optional<ReplicaShares> shares_;  // of that phase; nullopt: it has not begun in this process
  Decisions decisions_{strategy_};
  int64_t first_epoch_ = 0;
  int64_t step_ = 0;           // optimizer steps done
  int64_t position_ = 0;       // examples of this pass that were trained on
  int64_t kept_step_ = -1;     // the step after which the newest checkpoint was saved
  int64_t checked_step_ = -1;  // the step after which the variables were last checked
  bool warned_ = false;        // about what the last check of the variables found
  bool ended_ = false;         // before the end of the plan
  bool went_back_ = false;     // to the weights of the best evaluation
  bool evaluating_ = false;    // the weights after an epoch
  bool meets_ = false;         // for data from elsewhere; with local steps, hosts are at different steps
  int64_t ready_ = 0;          // the next shares that every replica is known to have
  int save_requests_met_ = 0;
  double epoch_start_ = steady_seconds();  // of the pass, as if all of it had been made by this process
  MetricSums window_;                      // of this replica
  MetricSums epoch_sums_;
  // The rows that the last evaluation kept, and their examples; empty: none, or the weights have changed.
  MetricSums::Rows rows_;
  std::vector<int64_t> indices_;
  at::Tensor examples_;                       // made of rows_ at the end; undefined: nothing was kept
  std::map<std::string, double> evaluation_;  // with the current weights; empty: none
  // What an evaluation began with, for its checkpoint, where other workers go on meanwhile.
  std::optional<CollectedVariables> evaluated_;
};

}  // namespace dtrain
