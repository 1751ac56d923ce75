#include "tables/growing_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/data_errors.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "yaml/yaml_tree.h"

namespace dtrain {
namespace {

constexpr double kMissingCell = std::numeric_limits<double>::quiet_NaN();

// Words are kept with the model, as JSON and in messages.
void require_text(const std::filesystem::path& path, const std::string& column, std::string_view word,
                  int64_t row) {
  size_t fault = 0;
  const std::string text(word);
  if (word.size() > kMaxCsvCellBytes)
    refuse_file(path, "{}, row {}: a word of more than 1 MiB; leave the column out with data.ignore",
                in_column(column), row);
  if (!is_clean_text(text, fault))
    refuse_file(path,
                "{}, row {}: '{}' is not UTF-8 text, or has control characters; leave the column out with "
                "data.ignore",
                in_column(column), row, printable(text, 60));
}

}  // namespace

void require_cells(const std::filesystem::path& path, int64_t rows, int64_t columns) {
  if (columns > 0 && rows > kMaxTableCells / columns)
    refuse_file(path, "{} of {} to read are more than {} cells; leave columns out with data.ignore",
                counted(rows, "row"), counted(columns, "column"), with_separators(kMaxTableCells));
}

WordIndex::WordIndex(const ColumnReading& reading, const std::vector<std::string>& words)
    : reading_(reading) {
  for (const std::string& word : words) places_.emplace(key_of(word), next_++);
}

std::optional<size_t> WordIndex::find(const std::string& word) const {
  const auto found = places_.find(key_of(word));
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

size_t WordIndex::add(const std::string& word) {
  const auto [place, is_new] = places_.emplace(key_of(word), next_);
  if (is_new) ++next_;
  return place->second;
}

std::string WordIndex::key_of(const std::string& word) const {
  const bool by_number = reading_.kind == CellKind::kNumber;
  const std::optional<double> number = by_number ? number_in_cell(word, reading_.style) : std::nullopt;
  if (!number) return word;
  // Whole numbers from there on are told apart by their digits. N is of inf and nan.
  const char others[] = {reading_.style.decimal, 'e', 'E', 'n', 'N', 0};
  if (std::fabs(*number) < 0x1p53) return fmt::format("{}", *number + 0.0);  // of -0, too
  if (word.find_first_of(others) != std::string::npos) return fmt::format("{:.0f}", *number);
  std::string digits;
  std::ranges::copy_if(word, std::back_inserter(digits),
                       [](char byte) { return byte >= '0' && byte <= '9'; });
  return (*number < 0 ? "-" : "") + digits.substr(digits.find_first_not_of('0'));
}

GrowingColumns::GrowingColumns(const std::filesystem::path& path, const CellRules& rules,
                               std::vector<Chosen> chosen)
    : path_(path), rules_(rules), chosen_(std::move(chosen)) {
  for (const Chosen& one : chosen_) words_.emplace_back(one.column.reading, one.column.words);
  for (const std::string& cell : rules.missing_values) {
    if (const std::optional<double> days = days_in_cell(cell)) missing_days_.push_back(*days);
    const std::optional<double> number = number_in_cell(cell);
    if (!number) continue;
    missing_numbers_.push_back(*number);
    missing_singles_.push_back(static_cast<float>(*number));
  }
}

std::vector<RawColumn> GrowingColumns::read(const CsvRows& rows) const {
  std::vector<RawColumn> some(chosen_.size());
  std::vector<std::unordered_map<std::string_view, size_t>> places(chosen_.size());
  for (RawColumn& column : some) column.values.reserve(static_cast<size_t>(rows.size()));
  for (int64_t row = 0; row < rows.size(); ++row) {
    const std::span<const std::string_view> cells = rows.row(row);
    for (size_t i = 0; i < chosen_.size(); ++i) {
      const std::string_view cell = cells[chosen_[i].place];
      if (is_missing_cell(cell, rules_.missing_values)) {
        some[i].values.push_back(kMissingCell);
      } else if (chosen_[i].column.is_number) {
        some[i].values.push_back(number_of(chosen_[i].column, path_, cell, rows.first + row));
      } else {
        const auto [known, is_new] = places[i].emplace(cell, some[i].words.size());
        if (is_new) some[i].words.emplace_back(cell);
        some[i].values.push_back(static_cast<double>(known->second));
      }
    }
  }
  return some;
}

void GrowingColumns::add(const std::vector<RawColumn>& some, int64_t rows) {
  rows_ += rows;
  require_cells(path_, rows_, std::ssize(chosen_));
  for (size_t i = 0; i < chosen_.size(); ++i) {
    std::vector<double>& values = chosen_[i].column.values;
    std::vector<double> places;  // of the words of these rows among those of all
    for (const std::string& word : some[i].words) places.push_back(place_of(i, word));
    if (places.empty()) {
      values.insert(values.end(), some[i].values.begin(), some[i].values.end());
    } else {
      for (const double value : some[i].values)
        values.push_back(std::isnan(value) ? value : places[static_cast<size_t>(value)]);
    }
  }
}

void GrowingColumns::expect_rows(int64_t rows, int64_t room) {
  rows_ = rows;
  require_cells(path_, rows, std::ssize(chosen_));
  for (Chosen& one : chosen_) one.column.values.reserve(static_cast<size_t>(std::min(rows, room)));
}

double GrowingColumns::number_of(const RawColumn& column, const std::filesystem::path& path,
                                 std::string_view cell, int64_t row) const {
  const bool is_date = column.reading.kind == CellKind::kDate;
  const NumberStyle style = column.reading.style;
  const bool is_plain = is_date || style == NumberStyle();
  const std::optional<double> number = is_date ? days_in_cell(cell) : number_in_cell(cell, style);
  if (!number || !std::isfinite(*number))
    refuse_file(path, "{}, row {}: '{}' is not {}{}; correct it{}", in_column(column.name), row,
                printable(std::string(cell), 60),
                is_date ? "a date such as 2024-12-31 or 31.12.2024" : "a finite number",
                is_plain ? "" : " with " + style_text(style), rules_.advice);
  const std::vector<double>& missing = is_date ? missing_days_ : missing_numbers_;
  return is_plain && std::ranges::find(missing, *number) != missing.end() ? kMissingCell : *number;
}

void GrowingColumns::add_numbers(RawColumn& column, const std::filesystem::path& path,
                                 const ParquetCells& cells, int64_t first) const {
  const std::vector<double>& missing = column.reading.kind == CellKind::kDate ? missing_days_
                                       : cells.are_single                     ? missing_singles_
                                                                              : missing_numbers_;
  std::vector<double>& values = column.values;
  values.insert(values.end(), cells.numbers.begin(), cells.numbers.end());
  for (auto value = values.end() - cells.rows(); value != values.end(); ++value, ++first) {
    if (std::ranges::find(missing, *value) != missing.end()) *value = kMissingCell;
    if (std::isinf(*value))
      refuse_file(path, "{}, row {}: {} is not a finite number; correct it{}", in_column(column.name), first,
                  *value, rules_.advice);
  }
}

void GrowingColumns::add_cells(size_t index, const std::filesystem::path& path, const ParquetCells& cells,
                               int64_t first) {
  RawColumn& column = chosen_[index].column;
  if (!cells.are_words) return add_numbers(column, path, cells, first);
  std::vector<double> meanings;    // of the words
  auto at = cells.places.begin();  // where the word is first
  for (size_t i = 0; i < cells.words.size(); ++i) {
    const std::string_view word = cells.words[i];
    at = std::find(at, cells.places.end(), static_cast<int32_t>(i));
    const int64_t row = first + (at - cells.places.begin());
    if (is_missing_cell(word, rules_.missing_values)) {
      meanings.push_back(kMissingCell);
    } else if (column.is_number) {
      meanings.push_back(number_of(column, path, word, row));
    } else {
      require_text(path, column.name, word, row);
      meanings.push_back(place_of(index, std::string(word)));
    }
  }
  for (const int32_t place : cells.places)
    column.values.push_back(place < 0 ? kMissingCell : meanings[static_cast<size_t>(place)]);
}

RawTable GrowingColumns::finished(char separator) {
  if (rows_ == 0) refuse_file(path_, "has a header and no rows");
  RawTable table{.path = path_, .columns = {}, .rows = rows_, .separator = separator};
  for (Chosen& one : chosen_) table.columns.push_back(std::move(one.column));
  return table;
}

double GrowingColumns::place_of(size_t index, const std::string& word) {
  Chosen& one = chosen_[index];
  if (const std::optional<size_t> known = words_[index].find(word)) return static_cast<double>(*known);
  if (!one.adds_words) {
    if (one.column.unknown_word.empty()) one.column.unknown_word = word;
    return kUnknownWord;
  }
  if (one.column.words.size() >= kMaxCategories)
    refuse_file(path_, "{} has more than {} different values, which are no {}", in_column(one.column.name),
                kMaxCategories,
                one.is_target ? "classes; if it is a number to predict, use train.loss: mean_squared_error"
                              : "categories; leave it out with data.ignore");
  one.column.words.push_back(word);
  return static_cast<double>(words_[index].add(word));
}

}  // namespace dtrain
