// IDX files, the format of MNIST: a big-endian header, then unsigned bytes. Plain or gzip, recognised by
// content. Format: http://yann.lecun.com/exdb/mnist/ ("THE IDX FILE FORMAT").
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>

#include "codecs/image_file.h"

namespace dtrain {

// Limits on what a header may declare. A larger file is refused before anything is allocated.
inline constexpr int64_t kMaxIdxExamples = 100'000'000;
inline constexpr int64_t kMaxIdxSide = 16'384;             // pixels
inline constexpr int64_t kMaxIdxBytes = int64_t{4} << 30;  // of the whole unpacked file

inline constexpr int64_t kMostIdxClasses = 256;  // a label is a byte

// The dimensions of an image file (magic number 0x00000803) or of a label file (0x00000801; rows and columns
// are 1). All are at least 1.
struct IdxHeader {
  int64_t count = 0;
  int64_t rows = 1;
  int64_t columns = 1;
};

// All functions below throw Error(kData) that names the file, the offset and the fault. Headers are checked
// against the limits above and the file's size. Memory is bounded by what header and file can hold.
IdxHeader read_image_header(const std::filesystem::path& path);
IdxHeader read_label_header(const std::filesystem::path& path);

// The first `count` images as uint8 [count, 1, rows, columns]. If `count` is the number of images in the
// file, the end of the file is checked too: nothing may follow, and the gzip checksum must match. Otherwise
// the rest is not unpacked.
at::Tensor read_images(const std::filesystem::path& path, int64_t count);

// The first `count` labels as int64 [count], each checked to be below `classes`; the end as for images.
at::Tensor read_labels(const std::filesystem::path& path, int64_t count, int64_t classes);

// The images of a file from a user: all those of an IDX file of images or of a .npy file, or the one of an
// image file (codecs/image_file.h), uint8 [n, channels, height, width]. A .npy file is mapped, as map_npy()
// does it. Throws Error(kData) with the file and the fault.
at::Tensor read_images_of_any_file(const std::filesystem::path& path, SmallestSize smallest = {});

}  // namespace dtrain
