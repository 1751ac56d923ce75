#include "inference/groups.h"

#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
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

// Null: the folder is the group.
std::unique_ptr<const Pattern> pattern_of(const std::string& by) {
  try {
    return by == "folder" ? nullptr : std::make_unique<const Pattern>(by);
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "--by {}: no regular expression: {}; or say `folder`", printable(by),
                error.what());
  }
}

std::string group_in(const std::string& name, const Pattern* pattern) {
  if (pattern == nullptr) return std::filesystem::path(name).parent_path().string();
  const auto found = pattern->search(name);
  if (!found)
    throw Error(ExitCode::kData, "{}: --by finds no group in its name; use another pattern, or `folder`",
                printable(name, 1000));
  return found->at(found->size() > 1 ? 1 : 0).text;
}

}  // namespace

ExampleGroups groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by) {
  std::vector<int64_t> indices(static_cast<size_t>(examples.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const std::vector<ExampleName> names = examples.names_of(indices);
  if (names.front().file.empty())
    throw Error(ExitCode::kUsage,
                "--by needs a table or pictures in files, and {} has examples without names", job.data.name);
  ExampleGroups groups;
  if (has_columns(job.data.name)) {
    const std::vector<std::string> cells = cells_of(job, names, by);
    for (const int64_t i : indices) groups[cells[static_cast<size_t>(i)]].push_back(i);
  } else {
    const std::unique_ptr<const Pattern> pattern = pattern_of(by);
    for (const int64_t i : indices)
      groups[group_in(names[static_cast<size_t>(i)].file, pattern.get())].push_back(i);
  }
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
