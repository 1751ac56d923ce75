#include "judge/intervals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/random.h"

namespace dtrain {
namespace {

constexpr uint64_t kSeed = 20'240'229;
constexpr int64_t kMostWork = 2'000'000'000;  // of all draws, about two seconds
constexpr int64_t kDrawingWork = 4;           // of an example
constexpr int64_t kCellWork = 16;             // of a cell of Counts, which several metrics read
constexpr double kMostlyFinite = 0.9;         // the share of draws that have to be

// As numpy.percentile: between two values in proportion.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - std::floor(place)) * (above - sorted[below]);
}

}  // namespace

ExampleMetrics::ExampleMetrics(const ExampleResults& results) : info_(results.info()), size_(results.size()) {
  const bool answers = info_.outputs == Outputs::kYesNoLogits;
  // Answers have a single bin for scores: it counts the examples, and mean_area() needs none.
  if (results.has_probabilities()) rows_ = results.outputs, columns_ = answers ? kFirstOther + 2 : kInTop + 1;
  for (int64_t output = 0; answers && output < rows_; ++output) rank(results, output);
  sums_.reserve(size_ * static_cast<size_t>(info_.sum_count(results.outputs)));
  for (size_t i = 0; i < size_; ++i) {
    sums_.push_back(results.losses[i]);
    sums_.push_back(1);
    if (answers) add_answers(results, i);
    if (info_.outputs == Outputs::kClassLogits) add_class(results, i);
    if (info_.outputs == Outputs::kValues) add_numbers(results, i);
    cell_end_.push_back(static_cast<uint32_t>(cells_.size()));
  }
}

int64_t ExampleMetrics::work() const {
  return static_cast<int64_t>(size_) * kDrawingWork + std::ssize(sums_) + std::ssize(cells_) +
         std::ssize(ranked_) + rows_ * columns_ * kCellWork;
}

void ExampleMetrics::add_class(const ExampleResults& results, size_t example) {
  const auto label = static_cast<int64_t>(results.wanted[example]), predicted = results.predicted(example);
  const auto row = results.given.begin() + static_cast<int64_t>(example) * results.outputs;
  const auto larger = std::count_if(row, row + results.outputs, [&](float one) { return one > row[label]; });
  const auto add = [&](int64_t of, int64_t column) {
    cells_.push_back(static_cast<uint32_t>(of * columns_ + column));
  };
  sums_.push_back(label == predicted ? 1 : 0);
  add(label, kActual);
  add(predicted, kPredicted);
  if (label == predicted) add(label, kCorrect);
  if (larger < kTop) add(label, kInTop);
}

void ExampleMetrics::add_answers(const ExampleResults& results, size_t example) {
  double right = 0, found = 0, said = 0, yes = 0;
  for (int64_t output = 0; output < results.outputs; ++output) {
    const size_t at = example * static_cast<size_t>(results.outputs) + static_cast<size_t>(output);
    const bool wanted = results.wanted[at] > 0.5F, given = results.given[at] > 0;
    right += wanted == given, found += wanted && given, said += given, yes += wanted;
    const auto add = [&](bool counts, int64_t column) {
      if (counts) cells_.push_back(static_cast<uint32_t>(output * columns_ + column));
    };
    add(wanted, kActual);
    add(given, kPredicted);
    add(wanted && given, kCorrect);
    add(true, kFirstOther + (wanted ? 0 : 1));
  }
  for (const double sum : {right / static_cast<double>(results.outputs), found, said, yes})
    sums_.push_back(sum);
}

void ExampleMetrics::add_numbers(const ExampleResults& results, size_t example) {
  const auto outputs = static_cast<size_t>(results.outputs);
  const auto add = [&](auto&& number) {
    for (size_t at = example * outputs; at < (example + 1) * outputs; ++at)
      sums_.push_back(number(double{results.wanted[at]}, double{results.given[at]} - results.wanted[at]));
  };
  add([](double, double error) { return error * error; });
  add([](double, double error) { return std::abs(error); });
  add([](double wanted, double) { return wanted; });
  add([](double wanted, double) { return wanted * wanted; });
}

void ExampleMetrics::rank(const ExampleResults& results, int64_t output) {
  const auto place = [&](uint32_t example) {
    return example * static_cast<size_t>(results.outputs) + static_cast<size_t>(output);
  };
  std::vector<uint32_t> order(size_);
  std::iota(order.begin(), order.end(), uint32_t{0});
  std::ranges::sort(order, {}, [&](uint32_t example) {
    const float value = results.given[place(example)];
    return std::isnan(value) ? -std::numeric_limits<float>::infinity() : value;
  });
  for (size_t i = 0; i < size_; ++i) {
    const size_t at = place(order[i]);
    const bool is_last = i + 1 == size_ || results.given[place(order[i + 1])] != results.given[at];
    ranked_.push_back({order[i], results.wanted[at] > 0.5F, is_last});
  }
}

double ExampleMetrics::mean_area(std::span<const uint32_t> times) const {
  double areas = 0, averaged = 0;
  for (auto output = ranked_.begin(); output != ranked_.end(); output += std::ssize(times)) {
    // Pairs of a yes and a no in the right order, counted twice; of equal values once.
    uint64_t pairs = 0, yes = 0, no = 0, same_yes = 0, same_no = 0;
    for (auto one = output; one != output + std::ssize(times); ++one) {
      (one->is_yes ? same_yes : same_no) += times[one->example];
      if (!one->is_last) continue;
      pairs += same_yes * (2 * no + same_no);
      yes += std::exchange(same_yes, 0), no += std::exchange(same_no, 0);
    }
    if (yes * no == 0) continue;
    areas += static_cast<double>(pairs) / 2 / static_cast<double>(yes * no);
    ++averaged;
  }
  return averaged == 0 ? std::nan("") : areas / averaged;
}

MetricValues ExampleMetrics::values(std::span<const uint32_t> times) const {
  const size_t count = sums_.size() / size_;
  std::vector<double> sums(count);
  std::vector<int64_t> counts(static_cast<size_t>(rows_ * columns_));
  for (size_t i = 0; i < size_; ++i) {
    const uint32_t weight = times[i];
    if (weight == 0) continue;
    for (size_t sum = 0; sum < count; ++sum) sums[sum] += weight * sums_[i * count + sum];
    for (uint32_t cell = i == 0 ? 0 : cell_end_[i - 1]; cell < cell_end_[i]; ++cell)
      counts[cells_[cell]] += weight;
  }
  MetricValues values;
  const ExampleSums all(info_, std::move(sums));
  for (const MetricInfo& metric : info_.metrics) values.emplace_back(metric.name, metric.value(all));
  const MetricValues counted = info_.values_of(Counts(rows_, std::move(counts)));
  values.insert(values.end(), counted.begin(), counted.end());
  for (auto& [name, value] : values) {
    if (name == "auc") value = mean_area(times);
  }
  return values;
}

Draws draws_of(const ExampleMetrics& metrics) {
  const int64_t resamples = std::min(kMostResamples, kMostWork / metrics.work());
  if (resamples < kFewestResamples) return {};
  Draws draws = {metrics.values()};
  RandomGenerator random(kSeed);
  std::vector<uint32_t> times(metrics.size());
  while (std::ssize(draws) <= resamples) {
    std::ranges::fill(times, 0);
    for (size_t i = 0; i < times.size(); ++i) ++times[random.below(times.size())];
    draws.push_back(metrics.values(times));
  }
  return draws;
}

std::vector<MetricInterval> intervals_of(const Draws& draws, const Draws* other) {
  std::vector<MetricInterval> intervals;
  const size_t count = other == nullptr ? draws.size() : std::min(draws.size(), other->size());
  if (count == 0) return intervals;
  for (const auto& metric : draws.front()) {
    const auto value_in = [&](size_t draw) {
      const double value = find_metric(draws[draw], metric.first).value_or(std::nan(""));
      if (other == nullptr) return value;
      return find_metric((*other)[draw], metric.first).value_or(std::nan("")) - value;
    };
    std::vector<double> drawn;
    for (size_t draw = 1; draw < count; ++draw) {
      if (const double value = value_in(draw); std::isfinite(value)) drawn.push_back(value);
    }
    if (!std::isfinite(value_in(0)) ||
        static_cast<double>(drawn.size()) < kMostlyFinite * static_cast<double>(count - 1))
      continue;
    std::ranges::sort(drawn);
    intervals.push_back({metric.first, value_in(0), quantile(drawn, (1 - kIntervalLevel) / 2),
                         quantile(drawn, (1 + kIntervalLevel) / 2)});
  }
  return intervals;
}

std::vector<MetricInterval> bootstrap(const ExampleMetrics& metrics, const ExampleMetrics* other) {
  if (other == nullptr) return intervals_of(draws_of(metrics));
  const Draws others = draws_of(*other);
  return intervals_of(draws_of(metrics), &others);
}

NamedIntervals named_intervals(const ExampleResults& results) {
  NamedIntervals named;
  if (!results.problem().empty()) return named;
  for (const MetricInterval& one : bootstrap(ExampleMetrics(results)))
    named.emplace_back(one.metric, std::pair(one.low, one.high));
  return named;
}

double mcnemar(int64_t only_first, int64_t only_second) {
  const auto count = static_cast<double>(only_first + only_second);
  double below = 0;
  for (int64_t k = 0; k <= std::min(only_first, only_second); ++k) {
    const auto some = static_cast<double>(k);
    below += std::exp(std::lgamma(count + 1) - std::lgamma(some + 1) - std::lgamma(count - some + 1) -
                      count * std::log(2.0));
  }
  return std::min(1.0, 2 * below);
}

}  // namespace dtrain
