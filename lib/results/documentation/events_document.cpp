#include <fmt/format.h>

#include <vector>

#include "core/text.h"
#include "documentation/document.h"
#include "metrics/event_tables.h"

namespace dtrain {
namespace {

const char* const kEventsBegin =
    "<!-- Made by `dtrain schema --events`, from here to the end of the events; do not edit. -->\n";
const char* const kEventsEnd = "\n<!-- The end of the events. -->\n";
const char* const kEventTableHead = "| Field | Type | Unit | Meaning |\n|---|---|---|---|\n";

std::string type_of(const std::optional<bool>&) { return "boolean"; }
std::string type_of(const std::optional<int64_t>&) { return "integer"; }
std::string type_of(const std::optional<double>&) { return "number"; }
std::string type_of(const std::optional<std::string>&) { return "text"; }
std::string type_of(const std::optional<NamedCounts>&) { return "object"; }
std::string type_of(const std::optional<NamedIntervals>&) { return "object"; }
template <class T>
std::string type_of(const std::optional<std::vector<T>>&) {
  return "list";
}
template <class T>
std::string type_of(const std::optional<T>&) {
  return "object";
}

std::string row(const std::string& name, const std::string& type, const std::string& unit, std::string doc,
                const std::string& when) {
  if (!when.empty()) doc += (doc.empty() ? "only " : "; only ") + when;
  return fmt::format("| `{}` | {} | {} | {} |\n", name, type, unit, doc);
}

template <HasEventTable T>
std::string rows_of(const EventTable<T>& table);

// Of one field, or of all that a part has.
template <class T, class Value>
std::string rows_of(const EventField<T>& field, const std::optional<Value>& value) {
  return row(field.name, type_of(value), field.unit, field.doc, field.when);
}
template <class T>
std::string rows_of(const EventField<T>& field, const MetricValues&) {
  constexpr bool kOfTraining = std::is_same_v<T, StepEvent> || std::is_same_v<T, EpochEvent>;
  std::string rows;
  for (const MetricInfo& metric : known_metrics()) {
    if (kOfTraining && metric.is_of_evaluations()) continue;
    rows += row(metric.name, "number", metric.unit == MetricUnit::kFraction ? "0 to 1" : "", field.doc,
                field.when);
  }
  return rows;
}
template <class T, HasEventTable Part>
std::string rows_of(const EventField<T>&, const Part&) {
  return rows_of(Part::table);
}

template <HasEventTable T>
std::string rows_of(const EventTable<T>& table) {
  const T none;
  std::string rows;
  for (const EventField<T>& field : table.fields)
    rows += std::visit([&](auto member) { return rows_of(field, none.*member); }, field.member);
  return rows;
}

template <HasEventTable T>
std::string text_of() {
  const EventTable<T>& table = T::table;
  const std::string title = table.kind.empty() ? "" : "`" + table.kind + "`, ";
  return "\n" + title + table.doc + ":\n\n" + kEventTableHead + rows_of(table);
}

// What all events have, then each of these.
template <HasEventTable... Tables>
std::string head_and_texts_of() {
  std::vector<std::string> kinds;
  for (const std::string& kind : {Tables::table.kind...}) {
    if (!kind.empty()) kinds.push_back(kind);
  }
  return std::string("\nEvery event has\n\n") + kEventTableHead +
         row("event", "text", "", "its kind: `" + join(kinds, "`, `") + "`", "") +
         row("time", "text", "", "UTC, ISO 8601 with milliseconds", "") +
         row("run", "text", "", "`baseline` or `distributed`; a `comparison` belongs to `distributed`", "") +
         (text_of<Tables>() + ...);
}

}  // namespace

std::string events_markdown() {
  return kEventsBegin +
         head_and_texts_of<RunStartEvent, StepEvent, EpochEvent, PhaseEvent, EvalEvent, CheckpointEvent,
                           MachineEvent, WarningEvent, MessageEvent, RestartEvent, WorkerLostEvent,
                           InspectEvent, InspectedReplica, RunEndEvent, ValidationSummary, StalenessSummary,
                           WorkerSummary, LinkSummary, ComparisonEvent, ComparedRun>() +
         text_of<ProgressEvent>() + text_of<OverheadEvent>() + kEventsEnd;
}

}  // namespace dtrain
