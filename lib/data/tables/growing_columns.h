// The columns of a table as they are read, piece by piece: cells become numbers, or words that are numbered.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "csv/csv_file.h"
#include "parquet/parquet_file.h"
#include "tables/csv_table.h"

namespace dtrain {

inline constexpr double kUnknownWord = -1;  // of a cell whose word is not among the column's

// Words that are numbered from 0. Where a column is read as numbers, 1 and 1.0 are the same.
class WordIndex {
 public:
  WordIndex(const ColumnReading& reading, const std::vector<std::string>& words);
  std::optional<size_t> find(const std::string& word) const;
  size_t add(const std::string& word);

 private:
  std::string key_of(const std::string& word) const;

  ColumnReading reading_;
  std::unordered_map<std::string, size_t> places_;
  size_t next_ = 0;
};

// Which columns are read, by their places in the file.
struct Chosen {
  size_t place = 0;
  RawColumn column;
  bool adds_words = true;  // otherwise a new word is kUnknownWord
  bool is_target = false;
};

// Throws Error(kData) if so many are over kMaxTableCells.
void require_cells(const std::filesystem::path& path, int64_t rows, int64_t columns);

// How cells are read, whatever column they are in.
struct CellRules {
  CsvSeparator separator;
  const std::vector<std::string>& missing_values;
  std::string advice;  // on a cell that is not what its column holds
};

// The chosen columns, as they grow by pieces of a file. Throws Error(kData) for cells that are not what their
// column holds, and over the limits.
class GrowingColumns {
 public:
  GrowingColumns(const std::filesystem::path& path, const CellRules& rules, std::vector<Chosen> chosen);

  const std::vector<Chosen>& chosen() const { return chosen_; }

  // The columns in some rows alone, with words of their own. Any threads may call it at once.
  std::vector<RawColumn> read(const CsvRows& rows) const;
  // Appends what read() made of the rows that follow.
  void add(const std::vector<RawColumn>& some, int64_t rows);

  // Makes room for so many rows. Each column then grows by itself, by any threads at once: add_cells()
  // appends the cells of a Parquet file, whose first row has the number `first` in the file at `path`.
  void expect_rows(int64_t rows, int64_t room);
  void add_cells(size_t index, const std::filesystem::path& path, const ParquetCells& cells, int64_t first);

  RawTable finished(char separator);

 private:
  double place_of(size_t index, const std::string& word);
  // The number of a cell whose text is not that of a missing one; NaN if its number means one (-999.0 for
  // -999). Missing values are plain numbers: with decimal commas and the like their text alone counts.
  double number_of(const RawColumn& column, const std::filesystem::path& path, std::string_view cell,
                   int64_t row) const;
  void add_numbers(RawColumn& column, const std::filesystem::path& path, const ParquetCells& cells,
                   int64_t first) const;

  const std::filesystem::path& path_;
  const CellRules& rules_;
  std::vector<Chosen> chosen_;
  std::vector<WordIndex> words_;  // of each
  // Those of missing_values that are numbers, the same as float32 has them, and those that are dates.
  std::vector<double> missing_numbers_, missing_singles_, missing_days_;
  int64_t rows_ = 0;
};

}  // namespace dtrain
