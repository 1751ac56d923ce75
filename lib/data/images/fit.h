// Brings images to the size and colours that a model takes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

// How to handle an image of another size. All but kRefuse scale it (bilinear with antialiasing).
enum class Fit {
  kRefuse,
  kStretch,  // to exactly that size; proportions are not kept
  kCrop,     // until it covers that size; what is over on two sides is cut off evenly. One that has more
             // than kMaxImagePixels before it is cut is refused
  kPad,      // until it fits into that size; black bars fill up the rest on two sides evenly
};

// Of data.image.fit: stretch, crop or pad.
Fit fit_of(const std::string& name);

// Converts images, uint8 [n, 1 or 3, any height, any width], to `shape` (channels, height, width). Colour
// becomes grey by Rec. 601 (0.299 red + 0.587 green + 0.114 blue); grey becomes equal red, green and blue.
// The same bits with any number of threads. Throws Error(kData) with the fault, without a file name.
at::Tensor fit_images(const at::Tensor& images, const std::vector<int64_t>& shape, Fit fit);

// Throws what fit_images() throws for images of this size that have too many pixels before they are cut.
void require_croppable(int64_t height, int64_t width, const std::vector<int64_t>& shape, Fit fit);

// One image, [channels, height, width], in proportion: with `side` pixels on its longer side.
at::Tensor with_longer_side(const at::Tensor& image, int64_t side);

}  // namespace dtrain
