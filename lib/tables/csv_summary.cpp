#include "tables/csv_summary.h"

#include <algorithm>
#include <cmath>
#include <functional>
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
  ColumnCounter(const std::string& name, size_t most) : most_(most) { summary_.name = name; }

  void add(const std::string& cell) {
    if (is_missing_cell(cell)) {
      ++summary_.missing;
      return;
    }
    if (summary_.is_number) add_number(cell);
    if (!summary_.many) summary_.many = !count(cell);
  }

  ColumnSummary finished() {
    summary_.different = static_cast<int64_t>(values_.size());
    return std::move(summary_);
  }

 private:
  void add_number(const std::string& cell) {
    const std::optional<double> number = number_in_cell(cell);
    summary_.is_number = number.has_value();
    if (!number) return;
    summary_.is_whole = summary_.is_whole && std::floor(*number) == *number;
    summary_.least = any_ ? std::min(summary_.least, *number) : *number;
    summary_.most = any_ ? std::max(summary_.most, *number) : *number;
    any_ = true;
  }
  // Whether there was room for it.
  bool count(const std::string& cell) {
    const size_t value = std::hash<std::string>()(cell);
    if (values_.size() < most_) values_.insert(value);
    return values_.contains(value);
  }

  const size_t most_;
  ColumnSummary summary_;
  bool any_ = false;  // a number was there
  std::unordered_set<size_t> values_;
};

}  // namespace

CsvSummary summarise_csv(const std::filesystem::path& path) {
  CsvSummary summary;
  std::vector<ColumnCounter> counters;
  read_csv(path, [&](int64_t number, const CsvRow& row) {
    summary.rows = number;
    for (size_t i = 0; i < row.size(); ++i) {
      if (number > 0) {
        counters[i].add(row[i]);
      } else {
        counters.emplace_back(row[i],
                              std::clamp(kMostCountedInAll / row.size(), kLeastCounted, kMostCounted));
      }
    }
  });
  for (ColumnCounter& counter : counters) summary.columns.push_back(counter.finished());
  return summary;
}

}  // namespace dtrain
