// The kinds that plug-ins add to those of the program: their names, and the fields of each.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "spec/field_table.h"

namespace dtrain {

using OptionValue =
    std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;

// The fields of a kind of a plug-in. One that is not here has its default.
struct OptionFields {
  std::map<std::string, OptionValue> values = {};
};

struct AddedKind {
  enum What { kModel, kLayer, kLoss, kOptimizer };  // a step is a loss

  std::string name;
  Fields<KindFields> fields = {};
};

// In the order in which they were added.
const std::vector<AddedKind>& added_kinds(AddedKind::What what);

// Adds a kind, whose name and fields no other kind of this sort contradicts.
void add_kind(AddedKind::What what, const AddedKind& kind);

// A field with values of the type of `otherwise`, which is its default.
Field<KindFields> option_field(const FieldInfo& info, const OptionValue& otherwise);

}  // namespace dtrain
