#include "loader/example_order.h"

#include <ATen/core/Tensor.h>

#include <map>

#include "core/error.h"
#include "core/random.h"
#include "core/range.h"

namespace dtrain {
namespace {

std::vector<int64_t> repeats_in(const std::vector<int64_t>& order) {
  std::vector<int64_t> seen(order.size(), 0);
  std::vector<int64_t> repeats;
  repeats.reserve(order.size());
  for (const int64_t example : order) repeats.push_back(seen[static_cast<size_t>(example)]++);
  return repeats;
}

}  // namespace

// Of each class its examples, in rounds: a round has each of them once, in an order of its own. An epoch goes
// on where the one before it has stopped. So no example comes a third time before all of its class have come
// twice, and a class with more examples than it has places shows all of them in the course of some epochs.
class BalancedClasses {
 public:
  // `classes`: int64 [n], the class of each example.
  BalancedClasses(const at::Tensor& classes, uint64_t seed) : seed_(seed) {
    if (!classes.defined()) throw Error(ExitCode::kBug, "only examples of classes can be balanced");
    const at::Tensor labels = classes.contiguous();
    const int64_t* const label = labels.const_data_ptr<int64_t>();
    examples_ = labels.size(0);
    for (int64_t example = 0; example < examples_; ++example) members_[label[example]].push_back(example);
  }

  // The n examples of an epoch, class by class. Each class that has examples gets n / (their number) places;
  // the remaining places go to the classes in turn, from epoch to epoch.
  std::vector<int64_t> examples_of(int64_t epoch) const {
    std::vector<int64_t> examples;
    examples.reserve(static_cast<size_t>(examples_));
    int64_t position = 0;
    for (const auto& [label, members] : members_) {
      add_places(label, members, places_before(epoch, position), places_before(epoch + 1, position),
                 examples);
      ++position;
    }
    return examples;
  }

 private:
  // How many places the class at `position` has had in the epochs before `epoch`.
  int64_t places_before(int64_t epoch, int64_t position) const {
    const int64_t classes = std::ssize(members_), left_over = epoch * (examples_ % classes);
    return epoch * (examples_ / classes) + (left_over + classes - 1 - position) / classes;
  }

  // The examples of a class at the places `begin` to `end`, counted over all epochs.
  void add_places(int64_t label, const std::vector<int64_t>& members, int64_t begin, int64_t end,
                  std::vector<int64_t>& examples) const {
    const int64_t count = std::ssize(members);
    const uint64_t seed = derive_seed(seed_, SeedPurpose::kBalance, static_cast<uint64_t>(label));
    for (int64_t place = begin; place < end;) {
      const int64_t round = place / count;
      const std::vector<int64_t> order =
          random_permutation(count, derive_seed(seed, SeedPurpose::kBalance, static_cast<uint64_t>(round)));
      for (; place < end && place / count == round; ++place) {
        const int64_t member = order[static_cast<size_t>(place % count)];
        examples.push_back(members[static_cast<size_t>(member)]);
      }
    }
  }

  uint64_t seed_;
  int64_t examples_ = 0;
  std::map<int64_t, std::vector<int64_t>> members_;  // by class: those with examples
};

ExampleOrder::ExampleOrder(const ExampleSource& source, const LoaderOptions& options)
    : examples_(source.size()), shuffle_(options.shuffle || options.balanced), seed_(options.seed) {
  if (options.balanced) balanced_ = std::make_shared<BalancedClasses>(source.classes(), seed_);
}

EpochOrder ExampleOrder::of(int64_t epoch) const {
  EpochOrder order{epoch_order(examples_, shuffle_, seed_, epoch), {}};
  if (!balanced_) return order;
  const std::vector<int64_t> drawn = balanced_->examples_of(epoch);
  for (int64_t& place : order.examples) place = drawn[static_cast<size_t>(place)];
  order.repeats = repeats_in(order.examples);
  return order;
}

std::vector<int64_t> epoch_order(int64_t examples, bool shuffle, uint64_t seed, int64_t epoch) {
  if (!shuffle) return consecutive<int64_t>(0, examples);
  return random_permutation(examples, derive_seed(seed, SeedPurpose::kOrder, static_cast<uint64_t>(epoch)));
}

}  // namespace dtrain
