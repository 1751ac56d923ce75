#include "tables/csv_table.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>

#include "core/error.h"
#include "core/text.h"
#include "tables/csv_cell.h"
#include "tables/csv_file.h"

namespace dtrain {
namespace {

constexpr double kMissingCell = std::numeric_limits<double>::quiet_NaN();
constexpr double kUnknownWord = -1;  // of a cell whose word is not among the column's

[[noreturn]] void refuse_table(const std::filesystem::path& path, const std::string& what) {
  throw Error(ExitCode::kData, fmt::format("{}: {}", printable(path.string(), 1000), what));
}

std::string in_column(const std::string& name) { return fmt::format("column '{}'", printable(name, 100)); }

// Which columns are read, by their places in the file.
struct Chosen {
  size_t place = 0;
  RawColumn column;
  bool adds_words = true;  // otherwise a new word is kUnknownWord
  bool is_target = false;
};

std::map<std::string, size_t> places_of(const std::filesystem::path& path, const CsvRow& header) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < header.size(); ++i) {
    if (header[i].empty())
      refuse_table(
          path, fmt::format("the header has no name for column {}; give it one (pandas: to_csv(index=False))",
                            i + 1));
    if (!places.emplace(header[i], i).second)
      refuse_table(path, fmt::format("two columns are named '{}'", printable(header[i], 100)));
  }
  return places;
}

size_t place_of_column(const std::filesystem::path& path, const std::map<std::string, size_t>& places,
                       const std::string& name) {
  const auto found = places.find(name);
  if (found != places.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, place] : places) names.push_back(known);
  refuse_table(path, fmt::format("there is no {}{}", in_column(name), did_you_mean(name, names)));
}

// Reads the cells of the columns that `choose` names, given the header.
RawTable read_columns(const std::filesystem::path& path,
                      const std::function<std::vector<Chosen>(const CsvRow& header)>& choose) {
  RawTable table;
  table.path = path;
  std::vector<Chosen> chosen;
  std::vector<std::unordered_map<std::string, size_t>> words;
  const auto begin = [&](const CsvRow& header) {
    chosen = choose(header);
    words.resize(chosen.size());
    for (size_t i = 0; i < chosen.size(); ++i) {
      for (const std::string& word : chosen[i].column.words) words[i].emplace(word, words[i].size());
    }
  };
  const auto value_of = [&](size_t index, const std::string& cell, int64_t row) -> double {
    RawColumn& column = chosen[index].column;
    if (is_missing_cell(cell)) return kMissingCell;
    if (column.is_number) {
      const std::optional<double> number = number_in_cell(cell);
      if (!number || !std::isfinite(*number))
        refuse_table(path, fmt::format("{}, row {}: '{}' is not a finite number", in_column(column.name), row,
                                       printable(cell, 60)));
      return *number;
    }
    const auto known = words[index].find(cell);
    if (known != words[index].end()) return static_cast<double>(known->second);
    if (!chosen[index].adds_words) return kUnknownWord;
    if (column.words.size() >= kMaxCategories)
      refuse_table(
          path, fmt::format("{} has more than {} different values, which are no {}", in_column(column.name),
                            kMaxCategories,
                            chosen[index].is_target
                                ? "classes; if it is a number to predict, use train.loss: mean_squared_error"
                                : "categories; leave it out with data.ignore"));
    words[index].emplace(cell, column.words.size());
    column.words.push_back(cell);
    return static_cast<double>(column.words.size() - 1);
  };
  read_csv(path, [&](int64_t number, const CsvRow& row) {
    if (number == 0) return begin(row);
    table.rows = number;
    if (number * std::ssize(chosen) > kMaxTableCells)
      refuse_table(path, fmt::format("has more than {} cells", with_separators(kMaxTableCells)));
    for (size_t i = 0; i < chosen.size(); ++i)
      chosen[i].column.values.push_back(value_of(i, row[chosen[i].place], number));
  });
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

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Sorted by their values if all are numbers, otherwise as text.
void sort_words(std::vector<std::string>& words) {
  const bool numbers = std::all_of(words.begin(), words.end(),
                                   [](const auto& word) { return number_in_cell(word).has_value(); });
  std::sort(words.begin(), words.end(), [numbers](const std::string& a, const std::string& b) {
    if (numbers && *number_in_cell(a) != *number_in_cell(b)) return *number_in_cell(a) < *number_in_cell(b);
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
  sort_words(words);
  return words;
}

TableColumn format_of_numbers(const RawColumn& column, std::span<const int64_t> rows) {
  TableColumn format{.name = column.name};
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
  std::unordered_map<std::string, int64_t> places;
  for (const std::string& word : wanted) places.emplace(word, std::ssize(places));
  std::vector<int64_t> result;
  for (const std::string& word : column.words) {
    const auto found = places.find(word);
    result.push_back(found == places.end() ? -1 : found->second);
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

void encode_input(const RawTable& table, const TableColumn& format, bool fills, float* out, int64_t stride) {
  const RawColumn& column = column_named(table, format.name);
  const std::vector<int64_t> places = places_of_words(column, format.categories);
  for (int64_t row = 0; row < table.rows; ++row, out += stride) {
    const double value = column.values[static_cast<size_t>(row)];
    if (std::isnan(value)) {
      if (!fills) refuse_missing(table, format.name, row, false);
      continue;  // 0: the mean, or none of the categories
    }
    if (format.is_number) {
      *out = static_cast<float>((value - format.mean) / format.standard_deviation);
    } else if (value != kUnknownWord && places[static_cast<size_t>(value)] >= 0) {
      out[places[static_cast<size_t>(value)]] = 1;
    }
  }
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
      refuse_table(table.path, fmt::format("{}, row {}: '{}' is not a class of the training examples",
                                           in_column(column.name), row + 1,
                                           printable(column.words[static_cast<size_t>(value)], 60)));
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

// Finds out which columns hold words.
std::vector<Chosen> choose_columns(const std::filesystem::path& path, const TableWish& wish) {
  std::vector<Chosen> chosen;
  read_csv(path, [&](int64_t number, const CsvRow& row) {
    if (number > 0) {
      for (Chosen& one : chosen) {
        const std::string& cell = row[one.place];
        if (one.column.is_number && !number_in_cell(cell) && !is_missing_cell(cell))
          one.column.is_number = false;
      }
      return;
    }
    const std::map<std::string, size_t> places = places_of(path, row);
    for (const auto* names : {&wish.targets, &wish.ignored}) {
      for (const std::string& name : *names) place_of_column(path, places, name);
    }
    for (size_t i = 0; i < row.size(); ++i) {
      if (!is_in(wish.ignored, row[i])) chosen.push_back({i, {.name = row[i]}});
    }
  });
  for (Chosen& one : chosen) {
    if (!is_in(wish.targets, one.column.name)) continue;
    one.is_target = true;
    if (wish.classes) {
      one.column.is_number = false;
    } else if (!one.column.is_number) {
      refuse_table(path,
                   fmt::format("{} has words, and the loss takes numbers; use train.loss: cross_entropy",
                               in_column(one.column.name)));
    }
  }
  return chosen;
}

}  // namespace

RawTable read_raw_table(const std::filesystem::path& path, const TableWish& wish) {
  return read_columns(path, [&](const CsvRow&) { return choose_columns(path, wish); });
}

RawTable read_raw_table(const std::filesystem::path& path, const TableFormat& format, bool with_targets) {
  const auto choose = [&](const CsvRow& header) {
    const std::map<std::string, size_t> places = places_of(path, header);
    std::vector<Chosen> chosen;
    for (const TableColumn& column : format.inputs)
      chosen.push_back({place_of_column(path, places, column.name),
                        {.name = column.name, .is_number = column.is_number, .words = column.categories},
                        /*adds_words=*/false});
    if (with_targets) {
      for (const std::string& name : format.targets)
        chosen.push_back({place_of_column(path, places, name),
                          {.name = name, .is_number = format.classes.empty(), .words = format.classes}});
    }
    return chosen;
  };
  return read_columns(path, choose);
}

TableFormat make_table_format(const RawTable& table, const TableWish& wish,
                              std::span<const int64_t> training) {
  TableFormat format;
  format.targets = wish.targets;
  format.fills_missing = wish.fills_missing;
  for (const RawColumn& column : table.columns) {
    if (is_in(wish.targets, column.name)) continue;
    if (column.is_number) {
      format.inputs.push_back(format_of_numbers(column, training));
    } else {
      format.inputs.push_back(
          {.name = column.name, .is_number = false, .categories = words_in(column, training)});
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
    encode_input(table, column, format.fills_missing, out, width);
    out += column.width();
  }
  if (with_targets)
    tensors.targets = format.classes.empty() ? encode_numbers(table, format) : encode_classes(table, format);
  return tensors;
}

}  // namespace dtrain
