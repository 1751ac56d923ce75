// Files that have to survive a crash. If the disk is full or fails, functions throw Error(kDisk); for any
// other reason why a file cannot be written they throw Error(kUsage) (core/files.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "core/descriptor.h"

namespace dtrain {

// A file that is written sequentially from start to end.
class NewFile {
 public:
  // Throws Error if the file exists or cannot be created.
  explicit NewFile(const std::filesystem::path& path);
  // Throws Error, for instance if the disk is full.
  void write(const void* bytes, size_t count);
  // Returns when all data is on the disk. Throws Error.
  void sync();
  int64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  int64_t bytes_ = 0;
};

// Returns when the folder's entries are on the disk. Throws Error.
void sync_folder(const std::filesystem::path& path);

// Throws the error (errno) of the last system call, which was on `path`, as an Error with advice.
[[noreturn]] void fail_to_save(const std::filesystem::path& path, const char* what);

}  // namespace dtrain
