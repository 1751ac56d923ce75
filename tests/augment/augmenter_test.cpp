#include "augment/augmenter.h"

#include <algorithm>
#include <set>

#include "augment/geometry.h"
#include "augment/pictures.h"
#include "catch.h"
#include "spec/fields.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

const PictureShape kShape{3, 12, 10};

AugmentSpec operation(const std::string& kind) {
  AugmentSpec spec;
  spec.kind = kind;
  return spec;
}

std::vector<uint8_t> changed(const Augmenter& augmenter, int64_t epoch, int64_t example,
                             std::vector<uint8_t> pixels = noise(kShape)) {
  augmenter.change(epoch, example, pixels.data());
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
  flip.direction = "vertical";
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
  crop.padding = 2;
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
  crop.padding = 5;
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

TEST_CASE("every operation that a spec can name exists, and keeps within a picture of one pixel") {
  for (const std::string& kind : augment_kinds().built) {
    INFO(kind);
    const PictureShape dot{3, 1, 1};
    const Augmenter augmenter({operation(kind)}, dot, 1);
    for (int64_t example = 0; example < 20; ++example) {
      std::vector<uint8_t> pixels = {10, 20, 30, 77};
      augmenter.change(0, example, pixels.data());
      CHECK(pixels[3] == 77);
    }
  }
}

}  // namespace
