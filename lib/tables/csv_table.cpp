#include "tables/csv_table.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/error.h"
#include "core/text.h"
#include "kinds/objectives.h"
#include "tables/csv_cell.h"
#include "tables/csv_file.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

constexpr double kMissingCell = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnknownWord = -1;  // of a cell whose word is not among the column's

// Which columns are read, by their places in the file.
struct Chosen {
  size_t place = 0;
  RawColumn column;
  bool adds_words = true;  // otherwise a new word is kUnknownWord
  bool is_target = false;
};

// The words of a column by what makes them the same. 1 and 1.0 are the same class.
class WordIndex {
 public:
  explicit WordIndex(const RawColumn& column) : by_number_(column.reading.kind == CellKind::kNumber) {
    style_ = column.reading.style;
    for (const std::string& word : column.words) places_.emplace(key_of(word), places_.size());
  }

  std::optional<size_t> find(const std::string& word) const {
    const auto found = by_number_ ? places_.find(key_of(word)) : places_.find(word);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }
  size_t add(const std::string& word) { return places_.emplace(key_of(word), places_.size()).first->second; }

 private:
  std::string key_of(const std::string& word) const {
    const std::optional<double> number = by_number_ ? number_in_cell(word, style_) : std::nullopt;
    return number ? fmt::format("{}", *number + 0.0) : word;  // of -0, too
  }

  bool by_number_;
  NumberStyle style_;
  std::unordered_map<std::string, size_t> places_;
};

// How cells are read, whatever column they are in.
struct CellRules {
  CsvSeparator separator;
  const std::vector<std::string>& missing_values;
  std::string advice;  // on a cell that is not what its column holds
};

// The number of a cell that is not missing.
double number_of(const std::filesystem::path& path, const CellRules& rules, const RawColumn& column,
                 const std::string& cell, int64_t row) {
  const bool is_date = column.reading.kind == CellKind::kDate;
  const NumberStyle style = column.reading.style;
  const std::optional<double> number = is_date ? days_in_cell(cell) : number_in_cell(cell, style);
  if (number && std::isfinite(*number)) return *number;
  refuse_table(
      path, fmt::format("{}, row {}: '{}' is not {}{}; correct it{}", in_column(column.name), row,
                        printable(cell, 60),
                        is_date ? "a date such as 2024-12-31 or 31.12.2024" : "a finite number",
                        is_date || style == NumberStyle() ? "" : " with " + style_text(style), rules.advice));
}

// Reads the cells of the columns that `choose` names, given the header.
RawTable read_columns(const std::filesystem::path& path, const CellRules& rules,
                      const std::function<std::vector<Chosen>(const CsvRow& header)>& choose) {
  RawTable table;
  table.path = path;
  std::vector<Chosen> chosen;
  std::vector<WordIndex> words;
  const auto begin = [&](const CsvRow& header) {
    chosen = choose(header);
    for (const Chosen& one : chosen) words.emplace_back(one.column);
  };
  const auto value_of = [&](size_t index, const std::string& cell, int64_t row) -> double {
    RawColumn& column = chosen[index].column;
    if (is_missing_cell(cell, rules.missing_values)) return kMissingCell;
    if (column.is_number) return number_of(path, rules, column, cell, row);
    if (const std::optional<size_t> known = words[index].find(cell)) return static_cast<double>(*known);
    if (!chosen[index].adds_words) {
      if (column.unknown_word.empty()) column.unknown_word = cell;
      return kUnknownWord;
    }
    if (column.words.size() >= kMaxCategories)
      refuse_table(
          path, fmt::format("{} has more than {} different values, which are no {}", in_column(column.name),
                            kMaxCategories,
                            chosen[index].is_target
                                ? "classes; if it is a number to predict, use train.loss: mean_squared_error"
                                : "categories; leave it out with data.ignore"));
    column.words.push_back(cell);
    return static_cast<double>(words[index].add(cell));
  };
  const auto on_row = [&](int64_t number, const CsvRow& row) {
    if (number == 0) return begin(row);
    table.rows = number;
    if (number * std::ssize(chosen) > kMaxTableCells)
      refuse_table(path, fmt::format("has more than {} cells", with_separators(kMaxTableCells)));
    for (size_t i = 0; i < chosen.size(); ++i)
      chosen[i].column.values.push_back(value_of(i, row[chosen[i].place], number));
  };
  table.separator = read_csv(path, on_row, rules.separator);
  if (table.rows == 0) refuse_table(path, "has a header and no rows");
  for (Chosen& one : chosen) table.columns.push_back(std::move(one.column));
  return table;
}

const RawColumn& column_named(const RawTable& table, const std::string& name) {
  for (const RawColumn& column : table.columns) {
    if (column.name == name) return column;
  }
  refuse_table(table.path, "there is no " + in_column(name));
}

// Sorted by their values if all are numbers, otherwise as text.
void sort_words(std::vector<std::string>& words, NumberStyle style) {
  const auto number = [style](const std::string& word) { return number_in_cell(word, style); };
  const bool numbers =
      std::all_of(words.begin(), words.end(), [&](const auto& word) { return number(word).has_value(); });
  std::sort(words.begin(), words.end(), [&](const std::string& a, const std::string& b) {
    if (numbers && *number(a) != *number(b)) return *number(a) < *number(b);
    return a < b;
  });
}

// The words of a column in these rows, sorted.
std::vector<std::string> words_in(const RawColumn& column, std::span<const int64_t> rows) {
  std::set<size_t> found;
  for (const int64_t row : rows) {
    const double value = column.values[static_cast<size_t>(row)];
    if (!std::isnan(value)) found.insert(static_cast<size_t>(value));
  }
  std::vector<std::string> words;
  for (const size_t word : found) words.push_back(column.words[word]);
  sort_words(words, column.reading.style);
  return words;
}

TableColumn format_of_numbers(const RawColumn& column, std::span<const int64_t> rows) {
  TableColumn format{.name = column.name, .reading = column.reading};
  double sum = 0, count = 0;
  for (const int64_t row : rows) {
    const double value = column.values[static_cast<size_t>(row)];
    if (!std::isnan(value)) sum += value, ++count;
  }
  if (count == 0) return format;
  format.mean = sum / count;
  double squares = 0;
  for (const int64_t row : rows) {
    const double value = column.values[static_cast<size_t>(row)];
    if (!std::isnan(value)) squares += (value - format.mean) * (value - format.mean);
  }
  const double deviation = std::sqrt(squares / count);
  // Below that it is the rounding of the mean.
  if (std::isfinite(deviation) && deviation > 1e-12 * std::fabs(format.mean))
    format.standard_deviation = deviation;
  return format;
}

// For each word of the raw column its place in `wanted`, or -1.
std::vector<int64_t> places_of_words(const RawColumn& column, const std::vector<std::string>& wanted) {
  const WordIndex places({.name = column.name, .reading = column.reading, .words = wanted});
  std::vector<int64_t> result;
  for (const std::string& word : column.words) {
    const std::optional<size_t> found = places.find(word);
    result.push_back(found ? static_cast<int64_t>(*found) : -1);
  }
  return result;
}

[[noreturn]] void refuse_missing(const RawTable& table, const std::string& name, int64_t row,
                                 bool is_target) {
  refuse_table(table.path,
               fmt::format("{}, row {}: the value is missing{}", in_column(name), row + 1,
                           is_target ? "; remove the row, for a target cannot be made up"
                                     : "; data.missing: mean fills in the mean of the training examples"));
}

// Returns a line about words that are none of the categories; empty: there are none.
std::string encode_input(const RawTable& table, const TableColumn& format, bool fills, float* out,
                         int64_t stride) {
  const RawColumn& column = column_named(table, format.name);
  const std::vector<int64_t> places = places_of_words(column, format.categories);
  int64_t unknown = 0, first_unknown = 0;
  for (int64_t row = 0; row < table.rows; ++row, out += stride) {
    const double value = column.values[static_cast<size_t>(row)];
    if (std::isnan(value)) {
      if (!fills) refuse_missing(table, format.name, row, false);
      continue;  // 0: the mean, or none of the categories
    }
    if (format.is_number()) {
      *out = static_cast<float>((value - format.mean) / format.standard_deviation);
    } else if (value != kUnknownWord && places[static_cast<size_t>(value)] >= 0) {
      out[places[static_cast<size_t>(value)]] = 1;
    } else if (unknown++ == 0) {
      first_unknown = row;
    }
  }
  if (unknown == 0) return "";
  const double first = column.values[static_cast<size_t>(first_unknown)];
  const std::string& word =
      first == kUnknownWord ? column.unknown_word : column.words[static_cast<size_t>(first)];
  return fmt::format(
      "{}, {} of {}: a word that no training example has, such as '{}' (row {}); it counts as none of the "
      "categories",
      in_column(format.name), with_separators(unknown), counted(table.rows, "row"), printable(word, 60),
      first_unknown + 1);
}

// What to do if a target's numbers were meant as numbers.
std::string loss_advice() {
  std::vector<std::string> losses;
  for (const std::string& name : objective_names()) {
    if (objective_info(name).targets == Targets::kNumbers) losses.push_back(name);
  }
  return "; the column holds numbers: to predict them, and no classes, use train.loss: " +
         join(losses, " or ");
}

at::Tensor encode_classes(const RawTable& table, const TableFormat& format) {
  const RawColumn& column = column_named(table, format.targets.front());
  const std::vector<int64_t> places = places_of_words(column, format.classes);
  at::Tensor labels = at::empty({table.rows}, at::kLong);
  int64_t* out = labels.mutable_data_ptr<int64_t>();
  for (int64_t row = 0; row < table.rows; ++row) {
    const double value = column.values[static_cast<size_t>(row)];
    if (std::isnan(value)) refuse_missing(table, column.name, row, true);
    const int64_t place = places[static_cast<size_t>(value)];
    if (place < 0)
      refuse_table(table.path, fmt::format("{}, row {}: '{}' is not a class of the training examples{}",
                                           in_column(column.name), row + 1,
                                           printable(column.words[static_cast<size_t>(value)], 60),
                                           column.reading.kind == CellKind::kNumber ? loss_advice() : ""));
    out[row] = place;
  }
  return labels;
}

at::Tensor encode_numbers(const RawTable& table, const TableFormat& format) {
  at::Tensor targets = at::empty({table.rows, std::ssize(format.targets)}, at::kDouble);
  double* out = targets.mutable_data_ptr<double>();
  for (const std::string& name : format.targets) {
    const RawColumn& column = column_named(table, name);
    double* to = out++;
    for (int64_t row = 0; row < table.rows; ++row, to += std::ssize(format.targets)) {
      *to = column.values[static_cast<size_t>(row)];
      if (std::isnan(*to)) refuse_missing(table, name, row, true);
    }
  }
  return targets;
}

constexpr const char* kAdvice = ", or say that it means a missing value with data.missing_values";
constexpr size_t kMostRefusals = 5;  // columns in a message

[[noreturn]] void refuse_columns(const std::filesystem::path& path, std::vector<std::string> refusals) {
  const int64_t more = std::ssize(refusals) - static_cast<int64_t>(kMostRefusals);
  if (more > 0) {
    refusals.resize(kMostRefusals);
    refusals.push_back(fmt::format("and {} more", counted(more, "column")));
  }
  refuse_table(path, join(refusals, "\n  "));
}

// The columns of a table that was counted, ready to be read.
std::vector<Chosen> choose_columns(const std::filesystem::path& path, const CountedTable& table,
                                   const TableWish& wish) {
  std::vector<Chosen> chosen;
  std::vector<std::string> refusals;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const CountedColumn& column = table.columns[i];
    const DecidedColumn& decided = table.decided.columns[i];
    if (!decided.refusal.empty()) refusals.push_back(decided.refusal);
    const bool is_word = decided.reading.kind == CellKind::kWord;
    chosen.push_back({.place = column.place,
                      .column = {.name = column.name, .reading = decided.reading, .is_number = !is_word}});
    if (!wish.predicts(column.name)) continue;
    chosen.back().is_target = true;
    if (wish.classes) {
      chosen.back().column.is_number = false;
    } else if (is_word) {
      const CellSort* const word = column.counts.first_other({});
      refusals.push_back(fmt::format(
          "{} has words{}, and the loss takes numbers; use train.loss: cross_entropy", in_column(column.name),
          word ? fmt::format(", such as '{}' in row {}", printable(word->cell, 60), word->row) : ""));
    }
  }
  if (!refusals.empty()) refuse_columns(path, std::move(refusals));
  return chosen;
}

std::vector<std::string> warnings_of(const CountedTable& table, const TableWish& wish) {
  std::vector<std::string> warnings = table.decided.warnings;
  for (const CountedColumn& column : table.columns) {
    if (!column.numbers_rows_from || !column.kind.empty() || wish.predicts(column.name)) continue;
    const int64_t first = *column.numbers_rows_from;
    warnings.push_back(
        fmt::format("{} only numbers the rows ({}, {}, {}, ...), so that it says nothing about new ones; {} "
                    "leaves it out",
                    in_column(column.name), first, first + 1, first + 2,
                    "data.ignore: " + yaml_text(nlohmann::ordered_json::array({column.name}))));
  }
  return warnings;
}

}  // namespace

RawTable read_raw_table(const std::filesystem::path& path, const TableWish& wish) {
  const CountedTable counted = count_table(path, wish);
  RawTable table = read_columns(path, {wish.separator_choice(), wish.missing_values, kAdvice},
                                [&](const CsvRow&) { return choose_columns(path, counted, wish); });
  table.warnings = warnings_of(counted, wish);
  return table;
}

RawTable read_raw_table(const std::filesystem::path& path, const TableFormat& format, bool with_targets) {
  const auto choose = [&](const CsvRow& header) {
    const std::map<std::string, size_t> places = places_of(path, header);
    std::vector<Chosen> chosen;
    for (const TableColumn& column : format.inputs)
      chosen.push_back({place_of_column(path, places, column.name),
                        {.name = column.name,
                         .reading = column.reading,
                         .is_number = column.is_number(),
                         .words = column.categories},
                        /*adds_words=*/false});
    for (size_t i = 0; with_targets && i < format.targets.size(); ++i) {
      const std::string& name = format.targets[i];
      chosen.push_back({place_of_column(path, places, name),
                        {.name = name,
                         .reading = format.target_readings[i],
                         .is_number = format.classes.empty(),
                         .words = format.classes}});
    }
    return chosen;
  };
  return read_columns(path, {{format.separator}, format.missing_values, ""}, choose);
}

TableFormat make_table_format(const RawTable& table, const TableWish& wish,
                              std::span<const int64_t> training) {
  TableFormat format;
  format.targets = wish.targets;
  format.fills_missing = wish.fills_missing;
  format.missing_values = wish.missing_values;
  format.separator = table.separator;
  for (const std::string& name : wish.targets)
    format.target_readings.push_back(column_named(table, name).reading);
  for (const RawColumn& column : table.columns) {
    if (wish.predicts(column.name)) continue;
    if (column.is_number) {
      format.inputs.push_back(format_of_numbers(column, training));
    } else {
      format.inputs.push_back(
          {.name = column.name, .reading = column.reading, .categories = words_in(column, training)});
    }
  }
  if (wish.classes) format.classes = words_in(column_named(table, wish.targets.front()), training);
  const int64_t width = format.width();
  if (width == 0) refuse_table(table.path, "has no columns besides the targets and those of data.ignore");
  if (width > kMaxTableInputs)
    refuse_table(table.path, fmt::format("makes {} inputs, words one for each category; at most {}",
                                         with_separators(width), with_separators(kMaxTableInputs)));
  return format;
}

TableTensors encode_table(const RawTable& table, const TableFormat& format, bool with_targets) {
  const int64_t width = format.width();
  if (table.rows > 2 * kMaxTableCells / width)
    refuse_table(table.path,
                 fmt::format("makes {} rows of {} inputs, more than {} numbers", with_separators(table.rows),
                             with_separators(width), with_separators(2 * kMaxTableCells)));
  TableTensors tensors;
  tensors.inputs = at::zeros({table.rows, width}, at::kFloat);
  float* out = tensors.inputs.mutable_data_ptr<float>();
  for (const TableColumn& column : format.inputs) {
    std::string unknown = encode_input(table, column, format.fills_missing, out, width);
    if (!unknown.empty()) tensors.unknown_words.push_back(std::move(unknown));
    out += column.width();
  }
  if (with_targets)
    tensors.targets = format.classes.empty() ? encode_numbers(table, format) : encode_classes(table, format);
  return tensors;
}

}  // namespace dtrain
