// A summary of the columns of a table, before their purpose is known.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tables/counted_table.h"
#include "tables/csv_table.h"

namespace dtrain {

inline constexpr size_t kMostOddCells = 10;  // of a column that are listed

struct OddCell {
  int64_t row = 0;  // of the first one
  std::string cell;
};

struct ColumnSummary {
  std::string name;
  ColumnReading reading = {};  // as read_raw_table() decides
  std::string refusal = {};    // why that refuses the column (DecidedColumn)
  bool numbers_rows = false;   // its cells are 0, 1, 2, ... or 1, 2, 3, ...
  bool is_whole = true;        // the numbers have no fractions
  int64_t missing = 0;         // cells
  int64_t different = 0;       // values, missing ones aside
  bool many = false;           // there are too many to count; `different` then means nothing
  double least = 0;            // of a column of numbers or dates with any
  double most = 0;
  std::vector<OddCell> odd = {};  // different cells of a column of numbers or dates that are none

  bool is_number() const { return reading.kind != CellKind::kWord; }
};

struct CsvSummary {
  std::vector<ColumnSummary> columns;  // in the order of the file
  int64_t rows = 0;
};

// Reads a CSV file twice, with memory for at most some million different values. Throws Error(kData) as
// read_csv() and ParquetTable do.
CsvSummary summarise_csv(const TablePath& path);

}  // namespace dtrain
