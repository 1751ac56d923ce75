// The one table of callbacks.
#include "callbacks/callbacks.h"

#include <fmt/format.h>

#include <algorithm>

#include "callbacks/profile.h"
#include "core/error.h"
#include "runs/receipts.h"

namespace dtrain {
namespace {

// Prints the learning rate after every epoch.
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

struct Kind {
  std::string name;
  bool (*is_asked_for)(const JobSpec&);
  std::unique_ptr<Callback> (*make)(const CallbackContext&);
};

const std::vector<Kind> kCallbacks = {
    {"csv", [](const JobSpec& spec) { return spec.callbacks.csv; }, make_csv_history},
    {"tensorboard", [](const JobSpec& spec) { return spec.callbacks.tensorboard; },
     make_tensorboard_callback},
    {"print_learning_rate", [](const JobSpec& spec) { return spec.callbacks.print_learning_rate; },
     [](const CallbackContext& context) -> std::unique_ptr<Callback> {
       return std::make_unique<PrintLearningRate>(context);
     }},
    {"early_stopping", [](const JobSpec& spec) { return spec.callbacks.early_stopping.metric.has_value(); },
     make_early_stopping},
    {"receipts", [](const JobSpec& spec) { return spec.receipts.every_steps.has_value(); },
     make_receipts_file},
};

}  // namespace

Event message_event(const RunPlan& run, const std::string& text) {
  auto message = begin_event<MessageEvent>(run.name());
  message.text = text;
  return encode(message);
}

Event warning_event(const std::string& run, const std::string& text) {
  auto warning = begin_event<WarningEvent>(run);
  warning.text = text;
  return encode(warning);
}

bool has_callbacks(const JobPlan& job, const RunPlan& run) {
  return run.traits().is_observed &&
         std::ranges::any_of(kCallbacks, [&](const Kind& kind) { return kind.is_asked_for(job.spec); });
}

void remove_files_of_callbacks(const std::filesystem::path& folder) {
  std::error_code none;
  std::vector<std::filesystem::path> ours = {folder / "history.csv", folder / kProfileFile,
                                             folder / kKernelsFile, folder / kReceiptsFile,
                                             folder / kExamplesFile};
  for (const auto& entry : std::filesystem::directory_iterator(folder / "tensorboard", none)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("events.out.tfevents.") && name.ends_with(".dtrain")) ours.push_back(entry.path());
  }
  ours.push_back(folder / "tensorboard");  // not removed if it holds other files
  for (const std::filesystem::path& path : ours) std::filesystem::remove(path, none);
}

CallbackList::CallbackList(const CallbackContext& context, bool leads) : context_(context) {
  if (!leads || !has_callbacks(context.job, context.run)) return;
  for (const Kind& kind : kCallbacks) {
    if (kind.is_asked_for(context.job.spec)) callbacks_.emplace_back(kind.name, kind.make(context));
  }
}

void CallbackList::on_event(const Event& event) {
  context_.events.on_event(event);
  for (const auto& [name, callback] : callbacks_) callback->on_event(event);
}

void CallbackList::on_histograms(int64_t step, const std::vector<NamedHistogram>& histograms) {
  for (const auto& [name, callback] : callbacks_) callback->on_histograms(step, histograms);
}

void CallbackList::on_receipt(const Event& receipt) {
  for (const auto& [name, callback] : callbacks_) callback->on_receipt(receipt);
}

bool CallbackList::want_to_end() {
  for (const auto& [name, callback] : callbacks_) {
    const std::optional<std::string> reason = callback->reason_to_end();
    if (!reason) continue;
    if (!ending_) on_event(message_event(context_.run, *reason));
    ending_ = true;
  }
  return ending_;
}

nlohmann::ordered_json CallbackList::state() const {
  nlohmann::ordered_json states = nlohmann::ordered_json::object();
  for (const auto& [name, callback] : callbacks_) states[name] = callback->state();
  return states;
}

void CallbackList::restore(const nlohmann::ordered_json& state) {
  for (const auto& [name, callback] : callbacks_) {
    const auto own = state.find(name);
    if (own == state.end()) continue;
    try {
      callback->restore(*own);
    } catch (const nlohmann::json::exception&) {
      throw Error(ExitCode::kCheckpoint,
                  "the checkpoint's state of the callback " + name + " is not one that dtrain saves");
    }
  }
}

}  // namespace dtrain
