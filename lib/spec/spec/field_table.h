// What the tables of fields are written with.
#pragma once

#include <type_traits>

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

// The fields of one section of a job's, in the order in which they are documented.
Fields<JobSpec> data_fields();
Fields<JobSpec> train_fields();  // and the list of phases

const Choices& evaluated_metrics();
const Choices& loss_kinds();

}  // namespace dtrain
