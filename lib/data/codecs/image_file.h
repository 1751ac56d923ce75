// Image files from users: JPEG, PNG, WebP, TIFF, GIF, BMP, PGM and PPM, recognised by their content. They are
// untrusted: sizes are checked before memory is allocated.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace dtrain {

// How the names of such files end, in lower case: ".jpg", ".jpeg", ".png", ...
const std::vector<std::string>& image_endings();

// Limits on an image file; larger ones are refused.
inline constexpr int64_t kMaxImageFileBytes = int64_t{256} << 20;
inline constexpr int64_t kMaxImageSide = 16'384;               // pixels
inline constexpr int64_t kMaxImagePixels = int64_t{64} << 20;  // width x height

// The contents of the header of an image file.
struct ImageFacts {
  std::string format;  // "JPEG"
  int64_t width = 0;   // pixels, as they are stored
  int64_t height = 0;
  std::string colours;         // "colour", "grey", "inks (CMYK)", or one of them and more: "grey, 16 bits"
  int orientation = 1;         // 1 (upright) to 8 (exif.cpp)
  bool other_colours = false;  // it has a colour profile that is not sRGB's, which nobody heeds

  bool lies_on_its_side() const { return orientation >= 5; }
  bool has_16_bits() const { return colours.find("16 bits") != std::string::npos; }
};

// How small an image may become while it is decoded. A format with a quick way to decode at a fraction of the
// size (JPEG: a half, a quarter, an eighth) then uses the smallest one with at least these sides. 0: whole.
struct SmallestSize {
  int64_t height = 0;
  int64_t width = 0;
};

// The facts of an image file, from its bytes; decodes no pixels. Throws Error(kData) without a file name.
ImageFacts image_facts(const std::string& bytes);

// The image in the bytes of a whole file, as read_image_file() returns it; errors have no file name.
at::Tensor decode_image_file(const std::string& bytes, SmallestSize smallest = {});

// Whether an image of 16 bits has no value over 4,095, as where a camera's 12 bits are stored in 16: it is
// nearly black. `image`: as decode_image_file() returns it.
bool is_nearly_black(const ImageFacts& facts, const at::Tensor& image);

// The image as uint8 [1, channels, height, width], channels 1 (grey) or 3 (red, green, blue). A photograph is
// turned as the orientation in its metadata says (exif.cpp), inks become colours (CMYK), transparent pixels
// are blended with white, of 16-bit samples the upper 8 bits are kept, and of an animation (WebP, GIF)
// or several pages (TIFF) only the first is read. What a file says of its colours (gAMA, ICC profiles)
// changes no pixel. Any number of threads may read at once. Throws Error(kData) with the file and the fault.
at::Tensor read_image_file(const std::filesystem::path& path, SmallestSize smallest = {});

// A PNG file of one image, uint8 [channels, height, width] with 1 or 3 channels.
std::string png_file(const at::Tensor& image);

}  // namespace dtrain
