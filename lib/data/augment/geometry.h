// Operations that move pixels. Each replaces the picture by another one of the same shape.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "augment/picture.h"
#include "core/random.h"

namespace dtrain {

enum class Border { kZero, kReflect };

// Left and right, or top and bottom, change places.
void flip_horizontally(Picture& picture);
void flip_vertically(Picture& picture);

// The window of the picture's size whose corner is at row `down` and column `right` of the picture, which may
// be negative. What lies outside is zero, or the picture reflected without repeating its edge; that takes
// |down| < height and |right| < width.
void shift(Picture& picture, int64_t down, int64_t right, Border border);

// `box` of the picture, scaled to the whole size: bilinear, with pixels as areas. A box is never larger than
// the picture, so this is also what antialiased scaling does.
void scale_box_up(Picture& picture, const Box& box);

// Turns the picture around its middle by `degrees`, counter-clockwise: bilinear. Pixels outside of it have
// the value `fill`.
void rotate(Picture& picture, double degrees, uint8_t fill);

// Gives all pixels of `box` the value `fill`.
void erase(Picture& picture, const Box& box, uint8_t fill);

// A least and a largest value.
using Interval = std::array<double, 2>;

// A number between the two, each with the same probability.
double draw_between(RandomGenerator& random, const Interval& interval);

// A box whose area is a part of the picture's within `scale`, and whose width is within `ratio` of its
// height, evenly on a logarithmic scale. It leaves at least `margin` rows and columns. nullopt: ten attempts
// gave none that fits.
std::optional<Box> draw_box(RandomGenerator& random, const PictureShape& shape, const Interval& scale,
                            const Interval& ratio, int64_t margin = 0);

// The largest box in the middle of the picture with a ratio within `ratio`.
Box middle_box(const PictureShape& shape, const Interval& ratio);

}  // namespace dtrain
