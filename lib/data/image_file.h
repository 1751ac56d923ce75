// Images that somebody brings: PNG, JPEG, PGM, PPM, and IDX files of many, recognised by their content. They
// are hostile: sizes are checked before memory is taken.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace dtrain {

// What an image file may have; more is refused. (IDX files have limits of their own: idx.h.)
inline constexpr int64_t kMaxImageFileBytes = int64_t{256} << 20;
inline constexpr int64_t kMaxImageSide = 16'384;               // pixels
inline constexpr int64_t kMaxImagePixels = int64_t{64} << 20;  // width x height

// The images of a file as uint8 [n, channels, height, width], channels 1 (grey) or 3 (red, green, blue); n is
// 1 but for IDX. Transparent pixels are shown on white; 16 bits become 8; an orientation in the metadata is
// not heeded. Throws Error(kData) that names the file and the fault.
at::Tensor read_image_file(const std::filesystem::path& path);

// The same images as `shape` (channels, height, width) wants them. Colours become grey by Rec. 601 (0.299 red
// + 0.587 green + 0.114 blue), grey becomes equal red, green and blue. Images of another size are scaled with
// `resize` (bilinear with antialiasing, without regard to proportions), else refused. Throws Error(kData)
// with the fault alone.
at::Tensor fit_images(const at::Tensor& images, const std::vector<int64_t>& shape, bool resize);

}  // namespace dtrain
