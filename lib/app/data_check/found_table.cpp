// A table in a CSV file or in Parquet files.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <system_error>

#include "core/data_errors.h"
#include "core/text.h"
#include "csv/csv_file.h"
#include "data/table_dataset.h"
#include "data_check/found_data.h"
#include "parquet/parquet_file.h"
#include "tables/counted_table.h"
#include "tables/csv_summary.h"
#include "tables/csv_table.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// What people call the column that is to be predicted, the most telling names first.
constexpr std::array kTargetNames = {"target",  "label",    "labels",    "class",  "y",
                                     "outcome", "category", "species",   "price",  "saleprice",
                                     "score",   "survived", "diagnosis", "quality"};
// And one that numbers the rows.
constexpr std::array kNumberNames = {"id", "index", "row", "rowid", "rownumber", "number", "no", "unnamed:0"};
// More different whole numbers than that are amounts, and not classes; so are fewer rows for each.
constexpr int64_t kMostWholeClasses = 20;
constexpr int64_t kRowsOfAClass = 10;
constexpr size_t kMostNamed = 20;  // columns in a comment

std::string plain_name(const std::string& name) {
  std::string plain = in_lower_case(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '_' || c == '-'; });
  return plain;
}

bool is_too_varied(const ColumnSummary& column) {
  return !column.is_number() && (column.many || column.different > static_cast<int64_t>(kMaxCategories));
}

using Columns = std::vector<const ColumnSummary*>;

// The column to predict, and why.
std::pair<const ColumnSummary*, std::string> choose_target(const CsvSummary& summary) {
  for (const char* name : kTargetNames) {
    for (const ColumnSummary& column : summary.columns) {
      if (plain_name(column.name) == name) return {&column, "chosen by its name"};
    }
  }
  for (auto column = summary.columns.rbegin(); column != summary.columns.rend(); ++column) {
    const bool varies = column->many || column->different > 1;
    const bool whole = column->missing == 0 && column->odd.empty() && column->reading.kind != CellKind::kDate;
    if (whole && varies && !is_too_varied(*column))
      return {&*column,
              column == summary.columns.rbegin() ? "as the last one" : "as the last one that can be"};
  }
  return {&summary.columns.back(), "as the last one"};
}

Columns columns_named(const fs::path& file, const CsvSummary& summary,
                      const std::vector<std::string>& names) {
  Columns columns;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < summary.columns.size(); ++i) places[summary.columns[i].name] = i;
  for (const std::string& name : names) {
    columns.push_back(&summary.columns[place_of_column(file, places, name)]);
    if (names.size() > 1 && !columns.back()->is_number())
      refuse_file(file, "the column '{}' holds words, and several targets are numbers; name one --target",
                  printable(name, 100));
  }
  return columns;
}

bool names_classes(const ColumnSummary& target, int64_t rows) {
  if (!target.is_number()) return true;
  const bool few = (target.different <= 2 && target.different < rows) ||
                   (target.different <= kMostWholeClasses && target.different * kRowsOfAClass <= rows);
  return target.is_whole && !target.many && few;
}

// Columns that say which row it is, and nothing about it.
bool identifies(const ColumnSummary& column, int64_t rows) {
  const bool all_differ = column.many || column.different == rows;
  if (column.reading.kind == CellKind::kDate) return false;
  if (column.is_number()) {
    const bool has_name = std::ranges::count(kNumberNames, plain_name(column.name)) > 0;
    return column.numbers_rows || (column.is_whole && all_differ && has_name);
  }
  return is_too_varied(column) || (all_differ && rows > kRowsOfAClass);
}

std::string names_of(const CsvSummary& summary) {
  std::vector<std::string> names;
  for (const ColumnSummary& column : summary.columns) names.push_back(printable(column.name, 60));
  if (names.size() <= kMostNamed) return join(names);
  names.resize(kMostNamed);
  return join(names) + ", ...";
}

bool is_table_name(const fs::path& path) {
  std::string name = in_lower_case(path.filename().string());
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".csv") || name.ends_with(".tsv") || name.ends_with(".parquet");
}

// Says what settles how columns are read, and adds it to `spec`.
void say_readings(FoundData& found, DataSpec& spec, const fs::path& file, const CsvSummary& summary) {
  const auto is_target = [&](const ColumnSummary& column) { return contains(spec.target, column.name); };
  std::string first;
  for (const ColumnSummary& column : summary.columns) {
    if (column.refusal.empty()) continue;
    if (spec.dataset == "parquet" && !is_target(column)) {  // it is nested
      spec.columns[column.name] = "ignore";
      continue;
    }
    if (column.reading.kind == CellKind::kDate) {
      spec.columns[column.name] = "date";
      continue;
    }
    // A target cannot be missing, and what differs in many ways is no mistake of somebody's typing.
    if (is_target(column) || column.odd.size() > kMostOddCells) refuse_file(file, column.refusal);
    for (const OddCell& odd : column.odd) {
      const std::string what = fmt::format("column '{}', row {}: '{}'", printable(column.name, 100), odd.row,
                                           printable(odd.cell, 60));
      found.warnings.push_back(what +
                               " is no number, as the other cells are; the spec says that it means a missing "
                               "value (data.missing_values): correct it if it does not");
      if (first.empty()) first = what;
      if (!contains(spec.missing_values, odd.cell)) spec.missing_values.push_back(odd.cell);
    }
  }
  if (!spec.columns.empty())
    found.say("data.columns", spec.columns,
              spec.dataset == "parquet"
                  ? "left out: they hold no numbers, words or dates"
                  : "dates become numbers, days since 1970-01-01; words would make each of them a category");
  if (!spec.missing_values.empty())
    found.say("data.missing_values", spec.missing_values,
              fmt::format("not numbers, in columns of numbers, such as {}; dtrain treats them as missing. "
                          "Correct the table if they are mistakes",
                          first));
}

// Says which columns are left out, and what is done about missing values; adds it to `spec`.
void say_columns(FoundData& found, DataSpec& spec, const CsvSummary& summary) {
  std::string missing;
  size_t others = 0;
  for (const ColumnSummary& column : summary.columns) {
    if (contains(spec.target, column.name)) continue;
    ++others;
    if (identifies(column, summary.rows)) {
      const bool taken = spec.id || column.name == "file" || column.name == "row";
      column.is_number() && !taken ? static_cast<void>(spec.id = column.name)
                                   : spec.ignore.push_back(column.name);
    } else if ((column.missing > 0 || !column.odd.empty()) && missing.empty()) {
      missing = column.name;
    }
  }
  if (spec.ignore.size() + (spec.id ? 1 : 0) == others) {  // there is nothing else to learn from
    spec.ignore.clear();
    spec.id.reset();
  }
  if (spec.id)
    found.say(
        "data.id", *spec.id,
        "the column that numbers the rows: nothing is learnt from it, and dtrain predict repeats it, so that "
        "new rows need it too; data.ignore leaves it out everywhere");
  if (!spec.ignore.empty())
    found.say("data.ignore", spec.ignore,
              "columns that are left out: they tell the rows apart, and nothing about them; every other "
              "column becomes inputs");
  if (!missing.empty())
    found.say(
        "data.missing", "mean",
        fmt::format(
            "some values are missing, as in the column {}: the mean of the training examples takes their "
            "place",
            printable(missing, 60)));
  spec.missing = "mean";  // whether there are any or not
}

// Chooses the loss by the targets. Returns the subject of the data, for their title.
std::string say_loss(FoundData& found, const Columns& targets, const Dataset& data) {
  const ColumnSummary& target = *targets.front();
  if (targets.size() > 1) {
    const bool are_questions = std::ranges::all_of(
        targets, [](const ColumnSummary* one) { return one->is_whole && one->least >= 0 && one->most <= 1; });
    are_questions
        ? found.say("train.loss.kind", "binary_cross_entropy",
                    "for zeros and ones, each with its own probability")
        : found.say(
              "train.loss.kind", "mean_squared_error",
              "for numbers; huber counts large errors less. Numbers of about 1 are learned fastest, and "
              "larger ones count for more than the others");
    return counted(std::ssize(targets), "column") + " to predict";
  }
  if (data.info.classes == 0) {
    found.say(
        "train.loss.kind", "mean_squared_error",
        fmt::format(
            "for numbers, which are {:g} to {:g} here; huber counts large errors less. Numbers of about 1 "
            "are learned fastest",
            target.least, target.most));
    return fmt::format("{} to predict, {:g} to {:g}", printable(target.name, 60), target.least, target.most);
  }
  std::vector<int64_t> counts = count_classes(*data.train, data.info.classes);
  const std::vector<int64_t> tested = count_classes(*data.test, data.info.classes);
  for (size_t label = 0; label < counts.size(); ++label) counts[label] += tested[label];
  found.say("train.loss.kind", "cross_entropy", "for classes, one for each row");
  note_imbalance(found, counts);
  return fmt::format("{} of {}: {}", printable(target.name, 60), counted(data.info.classes, "class"),
                     class_counts_text(data.info.class_names, counts));
}

// The rate of choose_model is for targets of about 1. Adam's steps are as long as the rate, so that large
// ones would take far more steps than a first job has.
void say_rate(FoundData& found, const Columns& targets) {
  double largest = 0;
  for (const ColumnSummary* target : targets)
    largest = std::max({largest, std::abs(target->least), std::abs(target->most)});
  if (largest > 1e3)
    found.say("train.optimizer.learning_rate", largest > 1e6 ? 0.1 : 0.03,
              fmt::format(
                  "high, to reach {} as large as {:g} soon; with targets divided to about 1, 3e-3 is better",
                  targets.size() == 1 ? "a target" : "targets", largest));
}

// A table without names of columns has numbers in its first row, and loses it. Column numbers are names.
void warn_of_missing_names(FoundData& found, const CsvSummary& summary) {
  size_t numbers = 0;
  for (size_t i = 0; i < summary.columns.size(); ++i) {
    const std::string& name = summary.columns[i].name;
    char* end = nullptr;
    const double number = std::strtod(name.c_str(), &end);
    const auto place = static_cast<double>(i);
    if (!name.empty() && *end == '\0' && number != place && number != place + 1) ++numbers;
  }
  if (2 * numbers > summary.columns.size())
    found.warnings.push_back(
        fmt::format("the first row holds numbers ({}), and dtrain takes it for the names of the columns: if "
                    "it is the first example, put a row of names above it",
                    names_of(summary)));
}

// The tables of the training part and of the test, if there is one. nullopt: `place` has no table.
std::optional<TableFiles> files_at(const fs::path& place) {
  std::error_code none;
  if (!fs::is_directory(place, none)) {
    const bool is_workbook =
        place.extension() == ".xlsx" || place.extension() == ".xls";  // refused when read
    if (!is_table_name(place) && !is_workbook) return std::nullopt;
    return TableFiles{place};
  }
  std::vector<fs::path> tables = paths_in(place);  // by name
  std::erase_if(tables, [&none](const fs::path& path) {
    return path.filename().string().starts_with('.') || !is_table_name(path) ||
           !fs::is_regular_file(path, none);
  });
  if (tables.empty()) return std::nullopt;
  const bool are_parquet =
      std::ranges::all_of(tables, [](const fs::path& table) { return table.extension() == ".parquet"; });
  const auto is_train = [](const fs::path& table) {
    const std::string name = in_lower_case(table.filename().string());
    return name == "train.csv" || name == "train.csv.gz";
  };
  if (!are_parquet && std::ranges::none_of(tables, is_train)) {
    if (tables.size() == 1) return TableFiles{tables.front()};
    refuse_file(place, "{} tables, and none is named train.csv; name one of them, such as {}", tables.size(),
                printable(tables.front().string(), 1000));
  }
  DataSpec spec;
  spec.dataset = are_parquet ? "parquet" : "csv";
  spec.path = place.string();
  return table_files(spec);
}

}  // namespace

std::optional<FoundData> find_table(const fs::path& place, const std::vector<std::string>& wanted) {
  std::optional<TableFiles> files = files_at(place);
  if (!files) return std::nullopt;
  const fs::path file = files->train.name;
  const CsvSummary summary = summarise_csv(files->train);
  if (summary.rows == 0) refuse_file(file, "has a header and no rows");
  Columns targets = columns_named(file, summary, wanted);
  std::string why = "as --target says";
  if (targets.empty()) {
    const auto chosen = choose_target(summary);
    targets = {chosen.first};
    why = chosen.second;
  }
  DataSpec spec;
  spec.dataset = is_parquet(files->train.files.front()) ? "parquet" : "csv";
  for (const ColumnSummary* target : targets) spec.target.push_back(target->name);
  // The rows that are to be predicted, as competitions give them, are no test part.
  const CsvRow tested = files->test ? table_header(*files->test) : CsvRow();
  const bool has_test = files->test && std::ranges::all_of(spec.target, [&](const std::string& name) {
                          return contains(tested, name);
                        });
  const bool of_folder = has_test || files->train.files.size() > 1;
  if (files->test && !has_test && of_folder)
    refuse_file(files->test->files.front(),
                "is no test part without {}, and dtrain reads the training part, which has several files, by "
                "its folder: move the files of the test out of it",
                printable(join(spec.target), 200));
  FoundData found;
  if (!of_folder) found.warnings = files->warnings;  // loading a folder gives them, too
  if (spec.dataset == "csv") warn_of_missing_names(found, summary);
  found.place = of_folder ? place : files->train.files.front();
  spec.path = found.place.string();
  const bool classes = targets.size() == 1 && names_classes(*targets.front(), summary.rows);
  spec.target_kind = classes ? "classes" : "numbers";
  found.say("data.dataset", spec.dataset);
  if (targets.size() == 1) {
    found.say("data.target", spec.target.front(),
              fmt::format(
                  "the column to predict, {}; to predict another: dtrain init --from ... --target NAME, one "
                  "of: {}",
                  why, names_of(summary)));
  } else {
    found.say("data.target", spec.target, "the columns to predict, " + why);
  }
  say_readings(found, spec, file, summary);
  say_columns(found, spec, summary);
  if (!has_test) {
    spec.split.test = kFirstTestPart;
    found.say("data.split.test", kFirstTestPart, kTestPartNote);
  }
  const Dataset data = load_dataset(spec, 0);
  found.warnings.insert(found.warnings.end(), data.info.warnings.begin(), data.info.warnings.end());
  if (!classes) say_rate(found, targets);
  choose_model(found, data.info);
  found.title = fmt::format("a table of {} and {}; {}", counted(summary.rows, "row"),
                            counted(std::ssize(summary.columns), "column"), say_loss(found, targets, data));
  return found;
}

}  // namespace dtrain
