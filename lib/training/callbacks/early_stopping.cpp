#include <fmt/format.h>

#include <cmath>

#include "callbacks/callbacks.h"
#include "core/error.h"
#include "core/text.h"
#include "optim/learning_rate.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

class EarlyStopping : public Callback {
 public:
  // `of_validation`: the evaluations are of a validation part.
  EarlyStopping(const EarlyStoppingSpec& spec, bool of_validation)
      : spec_(spec), of_validation_(of_validation) {}

  void on_event(const Event& event) override {
    const auto evaluation = decode<EvalEvent>(event);
    if (!evaluation || evaluation->part == kTestPart) return;
    const double value = find_metric(evaluation->metrics, *spec_.metric).value_or(std::nan(""));
    if (improves(*spec_.metric, value, best_, spec_.min_delta)) {
      best_ = value;
      best_epoch_ = evaluation->epoch.value_or(0);
      waited_ = 0;
    } else {
      ++waited_;
    }
  }

  std::optional<std::string> reason_to_end() const override {
    if (waited_ < spec_.patience) return std::nullopt;
    const char* const part = of_validation_ ? kValidationPart : kTestPart;
    const std::string times = counted(waited_, "evaluation");
    if (!best_)  // such as auc, where all examples of the part have one class
      return fmt::format("early stopping: the {} {} was not a number in any of {}", part, *spec_.metric,
                         times);
    return fmt::format("early stopping: the {} {} was at its best in epoch {} ({:.6g}), {} ago", part,
                       *spec_.metric, best_epoch_, *best_, times);
  }

  nlohmann::ordered_json state() const override {
    return {{"metric", *spec_.metric},
            {"best", best_ ? nlohmann::ordered_json(*best_) : nlohmann::ordered_json()},
            {"best_epoch", best_epoch_},
            {"waited", waited_}};
  }
  void restore(const nlohmann::ordered_json& state) override {
    if (state.value("metric", *spec_.metric) != *spec_.metric) return;  // whose best says nothing of this one
    best_.reset();
    if (!state.at("best").is_null()) best_ = state.at("best").get<double>();
    best_epoch_ = state.at("best_epoch").get<int64_t>();
    waited_ = state.at("waited").get<int64_t>();
    if (waited_ < 0 || best_epoch_ < 0)
      throw Error(ExitCode::kCheckpoint,
                  "the checkpoint's state of the callback early_stopping is not one that dtrain saves");
  }

 private:
  EarlyStoppingSpec spec_;
  bool of_validation_;
  std::optional<double> best_;
  int64_t best_epoch_ = 0;
  int64_t waited_ = 0;  // evaluations without an improvement
};

}  // namespace

std::unique_ptr<Callback> make_early_stopping(const CallbackContext& context) {
  return std::make_unique<EarlyStopping>(context.job.spec.callbacks.early_stopping,
                                         context.job.data.has_validation());
}

}  // namespace dtrain
