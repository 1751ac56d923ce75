// A table in a CSV file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <system_error>

#include "core/error.h"
#include "core/text.h"
#include "survey/found_kinds.h"
#include "tables/csv_file.h"
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
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

template <size_t count>
bool is_one_of(const std::array<const char*, count>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), plain_name(name)) != names.end();
}

bool is_too_varied(const ColumnSummary& column) {
  return !column.is_number && (column.many || column.different > static_cast<int64_t>(kMaxCategories));
}

// The column to predict, and why.
std::pair<const ColumnSummary*, std::string> choose_target(const CsvSummary& summary) {
  for (const char* name : kTargetNames) {
    for (const ColumnSummary& column : summary.columns) {
      if (plain_name(column.name) == name) return {&column, "chosen by its name"};
    }
  }
  for (auto column = summary.columns.rbegin(); column != summary.columns.rend(); ++column) {
    const bool varies = column->many || column->different > 1;
    if (column->missing == 0 && varies && !is_too_varied(*column))
      return {&*column,
              column == summary.columns.rbegin() ? "as the last one" : "as the last one that can be"};
  }
  return {&summary.columns.back(), "as the last one"};
}

bool names_classes(const ColumnSummary& target, int64_t rows) {
  if (!target.is_number) return true;
  const bool few = target.different <= 2 ||
                   (target.different <= kMostWholeClasses && target.different * kRowsOfAClass <= rows);
  return target.is_whole && !target.many && few;
}

// Columns that say which row it is, and nothing about it.
bool identifies(const ColumnSummary& column, int64_t rows) {
  const bool all_differ = column.many || column.different == rows;
  if (column.is_number) return column.is_whole && all_differ && is_one_of(kNumberNames, column.name);
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
  std::string name = path.filename().string();
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  return name.ends_with(".csv") || name.ends_with(".tsv");
}

// The tables in a folder, by name.
std::vector<fs::path> tables_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code code, gone;
  for (fs::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    if (!hidden && is_table_name(entry->path()) && entry->is_regular_file(gone))
      found.push_back(entry->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

fs::path table_of_part(const std::vector<fs::path>& tables, const std::string& part) {
  for (const char* ending : {".csv", ".csv.gz"}) {
    const auto at = std::find_if(tables.begin(), tables.end(),
                                 [&](const fs::path& path) { return path.filename() == part + ending; });
    if (at != tables.end()) return *at;
  }
  return {};
}

bool has_column(const fs::path& file, const std::string& name) {
  const CsvSummary summary = summarise_csv(file);
  return std::any_of(summary.columns.begin(), summary.columns.end(),
                     [&](const ColumnSummary& column) { return column.name == name; });
}

// Returns the columns that are ignored.
std::vector<std::string> say_columns(FoundData& found, const CsvSummary& summary,
                                     const ColumnSummary& target) {
  std::vector<std::string> ignored;
  std::string missing;
  for (const ColumnSummary& column : summary.columns) {
    if (column.name == target.name) continue;
    if (identifies(column, summary.rows)) {
      ignored.push_back(column.name);
    } else if (column.missing > 0 && missing.empty()) {
      missing = column.name;
    }
  }
  if (!ignored.empty())
    found.say("data.ignore", ignored,
              "columns that are left out: they tell the rows apart, and nothing about them; every other "
              "column becomes "
              "inputs");
  if (!missing.empty())
    found.say(
        "data.missing", "mean",
        fmt::format(
            "some values are missing, as in the column {}: the mean of the training examples takes their "
            "place",
            printable(missing, 60)));
  return ignored;
}

// What the loss is, by the target. Returns what the data are of, for its title.
std::string say_loss(FoundData& found, const ColumnSummary& target, const Dataset& data) {
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
  found.say("train.loss.kind", "cross_entropy", "for classes, of which each row has one");
  note_imbalance(found, counts);
  return fmt::format("{} of {}: {}", printable(target.name, 60), counted(data.info.classes, "class"),
                     class_counts_text(data.info.class_names, counts));
}

}  // namespace

std::optional<FoundData> find_table(const fs::path& place) {
  std::error_code none;
  FoundData found;
  found.place = place;
  fs::path file = place;
  fs::path test;
  if (fs::is_directory(place, none)) {
    const std::vector<fs::path> tables = tables_in(place);
    if (tables.empty()) return std::nullopt;
    file = table_of_part(tables, "train");
    test = table_of_part(tables, "test");
    if (file.empty() && tables.size() > 1)
      throw Error(ExitCode::kData,
                  fmt::format("{}: {} tables, and none is named train.csv; name one of them, such as {}",
                              printable(place.string(), 1000), tables.size(),
                              printable(tables.front().string(), 1000)));
    if (file.empty()) file = found.place = tables.front();
  } else if (!is_table_name(place)) {
    return std::nullopt;
  }
  const CsvSummary summary = summarise_csv(file);
  if (summary.rows == 0)
    throw Error(ExitCode::kData, printable(file.string(), 1000) + ": has a header and no rows");
  const auto [target, why] = choose_target(summary);
  // The rows that are to be predicted, as competitions give them, are no test part.
  if (!test.empty() && !has_column(test, target->name)) test.clear();
  if (test.empty()) found.place = file;
  DataSpec spec;
  spec.dataset = "csv";
  spec.path = found.place.string();
  spec.target = {target->name};
  spec.target_kind = names_classes(*target, summary.rows) ? "classes" : "numbers";
  found.say("data.dataset", spec.dataset);
  found.say("data.target", target->name,
            fmt::format("the column to predict, {}; to predict another, write its name here, one of: {}", why,
                        names_of(summary)));
  spec.ignore = say_columns(found, summary, *target);
  spec.missing = "mean";  // whether there are any or not
  if (test.empty()) {
    spec.split.test = kFirstTestPart;
    found.say("data.split.test", kFirstTestPart, kTestPartNote);
  }
  const Dataset data = load_dataset(spec, 0);
  choose_model(found, data.info);
  found.title = fmt::format("a table of {} and {}; {}", counted(summary.rows, "row"),
                            counted(std::ssize(summary.columns), "column"), say_loss(found, *target, data));
  return found;
}

}  // namespace dtrain
