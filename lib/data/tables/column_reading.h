// How the columns of a table are read, decided by all of their cells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tables/table_format.h"

namespace dtrain {

// The form of a single cell. An amount is a number with a unit, such as 5% or 3,50 EUR.
enum class CellForm { kNumber, kDate, kAmount, kWord };

// Cells of a column that are numbers in the same styles, or of the same other form; the first stands for all.
struct CellSort {
  CellForm form = CellForm::kWord;
  NumberStyles styles = 0;  // of numbers
  int64_t count = 0;
  int64_t row = 0;
  std::string cell = {};
};

// Counts the forms of a column's cells. Parts of a file can be counted separately and merged.
class ColumnCounts {
 public:
  // A cell that is not missing; rows ascend.
  void add(std::string_view cell, int64_t row);
  // The counts of rows that come later.
  void merge(const ColumnCounts& later);

  const std::vector<CellSort>& sorts() const { return sorts_; }
  template <class Condition>
  int64_t cells_where(const Condition& holds) const {
    int64_t cells = 0;
    for (const CellSort& sort : sorts_) cells += holds(sort) ? sort.count : 0;
    return cells;
  }
  int64_t cells() const {
    return cells_where([](const CellSort&) { return true; });
  }
  int64_t cells_of(CellForm form) const {
    return cells_where([form](const CellSort& sort) { return sort.form == form; });
  }
  // Cells that are numbers in any of these.
  int64_t numbers_in(NumberStyles styles) const {
    return cells_where([styles](const CellSort& sort) { return (sort.styles & styles) != 0; });
  }
  // The first cell that is no number in this style; nullptr: all are.
  const CellSort* first_other(NumberStyle style) const;

 private:
  CellSort& sort_of(CellForm form, NumberStyles styles);

  std::vector<CellSort> sorts_;  // some: there are few combinations
  size_t last_ = 0;              // the sort of the last cell; the next cell mostly has the same
};

// Whether `some` of the cells decide what a column holds; the others are then mistakes.
inline bool are_most(int64_t some, int64_t cells) { return some * 10 >= cells * 9; }

struct CountedColumn {
  std::string name;
  std::string kind = {};  // "number", "words" or "date", if the spec says so
  size_t place = 0;       // in the file, from 0
  ColumnCounts counts = {};
};

// The spec's settings for all numbers; nullopt: the cells decide.
struct StyleWish {
  std::optional<char> decimal = {};
  std::optional<char> thousands = {};  // 0: none
};

// How a column is read, and why that is not certain, if it is not.
struct DecidedColumn {
  ColumnReading reading;
  std::string refusal = {};  // "column 'a', row 7: 'O.5' is no number, and ...; ..."
};

struct DecidedColumns {
  std::vector<DecidedColumn> columns;
  std::vector<std::string> warnings;  // of numbers that could be read in two ways, and of amounts
};

// Decides for each column, in the order given:
// - Its decimal sign is the one that more of its own cells show, or else more of all columns' cells. Where no
//   cell of the file shows one, 1.234 has a decimal point, and 1,234 a decimal comma, unless commas separate
//   the cells.
// - The sign between thousands is the one that most cells of columns with the same decimal sign need. Beside
//   a decimal point at least a tenth of a column's cells has to need it: otherwise they are mistakes.
// - All cells are numbers: it is of numbers. At least nine tenths are numbers, or dates: it is refused.
//   Else it is of words.
// Where a column has a kind or the wish a sign, they hold.
DecidedColumns decide_columns(const std::vector<CountedColumn>& columns, char separator,
                              const StyleWish& wish);

// "separated by semicolons; numbers have a decimal comma and thousands points; words: town; dates: sold"
std::string reading_text(const std::vector<std::string>& names, const std::vector<ColumnReading>& readings,
                         char separator);

// "column 'area'"
std::string in_column(const std::string& name);

}  // namespace dtrain
