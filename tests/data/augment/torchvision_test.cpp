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
                                                                     {"hue", adjust_hue},
                                                                     {"sharpness", adjust_sharpness},
                                                                     {"solarize", solarize}};
  const std::string& name = reference.operation;
  const double factor = reference.factor;
  if (name == "shear_x") return shear(picture, factor, 0, 0);
  if (name == "shear_y") return shear(picture, 0, factor, 0);
  if (name == "translate_x") return translate(picture, static_cast<int64_t>(factor), 0, 0);
  if (name == "translate_y") return translate(picture, 0, static_cast<int64_t>(factor), 0);
  if (name == "posterize") return posterize(picture, static_cast<int64_t>(factor));
  if (name == "autocontrast") return autocontrast(picture);
  if (name == "equalize") return equalize(picture);
  if (name == "rotation") return rotate(picture, factor, 0);
  if (name == "scaled_box") return scale_box_up(picture, {1, 2, 4, 3});
  colours.at(name)(picture, factor);
}

TEST_CASE("colours, rotations and scaling are torchvision's to one level, and mostly exactly") {
  int64_t equal = 0, all = 0;
  for (const TorchvisionCase& reference : kTorchvisionCases) {
    INFO(reference.operation << " by " << reference.factor);
    const bool is_large = reference.operation == "equalize";
    const PictureShape shape =
        is_large ? PictureShape{1, 20, 21} : PictureShape{std::ssize(reference.pixels) / 42, 6, 7};
    std::vector<uint8_t> before = small_picture(shape);
    if (reference.operation == "autocontrast")  // which has room to be stretched
      for (uint8_t& pixel : before) pixel = static_cast<uint8_t>(pixel / 2 + 20);
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
  shear(same.picture, 0, 0, 9);
  translate(same.picture, 0, 0, 9);
  adjust_sharpness(same.picture, 1);
  posterize(same.picture, 8);
  solarize(same.picture, 255.5);
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

TEST_CASE("what a picture of one value becomes, and what is moved in from outside") {
  const PictureShape shape{2, 20, 20};
  OwnPicture even(shape, picture_of(shape, [](int64_t, int64_t, int64_t) { return 90; }));
  autocontrast(even.picture);
  equalize(even.picture);
  adjust_sharpness(even.picture, 0);
  CHECK(even.values() == picture_of(shape, [](int64_t, int64_t, int64_t) { return 90; }));
  solarize(even.picture, 90);
  CHECK(even.values()[0] == 165);
  posterize(even.picture, 2);
  CHECK(even.values()[0] == 128);
  translate(even.picture, 5, -3, 7);
  CHECK(even.values() == picture_of(shape, [](int64_t, int64_t row, int64_t column) {
          return row < 17 && column >= 5 ? 128 : 7;
        }));
  OwnPicture slanted(shape, picture_of(shape, [](int64_t, int64_t, int64_t) { return 200; }));
  shear(slanted.picture, 0.5, 0, 77);
  CHECK(slanted.values()[0] == 200);
  CHECK(slanted.values()[19 * 20 + 19] == 77);
  CHECK(slanted.values()[19 * 20 + 5] == 200);
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
