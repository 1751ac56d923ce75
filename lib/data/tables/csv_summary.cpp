#include "tables/csv_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "tables/csv_cell.h"
#include "tables/csv_file.h"

namespace dtrain {
namespace {

constexpr size_t kMostCounted = 10'000;          // different values of a column
constexpr size_t kMostCountedInAll = 4'000'000;  // of all columns
constexpr size_t kLeastCounted = 1'001;          // one more than the categories that a column may have

class ColumnCounter {
 public:
  ColumnCounter(const CountedColumn& counted, const DecidedColumn& decided, size_t most)
      : most_(most), place_(counted.place) {
    summary_.name = counted.name;
    summary_.reading = decided.reading;
    summary_.refusal = decided.refusal;
    summary_.numbers_rows = counted.numbers_rows_from.has_value();
  }

  void add(std::span<const std::string_view> row, int64_t number) {
    const std::string_view cell = row[place_];
    if (is_missing_cell(cell)) {
      ++summary_.missing;
      return;
    }
    if (summary_.is_number()) add_number(cell, number);
    if (!summary_.many) count(std::hash<std::string_view>()(cell));
  }

  // What was counted in rows that come later.
  void add(const ColumnCounter& later) {
    summary_.missing += later.summary_.missing;
    if (later.any_) add_numbers(later.summary_.least, later.summary_.most, later.summary_.is_whole);
    for (const OddCell& odd : later.summary_.odd) add_odd(odd.cell, odd.row);
    summary_.many = summary_.many || later.summary_.many;
    for (auto value = later.values_.begin(); value != later.values_.end() && !summary_.many; ++value)
      count(*value);
  }

  ColumnSummary finished() {
    summary_.different = static_cast<int64_t>(values_.size());
    return std::move(summary_);
  }

 private:
  void add_number(std::string_view cell, int64_t row) {
    const std::optional<double> number = summary_.reading.kind == CellKind::kDate
                                             ? days_in_cell(cell)
                                             : number_in_cell(cell, summary_.reading.style);
    if (!number) return add_odd(cell, row);
    add_numbers(*number, *number, std::floor(*number) == *number);
  }
  void add_numbers(double least, double most, bool whole) {
    summary_.is_whole = summary_.is_whole && whole;
    summary_.least = any_ ? std::min(summary_.least, least) : least;
    summary_.most = any_ ? std::max(summary_.most, most) : most;
    any_ = true;
  }
  void add_odd(std::string_view cell, int64_t row) {
    const bool known =
        std::ranges::any_of(summary_.odd, [&](const OddCell& odd) { return odd.cell == cell; });
    if (!known && summary_.odd.size() <= kMostOddCells) summary_.odd.push_back({row, std::string(cell)});
  }
  void count(size_t value) {
    if (values_.size() < most_) {
      values_.insert(value);
    } else {
      summary_.many = !values_.contains(value);
    }
  }

  const size_t most_;
  const size_t place_;
  ColumnSummary summary_;
  bool any_ = false;  // a number was there
  std::unordered_set<size_t> values_;
};

}  // namespace

CsvSummary summarise_csv(const std::filesystem::path& path) {
  const CountedTable table = count_table(path, {});
  const size_t most =
      std::clamp(kMostCountedInAll / std::max<size_t>(1, table.columns.size()), kLeastCounted, kMostCounted);
  std::vector<ColumnCounter> counters;
  for (size_t i = 0; i < table.columns.size(); ++i)
    counters.emplace_back(table.columns[i], table.decided.columns[i], most);
  const std::vector<ColumnCounter> none = counters;  // of no rows
  const auto count = [&](const CsvRows& rows) -> std::function<void()> {
    std::vector<ColumnCounter> some = none;
    for (int64_t row = 0; row < rows.size(); ++row) {
      for (ColumnCounter& counter : some) counter.add(rows.row(row), rows.first + row);
    }
    return [&counters, some = std::move(some)] {
      for (size_t i = 0; i < some.size(); ++i) counters[i].add(some[i]);
    };
  };
  read_csv(
      path, [&](const CsvRow& header) { require_same_header(path, table, header); }, count);
  CsvSummary summary{.columns = {}, .rows = table.rows};
  for (ColumnCounter& counter : counters) summary.columns.push_back(counter.finished());
  return summary;
}

}  // namespace dtrain
