// Tables of texts, laid out in columns.
#pragma once

#include <cstddef>
#include <string>

#include "core/text.h"

namespace dtrain {

struct TableLayout {
  std::string indent = "  ";
  size_t narrowest = 0;       // a column but the first
  size_t first = 0;           // the least width of the first one
  size_t between = 2;         // spaces between columns
  bool ends_in_text = false;  // the last column is aligned to the left
  int width = 0;              // that lines should fit in, as of width_limit(); 0: no limit
};

// Columns as wide as they need; the first one is aligned to the left, the
// others to the right. Rows may be shorter than the first. Columns that do not fit follow below, in a table
// of their own that begins with the first column too, so that nothing is lost on a narrow terminal. Where
// even one column does not fit beside the first, each cell is in lines of its own below its row's first.
std::string lay_out(const TableRows& rows, const TableLayout& layout = {});

// The text as a cell of comma-separated values, in quotes where it needs them.
std::string csv_cell(const std::string& text);

}  // namespace dtrain
