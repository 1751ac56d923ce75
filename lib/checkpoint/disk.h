// Files that have to survive a crash, and files that may not be what they should be. A disk that is full or
// fails is Error(kDisk), whatever else keeps a file from being written Error(kUsage) (core/files.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace dtrain {

// Closes itself. Not copied, not moved: its owner stays where it is.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~FileDescriptor();
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// A file that is written from its start to its end.
class NewFile {
 public:
  // Throws Error when there is one already, or none can be made.
  explicit NewFile(const std::filesystem::path& path);
  // Throws Error, for instance when the disk is full.
  void write(const void* bytes, size_t count);
  // Returns when the disk has all of it. Throws Error.
  void sync();
  int64_t bytes() const { return bytes_; }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
  int64_t bytes_ = 0;
};

// Returns when the disk has the folder's entries. Throws Error.
void sync_folder(const std::filesystem::path& path);

// What went wrong with the system's last call on `path`, as an Error with advice.
[[noreturn]] void refuse_to_write(const std::filesystem::path& path, const char* what);

}  // namespace dtrain
