// The one description of every field of every event: its name in JSON, the member that holds it, and what it
// means. encode() writes the fields in this order, decode() reads them, docs/metrics.md shows them.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "metrics/events.h"

namespace dtrain {

// A field of one of these types; or several fields, if the member is a part (StepSpeed) or the metrics.
template <class T>
using EventMember =
    std::variant<std::optional<bool> T::*, std::optional<int64_t> T::*, std::optional<double> T::*,
                 std::optional<std::string> T::*, std::optional<std::vector<int64_t>> T::*,
                 std::optional<std::vector<std::string>> T::*, std::optional<NamedCounts> T::*,
                 std::optional<NamedIntervals> T::*, std::optional<StepTimes> T::*,
                 std::optional<StalenessSummary> T::*, std::optional<ValidationSummary> T::*,
                 std::optional<ComparedRun> T::*, std::optional<std::vector<WorkerSummary>> T::*,
                 std::optional<std::vector<LinkSummary>> T::*,
                 std::optional<std::vector<InspectedReplica>> T::*, MetricValues T::*, StepSpeed T::*,
                 StepTraffic T::*, DeviceUse T::*, RestartCost T::*>;

template <class T>
struct EventField {
  std::string name;  // empty: the part or the metrics give the names
  EventMember<T> member;
  std::string unit;
  std::string doc;
  std::string when = {};  // when it is present: "with `fp16_mixed`"; empty: always
};

template <class T>
struct EventTable {
  using Owner = T;

  std::string kind = {};  // the field `event`; empty for a part or an object within an event
  std::string doc = {};
  std::vector<EventField<T>> fields;
};

template <class T>
concept HasEventTable = requires {
  T::table;
};

}  // namespace dtrain
