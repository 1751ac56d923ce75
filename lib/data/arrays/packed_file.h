// A data file that is read once, from its beginning; gzip files are unpacked while reading.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <vector>

#include "core/data_errors.h"
#include "core/descriptor.h"

namespace dtrain {

// Reads an untrusted regular file. gzip (RFC 1952, one member) is recognised by its first two bytes, not by
// the file name. Only the requested bytes are unpacked, so the caller bounds the memory. All errors are
// Error(kData) that names the file and the offset.
class PackedFile {
 public:
  // Throws if `path` cannot be opened, is empty or is not a regular file. Opening a FIFO does not block.
  explicit PackedFile(const std::filesystem::path& path);
  ~PackedFile();

  // Reads exactly `bytes`. Throws if the content ends early or is damaged.
  void read(void* out, int64_t bytes);
  // Throws unless the content ends here. For gzip, the checksum and the length must match too.
  void expect_end();
  // Throws unless a file of this size can hold `bytes` of content: a plain file must have exactly that size,
  // and gzip cannot shrink content to less than 1/1032. Call this before allocating memory.
  void expect_content_size(int64_t bytes) const;

  // Throws an error with the text that fmt::format makes, located `offset` bytes into the unpacked content.
  template <class... Values>
  [[noreturn]] void fail(int64_t offset, fmt::format_string<Values...> what, Values&&... values) const {
    refuse_file(path_, "byte {}{}: {}", offset, is_gzip_ ? " of the unpacked content" : "",
                fmt::vformat(what, fmt::make_format_args(values...)));
  }

 private:
  // Raw bytes of the file; fewer than `bytes` only at its end.
  int64_t read_file(void* out, int64_t bytes);
  // Content of a gzip file; fewer than `bytes` only at the end of the stream.
  int64_t unpack(void* out, int64_t bytes);
  bool refill();  // false at the end of the file

  std::filesystem::path path_;
  Descriptor file_;
  int64_t size_ = 0;    // bytes of the file on disk
  int64_t offset_ = 0;  // in the unpacked content
  bool is_gzip_ = false;
  bool stream_ended_ = false;
  z_stream stream_{};
  std::vector<unsigned char> input_;  // packed bytes not yet read by zlib
};

}  // namespace dtrain
