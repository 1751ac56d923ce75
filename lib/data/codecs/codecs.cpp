#include "codecs/codecs.h"

#include <ATen/ATen.h>

#include "core/error.h"
#include "core/text.h"

namespace dtrain {

void require_size(int64_t width, int64_t height) {
  const bool fits = width >= 1 && height >= 1 && width <= kMaxImageSide && height <= kMaxImageSide &&
                    width * height <= kMaxImagePixels;
  if (!fits) {
    throw Error(ExitCode::kData, "{} x {} pixels, where sides of 1 to {} and {} pixels in all can be read",
                width, height, with_separators(kMaxImageSide), with_separators(kMaxImagePixels));
  }
}

at::Tensor rows_of_pixels(int64_t width, int64_t height, int64_t channels) {
  require_size(width, height);
  return at::empty({height, width, channels}, at::kByte);
}

at::Tensor on_white(const at::Tensor& pixels) {
  if (pixels.size(2) % 2 == 1) return pixels;
  const int64_t height = pixels.size(0), width = pixels.size(1), colours = pixels.size(2) - 1;
  at::Tensor opaque = rows_of_pixels(width, height, colours);
  const uint8_t* from = pixels.const_data_ptr<uint8_t>();
  uint8_t* to = opaque.mutable_data_ptr<uint8_t>();
  for (int64_t pixel = 0; pixel < width * height; ++pixel, from += colours + 1) {
    const int opacity = from[colours];
    for (int64_t colour = 0; colour < colours; ++colour)
      *to++ = static_cast<uint8_t>((from[colour] * opacity + 255 * (255 - opacity) + 127) / 255);
  }
  return opaque;
}

}  // namespace dtrain
