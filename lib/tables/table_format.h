// How the columns of a table become the inputs and targets of a model. Made from the training part, and kept
// with the model: predictions need the same numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

// An input column. Numbers become (value - mean) / standard_deviation, one input. Words become one input for
// each category, 1 for the cell's and 0 for the others; a word that the training part did not have has 0 for
// all.
struct TableColumn {
  std::string name;
  bool is_number = true;
  double mean = 0;
  double standard_deviation = 1;
  std::vector<std::string> categories = {};  // sorted

  int64_t width() const { return is_number ? 1 : static_cast<int64_t>(categories.size()); }
  bool operator==(const TableColumn&) const = default;
};

struct TableFormat {
  std::vector<TableColumn> inputs;
  std::vector<std::string> targets;  // names of columns
  std::vector<std::string> classes;  // of the one target column, in order; empty: targets are numbers
  bool fills_missing = false;  // a missing number becomes the mean, a missing word none of the categories

  int64_t width() const;  // inputs of the model
  bool operator==(const TableFormat&) const = default;
};

// As JSON. The reverse throws Error(kCheckpoint) if the text is not such a format, with a width of at
// least 1.
std::string table_format_text(const TableFormat& format);
TableFormat parse_table_format(const std::string& text);

}  // namespace dtrain
