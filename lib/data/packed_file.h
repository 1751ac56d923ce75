// A data file read once from its beginning, unpacked on the way when it is gzip.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

// Reads a regular file that is not to be trusted. gzip (RFC 1952, one member) is recognised by its first two
// bytes, whatever the file is called. Nothing is unpacked beyond what is asked for, so that memory is bounded
// by the caller. All errors are Error(kData) and name the file and the offset.
class PackedFile {
 public:
  // Throws when `path` cannot be opened, is empty or is not a regular file. Opening a FIFO does not block.
  explicit PackedFile(const std::filesystem::path& path);
  ~PackedFile();
  PackedFile(const PackedFile&) = delete;
  PackedFile& operator=(const PackedFile&) = delete;

  // Reads exactly `bytes`. Throws when the content ends before or is damaged.
  void read(void* out, int64_t bytes);
  // Throws unless the content ends here; for gzip its checksum and length must be right as well.
  void expect_end();
  // Throws unless the file can hold a content of `bytes`, judged by its size alone: a plain file must have
  // that very size, a gzip file cannot shrink its content to less than 1/1032. To be called before memory is
  // allocated.
  void expect_content_size(int64_t bytes) const;

  // Throws the error `what` at `offset` bytes into the unpacked content.
  [[noreturn]] void fail(int64_t offset, const std::string& what, int error = 0) const;

 private:
  int64_t read_file(void* out, int64_t bytes);  // of the file as it is; less than `bytes` only at its end
  int64_t unpack(void* out, int64_t bytes);     // of a gzip file; less than `bytes` only at the stream's end
  bool refill();                                // false at the end of the file

  std::filesystem::path path_;
  int descriptor_ = -1;
  int64_t size_ = 0;    // of the file on the disk
  int64_t offset_ = 0;  // in the unpacked content
  bool is_gzip_ = false;
  bool stream_ended_ = false;
  z_stream stream_{};
  std::vector<unsigned char> input_;  // packed bytes that wait for zlib
};

}  // namespace dtrain
