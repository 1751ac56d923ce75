#include "callbacks/tensorboard_callback.h"

#include <utility>
#include <vector>

#include "metrics/tensorboard.h"

namespace dtrain {
namespace {

class TensorBoard : public Callback {
 public:
  explicit TensorBoard(const CallbackContext& context)
      : folder_(context.folder / "tensorboard"), run_(context.run) {}

  void on_event(const Event& event) override {
    const std::string kind = text_at(event, "event").value_or("");
    if (kind == "run_start") {
      // What an interrupted run said of later steps is said again.
      const auto resumed = integer_at(event, "resumed_step");
      file_ = std::make_unique<EventFile>(folder_, resumed ? *resumed + 1 : 0);
      return;
    }
    if (!file_) return;
    if (const auto step = integer_at(event, "step")) step_ = *step;
    if (kind == "step") add_step(event);
    if (kind == "epoch") add(event, {{"loss", "epoch/loss"}, {"accuracy", "epoch/accuracy"}});
    if (kind == "eval") add(event, {{"loss", "eval/loss"}, {"accuracy", "eval/accuracy"}});
  }

  void on_histograms(int64_t step, const std::vector<NamedHistogram>& histograms) override {
    if (file_) file_->add_histograms(step, histograms);
  }

 private:
  using Names = std::vector<std::pair<const char*, const char*>>;  // field, tag

  void add_step(const Event& event) {
    add(event, {{"loss", "train/loss"},
                {"accuracy", "train/accuracy"},
                {"learning_rate", "learning_rate"},
                {"examples_per_second", "speed/examples_per_second"},
                {"step_ms", "speed/step_ms"}});
    if (const auto rate = number_at(event, "examples_per_second")) {
      file_->add(step_,
                 {{"speed/examples_per_second_per_replica", *rate / static_cast<double>(run_.replicas)}});
    }
  }

  void add(const Event& event, const Names& names) {
    std::vector<Scalar> scalars;
    for (const auto& [field, tag] : names) {
      if (const auto value = number_at(event, field)) scalars.push_back({tag, *value});
    }
    file_->add(step_, scalars);
  }

  std::filesystem::path folder_;
  const RunPlan& run_;
  std::unique_ptr<EventFile> file_;
  int64_t step_ = 0;  // an epoch's event has none: it ends with the last step
};

}  // namespace

std::unique_ptr<Callback> make_tensorboard_callback(const CallbackContext& context) {
  return std::make_unique<TensorBoard>(context);
}

}  // namespace dtrain
