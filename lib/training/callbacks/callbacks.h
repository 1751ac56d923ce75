// Callbacks observe a training and may end it. docs/extending.md shows how to write one.
#pragma once

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "judge/example_results.h"
#include "metrics/events.h"
#include "metrics/tensorboard.h"
#include "plan/job_plan.h"

namespace dtrain {

struct Share;
struct StepContext;

// Callbacks exist on rank 0 only. All replicas act on their decisions, after the same step.
class Callback {
 public:
  virtual ~Callback() = default;

  // Called for each event of the run: run_start, step, epoch, eval, checkpoint, run_end.
  // decode<EvalEvent>(event) returns the event as a struct if it is of that kind. With data.split, a callback
  // that acts on evaluations must ignore the last one, whose `part` is kTestPart.
  virtual void on_event(const Event& event) = 0;

  // Called with tensorboard_histograms at the last update of every epoch: the weights before the update and
  // the gradient of the update.
  virtual void on_histograms(int64_t /*step*/, const std::vector<NamedHistogram>& /*histograms*/) {}

  // Called after each step that has a receipt (runs/receipts.h).
  virtual void on_receipt(const Event& /*receipt*/) {}

  // The reason why training should end now, if it should. Called after every epoch and its evaluation, and a
  // few times a second in between.
  virtual std::optional<std::string> reason_to_end() const { return std::nullopt; }

  // The state, saved with every checkpoint. restore() continues exactly from it; throws if it is not its own.
  virtual nlohmann::ordered_json state() const { return nlohmann::ordered_json::object(); }
  virtual void restore(const nlohmann::ordered_json& /*state*/) {}
};

// The arguments of callbacks' constructors. Must outlive the callbacks.
struct CallbackContext {
  const JobPlan& job;
  const RunPlan& run;
  std::filesystem::path folder;  // the run's folder, to write files into
  EventSink& events;             // takes their messages: message_event()
};

// A message of the run: the terminal shows it as a line.
Event message_event(const RunPlan& run, const std::string& text);
// A warning of the run of this name.
Event warning_event(const std::string& run, const std::string& text);

// The callbacks that callbacks.cpp makes.
//
// history.csv: a line for every epoch and every evaluation, for spreadsheets.
//   epoch,step,phase,loss,accuracy,learning_rate,examples_per_second,seconds
// with a column for each metric of the job's loss. `phase` is train or eval; fields that a phase does not
// have are empty. A run that resumes from a checkpoint first removes the lines after that checkpoint.
std::unique_ptr<Callback> make_csv_history(const CallbackContext& context);

// Ends a training whose evaluations no longer improve. As in Keras, the best value since the start counts,
// and the trainer hands back its weights (restore_best).
std::unique_ptr<Callback> make_early_stopping(const CallbackContext& context);

// receipts.jsonl: a line for each step that has a receipt (runs/receipts.h). A run that resumes from a
// checkpoint first removes the lines after that checkpoint.
std::unique_ptr<Callback> make_receipts_file(const CallbackContext& context);

// TensorBoard's event files in tensorboard/ in the run's folder. Scalars: train/loss, train/accuracy,
// learning_rate, speed/examples_per_second, speed/examples_per_second_per_replica and speed/step_ms every
// metrics.every_steps; epoch/loss and epoch/accuracy; eval/loss and eval/accuracy; all by optimizer step.
// Histograms, if the spec asks for them: weights/NAME and gradients/NAME of every parameter.
std::unique_ptr<Callback> make_tensorboard_callback(const CallbackContext& context);

// Whether the spec asks for any callback in this run; the same on all replicas. Only the distributed run has
// callbacks.
bool has_callbacks(const JobPlan& job, const RunPlan& run);

// Removes the files that callbacks of an earlier run left in `folder`, as far as it can.
void remove_files_of_callbacks(const std::filesystem::path& folder);

// Passes every event on to `context.events`, then to the callbacks.
class CallbackList : public EventSink {
 public:
  // Rank 0 makes the callbacks that the spec asks for; the other ranks (`leads` false) make none.
  CallbackList(const CallbackContext& context, bool leads);

  void on_event(const Event& event) override;
  void settle() override { context_.events.settle(); }
  void on_histograms(int64_t step, const std::vector<NamedHistogram>& histograms);
  void on_receipt(const Event& receipt);
  // Writes the last evaluation's result for each example into the run's folder. forget_examples() removes the
  // file when training goes on: it is not about the new weights.
  void keep(const ExampleResults& results) { write_examples(context_.folder / kExamplesFile, results); }
  void forget_examples() {
    std::error_code none;
    std::filesystem::remove(context_.folder / kExamplesFile, none);
  }
  // Whether any callback has a reason to end the training. The first time, the reason is sent as a message.
  bool want_to_end();

  nlohmann::ordered_json state() const;  // of each callback, by name
  // Callbacks without an entry in `state` start afresh. Throws Error(kCheckpoint).
  void restore(const nlohmann::ordered_json& state);

 private:
  CallbackContext context_;
  std::vector<std::pair<std::string, std::unique_ptr<Callback>>> callbacks_;
  bool ending_ = false;
};

// Looks at the steps of a training from outside of the strategy that makes them.
class StepWatch {
 public:
  virtual ~StepWatch() = default;
  virtual void before_step(const Share& share, const StepContext& context) = 0;
  virtual void after_step(const Share& share, const StepContext& context) = 0;
  // Called before Strategy::finish().
  virtual void finish() {}
};

// A later watch is nearer to the step: the first one is called first before the step, and last after it.
using StepWatches = std::vector<std::shared_ptr<StepWatch>>;

}  // namespace dtrain
