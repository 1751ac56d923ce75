// Tables, whose rows are examples and whose columns can be odd.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/checksum.h"
#include "core/text.h"
#include "data/table_dataset.h"
#include "data_check/data_check.h"

namespace dtrain {
namespace {

bool is_target(const CsvParts& parts, const RawColumn& column) {
  const auto& targets = parts.format.targets;
  return contains(targets, column.name);
}

const RawColumn& first_target(const CsvParts& parts, const RawTable& table) {
  return *std::ranges::find_if(table.columns,
                               [&](const RawColumn& column) { return is_target(parts, column); });
}

bool is_constant(const RawColumn& column) {
  double first = std::numeric_limits<double>::quiet_NaN();
  for (const double value : column.values) {
    if (std::isnan(value)) continue;
    if (std::isnan(first)) first = value;
    if (value != first) return false;
  }
  return true;
}

// Whether two columns agree in every row where both are there: their numbers are equal, or each value of one
// belongs to exactly one of the other, a class.
bool agree(const RawColumn& column, const RawColumn& target, bool are_classes) {
  std::unordered_map<double, double> forward, back;
  bool any = false;
  for (size_t row = 0; row < column.values.size(); ++row) {
    const double one = column.values[row], other = target.values[row];
    if (std::isnan(one) || std::isnan(other)) continue;
    any = true;
    const bool same = are_classes ? forward.emplace(one, other).first->second == other &&
                                        back.emplace(other, one).first->second == one
                                  : one == other;
    if (!same) return false;
  }
  return any;
}

void check_columns(DataCheck& check, const CsvParts& parts, bool fills_missing) {
  const RawTable& table = parts.table;
  const RawColumn& target = first_target(parts, table);
  for (const RawColumn& column : table.columns) {
    const auto missing = std::ranges::count_if(column.values, [](double value) { return std::isnan(value); });
    if (missing > 0) {
      check.columns.emplace_back(
          column.name,
          fmt::format("{} of {} values are missing", with_separators(missing), with_separators(table.rows)));
      if (is_target(parts, column))
        check.refused.push_back(fmt::format("the target '{}' is missing in {}; remove them",
                                            printable(column.name, 100), counted(missing, "row")));
      else if (!fills_missing)
        check.refused.push_back(
            fmt::format("values of '{}' are missing; data.missing: mean fills in the mean of the "
                        "training examples",
                        printable(column.name, 100)));
    }
    if (is_constant(column)) {
      check.columns.emplace_back(column.name, "the same value in every row: nothing can be learned from it");
    } else if (!is_target(parts, column) && parts.format.targets.size() == 1) {
      if (agree(column, target, /*are_classes=*/!parts.format.classes.empty()))
        check.columns.emplace_back(column.name,
                                   fmt::format("says the target '{}' in every row; is it known when "
                                               "something is to be predicted? data.ignore leaves it out",
                                               printable(target.name, 100)));
    }
  }
}

// A number for the inputs of each row: equal for equal ones, in any of the files.
std::vector<uint64_t> contents_of(const CsvParts& parts, const RawTable& table) {
  std::vector<uint64_t> contents(static_cast<size_t>(table.rows));
  for (const TableColumn& input : parts.format.inputs) {
    const auto column = std::ranges::find(table.columns, input.name, &RawColumn::name);
    for (size_t row = 0; row < contents.size(); ++row) {
      const double value = column->values[row];
      Checksum sum(&contents[row], sizeof contents[row]);
      if (column->is_number || std::isnan(value)) {
        const double number = std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value + 0.0;
        sum.add(&number, sizeof number);
      } else if (value >= 0) {
        const std::string& word = column->words[static_cast<size_t>(value)];
        sum.add(word.c_str(), word.size() + 1);
      } else {
        sum.add(&row, sizeof row);  // a word that is not known: like no other
      }
      contents[row] = sum.number();
    }
  }
  return contents;
}

// The class of a row; -1 without one.
int64_t label_of(const CsvParts& parts, const RawColumn& target, size_t row) {
  if (parts.format.classes.empty() || std::isnan(target.values[row]) || target.values[row] < 0) return -1;
  const std::string& word = target.words[static_cast<size_t>(target.values[row])];
  const auto& classes = parts.format.classes;
  const auto at = std::ranges::find(classes, word);
  return at == classes.end() ? -1 : at - classes.begin();
}

void add_rows(DataCheck& check, std::vector<uint64_t>& contents, const CsvParts& parts,
              const RawTable& table) {
  const RawColumn& target = first_target(parts, table);
  for (int64_t row = 0; row < table.rows; ++row)
    check.examples.push_back({DataPart::kUnused, label_of(parts, target, static_cast<size_t>(row)), row + 1});
  const std::vector<uint64_t> more = contents_of(parts, table);
  contents.insert(contents.end(), more.begin(), more.end());
}

}  // namespace

void check_table(DataCheck& check, const DataSpec& spec) {
  const CsvParts parts = read_csv_parts(spec);
  check.classes = parts.format.classes;
  check_columns(check, parts, spec.missing == "mean");
  std::vector<uint64_t> contents;
  add_rows(check, contents, parts, parts.table);
  check.rows_to_train = parts.table.rows;
  check.has_test_file = parts.test.has_value();
  if (parts.test) add_rows(check, contents, parts, *parts.test);
  const auto put = [&](const std::vector<int64_t>& rows, DataPart part, int64_t first) {
    for (const int64_t row : rows) check.examples[static_cast<size_t>(first + row)].part = part;
  };
  put(parts.rows.train, DataPart::kTrain, 0);
  put(parts.rows.validation, DataPart::kValidation, 0);
  put(parts.rows.test, DataPart::kTest, parts.test ? parts.table.rows : 0);
  check.same = find_copies(contents, std::vector<bool>(contents.size(), true));
}

}  // namespace dtrain
