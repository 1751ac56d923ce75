// What the tables of fields are written with.
#pragma once

#include "spec/fields.h"

namespace dtrain {

inline Bounds between(double minimum, double maximum) { return {minimum, maximum, false, false}; }
inline Bounds above_zero_to(double maximum) { return {0.0, maximum, true, false}; }
inline Bounds zero_to_below_one() { return {0.0, 1.0, false, true}; }

// Makes a field's path and its accessor from one spelling, so that they cannot differ.
#define FIELD(Spec, member_path, ...)                                          \
  Field<Spec> {                                                                \
    FieldInfo{.path = #member_path, __VA_ARGS__},                              \
        Accessor<Spec>(+[](Spec & spec) -> auto& { return spec.member_path; }) \
  }
#define JOB(...) FIELD(JobSpec, __VA_ARGS__)

// The fields of one section of a job's, in the order in which they are documented.
Fields<JobSpec> data_fields();
Fields<JobSpec> train_fields();  // and the list of phases

const Choices& evaluated_metrics();

}  // namespace dtrain
