// Tables whose rows have names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace dtrain {

// The row with that name. Throws Error(kBug) if there is none: "no optimizer named 'adma'".
template <class Rows>
const typename Rows::value_type& row_named(const Rows& rows, const std::string& name, std::string_view noun) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  throw Error(ExitCode::kBug, "no {} named '{}'", noun, name);
}

// The names of the rows for which `holds` returns true, in their order.
template <class Row, class Condition>
std::vector<std::string> names_where(const std::vector<Row>& rows, const Condition& holds) {
  std::vector<std::string> names;
  for (const Row& row : rows) {
    if (holds(row)) names.push_back(row.name);
  }
  return names;
}

template <class Row>
std::vector<std::string> names_of_rows(const std::vector<Row>& rows) {
  return names_where(rows, [](const Row&) { return true; });
}

}  // namespace dtrain
