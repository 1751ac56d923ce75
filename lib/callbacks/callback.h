// What watches a training and may end it. docs/extending.md writes one.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "metrics/events.h"
#include "metrics/tensorboard.h"
#include "plan/job_plan.h"

namespace dtrain {

// Callbacks live on rank 0. What one decides is shared, and all replicas do it after the same step.
class Callback {
 public:
  virtual ~Callback() = default;

  // Each event of the run: run_start, step, epoch, eval, checkpoint, run_end. decode<EvalEvent>(event) is the
  // event as a struct if it is of that kind.
  virtual void on_event(const Event& event) = 0;

  // With tensorboard_histograms, at the last update of every epoch: the weights before it and the gradient
  // that it is made with.
  virtual void on_histograms(int64_t /*step*/, const std::vector<NamedHistogram>& /*histograms*/) {}

  // Why the training should end now, if it should. Asked after every epoch and its evaluation, and meanwhile
  // a few times a second.
  virtual std::optional<std::string> reason_to_end() const { return std::nullopt; }

  // What it remembers, saved with every checkpoint; restore() continues exactly there, and throws when it is
  // something else.
  virtual nlohmann::ordered_json state() const { return nlohmann::ordered_json::object(); }
  virtual void restore(const nlohmann::ordered_json& /*state*/) {}
};

// What callbacks are made from; outlives them.
struct CallbackContext {
  const JobPlan& job;
  const RunPlan& run;
  std::filesystem::path folder;  // of the run, to write files into
  EventSink& events;             // for what they have to say: message_event()
};

// A message of the run: the terminal shows it as a line.
Event message_event(const RunPlan& run, const std::string& text);

}  // namespace dtrain
