// What the tables of fields are written with, and how the fields of kinds join those that all kinds share.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>

#include "spec/fields.h"

namespace dtrain {

inline Bounds between(double minimum, double maximum) { return {minimum, maximum, false, false}; }
inline Bounds above_zero_to(double maximum) { return {0.0, maximum, true, false}; }
inline Bounds zero_to_below_one() { return {0.0, 1.0, false, true}; }

// `place` finds the value in a spec, constant or not.
template <class Spec, class Place>
Accessor<Spec> member_of(const Place& place) {
  using T = std::remove_pointer_t<std::invoke_result_t<Place, Spec&>>;
  return MemberOf<Spec, T>{place, place};
}

// Makes a field's path and its accessor from one spelling, so that they cannot differ.
#define FIELD(Spec, member_path, ...)                                 \
  Field<Spec> {                                                       \
    FieldInfo{.path = #member_path, __VA_ARGS__},                     \
        member_of<Spec>([](auto& spec) { return &spec.member_path; }) \
  }
#define JOB(...) FIELD(JobSpec, __VA_ARGS__)
// A field of a kind, of which Own has the fields.
#define KIND_FIELD(Own, member, ...)                                                     \
  Field<KindFields> {                                                                    \
    FieldInfo{.path = #member, __VA_ARGS__},                                             \
        member_of<KindFields>([](auto& own) { return &own.template get<Own>().member; }) \
  }

template <class Spec>
Fields<Spec> joined(const std::vector<Fields<Spec>>& parts) {
  Fields<Spec> all;
  for (const Fields<Spec>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

// A field by the names of the kinds that have it.
using FieldOfKinds = std::vector<std::pair<std::string, const Field<KindFields>*>>;

// The description of the field that these kinds have, in `section`. If its meaning or its default differs
// between kinds, the description has each. Throws Error(kBug) if the kinds differ in its bounds.
FieldInfo info_of_kinds(const FieldOfKinds& kinds, const std::string& section);

// The names of the kinds' fields, each once, in an order that keeps that of each kind and that of `names`.
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

// The kinds' own fields as fields of a Spec, one for each name. `place` finds the part of a spec, constant or
// not, that has a `kind` and its `own` fields; `section` is its path, or "". Names in `order` keep that
// order.
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

// The fields of one section of a job's, in the order in which they are documented.
Fields<JobSpec> data_fields();
Fields<JobSpec> train_fields();  // and the list of phases

const Choices& evaluated_metrics();
const Choices& loss_kinds();

}  // namespace dtrain
