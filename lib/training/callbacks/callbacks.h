// The callbacks that a spec asks for, behind one interface.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "callbacks/callback.h"

namespace dtrain {

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

}  // namespace dtrain
