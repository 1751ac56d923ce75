#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "catch.h"

namespace dtrain {
namespace {

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

TEST_CASE("the numbers are those of the published SplitMix64") {
  // Made with the reference implementation's algorithm in another language, in integers of any size.
  const std::map<uint64_t, std::vector<uint64_t>> published = {
      {0,
       {16294208416658607535U, 7960286522194355700U, 487617019471545679U, 17909611376780542444U,
        1961750202426094747U}},
      {1234567,
       {6457827717110365317U, 3203168211198807973U, 9817491932198370423U, 4593380528125082431U,
        16408922859458223821U}},
      {kMax,
       {16490336266968443936U, 16834447057089888969U, 4048727598324417001U, 7862637804313477842U,
        13015481187462834606U}},
  };
  for (const auto& [seed, expected] : published) {
    RandomGenerator random(seed);
    for (const uint64_t number : expected) CHECK(random.next() == number);
  }
}

TEST_CASE("below stays below its bound, whatever the bound") {
  RandomGenerator random(7);
  for (const uint64_t bound : {uint64_t{1}, uint64_t{2}, uint64_t{3}, uint64_t{1000}, uint64_t{1} << 32,
                               uint64_t{1} << 63, (uint64_t{1} << 63) + 1, kMax}) {
    INFO(bound);
    uint64_t highest = 0;
    for (int i = 0; i < 1000; ++i) highest = std::max(highest, random.below(bound));
    CHECK(highest < bound);
    CHECK(highest >= (bound - 1) / 2);  // and reaches into the upper half
  }
}

TEST_CASE("below draws every value equally often") {
  RandomGenerator random(11);
  constexpr int kBound = 6;
  constexpr int kDraws = 600'000;
  std::vector<int> counts(kBound);
  for (int i = 0; i < kDraws; ++i) ++counts[random.below(kBound)];
  // The deviation of a count is sqrt(n p (1-p)) = 289; five of them are missed once in two million seeds.
  for (const int count : counts) CHECK(std::abs(count - kDraws / kBound) < 5 * 289);
}

TEST_CASE("below has no bias where a modulo or a product alone has") {
  // With a bound of 3/4 of the range, the simple methods draw a third of the values twice as often: a modulo
  // the lowest third, a product every third value.
  RandomGenerator random(13);
  const uint64_t bound = 3 * (uint64_t{1} << 62);
  constexpr int kDraws = 300'000;
  std::vector<int> thirds(3);
  int multiples = 0;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t value = random.below(bound);
    ++thirds[value / (uint64_t{1} << 62)];
    // The product alone maps two numbers to every third value and one to the others.
    multiples += value % 3 == 0 ? 1 : 0;
  }
  for (const int count : thirds) CHECK(std::abs(count - kDraws / 3) < 5 * 259);
  CHECK(std::abs(multiples - kDraws / 3) < 5 * 259);
}

TEST_CASE("uniform is in [0, 1) with a mean of a half") {
  RandomGenerator random(17);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.uniform();
    REQUIRE(value >= 0);
    REQUIRE(value < 1);
    sum += value;
  }
  CHECK(sum / 100'000 == Approx(0.5).margin(5 * 0.000913));  // 1 / sqrt(12 n)
}

TEST_CASE("a permutation has every index once") {
  for (const int64_t count : {0, 1, 2, 3, 1000}) {
    INFO(count);
    std::vector<int64_t> order = random_permutation(count, 42);
    std::sort(order.begin(), order.end());
    REQUIRE(order.size() == static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) CHECK(order[static_cast<size_t>(i)] == i);
  }
}

TEST_CASE("a permutation depends on its seed alone") {
  CHECK(random_permutation(100, 1) == random_permutation(100, 1));
  CHECK(random_permutation(100, 1) != random_permutation(100, 2));
  // On one machine and compiler as on another: computed in another language.
  CHECK(random_permutation(8, 42) == std::vector<int64_t>{4, 3, 2, 0, 7, 6, 1, 5});
}

TEST_CASE("all orders of three are equally likely") {
  std::map<std::vector<int64_t>, int> counts;
  constexpr int kDraws = 60'000;
  for (int seed = 0; seed < kDraws; ++seed)
    ++counts[random_permutation(3, derive_seed(5, SeedPurpose::kOrder, static_cast<uint64_t>(seed)))];
  CHECK(counts.size() == 6);
  for (const auto& [order, count] : counts) CHECK(std::abs(count - kDraws / 6) < 5 * 92);
}

TEST_CASE("derived seeds differ by seed, purpose and index") {
  std::set<uint64_t> seeds;
  size_t expected = 0;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{42}, uint64_t{43}, kMax}) {
    for (const SeedPurpose purpose :
         {SeedPurpose::kWeights, SeedPurpose::kOrder, SeedPurpose::kReplica, SeedPurpose::kSynthetic}) {
      for (uint64_t index = 0; index < 1000; ++index, ++expected)
        seeds.insert(derive_seed(seed, purpose, index));
    }
  }
  CHECK(seeds.size() == expected);
}

TEST_CASE("streams of neighbouring derived seeds share no numbers") {
  // SplitMix64 is one cycle: two seeds a few steps apart would give the same numbers, shifted.
  std::set<uint64_t> numbers;
  for (uint64_t index = 0; index < 100; ++index) {
    RandomGenerator random(derive_seed(42, SeedPurpose::kReplica, index));
    for (int i = 0; i < 1000; ++i) numbers.insert(random.next());
  }
  CHECK(numbers.size() == 100'000);
}

TEST_CASE("Beta(a, a) has a mean of a half and a variance of 1 / (4 (2 a + 1)), also for extreme a") {
  RandomGenerator random(9);
  for (const double alpha : {0.01, 0.2, 1.0, 3.5, 100.0}) {
    double sum = 0, squares = 0;
    constexpr int kDraws = 20000;
    for (int i = 0; i < kDraws; ++i) {
      const double value = random_beta(random, alpha);
      REQUIRE((value >= 0 && value <= 1));
      sum += value;
      squares += (value - 0.5) * (value - 0.5);
    }
    const double variance = 1 / (4 * (2 * alpha + 1));
    CHECK(sum / kDraws == Approx(0.5).margin(5 * std::sqrt(variance / kDraws)));
    CHECK(squares / kDraws == Approx(variance).epsilon(0.05));
  }
}

}  // namespace
}  // namespace dtrain
