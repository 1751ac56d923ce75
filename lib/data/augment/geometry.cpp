#include "augment/geometry.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

namespace dtrain {
namespace {

constexpr int kAttempts = 10;  // as torchvision's

// A half goes to the even neighbour.
int64_t rounded(double length) { return static_cast<int64_t>(std::nearbyint(length)); }

int64_t reflected(int64_t at, int64_t size) {
  if (at < 0) return -at;
  return at < size ? at : 2 * (size - 1) - at;
}

void reverse_row(const uint8_t* from, uint8_t* to, int64_t width) {
  int64_t x = 0;
  for (; x + 8 <= width; x += 8) {
    uint64_t eight;
    std::memcpy(&eight, from + width - 8 - x, 8);
    eight = __builtin_bswap64(eight);
    std::memcpy(to + x, &eight, 8);
  }
  for (; x < width; ++x) to[x] = from[width - 1 - x];
}

void shift_row(const uint8_t* from, uint8_t* to, int64_t width, int64_t right, Border border) {
  const int64_t begin = std::clamp<int64_t>(-right, 0, width);  // of the columns that are in the picture
  const int64_t end = std::clamp<int64_t>(width - right, begin, width);
  std::copy_n(from + begin + right, end - begin, to + begin);
  const auto outside = [&](int64_t column) {
    return border == Border::kZero ? uint8_t{0} : from[reflected(column + right, width)];
  };
  for (int64_t x = 0; x < begin; ++x) to[x] = outside(x);
  for (int64_t x = end; x < width; ++x) to[x] = outside(x);
}

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

// The four pixels around a position in a picture with a border of one pixel, and how far it is from the
// first.
struct Neighbours {
  int64_t first;
  float right;
  float down;

  uint8_t blend(const uint8_t* plane, int64_t stride) const {
    const uint8_t* const at = plane + first;
    const auto value = [at](int64_t offset) { return static_cast<float>(at[offset]); };
    const float above = value(0) + (value(1) - value(0)) * right;
    const float below = value(stride) + (value(stride + 1) - value(stride)) * right;
    return nearest_pixel(above + (below - above) * down);
  }
};

// `x` and `y` are -1 or more.
Neighbours neighbours(float x, float y, int64_t stride) {
  const auto column = static_cast<int64_t>(x + 1), row = static_cast<int64_t>(y + 1);
  return {row * stride + column, x + 1 - static_cast<float>(column), y + 1 - static_cast<float>(row)};
}

}  // namespace

void flip_horizontally(Picture& picture) {
  const int64_t width = picture.shape.width;
  for (int64_t at = 0; at < picture.shape.bytes(); at += width)
    reverse_row(picture.pixels + at, picture.spare + at, width);
  picture.swap();
}

void flip_vertically(Picture& picture) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    uint8_t* plane = picture.pixels + channel * picture.shape.plane();
    for (int64_t y = 0; y < height / 2; ++y)
      std::swap_ranges(plane + y * width, plane + (y + 1) * width, plane + (height - 1 - y) * width);
  }
}

void shift(Picture& picture, int64_t down, int64_t right, Border border) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    const uint8_t* from = picture.pixels + channel * picture.shape.plane();
    uint8_t* to = picture.spare + channel * picture.shape.plane();
    for (int64_t y = 0; y < height; ++y, to += width) {
      int64_t row = y + down;
      if (border == Border::kReflect) row = reflected(row, height);
      if (row < 0 || row >= height) {
        std::fill_n(to, width, uint8_t{0});
      } else {
        shift_row(from + row * width, to, width, right, border);
      }
    }
  }
  picture.swap();
}

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

void rotate(Picture& picture, double degrees, uint8_t fill) {
  const auto [channels, height, width] = picture.shape;
  // With a border of `fill`, every pixel has four neighbours: positions are at least -1, and at most one
  // side.
  const int64_t stride = width + 3;
  thread_local std::vector<uint8_t> framed;
  std::vector<Neighbours> row(static_cast<size_t>(width));
  framed.assign(static_cast<size_t>(channels * (height + 3) * stride), fill);
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(picture.pixels + (channel * height + y) * width, width,
                  framed.data() + (channel * (height + 3) + y + 1) * stride + 1);
  }
  const double radians = degrees * std::numbers::pi / 180;
  const auto cosine = static_cast<float>(std::cos(radians)), sine = static_cast<float>(std::sin(radians));
  const float middle_x = static_cast<float>(width - 1) / 2, middle_y = static_cast<float>(height - 1) / 2;
  for (int64_t y = 0; y < height; ++y) {
    const float down = static_cast<float>(y) - middle_y;
    for (int64_t x = 0; x < width; ++x) {
      const float right = static_cast<float>(x) - middle_x;
      const float from_x = cosine * right - sine * down + middle_x;
      const float from_y = sine * right + cosine * down + middle_y;
      row[static_cast<size_t>(x)] = neighbours(std::clamp(from_x, -1.0F, static_cast<float>(width)),
                                               std::clamp(from_y, -1.0F, static_cast<float>(height)), stride);
    }
    for (int64_t channel = 0; channel < channels; ++channel) {
      const uint8_t* from = framed.data() + channel * (height + 3) * stride;
      uint8_t* to = picture.spare + (channel * height + y) * width;
      for (const Neighbours& at : row) *to++ = at.blend(from, stride);
    }
  }
  picture.swap();
}

void erase(Picture& picture, const Box& box, uint8_t fill) {
  const auto [channels, height, width] = picture.shape;
  for (int64_t channel = 0; channel < channels; ++channel) {
    for (int64_t y = box.top; y < box.top + box.height; ++y)
      std::fill_n(picture.pixels + (channel * height + y) * width + box.left, box.width, fill);
  }
}

double draw_between(RandomGenerator& random, const Interval& interval) {
  return interval[0] + (interval[1] - interval[0]) * random.uniform();
}

std::optional<Box> draw_box(RandomGenerator& random, const PictureShape& shape, const Interval& scale,
                            const Interval& ratio, int64_t margin) {
  const Interval logarithms = {std::log(ratio[0]), std::log(ratio[1])};
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const double area = static_cast<double>(shape.plane()) * draw_between(random, scale);
    const double aspect = std::exp(draw_between(random, logarithms));
    const int64_t width = rounded(std::sqrt(area * aspect));
    const int64_t height = rounded(std::sqrt(area / aspect));
    if (width <= 0 || width > shape.width - margin || height <= 0 || height > shape.height - margin) continue;
    const auto top = static_cast<int64_t>(random.below(static_cast<uint64_t>(shape.height - height) + 1));
    const auto left = static_cast<int64_t>(random.below(static_cast<uint64_t>(shape.width - width) + 1));
    return Box{top, left, height, width};
  }
  return std::nullopt;
}

Box middle_box(const PictureShape& shape, const Interval& ratio) {
  const auto whole_width = static_cast<double>(shape.width), whole_height = static_cast<double>(shape.height);
  Box box{0, 0, shape.height, shape.width};
  if (whole_width / whole_height < ratio[0])
    box.height = std::max<int64_t>(1, rounded(whole_width / ratio[0]));
  if (whole_width / whole_height > ratio[1])
    box.width = std::max<int64_t>(1, rounded(whole_height * ratio[1]));
  box.top = (shape.height - box.height) / 2;
  box.left = (shape.width - box.width) / 2;
  return box;
}

}  // namespace dtrain
