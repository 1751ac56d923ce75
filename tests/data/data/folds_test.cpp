// The folds of cross-validation: which examples are in each.
#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "catch.h"
#include "data/data_files.h"
#include "data/dataset.h"
#include "data/example_source.h"
#include "data/split.h"
#include "files.h"
#include "yaml/problem.h"

namespace dtrain {
namespace {

using Numbers = std::vector<int64_t>;

SplitSpec fold_spec(int64_t folds, int64_t fold, int64_t seed = 1) {
  SplitSpec split;
  split.folds = folds;
  split.fold = fold;
  split.seed = seed;
  return split;
}

// Every fold, after checking that they divide the examples: each is in one, and trained on by all others.
std::vector<Numbers> all_folds(int64_t examples, int64_t folds, const SplitBy& by, int64_t seed = 1) {
  Numbers everything(static_cast<size_t>(examples)), seen;
  std::iota(everything.begin(), everything.end(), int64_t{0});
  std::vector<Numbers> all;
  for (int64_t fold = 1; fold <= folds; ++fold) {
    const ExampleSplit split = split_examples(examples, fold_spec(folds, fold, seed), by);
    Numbers both;
    std::ranges::merge(split.train, split.validation, std::back_inserter(both));  // both ascend
    CHECK(both == everything);
    CHECK(split_examples(examples, fold_spec(folds, fold, seed), by).validation == split.validation);
    seen.insert(seen.end(), split.validation.begin(), split.validation.end());
    all.push_back(split.validation);
  }
  std::ranges::sort(seen);
  CHECK(seen == everything);
  return all;
}

Numbers sizes_of(const std::vector<Numbers>& folds) {
  Numbers sizes;
  for (const Numbers& fold : folds) sizes.push_back(std::ssize(fold));
  return sizes;
}

// What scikit-learn 1.x says of the same numbers is written out below.

TEST_CASE("folds divide the examples, the first ones with one more, as KFold has them") {
  const std::vector<Numbers> folds = all_folds(103, 5, {});
  CHECK(sizes_of(folds) == Numbers{21, 21, 21, 20, 20});
  for (int64_t fold = 1; fold <= 5; ++fold)
    CHECK(validation_count(103, fold_spec(5, fold)) == std::ssize(folds[static_cast<size_t>(fold - 1)]));
  CHECK(all_folds(103, 5, {}, 2) != folds);
  // Mixed: no fold is the beginning of the file. Checkpoints depend on them, the same for ever.
  CHECK(all_folds(10, 3, {}) == std::vector<Numbers>{{2, 5, 6, 8}, {1, 4, 9}, {0, 3, 7}});
  CHECK(sizes_of(all_folds(3, 3, {})) == Numbers{1, 1, 1});
  for (const auto& by : {SplitBy(), SplitBy{.groups = {0, 1, 1, 0}}}) {
    try {
      split_examples(4, fold_spec(by.groups.empty() ? 5 : 3, 1), by);
      FAIL("accepted");
    } catch (const FieldError& error) {
      CHECK(error.field() == "data.split.folds");
      CHECK_THAT(error.text(), ContainsSubstring("use fewer folds"));
    }
  }
  CHECK_THROWS_AS(validation_count(4, fold_spec(5, 1)), FieldError);
}

TEST_CASE("each class is divided as evenly over the folds, as StratifiedKFold has it") {
  Numbers classes;
  for (const auto& [label, count] : std::vector<std::pair<int64_t, size_t>>{{0, 53}, {1, 29}, {2, 7}, {3, 2}})
    classes.insert(classes.end(), count, label);
  std::vector<Numbers> counts;
  for (const Numbers& fold : all_folds(91, 5, {.classes = classes})) {
    counts.emplace_back(4);
    for (const int64_t index : fold)
      ++counts.back()[static_cast<size_t>(classes[static_cast<size_t>(index)])];
  }
  CHECK(counts ==
        std::vector<Numbers>{{11, 6, 1, 1}, {11, 6, 1, 0}, {11, 5, 2, 0}, {10, 6, 2, 0}, {10, 6, 1, 1}});
}

TEST_CASE("no group is in two folds, which are as large as GroupKFold makes them") {
  Numbers groups;
  for (int64_t i = 0; i < 450; ++i) groups.push_back((i * i + 7 * i) % 89);
  const std::vector<Numbers> sizes = {{223, 227}, {152, 147, 151}, {91, 91, 91, 91, 86}};
  for (const Numbers& expected : sizes) {
    std::set<int64_t> seen;
    const std::vector<Numbers> folds = all_folds(450, std::ssize(expected), {.groups = groups});
    CHECK(sizes_of(folds) == expected);
    for (const Numbers& fold : folds) {
      std::set<int64_t> here;
      for (const int64_t index : fold) here.insert(groups[static_cast<size_t>(index)]);
      for (const int64_t group : here) CHECK(seen.insert(group).second);
    }
  }
  CHECK(all_folds(450, 3, {.groups = groups}, 1) != all_folds(450, 3, {.groups = groups}, 2));
}

TEST_CASE("a table's folds are of what its test part leaves") {
  const TemporaryFolder folder;
  std::string table = "row,who,y\n";
  for (int i = 0; i < 120; ++i) table += fmt::format("{},p{},{}\n", i, i % 12, i % 3 == 0 ? "a" : "b");
  const std::string path = folder.write("rows.csv", table);
  for (const bool grouped : {false, true}) {
    Numbers sizes;
    at::Tensor test;
    for (int64_t fold = 1; fold <= 4; ++fold) {
      DataSpec spec;
      spec.dataset = "csv";
      spec.path = path;
      spec.target = {"y"};
      spec.target_kind = "classes";
      spec.split = fold_spec(4, fold);
      spec.split.test = 0.25;
      if (grouped) spec.split.group = "who";
      const Dataset dataset = load_dataset(spec, 1);
      sizes.push_back(dataset.info.validation_examples);
      CHECK(dataset.info.train_examples == 90 - sizes.back());
      const at::Tensor tested = stored_examples_of(*dataset.test).targets;
      CHECK((fold == 1 || tested.equal(test)));
      test = tested;
    }
    CHECK(sizes == (grouped ? Numbers{30, 20, 20, 20} : Numbers{23, 23, 22, 22}));  // nine groups of ten
  }
}

TEST_CASE("a model that is used later finds its folds by classes, however the classes are ordered") {
  const TemporaryFolder folder;
  std::string table = "row,y\n";
  for (int i = 0; i < 57; ++i)
    table += fmt::format("{},{}\n", i, i % 7 == 0 ? "zeta" : i % 3 == 0 ? "alpha" : "mid");
  DataSpec spec;
  spec.dataset = "csv";
  spec.path = folder.write("rows.csv", table);
  spec.target = {"y"};
  spec.target_kind = "classes";
  spec.split = fold_spec(4, 2);
  spec.split.test = 0.2;
  spec.split.stratify = true;
  const Dataset trained = load_dataset(spec, 1);
  CHECK(trained.info.class_names == std::vector<std::string>{"alpha", "mid", "zeta"});
  spec.saved_table = trained.info.table;
  const Dataset later = load_dataset(spec, 1);
  const at::Tensor rows = stored_examples_of(*trained.validation).inputs;
  CHECK(stored_examples_of(*later.validation).inputs.equal(rows));
}

}  // namespace
}  // namespace dtrain
