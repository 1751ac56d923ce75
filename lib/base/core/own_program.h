// Finds this program's file, for code that starts the program again.
#pragma once

#include <filesystem>

namespace dtrain {

// The path of this program, which is what `link` points to. Throws Error(kUsage) if /proc is not mounted:
// without it, replicas could neither be started nor share memory.
std::filesystem::path own_program(const std::filesystem::path& link = "/proc/self/exe");

}  // namespace dtrain
