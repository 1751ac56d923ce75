#include <fmt/format.h>

#include "callbacks/callback_kinds.h"

namespace dtrain {
namespace {

class PrintLearningRate : public Callback {
 public:
  explicit PrintLearningRate(const CallbackContext& context) : run_(context.run), events_(context.events) {}

  void on_event(const Event& event) override {
    if (const auto epoch = decode<EpochEvent>(event))
      events_.on_event(
          message_event(run_, fmt::format("learning rate of epoch {}: {:g}", epoch->epoch.value_or(0),
                                          epoch->learning_rate.value_or(0))));
  }

 private:
  const RunPlan& run_;
  EventSink& events_;
};

}  // namespace

std::unique_ptr<Callback> make_print_learning_rate(const CallbackContext& context) {
  return std::make_unique<PrintLearningRate>(context);
}

}  // namespace dtrain
