// The schedules as a spec has them; room `optim` computes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

// `unit`, of all that have it: what they count, epochs | steps.
struct PiecewiseFields {
  std::string unit = "epochs";
  std::vector<int64_t> boundaries = {};
  std::vector<double> values = {};  // one more than boundaries
};
struct StepFields {  // step, exponential
  std::string unit = "epochs";
  int64_t every = 1;
  double factor = 0.1;
};
struct CurveFields {  // cosine, polynomial, one_cycle
  std::string unit = "epochs";
  std::optional<int64_t> over = {};                           // nullopt: the whole training
  double power = 1, initial_factor = 0.04, final_factor = 0;  // polynomial; one_cycle; all
  double peak_at = 0.3;                                       // one_cycle: a part of `over`
};
struct PlateauFields {
  double factor = 0.1, final_factor = 0, min_delta = 1e-4;
  std::string metric = "loss";  // one of the loss's metrics
  int64_t patience = 10, cooldown = 0;
};

struct ScheduleKind {
  std::string name;
  Fields<KindFields> fields = {};
  Contradictions contradictions = nullptr;
};

const std::vector<ScheduleKind>& all_schedules();
// Throws Error(kBug) for an unknown name.
const ScheduleKind& schedule_kind(const std::string& name);
// The kinds that change the optimizer's learning rate: the others have rates of their own.
std::vector<std::string> schedules_of_the_rate();

// Whether this kind of schedule has the field: one that has `metric` goes by evaluations, one that has
// `values` has learning rates of its own, one that has `over` is stretched over the training.
bool schedule_uses(const std::string& kind, const std::string& field);

// The value of such a field; nullptr: the schedule, constant or not, does not have it.
template <class T, class Schedule>
auto* schedule_value(Schedule& schedule, const std::string& name) {
  const auto* const field = find_field(schedule_kind(schedule.kind).fields, name);
  using Value = decltype(std::get<MemberOf<KindFields, T>>(field->member).at(schedule.own));
  return field == nullptr ? Value() : std::get<MemberOf<KindFields, T>>(field->member).at(schedule.own);
}

}  // namespace dtrain
