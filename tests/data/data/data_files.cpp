#include "data/data_files.h"

#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "files.h"

namespace dtrain::test {

namespace fs = std::filesystem;

Environment::Environment(const char* name, const char* value) : name_(name) {
  if (const char* before = ::getenv(name)) before_ = before;
  value ? ::setenv(name, value, 1) : ::unsetenv(name);
}

Environment::~Environment() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

WorkingFolder::WorkingFolder(const fs::path& folder) : before_(fs::current_path()) {
  fs::current_path(folder);
}

WorkingFolder::~WorkingFolder() { fs::current_path(before_); }

MemoryLimit::MemoryLimit(int64_t bytes) {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;  // the first number is the size of the address space
  ::getrlimit(RLIMIT_AS, &before_);
  rlimit lowered = before_;
  lowered.rlim_cur = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + bytes);
  if (pages == 0 || ::setrlimit(RLIMIT_AS, &lowered) != 0)
    throw std::runtime_error("cannot limit the memory");
}

MemoryLimit::~MemoryLimit() { ::setrlimit(RLIMIT_AS, &before_); }

std::string word(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string image_file(uint32_t count, uint32_t rows, uint32_t columns) {
  std::string file = word(0x00000803) + word(count) + word(rows) + word(columns);
  for (uint32_t i = 0; i < count * rows * columns; ++i) file += static_cast<char>(i % 251);
  return file;
}

std::string label_file(uint32_t count) {
  std::string file = word(0x00000801) + word(count);
  for (uint32_t i = 0; i < count; ++i) file += static_cast<char>(i % 10);
  return file;
}

std::string gzip(const std::string& content, int64_t zeros) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    throw std::bad_alloc();
  std::string packed;
  std::vector<unsigned char> out(1 << 16);
  const auto put = [&](const char* data, int64_t size, int flush) {
    stream.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(data));
    stream.avail_in = static_cast<uInt>(size);
    do {
      stream.next_out = out.data();
      stream.avail_out = static_cast<uInt>(out.size());
      deflate(&stream, flush);
      packed.append(reinterpret_cast<char*>(out.data()), out.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  put(content.data(), static_cast<int64_t>(content.size()), Z_NO_FLUSH);
  const std::string block(1 << 16, '\0');
  for (int64_t left = zeros; left > 0; left -= static_cast<int64_t>(block.size())) {
    put(block.data(), std::min<int64_t>(left, static_cast<int64_t>(block.size())), Z_NO_FLUSH);
  }
  put("", 0, Z_FINISH);
  deflateEnd(&stream);
  return packed;
}

void write_dataset(const fs::path& folder, uint32_t train_examples) {
  fs::create_directories(folder);
  write_file(folder / "train-images-idx3-ubyte.gz", gzip(image_file(train_examples)));
  write_file(folder / "train-labels-idx1-ubyte.gz", gzip(label_file(train_examples)));
  write_file(folder / "t10k-images-idx3-ubyte", image_file(10));
  write_file(folder / "t10k-labels-idx1-ubyte", label_file(10));
}

}  // namespace dtrain::test
