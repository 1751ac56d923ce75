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

// A least and a largest value.
using Interval = std::array<double, 2>;

// A box whose area is a part of the picture's within `scale`, and whose width is within `ratio` of its
// height, evenly on a logarithmic scale. nullopt: ten attempts gave none that fits into the picture.
std::optional<Box> draw_box(RandomGenerator& random, const PictureShape& shape, const Interval& scale,
                            const Interval& ratio);

// The largest box in the middle of the picture with a ratio within `ratio`.
Box middle_box(const PictureShape& shape, const Interval& ratio);

}  // namespace dtrain
