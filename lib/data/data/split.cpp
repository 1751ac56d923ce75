#include "data/split.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/text.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

// 0.29 of 100 examples is 28.999999999999996 in floating point. With at most 1e9 examples (spec/fields.cpp)
// the error of the product is far below this.
constexpr double kSlack = 1e-6;  // examples

class Selection : public ExampleSource {
 public:
  Selection(ExampleSourcePtr source, std::vector<int64_t> indices)
      : source_(std::move(source)), indices_(std::move(indices)) {
    const int64_t size = source_->size();
    for (const int64_t index : indices_) {
      if (index < 0 || index >= size)
        throw Error(ExitCode::kBug, "a selection of example {} of {}", index, size);
    }
  }

  int64_t size() const override { return std::ssize(indices_); }
  at::IntArrayRef shape() const override { return source_->shape(); }
  bool has_pixels() const override { return source_->has_pixels(); }
  int64_t targets() const override { return source_->targets(); }
  at::Tensor classes() const override {
    const at::Tensor all = source_->classes();
    return all.defined() ? all.index_select(0, at::tensor(indices_, at::kLong)) : all;
  }

  void read(std::span<const int64_t> indices, const at::Tensor& values, ExampleSlot& slot) const override {
    source_->read(in_source(indices), values, slot);
  }
  std::vector<ExampleName> names_of(std::span<const int64_t> indices) const override {
    return source_->names_of(in_source(indices));
  }

  std::optional<StoredExamples> in_memory() const override {
    const std::optional<StoredExamples> all = source_->in_memory();
    if (!all) return std::nullopt;
    const at::Tensor rows = at::tensor(indices_, at::kLong);
    return StoredExamples{all->inputs.index_select(0, rows), all->targets.index_select(0, rows)};
  }

 private:
  std::vector<int64_t> in_source(std::span<const int64_t> indices) const {
    std::vector<int64_t> places(indices.size());
    std::transform(indices.begin(), indices.end(), places.begin(),
                   [this](int64_t index) { return indices_[static_cast<size_t>(index)]; });
    return places;
  }

  const ExampleSourcePtr source_;
  const std::vector<int64_t> indices_;
};

}  // namespace

int64_t validation_count(int64_t examples, const SplitSpec& split) {
  if (!split.validation) return 0;
  const double part = *split.validation * static_cast<double>(examples);
  const int64_t count = std::max<int64_t>(1, static_cast<int64_t>(std::floor(part + kSlack)));
  if (count < examples) return count;
  throw FieldError(
      "data.split.validation",
      "takes {} of the {} and leaves none to train on; use a smaller part or more data.train_examples", count,
      counted(examples, "training example"));
}

ExampleSplit split_examples(int64_t examples, const SplitSpec& split) {
  const auto kept = static_cast<std::ptrdiff_t>(validation_count(examples, split));
  const uint64_t seed = derive_seed(static_cast<uint64_t>(split.seed), SeedPurpose::kSplit);
  const std::vector<int64_t> order = random_permutation(examples, seed);
  ExampleSplit parts{{order.begin() + kept, order.end()}, {order.begin(), order.begin() + kept}};
  // Without data.shuffle, training keeps the order of the files.
  std::ranges::sort(parts.train);
  std::ranges::sort(parts.validation);
  return parts;
}

ExampleSourcePtr make_selection(ExampleSourcePtr source, std::vector<int64_t> indices) {
  return std::make_shared<Selection>(std::move(source), std::move(indices));
}

}  // namespace dtrain
