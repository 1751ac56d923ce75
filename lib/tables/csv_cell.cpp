#include "tables/csv_cell.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace dtrain {

bool is_missing_cell(const std::string& cell) {
  if (cell.empty()) return true;
  if (cell.size() > 4) return false;
  std::string lower = cell;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char byte) {
    return static_cast<char>(byte >= 'A' && byte <= 'Z' ? byte + 32 : byte);
  });
  return lower == "na" || lower == "n/a" || lower == "nan" || lower == "null";
}

std::optional<double> number_in_cell(const std::string& cell) {
  const char* begin = cell.data() + (cell.size() > 1 && cell[0] == '+' && cell[1] != '-' ? 1 : 0);
  const char* const end = cell.data() + cell.size();
  double number = 0;
  const auto [at, fault] = std::from_chars(begin, end, number);
  if (fault == std::errc::result_out_of_range) return std::numeric_limits<double>::infinity();
  return fault == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

}  // namespace dtrain
