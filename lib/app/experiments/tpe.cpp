#include "experiments/tpe.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>

namespace dtrain {
namespace {

constexpr int kCandidates = 24;
constexpr int64_t kMostGood = 25;
constexpr double kLeastWidths = 100;  // the narrowest kernel, so many to the range

// A whole number stands for the interval of length one around it.
double lowest(const TpeDimension& dimension) { return dimension.from - (dimension.whole ? 0.5 : 0); }
double highest(const TpeDimension& dimension) { return dimension.to + (dimension.whole ? 0.5 : 0); }

double scaled(const TpeDimension& dimension, double value) {
  return dimension.logarithm ? std::log(value) : value;
}

// The part of the standard normal distribution that is between `a` and `b`, accurate in both tails.
double normal_part(double a, double b) {
  if (a > 0) return normal_part(-b, -a);
  return (std::erfc(-b / std::numbers::sqrt2) - std::erfc(-a / std::numbers::sqrt2)) / 2;
}

// What one trial, or the prior, says of one dimension. Of numbers: a normal distribution, cut at the ends of
// the range. Of choices: the chosen one (-1: none), to whose count of one each choice adds `width`.
struct Kernel {
  double middle = 0;
  double width = 0;
  double inside = 1;  // the part of the normal distribution that is within the range

  double log_density(const TpeDimension& dimension, double value) const;
  double draw(const TpeDimension& dimension, RandomGenerator& random) const;
};

Kernel number_kernel(const TpeDimension& dimension, double middle, double width) {
  const double low = scaled(dimension, lowest(dimension)), high = scaled(dimension, highest(dimension));
  return {middle, width, normal_part((low - middle) / width, (high - middle) / width)};
}

// Without the constant that all densities of numbers share.
double Kernel::log_density(const TpeDimension& dimension, double value) const {
  if (dimension.choices > 0) {
    const double own = middle == value ? 1 : 0, all = middle < 0 ? 0 : 1;
    return std::log((own + width) / (all + width * static_cast<double>(dimension.choices)));
  }
  if (dimension.whole) {
    const double from = scaled(dimension, value - 0.5), to = scaled(dimension, value + 0.5);
    return std::log(normal_part((from - middle) / width, (to - middle) / width) / inside);
  }
  const double distance = (scaled(dimension, value) - middle) / width;
  return -distance * distance / 2 - std::log(width * inside);
}

double Kernel::draw(const TpeDimension& dimension, RandomGenerator& random) const {
  if (dimension.choices > 0) {
    const double all = middle < 0 ? 0 : 1;
    const double place = random.uniform() * (all + width * static_cast<double>(dimension.choices)) - all;
    if (place < 0) return middle;
    return std::min(std::floor(place / width), static_cast<double>(dimension.choices - 1));
  }
  const double low = scaled(dimension, lowest(dimension)), high = scaled(dimension, highest(dimension));
  double value = 0;
  do {  // by Box and Muller; at least a third of the distribution is within the range
    const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
    value = middle + width * radius * std::cos(2 * std::numbers::pi * random.uniform());
  } while (value < low || value > high);
  if (dimension.logarithm) value = std::exp(value);
  if (dimension.whole) value = std::round(value);
  return std::clamp(value, dimension.from, dimension.to);
}

// How far the further of the two neighbours is from a place among `places`, which ascend; of a single place,
// the further end of the range.
double distance_to_neighbour(const std::vector<double>& places, double place, double low, double high) {
  if (places.size() == 1) return std::max(place - low, high - place);
  const auto first = std::ranges::lower_bound(places, place), last = std::ranges::upper_bound(places, place);
  const double before = first == places.begin() ? 0 : place - *std::prev(first);
  const double after = last == places.end() ? 0 : *last - place;
  return std::max(before, after);
}

// An even mixture of a product of kernels for each trial, and one for the prior: the whole space. Kernels of
// numbers are as wide as the neighbours are far, so they narrow where trials become dense, but not below a
// part of the range.
class Mixture {
 public:
  Mixture(const std::vector<TpeDimension>& space, std::span<const TpeTrial> trials) : space_(space) {
    products_.resize(trials.size() + 1);
    for (size_t d = 0; d < space.size(); ++d) {
      if (space[d].choices > 0) {
        const double each = 1 / (static_cast<double>(trials.size()) + 1);
        for (size_t i = 0; i < trials.size(); ++i) products_[i].push_back({trials[i].values[d], each});
        products_.back().push_back({-1, 1});
      } else {
        add_numbers(space[d], d, trials);
      }
    }
  }

  double log_density(const std::vector<double>& values) const {
    std::vector<double> logs;
    for (const std::vector<Kernel>& product : products_) {
      logs.push_back(0);
      for (size_t d = 0; d < space_.size(); ++d) logs.back() += product[d].log_density(space_[d], values[d]);
    }
    const double most = *std::ranges::max_element(logs);  // finite, as the prior's is
    double sum = 0;
    for (const double each : logs) sum += std::exp(each - most);
    return most + std::log(sum / static_cast<double>(logs.size()));
  }

  std::vector<double> draw(RandomGenerator& random) const {
    const std::vector<Kernel>& product = products_[random.below(products_.size())];
    std::vector<double> values;
    for (size_t d = 0; d < space_.size(); ++d) values.push_back(product[d].draw(space_[d], random));
    return values;
  }

 private:
  void add_numbers(const TpeDimension& dimension, size_t d, std::span<const TpeTrial> trials) {
    const double low = scaled(dimension, lowest(dimension)), high = scaled(dimension, highest(dimension));
    const double range = high - low;
    const double least = range / std::min(kLeastWidths, static_cast<double>(trials.size()) + 2);
    std::vector<double> places;
    for (const TpeTrial& trial : trials) places.push_back(scaled(dimension, trial.values[d]));
    std::vector<double> sorted = places;
    std::ranges::sort(sorted);
    for (size_t i = 0; i < places.size(); ++i) {
      const double distance = distance_to_neighbour(sorted, places[i], low, high);
      products_[i].push_back(number_kernel(dimension, places[i], std::clamp(distance, least, range)));
    }
    products_.back().push_back(number_kernel(dimension, low + range / 2, range));
  }

  const std::vector<TpeDimension>& space_;
  // Of each trial, and last of the prior: a kernel for each dimension.
  std::vector<std::vector<Kernel>> products_;
};

}  // namespace

std::vector<double> propose_by_tpe(const std::vector<TpeDimension>& space, std::vector<TpeTrial> trials,
                                   int64_t ended, RandomGenerator& random) {
  std::ranges::stable_sort(trials, {}, &TpeTrial::loss);
  const int64_t finite =
      std::ranges::count_if(trials, [](const TpeTrial& trial) { return std::isfinite(trial.loss); });
  const auto best = static_cast<size_t>(std::min({(3 * ended + 19) / 20, kMostGood, finite}));
  const std::span<const TpeTrial> all(trials);
  const Mixture good(space, all.first(best)), others(space, all.subspan(best));
  std::vector<double> proposal;
  double most = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < kCandidates; ++i) {
    std::vector<double> values = good.draw(random);
    const double gain = good.log_density(values) - others.log_density(values);
    if (!proposal.empty() && gain <= most) continue;
    most = gain;
    proposal = std::move(values);
  }
  return proposal;
}

}  // namespace dtrain
