#include "arrays/packed_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace dtrain {
namespace {

constexpr size_t kInputBytes = size_t{1} << 18;
constexpr int64_t kMaxUnpackStep = int64_t{1} << 30;  // zlib counts in 32 bits
constexpr int kGzipOnly = 16 + MAX_WBITS;
// A match of 258 bytes takes at least two bits, for its length and its distance (RFC 1951, 3.2.5).
constexpr int64_t kMaxDeflateRatio = 1032;

const char* kFetchAgain = "the file is incomplete or damaged; fetch it again";

}  // namespace

// O_NONBLOCK: opening a FIFO that nobody writes to must not hang.
PackedFile::PackedFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (file_.get() < 0) fail_on_file(path, "cannot be opened", errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail_on_file(path, "cannot be looked at", errno);
  if (S_ISDIR(status.st_mode)) refuse_file(path, "is a folder where a file is expected");
  if (!S_ISREG(status.st_mode)) refuse_file(path, "is not a regular file");
  if (status.st_size == 0) refuse_file(path, "is empty: {}", kFetchAgain);
  size_ = status.st_size;

  unsigned char magic[2] = {};
  is_gzip_ = ::pread(file_.get(), magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  if (!is_gzip_) return;
  if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

PackedFile::~PackedFile() {
  if (is_gzip_) inflateEnd(&stream_);
}

void PackedFile::read(void* out, int64_t bytes) {
  const int64_t got = is_gzip_ ? unpack(out, bytes) : read_file(out, bytes);
  offset_ += got;
  if (got < bytes) fail(offset_, "the content ends here, {} bytes too early; {}", bytes - got, kFetchAgain);
}

void PackedFile::expect_end() {
  unsigned char extra = 0;
  const int64_t got = is_gzip_ ? unpack(&extra, 1) : read_file(&extra, 1);
  if (got > 0) fail(offset_, "more content than the header promises; {}", kFetchAgain);
  if (is_gzip_ && (stream_.avail_in > 0 || refill())) {
    fail(offset_,
         "other bytes follow the end of the gzip stream; pack the content again with one call of gzip");
  }
}

void PackedFile::expect_content_size(int64_t bytes) const {
  if (is_gzip_) {
    // Divided, not multiplied: the product could overflow.
    if (bytes / kMaxDeflateRatio > size_) {
      fail(0, "the header promises {}, more than {} of gzip can hold; {}", human_bytes(bytes),
           human_bytes(size_), kFetchAgain);
    }
  } else if (size_ < bytes) {
    fail(size_, "the file ends here, but its header promises {} bytes; {}", bytes, kFetchAgain);
  } else if (size_ > bytes) {
    fail(bytes, "{} bytes follow the {} that the header promises; {}", size_ - bytes, bytes, kFetchAgain);
  }
}

int64_t PackedFile::read_file(void* out, int64_t bytes) {
  int64_t filled = 0;
  while (filled < bytes) {
    const ssize_t got =
        ::read(file_.get(), static_cast<unsigned char*>(out) + filled, static_cast<size_t>(bytes - filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(file_failure_code(errno, ExitCode::kData), "{}: byte {}: cannot be read: {}",
                  printable(path_.string(), 1000), offset_, std::strerror(errno));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

bool PackedFile::refill() {
  input_.resize(kInputBytes);
  stream_.next_in = input_.data();
  stream_.avail_in = static_cast<uInt>(read_file(input_.data(), kInputBytes));
  return stream_.avail_in > 0;
}

int64_t PackedFile::unpack(void* out, int64_t bytes) {
  int64_t filled = 0;
  while (filled < bytes && !stream_ended_) {
    if (stream_.avail_in == 0 && !refill())
      fail(offset_ + filled, "the gzip stream is cut off after {} packed bytes; {}", size_, kFetchAgain);
    const auto room = static_cast<uInt>(std::min(bytes - filled, kMaxUnpackStep));
    stream_.next_out = static_cast<unsigned char*>(out) + filled;
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    filled += room - stream_.avail_out;
    if (result == Z_MEM_ERROR) throw std::bad_alloc();
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      fail(offset_ + filled, "damaged gzip stream ({}); {}",
           stream_.msg ? stream_.msg : "not a stream that zlib knows", kFetchAgain);
    }
    stream_ended_ = result == Z_STREAM_END;
  }
  return filled;
}

}  // namespace dtrain
