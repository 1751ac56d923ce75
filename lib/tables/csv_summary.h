// What the columns of a CSV file hold, before anyone says what they are for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

struct ColumnSummary {
  std::string name;
  bool is_number = true;  // as read_raw_table() decides
  bool is_whole = true;   // the numbers have no fractions
  int64_t missing = 0;    // cells
  int64_t different = 0;  // values, missing ones aside
  bool many = false;      // there are more than `different`, which were not counted to the end
  double least = 0;       // of a column of numbers with any
  double most = 0;
};

struct CsvSummary {
  std::vector<ColumnSummary> columns;  // in the order of the file
  int64_t rows = 0;
};

// Reads the file once, with memory for at most some million different values. Throws Error(kData) as
// read_csv() does.
CsvSummary summarise_csv(const std::filesystem::path& path);

}  // namespace dtrain
