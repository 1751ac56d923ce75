#include "host/host_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::optional<int64_t> limit_of(__rlimit_resource_t resource) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace

std::vector<fs::path> control_groups(const fs::path& root, const std::string& controller) {
  std::vector<fs::path> groups;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(":/", first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const bool is_unified = controllers == ",,";
    if (!is_unified && controllers.find("," + controller + ",") == std::string::npos) continue;
    fs::path top = root / "sys/fs/cgroup";
    if (!is_unified) top /= controller;
    for (fs::path group = top / line.substr(second + 2);; group = group.parent_path()) {
      groups.push_back(group);
      if (group == top || !group.has_relative_path()) break;
    }
  }
  return groups;
}

std::optional<int64_t> number_in(const fs::path& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (!key.empty() && (!(words >> word) || word != key)) continue;
    if (!(words >> word)) continue;
    if (const auto number = whole_number(word)) return number;
  }
  return std::nullopt;
}

int64_t memory_for_all(const fs::path& root) {
  int64_t least = number_in(root / "proc/meminfo", "MemTotal:").value_or(0) * 1024;
  if (least == 0) least = std::numeric_limits<int64_t>::max();
  // The limits of the cgroups that contain it also apply: a number, or "max" in version 2.
  for (const fs::path& group : control_groups(root, "memory")) {
    for (const char* const file : {"memory.max", "memory.limit_in_bytes"}) {  // of versions 2 and 1
      if (const auto limit = number_in(group / file)) least = std::min(least, *limit);
    }
  }
  return least;
}

std::optional<int64_t> address_space_limit() { return limit_of(RLIMIT_AS); }
std::optional<int64_t> data_limit() { return limit_of(RLIMIT_DATA); }

MemoryInUse memory_in_use() {
  std::ifstream file("/proc/self/statm");
  int64_t pages = 0;
  int64_t resident = 0;
  file >> pages >> resident;
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  return {pages * page, resident * page};
}

int64_t out_of_memory_kills(const fs::path& root) {
  for (const fs::path& group : control_groups(root, "memory")) {
    for (const char* const file : {"memory.events", "memory.oom_control"}) {  // of versions 2 and 1
      if (const auto kills = number_in(group / file, "oom_kill")) return *kills;
    }
  }
  return number_in(root / "proc/vmstat", "oom_kill").value_or(0);
}

}  // namespace dtrain
