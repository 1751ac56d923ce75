// The events of metrics.jsonl as JSON, the form in which they are passed on: one object each, always with
// `event`, `time` and `run`. events.h has them as structs. A reader must ignore fields that it does not know.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace dtrain {

using Event = nlohmann::ordered_json;

// The event as JSON text. Numbers are written so that they read back to the same bits; numbers that are not
// finite (JSON has none) become the strings "nan", "inf" and "-inf"; bytes that are not UTF-8 are replaced.
// The text is one line without a newline at the end, or indented by `indent` spaces.
std::string event_text(const Event& event, int indent = -1);

// Convert a value; nullopt if it is of another type. as_number reads "nan", "inf" and "-inf" back.
std::optional<double> as_number(const Event& value);
std::optional<int64_t> as_integer(const Event& value);
std::optional<std::string> as_text(const Event& value);

// The same for a field; nullopt also if it is missing. For JSON that has no struct in events.h.
std::optional<double> number_at(const Event& event, const std::string& key);
std::optional<int64_t> integer_at(const Event& event, const std::string& key);
std::optional<std::string> text_at(const Event& event, const std::string& key);

// A receiver of events: a file, a terminal, a pipe to the supervisor.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(const Event& event) = 0;
  // Returns when the events so far are where they belong, and not under way to another process.
  virtual void settle() {}
  // Called about ten times a second, so that a progress bar can redraw itself.
  virtual void on_tick() {}
};

}  // namespace dtrain
