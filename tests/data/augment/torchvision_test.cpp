// Operations against what torchvision makes of the same picture.
#include <algorithm>
#include <cstdlib>
#include <map>

#include "augment/operations.h"
#include "augment/pictures.h"
#include "augment/torchvision_values.h"
#include "catch.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

std::vector<uint8_t> small_picture(const PictureShape& shape) {
  std::vector<uint8_t> pixels;
  for (int64_t i = 0; i < shape.bytes(); ++i)
    pixels.push_back(static_cast<uint8_t>((i * i * 31 + i * 77 + 13) % 256));
  return pixels;
}

void apply_case(Picture& picture, const TorchvisionCase& reference) {
  const std::map<std::string, void (*)(Picture&, double)> colours = {{"brightness", adjust_brightness},
                                                                     {"contrast", adjust_contrast},
                                                                     {"contrast_of_grey", adjust_contrast},
                                                                     {"saturation", adjust_saturation},
                                                                     {"hue", adjust_hue}};
  if (reference.operation == "rotation") return rotate(picture, reference.factor, 0);
  if (reference.operation == "scaled_box") return scale_box_up(picture, {1, 2, 4, 3});
  colours.at(reference.operation)(picture, reference.factor);
}

TEST_CASE("colours, rotations and scaling are torchvision's to one level, and mostly exactly") {
  int64_t equal = 0, all = 0;
  for (const TorchvisionCase& reference : kTorchvisionCases) {
    INFO(reference.operation << " by " << reference.factor);
    const PictureShape shape{std::ssize(reference.pixels) / 42, 6, 7};
    const std::vector<uint8_t> before = small_picture(shape);
    OwnPicture own(shape, before);
    apply_case(own.picture, reference);
    const std::vector<uint8_t> after = own.values();
    CHECK(after != before);
    int64_t worst = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      const int64_t difference = std::abs(after[i] - reference.pixels[i]);
      worst = std::max(worst, difference);
      equal += difference == 0 ? 1 : 0;
      ++all;
    }
    CHECK(worst <= 1);
  }
  CHECK(equal > all * 95 / 100);
}

TEST_CASE("a change by nothing leaves a picture as it is, and greys keep their grey") {
  const PictureShape shape{3, 16, 16}, one{1, 16, 16};
  OwnPicture same(shape, noise(shape));
  adjust_brightness(same.picture, 1);
  adjust_contrast(same.picture, 1);
  adjust_saturation(same.picture, 1);
  adjust_hue(same.picture, 0);
  rotate(same.picture, 0, 9);
  rotate(same.picture, 360, 9);
  CHECK(same.values() == noise(shape));

  const auto grey_at = [](int64_t, int64_t row, int64_t column) { return row * 16 + column; };
  for (const double turns : {-0.5, -0.2, 0.3}) {
    OwnPicture grey(shape, picture_of(shape, grey_at));
    adjust_hue(grey.picture, turns);
    CHECK(grey.values() == picture_of(shape, grey_at));
  }
  OwnPicture single(one, noise(one));
  adjust_saturation(single.picture, 0);
  adjust_hue(single.picture, 0.2);
  CHECK(single.values() == noise(one));
}

TEST_CASE("a third of the circle turns red to green and green to blue") {
  const PictureShape shape{3, 1, 2};
  OwnPicture picture(shape, {250, 0, 0, 130, 0, 0});  // red, and half as bright green
  adjust_hue(picture.picture, 1.0 / 3);
  CHECK(picture.values() == std::vector<uint8_t>{0, 0, 250, 0, 0, 130});
}

TEST_CASE("what a rotation brings in from outside has the fill's value") {
  const PictureShape shape{2, 40, 40};
  OwnPicture picture(shape, picture_of(shape, [](int64_t, int64_t, int64_t) { return 200; }));
  rotate(picture.picture, 45, 77);
  const std::vector<uint8_t> pixels = picture.values();
  CHECK(pixels[0] == 77);
  CHECK(pixels[1600 + 39] == 77);
  CHECK(pixels[20 * 40 + 20] == 200);
  CHECK(std::all_of(pixels.begin(), pixels.end(), [](uint8_t pixel) { return pixel >= 77 && pixel <= 200; }));
}

}  // namespace
