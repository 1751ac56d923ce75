// Single columns of a table as they are, for purposes other than inputs and targets. Each function reads
// the file once more, and throws Error(kData) as read_csv() and ParquetTable do and if there is no such
// column.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "csv/csv_file.h"
#include "tables/csv_table.h"

namespace dtrain {

// The cells, by row; of Parquet as words (parquet_file.h).
std::vector<std::string> read_cells(const TablePath& path, const std::string& column,
                                    const CsvSeparator& separator);

// A number for each different cell, by row. Throws Error(kData) for a missing one; `missing_values` as
// is_missing_cell() takes them.
std::vector<int64_t> read_groups(const TablePath& path, const std::string& column,
                                 const CsvSeparator& separator,
                                 const std::vector<std::string>& missing_values);

// Numbers that ascend in time, by row: the days of dates (days_in_cell()) if the first cell is one, else
// numbers. These are written as in `table`, the same one, or, if the column is not in it, as the wish's
// columns and this one decide together. Throws Error(kData) for a missing cell, one of another kind, and if
// no cell decides how numbers are written.
std::vector<double> read_times(const TablePath& path, const std::string& column, const RawTable& table,
                               const TableWish& wish);

}  // namespace dtrain
