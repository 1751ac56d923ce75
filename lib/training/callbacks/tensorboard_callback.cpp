#include <utility>
#include <vector>

#include "callbacks/callbacks.h"
#include "metrics/tensorboard.h"

namespace dtrain {
namespace {

class TensorBoard : public Callback {
 public:
  explicit TensorBoard(const CallbackContext& context)
      : folder_(context.folder / "tensorboard"), run_(context.run) {}

  void on_event(const Event& event) override {
    if (const auto start = decode<RunStartEvent>(event)) {
      // The later steps of an interrupted run are written again: all of them if it begins again.
      file_ = std::make_unique<EventFile>(folder_, start->resumed_step ? *start->resumed_step + 1 : 0);
    }
    if (!file_) return;
    step_ = place_of(event).step.value_or(step_);
    if (const auto step = decode<StepEvent>(event)) add_step(*step);
    if (const auto epoch = decode<EpochEvent>(event)) file_->add(step_, scalars("epoch/", epoch->metrics));
    if (const auto evaluation = decode<EvalEvent>(event))
      file_->add(step_, scalars(evaluation->part.value_or("eval") + "/", evaluation->metrics));
  }

  void on_histograms(int64_t step, const std::vector<NamedHistogram>& histograms) override {
    if (file_) file_->add_histograms(step, histograms);
  }

 private:
  static std::vector<Scalar> scalars(const std::string& prefix, const MetricValues& metrics) {
    std::vector<Scalar> scalars;
    for (const auto& [name, value] : metrics) scalars.push_back({prefix + name, value});
    return scalars;
  }

  void add_step(const StepEvent& step) {
    std::vector<Scalar> all = scalars("train/", step.metrics);
    const std::vector<std::pair<std::string, std::optional<double>>> others = {
        {"learning_rate", step.learning_rate},
        {"gradient_norm", step.gradient_norm},
        {"speed/examples_per_second", step.speed.examples_per_second},
        {"speed/step_ms", step.speed.step_ms}};
    for (const auto& [tag, value] : others) {
      if (value) all.push_back({tag, *value});
    }
    file_->add(step_, all);
    if (const auto rate = step.speed.examples_per_second) {
      file_->add(step_,
                 {{"speed/examples_per_second_per_replica", *rate / static_cast<double>(run_.replicas)}});
    }
  }

  std::filesystem::path folder_;
  const RunPlan& run_;
  std::unique_ptr<EventFile> file_;
  int64_t step_ = 0;  // the last step; used for epoch events, which have no step
};

}  // namespace

std::unique_ptr<Callback> make_tensorboard_callback(const CallbackContext& context) {
  return std::make_unique<TensorBoard>(context);
}

}  // namespace dtrain
