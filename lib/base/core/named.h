// Tables whose rows have names.
#pragma once

#include <string>
#include <vector>

#include "core/error.h"

namespace dtrain {

// The row with that name. Throws Error(kBug) if there is none: "no optimizer named 'adma'".
template <class Row>
const Row& row_named(const std::vector<Row>& rows, const std::string& name, const std::string& noun) {
  for (const Row& row : rows) {
    if (row.name == name) return row;
  }
  throw Error(ExitCode::kBug, "no " + noun + " named '" + name + "'");
}

template <class Row>
std::vector<std::string> names_of_rows(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.push_back(row.name);
  return names;
}

}  // namespace dtrain
