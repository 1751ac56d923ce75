#include "judge/intervals.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/random.h"

namespace dtrain {
namespace {

constexpr uint64_t kSeed = 20'240'229;
constexpr int64_t kMostWork = 2'000'000'000;  // of all draws, about two seconds
constexpr int64_t kDrawingWork = 4;           // of an example
constexpr int64_t kCellWork = 16;             // of a cell of Counts, which several metrics read
constexpr int64_t kOtherWork = 2000;          // of a draw
constexpr double kMostlyFinite = 0.9;         // the share of draws that have to be

using Times = std::vector<uint32_t>;  // how often each example was drawn

// The metrics for any weights of the examples.
class ExampleMetrics {
 public:
  explicit ExampleMetrics(const ExampleResults& results);
  // What values() costs, in additions, roughly.
  int64_t work() const {
    return kOtherWork + sums_.numel() + std::ssize(cells_) + order_.numel() + rows_ * columns_ * kCellWork;
  }
  MetricValues values(const Times& times) const;

 private:
  void count(const at::Tensor& where, int64_t column);
  double mean_area(const Times& times) const;  // NaN: no output has one

  const ObjectiveInfo& info_;
  int64_t rows_ = 0, columns_ = 0;                    // of Counts
  at::Tensor sums_;                                   // [n, the objective's sums], float64
  std::vector<std::pair<uint32_t, uint32_t>> cells_;  // of Counts, each with an example that counts there
  // Of answers: each output's values in ascending order, [outputs, n], whose they are, and whether yes is
  // right.
  at::Tensor ranked_, order_ = at::empty({0}), is_yes_;
};

ExampleMetrics::ExampleMetrics(const ExampleResults& results) : info_(results.info()) {
  const at::Tensor outputs = results.outputs.to(at::kDouble), targets = results.targets.to(at::kDouble);
  const at::Tensor ones = at::ones({results.size(), 1}, at::kDouble);
  std::vector<at::Tensor> sums = {results.losses.unsqueeze(1).to(at::kDouble), ones};
  if (!results.has_probabilities()) {
    const at::Tensor errors = outputs - targets;
    sums.insert(sums.end(), {errors.square(), errors.abs(), targets, targets.square()});
  } else {
    const at::Tensor wanted = results.wanted(), predicted = results.predicted(), both = wanted & predicted;
    rows_ = outputs.size(1), columns_ = results.has_answers() ? kFirstOther + 2 : kInTop + 1;
    count(wanted, kActual);
    count(predicted, kPredicted);
    count(both, kCorrect);
    if (results.has_answers()) {
      sums.push_back((wanted == predicted).to(at::kDouble).mean(1, /*keepdim=*/true));
      for (const at::Tensor& one : {both, predicted, wanted}) sums.push_back(one.sum(1, /*keepdim=*/true));
      std::tie(ranked_, order_) = results.outputs.t().contiguous().sort(1);
      is_yes_ = wanted.t().gather(1, order_).contiguous();
    } else {
      sums.push_back(both.any(1, /*keepdim=*/true));
      const at::Tensor own = outputs.gather(1, targets.to(at::kLong));
      count(wanted & (outputs > own).sum(1, /*keepdim=*/true).lt(kTop), kInTop);
    }
  }
  for (at::Tensor& sum : sums) sum = sum.to(at::kDouble);
  sums_ = at::cat(sums, 1);
}

void ExampleMetrics::count(const at::Tensor& where, int64_t column) {
  const at::Tensor places = where.nonzero();
  const auto place = places.accessor<int64_t, 2>();
  for (int64_t i = 0; i < places.size(0); ++i)
    cells_.emplace_back(place[i][1] * columns_ + column, place[i][0]);
}

double ExampleMetrics::mean_area(const Times& times) const {
  const float* value = ranked_.const_data_ptr<float>();
  const int64_t* example = order_.const_data_ptr<int64_t>();
  const bool* is_yes = is_yes_.const_data_ptr<bool>();
  double areas = 0, averaged = 0;
  for (int64_t output = 0; output < rows_; ++output) {
    // Pairs of a yes and a no in the right order, counted twice; of equal values once.
    uint64_t pairs = 0, yes = 0, no = 0, same_yes = 0, same_no = 0;
    for (size_t left = times.size(); left > 0; --left, ++value, ++example, ++is_yes) {
      (*is_yes ? same_yes : same_no) += times[static_cast<size_t>(*example)];
      if (left > 1 && value[1] == value[0]) continue;
      pairs += same_yes * (2 * no + same_no);
      yes += std::exchange(same_yes, 0), no += std::exchange(same_no, 0);
    }
    if (yes * no == 0) continue;
    areas += static_cast<double>(pairs) / 2 / static_cast<double>(yes * no);
    ++averaged;
  }
  return averaged == 0 ? std::nan("") : areas / averaged;
}

MetricValues ExampleMetrics::values(const Times& times) const {
  std::vector<double> sums(static_cast<size_t>(sums_.size(1)));
  const double* value = sums_.const_data_ptr<double>();
  for (const uint32_t weight : times) {
    for (double& sum : sums) sum += weight * *value++;
  }
  std::vector<int64_t> counts(static_cast<size_t>(rows_ * columns_));
  for (const auto& [cell, example] : cells_) counts[cell] += times[example];
  for (size_t i = kActual; is_yes_.defined() && i < counts.size(); i += static_cast<size_t>(columns_)) {
    counts[i + kFirstOther] = counts[i];  // a single bin of scores: mean_area() needs none
    counts[i + kFirstOther + 1] = static_cast<int64_t>(sums[kExamplesSum]) - counts[i];
  }
  MetricValues values;
  const ExampleSums all(info_, std::move(sums));
  for (const MetricInfo& metric : info_.metrics) values.emplace_back(metric.name, metric.value(all));
  for (const auto& [name, counted] : info_.values_of(Counts(rows_, std::move(counts))))
    values.emplace_back(name, name == "auc" ? mean_area(times) : counted);
  return values;
}

// As numpy.percentile: between two values in proportion.
double quantile(const std::vector<double>& sorted, double part) {
  const double place = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const double above = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (place - std::floor(place)) * (above - sorted[below]);
}

}  // namespace

Draws draws_of(const ExampleResults& results, int64_t sharing) {
  const ExampleMetrics metrics(results);
  Times times(static_cast<size_t>(results.size()), 1);
  Draws draws = {metrics.values(times)};
  const int64_t work = metrics.work() + results.size() * kDrawingWork;
  const int64_t resamples = std::min(kMostResamples, kMostWork / sharing / work);
  RandomGenerator random(kSeed);
  while (resamples >= kFewestResamples && std::ssize(draws) <= resamples) {
    std::ranges::fill(times, 0);
    for (size_t i = 0; i < times.size(); ++i) ++times[random.below(times.size())];
    draws.push_back(metrics.values(times));
  }
  return draws;
}

NamedIntervals intervals_of(const Draws& draws, const Draws* other) {
  NamedIntervals intervals;
  const size_t count = other == nullptr ? draws.size() : std::min(draws.size(), other->size());
  for (const auto& [metric, of_all] : draws.front()) {
    std::vector<double> drawn;
    double value = 0;
    for (size_t draw = 0; draw < count; ++draw) {
      double one = find_metric(draws[draw], metric).value_or(std::nan(""));
      if (other != nullptr) one = find_metric((*other)[draw], metric).value_or(std::nan("")) - one;
      if (draw == 0) value = one;
      if (draw > 0 && std::isfinite(one)) drawn.push_back(one);
    }
    if (!std::isfinite(value) || drawn.empty() ||
        static_cast<double>(drawn.size()) < kMostlyFinite * static_cast<double>(count - 1))
      continue;
    std::ranges::sort(drawn);
    intervals.push_back({metric, quantile(drawn, (1 - kIntervalLevel) / 2),
                         quantile(drawn, (1 + kIntervalLevel) / 2), value});
  }
  return intervals;
}

NamedIntervals intervals_of(const ExampleResults& results) {
  return results.problem().empty() ? intervals_of(draws_of(results)) : NamedIntervals();
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
