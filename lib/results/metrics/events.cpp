#include "metrics/events.h"

#include <type_traits>

#include "core/clock.h"
#include "metrics/event_tables.h"

namespace dtrain {
namespace {

template <HasEventTable T>
void write_fields(Event& out, const T& fields);
template <HasEventTable T>
T read_fields(const Event& from);

// Conversion of member values to JSON and back. A value of another type reads as nullopt.

template <class T>
requires std::is_arithmetic_v<T> Event json_of(const T& value) { return value; }
Event json_of(const std::string& value) { return value; }
Event json_of(const StepTimes& times) { return step_times_json(times); }
Event json_of(const NamedCounts& counts) {
  Event object = Event::object();
  for (const auto& [name, count] : counts) object[name] = count;
  return object;
}
template <HasEventTable T>
Event json_of(const T& object) {
  Event json = Event::object();
  write_fields(json, object);
  return json;
}
template <class T>
Event json_of(const std::vector<T>& list) {
  Event array = Event::array();
  for (const T& value : list) array.push_back(json_of(value));
  return array;
}

void read(const Event& json, std::optional<bool>& value) {
  if (json.is_boolean()) value = json.get<bool>();
}
void read(const Event& json, std::optional<int64_t>& value) { value = as_integer(json); }
void read(const Event& json, std::optional<double>& value) { value = as_number(json); }
void read(const Event& json, std::optional<std::string>& value) { value = as_text(json); }
void read(const Event& json, std::optional<StepTimes>& times) {
  if (!json.is_object()) return;
  times.emplace();
  for (size_t i = 0; i < kStepTimes; ++i)
    times->values[i] = number_at(json, step_time_name(static_cast<StepTime>(i))).value_or(0);
}
void read(const Event& json, std::optional<NamedCounts>& counts) {
  if (!json.is_object()) return;
  counts.emplace();
  for (const auto& [name, count] : json.items()) {
    if (const auto number = as_integer(count)) counts->emplace_back(name, *number);
  }
}
void read(const Event& json, std::optional<NamedIntervals>& intervals) {
  if (!json.is_object()) return;
  intervals.emplace();
  for (const auto& [name, ends] : json.items()) {
    if (!ends.is_array() || ends.size() != 2) continue;
    const auto low = as_number(ends[0]), high = as_number(ends[1]);
    if (low && high) intervals->push_back({name, *low, *high});
  }
}
template <HasEventTable T>
void read(const Event& json, std::optional<T>& object) {
  if (json.is_object()) object = read_fields<T>(json);
}
// Elements that are not a T are left out.
template <class T>
void read(const Event& json, std::optional<std::vector<T>>& list) {
  if (!json.is_array()) return;
  list.emplace();
  for (const Event& entry : json) {
    std::optional<T> value;
    read(entry, value);
    if (value) list->push_back(std::move(*value));
  }
}

// Conversion of one field of an event, or of several: those of a part, or the metrics.

template <class T>
void write_member(Event& out, const std::string& name, const std::optional<T>& value) {
  if (value) out[name] = json_of(*value);
}
void write_member(Event& out, const std::string&, const MetricValues& metrics) {
  for (const auto& [name, value] : metrics) out[name] = value;
}
template <HasEventTable Part>
void write_member(Event& out, const std::string&, const Part& part) {
  write_fields(out, part);
}

template <class T>
void read_member(const Event& from, const std::string& name, std::optional<T>& value) {
  if (const auto field = from.find(name); field != from.end()) read(*field, value);
}
void read_member(const Event& from, const std::string&, MetricValues& metrics) {
  for (const MetricInfo& metric : known_metrics()) {
    if (const auto value = number_at(from, metric.name)) metrics.emplace_back(metric.name, *value);
  }
}
template <HasEventTable Part>
void read_member(const Event& from, const std::string&, Part& part) {
  part = read_fields<Part>(from);
}

template <HasEventTable T>
void write_fields(Event& out, const T& fields) {
  for (const EventField<T>& field : T::table.fields)
    std::visit([&](auto member) { write_member(out, field.name, fields.*member); }, field.member);
}

template <HasEventTable T>
T read_fields(const Event& from) {
  T fields;
  for (const EventField<T>& field : T::table.fields)
    std::visit([&](auto member) { read_member(from, field.name, fields.*member); }, field.member);
  return fields;
}

}  // namespace

Event json_of(const NamedIntervals& intervals) {
  Event object = Event::object();
  for (const MetricInterval& one : intervals) object[one.name] = {one.low, one.high};
  return object;
}

template <class T>
T begin_event(const std::string& run) {
  T event;
  event.time = utc_time();
  event.run = run;
  return event;
}

template <class T>
Event encode(const T& event) {
  Event json = {{"event", T::table.kind}};
  write_member(json, "time", event.time);
  write_member(json, "run", event.run);
  write_fields(json, event);
  return json;
}

template <class T>
std::optional<T> decode(const Event& event) {
  if (text_at(event, "event") != T::table.kind) return std::nullopt;
  T fields = read_fields<T>(event);
  read_member(event, "time", fields.time);
  read_member(event, "run", fields.run);
  return fields;
}

#define DTRAIN_EVENT(T)                          \
  template T begin_event<T>(const std::string&); \
  template Event encode(const T&);               \
  template std::optional<T> decode(const Event&)
DTRAIN_EVENT(RunStartEvent);
DTRAIN_EVENT(StepEvent);
DTRAIN_EVENT(EpochEvent);
DTRAIN_EVENT(PhaseEvent);
DTRAIN_EVENT(EvalEvent);
DTRAIN_EVENT(InspectEvent);
DTRAIN_EVENT(CheckpointEvent);
DTRAIN_EVENT(WorkerLostEvent);
DTRAIN_EVENT(RestartEvent);
DTRAIN_EVENT(MessageEvent);
DTRAIN_EVENT(MachineEvent);
DTRAIN_EVENT(WarningEvent);
DTRAIN_EVENT(RunEndEvent);
DTRAIN_EVENT(ComparisonEvent);
DTRAIN_EVENT(ProgressEvent);
DTRAIN_EVENT(OverheadEvent);
#undef DTRAIN_EVENT

EventPlace place_of(const Event& event) {
  return {text_at(event, "event").value_or(""), text_at(event, "run"), integer_at(event, "epoch"),
          integer_at(event, "step")};
}

Event step_times_json(const StepTimes& times) {
  Event object = Event::object();
  for (size_t i = 0; i < kStepTimes; ++i) object[step_time_name(static_cast<StepTime>(i))] = times.values[i];
  return object;
}

}  // namespace dtrain
