// IDX files as MNIST has them: a big-endian header, then unsigned bytes. Plain or gzip, recognised by
// content. Format: http://yann.lecun.com/exdb/mnist/ ("THE IDX FILE FORMAT").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>

namespace dtrain {

// What a header may ask for; more is refused before anything is allocated.
inline constexpr int64_t kMaxIdxExamples = 100'000'000;
inline constexpr int64_t kMaxIdxSide = 16'384;             // pixels
inline constexpr int64_t kMaxIdxBytes = int64_t{4} << 30;  // of the whole unpacked file

// The dimensions of an image file (magic number 0x00000803) or of a label file (0x00000801), whose rows and
// columns are 1. All are at least 1.
struct IdxHeader {
  int64_t count = 0;
  int64_t rows = 1;
  int64_t columns = 1;
};

// All of these throw Error(kData) that names the file, the offset and the fault. Headers are checked against
// their limits and against the file's size. Memory is bounded by what the header legally promises and the
// file can hold.
IdxHeader read_image_header(const std::filesystem::path& path);
IdxHeader read_label_header(const std::filesystem::path& path);

// The first `count` images as uint8 [count, 1, rows, columns]. Only when they are all of the file's is its
// end checked too (nothing may follow, and the checksum of gzip must be right); otherwise the rest is not
// even unpacked.
at::Tensor read_images(const std::filesystem::path& path, int64_t count);

// The first `count` labels as int64 [count], each checked to be below `classes`. The end as for images.
at::Tensor read_labels(const std::filesystem::path& path, int64_t count, int64_t classes);

}  // namespace dtrain
