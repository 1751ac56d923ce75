#include "tables/word_index.h"

#include <fmt/format.h>

#include "tables/csv_cell.h"

namespace dtrain {

WordIndex::WordIndex(const ColumnReading& reading, const std::vector<std::string>& words)
    : by_number_(reading.kind == CellKind::kNumber), style_(reading.style) {
  for (const std::string& word : words) places_.emplace(key_of(word), next_++);
}

std::optional<size_t> WordIndex::find(const std::string& word) const {
  const auto found = places_.find(key_of(word));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

size_t WordIndex::add(const std::string& word) {
  const auto [place, is_new] = places_.emplace(key_of(word), next_);
  if (is_new) ++next_;
  return place->second;
}

std::string WordIndex::key_of(const std::string& word) const {
  const std::optional<double> number = by_number_ ? number_in_cell(word, style_) : std::nullopt;
  return number ? fmt::format("{}", *number + 0.0) : word;  // of -0, too
}

}  // namespace dtrain
