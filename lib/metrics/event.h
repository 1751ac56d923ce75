// The events of metrics.jsonl. One JSON object each, always with `event`, `time` and `run`; docs/metrics.md lists the
// fields. A reader must ignore fields that it does not know.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

namespace dtrain {

using Event = nlohmann::ordered_json;

// {"event": kind, "time": now in UTC, "run": run}
Event make_event(const std::string& kind, const std::string& run);

// Whoever takes events: a file, a terminal, a pipe to the supervisor.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  // Time passes (about ten times a second); a progress bar redraws itself.
  virtual void on_tick() {}
};

}  // namespace dtrain
