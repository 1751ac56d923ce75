#include "display/table_layout.h"

#include <fmt/format.h>

#include <algorithm>

namespace dtrain {
namespace {

constexpr size_t kBetween = 2;  // spaces between columns

std::vector<size_t> widths_of(const TableRows& rows, size_t narrowest) {
  std::vector<size_t> widths = {0};
  for (const TableRow& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), narrowest);
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  }
  return widths;
}

}  // namespace

std::string lay_out(const TableRows& rows, const TableLayout& layout) {
  const std::vector<size_t> widths = widths_of(rows, layout.narrowest);
  const size_t limit = layout.width > 0 ? static_cast<size_t>(layout.width) : std::string::npos;
  std::string table;
  for (size_t begin = 1, end = 1; begin == 1 || begin < widths.size(); begin = end) {
    size_t used = layout.indent.size() + widths[0];
    // At least one, however wide.
    for (end = begin; end < widths.size() && (end == begin || used + kBetween + widths[end] <= limit); ++end)
      used += kBetween + widths[end];
    if (begin > 1) table += "\n";
    for (const TableRow& row : rows) {
      std::string line = layout.indent + fmt::format("{:<{}}", row.empty() ? "" : row[0], widths[0]);
      for (size_t column = begin; column < std::min(end, row.size()); ++column) {
        const bool is_text = layout.ends_in_text && column + 1 == widths.size();
        line += std::string(kBetween, ' ') +
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
