#include <cmath>

#include "augment/augmenter.h"
#include "augment/pictures.h"
#include "catch.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

const PictureShape kMixed{2, 10, 8};

AugmentSpec mixing(const std::string& kind) { return {.kind = kind}; }

// A mixture of the kind as it is drawn, and then of that share and box.
std::vector<uint8_t> mixed_by(const std::string& kind, double share, const std::optional<Box>& box = {}) {
  Mixture mixture = Augmenter({mixing(kind)}, kMixed, 5).mixture({}, 12).value();
  CHECK(mixture.box.has_value() == box.has_value());
  mixture.share = share;
  mixture.box = box;
  const std::vector<uint8_t> one = noise(kMixed, 1), other = noise(kMixed, 2);
  std::vector<uint8_t> mixed(one.size());
  mixture.mix(mixture, kMixed, one.data(), other.data(), mixed.data());
  return mixed;
}

TEST_CASE("mixup is the sum of both pictures by their shares, rounded") {
  const std::vector<uint8_t> one = noise(kMixed, 1), other = noise(kMixed, 2);
  for (const double share : {0.0, 0.25, 0.7, 1.0}) {
    const std::vector<uint8_t> mixed = mixed_by("mixup", share);
    for (size_t i = 0; i < one.size(); ++i) {
      const double exact = share * one[i] + (1 - share) * other[i];
      REQUIRE(std::abs(mixed[i] - exact) <= 0.5001);
    }
  }
}

TEST_CASE("cutmix puts a box of the partner into the picture") {
  const std::vector<uint8_t> one = noise(kMixed, 1), other = noise(kMixed, 2);
  CHECK(mixed_by("cutmix", 0.9, Box{2, 5, 4, 3}) ==
        picture_of(kMixed, [&](int64_t channel, int64_t row, int64_t column) {
          const bool in_box = row >= 2 && row < 6 && column >= 5;
          return (in_box ? other : one)[static_cast<size_t>((channel * 10 + row) * 8 + column)];
        }));
}

TEST_CASE("the share of cutmix is that of the pixels which stay, and its boxes are anywhere") {
  const Augmenter augmenter({mixing("cutmix")}, kMixed, 5);
  double shares = 0;
  std::vector<int64_t> covered(80);
  for (int64_t example = 0; example < 5000; ++example) {
    const auto mixture = augmenter.mixture({0, example}, 12);
    REQUIRE((mixture && mixture->box));
    const Box& box = *mixture->box;
    REQUIRE((box.top >= 0 && box.top + box.height <= 10 && box.left >= 0 && box.left + box.width <= 8));
    REQUIRE(mixture->share == Approx(1 - static_cast<double>(box.height * box.width) / 80));
    shares += mixture->share;
    for (int64_t row = box.top; row < box.top + box.height; ++row) {
      for (int64_t column = box.left; column < box.left + box.width; ++column)
        ++covered[static_cast<size_t>(row * 8 + column)];
    }
  }
  CHECK(shares / 5000 > 0.5);  // a box is cut off at the border
  for (const int64_t count : covered) CHECK((count > 250 && count < 3500));
}

TEST_CASE("partners are drawn from the whole batch, and of several ways each as often as another") {
  AugmentSpec mixup = mixing("mixup");
  mixup.probability = 0.8;
  const Augmenter augmenter({mixup, mixing("cutmix")}, kMixed, 5);
  std::vector<int64_t> partners(10);
  int64_t none = 0, cut = 0;
  double variance = 0;
  for (int64_t example = 0; example < 10000; ++example) {
    const auto mixture = augmenter.mixture({0, example}, 10);
    if (!mixture) {
      ++none;
      continue;
    }
    ++partners.at(static_cast<size_t>(mixture->partner));
    cut += mixture->box ? 1 : 0;
    if (!mixture->box) variance += std::pow(mixture->share - 0.5, 2);
  }
  CHECK(none == Approx(1000).margin(100));
  CHECK(cut == Approx(5000).margin(150));
  for (const int64_t count : partners) CHECK(count == Approx(900).margin(100));
  CHECK(variance / 4000 == Approx(1 / (4 * (2 * 0.2 + 1))).margin(0.01));  // of Beta(0.2, 0.2)
}

TEST_CASE("the mixture of an example is a function of seed, epoch and example") {
  const std::vector<AugmentSpec> list = {mixing("mixup")};
  const Augmenter augmenter(list, kMixed, 3), same(list, kMixed, 3), other(list, kMixed, 4);
  int64_t equal = 0;
  for (int64_t example = 0; example < 100; ++example) {
    const auto mixture = augmenter.mixture({2, example}, 50);
    CHECK(mixture->share == same.mixture({2, example}, 50)->share);
    CHECK(mixture->partner == same.mixture({2, example}, 50)->partner);
    equal += mixture->share == other.mixture({2, example}, 50)->share ? 1 : 0;
    equal += mixture->share == augmenter.mixture({3, example}, 50)->share ? 1 : 0;
  }
  CHECK(equal < 5);
  CHECK_FALSE(Augmenter({mixing("flip")}, kMixed, 3).mixture({0, 0}, 5));
}

}  // namespace
