// Files of the cache that are written from their begin to their end, and whose bytes are compared with
// checksums whenever they are read: what is in them, zeros, a checksum for each block, and what closes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "images/archive_bytes.h"
#include "images/cache_file.h"

namespace dtrain {

class CheckedFileWriter {
 public:
  // Of an empty file, which must outlive this.
  explicit CheckedFileWriter(const OpenFile& file) : file_(file) {}

  // These throw as fail_on_cache().
  void write(const void* bytes, size_t count);
  void close();  // a file that was not closed cannot be opened

 private:
  void put(const void* bytes, size_t count) const;

  const OpenFile& file_;
  int64_t bytes_ = 0;
  std::string block_;  // that is not full yet
  std::vector<uint64_t> sums_;
};

// Any number of threads may read at once.
class CheckedFile : public ArchiveBytes {
 public:
  // nullptr: there is no such file, or its end is missing or damaged. Throws as OpenFile does.
  static std::shared_ptr<const CheckedFile> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Throws Error(kDisk) if they are not those that were written; the file is then removed.
  std::string read(int64_t offset, int64_t bytes) const override;

 private:
  CheckedFile(std::filesystem::path path, int64_t bytes, std::vector<uint64_t> sums)
      : path_(std::move(path)), bytes_(bytes), sums_(std::move(sums)) {}

  const std::filesystem::path path_;
  const int64_t bytes_;
  const std::vector<uint64_t> sums_;  // of each block
};

}  // namespace dtrain
