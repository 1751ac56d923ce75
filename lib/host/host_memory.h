// How much memory processes here may use, and whether the kernel took some away for using too much.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace dtrain {

// Bytes that the processes of this host or, where it has a limit, of this process's memory cgroup may use
// together. `root` is where /proc and /sys are.
int64_t memory_for_all(const std::filesystem::path& root = "/");

// Bytes of address space that this process may have (ulimit -v); nullopt: as much as it likes.
std::optional<int64_t> address_space_limit();

// What this process holds now, in bytes.
struct MemoryInUse {
  int64_t address_space = 0;
  int64_t resident = 0;
};
MemoryInUse memory_in_use();

// How many processes the kernel has ended so far for lack of memory: of this process's memory cgroup, or of
// the whole host where that is not known. 0 when nothing is known.
int64_t out_of_memory_kills(const std::filesystem::path& root = "/");

}  // namespace dtrain
