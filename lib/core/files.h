// Reading and writing whole files with bounds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace dtrain {

// The file's bytes, as many as it has when it is opened. Throws Error(code) when it cannot be read, is not a
// regular file, or is larger than `limit` bytes; the size is checked before anything is allocated.
std::string read_file(const std::filesystem::path& path, int64_t limit, ExitCode code);

// Writes to a temporary file beside `path` and renames it, so that a reader sees the old content or the new,
// never half. Throws Error(kUsage), and then leaves no temporary file behind.
void write_file_atomically(const std::filesystem::path& path, const std::string& content);

}  // namespace dtrain
