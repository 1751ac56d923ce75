// The operations on a box of a picture.
#include <algorithm>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

// Between which two pixels a scaled one lies, and how far from the first.
struct Between {
  int64_t first;
  int64_t second;
  float part;
};

std::vector<Between> positions(int64_t begin, int64_t length, int64_t scaled) {
  std::vector<Between> all(static_cast<size_t>(scaled));
  const double step = static_cast<double>(length) / static_cast<double>(scaled);
  for (int64_t i = 0; i < scaled; ++i) {
    const double at = std::max(0.0, (static_cast<double>(i) + 0.5) * step - 0.5);
    const auto first = static_cast<int64_t>(at);
    all[static_cast<size_t>(i)] = {begin + first, begin + std::min(first + 1, length - 1),
                                   static_cast<float>(at - static_cast<double>(first))};
  }
  return all;
}

// One row, scaled in its direction.
struct ScaledRow {
  explicit ScaledRow(int64_t width) : values(static_cast<size_t>(width)) {}

  void scale(const uint8_t* plane, int64_t new_row, const std::vector<Between>& columns) {
    if (row == new_row) return;
    row = new_row;
    const uint8_t* from = plane + row * std::ssize(columns);
    for (size_t x = 0; x < columns.size(); ++x) {
      const auto first = static_cast<float>(from[columns[x].first]);
      values[x] = first + (static_cast<float>(from[columns[x].second]) - first) * columns[x].part;
    }
  }

  std::vector<float> values;
  int64_t row = -1;
};

void erase(Picture& picture, const Box& box, uint8_t fill) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = box.top; y < box.top + box.height; ++y)
      std::fill_n(picture.pixels + (channel * height + y) * width + box.left, box.width, fill);
  }
}

}  // namespace

void scale_box_up(Picture& picture, const Box& box) {
  const auto [channels, height, width] = picture.shape;
  const std::vector<Between> rows = positions(box.top, box.height, height);
  const std::vector<Between> columns = positions(box.left, box.width, width);
  for (int64_t channel = 0; channel < channels; ++channel) {
    const uint8_t* from = picture.pixels + channel * picture.shape.plane();
    uint8_t* to = picture.spare + channel * picture.shape.plane();
    ScaledRow above(width), below(width);
    for (const Between& row : rows) {
      if (below.row == row.first) std::swap(above, below);
      above.scale(from, row.first, columns);
      below.scale(from, row.second, columns);
      const float* first = above.values.data();
      const float* second = below.values.data();
      for (int64_t x = 0; x < width; ++x) to[x] = nearest_pixel(first[x] + (second[x] - first[x]) * row.part);
      to += width;
    }
  }
  picture.swap();
}

PictureChange make_random_resized_crop(const KindFields& own) {
  const auto scale = interval_of(own.get<BoxFields>().scale, {0.08, 1});
  const auto ratio = interval_of(own.get<BoxFields>().ratio, {3.0 / 4, 4.0 / 3});
  return [scale, ratio](Picture& picture, RandomGenerator& random) {
    const auto box = draw_box(random, picture.shape, scale, ratio);
    scale_box_up(picture, box.value_or(middle_box(picture.shape, ratio)));
  };
}

PictureChange make_random_erasing(const KindFields& own) {
  const auto scale = interval_of(own.get<BoxFields>().scale, {0.02, 0.33});
  const auto ratio = interval_of(own.get<BoxFields>().ratio, {1 / 3.3, 1 / 0.3});
  const auto fill = static_cast<uint8_t>(own.get<BoxFields>().fill);
  return [scale, ratio, fill](Picture& picture, RandomGenerator& random) {
    const auto box = draw_box(random, picture.shape, scale, ratio, /*margin=*/1);
    if (box) erase(picture, *box, fill);
  };
}

}  // namespace dtrain
