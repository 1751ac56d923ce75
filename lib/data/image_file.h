// Image files from users: PNG, JPEG, PGM, PPM, and IDX files with many images, recognised by their content.
// They are untrusted: sizes are checked before memory is allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

// Limits on an image file; larger ones are refused. (IDX files have their own limits: idx.h.)
inline constexpr int64_t kMaxImageFileBytes = int64_t{256} << 20;
inline constexpr int64_t kMaxImageSide = 16'384;               // pixels
inline constexpr int64_t kMaxImagePixels = int64_t{64} << 20;  // width x height

// The images of a file as uint8 [n, channels, height, width], channels 1 (grey) or 3 (red, green, blue); n is
// 1 except for IDX files. Transparent pixels are blended with white; 16-bit samples are reduced to 8 bits; an
// orientation in the metadata is ignored. Throws Error(kData) that names the file and the fault.
at::Tensor read_image_file(const std::filesystem::path& path);

// Converts images to `shape` (channels, height, width). Colour becomes grey by Rec. 601 (0.299 red + 0.587
// green + 0.114 blue); grey becomes equal red, green and blue. If `resize` is set, images of another size are
// scaled (bilinear with antialiasing; proportions are not kept); otherwise they are refused. Throws
// Error(kData) with the fault, without a file name.
at::Tensor fit_images(const at::Tensor& images, const std::vector<int64_t>& shape, bool resize);

// A PNG file of one image, uint8 [channels, height, width] with 1 or 3 channels.
std::string png_file(const at::Tensor& image);

}  // namespace dtrain
