#include "data/split.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "core/random.h"
#include "core/range.h"
#include "core/text.h"
#include "pictures/picture_list.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

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
  std::shared_ptr<const void> expect(std::span<const int64_t> indices) const override {
    return source_->expect(in_source(indices));
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

int64_t count_of_part(const std::string& field, double part, int64_t examples) {
  const int64_t count = size_of_part(part, examples);
  if (count < examples) return count;
  const bool validates = field == kValidationField;
  throw FieldError(field, "takes {} of the {} and leaves none to train on; use a smaller part{}", count,
                   counted(examples, validates ? "training example" : "example"),
                   validates ? " or more data.train_examples" : "");
}

std::vector<int64_t> mixed_groups(std::vector<int64_t> from, const std::vector<int64_t>& groups,
                                  uint64_t seed) {
  const std::vector<int64_t> ranks = random_permutation(*std::ranges::max_element(groups) + 1, seed);
  std::ranges::stable_sort(from, {}, [&](int64_t index) {
    return ranks[static_cast<size_t>(groups[static_cast<size_t>(index)])];
  });
  return from;
}

std::vector<int64_t> latest(std::vector<int64_t> from, const std::vector<double>& times, int64_t count) {
  std::ranges::stable_sort(from, {}, [&](int64_t index) { return times[static_cast<size_t>(index)]; });
  from.erase(from.begin(), from.end() - count);
  return from;
}

std::vector<int64_t> mixed(const std::vector<int64_t>& from, uint64_t seed) {
  std::vector<int64_t> order;
  for (const int64_t place : random_permutation(std::ssize(from), seed))
    order.push_back(from[static_cast<size_t>(place)]);
  return order;
}

// Moves `taken` out of `from`, and returns it, ascending.
std::vector<int64_t> moved(std::vector<int64_t>& from, std::vector<int64_t> taken) {
  std::ranges::sort(taken);
  std::vector<int64_t> left;  // in the order of the files, which training without data.shuffle keeps
  std::ranges::set_difference(from, taken, std::back_inserter(left));
  from = std::move(left);
  return taken;
}

}  // namespace

SplitBy by_classes(const at::Tensor& classes) {
  if (!classes.defined())
    throw FieldError("data.split.stratify", "is for classes, and the targets here are numbers; leave it out");
  const int64_t* const first = classes.const_data_ptr<int64_t>();
  return {.classes = {first, first + classes.numel()}};
}

std::vector<int64_t> take_part(std::vector<int64_t>& from, const std::string& field, double part,
                               uint64_t seed, const SplitBy& by) {
  const int64_t count = count_of_part(field, part, std::ssize(from));
  if (!by.times.empty()) return moved(from, latest(from, by.times, count));
  if (!by.groups.empty())
    return moved(from, first_of_part(mixed_groups(from, by.groups, seed), by.groups, true, count, "example"));
  std::vector<int64_t> order = mixed(from, seed);
  if (!by.classes.empty()) order = first_of_part(order, by.classes, false, count, "example");
  order.resize(static_cast<size_t>(count));
  return moved(from, std::move(order));
}

std::vector<int64_t> take_validation(std::vector<int64_t>& from, const SplitSpec& split, uint64_t seed,
                                     const SplitBy& by) {
  if (split.validation) return take_part(from, kValidationField, *split.validation, seed, by);
  if (!split.folds) return {};
  std::vector<int64_t> fold =
      by.groups.empty()
          ? fold_of(mixed(from, seed), by.classes, *split.folds, split.fold)
          : fold_of_groups(mixed_groups(from, by.groups, seed), by.groups, *split.folds, split.fold);
  if (fold.empty()) throw FieldError(kFoldsField, kTooManyFolds);
  return moved(from, std::move(fold));
}

int64_t validation_count(int64_t examples, const SplitSpec& split) {
  if (split.folds && examples < *split.folds) throw FieldError(kFoldsField, kTooManyFolds);
  if (split.folds) return examples / *split.folds + (split.fold <= examples % *split.folds ? 1 : 0);
  return split.validation ? count_of_part(kValidationField, *split.validation, examples) : 0;
}

ExampleSplit split_examples(int64_t examples, const SplitSpec& split, const SplitBy& by) {
  ExampleSplit parts{consecutive<int64_t>(0, examples), {}};
  const uint64_t seed = derive_seed(static_cast<uint64_t>(split.seed), SeedPurpose::kSplit);
  parts.validation = take_validation(parts.train, split, seed, by);
  return parts;
}

ExampleSourcePtr make_selection(ExampleSourcePtr source, std::vector<int64_t> indices) {
  return std::make_shared<Selection>(std::move(source), std::move(indices));
}

}  // namespace dtrain
