// What the text of a cell of a table means.
#pragma once

#include <optional>
#include <string>

namespace dtrain {

// Empty, NA, N/A, NaN or null, in any case.
bool is_missing_cell(const std::string& cell);

// The number that a cell is; infinite if it is beyond the numbers of double. nullopt: it is a word.
std::optional<double> number_in_cell(const std::string& cell);

}  // namespace dtrain
