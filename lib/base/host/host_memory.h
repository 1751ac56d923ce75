// How much memory processes on this host may use, and whether the kernel has killed some for lack of memory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// The folders of this process's control groups with that controller ("cpu", "memory"), each followed by those
// that contain it: of version 2 ("0::/path" in /proc/self/cgroup) and of version 1 ("4:cpu,cpuacct:/path").
std::vector<std::filesystem::path> control_groups(const std::filesystem::path& root,
                                                  const std::string& controller);

// The number after `key` in a file with lines "key number ..."; if the key is empty, the first word.
std::optional<int64_t> number_in(const std::filesystem::path& path, const std::string& key = "");

// How many bytes the processes of this host may use together, or those of this process's memory cgroup if it
// has a limit. `root` is the folder with /proc and /sys.
int64_t memory_for_all(const std::filesystem::path& root = "/");

// How many bytes of address space this process may have (ulimit -v); nullopt: unlimited.
std::optional<int64_t> address_space_limit();
// How many bytes of its own it may have (ulimit -d); nullopt: unlimited.
std::optional<int64_t> data_limit();

// The memory that this process uses now, in bytes.
struct MemoryInUse {
  int64_t address_space = 0;
  int64_t resident = 0;
};
MemoryInUse memory_in_use();

// How many processes the kernel has killed for lack of memory so far: in this process's memory cgroup or the
// nearest one above it that counts them, or on the whole host if that is not known. 0 if nothing is known.
int64_t out_of_memory_kills(const std::filesystem::path& root = "/");

}  // namespace dtrain
