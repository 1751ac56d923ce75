// A table after a first pass: the contents of its columns, and how to read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tables/column_reading.h"
#include "tables/csv_file.h"

namespace dtrain {

// The user's settings for the columns.
struct TableWish {
  std::vector<std::string> targets;  // at least one
  std::vector<std::string> ignored = {};
  bool classes = false;                           // the one target is a class, even if its values are numbers
  bool fills_missing = false;                     // otherwise a missing value is an error
  std::map<std::string, std::string> kinds = {};  // of columns by name: number, words, date, ignore
  std::vector<std::string> missing_values = {};   // cells that are missing, as is_missing_cell() takes them
  StyleWish style = {};
  std::optional<char> separator = {};

  bool predicts(const std::string& column) const;
  bool ignores(const std::string& column) const;
  CsvSeparator separator_choice() const;
};

// The columns of a table that a wish does not ignore, in the order of the file, and how they are read
// (column_reading.h).
struct CountedTable {
  CsvRow header = {};
  std::vector<CountedColumn> columns;
  DecidedColumns decided;
  int64_t rows = 0;
  char separator = ',';
};
// Throws Error(kData) as read_csv() does, and for a column that is named twice, or asked for and not there.
CountedTable count_table(const std::filesystem::path& path, const TableWish& wish);

// Throws Error(kData) if the file, which is read once more, has another header now: places were counted in
// the one before.
void require_same_header(const std::filesystem::path& path, const CountedTable& counted,
                         const CsvRow& header);

// The places of columns in a file by their names, and the place of one. Both throw Error(kData).
std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header);
size_t place_of_column(const std::filesystem::path& path, const std::map<std::string, size_t>& places,
                       const std::string& name);

}  // namespace dtrain
