// The training loop. It never asks which strategy or device it runs on.
#pragma once

#include <cstdint>
#include <functional>

#include "core/phase_clock.h"
#include "data/batches.h"
#include "launch/status_board.h"
#include "strategy/strategy.h"
#include "train/job_plan.h"
#include "train/run_reporter.h"

namespace dtrain {

// Says on the status board what this replica is doing.
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

class Trainer {
 public:
  // All of it outlives the trainer. `test` is nullptr when the run does not evaluate. `clock` is the
  // strategy's.
  Trainer(const JobPlan& job, const RunPlan& run, Strategy& strategy, ShareLoader& train, ShareLoader* test,
          PhaseClock& clock, RunReporter& reporter, ActivityLog& activity);

  // Trains to the end of the plan. Collective. Throws Error(kDiverged) on every replica when the loss is not
  // a finite number, and whatever the strategy throws.
  void run();

 private:
  void train_epoch(int64_t epoch);
  void evaluate(int64_t epoch);
  // Adds the window's sums over all replicas to the epoch's and reports them.
  void end_window(int64_t epoch, double learning_rate);
  // Every replica has the same loss and comes to the same decision.
  void require_finite(double loss, const char* of) const;
  bool evaluation_is_due(int64_t epoch) const;

  const JobPlan& job_;
  const RunPlan& run_;
  Strategy& strategy_;
  ShareLoader& train_;
  ShareLoader* test_;
  PhaseClock& clock_;
  RunReporter& reporter_;
  ActivityLog& activity_;
  LearningRateSchedule learning_rate_;
  int64_t step_ = 0;  // optimizer steps done
  MetricSums window_;
  MetricSums epoch_sums_;
};

}  // namespace dtrain
