// Rows of a CSV file: RFC 4180 with any of several separators, plain or gzip. The file is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/cores.h"

namespace dtrain {

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

// The cells of a row, as CsvRows has them.
using CsvRow = std::vector<std::string>;

// The separator of cells. By default the one of comma, semicolon, tab and bar that is most frequent in the
// header. With a sign, this sign if the header has it or has none of the four, or always with `always`.
struct CsvSeparator {
  char sign = 0;
  bool always = false;
};

// How a file is divided for several threads, which changes nothing of what is read.
struct CsvPieces {
  size_t bytes = size_t{1} << 18;  // of a piece, which ends with a row
  int64_t threads = available_cores();
};

// Works on some rows, which are there only for this call. Any threads call it at once. What it returns is
// called afterwards: in the order of the file, by one thread at a time.
using OnCsvRows = std::function<std::function<void()>(const CsvRows& rows)>;

// Calls `on_header`, then `on_rows` in several threads with all rows of data, which are numbered from 1.
// Returns what separates the cells. Empty lines are left out. All rows have as many cells as the header.
// Throws Error(kData) that names the file and the row: for a file without a header, a row of another length,
// a quote that does not end, text that is not UTF-8 or has control characters (but for one 0x1a at the end),
// damaged gzip, or more than the limits. Of several errors, also those of `on_rows`, it is that of the first
// piece of the file.
char read_csv(const std::filesystem::path& path, const std::function<void(const CsvRow& header)>& on_header,
              const OnCsvRows& on_rows, const CsvSeparator& separator = {}, const CsvPieces& pieces = {});

// One line of a CSV file: cells with separators, quotes or line ends are quoted.
std::string csv_line(const CsvRow& row);

}  // namespace dtrain
