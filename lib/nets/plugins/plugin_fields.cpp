#include "plugins/plugin_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "optim/weight_average.h"
#include "traits/objectives.h"

namespace dtrain {
namespace {

bool is_name(const std::string& text) {
  static const Pattern name("[a-z][a-z0-9_]{0,63}");
  return name.match(text).has_value();
}

// What is known of the fields of one sort of kinds.
struct Section {
  std::string noun;
  std::string path;  // of the section; empty: entries of a list
  const Choices& kinds;
};

Section section_of(AddedKind::What what) {
  switch (what) {
    case AddedKind::kModel:
      return {"model", "model", model_kinds()};
    case AddedKind::kLayer:
      return {"layer", "", layer_kinds()};
    case AddedKind::kLoss:
      return {"loss", "train.loss", loss_kinds()};
    default:
      return {"optimizer", "train.optimizer", optimizer_kinds()};
  }
}

// Why `field` cannot be of a kind beside a field of this name that a spec has already; empty if it can.
template <class Known>
std::string clash(const FieldInfo& field, size_t type, const Known& known, const std::string& selector) {
  const auto names = [](const FieldInfo& info) {
    return info.choices ? info.choices->built : std::vector<std::string>();
  };
  if (known.when.paths != std::vector{selector}) return "dtrain has a field of this name";
  if (known.member.index() == type && names(known) == names(field) && known.required == field.required &&
      bounds_text(known.bounds) == bounds_text(field.bounds))
    return "";
  return fmt::format("{} {} a field of this name with another type, other bounds or other choices",
                     join(known.when.values), known.when.values.size() == 1 ? "has" : "have");
}

// The same of all that a spec has.
std::string clash(AddedKind::What what, const Field<KindFields>& field) {
  if (what == AddedKind::kLayer) {
    const auto* const known = find_field(layer_fields(), field.path);
    return known ? clash(field, field.member.index(), *known, "kind") : "";
  }
  const std::string section = section_of(what).path;
  const auto* const known = find_field(job_fields(), path_in(section, field.path));
  if (known == nullptr)
    return names_in_section(path_in(section, field.path)).empty() ? "" : "it is a section";
  const auto& added = added_kinds(what);
  const bool is_shipped = std::none_of(added.begin(), added.end(), [&](const AddedKind& kind) {
    return find_field(kind.fields, field.path) != nullptr;
  });
  if (what == AddedKind::kModel && is_shipped) return "dtrain has a field of this name";
  return clash(field, field.member.index(), *known, path_in(section, "kind"));
}

// What is wrong with the value that stands where a spec gives none; empty: nothing.
std::string default_problem(const OptionInfo& option) {
  const Bounds bounds = {option.minimum, option.maximum};
  if (option.minimum && option.maximum && *option.minimum > *option.maximum)
    return "its minimum is above its maximum";
  const auto fits = [&](double number) { return std::isfinite(number) && bounds.contain(number); };
  bool good = true;
  if (const auto* text = std::get_if<std::string>(&option.otherwise)) {
    const bool known =
        option.choices.empty() || std::count(option.choices.begin(), option.choices.end(), *text) > 0;
    good = known && !text->empty() && *text == printable(*text, text->size());
  } else if (const auto* integer = std::get_if<int64_t>(&option.otherwise)) {
    good = fits(static_cast<double>(*integer));
  } else if (const auto* number = std::get_if<double>(&option.otherwise)) {
    good = fits(*number);
  } else if (const auto* integers = std::get_if<std::vector<int64_t>>(&option.otherwise)) {
    good = std::all_of(integers->begin(), integers->end(),
                       [&](int64_t each) { return fits(static_cast<double>(each)); });
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&option.otherwise)) {
    good = std::all_of(numbers->begin(), numbers->end(), fits);
  }
  return good
             ? ""
             : "a spec could not give the value that stands where none is given: it is empty, not printable, "
               "outside of the bounds, or none of the choices";
}

void require_names(const std::vector<std::string>& names, const std::string& noun,
                   const std::vector<std::string>& taken) {
  for (const std::string& name : names) {
    if (!is_name(name) || std::count(names.begin(), names.end(), name) > 1 ||
        std::count(taken.begin(), taken.end(), name) > 0)
      throw Error(ExitCode::kUsage,
                  "the {} '{}' is there twice, means something else in dtrain, or has other signs than small "
                  "letters, digits and '_'; choose another name",
                  noun, printable(name, 60));
  }
}

}  // namespace

void require_fitting(AddedKind::What what, const AddedKind& kind, const std::vector<OptionInfo>& options) {
  const Section section = section_of(what);
  if (!is_name(kind.name))
    throw Error(ExitCode::kUsage,
                "{} '{}': a name has up to 64 small letters, digits and '_', the first a letter",
                section.noun, printable(kind.name, 60));
  if (std::count(section.kinds.built.begin(), section.kinds.built.end(), kind.name) > 0)
    throw Error(ExitCode::kUsage, "there is a {} '{}' already; choose another name", section.noun, kind.name);
  for (const Field<KindFields>& field : kind.fields) {
    std::string problem = clash(what, field);
    if (!is_name(field.path))
      problem = "a name has up to 64 small letters, digits and '_', the first a letter";
    if (std::count_if(kind.fields.begin(), kind.fields.end(),
                      [&](const auto& other) { return other.path == field.path; }) > 1)
      problem = "it is there twice";
    for (const OptionInfo& option : options) {
      if (option.name == field.path && problem.empty()) problem = default_problem(option);
    }
    if (!problem.empty())
      throw Error(ExitCode::kUsage, "{} '{}', field '{}': {}", section.noun, kind.name,
                  printable(field.path, 60), problem);
  }
}

void require_memory_names(const std::vector<std::string>& names) {
  require_names(names, "memory", {WeightAverage::kMemory});
}

void require_metric_names(const std::vector<std::string>& names) {
  // The metrics of dtrain's own losses, and what else is beside metrics in an event (docs/metrics.md).
  std::vector<std::string> taken = {
      "event",         "time",          "run",     "phase",    "epoch",
      "epochs",        "step",          "steps",   "examples", "seconds",
      "learning_rate", "gradient_norm", "step_ms", "none",     "examples_per_second"};
  for (const std::string& objective : objective_names()) {
    if (objective_info(objective).is_step) continue;
    for (const MetricInfo& metric : objective_info(objective).all_metrics()) taken.push_back(metric.name);
  }
  require_names(names, "metric", taken);
}

}  // namespace dtrain
