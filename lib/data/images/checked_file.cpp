#include "images/checked_file.h"

#include <fcntl.h>

#include <algorithm>
#include <array>

#include "core/checksum.h"
#include "core/error.h"
#include "core/files.h"

namespace dtrain {
namespace {

constexpr int64_t kBlock = int64_t{1} << 14;  // bytes; not many more are read than are asked for
constexpr int64_t kZeros = 1024;              // with which a tar archive ends, whatever comes then

// What closes a file.
struct Ending {
  std::array<char, 8> mark = {'d', 't', 'r', 'a', 'i', 'n', '1', '\n'};
  int64_t bytes = 0;
  uint64_t sum = 0;  // of the blocks' checksums
};

uint64_t sum_of(const std::vector<uint64_t>& sums) {
  return checksum_number(sums.data(), sums.size() * sizeof(uint64_t));
}

}  // namespace

void CheckedFileWriter::put(const void* bytes, size_t count) const {
  file_.check(write_all(file_.descriptor(), bytes, count), "cannot be written");
}

void CheckedFileWriter::write(const void* bytes, size_t count) {
  put(bytes, count);
  bytes_ += static_cast<int64_t>(count);
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const size_t taken = std::min(count, static_cast<size_t>(kBlock) - block_.size());
    block_.append(next, taken);
    next += taken;
    count -= taken;
    if (std::ssize(block_) < kBlock) return;
    sums_.push_back(checksum_number(block_.data(), block_.size()));
    block_.clear();
  }
}

void CheckedFileWriter::close() {
  if (!block_.empty()) sums_.push_back(checksum_number(block_.data(), block_.size()));
  const std::string zeros(kZeros, '\0');
  put(zeros.data(), zeros.size());
  put(sums_.data(), sums_.size() * sizeof(uint64_t));
  const Ending ending{.bytes = bytes_, .sum = sum_of(sums_)};
  put(&ending, sizeof ending);
}

std::shared_ptr<const CheckedFile> CheckedFile::open(const std::filesystem::path& path) {
  const OpenFile file(path, O_RDONLY);
  if (!file.is_open()) return nullptr;
  const int64_t size = file.size();
  Ending ending;
  if (!file.read(size - static_cast<int64_t>(sizeof ending), &ending, sizeof ending) ||
      ending.mark != Ending().mark || ending.bytes < 0 || ending.bytes > size)
    return nullptr;
  std::vector<uint64_t> sums(static_cast<size_t>((ending.bytes + kBlock - 1) / kBlock));
  const int64_t sums_begin = ending.bytes + kZeros;
  if (!file.read(sums_begin, sums.data(), sums.size() * sizeof(uint64_t)) || sum_of(sums) != ending.sum)
    return nullptr;
  return std::shared_ptr<const CheckedFile>(new CheckedFile(path, ending.bytes, std::move(sums)));
}

std::string CheckedFile::read(int64_t offset, int64_t bytes) const {
  if (offset < 0 || bytes < 0 || offset > bytes_ || bytes > bytes_ - offset) fail_on_damage(path_);
  const int64_t begin = offset / kBlock * kBlock;
  const int64_t end = std::min(bytes_, (offset + bytes + kBlock - 1) / kBlock * kBlock);
  const std::string blocks = read_file_part(path_, begin, end - begin, ExitCode::kDisk);
  for (int64_t at = begin; at < end; at += kBlock) {
    const char* const block = blocks.data() + (at - begin);
    if (checksum_number(block, static_cast<size_t>(std::min(kBlock, end - at))) !=
        sums_[static_cast<size_t>(at / kBlock)])
      fail_on_damage(path_);
  }
  return blocks.substr(static_cast<size_t>(offset - begin), static_cast<size_t>(bytes));
}

}  // namespace dtrain
