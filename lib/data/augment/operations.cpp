#include "augment/operations.h"

#include <algorithm>
#include <cmath>

#include "core/named.h"

namespace dtrain {
namespace {

const std::vector<OperationMethod> kMethods = {
    {"flip", make_flip},
    {"random_crop", make_random_crop},
    {"random_resized_crop", make_random_resized_crop},
    {"rotate", make_rotate},
    {"color_jitter", make_color_jitter},
    {"random_erasing", make_random_erasing},
    {"trivial_augment", make_trivial_augment},
    {"mixup", nullptr, make_mixup},
    {"cutmix", nullptr, make_cutmix},
};

constexpr int kAttempts = 10;  // as torchvision's

// A half goes to the even neighbour.
int64_t rounded(double length) { return static_cast<int64_t>(std::nearbyint(length)); }

}  // namespace

const OperationMethod& operation_method(const std::string& name) {
  return row_named(kMethods, name, "operation on pictures");
}

Interval interval_of(const std::vector<double>& numbers, const Interval& otherwise) {
  return numbers.empty() ? otherwise : Interval{numbers.front(), numbers.back()};
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
