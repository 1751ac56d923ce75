#include "augment/operations.h"

#include <algorithm>
#include <iterator>
#include <string>

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
};

const OperationKind* find_operation(const std::string& name) {
  const auto* const found = std::find_if(std::begin(kOperations), std::end(kOperations),
                                         [&](const OperationKind& kind) { return kind.name == name; });
  return found == std::end(kOperations) ? nullptr : found;
}

}  // namespace

std::unique_ptr<Operation> make_operation(const AugmentSpec& spec) {
  const OperationKind* const kind = find_operation(spec.kind);
  if (kind == nullptr) throw Error(ExitCode::kBug, "no operation on one picture: " + spec.kind);
  return kind->make(spec);
}

double probability_of(const AugmentSpec& spec) {
  const OperationKind* const kind = find_operation(spec.kind);
  return spec.probability.value_or(kind == nullptr ? 1 : kind->probability);
}

}  // namespace dtrain
