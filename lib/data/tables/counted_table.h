// A table after a first pass: the contents of its columns, and how to read them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "csv/csv_file.h"
#include "parquet/parquet_file.h"
#include "tables/column_reading.h"

namespace dtrain {

inline constexpr int64_t kFewestNumbered = 3;  // rows, of which 1, 2, 3 may be numbers

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

// The columns of a table that a wish does not ignore, in the file's order, with how they are read.
struct CountedTable {
  CsvRow header = {};
  std::vector<CountedColumn> columns;
  DecidedColumns decided;
  int64_t rows = 0;
  char separator = ',';
};
// Throws Error(kData) as read_csv() does, and for a column that is named twice, or asked for and not there.
CountedTable count_table(const std::filesystem::path& path, const TableWish& wish);

// The same of Parquet files, whose types decide. `path` is for messages.
CountedTable count_table(const std::filesystem::path& path, const ParquetTable& file, const TableWish& wish);

// Why a column of a Parquet file cannot be read so; empty: it can.
std::string refusal_of(const ParquetColumn& column, CellKind reading);

CsvRow names_of(const ParquetTable& file);

// Throws Error(kData) if the file, which is read once more, has another header now than when it was counted.
void require_same_header(const std::filesystem::path& path, const CountedTable& counted,
                         const CsvRow& header);

// The places of columns in a file by their names, and the place of one. Both throw Error(kData).
std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header);
size_t place_of_column(const std::filesystem::path& path, const std::map<std::string, size_t>& places,
                       const std::string& name);

}  // namespace dtrain
