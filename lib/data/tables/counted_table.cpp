#include "tables/counted_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "core/data_errors.h"
#include "core/named.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

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

// A Parquet file says what its columns hold. Words are numbers or dates if the wish says so.
DecidedColumn decide_typed(const ParquetColumn& column, const std::string& kind) {
  CellKind reading = column.kind == ParquetKind::kDate     ? CellKind::kDate
                     : column.kind == ParquetKind::kNumber ? CellKind::kNumber
                                                           : CellKind::kWord;
  if (kind == "words") reading = CellKind::kWord;
  if (kind == "date") reading = CellKind::kDate;
  if (kind == "number" && column.kind == ParquetKind::kWord) reading = CellKind::kNumber;
  return {{reading, {}}, refusal_of(column, reading)};
}

}  // namespace

void require_same_header(const std::filesystem::path& path, const CountedTable& counted,
                         const CsvRow& header) {
  if (header != counted.header) refuse_file(path, "was changed while it was read; start again");
}

std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header) {
  std::map<std::string, size_t> places;
  if (!header.empty() && header.front() == "sep=")
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

bool TableWish::predicts(const std::string& column) const { return contains(targets, column); }

bool TableWish::ignores(const std::string& column) const {
  const auto kind = kinds.find(column);
  return (kind != kinds.end() && kind->second == "ignore") || contains(ignored, column);
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
    for (CountedColumn& column : some) {
      for (int64_t at = 0; at < rows.size() && column.kind != "words"; ++at) {
        const std::string_view cell = rows.row(at)[column.place];
        if (!is_missing_cell(cell, wish.missing_values)) column.counts.add(cell, rows.first + at);
      }
    }
    return [&table, counted = rows.size(), some = std::move(some)] {
      for (size_t i = 0; i < some.size(); ++i) table.columns[i].counts.merge(some[i].counts);
      table.rows += counted;
    };
  };
  table.separator = read_csv(path, begin, count, wish.separator_choice());
  table.decided = decide_columns(table.columns, table.separator, wish.style);
  return table;
}

std::string refusal_of(const ParquetColumn& column, CellKind reading) {
  if (column.kind == ParquetKind::kOther)
    return fmt::format("{} holds {}, which cannot become inputs; leave it out with data.ignore",
                       in_column(column.name), printable(column.holds, 100));
  if (column.kind == ParquetKind::kNumber && reading == CellKind::kDate)
    return fmt::format("{} holds numbers, which are no dates; correct data.columns, or the file",
                       in_column(column.name));
  if (column.kind == ParquetKind::kDate && reading == CellKind::kNumber)
    return fmt::format("{} holds dates, where numbers are needed", in_column(column.name));
  return "";
}

CsvRow names_of(const ParquetTable& file) { return names_of_rows(file.columns()); }

CountedTable count_table(const std::filesystem::path& path, const ParquetTable& file, const TableWish& wish) {
  CountedTable table{.header = names_of(file), .columns = {}, .decided = {}, .rows = file.rows()};
  for (const std::string& name : table.header) {
    size_t fault = 0;
    if (!is_clean_text(name, fault))
      refuse_file(path, "the name of a column, '{}', is not UTF-8 text, or has control characters",
                  printable(name, 100));
  }
  if (table.header.empty()) refuse_file(path, "has no columns");
  table.columns = columns_for(path, table.header, wish);
  for (const CountedColumn& column : table.columns)
    table.decided.columns.push_back(decide_typed(file.columns()[column.place], column.kind));
  return table;
}

}  // namespace dtrain
