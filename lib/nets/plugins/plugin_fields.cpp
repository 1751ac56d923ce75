#include "plugins/plugin_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"

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

}  // namespace

void require_fitting(AddedKind::What what, const AddedKind& kind) {
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
    if (!problem.empty())
      throw Error(ExitCode::kUsage, "{} '{}', field '{}': {}", section.noun, kind.name,
                  printable(field.path, 60), problem);
  }
}

}  // namespace dtrain
