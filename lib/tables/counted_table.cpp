#include "tables/counted_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "tables/csv_cell.h"

namespace dtrain {
namespace {

constexpr int64_t kFewestNumbered = 3;  // rows, of which 1, 2, 3 may be numbers

std::vector<CountedColumn> columns_for(const std::filesystem::path& path, const CsvRow& header,
                                       const TableWish& wish) {
  const std::map<std::string, size_t> places = places_of(path, header);
  for (const auto* names : {&wish.targets, &wish.ignored}) {
    for (const std::string& name : *names) place_of_column(path, places, name);
  }
  for (const auto& [name, kind] : wish.kinds) place_of_column(path, places, name);
  std::vector<CountedColumn> columns;
  for (size_t i = 0; i < header.size(); ++i) {
    if (wish.ignores(header[i])) continue;
    const auto kind = wish.kinds.find(header[i]);
    columns.push_back({.name = header[i], .kind = kind == wish.kinds.end() ? "" : kind->second, .place = i});
  }
  return columns;
}

// Whether a column can still be one that numbers the rows, after this cell.
void follow_numbers(CountedColumn& column, const std::string& cell, int64_t row) {
  const std::optional<double> number =
      row == 1 || column.numbers_rows_from ? number_in_cell(cell) : std::nullopt;
  if (row == 1 && (number == 0.0 || number == 1.0)) column.numbers_rows_from = static_cast<int64_t>(*number);
  if (!column.numbers_rows_from) return;
  if (number != static_cast<double>(*column.numbers_rows_from + row - 1)) column.numbers_rows_from.reset();
}

}  // namespace

void refuse_table(const std::filesystem::path& path, const std::string& what) {
  throw Error(ExitCode::kData, fmt::format("{}: {}", printable(path.string(), 1000), what));
}

std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header) {
  std::map<std::string, size_t> places;
  if (header.front() == "sep=")
    refuse_table(
        path,
        "the first line says what separates the cells, for Excel; remove it: the next line is the header");
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i].empty())
      refuse_table(
          path, fmt::format("the header has no name for column {}; give it one (pandas: to_csv(index=False))",
                            i + 1));
    if (!places.emplace(header[i], i).second)
      refuse_table(path, fmt::format("two columns are named '{}'", printable(header[i], 100)));
  }
  return places;
}

size_t place_of_column(const std::filesystem::path& path, const std::map<std::string, size_t>& places,
                       const std::string& name) {
  const auto found = places.find(name);
  if (found != places.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, place] : places) names.push_back(known);
  refuse_table(path, fmt::format("there is no {}{}", in_column(name), did_you_mean(name, names)));
}

bool TableWish::predicts(const std::string& column) const {
  return std::find(targets.begin(), targets.end(), column) != targets.end();
}

bool TableWish::ignores(const std::string& column) const {
  const auto kind = kinds.find(column);
  return (kind != kinds.end() && kind->second == "ignore") ||
         std::find(ignored.begin(), ignored.end(), column) != ignored.end();
}

CsvSeparator TableWish::separator_choice() const {
  return separator ? CsvSeparator{*separator, /*always=*/true} : CsvSeparator();
}

CountedTable count_table(const std::filesystem::path& path, const TableWish& wish) {
  CountedTable table;
  const auto on_row = [&](int64_t number, const CsvRow& row) {
    if (number == 0) {
      table.columns = columns_for(path, row, wish);
      return;
    }
    table.rows = number;
    for (CountedColumn& column : table.columns) {
      const std::string& cell = row[column.place];
      follow_numbers(column, cell, number);
      if (column.kind != "words" && !is_missing_cell(cell, wish.missing_values))
        column.counts.add(cell, number);
    }
  };
  table.separator = read_csv(path, on_row, wish.separator_choice());
  if (table.rows < kFewestNumbered) {
    for (CountedColumn& column : table.columns) column.numbers_rows_from.reset();
  }
  table.decided = decide_columns(table.columns, table.separator, wish.style);
  return table;
}

}  // namespace dtrain
