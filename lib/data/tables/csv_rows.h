// Cells of rows of CSV text: RFC 4180, strict about quotes. The text is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

inline constexpr size_t kMaxCsvColumns = 16'384;
inline constexpr size_t kMaxCsvCellBytes = size_t{1} << 20;

// Rows that follow each other. The cells lie in the text that was split, without quotes and without the
// spaces around unquoted ones.
struct CsvRows {
  int64_t first = 0;                         // the number of the first row
  size_t columns = 0;                        // of each row
  std::vector<std::string_view> cells = {};  // row by row
  std::string fault = {};  // what is wrong with the row that follows these; empty: there is none

  int64_t size() const { return columns == 0 ? 0 : static_cast<int64_t>(cells.size() / columns); }
  std::span<const std::string_view> row(int64_t index) const {
    return {cells.data() + static_cast<size_t>(index) * columns, columns};
  }
};

// Puts the rows of `text` into `rows`, those before the first one that is wrong. Empty lines are left out.
// Without `rows.columns` the first row decides them. Changes the text: a quote that is written twice in a
// quoted cell becomes one.
void split_rows(std::string& text, char separator, CsvRows& rows);

}  // namespace dtrain
