// Turns what happens in a run into events. Every replica has a reporter; only rank 0's events go anywhere.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/traffic.h"
#include "core/step_clock.h"
#include "device/accelerator.h"
#include "metrics/events.h"
#include "metrics/statistics.h"
#include "objective/metric_sums.h"
#include "parameter_server/update_ledger.h"
#include "plan/job_plan.h"
#include "step/loss_scale.h"

namespace dtrain {

// The bytes that steps have sent and received.
struct SentSteps {
  int64_t steps = 0;
  Traffic bytes;

  void add(const Traffic& step) { ++steps, bytes += step; }
  // Writes the mean of a step, if anything was sent at all.
  StepTraffic mean() const;
};

// Whether steps have become slow because other programs use the same cores.
class SlowSteps {
 public:
  // `step_ms`: how long steps took lately. Between some fixed moment and now are `seconds`, in which this
  // process's threads together waited `without_core` seconds for a core. Returns what to tell the user, once:
  // if steps take at least twice as long as before while a fifth of the time is such waiting, or if that much
  // is waiting from the beginning.
  std::optional<std::string> look(double step_ms, double seconds, double without_core);
  // Steps are different ones from now on.
  void begin() { least_ms_.reset(); }

 private:
  struct Look {
    double seconds, without_core;
  };
  std::optional<double> least_ms_;
  std::optional<Look> first_, last_;
  bool told_ = false;
};

class RunReporter {
 public:
  using Links = std::function<std::optional<std::vector<LinkSummary>>()>;

  // `traffic`: what this replica has sent and received so far; `accelerator`: what it computes on, whose
  // memory and use are reported (null: the CPU); `loss_scale`: the strategy's, if it has one; `links`: for
  // look_at_links().
  RunReporter(
      const JobPlan& job, const RunPlan& run, EventSink& sink,
      std::function<Traffic()> traffic = [] { return Traffic(); }, const Accelerator* accelerator = nullptr,
      std::shared_ptr<const LossScale> loss_scale = nullptr, Links links = {});

  // The file of the initial weights and its SHA-256. Call before on_run_start().
  void starts_from(const std::string& weights, const std::string& sha256) {
    weights_ = weights;
    weights_sha256_ = sha256;
  }
  // `step`: optimizer steps done before, if the run resumes.
  void on_run_start(int64_t step = 0);
  // A phase begins after `step` steps of the run; `seconds`: what preparing its examples took.
  void on_phase(int64_t step, const PhasePlan& phase, double seconds);
  // Bytes sent and received since the last step belong to no step.
  void leave_out_traffic() { traffic_so_far_ = traffic_(); }
  // One optimizer step (1-based over the run) is done. `seconds`: the time since the previous step;
  // `examples`: of the global batch. If it is not `made` but deferred, on_steps_made() times it.
  void on_step(int64_t epoch, int64_t step, const StepTimes& seconds, int64_t examples, bool made = true);
  // `own`: this replica's sums of the run's first step, whose loss is that of the initial weights.
  void on_first_step(const MetricSums& own);
  // Deferred steps are finished; each gets an equal part of their time. `waiting`: the time since on_step().
  void on_steps_made(const StepTimes& waiting);
  // Whether the steps not timed yet end the warm-up (metrics.skip_steps): the caller must finish them now.
  bool ends_warm_up() const;
  // The norm of the gradient of the step that ends the next window.
  void on_gradient_norm(double norm) { gradient_norm_ = norm; }
  // `window`: the sums over all replicas of the steps since the last call, up to step `step` (1-based).
  void on_window(int64_t epoch, int64_t step, double learning_rate, const MetricSums& window);
  void on_epoch(int64_t epoch, int64_t steps, double seconds, double learning_rate, const MetricSums& sums,
                std::optional<double> noise_scale = std::nullopt);
  void on_warning(const std::string& text);
  // An evaluation during training: of the validation part, or without one of the test examples. `final_test`:
  // that of the test examples at the end, if earlier ones were of the validation part.
  void on_evaluation(int64_t epoch, int64_t step, double seconds, const MetricSums& sums,
                     bool final_test = false);
  // The run ends with the weights of an earlier evaluation, which had these metrics.
  void on_best(const std::map<std::string, double>& metrics);
  // Call when nothing is left to exchange but all replicas are still connected. Collective.
  void look_at_links() {
    if (links_) run_links_ = links_();
  }
  // `workers`: what each worker did, if replicas train asynchronously. `intervals` computes the intervals of
  // the metrics; this time no longer counts for the run.
  void on_run_end(int64_t epochs, int64_t steps, const std::optional<WorkersReport>& workers = std::nullopt,
                  const std::function<NamedIntervals()>& intervals = {});

 private:
  const JobPlan& job_;
  const RunPlan& run_;
  EventSink& sink_;
  const Accelerator* accelerator_;
  void time_step(const StepTimes& seconds, int64_t examples);
  // The device's use, measured at most `oldest` seconds ago.
  DeviceUse device_use(double oldest);
  // The rates of `timed`; if replicas train asynchronously, those of all together: `examples` in `seconds`.
  StepSpeed speed(const StepRate& timed, int64_t examples, double seconds) const;

  std::function<Traffic()> traffic_;
  Links links_;
  std::optional<std::vector<LinkSummary>> run_links_;
  Traffic traffic_so_far_;
  SentSteps window_sent_, epoch_sent_, run_sent_;
  std::shared_ptr<const LossScale> loss_scale_;
  void warn_if_worse();
  SlowSteps slow_steps_;
  double looked_for_cores_ = 0;
  std::optional<std::string> weights_, weights_sha256_;
  std::optional<double> gradient_norm_, noise_scale_;
  std::optional<double> first_loss_;       // of the first window; nullopt if the run resumed
  std::optional<double> first_step_loss_;  // nullopt also if it has too few examples to tell
  std::optional<double> last_loss_;        // of the last epoch
  bool resumed_ = false;
  StepTimer run_timer_;
  int64_t timed_steps_ = 0;  // steps that run_timer_ was given
  // Of steps that devices may still be making:
  StepTimes untimed_;
  std::vector<int64_t> untimed_examples_;
  bool epoch_is_mixed_ = false;   // a phase began within it
  std::optional<int64_t> phase_;  // number of the phase, from 1; nullopt: there is one only
  SampledSteps epoch_steps_;
  MeanStepTimes run_times_;  // of the steps that rates count
  MeanStepTimes epoch_times_;
  double started_ = 0;
  double window_started_ = 0;
  double progress_sent_ = 0;
  DeviceUse device_use_;
  double device_asked_ = -1;  // when device_use_ was measured; -1: not yet
  std::vector<double> epoch_seconds_;
  MetricValues evaluated_;           // of the last evaluation, or of the best; empty before the first
  std::optional<std::string> part_;  // of that evaluation
  std::optional<ValidationSummary> validation_;
};

}  // namespace dtrain
