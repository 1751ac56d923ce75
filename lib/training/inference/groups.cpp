#include "inference/groups.h"

#include <filesystem>
#include <map>
#include <numeric>

#include "core/error.h"
#include "core/patterns.h"
#include "core/text.h"
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
    groups.push_back(own->second.at(static_cast<size_t>(name.row - 1)));
  }
  return groups;
}

std::string group_in(const std::string& name, const Pattern& pattern) {
  const auto found = pattern.search(name);
  if (!found)
    throw Error(ExitCode::kData, "{}: --by finds no group in its name; use another pattern, or `folder`",
                printable(name, 1000));
  return found->at(found->size() > 1 ? 1 : 0).text;
}

// The results of some examples.
ExampleResults selected(const ExampleResults& all, const std::vector<size_t>& examples) {
  ExampleResults some{.loss = all.loss, .part = all.part, .targets = all.targets, .outputs = all.outputs};
  const auto append = [](std::vector<float>& to, const std::vector<float>& from, size_t example,
                         int64_t width) {
    const auto first = from.begin() + static_cast<int64_t>(example) * width;
    to.insert(to.end(), first, first + width);
  };
  for (const size_t example : examples) {
    append(some.losses, all.losses, example, 1);
    append(some.wanted, all.wanted, example, all.targets);
    append(some.given, all.given, example, all.outputs);
  }
  return some;
}

}  // namespace

std::vector<std::string> groups_of(const JobPlan& job, const ExampleSource& examples, const std::string& by) {
  std::vector<int64_t> indices(static_cast<size_t>(examples.size()));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const std::vector<ExampleName> names = examples.names_of(indices);
  if (has_columns(job.data.name)) return cells_of(job, names, by);
  if (names.front().file.empty())
    throw Error(ExitCode::kUsage,
                "--by needs a table or pictures in files, and {} has examples without names", job.data.name);
  std::vector<std::string> groups;
  if (by == "folder") {
    for (const ExampleName& name : names)
      groups.push_back(std::filesystem::path(name.file).parent_path().string());
    return groups;
  }
  try {
    const Pattern pattern(by);
    for (const ExampleName& name : names) groups.push_back(group_in(name.file, pattern));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ExitCode::kUsage, "--by {}: no regular expression: {}; or say `folder`", printable(by),
                error.what());
  }
  return groups;
}

std::vector<GroupMetrics> metrics_by_group(const ExampleResults& results,
                                           const std::vector<std::string>& groups) {
  std::map<std::string, std::vector<size_t>> examples;
  for (size_t i = 0; i < groups.size(); ++i) examples[groups[i]].push_back(i);
  if (examples.size() > kMostGroups)
    throw Error(ExitCode::kUsage, "--by: there are {} groups, more than {}; use another column or pattern",
                examples.size(), kMostGroups);
  std::vector<GroupMetrics> all;
  for (const auto& [name, own] : examples) {
    const ExampleResults some = selected(results, own);
    all.push_back({name, std::ssize(own), ExampleMetrics(some).values(), named_intervals(some)});
  }
  return all;
}

}  // namespace dtrain
