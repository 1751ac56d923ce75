// The events of metrics.jsonl as JSON, the form in which they travel: one object each, always with `event`,
// `time` and `run`. events.h has them as structs. A reader must ignore fields that it does not know.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace dtrain {

using Event = nlohmann::ordered_json;

// The event as JSON text: numbers that read back to the same bits, numbers that are not finite (JSON has
// none) as the strings "nan", "inf" and "-inf", bytes that are not UTF-8 replaced. On one line without a
// newline at its end, or indented by `indent` spaces.
std::string event_text(const Event& event, int indent = -1);

// A value, or nullopt when it is of another type. as_number reads "nan", "inf" and "-inf" back.
std::optional<double> as_number(const Event& value);
std::optional<int64_t> as_integer(const Event& value);
std::optional<std::string> as_text(const Event& value);

// The same of a field; nullopt also when it is missing. For JSON that has no struct in events.h.
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
