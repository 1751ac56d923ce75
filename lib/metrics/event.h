// The events of metrics.jsonl. One JSON object each, always with `event`, `time` and `run`; docs/metrics.md
// lists the fields. A reader must ignore fields that it does not know.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace dtrain {

using Event = nlohmann::ordered_json;

// {"event": kind, "time": now in UTC, "run": run}
Event make_event(const std::string& kind, const std::string& run);

// The event as JSON text: numbers that read back to the same bits, numbers that are not finite (JSON has
// none) as the strings "nan", "inf" and "-inf", bytes that are not UTF-8 replaced. On one line without a
// newline at its end, or indented by `indent` spaces.
std::string event_text(const Event& event, int indent = -1);

// A field of an event, or nullopt when it is missing or of another type. number_at reads "nan", "inf" and
// "-inf" back.
std::optional<double> number_at(const Event& event, const std::string& key);
std::optional<int64_t> integer_at(const Event& event, const std::string& key);
std::optional<std::string> text_at(const Event& event, const std::string& key);

// Whoever takes events: a file, a terminal, a pipe to the supervisor.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  // Time passes (about ten times a second); a progress bar redraws itself.
  virtual void on_tick() {}
};

}  // namespace dtrain
