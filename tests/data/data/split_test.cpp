// The validation part: which examples are in it, and reading the two parts.
#include "data/split.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "catch.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "files.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

using Indices = std::vector<int64_t>;

SplitSpec part_of(double validation, int64_t seed = 1) {
  SplitSpec split;
  split.validation = validation;
  split.seed = seed;
  return split;
}

DataSpec synthetic(int64_t examples) {
  DataSpec spec;
  spec.dataset = "synthetic";
  spec.shape = {1, 2, 3};
  spec.classes = 5;
  spec.train_examples = examples;
  spec.test_examples = 4;
  return spec;
}

TEST_CASE("every example is in one part, and each part is in the order of the files") {
  for (const int64_t examples : {2, 3, 10, 1000, 54321}) {
    for (const double part : {0.001, 0.1, 0.29, 0.5, 0.9}) {
      INFO(examples << " examples, " << part << " for validation");
      const ExampleSplit split = split_examples(examples, part_of(part));
      CHECK(std::ssize(split.validation) == validation_count(examples, part_of(part)));
      CHECK(std::is_sorted(split.train.begin(), split.train.end()));
      CHECK(std::is_sorted(split.validation.begin(), split.validation.end()));
      Indices all = split.train;
      all.insert(all.end(), split.validation.begin(), split.validation.end());
      std::sort(all.begin(), all.end());
      Indices expected(static_cast<size_t>(examples));
      std::iota(expected.begin(), expected.end(), int64_t{0});
      CHECK(all == expected);
    }
  }
}

TEST_CASE("the size of the part is rounded down, but at least one") {
  const auto count = [](int64_t examples, double part) { return validation_count(examples, part_of(part)); };
  CHECK(count(60000, 0.1) == 6000);
  CHECK(count(1999, 0.1) == 199);
  CHECK(count(9, 0.1) == 1);
  CHECK(count(2, 1e-9) == 1);
  CHECK(count(10, 0.99) == 9);
  // As the numbers are written, not as floating point has them: 0.29 * 100 < 29, 0.07 * 100 > 7.
  CHECK(count(100, 0.29) == 29);
  CHECK(count(100, 0.07) == 7);
  CHECK(count(1'000'000'000, 0.1) == 100'000'000);
  CHECK(validation_count(100, SplitSpec()) == 0);
}

TEST_CASE("a part that leaves nothing to train on is refused") {
  for (const auto& [examples, part] : std::vector<std::pair<int64_t, double>>{{1, 0.1}, {3, 0.9999999999}}) {
    INFO(examples);
    const SplitSpec split = part_of(part);
    CHECK_THROWS_AS(split_examples(examples, split), FieldError);
    try {
      validation_count(examples, split);
    } catch (const FieldError& error) {
      CHECK(error.field() == "data.split.validation");
      CHECK_THAT(error.text(), ContainsSubstring("leaves none to train on"));
    }
  }
}

TEST_CASE("the part follows from the seed and the number of examples, the same for ever") {
  // Checkpoints depend on it: another part after an update of dtrain would validate on trained examples.
  CHECK(split_examples(20, part_of(0.25)).validation == Indices{1, 4, 5, 10, 16});
  CHECK(split_examples(1000, part_of(0.1, 1)).validation != split_examples(1000, part_of(0.1, 2)).validation);
  // A larger part of the same seed has the smaller one in it.
  const Indices small = split_examples(1000, part_of(0.1)).validation;
  const Indices large = split_examples(1000, part_of(0.3)).validation;
  CHECK(std::includes(large.begin(), large.end(), small.begin(), small.end()));
}

std::map<int64_t, int64_t> counts_in(const Indices& part, const Indices& values) {
  std::map<int64_t, int64_t> counts;
  for (const int64_t index : part) ++counts[values[static_cast<size_t>(index)]];
  return counts;
}

TEST_CASE("each class has the same share of both parts, within one example") {
  Indices classes;  // class 0 has 500 examples, 1 has 250, 2 has 125, ...; two have one
  for (int64_t label = 0, size = 500; size > 0; ++label, size /= 2)
    classes.insert(classes.end(), static_cast<size_t>(size), label);
  classes.push_back(100);
  const auto examples = std::ssize(classes);
  Indices all(classes.size());
  std::iota(all.begin(), all.end(), int64_t{0});
  const auto sizes = counts_in(all, classes);
  for (const double part : {0.003, 0.1, 0.29, 0.5, 0.85}) {
    INFO(part);
    const ExampleSplit split = split_examples(examples, part_of(part), {.classes = classes});
    CHECK(std::ssize(split.validation) == validation_count(examples, part_of(part)));
    const double share = static_cast<double>(split.validation.size()) / static_cast<double>(examples);
    auto kept = counts_in(split.validation, classes);
    for (const auto& [label, size] : sizes) {
      INFO(label);
      CHECK(std::abs(static_cast<double>(kept[label]) - share * static_cast<double>(size)) < 1);
      CHECK(kept[label] < size);  // training has every class
    }
    Indices both = split.train;
    both.insert(both.end(), split.validation.begin(), split.validation.end());
    CHECK(std::is_sorted(split.train.begin(), split.train.end()));
    std::sort(both.begin(), both.end());
    CHECK(both == all);
    CHECK(split_examples(examples, part_of(part), {.classes = classes}).validation == split.validation);
    if (part > 0.05)
      CHECK(split_examples(examples, part_of(part, 2), {.classes = classes}).validation != split.validation);
  }
  try {
    split_examples(10, part_of(0.5), {.classes = {0, 0, 0, 1, 2, 3, 4, 5, 6, 7}});
    FAIL("accepted");
  } catch (const FieldError& error) {
    CHECK(error.field() == "data.split.stratify");
    CHECK_THAT(error.text(), ContainsSubstring("can keep only 2 of 5 examples"));
  }
  CHECK_THROWS_AS(by_classes(at::Tensor()), FieldError);
}

TEST_CASE("no group is in both parts, and a part is as large as whole groups allow") {
  for (const int64_t seed : {1, 2, 3, 4, 5}) {
    for (const double part : {0.05, 0.2, 0.6}) {
      INFO(seed << " " << part);
      Indices groups;  // of 1 to 9 examples, each with its examples all over the file
      for (int64_t i = 0; i < 450; ++i) groups.push_back((i * i + 7 * i) % 89);
      const ExampleSplit split = split_examples(450, part_of(part, seed), {.groups = groups});
      const auto kept = counts_in(split.validation, groups), trained = counts_in(split.train, groups);
      for (const auto& [group, count] : kept) CHECK_FALSE(trained.contains(group));
      CHECK(split.train.size() + split.validation.size() == 450);
      const int64_t wanted = validation_count(450, part_of(part));
      CHECK(std::ssize(split.validation) <= wanted);
      for (const auto& [group, count] : trained) CHECK(std::ssize(split.validation) + count > wanted);
    }
  }
  // Where each is too large, it is the smallest one.
  CHECK(split_examples(9, part_of(0.1), {.groups = {0, 0, 0, 1, 1, 2, 2, 2, 2}}).validation == Indices{3, 4});
  try {
    split_examples(3, part_of(0.4), {.groups = {0, 0, 0}});
    FAIL("accepted");
  } catch (const FieldError& error) {
    CHECK(error.field() == "data.split.group");
    CHECK_THAT(error.text(), ContainsSubstring("a single group in 3 examples"));
  }
}

TEST_CASE("the last examples in time are held out, of equal ones those further down") {
  const std::vector<double> times = {5, 1, 9, 9, 3, 9, 2, 7, 8, -4};
  const auto kept = [&](double part) {
    return split_examples(10, part_of(part), {.times = times}).validation;
  };
  CHECK(kept(0.2) == Indices{3, 5});
  CHECK(kept(0.4) == Indices{2, 3, 5, 8});
  CHECK(split_examples(10, part_of(0.4, 9), {.times = times}).train == Indices{0, 1, 4, 6, 7, 9});
}

TEST_CASE("generated examples are divided by their classes, too") {
  DataSpec spec = synthetic(200);
  spec.split = part_of(0.25);
  spec.split.stratify = true;
  const Dataset dataset = load_dataset(spec, 3);
  CHECK(dataset.info.validation_examples == 50);
  const at::Tensor kept = dataset.validation->classes().bincount({}, 5);
  const at::Tensor all = kept + dataset.train->classes().bincount({}, 5);
  CHECK((kept - all * 0.25).abs().max().item<double>() < 1);
}

TEST_CASE("the parts of a dataset are its training examples, whatever the job's seed") {
  DataSpec spec = synthetic(30);
  const StoredExamples whole = stored_examples_of(*load_dataset(spec, 7).train);
  const at::Tensor test = stored_examples_of(*load_dataset(spec, 7).test).inputs;
  spec.split = part_of(0.2, 5);
  const Dataset dataset = load_dataset(spec, 7);
  CHECK(dataset.info.train_examples == 24);
  CHECK(dataset.info.validation_examples == 6);
  CHECK(dataset.info.test_examples == 4);
  CHECK(counts_of(dataset.info) == "24 training, 6 validation and 4 test examples");
  const ExampleSplit split = split_examples(30, spec.split);
  for (const auto& [source, indices] :
       {std::pair(dataset.train, split.train), std::pair(dataset.validation, split.validation)}) {
    const at::Tensor rows = at::tensor(indices, at::kLong);
    REQUIRE(source->size() == std::ssize(indices));
    CHECK(at::equal(stored_examples_of(*source).inputs, whole.inputs.index_select(0, rows)));
    CHECK(at::equal(stored_examples_of(*source).targets, whole.targets.index_select(0, rows)));
  }
  CHECK(at::equal(stored_examples_of(*dataset.test).inputs, test));
}

TEST_CASE("data.train_examples comes before the split, and without a split there is no part") {
  DataSpec spec = synthetic(30);
  spec.split = part_of(0.5);
  spec.train_examples = 8;
  const DatasetInfo info = find_dataset(spec);
  CHECK(info.train_examples == 4);
  CHECK(info.validation_examples == 4);
  CHECK(info.evaluated_examples() == 4);
  CHECK(info.has_final_test());
  CHECK(describe_dataset(spec).validation_examples == 4);
  spec.split = {};
  const Dataset dataset = load_dataset(spec, 0);
  CHECK(dataset.validation == nullptr);
  CHECK_FALSE(dataset.info.has_validation());
  CHECK_FALSE(dataset.info.has_final_test());
  CHECK(dataset.info.evaluated_examples() == 4);  // the test examples
  CHECK(counts_of(dataset.info) == "8 training and 4 test examples");

  spec.dataset = "mnist";
  spec.path = "nowhere";
  spec.train_examples.reset();
  spec.split = part_of(0.1);
  CHECK(describe_dataset(spec).train_examples == 54000);  // of the published ones
  spec.dataset = "synthetic";
  spec.train_examples = 1;
  CHECK_THROWS_AS(find_dataset(spec), FieldError);
}

TEST_CASE("a dataset in files is split too") {
  const TemporaryFolder folder;
  test::write_dataset(folder / "mnist", 20);
  DataSpec spec;
  spec.path = folder / "mnist";
  const StoredExamples whole = stored_examples_of(*load_dataset(spec, 0).train);
  spec.split = part_of(0.25);
  const Dataset dataset = load_dataset(spec, 0);
  const at::Tensor rows = at::tensor(split_examples(20, spec.split).validation, at::kLong);
  CHECK(at::equal(stored_examples_of(*dataset.validation).inputs, whole.inputs.index_select(0, rows)));
  CHECK(dataset.train->size() == 15);
}

TEST_CASE("a selection reads its source's examples, in its own order") {
  const at::Tensor images = at::arange(24, at::kByte).view({6, 1, 2, 2});
  const ExampleSourcePtr all = make_memory_source({images, at::arange(6, at::kLong)});
  const ExampleSourcePtr some = make_selection(all, {4, 1, 5});
  CHECK(some->size() == 3);
  CHECK(some->shape() == all->shape());
  ExampleSlot slot{at::empty({2, 1, 2, 2}, at::kByte), at::empty({2}, at::kLong)};
  const Indices asked = {2, 0};
  some->read(asked, at::Tensor(), slot);
  CHECK(at::equal(slot.targets, at::tensor(Indices{5, 4}, at::kLong)));
  CHECK(at::equal(slot.inputs, images.index_select(0, slot.targets)));
  CHECK(at::equal(stored_examples_of(*some).targets, at::tensor(Indices{4, 1, 5}, at::kLong)));
  CHECK_THROWS_AS(make_selection(all, {0, 6}), Error);
  CHECK_THROWS_AS(make_selection(all, {-1}), Error);
}

}  // namespace
}  // namespace dtrain
