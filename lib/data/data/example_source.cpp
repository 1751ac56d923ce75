#include "data/example_source.h"

#include <fmt/format.h>

namespace dtrain {

std::string title_of(const ExampleName& name) {
  if (name.file.empty()) return fmt::format("example {}", name.index);
  return name.row == 0 ? name.file : fmt::format("{}, row {}", name.file, name.row);
}

std::vector<ExampleName> ExampleSource::names_of(std::span<const int64_t> indices) const {
  std::vector<ExampleName> names;
  for (const int64_t index : indices) names.push_back({.index = index});
  return names;
}

}  // namespace dtrain
