#include "core/random.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <unordered_map>
#include <utility>

#include "core/range.h"

namespace dtrain {
namespace {

constexpr uint64_t kGoldenGamma = 0x9E3779B97F4A7C15ULL;
// 0.29 of 100 examples is 28.999999999999996 in floating point. With at most 1e9 examples (spec/fields.cpp)
// the error of the product is far below this.
constexpr double kSlack = 1e-6;  // examples

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

// From the normal distribution (Box and Muller 1958).
double normal(RandomGenerator& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The logarithm of a gamma variable: with a small `shape` the variable itself may be too small for a double.
double log_gamma_variable(RandomGenerator& random, double shape) {
  if (shape < 1) return log_gamma_variable(random, shape + 1) + std::log(1 - random.uniform()) / shape;
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(random);
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v))
      return std::log(d * v);
  }
}

// The indices of each group, in the order in which the groups begin.
std::vector<std::vector<int64_t>> members_of_groups(const std::vector<int64_t>& order,
                                                    const std::vector<int64_t>& groups) {
  std::unordered_map<int64_t, size_t> places;
  std::vector<std::vector<int64_t>> members;
  for (const int64_t index : order) {
    const auto [known, is_new] = places.emplace(groups[static_cast<size_t>(index)], members.size());
    if (is_new) members.emplace_back();
    members[known->second].push_back(index);
  }
  return members;
}

}  // namespace

uint64_t derive_seed(uint64_t seed, SeedPurpose purpose, uint64_t index) {
  const uint64_t with_purpose = mix(seed + kGoldenGamma * static_cast<uint64_t>(purpose));
  return mix(with_purpose + kGoldenGamma * (index + 1));
}

uint64_t RandomGenerator::next() {
  state_ += kGoldenGamma;
  return mix(state_);
}

uint64_t RandomGenerator::below(uint64_t bound) {
  __extension__ using Wide = unsigned __int128;
  Wide product = static_cast<Wide>(next()) * bound;
  auto low = static_cast<uint64_t>(product);
  if (low < bound) {
    const uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Wide>(next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

double RandomGenerator::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double random_beta(RandomGenerator& random, double alpha) {
  const double first = log_gamma_variable(random, alpha);
  return 1 / (1 + std::exp(log_gamma_variable(random, alpha) - first));
}

std::vector<int64_t> random_permutation(int64_t count, uint64_t seed) {
  std::vector<int64_t> order = consecutive(int64_t{0}, count);
  RandomGenerator random(seed);
  for (int64_t last = count - 1; last > 0; --last)
    std::swap(order[static_cast<size_t>(last)], order[random.below(static_cast<uint64_t>(last) + 1)]);
  return order;
}

int64_t size_of_part(double part, int64_t count) {
  return std::max<int64_t>(1, static_cast<int64_t>(std::floor(part * static_cast<double>(count) + kSlack)));
}

std::vector<int64_t> first_of_each_class(const std::vector<int64_t>& order,
                                         const std::vector<int64_t>& classes, int64_t count) {
  struct Class {
    int64_t size = 0;
    int64_t wanted = 0;
    int64_t rest = 0;  // what rounding down has cut off, of order.size()
  };
  // As they come in `order`, whatever their numbers are.
  std::unordered_map<int64_t, size_t> places;
  std::vector<Class> all;
  for (const int64_t index : order) {
    const auto [known, is_new] = places.emplace(classes[static_cast<size_t>(index)], all.size());
    if (is_new) all.emplace_back();
    ++all[known->second].size;
  }
  int64_t left = count;
  std::vector<Class*> by_rest;
  for (Class& one : all) {
    one.wanted = one.size * count / std::ssize(order);
    one.rest = one.size * count % std::ssize(order);
    left -= one.wanted;
    if (one.wanted + 1 < one.size) by_rest.push_back(&one);
  }
  std::stable_sort(by_rest.begin(), by_rest.end(),
                   [](const Class* one, const Class* other) { return one->rest > other->rest; });
  for (size_t i = 0; i < by_rest.size() && left > 0; ++i, --left) ++by_rest[i]->wanted;
  std::vector<int64_t> first;
  for (const int64_t index : order) {
    if (all[places.at(classes[static_cast<size_t>(index)])].wanted-- > 0) first.push_back(index);
  }
  return first;
}

std::vector<int64_t> first_whole_groups(const std::vector<int64_t>& order, const std::vector<int64_t>& groups,
                                        int64_t count) {
  const auto members = members_of_groups(order, groups);
  std::vector<int64_t> first;
  if (members.size() < 2) return first;
  for (const std::vector<int64_t>& group : members) {
    if (std::ssize(first) + std::ssize(group) <= count) first.insert(first.end(), group.begin(), group.end());
  }
  const auto by_size = [](const auto& one, const auto& other) { return one.size() < other.size(); };
  return first.empty() ? *std::min_element(members.begin(), members.end(), by_size) : first;
}

std::vector<int64_t> fold_of(std::vector<int64_t> order, const std::vector<int64_t>& classes, int64_t folds,
                             int64_t number) {
  std::vector<int64_t> fold;
  if (std::ssize(order) < folds) return fold;
  if (!classes.empty())
    std::ranges::stable_sort(order, {}, [&](int64_t index) { return classes[static_cast<size_t>(index)]; });
  for (int64_t place = number - 1; place < std::ssize(order); place += folds)
    fold.push_back(order[static_cast<size_t>(place)]);
  return fold;
}

std::vector<int64_t> fold_of_groups(const std::vector<int64_t>& order, const std::vector<int64_t>& groups,
                                    int64_t folds, int64_t number) {
  auto members = members_of_groups(order, groups);
  if (std::ssize(members) < folds) return {};
  std::ranges::stable_sort(members, std::greater(), [](const auto& group) { return group.size(); });
  std::vector<std::vector<int64_t>> all(static_cast<size_t>(folds));
  for (const std::vector<int64_t>& group : members) {
    auto& least = *std::ranges::min_element(all, {}, [](const auto& fold) { return fold.size(); });
    least.insert(least.end(), group.begin(), group.end());
  }
  return all[static_cast<size_t>(number - 1)];
}

}  // namespace dtrain
