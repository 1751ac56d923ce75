// Which examples an epoch has, and in which order: a function of the seed and the epoch alone. So all
// replicas know it, and so does a run that goes on in the middle of an epoch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/example_source.h"
#include "loader/loader_options.h"

namespace dtrain {

// The examples of an epoch in the order of training.
struct EpochOrder {
  std::vector<int64_t> examples;  // indices of the source, as many as it has examples
  // For each of them how often the epoch has had it before. Empty: no example comes twice.
  std::vector<int64_t> repeats;
};

class BalancedClasses;

// Any number of threads may use one at once.
class ExampleOrder {
 public:
  // The order follows options.shuffle and options.balanced; Error(kBug) for a balanced one without classes.
  ExampleOrder(const ExampleSource& source, const LoaderOptions& options);

  EpochOrder of(int64_t epoch) const;
  bool changes() const { return shuffle_; }  // from epoch to epoch

 private:
  int64_t examples_;
  bool shuffle_;
  uint64_t seed_;
  std::shared_ptr<const BalancedClasses> balanced_;  // null: each example comes once
};

// A permutation of 0..examples-1 seeded by (seed, epoch), or the identity.
std::vector<int64_t> epoch_order(int64_t examples, bool shuffle, uint64_t seed, int64_t epoch);

}  // namespace dtrain
