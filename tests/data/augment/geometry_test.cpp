#include <algorithm>
#include <cmath>

#include "augment/operations.h"
#include "augment/pictures.h"
#include "catch.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

const PictureShape kShapes[] = {{1, 1, 1}, {3, 4, 5}, {2, 7, 8}, {1, 9, 17}, {3, 6, 16}};

// The pixel at (channel, row, column) of `pixels`.
int64_t at(const std::vector<uint8_t>& pixels, const PictureShape& shape, int64_t channel, int64_t row,
           int64_t column) {
  return pixels[static_cast<size_t>((channel * shape.height + row) * shape.width + column)];
}

TEST_CASE("a flip puts every pixel where its mirror image is") {
  for (const PictureShape& shape : kShapes) {
    const std::vector<uint8_t> before = noise(shape);
    OwnPicture across(shape, before), over(shape, before);
    flip_horizontally(across.picture);
    flip_vertically(over.picture);
    CHECK(across.values() == picture_of(shape, [&](int64_t channel, int64_t row, int64_t column) {
            return at(before, shape, channel, row, shape.width - 1 - column);
          }));
    CHECK(over.values() == picture_of(shape, [&](int64_t channel, int64_t row, int64_t column) {
            return at(before, shape, channel, shape.height - 1 - row, column);
          }));
  }
}

TEST_CASE("a shifted picture shows what a padded one has at that place") {
  const PictureShape shape{2, 5, 6};
  const std::vector<uint8_t> before = noise(shape);
  for (int64_t down = -8; down <= 8; ++down) {
    for (int64_t right = -8; right <= 8; ++right) {
      OwnPicture zero(shape, before);
      shift(zero.picture, down, right, Border::kZero);
      CHECK(zero.values() == picture_of(shape, [&](int64_t channel, int64_t row, int64_t column) -> int64_t {
              const int64_t y = row + down, x = column + right;
              return y < 0 || y >= 5 || x < 0 || x >= 6 ? 0 : at(before, shape, channel, y, x);
            }));
      if (std::abs(down) >= 5 || std::abs(right) >= 6) continue;
      OwnPicture reflected(shape, before);
      shift(reflected.picture, down, right, Border::kReflect);
      // d c b | a b c d e f | e d c: the edge is not repeated.
      const auto mirror = [](int64_t index, int64_t size) {
        const int64_t period = 2 * (size - 1);
        const int64_t within = ((index % period) + period) % period;
        return std::min(within, period - within);
      };
      CHECK(reflected.values() == picture_of(shape, [&](int64_t channel, int64_t row, int64_t column) {
              return at(before, shape, channel, mirror(row + down, 5), mirror(column + right, 6));
            }));
    }
  }
}

TEST_CASE("the whole picture, scaled to its own size, is the same picture") {
  for (const PictureShape& shape : kShapes) {
    OwnPicture picture(shape, noise(shape));
    scale_box_up(picture.picture, {0, 0, shape.height, shape.width});
    CHECK(picture.values() == noise(shape));
  }
}

TEST_CASE("scaling up is linear between the middles of pixels, and constant beyond the last") {
  // 10 and 30 in the middle of a picture of 4 x 8, scaled to 8 columns: their middles are at 1.5 and 5.5.
  const PictureShape shape{1, 4, 8};
  OwnPicture picture(shape, picture_of(shape, [](int64_t, int64_t, int64_t column) {
                       return column == 3 ? 10 : column == 4 ? 30 : 200;
                     }));
  scale_box_up(picture.picture, {1, 3, 2, 2});
  CHECK(picture.values() == picture_of(shape, [](int64_t, int64_t, int64_t column) {
          return std::lround(std::clamp(10 + 20 * (static_cast<double>(column) - 1.5) / 4, 10.0, 30.0));
        }));
}

TEST_CASE("a drawn box has an area, a ratio and a place within their bounds, spread over all of them") {
  const PictureShape shape{3, 60, 90};
  const Interval scale{0.2, 0.6}, ratio{0.5, 2};
  RandomGenerator random(7);
  double areas = 0, logarithms = 0, tops = 0;
  constexpr int kDraws = 10000;
  for (int i = 0; i < kDraws; ++i) {
    const auto box = draw_box(random, shape, scale, ratio);
    REQUIRE(box);
    REQUIRE(
        (box->top >= 0 && box->top + box->height <= 60 && box->left >= 0 && box->left + box->width <= 90));
    const double area = static_cast<double>(box->height * box->width) / (60 * 90);
    const double aspect = static_cast<double>(box->width) / static_cast<double>(box->height);
    REQUIRE((area > 0.18 && area < 0.62));
    REQUIRE((aspect > 0.47 && aspect < 2.1));
    areas += area;
    logarithms += std::log(aspect);
    if (box->height < 60) tops += static_cast<double>(box->top) / static_cast<double>(60 - box->height);
  }
  CHECK(areas / kDraws == Approx(0.4).margin(0.02));  // a little less: the largest may not fit
  CHECK(logarithms / kDraws == Approx(0).margin(0.1));
  CHECK(tops / kDraws == Approx(0.5).margin(0.02));
}

TEST_CASE("where no box fits, the middle of the picture has the nearest ratio") {
  RandomGenerator random(1);
  const PictureShape wide{1, 4, 400};
  CHECK_FALSE(draw_box(random, wide, {1, 1}, {0.75, 1.25}));
  CHECK(middle_box(wide, {0.75, 1.25}) == Box{0, 197, 4, 5});
  CHECK(middle_box({1, 400, 4}, {0.8, 1.25}) == Box{197, 0, 5, 4});
  CHECK(middle_box({1, 10, 11}, {0.75, 1.25}) == Box{0, 0, 10, 11});
}

}  // namespace
