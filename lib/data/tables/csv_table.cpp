#include "tables/csv_table.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/data_errors.h"
#include "core/parallel.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "csv/csv_file.h"
#include "host/cores.h"
#include "tables/growing_columns.h"
#include "traits/objectives.h"
#include "yaml/yaml_text.h"

namespace dtrain {
namespace {

constexpr int64_t kRowsAtOnce = 1024;

// Reads the cells of the columns that `choose` names, given the header.
RawTable read_columns(const std::filesystem::path& path, const CellRules& rules,
                      const std::function<std::vector<Chosen>(const CsvRow& header)>& choose) {
  std::optional<GrowingColumns> columns;
  const auto begin = [&](const CsvRow& header) { columns.emplace(path, rules, choose(header)); };
  const auto read = [&](const CsvRows& rows) -> std::function<void()> {
    return [&columns, some = columns->read(rows), count = rows.size()] { columns->add(some, count); };
  };
  const char separator = read_csv(path, begin, read, rules.separator);
  return columns->finished(separator);
}

// Reads them from Parquet files, each column by one thread. Of several errors it is that of the first column.
RawTable read_columns(const std::filesystem::path& path, const ParquetTable& file, const CellRules& rules,
                      std::vector<Chosen> chosen) {
  GrowingColumns columns(path, rules, std::move(chosen));
  columns.expect_rows(file.rows(), file.bytes());
  std::vector<std::exception_ptr> failures(columns.chosen().size());
  for_each_in_threads(std::ssize(failures), available_cores(), [&](int64_t at) {
    const auto index = static_cast<size_t>(at);
    const Chosen& one = columns.chosen()[index];
    try {
      file.read(one.place, /*as_words=*/!one.column.is_number,
                [&](const std::filesystem::path& part, const ParquetCells& cells, int64_t first) {
                  columns.add_cells(index, part, cells, first);
                });
    } catch (...) {
      failures[index] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return columns.finished(/*separator=*/',');
}

const RawColumn& column_named(const RawTable& table, const std::string& name) {
  for (const RawColumn& column : table.columns) {
    if (column.name == name) return column;
  }
  refuse_file(table.path, "there is no " + in_column(name));
}

// Sorted by their values if all are numbers, otherwise as text.
void sort_words(std::vector<std::string>& words, NumberStyle style) {
  const auto number = [style](const std::string& word) { return number_in_cell(word, style); };
  const bool numbers = std::ranges::all_of(words, [&](const auto& word) { return number(word).has_value(); });
  std::ranges::sort(words, [&](const std::string& a, const std::string& b) {
    if (numbers && *number(a) != *number(b)) return *number(a) < *number(b);
    return a < b;
  });
}

// The words of a column in these rows, sorted.
std::vector<std::string> words_in(const RawColumn& column, std::span<const int64_t> rows) {
  std::vector<char> found(column.words.size());
  for (const int64_t row : rows) {
    const double value = column.values[static_cast<size_t>(row)];
    if (!std::isnan(value)) found[static_cast<size_t>(value)] = 1;
  }
  std::vector<std::string> words;
  for (size_t word = 0; word < found.size(); ++word)
    if (found[word] != 0) words.push_back(column.words[word]);
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
  const WordIndex places(column.reading, wanted);
  std::vector<int64_t> result;
  for (const std::string& word : column.words) {
    const std::optional<size_t> found = places.find(word);
    result.push_back(found ? static_cast<int64_t>(*found) : -1);
  }
  return result;
}

[[noreturn]] void refuse_missing(const RawTable& table, const std::string& name, int64_t row,
                                 bool is_target) {
  refuse_file(table.path, "{}, row {}: the value is missing{}", in_column(name), row + 1,
              is_target ? "; remove the row, for a target cannot be made up"
                        : "; data.missing: mean fills in the mean of the training examples");
}

// An input column of a table, as it becomes inputs.
struct InputColumn {
  const TableColumn& format;
  const RawColumn& column;
  std::vector<int64_t> places;  // of the column's words among the inputs
  int64_t first;                // of the inputs

  double standardised(double value) const { return (value - format.mean) / format.standard_deviation; }
  // Of a word; -1: it is none of the categories.
  int64_t place_of(double word) const {
    return word == kUnknownWord ? -1 : places[static_cast<size_t>(word)];
  }
};

// Returns false for a number that has none in float32.
bool encode_cell(const InputColumn& input, size_t row, float* out) {
  const double value = input.column.values[row];
  if (input.format.is_number()) {
    *out = std::isnan(value) ? 0.0F /* the mean */ : static_cast<float>(input.standardised(value));
    return std::isfinite(*out);
  }
  std::fill_n(out, input.format.width(), 0.0F);  // none of the categories
  const int64_t place = std::isnan(value) ? -1 : input.place_of(value);
  if (place >= 0) out[place] = 1;
  return true;
}

// Refuses numbers that are infinite in float32 once they are standardised: a code for missing values, such as
// -1.8e308, makes all of its column so.
void require_in_range(const RawTable& table, const InputColumn& input) {
  const std::vector<double>& values = input.column.values;
  const auto is_in_range = [&](double value) {
    return std::isnan(value) || std::fabs(input.standardised(value)) <= std::numeric_limits<float>::max();
  };
  if (!input.format.is_number() || std::ranges::all_of(values, is_in_range)) return;
  const auto largest = std::ranges::max_element(
      values, {}, [](double value) { return std::isnan(value) ? 0 : std::fabs(value); });
  refuse_file(table.path,
              "{}, row {}: {} is too large to be standardised with the others; if it means a missing value, "
              "name it in data.missing_values, as it is in the file",
              in_column(input.format.name), largest - values.begin() + 1, *largest);
}

// A line about words that are none of the categories; empty: there are none.
std::string unknown_words_in(const InputColumn& input) {
  if (input.format.is_number()) return "";
  const std::vector<double>& values = input.column.values;
  const auto is_unknown = [&](double value) { return !std::isnan(value) && input.place_of(value) < 0; };
  const auto first = std::ranges::find_if(values, is_unknown);
  if (first == values.end()) return "";
  const std::string& word =
      *first == kUnknownWord ? input.column.unknown_word : input.column.words[static_cast<size_t>(*first)];
  return fmt::format(
      "{}, {} of {}: a word that no training example has, such as '{}' (row {}); it counts as none of the "
      "categories",
      in_column(input.format.name), with_separators(std::count_if(first, values.end(), is_unknown)),
      counted(std::ssize(values), "row"), printable(word, 60), first - values.begin() + 1);
}

// Returns the lines of unknown_words_in().
std::vector<std::string> encode_inputs(const RawTable& table, const TableFormat& format, float* out) {
  std::vector<InputColumn> inputs;
  int64_t width = 0;
  for (const TableColumn& one : format.inputs) {
    const RawColumn& column = column_named(table, one.name);
    inputs.push_back({one, column, places_of_words(column, one.categories), width});
    width += one.width();
  }
  std::vector<std::string> unknown(inputs.size());
  std::vector<int64_t> missing(inputs.size());  // the first row of each
  for_each_in_threads(std::ssize(inputs), available_cores(), [&](int64_t i) {
    const auto place = static_cast<size_t>(i);
    const std::vector<double>& values = inputs[place].column.values;
    missing[place] =
        std::ranges::find_if(values, [](double value) { return std::isnan(value); }) - values.begin();
    unknown[place] = unknown_words_in(inputs[place]);
  });
  for (size_t i = 0; !format.fills_missing && i < inputs.size(); ++i)
    if (missing[i] < table.rows) refuse_missing(table, inputs[i].format.name, missing[i], false);
  std::erase(unknown, "");
  const int64_t blocks = (table.rows + kRowsAtOnce - 1) / kRowsAtOnce;
  std::atomic<bool> all_finite = true;
  for_each_in_threads(blocks, available_cores(), [&](int64_t block) {
    const int64_t end = std::min(table.rows, (block + 1) * kRowsAtOnce);
    bool finite = true;
    for (const InputColumn& input : inputs) {
      for (int64_t row = block * kRowsAtOnce; row < end; ++row)
        finite &= encode_cell(input, static_cast<size_t>(row), out + row * width + input.first);
    }
    if (!finite) all_finite = false;
  });
  if (!all_finite)
    for (const InputColumn& input : inputs) require_in_range(table, input);
  return unknown;
}

// What to do if a target's numbers were meant as numbers.
std::string loss_advice() {
  return "; the column holds numbers: to predict them, and no classes, use train.loss: " +
         join(objectives_for(Targets::kNumbers), " or ");
}

void encode_classes(const RawTable& table, const TableFormat& format, int64_t* out) {
  const RawColumn& column = column_named(table, format.targets.front());
  const std::vector<int64_t> places = places_of_words(column, format.classes);
  for (int64_t row = 0; row < table.rows; ++row) {
    const double value = column.values[static_cast<size_t>(row)];
    if (std::isnan(value)) refuse_missing(table, column.name, row, true);
    const int64_t place = places[static_cast<size_t>(value)];
    if (place < 0)
      refuse_file(table.path, "{}, row {}: '{}' is not a class of the training examples{}",
                  in_column(column.name), row + 1, printable(column.words[static_cast<size_t>(value)], 60),
                  column.reading.kind == CellKind::kNumber ? loss_advice() : "");
    out[row] = place;
  }
}

void encode_numbers(const RawTable& table, const TableFormat& format, double* out) {
  for (const std::string& name : format.targets) {
    const RawColumn& column = column_named(table, name);
    double* to = out++;
    for (int64_t row = 0; row < table.rows; ++row, to += std::ssize(format.targets)) {
      *to = column.values[static_cast<size_t>(row)];
      if (std::isnan(*to)) refuse_missing(table, name, row, true);
    }
  }
}

constexpr const char* kAdvice = ", or say that it means a missing value with data.missing_values";
constexpr size_t kMostRefusals = 5;  // columns in a message

[[noreturn]] void refuse_columns(const std::filesystem::path& path, std::vector<std::string> refusals) {
  const int64_t more = std::ssize(refusals) - static_cast<int64_t>(kMostRefusals);
  if (more > 0) {
    refusals.resize(kMostRefusals);
    refusals.push_back(fmt::format("and {} more", counted(more, "column")));
  }
  refuse_file(path, join(refusals, "\n  "));
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
  require_cells(path, table.rows, std::ssize(chosen));  // before they are read once more
  return chosen;
}

// Whether its numbers are 0, 1, 2, ... or 1, 2, 3, ...
bool numbers_rows(const RawColumn& column) {
  const std::vector<double>& values = column.values;
  if (!column.is_number || std::ssize(values) < kFewestNumbered || (values[0] != 0 && values[0] != 1))
    return false;
  for (size_t row = 1; row < values.size(); ++row) {
    if (values[row] != values[0] + static_cast<double>(row)) return false;
  }
  return true;
}

void warn_of_numbered_rows(RawTable& table, const TableWish& wish) {
  for (const RawColumn& column : table.columns) {
    if (wish.kinds.contains(column.name) || wish.predicts(column.name) || !numbers_rows(column)) continue;
    const auto first = static_cast<int64_t>(column.values[0]);
    table.warnings.push_back(
        fmt::format("{} only numbers the rows ({}, {}, {}, ...), so that it says nothing about new ones; {} "
                    "leaves it out, and data.id repeats it in predictions",
                    in_column(column.name), first, first + 1, first + 2,
                    "data.ignore: " + yaml_text(nlohmann::ordered_json::array({column.name}))));
  }
}

// Which columns of a file a model takes.
std::vector<Chosen> choose_columns(const std::filesystem::path& path, const CsvRow& header,
                                   const TableFormat& format, bool with_targets) {
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
}

}  // namespace

RawTable read_raw_table(const TablePath& path, const TableWish& wish) {
  RawTable table;
  if (is_parquet(path.files.front())) {
    const ParquetTable file(path.files);
    const CountedTable counted = count_table(path.name, file, wish);
    table = read_columns(path.name, file, {{}, wish.missing_values, kAdvice},
                         choose_columns(path.name, counted, wish));
  } else {
    const CountedTable counted = count_table(path.name, wish);
    const auto choose = [&](const CsvRow& header) {
      require_same_header(path.name, counted, header);
      return choose_columns(path.name, counted, wish);
    };
    table = read_columns(path.name, {wish.separator_choice(), wish.missing_values, kAdvice}, choose);
    table.warnings = counted.decided.warnings;
  }
  warn_of_numbered_rows(table, wish);
  return table;
}

RawTable read_raw_table(const TablePath& path, const TableFormat& format, bool with_targets) {
  const CellRules rules{{format.separator}, format.missing_values, ""};
  const auto choose = [&](const CsvRow& header) {
    return choose_columns(path.name, header, format, with_targets);
  };
  if (!is_parquet(path.files.front())) return read_columns(path.name, rules, choose);
  const ParquetTable file(path.files);
  const std::vector<Chosen> chosen = choose(names_of(file));
  for (const Chosen& one : chosen) {
    const std::string refusal = refusal_of(file.columns()[one.place], one.column.reading.kind);
    if (!refusal.empty()) refuse_file(path.name, refusal);
  }
  return read_columns(path.name, file, rules, chosen);
}

CsvRow table_header(const TablePath& path) {
  if (is_parquet(path.files.front())) return names_of(ParquetTable(path.files));
  CsvRow names;
  read_csv(
      path.name, [&](const CsvRow& header) { names = header; }, [](const CsvRows&) { return [] {}; });
  return names;
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
  std::vector<const RawColumn*> inputs;
  for (const RawColumn& column : table.columns) {
    if (!wish.predicts(column.name)) inputs.push_back(&column);
  }
  format.inputs.resize(inputs.size());
  for_each_in_threads(std::ssize(inputs), available_cores(), [&](int64_t at) {
    const RawColumn& column = *inputs[static_cast<size_t>(at)];
    TableColumn& input = format.inputs[static_cast<size_t>(at)];
    if (column.is_number) {
      input = format_of_numbers(column, training);
    } else {
      input = {.name = column.name, .reading = column.reading, .categories = words_in(column, training)};
    }
  });
  if (wish.classes) format.classes = words_in(column_named(table, wish.targets.front()), training);
  const int64_t width = format.width();
  if (width == 0) refuse_file(table.path, "has no columns besides the targets and those of data.ignore");
  if (width > kMaxTableInputs)
    refuse_file(table.path, "makes {} inputs, words one for each category; at most {}",
                with_separators(width), with_separators(kMaxTableInputs));
  return format;
}

TableTensors encode_table(const RawTable& table, const TableFormat& format, bool with_targets,
                          const MakeTensor& make_tensor) {
  const int64_t width = format.width();
  if (table.rows > 2 * kMaxTableCells / width)
    refuse_file(table.path, "makes {} rows of {} inputs, more than {} numbers", with_separators(table.rows),
                with_separators(width), with_separators(2 * kMaxTableCells));
  const auto make = [&](at::IntArrayRef shape, at::ScalarType type) {
    return make_tensor ? make_tensor(shape, type) : at::empty(shape, type);
  };
  TableTensors tensors;
  tensors.inputs = make({table.rows, width}, at::kFloat);
  tensors.unknown_words = encode_inputs(table, format, tensors.inputs.mutable_data_ptr<float>());
  if (!with_targets) return tensors;
  if (format.classes.empty()) {
    tensors.targets = make({table.rows, std::ssize(format.targets)}, at::kDouble);
    encode_numbers(table, format, tensors.targets.mutable_data_ptr<double>());
  } else {
    tensors.targets = make({table.rows}, at::kLong);
    encode_classes(table, format, tensors.targets.mutable_data_ptr<int64_t>());
  }
  return tensors;
}

}  // namespace dtrain
