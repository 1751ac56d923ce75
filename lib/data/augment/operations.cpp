#include "augment/operations.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "augment/colour.h"
#include "augment/geometry.h"
#include "core/error.h"

namespace dtrain {
namespace {

Interval interval_of(const std::vector<double>& numbers, const Interval& otherwise) {
  return numbers.empty() ? otherwise : Interval{numbers.front(), numbers.back()};
}

class Flip : public Operation {
 public:
  explicit Flip(const AugmentSpec& spec) : horizontal_(spec.direction == "horizontal") {}
  void apply(Picture& picture, RandomGenerator&) const override {
    horizontal_ ? flip_horizontally(picture) : flip_vertically(picture);
  }

 private:
  bool horizontal_;
};

class RandomCrop : public Operation {
 public:
  explicit RandomCrop(const AugmentSpec& spec)
      : padding_(spec.padding), border_(spec.padding_mode == "reflect" ? Border::kReflect : Border::kZero) {}
  void apply(Picture& picture, RandomGenerator& random) const override {
    const auto draw = [&] {
      return static_cast<int64_t>(random.below(2 * static_cast<uint64_t>(padding_) + 1)) - padding_;
    };
    const int64_t down = draw();
    shift(picture, down, draw(), border_);
  }

 private:
  int64_t padding_;
  Border border_;
};

class RandomResizedCrop : public Operation {
 public:
  explicit RandomResizedCrop(const AugmentSpec& spec)
      : scale_(interval_of(spec.scale, {0.08, 1})), ratio_(interval_of(spec.ratio, {3.0 / 4, 4.0 / 3})) {}
  void apply(Picture& picture, RandomGenerator& random) const override {
    const auto box = draw_box(random, picture.shape, scale_, ratio_);
    scale_box_up(picture, box.value_or(middle_box(picture.shape, ratio_)));
  }

 private:
  Interval scale_;
  Interval ratio_;
};

class Rotate : public Operation {
 public:
  explicit Rotate(const AugmentSpec& spec)
      : degrees_(spec.degrees.size() == 1 ? Interval{-spec.degrees[0], spec.degrees[0]}
                                          : Interval{spec.degrees[0], spec.degrees[1]}),
        fill_(static_cast<uint8_t>(spec.fill)) {}
  void apply(Picture& picture, RandomGenerator& random) const override {
    rotate(picture, draw_between(random, degrees_), fill_);
  }

 private:
  Interval degrees_;
  uint8_t fill_;
};

// The four changes in an order that is drawn, too.
class ColorJitter : public Operation {
 public:
  explicit ColorJitter(const AugmentSpec& spec)
      : changes_{{{adjust_brightness, around_one(spec.brightness)},
                  {adjust_contrast, around_one(spec.contrast)},
                  {adjust_saturation, around_one(spec.saturation)},
                  {adjust_hue, {-spec.hue, spec.hue}}}} {}
  void apply(Picture& picture, RandomGenerator& random) const override {
    std::array<size_t, 4> order = {0, 1, 2, 3};
    for (size_t last = 3; last > 0; --last) std::swap(order[last], order[random.below(last + 1)]);
    for (const size_t index : order) {
      const double factor = draw_between(random, changes_[index].factor);
      if (changes_[index].factor[0] < changes_[index].factor[1]) changes_[index].change(picture, factor);
    }
  }

 private:
  struct Change {
    void (*change)(Picture& picture, double factor);
    Interval factor;
  };

  static Interval around_one(double distance) { return {std::max(0.0, 1 - distance), 1 + distance}; }

  std::array<Change, 4> changes_;
};

class RandomErasing : public Operation {
 public:
  explicit RandomErasing(const AugmentSpec& spec)
      : scale_(interval_of(spec.scale, {0.02, 0.33})),
        ratio_(interval_of(spec.ratio, {1 / 3.3, 1 / 0.3})),
        fill_(static_cast<uint8_t>(spec.fill)) {}
  void apply(Picture& picture, RandomGenerator& random) const override {
    if (const auto box = draw_box(random, picture.shape, scale_, ratio_, /*margin=*/1))
      erase(picture, *box, fill_);
  }

 private:
  Interval scale_;
  Interval ratio_;
  uint8_t fill_;
};

template <class Kind>
std::unique_ptr<Operation> make(const AugmentSpec& spec) {
  return std::make_unique<Kind>(spec);
}

struct OperationKind {
  const char* name;
  std::unique_ptr<Operation> (*make)(const AugmentSpec& spec);
  double probability = 1;  // by default
};

const OperationKind kOperations[] = {
    {"flip", make<Flip>, 0.5},
    {"random_crop", make<RandomCrop>},
    {"random_resized_crop", make<RandomResizedCrop>},
    {"rotate", make<Rotate>},
    {"color_jitter", make<ColorJitter>},
    {"random_erasing", make<RandomErasing>, 0.5},
};

const OperationKind& operation_kind(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                         [&](const OperationKind& kind) { return kind.name == name; });
  if (found == std::end(kOperations)) throw Error(ExitCode::kBug, "no operation on single pictures: " + name);
  return *found;
}

}  // namespace

std::unique_ptr<Operation> make_operation(const AugmentSpec& spec) {
  return operation_kind(spec.kind).make(spec);
}

double probability_of(const AugmentSpec& spec) {
  return spec.probability.value_or(operation_kind(spec.kind).probability);
}

}  // namespace dtrain
