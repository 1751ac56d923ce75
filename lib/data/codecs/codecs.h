// The formats of image files, one function each. What they decode is untrusted.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "codecs/image_file.h"

namespace dtrain {

// Each takes the bytes of a whole file and returns its pixels, uint8 [height, width, channels] with 1 (grey)
// or 3 (red, green, blue) channels, upright: turned as the file's metadata says (exif.cpp). A byte may lie
// unused between two pixels (fit.cpp makes use of it). They throw Error(kData) with the fault, without a file
// name, for damaged bytes and for sizes beyond the limits of image_file.h, which are checked before memory is
// allocated. None writes to the terminal. A JPEG is decoded at the smallest fraction of its size (a half, a
// quarter, an eighth) that is not below `smallest`.
at::Tensor decode_jpeg(const std::string& bytes, SmallestSize smallest);
at::Tensor decode_png(const std::string& bytes, SmallestSize smallest);
at::Tensor decode_pnm(const std::string& bytes, SmallestSize smallest);
at::Tensor decode_bmp(const std::string& bytes, SmallestSize smallest);
at::Tensor decode_gif(const std::string& bytes, SmallestSize smallest);   // of an animation the first frame
at::Tensor decode_tiff(const std::string& bytes, SmallestSize smallest);  // of several pages the first
at::Tensor decode_webp(const std::string& bytes, SmallestSize smallest);  // of an animation the first frame

// Each tells what the header of such a file says. They throw as the above; the size may be beyond the limits.
ImageFacts jpeg_facts(const std::string& bytes);
ImageFacts png_facts(const std::string& bytes);
ImageFacts pnm_facts(const std::string& bytes);
ImageFacts bmp_facts(const std::string& bytes);
ImageFacts gif_facts(const std::string& bytes);
ImageFacts tiff_facts(const std::string& bytes);
ImageFacts webp_facts(const std::string& bytes);

// The fault of a file that ends before its picture does.
inline constexpr const char* kCut = "it is cut off";

// Throws Error(kData) if an image of this size is beyond the limits.
void require_size(int64_t width, int64_t height);

// Memory for an image of this size. Throws as require_size().
at::Tensor rows_of_pixels(int64_t width, int64_t height, int64_t channels);

// Blends colours with white by their opacity, uint8 [height, width, 2 (grey) or 4 (red, green, blue)], to the
// bits of Pillow's alpha_composite(): uint8 [height, width, 1 or 3]. Pixels without opacity stay as they are.
at::Tensor on_white(const at::Tensor& pixels);

// The metadata of a picture as its file has it; empty: it has none.
struct Metadata {
  std::string_view exif = {};  // a TIFF header with directories (CIPA DC-008), "Exif\0\0" may be before it
  std::string_view xmp = {};   // XML (ISO 16684-1)
  std::string_view icc = {};   // a colour profile (ISO 15076-1), or the first part of one
};

struct JpegSegments {
  Metadata metadata;
  bool cut = false;  // the file ends before its pixels begin
};

// The segments of a JPEG file. Reads nothing outside of `jpeg`, which the result refers to.
JpegSegments jpeg_segments(std::string_view jpeg);

// Which side of the stored picture is up, 1 (upright) to 8: as Pillow reads it, EXIF's tag 0x0112, or where
// EXIF has no such tag XMP's tiff:Orientation. 1 without either, or if they are damaged.
int orientation_of(const Metadata& metadata);

// Whether a colour profile, by its description, is of other colours than sRGB's. Without a profile: false.
bool has_other_colours(std::string_view icc);

// Turns a picture [height, width, channels] upright that is stored with this orientation.
at::Tensor upright(const at::Tensor& stored, int orientation);

}  // namespace dtrain
