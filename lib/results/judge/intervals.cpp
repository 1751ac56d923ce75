#include "judge/intervals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/random.h"

namespace dtrain {
namespace {

constexpr uint64_t kSeed = 20'240'229;
constexpr int64_t kMostDrawn = 50'000'000;  // examples in all resamples, about a second
constexpr int64_t kScoreBins = 1 << 14;     // of all outputs

// The ranks of an output's values, [n]: equal values have equal ranks; at most `most` of them, else
// neighbours share one.
std::vector<int64_t> ranks_of(const ExampleResults& results, int64_t output, int64_t most) {
  std::vector<float> values(results.size());
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = results.given[i * static_cast<size_t>(results.outputs) + static_cast<size_t>(output)];
  std::vector<float> sorted = values;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<int64_t> ranks;
  for (const float value : values) {
    const int64_t rank = std::ranges::lower_bound(sorted, value) - sorted.begin();
    ranks.push_back(std::ssize(sorted) <= most ? rank : rank * most / std::ssize(sorted));
  }
  return ranks;
}

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
  const int64_t outputs = results.outputs;
  const int64_t bins =
      std::min<int64_t>(std::ssize(results.losses), std::max<int64_t>(2, kScoreBins / outputs));
  if (results.has_probabilities()) rows_ = outputs, columns_ = answers ? kFirstOther + 2 * bins : kInTop + 1;
  std::vector<int64_t> ranks;  // [outputs, n]
  for (int64_t output = 0; answers && output < outputs; ++output) {
    const std::vector<int64_t> some = ranks_of(results, output, bins);
    ranks.insert(ranks.end(), some.begin(), some.end());
  }
  for (size_t i = 0; i < size_; ++i) {
    sums_.push_back(results.losses[i]);
    sums_.push_back(1);
    if (answers) add_answers(results, i, ranks);
    if (info_.outputs == Outputs::kClassLogits) add_class(results, i);
    if (info_.outputs == Outputs::kValues) add_numbers(results, i);
    cell_end_.push_back(static_cast<uint32_t>(cells_.size()));
  }
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

void ExampleMetrics::add_answers(const ExampleResults& results, size_t example,
                                 std::span<const int64_t> ranks) {
  const int64_t bins = (columns_ - kFirstOther) / 2;
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
    const int64_t rank = ranks[static_cast<size_t>(output) * size_ + example];
    add(true, kFirstOther + (wanted ? 0 : bins) + rank);
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
  return values;
}

std::vector<MetricInterval> bootstrap(const ExampleMetrics& metrics, const ExampleMetrics* other) {
  const auto count = static_cast<int64_t>(metrics.size());
  const auto values = [&](std::span<const uint32_t> times) {
    MetricValues some = metrics.values(times);
    if (other == nullptr) return some;
    const MetricValues others = other->values(times);
    std::erase_if(some, [&](const auto& one) { return !find_metric(others, one.first); });
    for (auto& [name, value] : some) value = *find_metric(others, name) - value;
    return some;
  };
  std::map<std::string, std::vector<double>> drawn;
  RandomGenerator random(kSeed);
  const int64_t resamples = std::clamp<int64_t>(kMostDrawn / count, kMostResamples / 10, kMostResamples);
  for (int64_t resample = 0; resample < resamples; ++resample) {
    std::vector<uint32_t> times(metrics.size());
    for (int64_t i = 0; i < count; ++i) ++times[random.below(static_cast<uint64_t>(count))];
    for (const auto& [name, value] : values(times)) {
      if (std::isfinite(value)) drawn[name].push_back(value);
    }
  }
  std::vector<MetricInterval> intervals;
  for (const auto& [name, value] : values(std::vector<uint32_t>(metrics.size(), 1))) {
    std::vector<double>& some = drawn[name];
    std::ranges::sort(some);
    if (!some.empty())
      intervals.push_back(
          {name, value, quantile(some, (1 - kIntervalLevel) / 2), quantile(some, (1 + kIntervalLevel) / 2)});
  }
  return intervals;
}

NamedIntervals named_intervals(const ExampleResults& results) {
  NamedIntervals named;
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
