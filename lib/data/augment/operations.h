// The operations of data.augment. A file of this room has all that one of them does, or a few that are
// alike, and the table in operations.cpp lists all.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "traits/kind_fields.h"

namespace dtrain {

struct PictureShape {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;

  int64_t plane() const { return height * width; }
  int64_t bytes() const { return channels * plane(); }
};

// A rectangle of pixels.
struct Box {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

// uint8 [channels, height, width], contiguous, and memory for another one: what cannot be done in place is
// written there, and the two are swapped.
struct Picture {
  uint8_t* pixels = nullptr;
  uint8_t* spare = nullptr;
  PictureShape shape;

  void swap() { std::swap(pixels, spare); }
};

// The pixel nearest to a value from 0 to 255. std::lround() would be exact below 0 too, and is a call for
// each pixel, which compilers do not vectorise.
inline uint8_t nearest_pixel(float value) {
  return static_cast<uint8_t>(value + 0.5F);  // NOLINT(bugprone-incorrect-roundings)
}

// The pixel with a value, cut off to a whole number from 0 to 255.
inline uint8_t pixel_of(float value) { return static_cast<uint8_t>(std::min(std::max(value, 0.0F), 255.0F)); }

// Changes a picture by itself, as `random` decides. Any number of threads may call one at once.
using PictureChange = std::function<void(Picture& picture, RandomGenerator& random)>;

// How a picture becomes a mixture with a partner, another one of its global batch, with the classes of both.
struct Mixture {
  int64_t partner = 0;          // its place in the global batch
  double share = 1;             // of the picture itself, 0 to 1; the rest is the partner's
  std::optional<Box> box = {};  // what is the partner's, if it is a box
  // Writes the mixture of `picture` and `partner` to `mixed`. nullptr: the picture stays as it is.
  void (*mix)(const Mixture& mixture, const PictureShape& shape, const uint8_t* picture,
              const uint8_t* partner, uint8_t* mixed) = nullptr;
};

// Draws all of a mixture but the partner.
using MixtureDraw = std::function<Mixture(RandomGenerator& random, const PictureShape& shape)>;

// One of the two functions makes it.
struct OperationMethod {
  std::string name;
  PictureChange (*change)(const KindFields& own) = nullptr;
  MixtureDraw (*mixture)(const KindFields& own) = nullptr;
};

// Each has its fields in spec/augment_kinds.h.
PictureChange make_flip(const KindFields& own);
PictureChange make_random_crop(const KindFields& own);
PictureChange make_random_resized_crop(const KindFields& own);
PictureChange make_rotate(const KindFields& own);
PictureChange make_color_jitter(const KindFields& own);
PictureChange make_random_erasing(const KindFields& own);
PictureChange make_trivial_augment(const KindFields& own);
MixtureDraw make_mixup(const KindFields& own);
MixtureDraw make_cutmix(const KindFields& own);

// Throws Error(kBug) for an unknown name: specs are checked earlier.
const OperationMethod& operation_method(const std::string& name);

// A least and a largest value.
using Interval = std::array<double, 2>;
Interval interval_of(const std::vector<double>& numbers, const Interval& otherwise);

// A number between the two, each with the same probability.
double draw_between(RandomGenerator& random, const Interval& interval);

// A box whose area is a part of the picture's within `scale`, and whose width is within `ratio` of its
// height, evenly on a logarithmic scale, but for `margin` rows and columns. nullopt: ten tries did not fit.
std::optional<Box> draw_box(RandomGenerator& random, const PictureShape& shape, const Interval& scale,
                            const Interval& ratio, int64_t margin = 0);

// The largest box in the middle of the picture with a ratio within `ratio`.
Box middle_box(const PictureShape& shape, const Interval& ratio);

// What the operations do to a picture when all is drawn. Those that move pixels:

// Left and right, or top and bottom, change places.
void flip_horizontally(Picture& picture);
void flip_vertically(Picture& picture);

enum class Border { kZero, kReflect };

// The window of the picture's size whose corner is at row `down` and column `right` of the picture, which may
// be negative. What lies outside is zero, or the picture reflected without repeating its edge; that takes
// |down| < height and |right| < width.
void shift(Picture& picture, int64_t down, int64_t right, Border border);

// `box` of the picture, scaled to the whole size: bilinear, with pixels as areas. A box is never larger than
// the picture, so this is also what antialiased scaling does.
void scale_box_up(Picture& picture, const Box& box);

// Turns the picture around its middle by `degrees`, counter-clockwise: bilinear, with `fill` outside of it.
void rotate(Picture& picture, double degrees, uint8_t fill);

// Slants the picture about its upper left corner: each row moves left by `columns` more than the row above
// it, or each column up by `rows` more than the one to its left. Bilinear, with `fill` outside of the
// picture.
void shear(Picture& picture, double columns, double rows, uint8_t fill);

// Moves the picture by whole pixels, with `fill` outside of it.
void translate(Picture& picture, int64_t right, int64_t down, uint8_t fill);

// Those that change colours, by the formulas of torchvision's functional.adjust_*, of which each result is
// cut off to whole numbers. Pictures have one channel (grey) or three (red, green, blue).

// Multiplies every pixel by `factor`, 0 or more.
void adjust_brightness(Picture& picture, double factor);
// Multiplies every pixel's distance from the mean of the grey picture by `factor`, 0 or more.
void adjust_contrast(Picture& picture, double factor);
// Multiplies every pixel's distance from its own grey by `factor`, 0 or more. Grey pictures stay as they are.
void adjust_saturation(Picture& picture, double factor);
// Turns every colour around the circle of colours by `turns`, -0.5 to 0.5. Grey pictures stay as they are.
void adjust_hue(Picture& picture, double turns);
// Multiplies every pixel's distance from a blurred picture (3x3, the middle five times) by `factor`, 0 or
// more. The border stays as it is.
void adjust_sharpness(Picture& picture, double factor);
// Keeps the upper `bits` of each pixel, 0 to 8.
void posterize(Picture& picture, int64_t bits);
// Replaces values from `threshold` on by 255 minus the value.
void solarize(Picture& picture, double threshold);
// Stretches each channel's values to 0 to 255.
void autocontrast(Picture& picture);
// Makes all values of a channel about equally frequent. Channels with less than 255 pixels below
// their largest value stay as they are.
void equalize(Picture& picture);

}  // namespace dtrain
