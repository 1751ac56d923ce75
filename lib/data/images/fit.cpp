#include "images/fit.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "codecs/image_file.h"
#include "core/error.h"
#include "core/text.h"

namespace dtrain {
namespace {

at::Tensor to_grey(const at::Tensor& images) {
  const at::Tensor wide = images.to(at::kInt);
  const at::Tensor grey =
      wide.narrow(1, 0, 1) * 299 + wide.narrow(1, 1, 1) * 587 + wide.narrow(1, 2, 1) * 114;
  return at::floor_divide(grey + 500, 1000).to(at::kByte);
}

// Of colours with an unused byte after each pixel, these four bytes as channels. LibTorch scales them in
// their place, and would make a copy of three.
at::Tensor with_unused_channel(const at::Tensor& images) {
  const bool has_one = images.size(1) == 3 && images.stride(1) == 1 && images.stride(3) == 4 &&
                       images.stride(2) == 4 * images.size(3) && images.storage_offset() % 4 == 0;
  return has_one ? images.as_strided({images.size(0), 4, images.size(2), images.size(3)}, images.strides())
                 : images;
}

at::Tensor scaled(const at::Tensor& images, int64_t height, int64_t width) {
  if (images.size(2) == height && images.size(3) == width) return images;
  return at::_upsample_bilinear2d_aa(with_unused_channel(images), {height, width}, /*align_corners=*/false)
      .narrow(1, 0, images.size(1));
}

// A side of an image that is scaled in proportion.
int64_t side_of(double length) { return std::max<int64_t>(1, std::llround(length)); }

struct Size {
  int64_t height, width;
};

// Of an image that is scaled in proportion, until it covers or fits into `target`.
Size scaled_size(Size image, Size target, Fit fit) {
  const double vertical = static_cast<double>(target.height) / static_cast<double>(image.height);
  const double horizontal = static_cast<double>(target.width) / static_cast<double>(image.width);
  const double factor = fit == Fit::kCrop ? std::max(vertical, horizontal) : std::min(vertical, horizontal);
  // One side is exact, whatever the rounding.
  const Size size = {
      factor == vertical ? target.height : side_of(factor * static_cast<double>(image.height)),
      factor == horizontal ? target.width : side_of(factor * static_cast<double>(image.width))};
  if (fit == Fit::kCrop && size.height * size.width > kMaxImagePixels)  // a long one that is cut to a piece
    throw Error(
        ExitCode::kData,
        "{} x {} pixels, which data.image.fit: crop scales to {} x {}, more than {} pixels; cut it, or "
        "use pad or stretch",
        image.width, image.height, size.width, size.height, with_separators(kMaxImagePixels));
  return size;
}

at::Tensor resized(const at::Tensor& images, int64_t height, int64_t width, Fit fit) {
  if (fit == Fit::kStretch) return scaled(images, height, width);
  const auto [rows, columns] = scaled_size({images.size(2), images.size(3)}, {height, width}, fit);
  if (fit == Fit::kPad) {
    at::Tensor padded = at::zeros({images.size(0), images.size(1), height, width}, at::kByte);
    padded.narrow(2, (height - rows) / 2, rows)
        .narrow(3, (width - columns) / 2, columns)
        .copy_(scaled(images, rows, columns));
    return padded;
  }
  return scaled(images, rows, columns)
      .narrow(2, (rows - height) / 2, height)
      .narrow(3, (columns - width) / 2, width);
}

}  // namespace

Fit fit_of(const std::string& name) {
  if (name == "stretch") return Fit::kStretch;
  if (name == "crop") return Fit::kCrop;
  if (name == "pad") return Fit::kPad;
  throw Error(ExitCode::kBug, "no way to fit an image: " + name);
}

void require_croppable(int64_t height, int64_t width, const std::vector<int64_t>& shape, Fit fit) {
  if (fit == Fit::kCrop) scaled_size({height, width}, {shape[1], shape[2]}, fit);
}

at::Tensor fit_images(const at::Tensor& images, const std::vector<int64_t>& shape, Fit fit) {
  const int64_t channels = shape[0], height = shape[1], width = shape[2];
  const auto is_grey_or_colour = [](int64_t count) { return count == 1 || count == 3; };
  if (channels != images.size(1) && !(is_grey_or_colour(channels) && is_grey_or_colour(images.size(1))))
    throw Error(ExitCode::kData, "{}, and the model takes {}", counted(images.size(1), "channel"), channels);
  at::Tensor fitted = images;
  if (images.size(2) != height || images.size(3) != width) {
    if (fit == Fit::kRefuse) {
      throw Error(ExitCode::kData, "{} x {} pixels, and the model takes {} x {}: --resize scales it",
                  images.size(3), images.size(2), width, height);
    }
    fitted = resized(images, height, width, fit);
  }
  if (fitted.size(1) != channels)
    fitted = channels == 1 ? to_grey(fitted) : fitted.expand({-1, channels, -1, -1});
  return fitted.contiguous();
}

at::Tensor with_longer_side(const at::Tensor& image, int64_t side) {
  const int64_t longer = std::max(image.size(1), image.size(2));
  const auto scaled = [&](int64_t length) { return std::max<int64_t>(1, length * side / longer); };
  return fit_images(image.unsqueeze(0), {image.size(0), scaled(image.size(1)), scaled(image.size(2))},
                    Fit::kStretch)[0];
}

}  // namespace dtrain
