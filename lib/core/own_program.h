// Where this program is, for those that start it again.
#pragma once

#include <filesystem>

namespace dtrain {

// The path of this program, which is where `link` leads. Throws Error(kUsage) where the file system of
// processes is not mounted: replicas could not be started, nor share memory.
std::filesystem::path own_program(const std::filesystem::path& link = "/proc/self/exe");

}  // namespace dtrain
