#include "augment/augmenter.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "augment/pictures.h"
#include "catch.h"
#include "spec/augment_kinds.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

const PictureShape kShape{3, 12, 10};

AugmentSpec operation(const std::string& kind) {
  AugmentSpec spec{.kind = kind};
  if (kind == "rotate") spec.own = RotateFields{.degrees = {20}};
  if (kind == "color_jitter") spec.own = ColourFields{0.4, 0.4, 0.4, 0.4};
  return spec;
}

std::vector<uint8_t> changed(const Augmenter& augmenter, int64_t epoch, int64_t example,
                             std::vector<uint8_t> pixels = noise(kShape)) {
  augmenter.change({epoch, example}, pixels.data());
  return pixels;
}

// How many of 10,000 examples an operation changes.
int64_t changed_by(const AugmentSpec& spec) {
  const Augmenter augmenter({spec}, kShape, 3);
  int64_t count = 0;
  for (int64_t example = 0; example < 10000; ++example)
    count += changed(augmenter, 0, example) != noise(kShape) ? 1 : 0;
  return count;
}

TEST_CASE("a flip is done to half of the examples, or to as many as its probability says") {
  AugmentSpec flip = operation("flip");
  CHECK(changed_by(flip) == Approx(5000).margin(150));  // three standard deviations
  flip.own = FlipFields{.direction = "vertical"};
  CHECK(changed_by(flip) == Approx(5000).margin(150));
  flip.probability = 0.1;
  CHECK(changed_by(flip) == Approx(1000).margin(90));
  flip.probability = 0;
  CHECK(changed_by(flip) == 0);
  flip.probability = 1;
  CHECK(changed_by(flip) == 10000);
}

TEST_CASE("a random crop moves the picture by each of its distances as often as by another") {
  AugmentSpec crop = operation("random_crop");
  crop.own = ShiftFields{.padding = 2};
  const Augmenter augmenter({crop}, kShape, 3);
  // A picture with one bright pixel in the middle shows where it went.
  const auto bright = picture_of(
      kShape, [](int64_t, int64_t row, int64_t column) { return row == 6 && column == 5 ? 255 : 0; });
  std::vector<int64_t> rows(5), columns(5);
  for (int64_t example = 0; example < 10000; ++example) {
    const std::vector<uint8_t> moved = changed(augmenter, 1, example, bright);
    const auto place = std::find(moved.begin(), moved.end(), 255) - moved.begin();
    ++rows.at(static_cast<size_t>(place / 10 - 4));
    ++columns.at(static_cast<size_t>(place % 10 - 3));
  }
  for (size_t i = 0; i < 5; ++i) {
    CHECK(rows[i] == Approx(2000).margin(120));
    CHECK(columns[i] == Approx(2000).margin(120));
  }
}

TEST_CASE("seed, epoch, example and position decide what is done, and nothing else") {
  const std::vector<AugmentSpec> list = {operation("random_resized_crop"), operation("flip"),
                                         operation("random_crop")};
  const Augmenter augmenter(list, kShape, 3), same(list, kShape, 3), other(list, kShape, 4);
  std::set<std::vector<uint8_t>> seen;
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t example = 9; example >= 0; --example) seen.insert(changed(augmenter, epoch, example));
  }
  CHECK(seen.size() == 50);
  for (int64_t epoch = 0; epoch < 5; ++epoch) {
    for (int64_t example = 0; example < 10; ++example) {
      CHECK(seen.contains(changed(same, epoch, example)));
      CHECK_FALSE(seen.contains(changed(other, epoch, example)));
    }
  }
  // An example that an epoch shows again is another picture; the first showing is that of an epoch without
  // repeats.
  for (int64_t example = 0; example < 10; ++example) {
    std::vector<uint8_t> again = noise(kShape);
    augmenter.change({.epoch = 2, .example = example, .repeat = 1}, again.data());
    CHECK(again != changed(augmenter, 2, example));
  }
  // The same operation twice draws twice.
  AugmentSpec always = operation("random_crop");
  const Augmenter once({always}, kShape, 3), twice({always, always}, kShape, 3);
  int64_t moved_back = 0;
  for (int64_t example = 0; example < 50; ++example)
    moved_back += changed(once, 0, example, changed(once, 0, example)) == changed(twice, 0, example) ? 1 : 0;
  CHECK(moved_back < 10);
}

TEST_CASE("operations are done in the order of the list") {
  AugmentSpec flip = operation("flip"), crop = operation("random_crop");
  flip.probability = 1;
  crop.own = ShiftFields{.padding = 5};
  const Augmenter crop_last({flip, crop}, kShape, 3);
  for (int64_t example = 0; example < 20; ++example) {
    // The crop of position 1 draws the same, whatever comes before it.
    OwnPicture flipped(kShape, noise(kShape));
    flip_horizontally(flipped.picture);
    AugmentSpec never = flip;
    never.probability = 0;
    const Augmenter without({never, crop}, kShape, 3);
    CHECK(changed(crop_last, 2, example) == changed(without, 2, example, flipped.values()));
  }
}

TEST_CASE("random erasing leaves everything but one box, which has the fill's value") {
  AugmentSpec erasing = operation("random_erasing");
  erasing.own = BoxFields{.fill = 9};
  CHECK(changed_by(erasing) == Approx(5000).margin(150));
  erasing.probability = 1;
  erasing.own.get<BoxFields>().scale = {0.1, 0.4};
  const PictureShape shape{2, 30, 40};
  const Augmenter augmenter({erasing}, shape, 3);
  const std::vector<uint8_t> before = picture_of(shape, [](int64_t, int64_t, int64_t) { return 100; });
  double areas = 0;
  for (int64_t example = 0; example < 500; ++example) {
    std::vector<uint8_t> after = before;
    augmenter.change({0, example}, after.data());
    int64_t top = 30, bottom = -1, left = 40, right = -1, erased = 0;
    for (int64_t i = 0; i < 1200; ++i) {
      REQUIRE(after[static_cast<size_t>(i)] == after[static_cast<size_t>(i + 1200)]);
      if (after[static_cast<size_t>(i)] == 100) continue;
      REQUIRE(after[static_cast<size_t>(i)] == 9);
      ++erased;
      top = std::min(top, i / 40);
      bottom = std::max(bottom, i / 40);
      left = std::min(left, i % 40);
      right = std::max(right, i % 40);
    }
    REQUIRE(erased == std::max<int64_t>(0, bottom - top + 1) * std::max<int64_t>(0, right - left + 1));
    areas += static_cast<double>(erased) / 1200;
  }
  CHECK(areas / 500 == Approx(0.25).margin(0.02));
}

TEST_CASE("rotations and changes of colour are spread over their bounds") {
  // The colour of a picture of one grey, multiplied by 0.6 to 1.4.
  const AugmentSpec jitter{.kind = "color_jitter", .own = ColourFields{.brightness = 0.4}};
  const Augmenter brighter({jitter}, kShape, 3);
  const auto grey = picture_of(kShape, [](int64_t, int64_t, int64_t) { return 100; });
  double sum = 0;
  int64_t least = 255, most = 0;
  for (int64_t example = 0; example < 2000; ++example) {
    const std::vector<uint8_t> after = changed(brighter, 0, example, grey);
    REQUIRE(std::count(after.begin(), after.end(), after[0]) == kShape.bytes());
    sum += after[0];
    least = std::min<int64_t>(least, after[0]);
    most = std::max<int64_t>(most, after[0]);
  }
  CHECK(least == 60);
  CHECK((most == 139 || most == 140));
  CHECK(sum / 2000 == Approx(99.5).margin(1.5));  // cut off to whole numbers

  // A bright pixel to the right of the middle goes up when a picture is turned counter-clockwise.
  const PictureShape square{1, 21, 21};
  const auto bright = picture_of(square, [](int64_t, int64_t row, int64_t column) {
    return std::abs(row - 10) <= 1 && column >= 17 && column <= 19 ? 255 : 0;
  });
  for (const auto& [degrees, up] : {std::pair(std::vector<double>{20, 40}, true), {{-40, -20}, false}}) {
    const AugmentSpec turn{.kind = "rotate", .own = RotateFields{.degrees = degrees}};
    const Augmenter turning({turn}, square, 3);
    for (int64_t example = 0; example < 50; ++example) {
      const std::vector<uint8_t> after = changed(turning, 0, example, bright);
      int64_t above = 0, below = 0;
      for (int64_t i = 0; i < 441; ++i) (i / 21 < 10 ? above : below) += after[static_cast<size_t>(i)];
      REQUIRE((above > 10 * below) == up);
      REQUIRE((below > 10 * above) == !up);
    }
  }
}

// With values from 60 to 187.
std::vector<uint8_t> dull_noise(const PictureShape& shape) {
  std::vector<uint8_t> pixels = noise(shape);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(60 + pixel / 2);
  return pixels;
}

// How likely a picture is, and what makes it (the first of them, if there are several).
struct LikelyPicture {
  double probability = 0;
  std::string made_by;
};

// What the paper's 14 operations make of one, with torchvision's strengths.
std::map<std::vector<uint8_t>, LikelyPicture> pictures_of_trivial_augment(const PictureShape& shape,
                                                                          uint8_t fill) {
  std::map<std::vector<uint8_t>, LikelyPicture> all;
  const auto add = [&](const std::string& name, double share, const std::function<void(Picture&)>& change) {
    OwnPicture own(shape, dull_noise(shape));
    change(own.picture);
    LikelyPicture& picture = all[own.values()];
    if (picture.probability == 0) picture.made_by = name;
    picture.probability += share / 14;
  };
  add("nothing", 1, [](Picture&) {});
  add("autocontrast", 1, autocontrast);
  add("equalize", 1, equalize);
  for (int step = 0; step < 31; ++step) {
    add("posterize", 1 / 31.0, [step](Picture& picture) { posterize(picture, 8 - (step + 2) / 5); });
    add("solarize", 1 / 31.0, [step](Picture& picture) { solarize(picture, 255 - 8.5 * step); });
    for (const int sign : {1, -1}) {
      const double part = sign * (0.99 * step / 30);
      const auto pixels = static_cast<int64_t>(sign * (32.0 * step / 30));
      const auto add_signed = [&](const std::string& name, const std::function<void(Picture&)>& change) {
        add(name + (sign > 0 ? " +" : " -"), 1 / 62.0, change);
      };
      add_signed("shear_x", [=](Picture& picture) { shear(picture, part, 0, fill); });
      add_signed("shear_y", [=](Picture& picture) { shear(picture, 0, part, fill); });
      add_signed("translate_x", [=](Picture& picture) { translate(picture, pixels, 0, fill); });
      add_signed("translate_y", [=](Picture& picture) { translate(picture, 0, pixels, fill); });
      add_signed("rotate", [=](Picture& picture) { rotate(picture, sign * (135.0 * step / 30), fill); });
      add_signed("brightness", [=](Picture& picture) { adjust_brightness(picture, 1 + part); });
      add_signed("saturation", [=](Picture& picture) { adjust_saturation(picture, 1 + part); });
      add_signed("contrast", [=](Picture& picture) { adjust_contrast(picture, 1 + part); });
      add_signed("sharpness", [=](Picture& picture) { adjust_sharpness(picture, 1 + part); });
    }
  }
  return all;
}

TEST_CASE("trivial_augment does one of 14 operations at one of 31 strengths, each as often as another") {
  const PictureShape shape{3, 20, 30};
  const AugmentSpec spec{.kind = "trivial_augment", .own = BoxFields{.fill = 9}};
  const Augmenter augmenter({spec}, shape, 3);
  auto expected = pictures_of_trivial_augment(shape, 9);
  const std::vector<uint8_t> before = dull_noise(shape);
  std::set<std::vector<uint8_t>> seen;
  std::map<std::string, double> counts, probabilities;
  for (const auto& [pixels, picture] : expected) probabilities[picture.made_by] += picture.probability;
  constexpr int64_t kPictures = 14000;
  for (int64_t example = 0; example < kPictures; ++example) {
    std::vector<uint8_t> after = changed(augmenter, 0, example, before);
    REQUIRE(expected.contains(after));
    ++counts[expected[after].made_by];
    seen.insert(std::move(after));
  }
  CHECK(seen.size() == expected.size());
  // Four standard deviations of a binomial distribution.
  for (const auto& [name, probability] : probabilities) {
    INFO(name);
    const double deviation = std::sqrt(kPictures * probability * (1 - probability));
    CHECK(counts[name] == Approx(kPictures * probability).margin(4 * deviation));
  }
}

TEST_CASE("every operation that a spec can name exists, and keeps within a picture of one pixel") {
  for (const std::string& kind : augment_kinds().built) {
    INFO(kind);
    const PictureShape dot{3, 1, 1};
    const Augmenter augmenter({operation(kind)}, dot, 1);
    CHECK(augmenter.mixes() == operation(kind).mixes());
    for (int64_t example = 0; example < 20; ++example) {
      std::vector<uint8_t> pixels = {10, 20, 30, 77};
      augmenter.change({0, example}, pixels.data());
      CHECK(pixels[3] == 77);
    }
  }
}

}  // namespace
