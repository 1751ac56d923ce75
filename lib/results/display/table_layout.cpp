#include "display/table_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtrain {
namespace {

constexpr int kBelow = 4;  // columns by which a cell below its row's first is indented, besides the table

// The first column and this one, where they do not fit beside each other.
std::string stacked(const TableRows& rows, size_t column, const TableLayout& layout) {
  std::string lines;
  for (const TableRow& row : rows) {
    if (row.empty()) continue;
    const int indent = static_cast<int>(layout.indent.size()) + (row[0].empty() ? 0 : kBelow);
    if (!row[0].empty()) lines += wrapped(layout.indent + row[0], layout.width, indent) + "\n";
    if (column < row.size() && !row[column].empty())
      lines +=
          wrapped(std::string(static_cast<size_t>(indent), ' ') + row[column], layout.width, indent) + "\n";
  }
  return lines;
}

}  // namespace

std::string lay_out(const TableRows& rows, const TableLayout& layout) {
  std::vector<size_t> widths = {layout.first};
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), layout.narrowest);
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  const size_t limit = layout.width > 0 ? static_cast<size_t>(layout.width) : std::string::npos;
  std::string table;
  for (size_t begin = 1, end = 1; begin == 1 || begin < widths.size(); begin = end) {
    size_t used = layout.indent.size() + widths[0];
    // At least one, however wide.
    for (end = begin; end < widths.size() && (end == begin || used + layout.between + widths[end] <= limit);
         ++end)
      used += layout.between + widths[end];
    if (begin > 1) table += "\n";
    if (used > limit && end > begin) {
      table += stacked(rows, begin, layout);
      continue;
    }
    for (const TableRow& row : rows) {
      std::string line = layout.indent + fmt::format("{:<{}}", row.empty() ? "" : row[0], widths[0]);
      for (size_t column = begin; column < std::min(end, row.size()); ++column) {
        const bool is_text = layout.ends_in_text && column + 1 == widths.size();
        line += std::string(layout.between, ' ') +
                (is_text ? row[column] : fmt::format("{:>{}}", row[column], widths[column]));
      }
      table += line.erase(line.find_last_not_of(' ') + 1) + "\n";
    }
    if (end == begin) break;  // a single column
  }
  return table;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace dtrain
