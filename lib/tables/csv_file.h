// Rows of a CSV file: RFC 4180 with any of several separators, plain or gzip. The file is untrusted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace dtrain {

inline constexpr size_t kMaxCsvColumns = 16'384;
inline constexpr size_t kMaxCsvCellBytes = size_t{1} << 20;

// Cells of a row, without quotes and without the spaces around unquoted ones.
using CsvRow = std::vector<std::string>;

// What separates cells. By default that of comma, semicolon, tab and bar which the header has most of; with a
// sign this one, where the header has it or has none, or else `always`.
struct CsvSeparator {
  char sign = 0;
  bool always = false;
};

// Calls `on_row` with each row in order: first the header, number 0, then the data, numbered from 1. Returns
// what separates the cells. Empty lines are left out. All rows have as many cells as the header. Throws
// Error(kData) that names the file and the row: for a file without a header, a row of another length, a quote
// that does not end, text that is not UTF-8, damaged gzip, or more than the limits above.
char read_csv(const std::filesystem::path& path,
              const std::function<void(int64_t number, const CsvRow& row)>& on_row,
              const CsvSeparator& separator = {});

// One line of a CSV file: cells with separators, quotes or line ends are quoted.
std::string csv_line(const CsvRow& row);

}  // namespace dtrain
