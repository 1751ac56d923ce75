// data.sampling: balanced.
#include "loader/example_order.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <map>
#include <set>

#include "augment/augmenter.h"
#include "catch.h"
#include "data/data_files.h"
#include "data/example_source.h"
#include "loader/batches.h"
#include "spec/augment_kinds.h"

using namespace dtrain;
using namespace dtrain::test;

namespace {

// 100 examples: 71 of class 0, 25 of class 2, 4 of class 3, none of class 1, mixed up.
at::Tensor uneven_classes() {
  at::manual_seed(8);
  return at::cat({at::zeros({71}, at::kLong), at::full({25}, 2, at::kLong), at::full({4}, 3, at::kLong)})
      .index_select(0, at::randperm(100, at::kLong));
}

ExampleSourcePtr uneven_pictures() {
  at::manual_seed(9);
  return make_memory_source({at::randint(0, 256, {100, 1, 6, 5}, at::kByte), uneven_classes()});
}

LoaderOptions balanced_options(int64_t replicas = 1, int64_t rank = 0) {
  LoaderOptions options;
  options.plan.global = 12;
  options.plan.parts = replicas;
  options.plan.per_replica = 12 / replicas;
  options.own = {rank, rank + 1};
  options.seed = 5;
  options.balanced = true;
  return options;
}

using Counts = std::map<int64_t, int64_t>;

Counts class_counts(const std::vector<int64_t>& examples) {
  const at::Tensor classes = uneven_classes();
  Counts counts;
  for (const int64_t example : examples) ++counts[classes[example].item<int64_t>()];
  return counts;
}

TEST_CASE("each class gets as many places as another, and what is left over goes round") {
  const ExampleOrder balanced(*uneven_pictures(), balanced_options());
  Counts all;
  for (int64_t epoch = 0; epoch < 9; ++epoch) {
    const std::vector<int64_t> examples = balanced.of(epoch).examples;
    REQUIRE(examples.size() == 100);
    const Counts counts = class_counts(examples);
    REQUIRE(counts.size() == 3);  // class 1 has no examples
    for (const auto& [label, count] : counts) {
      CHECK((count == 33 || count == 34));
      all[label] += count;
    }
    if (epoch % 3 == 2) CHECK((all[0] == all[2] && all[2] == all[3]));
  }
}

TEST_CASE("no example comes a third time before all of its class have come twice") {
  const ExampleOrder balanced(*uneven_pictures(), balanced_options());
  const at::Tensor labels = uneven_classes();
  std::vector<int64_t> shown(100, 0);
  for (int64_t epoch = 0; epoch < 12; ++epoch) {
    const std::vector<int64_t> examples = balanced.of(epoch).examples;
    for (const int64_t example : examples) ++shown[static_cast<size_t>(example)];
    std::map<int64_t, std::set<int64_t>> by_class;
    for (int64_t example = 0; example < 100; ++example)
      by_class[labels[example].item<int64_t>()].insert(shown[static_cast<size_t>(example)]);
    for (const auto& [label, times] : by_class) CHECK(*times.rbegin() - *times.begin() <= 1);
    // The 71 examples of class 0 take three epochs.
    if (epoch == 2) CHECK(*by_class[0].begin() == 1);
  }
}

TEST_CASE("seed and epoch decide the examples and their order, and nothing before them does") {
  const ExampleSourcePtr source = uneven_pictures();
  LoaderOptions options = balanced_options();
  const ExampleOrder order(*source, options);
  const std::vector<int64_t> seventh = order.of(7).examples;
  CHECK(ExampleOrder(*source, options).of(7).examples == seventh);
  CHECK(order.of(6).examples != seventh);
  CHECK_FALSE(std::is_sorted(seventh.begin(), seventh.begin() + 20));
  std::vector<int64_t> first_half(seventh.begin(), seventh.begin() + 50);
  CHECK(class_counts(first_half).at(3) > 8);  // the classes are mixed: 17 are expected
  options.seed = 6;
  CHECK(ExampleOrder(*source, options).of(7).examples != seventh);
  options.shuffle = false;  // it draws at random in any case
  CHECK(ExampleOrder(*source, options).changes());
}

TEST_CASE("repeats count how often the epoch has had an example before") {
  const EpochOrder order = ExampleOrder(*uneven_pictures(), balanced_options()).of(3);
  REQUIRE(order.repeats.size() == 100);
  Counts seen;
  for (size_t place = 0; place < 100; ++place) CHECK(order.repeats[place] == seen[order.examples[place]]++);
  CHECK(*std::max_element(order.repeats.begin(), order.repeats.end()) == 8);  // 33 or 34 places, 4 examples
  LoaderOptions natural = balanced_options();
  natural.balanced = false;
  const EpochOrder once = ExampleOrder(*uneven_pictures(), natural).of(3);
  CHECK(once.examples == epoch_order(100, true, 5, 3));
  CHECK(once.repeats.empty());
}

TEST_CASE("without classes nothing can be balanced") {
  const ExampleSourcePtr numbers = make_memory_source({at::zeros({8, 3}), at::zeros({8, 1})});
  CHECK_THAT(error_of([&] { ShareLoader loader(numbers, balanced_options()); }, ExitCode::kBug),
             ContainsSubstring("only examples of classes"));
}

// The inputs of an epoch in the order of training, by the step and the rank.
std::vector<at::Tensor> inputs_of_epoch(const LoaderOptions& options, int64_t first_step = 0) {
  ShareLoader loader(uneven_pictures(), options);
  loader.start_epoch(2, first_step);
  std::vector<at::Tensor> inputs;
  while (const auto share = loader.next()) {
    for (const MicroBatch& batch : share->micro_batches) inputs.push_back(batch.assemble().inputs);
  }
  return inputs;
}

AugmentSpec operation_of(const std::string& kind) {
  AugmentSpec spec{.kind = kind};
  if (kind == "mixup") spec.own = MixingFields{.alpha = 1};
  return spec;
}

TEST_CASE("balanced examples are the same for any replicas and threads, and after a resume") {
  LoaderOptions options = balanced_options();
  const bool augments = GENERATE(false, true);
  const auto augment = [&](LoaderOptions& some) {
    if (augments) some.augment = {operation_of("random_crop"), operation_of("mixup")};
  };
  augment(options);
  const at::Tensor all = at::cat(inputs_of_epoch(options));
  REQUIRE(all.size(0) == 100);
  options.threads = 3;
  options.prefetch = 2;
  CHECK(at::cat(inputs_of_epoch(options)).equal(all));
  CHECK(at::cat(inputs_of_epoch(options, 3)).equal(all.slice(0, 36)));
  std::vector<std::vector<at::Tensor>> of_rank;
  for (int64_t rank = 0; rank < 3; ++rank) {
    LoaderOptions some = balanced_options(3, rank);
    augment(some);
    of_rank.push_back(inputs_of_epoch(some));
  }
  std::vector<at::Tensor> together;
  for (size_t step = 0; step < of_rank[0].size(); ++step) {
    for (const auto& inputs : of_rank) together.push_back(inputs[step]);
  }
  CHECK(at::cat(together).equal(all));
  if (augments) return;
  options.assembly = Assembly::kResident;
  options.prefetch = 0;
  CHECK(at::allclose(at::cat(inputs_of_epoch(options)), all, 1e-6, 1e-6));
}

TEST_CASE("an example that comes again in an epoch is augmented anew, the first time as ever") {
  LoaderOptions options = balanced_options();
  options.augment = {operation_of("random_crop")};
  options.augment[0].own = ShiftFields{.padding = 5};
  const at::Tensor all = at::cat(inputs_of_epoch(options)).mul(255).round().to(at::kByte);
  const EpochOrder order = ExampleOrder(*uneven_pictures(), options).of(2);
  const Augmenter augmenter(options.augment, {1, 6, 5}, options.seed);
  const at::Tensor stored = stored_examples_of(*uneven_pictures()).inputs;
  std::map<int64_t, std::vector<at::Tensor>> shown;
  for (size_t place = 0; place < 100; ++place) {
    const at::Tensor input = all[static_cast<int64_t>(place)];
    shown[order.examples[place]].push_back(input);
    if (order.repeats[place] > 0) continue;
    at::Tensor pixels = stored[order.examples[place]].clone();
    augmenter.change({2, order.examples[place]}, pixels.mutable_data_ptr<uint8_t>());
    CHECK(input.equal(pixels));
  }
  int64_t pairs = 0, equal = 0;
  for (const auto& [example, inputs] : shown) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      for (size_t j = 0; j < i; ++j, ++pairs) equal += inputs[i].equal(inputs[j]) ? 1 : 0;
    }
  }
  CHECK(pairs > 100);
  CHECK(equal < pairs / 20);  // of 121 crops two may be the same
}

}  // namespace
