#include "tables/csv_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "core/parallel.h"
#include "csv/csv_cell.h"
#include "csv/csv_file.h"

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
    summary_.numbers_rows = true;
  }

  void add(std::span<const std::string_view> row, int64_t number) { add_cell(row[place_], number); }

  // Of a Parquet file, whose first row has the number `first`.
  void add(const ParquetCells& cells, int64_t first) {
    for (int64_t at = 0; at < cells.rows(); ++at) {
      const auto row = static_cast<size_t>(at);
      if (cells.are_words) {
        add_cell(
            cells.places[row] < 0 ? std::string_view() : cells.words[static_cast<size_t>(cells.places[row])],
            first + at);
      } else if (std::isnan(cells.numbers[row])) {
        add_cell(std::string_view(), first + at);
      } else {
        add_number(cells.numbers[row], first + at);
        if (!summary_.many) count(std::hash<double>()(cells.numbers[row]));
      }
    }
  }

  // What was counted in rows that come later.
  void add(const ColumnCounter& later) {
    summary_.missing += later.summary_.missing;
    summary_.numbers_rows = summary_.numbers_rows && later.summary_.numbers_rows &&
                            (!any_ || !later.any_ || number_before_ == later.number_before_);
    if (later.any_) {
      number_before_ = later.number_before_;
      add_numbers(later.summary_.least, later.summary_.most, later.summary_.is_whole);
    }
    for (const OddCell& odd : later.summary_.odd) add_odd(odd.cell, odd.row);
    summary_.many = summary_.many || later.summary_.many;
    for (auto value = later.values_.begin(); value != later.values_.end() && !summary_.many; ++value)
      count(*value);
  }

  ColumnSummary finished(int64_t rows) {
    const bool from_start = number_before_ == -1 || number_before_ == 0;
    summary_.numbers_rows = summary_.numbers_rows && any_ && from_start && rows >= kFewestNumbered;
    summary_.different = static_cast<int64_t>(values_.size());
    return std::move(summary_);
  }

 private:
  void add_cell(std::string_view cell, int64_t row) {
    if (is_missing_cell(cell)) {
      ++summary_.missing;
      summary_.numbers_rows = false;
      return;
    }
    if (summary_.is_number()) add_number(cell, row);
    if (!summary_.many) count(std::hash<std::string_view>()(cell));
  }
  void add_number(std::string_view cell, int64_t row) {
    const std::optional<double> number = summary_.reading.kind == CellKind::kDate
                                             ? days_in_cell(cell)
                                             : number_in_cell(cell, summary_.reading.style);
    if (number) return add_number(*number, row);
    add_odd(cell, row);
    summary_.numbers_rows = false;
  }
  void add_number(double number, int64_t row) {
    const double before = number - static_cast<double>(row);
    summary_.numbers_rows = summary_.numbers_rows && (!any_ || before == number_before_);
    number_before_ = before;
    add_numbers(number, number, std::floor(number) == number);
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
  bool any_ = false;          // a number was there
  double number_before_ = 0;  // of a column that numbers the rows: the number in the row before the first
  std::unordered_set<size_t> values_;
};

void read_cells(const std::filesystem::path& path, const CountedTable& table,
                std::vector<ColumnCounter>& counters) {
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
}

void read_cells(const ParquetTable& file, std::vector<ColumnCounter>& counters) {
  for_each_in_threads(std::ssize(counters), available_cores(), [&](int64_t at) {
    const auto place = static_cast<size_t>(at);
    if (file.columns()[place].kind == ParquetKind::kOther) return;
    int64_t first = 1;  // in the table
    file.read(place, /*as_words=*/false,
              [&](const std::filesystem::path&, const ParquetCells& cells, int64_t) {
                counters[place].add(cells, first);
                first += cells.rows();
              });
  });
}

}  // namespace

CsvSummary summarise_csv(const TablePath& path) {
  std::optional<ParquetTable> file;
  if (is_parquet(path.files.front())) file.emplace(path.files);
  const CountedTable table = file ? count_table(path.name, *file, {}) : count_table(path.name, {});
  const size_t most =
      std::clamp(kMostCountedInAll / std::max<size_t>(1, table.columns.size()), kLeastCounted, kMostCounted);
  std::vector<ColumnCounter> counters;
  for (size_t i = 0; i < table.columns.size(); ++i)
    counters.emplace_back(table.columns[i], table.decided.columns[i], most);
  file ? read_cells(*file, counters) : read_cells(path.name, table, counters);
  CsvSummary summary{.columns = {}, .rows = table.rows};
  for (ColumnCounter& counter : counters) summary.columns.push_back(counter.finished(table.rows));
  return summary;
}

}  // namespace dtrain
