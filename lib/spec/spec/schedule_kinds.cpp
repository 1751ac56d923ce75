#include "spec/schedule_kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/named.h"
#include "core/remade_table.h"

namespace dtrain {
namespace {

const Choices kUnits{"unit", {"epochs", "steps"}};

std::vector<Contradiction> piecewise_contradictions(const KindFields& own) {
  const auto& [unit, boundaries, values] = own.get<PiecewiseFields>();
  std::vector<Contradiction> found;
  const auto descent = std::adjacent_find(boundaries.begin(), boundaries.end(), std::greater_equal<>());
  if (descent != boundaries.end())
    found.push_back({fmt::format("boundaries[{}]", descent + 1 - boundaries.begin()), "boundaries",
                     fmt::format("{} does not come after {}; boundaries ascend", *(descent + 1), *descent)});
  if (!boundaries.empty() && values.size() != boundaries.size() + 1)
    found.push_back({"values", "boundaries",
                     fmt::format("has {} entries for {} boundaries; there is one value before the first "
                                 "boundary and one after each, so {}",
                                 values.size(), boundaries.size(), boundaries.size() + 1)});
  return found;
}

// clang-format off
template <class Own>
Field<KindFields> unit_field() {
  return KIND_FIELD(Own, unit, .doc = "the unit of `boundaries`, `every` and `over`: passes over the training "
      "examples, or updates", .doc_in_phases = "the unit of `boundaries`, `every` and `over`", .choices = &kUnits);
}
template <class Own>
Field<KindFields> factor_field() {
  return KIND_FIELD(Own, factor, .doc = "multiplies the learning rate", .bounds = {0.0, 1.0, true, true});
}
template <class Own>
Field<KindFields> final_factor_field() {
  return KIND_FIELD(Own, final_factor, .doc = "the lowest rate, at the end, as a part of `learning_rate`",
                    .doc_in_phases = "the lowest rate, as a part of `learning_rate`",
                    .bounds = {0.0, 1.0, false, true});
}

Fields<KindFields> step_fields() {
  return {unit_field<StepFields>(),
          KIND_FIELD(StepFields, every, .doc = "epochs (or steps) between multiplications of the rate by `factor`; "
                     "`exponential` multiplies it gradually",
                     .doc_in_phases = "epochs (or steps) between multiplications of the rate by `factor`",
                     .bounds = between(1, 1e12)),
          factor_field<StepFields>()};
}

// `own`: what one of the curves has besides.
Fields<KindFields> curve_fields(const Fields<KindFields>& own = {}) {
  return joined<KindFields>({{
      unit_field<CurveFields>(),
      KIND_FIELD(CurveFields, over, .doc = "epochs (or steps) until the curve ends; the rate then stays; all: the "
                 "whole training", .doc_in_phases = "epochs (or steps) until the curve ends; all: the whole phase",
                 .bounds = between(1, 1e12), .word = "all"),
  }, own, {final_factor_field<CurveFields>()}});
}

}  // namespace

const std::vector<ScheduleKind>& all_schedules() {
  return remade([]() -> std::vector<ScheduleKind> { return {
      {"constant"},
      {"piecewise",
       {unit_field<PiecewiseFields>(),
        KIND_FIELD(PiecewiseFields, boundaries, .doc = "the epochs (or steps) after which the next of `values` "
            "begins; ascending", .bounds = between(1, 1e12), .length = {1, 10000}, .required = true),
        KIND_FIELD(PiecewiseFields, values, .doc = "the learning rates, before scaling and warmup; one more than "
                   "`boundaries`", .doc_in_phases = "the learning rates, before scaling and warmup",
                   .bounds = above_zero_to(1e6), .length = {2, 10001}, .required = true)},
       piecewise_contradictions},
      {"step", step_fields()},
      {"exponential", step_fields()},
      {"cosine", curve_fields()},
      {"polynomial",
       curve_fields({KIND_FIELD(CurveFields, power, .doc = "the power of the polynomial; 1 is a straight line",
                                .doc_in_phases = "the power of the polynomial", .bounds = above_zero_to(100))})},
      {"one_cycle",
       curve_fields({KIND_FIELD(CurveFields, initial_factor, .doc = "the first rate, as a part of `learning_rate`",
                                .bounds = {0.0, 1.0, true, false}),
                     KIND_FIELD(CurveFields, peak_at, .doc = "the point with the highest rate, as a part of `over`",
                                .bounds = {0.0, 1.0, true, true})})},
      {"reduce_on_plateau",
       {factor_field<PlateauFields>(), final_factor_field<PlateauFields>(),
        KIND_FIELD(PlateauFields, metric, .doc = "the metric of the evaluations that should improve",
                   .choices = &evaluated_metrics()),
        KIND_FIELD(PlateauFields, patience, .doc = "reduce the rate after this many evaluations in a row without "
                   "improvement", .unit = "evaluations", .bounds = between(1, 1e6)),
        KIND_FIELD(PlateauFields, cooldown, .doc = "the number of evaluations after a reduction that do not count",
                   .unit = "evaluations", .bounds = between(0, 1e6)),
        KIND_FIELD(PlateauFields, min_delta, .doc = "the smallest change of the metric that is an improvement",
                   .bounds = between(0, 1e6))}},
  }; });
}
// clang-format on

const ScheduleKind& schedule_kind(const std::string& name) {
  return row_named(all_schedules(), name, "schedule");
}

std::vector<std::string> schedules_of_the_rate() {
  return names_where(all_schedules(),
                     [](const ScheduleKind& kind) { return find_field(kind.fields, "values") == nullptr; });
}

bool schedule_uses(const std::string& kind, const std::string& field) {
  return find_field(schedule_kind(kind).fields, field) != nullptr;
}

const Choices& schedule_kinds() {
  static const Choices choices{"schedule", names_of_rows(all_schedules())};
  return choices;
}

}  // namespace dtrain
