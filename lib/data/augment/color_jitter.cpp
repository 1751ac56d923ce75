#include <algorithm>
#include <array>
#include <utility>

#include "augment/operations.h"
#include "spec/augment_kinds.h"

namespace dtrain {
namespace {

// Rec. 601, a whole number.
float grey_of(uint8_t red, uint8_t green, uint8_t blue) {
  const float grey = static_cast<float>(red) * 0.2989F + static_cast<float>(green) * 0.587F +
                     static_cast<float>(blue) * 0.114F;
  return static_cast<float>(static_cast<int32_t>(grey));
}

double mean_grey(const Picture& picture) {
  const int64_t plane = picture.shape.plane();
  const uint8_t* const red = picture.pixels;
  int64_t sum = 0;
  for (int64_t i = 0; i < plane; ++i)
    sum += picture.shape.channels == 1
               ? red[i]
               : static_cast<int32_t>(grey_of(red[i], red[plane + i], red[2 * plane + i]));
  return static_cast<double>(sum) / static_cast<double>(plane);
}

// Replaces every pixel by factor * pixel + offset.
void scale_pixels(Picture& picture, float factor, float offset) {
  std::array<uint8_t, 256> table;
  for (size_t value = 0; value < table.size(); ++value)
    table[value] = pixel_of(static_cast<float>(value) * factor + offset);
  const int64_t bytes = picture.shape.bytes();
  for (int64_t i = 0; i < bytes; ++i) picture.pixels[i] = table[picture.pixels[i]];
}

// The share of one channel in a colour whose hue is `hue` sixths of the circle: max - range * this.
float channel_of(float hue, float begin) {
  float at = hue + begin;
  at -= at >= 6 ? 6.0F : 0.0F;
  return std::min(std::max(std::min(at, 4 - at), 0.0F), 1.0F);
}

struct Change {
  void (*change)(Picture& picture, double factor);
  Interval factor;
};

Interval around_one(double distance) { return {std::max(0.0, 1 - distance), 1 + distance}; }

}  // namespace

void adjust_brightness(Picture& picture, double factor) {
  scale_pixels(picture, static_cast<float>(factor), 0);
}

void adjust_contrast(Picture& picture, double factor) {
  scale_pixels(picture, static_cast<float>(factor), static_cast<float>((1 - factor) * mean_grey(picture)));
}

void adjust_saturation(Picture& picture, double factor) {
  if (picture.shape.channels != 3) return;
  const int64_t plane = picture.shape.plane();
  const auto keep = static_cast<float>(factor), grey_part = static_cast<float>(1 - factor);
  uint8_t* const red = picture.pixels;
  uint8_t* const green = red + plane;
  uint8_t* const blue = green + plane;
  for (int64_t i = 0; i < plane; ++i) {
    const float grey = grey_part * grey_of(red[i], green[i], blue[i]);
    red[i] = pixel_of(static_cast<float>(red[i]) * keep + grey);
    green[i] = pixel_of(static_cast<float>(green[i]) * keep + grey);
    blue[i] = pixel_of(static_cast<float>(blue[i]) * keep + grey);
  }
}

// To hue, saturation and value and back: only the hue changes, so the extreme channels keep their values.
void adjust_hue(Picture& picture, double turns) {
  if (picture.shape.channels != 3) return;
  constexpr float kLevels = 255.999F / 255;  // torchvision's, to cut off 0..1 to 0..255
  const auto shift = static_cast<float>(turns < 0 ? 6 * turns + 6 : 6 * turns);
  const int64_t plane = picture.shape.plane();
  uint8_t* const red = picture.pixels;
  uint8_t* const green = red + plane;
  uint8_t* const blue = green + plane;
  for (int64_t i = 0; i < plane; ++i) {
    const auto r = static_cast<float>(red[i]), g = static_cast<float>(green[i]),
               b = static_cast<float>(blue[i]);
    const float most = std::max(std::max(r, g), b);
    const float range = most - std::min(std::min(r, g), b);
    const float part = 1 / std::max(range, 1.0F);  // without a range there is no hue
    const float from_red = (g - b) * part, from_green = 2 + (b - r) * part, from_blue = 4 + (r - g) * part;
    float hue = shift + (most == r ? from_red : most == g ? from_green : from_blue);  // -1 to 11
    hue += hue < 0 ? 6.0F : 0.0F;
    hue -= hue >= 6 ? 6.0F : 0.0F;
    red[i] = static_cast<uint8_t>((most - range * channel_of(hue, 5)) * kLevels);
    green[i] = static_cast<uint8_t>((most - range * channel_of(hue, 3)) * kLevels);
    blue[i] = static_cast<uint8_t>((most - range * channel_of(hue, 1)) * kLevels);
  }
}

// The four changes in an order that is drawn, too.
PictureChange make_color_jitter(const KindFields& own) {
  const auto& [brightness, contrast, saturation, hue] = own.get<ColourFields>();
  const std::array<Change, 4> changes = {{{adjust_brightness, around_one(brightness)},
                                          {adjust_contrast, around_one(contrast)},
                                          {adjust_saturation, around_one(saturation)},
                                          {adjust_hue, {-hue, hue}}}};
  return [changes](Picture& picture, RandomGenerator& random) {
    std::array<size_t, 4> order = {0, 1, 2, 3};
    for (size_t last = 3; last > 0; --last) std::swap(order[last], order[random.below(last + 1)]);
    for (const size_t index : order) {
      const auto& [change, bounds] = changes[index];
      const double factor = draw_between(random, bounds);
      if (bounds[0] < bounds[1]) change(picture, factor);
    }
  };
}

}  // namespace dtrain
