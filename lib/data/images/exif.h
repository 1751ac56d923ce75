// The orientation of a picture, from its metadata.
#pragma once

#include <ATen/core/Tensor.h>

#include <string_view>

namespace dtrain {

// The metadata of a picture as its file has it; empty: it has none.
struct Metadata {
  std::string_view exif = {};  // a TIFF header with directories (CIPA DC-008), "Exif\0\0" may be before it
  std::string_view xmp = {};   // XML (ISO 16684-1)
};

struct JpegSegments {
  Metadata metadata;
  bool cut = false;  // the file ends before its pixels begin
};

// Of a JPEG file. Reads nothing outside of `jpeg`, which the result refers to.
JpegSegments jpeg_segments(std::string_view jpeg);

// Which side of the stored picture is up, 1 (upright) to 8: as Pillow reads it, EXIF's tag 0x0112, or where
// EXIF has no such tag XMP's tiff:Orientation. 1 without either, or if they are damaged.
int orientation_of(const Metadata& metadata);

// Rotates a picture [height, width, channels] that is stored with this orientation upright.
at::Tensor upright(const at::Tensor& stored, int orientation);

}  // namespace dtrain
