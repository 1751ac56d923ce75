// How the columns of a table become the inputs and targets of a model. Made from the training part, and kept
// with the model: predictions need the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "csv/csv_cell.h"

namespace dtrain {

enum class CellKind { kNumber, kWord, kDate };

// How the cells of a column are read.
struct ColumnReading {
  CellKind kind = CellKind::kNumber;
  NumberStyle style = {};  // of numbers
  bool operator==(const ColumnReading&) const = default;
};

// An input column. Numbers, and dates as days, become (value - mean) / standard_deviation, one input. Words
// become one input for each category, 1 for the cell's and 0 for the others; a word that the training part
// did not have has 0 for all.
struct TableColumn {
  std::string name;
  ColumnReading reading = {};
  double mean = 0;
  double standard_deviation = 1;
  std::vector<std::string> categories = {};  // sorted

  bool is_number() const { return reading.kind != CellKind::kWord; }
  int64_t width() const { return is_number() ? 1 : static_cast<int64_t>(categories.size()); }
  bool operator==(const TableColumn&) const = default;
};

struct TableFormat {
  std::vector<TableColumn> inputs;
  std::vector<std::string> targets;            // names of columns
  std::vector<ColumnReading> target_readings;  // of each of them
  // Of the one target column, in order; empty: targets are numbers. Where the column is read as numbers, 1
  // and 1.0 are the same class.
  std::vector<std::string> classes;
  bool fills_missing = false;  // a missing number becomes the mean, a missing word none of the categories
  std::vector<std::string> missing_values = {};  // cells that are missing, as is_missing_cell() takes them
  char separator = ',';  // of the training file: for other files whose header does not show one (read_csv)

  int64_t width() const;  // inputs of the model
  bool operator==(const TableFormat&) const = default;
};

// As JSON. The reverse throws Error(kCheckpoint) if the text is no such format, or its width is below 1.
std::string table_format_text(const TableFormat& format);
TableFormat parse_table_format(const std::string& text);

// The same on all hosts that have read the same table. It leaves out the deviations, sums of products, whose
// last bits processors may round in different ways.
std::string checksum_of(TableFormat format);

}  // namespace dtrain
