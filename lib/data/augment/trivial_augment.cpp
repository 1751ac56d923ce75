// trivial_augment (Mueller and Hutter 2021, arXiv:2103.10158): one of 14 operations at one of 31 strengths,
// with the strengths of torchvision's TrivialAugmentWide.
#include <algorithm>
#include <array>
#include <cmath>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

// By the values of pixels.
using ValueTable = std::array<uint8_t, 256>;
using ValueCounts = std::array<int64_t, 256>;

// Replaces the values of each channel as the table of the channel says, which is made from its counts.
template <class TableOf>
void replace_values(Picture& picture, const TableOf& table_of) {
  const int64_t plane = picture.shape.plane();
  for (int64_t channel = 0; channel < picture.shape.channels; ++channel) {
    uint8_t* const pixels = picture.pixels + channel * plane;
    ValueCounts counts = {};
    for (int64_t i = 0; i < plane; ++i) ++counts[pixels[i]];
    const ValueTable table = table_of(counts);
    for (int64_t i = 0; i < plane; ++i) pixels[i] = table[pixels[i]];
  }
}

template <class ValueOf>
ValueTable table_with(const ValueOf& value_of) {
  ValueTable table = {};
  for (size_t value = 0; value < table.size(); ++value) table[value] = static_cast<uint8_t>(value_of(value));
  return table;
}

struct Choice {
  void (*change)(Picture& picture, double strength, uint8_t fill);
  Interval strengths = {0, 0};  // the first and the last; all others lie evenly between them
  bool either_way = false;      // half of them are negative
};

// By a factor around 1.
template <void (*kAdjust)(Picture& picture, double factor)>
void adjust(Picture& picture, double strength, uint8_t /*fill*/) {
  kAdjust(picture, 1 + strength);
}

constexpr uint64_t kStrengths = 31;

const std::array<Choice, 14> kChoices = {{
    {[](Picture&, double, uint8_t) {}},
    {[](Picture& picture, double strength, uint8_t fill) { shear(picture, strength, 0, fill); },
     {0, 0.99},
     true},
    {[](Picture& picture, double strength, uint8_t fill) { shear(picture, 0, strength, fill); },
     {0, 0.99},
     true},
    {[](Picture& picture, double strength, uint8_t fill) {
       translate(picture, static_cast<int64_t>(strength), 0, fill);
     },
     {0, 32},
     true},
    {[](Picture& picture, double strength, uint8_t fill) {
       translate(picture, 0, static_cast<int64_t>(strength), fill);
     },
     {0, 32},
     true},
    {[](Picture& picture, double strength, uint8_t fill) { rotate(picture, strength, fill); },
     {0, 135},
     true},
    {adjust<adjust_brightness>, {0, 0.99}, true},
    {adjust<adjust_saturation>, {0, 0.99}, true},
    {adjust<adjust_contrast>, {0, 0.99}, true},
    {adjust<adjust_sharpness>, {0, 0.99}, true},
    {[](Picture& picture, double strength, uint8_t) { posterize(picture, std::lround(strength)); }, {8, 2}},
    {[](Picture& picture, double strength, uint8_t) { solarize(picture, strength); }, {255, 0}},
    {[](Picture& picture, double, uint8_t) { autocontrast(picture); }},
    {[](Picture& picture, double, uint8_t) { equalize(picture); }},
}};

}  // namespace

void adjust_sharpness(Picture& picture, double factor) {
  const auto [channels, height, width] = picture.shape;
  if (height < 3 || width < 3) return;
  const auto blurred_part = static_cast<float>(1 - factor);
  std::copy_n(picture.pixels, picture.shape.bytes(), picture.spare);
  for (int64_t row = 0; row < channels * height; ++row) {
    if (row % height == 0 || row % height == height - 1) continue;
    const uint8_t* const from = picture.pixels + row * width;
    uint8_t* const to = picture.spare + row * width;
    for (int64_t x = 1; x < width - 1; ++x) {
      int32_t sum = 4 * from[x];
      for (const int64_t at : {x - width, x, x + width}) sum += from[at - 1] + from[at] + from[at + 1];
      const auto value = static_cast<float>(from[x]);
      const auto blurred = static_cast<float>(nearest_pixel(static_cast<float>(sum) / 13));
      to[x] = pixel_of(value + blurred_part * (blurred - value));
    }
  }
  picture.swap();
}

void posterize(Picture& picture, int64_t bits) {
  const size_t kept = 0xFF00U >> static_cast<size_t>(bits);
  const ValueTable table = table_with([kept](size_t value) { return value & kept; });
  replace_values(picture, [&table](const ValueCounts&) { return table; });
}

void solarize(Picture& picture, double threshold) {
  const ValueTable table = table_with(
      [threshold](size_t value) { return static_cast<double>(value) >= threshold ? 255 - value : value; });
  replace_values(picture, [&table](const ValueCounts&) { return table; });
}

void autocontrast(Picture& picture) {
  replace_values(picture, [](const ValueCounts& counts) {
    size_t least = 0, most = 255;
    while (least < most && counts[least] == 0) ++least;
    while (most > least && counts[most] == 0) --most;
    if (least == most) return table_with([](size_t value) { return value; });
    const float scale = static_cast<float>(most - least) * static_cast<float>(1.0 / 255);
    return table_with([least, scale](size_t value) {
      return pixel_of((static_cast<float>(value) - static_cast<float>(least)) / scale);
    });
  });
}

// As PIL does it: a value becomes the number of pixels with lesser ones, in steps of a 255th of all pixels
// but those with the largest value.
void equalize(Picture& picture) {
  const int64_t plane = picture.shape.plane();
  replace_values(picture, [plane](const ValueCounts& counts) {
    size_t most = 255;
    while (most > 0 && counts[most] == 0) --most;
    const int64_t step = (plane - counts[most]) / 255;
    int64_t lesser = 0;
    return table_with([&](size_t value) {
      if (step == 0) return static_cast<int64_t>(value);
      const int64_t level = (lesser + step / 2) / step;
      lesser += counts[value];
      return std::min<int64_t>(level, 255);
    });
  });
}

PictureChange make_trivial_augment(const KindFields& own) {
  const auto fill = static_cast<uint8_t>(own.get<BoxFields>().fill);
  return [fill](Picture& picture, RandomGenerator& random) {
    const auto& [change, strengths, either_way] = kChoices[random.below(kChoices.size())];
    const auto step = static_cast<double>(random.below(kStrengths));
    const bool negative = random.below(2) == 1;
    const double strength =
        strengths[0] + (strengths[1] - strengths[0]) * step / static_cast<double>(kStrengths - 1);
    change(picture, either_way && negative ? -strength : strength, fill);
  };
}

}  // namespace dtrain
