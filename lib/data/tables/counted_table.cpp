#include "tables/counted_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "core/data_errors.h"
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

// The number, 0 or 1, of the first row of the file in a column that numbers the rows, if this cell is of one.
std::optional<int64_t> numbered_from(std::string_view cell, int64_t row) {
  const std::optional<double> number = number_in_cell(cell);
  const auto before = static_cast<double>(row - 1);
  if (number == before) return 0;
  return number == before + 1 ? std::optional<int64_t>(1) : std::nullopt;
}

void count_column(CountedColumn& column, const CsvRows& rows,
                  const std::vector<std::string>& missing_values) {
  for (int64_t at = 0; at < rows.size(); ++at) {
    const std::string_view cell = rows.row(at)[column.place];
    const int64_t row = rows.first + at;
    if (at == 0) {
      column.numbers_rows_from = numbered_from(cell, row);
    } else if (column.numbers_rows_from && column.numbers_rows_from != numbered_from(cell, row)) {
      column.numbers_rows_from.reset();
    }
    if (column.kind != "words" && !is_missing_cell(cell, missing_values)) column.counts.add(cell, row);
  }
}

}  // namespace

void require_same_header(const std::filesystem::path& path, const CountedTable& counted,
                         const CsvRow& header) {
  if (header != counted.header) refuse_file(path, "was changed while it was read; start again");
}

std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header) {
  std::map<std::string, size_t> places;
  if (header.front() == "sep=")
    refuse_file(
        path,
        "the first line says what separates the cells, for Excel; remove it: the next line is the header");
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i].empty())
      refuse_file(path, "the header has no name for column {}; give it one (pandas: to_csv(index=False))",
                  i + 1);
    if (!places.emplace(header[i], i).second)
      refuse_file(path, "two columns are named '{}'", printable(header[i], 100));
  }
  return places;
}

size_t place_of_column(const std::filesystem::path& path, const std::map<std::string, size_t>& places,
                       const std::string& name) {
  const auto found = places.find(name);
  if (found != places.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, place] : places) names.push_back(known);
  const std::string meant = did_you_mean(name, names);
  refuse_file(path, "there is no {}{}", in_column(name),
              meant.empty() ? "; there are " + printable(join(names), 300) : meant);
}

bool TableWish::predicts(const std::string& column) const {
  return std::ranges::find(targets, column) != targets.end();
}

bool TableWish::ignores(const std::string& column) const {
  const auto kind = kinds.find(column);
  return (kind != kinds.end() && kind->second == "ignore") ||
         std::ranges::find(ignored, column) != ignored.end();
}

CsvSeparator TableWish::separator_choice() const {
  return separator ? CsvSeparator{*separator, /*always=*/true} : CsvSeparator();
}

CountedTable count_table(const std::filesystem::path& path, const TableWish& wish) {
  CountedTable table;
  std::vector<CountedColumn> none;  // counted in no rows
  const auto begin = [&](const CsvRow& header) {
    table.header = header;
    table.columns = none = columns_for(path, header, wish);
  };
  const auto count = [&](const CsvRows& rows) -> std::function<void()> {
    if (rows.size() == 0) return [] {};
    std::vector<CountedColumn> some = none;
    for (CountedColumn& column : some) count_column(column, rows, wish.missing_values);
    return [&table, counted = rows.size(), some = std::move(some)] {
      for (size_t i = 0; i < some.size(); ++i) {
        CountedColumn& column = table.columns[i];
        column.counts.merge(some[i].counts);
        if (table.rows == 0) column.numbers_rows_from = some[i].numbers_rows_from;
        if (column.numbers_rows_from != some[i].numbers_rows_from) column.numbers_rows_from.reset();
      }
      table.rows += counted;
    };
  };
  table.separator = read_csv(path, begin, count, wish.separator_choice());
  if (table.rows < kFewestNumbered) {
    for (CountedColumn& column : table.columns) column.numbers_rows_from.reset();
  }
  table.decided = decide_columns(table.columns, table.separator, wish.style);
  return table;
}

}  // namespace dtrain
