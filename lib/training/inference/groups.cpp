#include "inference/groups.h"

#include <ATen/ATen.h>

#include <numeric>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
#include "csv/csv_cell.h"
#include "data/table_dataset.h"
#include "tables/plain_column.h"

namespace dtrain {
namespace {

std::vector<std::string> cells_of(const JobPlan& job, const std::vector<ExampleName>& names,
                                  const std::string& column) {
  const TableFiles files = table_files(with_files_here(job.spec.data));
  std::map<std::string, std::vector<std::string>> cells;  // by file
  std::vector<std::string> groups;
  for (const ExampleName& name : names) {
    const bool of_test = files.test && files.test->name.filename() == name.file;
    const auto [own, is_new] = cells.try_emplace(name.file);
    if (is_new)
      own->second =
          read_cells(of_test ? *files.test : files.train, column, {table_format_of(job.data).separator});
    const std::string& cell = own->second.at(static_cast<size_t>(name.row - 1));
    groups.push_back(is_missing_cell(cell, job.spec.data.missing_values) ? "(missing)" : cell);
  }
  return groups;
}

// What the pattern finds in a file's name: its first parentheses, or else all.
std::vector<std::string> groups_in(const std::vector<ExampleName>& names, const std::string& by) {
  std::vector<std::string> groups;
  try {
    const Pattern pattern(by == "folder" ? "^(?:(.*)/)?" : by);
    for (const ExampleName& name : names) {
      const auto found = pattern.search(name.file);
      if (!found)
        throw Error(ExitCode::kData, "{}: --by finds no group in its name; use another pattern, or `folder`",
                    printable(name.file, 1000));
      groups.push_back(found->at(found->size() > 1 ? 1 : 0).text);
    }
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "--by {}: no regular expression: {}; or say `folder`", printable(by),
                error.what());
  }
  return groups;
}

}  // namespace

ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by) {
  std::vector<int64_t> indices(static_cast<size_t>(examples.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const std::vector<ExampleName> names = examples.names_of(indices);
  if (names.front().file.empty())
    throw Error(ExitCode::kUsage,
                "--by needs a table or pictures in files, and {} has examples without names", job.data.name);
  const std::vector<std::string> own =
      has_columns(job.data.name) ? cells_of(job, names, by) : groups_in(names, by);
  ExampleGroups groups;
  for (size_t i = 0; i < own.size(); ++i) groups[own[i]].push_back(indices[i]);
  if (groups.size() > kMostGroups)
    throw Error(ExitCode::kUsage, "--by: there are {} groups, more than {}; use another column or pattern",
                groups.size(), kMostGroups);
  return groups;
}

std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results, const ExampleGroups& groups) {
  std::vector<GroupMetrics> all;
  for (const auto& [name, own] : groups) {
    const at::Tensor rows = at::tensor(own, at::kLong);
    ExampleResults some = results;
    for (at::Tensor* numbers : {&some.losses, &some.targets, &some.outputs})
      *numbers = numbers->index_select(0, rows);
    const Draws draws = draws_of(some, std::ssize(groups));
    all.push_back({name, std::ssize(own), draws.front(), intervals_of(draws)});
  }
  return all;
}

}  // namespace dtrain
