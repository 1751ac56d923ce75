// Random numbers that are the same on every machine and compiler, which the standard library's are not.
#pragma once

#include <cstdint>
#include <vector>

namespace dtrain {

// What a derived seed is used for. Keeps the random streams of a job independent of each other.
enum class SeedPurpose : uint64_t {
  kWeights = 1,
  kOrder = 2,
  kReplica = 3,
  kSynthetic = 4,
  kSplit = 5,
  kAugment = 6,
  kBalance = 7,
  kStep = 8
};

// Derives from the job's seed one for a purpose and index (epoch, rank, ...), by SplitMix64's finaliser.
uint64_t derive_seed(uint64_t seed, SeedPurpose purpose, uint64_t index = 0);

// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
class RandomGenerator {
 public:
  explicit RandomGenerator(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Uniform in [0, bound), bound > 0, without modulo bias (Lemire 2019, doi:10.1145/3230636).
  uint64_t below(uint64_t bound);
  // Uniform in [0, 1) with 53 random bits.
  double uniform();

 private:
  uint64_t state_;
};

// From the distribution Beta(alpha, alpha), alpha > 0, by gamma variables (Marsaglia and Tsang 2000,
// doi:10.1145/358407.358414). In 0 to 1.
double random_beta(RandomGenerator& random, double alpha);

// A permutation of 0..count-1 (Fisher-Yates).
std::vector<int64_t> random_permutation(int64_t count, uint64_t seed);

// `part` of `count`, rounded down, but at least one. `part` counts as the decimal text: 0.29 of 100 is 29.
int64_t size_of_part(double part, int64_t count);

// The first `count`, fewer than all, of the indices `order`, with each class in proportion: a class of k has
// count * k / order.size() of them, rounded down or up, but at most k - 1. They are fewer than `count` only
// if too many classes have a single one. `classes`: of every index.
std::vector<int64_t> first_of_each_class(const std::vector<int64_t>& order,
                                         const std::vector<int64_t>& classes, int64_t count);

// The same with whole groups: takes the groups in the order in which they begin in `order`, if they still fit
// into `count`; if none fits, the smallest. Returns nothing if there are not two groups.
std::vector<int64_t> first_whole_groups(const std::vector<int64_t>& order, const std::vector<int64_t>& groups,
                                        int64_t count);

// Fold `number`, from 1, of `folds`, which together have each of the indices `order` once: the first folds
// have one more if the division leaves a remainder. With `classes` (of every index; empty: none), each class
// is divided as evenly. Returns nothing if there are fewer indices than folds.
std::vector<int64_t> fold_of(std::vector<int64_t> order, const std::vector<int64_t>& classes, int64_t folds,
                             int64_t number);

// The same with whole groups: the largest first, each into the fold with the fewest indices so far. Of
// equally large groups, the one that begins first in `order`. Returns nothing if there are fewer groups than
// folds.
std::vector<int64_t> fold_of_groups(const std::vector<int64_t>& order, const std::vector<int64_t>& groups,
                                    int64_t folds, int64_t number);

}  // namespace dtrain
