#include "spec/schedule_kinds.h"

#include <algorithm>

#include "core/named.h"
#include "spec/field_table.h"

namespace dtrain {
namespace {

struct ScheduleKind {
  std::string name;
  std::vector<std::string> fields;  // that it uses
};

const std::vector<ScheduleKind>& all_schedules() {
  static const std::vector<ScheduleKind> kinds = {
      {"constant", {"learning_rate"}},
      {"piecewise", {"unit", "boundaries", "values"}},
      {"step", {"learning_rate", "unit", "every", "factor"}},
      {"exponential", {"learning_rate", "unit", "every", "factor"}},
      {"cosine", {"learning_rate", "unit", "over", "final_factor"}},
      {"polynomial", {"learning_rate", "unit", "over", "power", "final_factor"}},
      {"one_cycle", {"learning_rate", "unit", "over", "initial_factor", "peak_at", "final_factor"}},
      {"reduce_on_plateau",
       {"learning_rate", "factor", "final_factor", "metric", "patience", "cooldown", "min_delta"}},
  };
  return kinds;
}

bool uses(const ScheduleKind& kind, const std::string& field) {
  return std::find(kind.fields.begin(), kind.fields.end(), field) != kind.fields.end();
}

}  // namespace

bool schedule_uses(const std::string& kind, const std::string& field) {
  return uses(row_named(all_schedules(), kind, "schedule"), field);
}

const Choices& schedule_kinds() {
  static const Choices choices{"schedule", names_of_rows(all_schedules())};
  return choices;
}

Condition of_schedules(const std::string& field, const std::string& path) {
  Condition condition = {{path}, {}};
  for (const ScheduleKind& kind : all_schedules()) {
    if (uses(kind, field)) condition.values.push_back(kind.name);
  }
  return condition;
}

}  // namespace dtrain
