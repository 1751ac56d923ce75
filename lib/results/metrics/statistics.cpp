#include "metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dtrain {
namespace {

// Of the steps [begin, end); nullopt if there are none, or the reference's took no time.
std::optional<double> cost_of(const std::vector<double>& reference, const std::vector<double>& other,
                              size_t begin, size_t end) {
  const auto median_of = [&](const std::vector<double>& all) {
    return median(
        {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)});
  };
  const auto one = median_of(reference), two = median_of(other);
  if (!one || !two || !(*one > 0)) return std::nullopt;
  return *two / *one - 1;
}

}  // namespace

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  // NaN is unordered, and sorting it is undefined behaviour.
  if (std::ranges::any_of(values, [](double value) { return std::isnan(value); }))
    return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return *std::max_element(values.begin(), middle) / 2 + *middle / 2;
}

bool stands_out(const std::vector<double>& values, size_t which, double least) {
  constexpr double kFactor = 3;
  if (values.size() < 3) return false;
  std::vector<double> others = values;
  others.erase(others.begin() + static_cast<ptrdiff_t>(which));
  const auto middle = others.begin() + static_cast<ptrdiff_t>((others.size() - 1) / 2);
  std::nth_element(others.begin(), middle, others.end());
  return values[which] > kFactor * *middle && values[which] > *middle + least;
}

void SampledSteps::add(double seconds, int64_t examples) {
  if (count_++ % stride_ != 0) return;
  if (steps_.size() == kRoom) {
    for (size_t i = 0; i < kRoom / 2; ++i) steps_[i] = steps_[2 * i];
    steps_.resize(kRoom / 2);
    stride_ *= 2;
  }
  // The clock may not have advanced, and rates divide by the seconds. The order of the arguments also turns
  // NaN into the minimum.
  steps_.push_back({std::max(1e-9, seconds), examples});
}

StepRate SampledSteps::rate() const {
  std::vector<double> milliseconds;
  std::vector<double> rates;
  for (const Step& step : steps_) {
    milliseconds.push_back(step.seconds * 1e3);
    rates.push_back(static_cast<double>(step.examples) / step.seconds);
  }
  return {median(std::move(milliseconds)), median(std::move(rates)), count_};
}

StepRate StepTimer::Window::rate() const {
  if (timed.count() == 0) return warm_up.rate();
  StepRate rate = timed.rate();
  rate.skipped = warm_up.count();
  return rate;
}

void StepTimer::add(double seconds, int64_t examples) {
  const bool warming_up = steps_++ < skip_;
  for (Window* window : {&window_, &run_})
    (warming_up ? window->warm_up : window->timed).add(seconds, examples);
}

StepRate StepTimer::end_window() {
  const StepRate rate = window_.rate();
  window_ = Window();
  return rate;
}

std::optional<RelativeCost> relative_cost(const std::vector<double>& reference,
                                          const std::vector<double>& other) {
  constexpr size_t kParts = 10;
  constexpr double kStudentsT = 2.262;  // of 9 degrees of freedom, for 95 % between -t and t
  const size_t steps = std::min(reference.size(), other.size());
  const auto whole = cost_of(reference, other, 0, steps);
  if (!whole) return std::nullopt;
  double sum = 0, squares = 0;
  for (size_t part = 0; part < kParts; ++part) {
    const auto cost = cost_of(reference, other, steps * part / kParts, steps * (part + 1) / kParts);
    if (!cost) return std::nullopt;
    sum += *cost;
    squares += *cost * *cost;
  }
  const double variance = std::max(0.0, (squares - sum * sum / kParts) / (kParts - 1));
  return RelativeCost{*whole, kStudentsT * std::sqrt(variance / kParts)};
}

}  // namespace dtrain
