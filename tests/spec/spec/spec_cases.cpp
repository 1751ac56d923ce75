#include "spec_cases.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "spec/fields.h"

namespace dtrain {
namespace {

SpecCase read_case(const std::filesystem::path& path) {
  SpecCase result{path, {}, {}, {}};
  std::ifstream file(path);
  for (std::string line; std::getline(file, line) && line.compare(0, 2, "# ") == 0;) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    const std::string value = line.substr(colon + 2);
    if (line.compare(0, colon, "# set") == 0) result.overrides.set.push_back(value);
    if (line.compare(0, colon, "# unset") == 0) result.overrides.unset.push_back(value);
    if (line.compare(0, colon, "# note") == 0) result.notes.push_back(value);
    if (line.compare(0, colon, "# expect") == 0) result.expected.push_back(value);
    if (line.compare(0, colon, "# env") == 0) {
      const size_t equals = value.find('=');
      ::setenv(value.substr(0, equals).c_str(), value.substr(equals + 1).c_str(), /*overwrite=*/1);
    }
  }
  return result;
}

}  // namespace

std::vector<SpecCase> read_cases(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(DTRAIN_SOURCE_DIR "/tests/specs/" + folder))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<SpecCase> cases;
  for (const auto& path : paths) cases.push_back(read_case(path));
  return cases;
}

std::string without_file(const Problem& problem, const std::string& file) {
  const std::string text = problem.to_string();
  return problem.file == file ? text.substr(file.size() + 1) : text;
}

std::string all_values(const JobSpec& spec) {
  nlohmann::ordered_json values;
  for (const auto& field : job_fields()) values[field.path] = to_json(field, spec);
  return values.dump(1);
}

std::string problems_of(const LoadedSpec& loaded) {
  std::string text;
  for (const Problem& problem : loaded.problems) text += problem.to_string() + "\n";
  return text;
}

}  // namespace dtrain
