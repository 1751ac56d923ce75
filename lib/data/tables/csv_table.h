// Tables in CSV and Parquet files.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tables/counted_table.h"
#include "tables/table_format.h"

namespace dtrain {

inline constexpr int64_t kMaxTableCells = int64_t{1} << 29;   // in memory, 8 bytes each
inline constexpr size_t kMaxCategories = 1000;                // of a column of words, and classes
inline constexpr int64_t kMaxTableInputs = int64_t{1} << 16;  // of a model, over all columns

// A column in memory: numbers, or indices into `words`; NaN where the cell is missing.
struct RawColumn {
  std::string name;
  ColumnReading reading = {};
  bool is_number = true;  // not so of a target that is a class, whatever its cells are
  std::vector<std::string> words = {};
  std::vector<double> values = {};
  std::string unknown_word = {};  // the first one that is not among `words`, if no more are added
};

// A CSV file, or Parquet files that are one table, in this order.
struct TablePath {
  std::filesystem::path name;                // tells parts apart; of several files it need not exist
  std::vector<std::filesystem::path> files;  // at least one

  TablePath(const std::filesystem::path& file) : name(file), files{file} {}
  TablePath(std::filesystem::path its_name, std::vector<std::filesystem::path> its_files)
      : name(std::move(its_name)), files(std::move(its_files)) {}
};

struct RawTable {
  std::filesystem::path path;  // for messages
  std::vector<RawColumn> columns;
  int64_t rows = 0;
  char separator = ',';
  std::vector<std::string> warnings = {};  // what is doubtful about the columns
};

// Reads a table. Columns that the wish ignores are left out. Throws Error(kData) that names the file, the
// column and the row, as read_csv() and ParquetTable do: also for columns that decide_columns() refuses or
// that are nested, cells that are not what their column holds, numbers that are not finite, a column that is
// named twice or asked for and not there, columns with too many different words, or a table over the limits.
RawTable read_raw_table(const TablePath& path, const TableWish& wish);

// Reads only the columns of `format`, each as it says; without `with_targets` the file needs no targets.
RawTable read_raw_table(const TablePath& path, const TableFormat& format, bool with_targets);

// The names of its columns. Throws as read_raw_table() does.
CsvRow table_header(const TablePath& path);

// The format by the rows `training` of a table: their means, deviations (of the whole part, not of a sample),
// words and classes. A column without any variation has the deviation 1.
TableFormat make_table_format(const RawTable& table, const TableWish& wish,
                              std::span<const int64_t> training);

struct TableTensors {
  at::Tensor inputs;  // float32 [rows, format.width()]
  at::Tensor
      targets;  // int64 [rows] of classes, float64 [rows, targets] of numbers; undefined: none were asked for
  // A line for each column with words that are none of its categories: how many, and an example.
  std::vector<std::string> unknown_words = {};
};

// Makes a tensor whose numbers may be anything.
using MakeTensor = std::function<at::Tensor(at::IntArrayRef shape, at::ScalarType type)>;

// The table in tensors that `make_tensor` makes, the inputs first; without it, in memory of their own. Throws
// Error(kData) for a missing value, if the format does not fill them in; for a missing target and a class
// that the format does not have.
TableTensors encode_table(const RawTable& table, const TableFormat& format, bool with_targets,
                          const MakeTensor& make_tensor = {});

}  // namespace dtrain
