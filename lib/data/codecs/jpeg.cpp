#include <ATen/ATen.h>
#include <turbojpeg.h>

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "codecs/codecs.h"
#include "core/error.h"

namespace dtrain {
namespace {

// As programs write them, with inverted inks (Adobe): 255 is none.
at::Tensor from_inverted_cmyk(const at::Tensor& inks) {
  const int64_t height = inks.size(0), width = inks.size(1);
  at::Tensor pixels = rows_of_pixels(width, height, 3);
  const uint8_t* from = inks.const_data_ptr<uint8_t>();
  uint8_t* to = pixels.mutable_data_ptr<uint8_t>();
  for (int64_t pixel = 0; pixel < width * height; ++pixel, from += 4) {
    for (int ink = 0; ink < 3; ++ink) *to++ = static_cast<uint8_t>((from[ink] * from[3] + 127) / 255);
  }
  return pixels;
}

class JpegHeader {
 public:
  explicit JpegHeader(const std::string& bytes)
      : segments_(jpeg_segments(bytes)), decoder_(tjInitDecompress(), tjDestroy) {
    if (!decoder_) throw std::bad_alloc();
    int subsampling = 0;
    check(tjDecompressHeader3(decoder_.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                              bytes.size(), &width, &height, &subsampling, &colours));
    // No fault, but no size either: there are only tables.
    if (width <= 0 || height <= 0)
      throw Error(ExitCode::kData, std::string(kFault) + (segments_.cut ? kCut : "no pixels"));
  }
  tjhandle decoder() const { return decoder_.get(); }
  void check(int failed) const {
    if (failed == 0) return;
    const std::string fault = tjGetErrorStr2(decoder_.get());
    const bool cut = segments_.cut || fault.find("Premature end") != std::string::npos;
    throw Error(ExitCode::kData, kFault + (cut ? kCut : fault));
  }
  int orientation() const { return orientation_of(segments_.metadata); }
  bool has_other_colours() const { return dtrain::has_other_colours(segments_.metadata.icc); }
  bool has_inks() const { return colours == TJCS_CMYK || colours == TJCS_YCCK; }

  int width = 0, height = 0, colours = 0;

 private:
  static constexpr const char* kFault = "no sound JPEG: ";

  const JpegSegments segments_;
  const std::unique_ptr<std::remove_pointer_t<tjhandle>, int (*)(tjhandle)> decoder_;
};

// The fractions are those that libjpeg-turbo has SIMD code for.
tjscalingfactor factor_for(const JpegHeader& header, SmallestSize smallest) {
  constexpr tjscalingfactor kWhole{1, 1};
  if (smallest.height <= 0 || smallest.width <= 0) return kWhole;
  for (const tjscalingfactor factor : {tjscalingfactor{1, 8}, tjscalingfactor{1, 4}, tjscalingfactor{1, 2}}) {
    if (TJSCALED(header.height, factor) >= smallest.height &&
        TJSCALED(header.width, factor) >= smallest.width)
      return factor;
  }
  return kWhole;
}

}  // namespace

ImageFacts jpeg_facts(const std::string& bytes) {
  const JpegHeader header(bytes);
  const char* colours = header.has_inks() ? "inks (CMYK)" : header.colours == TJCS_GRAY ? "grey" : "colour";
  return {"JPEG", header.width, header.height, colours, header.orientation(), header.has_other_colours()};
}

at::Tensor decode_jpeg(const std::string& bytes, SmallestSize smallest) {
  const JpegHeader header(bytes);
  const int orientation = header.orientation();
  if (orientation >= 5) std::swap(smallest.height, smallest.width);  // it lies on its side
  const int form = header.has_inks() ? TJPF_CMYK : header.colours == TJCS_GRAY ? TJPF_GRAY : TJPF_RGBX;
  require_size(header.width, header.height);  // of the file: it is decoded whole, whatever comes out
  const tjscalingfactor factor = factor_for(header, smallest);
  const int width = TJSCALED(header.width, factor), height = TJSCALED(header.height, factor);
  at::Tensor pixels = rows_of_pixels(width, height, tjPixelSize[form]);
  // Warnings mean that data is missing or damaged. Scans are limited: a small file could have very many.
  constexpr int kStrict = TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS | TJFLAG_ACCURATEDCT;
  header.check(tjDecompress2(header.decoder(), reinterpret_cast<const unsigned char*>(bytes.data()),
                             bytes.size(), pixels.mutable_data_ptr<uint8_t>(), width, /*pitch=*/0, height,
                             form, kStrict));
  if (header.has_inks()) pixels = from_inverted_cmyk(pixels);
  const at::Tensor turned = upright(pixels, orientation);
  return form == TJPF_RGBX ? turned.narrow(2, 0, 3) : turned;
}

}  // namespace dtrain
