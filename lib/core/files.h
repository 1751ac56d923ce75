// Reading and writing whole files with bounds, and what a failure to do so means to scripts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "core/error.h"

namespace dtrain {

// The exit code for a system call on a file or folder that failed with `error` (errno): kDisk when the disk
// is full or does not work (ENOSPC, EDQUOT, EFBIG, EIO, ...), which may pass; otherwise `refused`, for
// something that has to be put right first.
ExitCode file_failure_code(int error, ExitCode refused = ExitCode::kUsage);

// The exit code for a standard output that cannot be written: kUsage when nobody reads it, else kDisk.
ExitCode output_failure_code();

// Writes all of it. False, with errno, when that fails.
bool write_all(int descriptor, const void* bytes, size_t count);

// The file's bytes, as many as it has when it is opened. Throws Error(code) when it cannot be read, is not a
// regular file, or is larger than `limit` bytes, and Error(kDisk) when the disk fails; the size is checked
// before anything is allocated.
std::string read_file(const std::filesystem::path& path, int64_t limit, ExitCode code);

// Writes to a temporary file beside `path` and renames it, so that a reader sees the old content or the new,
// never half. Throws Error(kUsage, kDisk), and then leaves no temporary file behind.
void write_file_atomically(const std::filesystem::path& path, const std::string& content);

}  // namespace dtrain
