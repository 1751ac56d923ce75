#include "tables/plain_column.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/data_errors.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "parquet/parquet_file.h"
#include "tables/column_reading.h"
#include "tables/counted_table.h"

namespace dtrain {
namespace {

std::vector<std::string> read_cells(const std::filesystem::path& path, const ParquetTable& table,
                                    const std::string& column) {
  const size_t place = place_of_column(path, places_of(path, names_of(table)), column);
  const std::string refusal = refusal_of(table.columns()[place], CellKind::kWord);
  if (!refusal.empty()) refuse_file(path, refusal);
  std::vector<std::string> all;
  table.read(place, /*as_words=*/true, [&](const std::filesystem::path&, const ParquetCells& cells, int64_t) {
    for (const int32_t word : cells.places)
      all.emplace_back(word < 0 ? std::string_view() : cells.words[static_cast<size_t>(word)]);
  });
  return all;
}

std::vector<std::string> read_present_cells(const TablePath& path, const std::string& column,
                                            const CsvSeparator& separator,
                                            const std::vector<std::string>& missing_values,
                                            const char* field) {
  std::vector<std::string> cells = read_cells(path, column, separator);
  const auto missing = std::ranges::find_if(
      cells, [&](const std::string& cell) { return is_missing_cell(cell, missing_values); });
  if (missing != cells.end())
    refuse_file(path.name, "{}, row {}: the value is missing, and {} needs one in every row",
                in_column(column), missing - cells.begin() + 1, field);
  return cells;
}

// Of numbers that are times.
NumberStyle style_of_times(const TablePath& path, const std::string& column, const RawTable& table,
                           const TableWish& wish) {
  if (is_parquet(path.files.front())) return {};
  const auto input = std::ranges::find(table.columns, column, &RawColumn::name);
  if (input != table.columns.end() && input->reading.kind == CellKind::kNumber) return input->reading.style;
  // As the table was read; a saved model's needs none of the columns that it ignores.
  TableWish with_times = wish;
  with_times.separator = table.separator;
  const CsvRow header = table_header(path);
  const auto is_missing = [&](const std::string& name) { return !contains(header, name); };
  std::erase_if(with_times.ignored,
                [&](const std::string& name) { return name == column || is_missing(name); });
  std::erase_if(with_times.kinds, [&](const auto& kind) { return is_missing(kind.first); });
  with_times.kinds[column] = "number";
  const CountedTable counted = count_table(path.name, with_times);
  for (const std::string& doubt : counted.decided.warnings) {
    if (doubt.starts_with(in_column(column) + ","))
      refuse_file(path.name, doubt + "; data.split.time orders the rows by it");
  }
  const auto place =
      std::ranges::find(counted.columns, column, &CountedColumn::name) - counted.columns.begin();
  return counted.decided.columns.at(static_cast<size_t>(place)).reading.style;
}

}  // namespace

std::vector<std::string> read_cells(const TablePath& path, const std::string& column,
                                    const CsvSeparator& separator) {
  if (is_parquet(path.files.front())) return read_cells(path.name, ParquetTable(path.files), column);
  size_t place = 0;
  std::vector<std::string> cells;
  const auto begin = [&](const CsvRow& header) {
    place = place_of_column(path.name, places_of(path.name, header), column);
  };
  const auto read = [&](const CsvRows& rows) -> std::function<void()> {
    std::vector<std::string> some;
    for (int64_t row = 0; row < rows.size(); ++row) some.emplace_back(rows.row(row)[place]);
    return [&cells, some = std::move(some)] { cells.insert(cells.end(), some.begin(), some.end()); };
  };
  read_csv(path.name, begin, read, separator);
  return cells;
}

std::vector<int64_t> read_groups(const TablePath& path, const std::string& column,
                                 const CsvSeparator& separator,
                                 const std::vector<std::string>& missing_values) {
  std::unordered_map<std::string, int64_t> known;
  std::vector<int64_t> groups;
  for (const std::string& cell :
       read_present_cells(path, column, separator, missing_values, "data.split.group"))
    groups.push_back(known.emplace(cell, std::ssize(known)).first->second);
  return groups;
}

std::vector<double> read_times(const TablePath& path, const std::string& column, const RawTable& table,
                               const TableWish& wish) {
  const std::vector<std::string> cells = read_present_cells(path, column, {table.separator, /*always=*/true},
                                                            wish.missing_values, "data.split.time");
  const bool are_dates = !cells.empty() && days_in_cell(cells.front());
  const NumberStyle style = are_dates ? NumberStyle() : style_of_times(path, column, table, wish);
  std::vector<double> times;
  for (const std::string& cell : cells) {
    const std::optional<double> time = are_dates ? days_in_cell(cell) : number_in_cell(cell, style);
    if (!time || !std::isfinite(*time))
      refuse_file(
          path.name, "{}, row {}: '{}' is not {}; data.split.time orders the rows by it, so correct it",
          in_column(column), times.size() + 1, printable(cell, 60),
          are_dates ? "a date, as those above it are" : "a date or a number with " + style_text(style));
    times.push_back(*time);
  }
  return times;
}

}  // namespace dtrain
