#include "spec/field_table.h"

#include <nlohmann/json.hpp>
#include <set>

#include "core/text.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

// What `text` says of each kind: the same for all, or else "adam, adamw: 0.999; lion: 0.99".
template <class Text>
std::string text_of_kinds(const FieldOfKinds& kinds, const Text& text) {
  std::vector<std::pair<std::string, std::string>> said;  // with the names of the kinds
  for (const auto& [kind, field] : kinds) {
    const std::string of_kind = text(*field);
    const auto same = std::ranges::find_if(said, [&](const auto& other) { return other.second == of_kind; });
    if (same != said.end())
      same->first += ", " + kind;
    else
      said.emplace_back(kind, of_kind);
  }
  if (said.size() == 1) return said.front().second;
  std::vector<std::string> parts;
  for (const auto& [names, of_them] : said) parts.push_back(names + ": " + of_them);
  return join(parts, "; ");
}

}  // namespace

FieldInfo info_of_kinds(const FieldOfKinds& kinds, const std::string& section) {
  FieldInfo info = *kinds.front().second;
  std::set<std::string> defaults;
  const auto default_text = [&](const Field<KindFields>& field) {
    return field.otherwise.empty() ? yaml_text(to_json(field, KindFields())) : field.otherwise;
  };
  info.when.paths = {path_in(section, "kind")};
  for (const auto& [kind, field] : kinds) {
    info.when.values.push_back(kind);
    defaults.insert(default_text(*field));
    if (bounds_text(field->bounds) != bounds_text(info.bounds))
      throw Error(ExitCode::kBug, "the kinds differ in the bounds of '" + info.path + "'");
  }
  info.doc = text_of_kinds(kinds, [](const FieldInfo& field) { return field.doc; });
  if (defaults.size() > 1) info.otherwise = text_of_kinds(kinds, default_text);
  info.path = path_in(section, info.path);
  return info;
}

}  // namespace dtrain
