// Puts the fields of kinds together with those that all kinds share.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/text.h"
#include "spec/field_table.h"
#include "spec/fields.h"

namespace dtrain {

// A field by the names of the kinds that have it.
using FieldOfKinds = std::vector<std::pair<std::string, const Field<KindFields>*>>;

// What is known of the field that these kinds have, in `section`. Where they differ in what it means or in
// its default, it is said of each. Throws Error(kBug) if they differ in its bounds.
FieldInfo info_of_kinds(const FieldOfKinds& kinds, const std::string& section);

// The names of the kinds' fields, each once. The fields of a kind keep their order, and so do `names`.
template <class Kind>
std::vector<std::string> field_names(const std::vector<Kind>& kinds, std::vector<std::string> names = {}) {
  for (const Kind& kind : kinds) {
    auto next = names.end();
    for (auto field = kind.fields.rbegin(); field != kind.fields.rend(); ++field) {
      const auto known = std::find(names.begin(), names.end(), field->path);
      next = known != names.end() ? known : names.insert(next, field->path);
    }
  }
  return names;
}

// The kinds' own fields as fields of a Spec, one of each name. `place` finds what in a spec has a `kind` and
// fields of its `own`, constant or not; `section` is its path, or "". The names in `order` are kept in it.
template <class Spec, class Kind, class Place>
Fields<Spec> fields_of_kinds(const std::vector<Kind>& kinds, const std::string& section, Place place,
                             const std::vector<std::string>& order = {}) {
  Fields<Spec> fields;
  for (const std::string& name : field_names(kinds, order)) {
    FieldOfKinds having;
    for (const Kind& kind : kinds) {
      if (const auto* const field = find_field(kind.fields, name)) having.emplace_back(kind.name, field);
    }
    const auto accessor = [&](const auto& first) {
      using Member = std::decay_t<decltype(first)>;
      std::map<std::string, Member> members;
      for (const auto& [kind, field] : having) members[kind] = std::get<Member>(field->member);
      return member_of<Spec>([members, place](auto& spec) {
        auto& of_kind = place(spec);
        const auto found = members.find(of_kind.kind);
        using Found = decltype(found->second.at(of_kind.own));
        return found == members.end() ? Found() : found->second.at(of_kind.own);
      });
    };
    fields.push_back({info_of_kinds(having, section), std::visit(accessor, having.front().second->member)});
  }
  return fields;
}

}  // namespace dtrain
