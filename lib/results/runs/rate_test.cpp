#include "runs/rate_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace dtrain {
namespace {

constexpr double kRisen = 3;         // times the lowest loss, above it
constexpr double kLeastFall = 0.01;  // of the first loss; less is noise

double averaged_steps(const RateTest& test) { return std::max(1.0, static_cast<double>(test.steps) / 20); }

double rounded(double rate) { return std::stod(fmt::format("{:.2g}", rate)); }

size_t lowest_point(const RateTest& test) {
  const auto lower = [](const RatePoint& a, const RatePoint& b) { return a.smoothed < b.smoothed; };
  return static_cast<size_t>(std::ranges::min_element(test.points, lower) - test.points.begin());
}

// Whether the last loss is far above the lowest one. A loss that may be 0 or less does not say what is far,
// so its fall does, too.
bool has_risen(const RateTest& test) {
  const double lowest = test.points[lowest_point(test)].smoothed;
  const double far = lowest > 0 ? lowest : std::max(-lowest, test.points.front().smoothed - lowest);
  return test.points.back().smoothed - lowest > kRisen * far;
}

// Steps are as far from each other as any, by the logarithm of the rate.
size_t steepest_point(const RateTest& test, size_t last) {
  size_t steepest = 0;
  double most = 0;
  for (size_t i = 1; i < last; ++i) {
    const double fall = test.points[i - 1].smoothed - test.points[i + 1].smoothed;
    if (fall > most) most = fall, steepest = i;
  }
  return steepest;
}

double rate_at(const RateTest& test, int64_t step) {
  const double part = static_cast<double>(step) / static_cast<double>(test.steps - 1);
  return test.from * std::pow(test.to / test.from, part);
}

}  // namespace

std::vector<double> rates_of(const RateTest& test) {
  std::vector<double> rates;
  for (int64_t step = 0; step < test.steps; ++step) rates.push_back(rate_at(test, step));
  return rates;
}

bool add_loss(RateTest& test, double loss) {
  if (!std::isfinite(loss)) {
    test.end = RateTestEnd::kNotFinite;
    return true;
  }
  const auto step = static_cast<double>(test.points.size());
  const double kept = 1 - 1 / averaged_steps(test);
  // Of the average from 0, divided by the weight that the losses have in it (as Adam corrects its means).
  const double before = test.points.empty() ? 0 : test.points.back().smoothed * (1 - std::pow(kept, step));
  const double smoothed = (kept * before + (1 - kept) * loss) / (1 - std::pow(kept, step + 1));
  test.points.push_back({rate_at(test, std::ssize(test.points)), loss, smoothed});
  if (has_risen(test)) {
    test.end = RateTestEnd::kRose;
  } else if (std::ssize(test.points) == test.steps) {
    test.end = RateTestEnd::kAllSteps;
  } else {
    return false;
  }
  return true;
}

RateAdvice advice_of(const RateTest& test) {
  RateAdvice advice;
  if (test.points.empty()) {
    advice.why = "no step had a finite loss; begin at a lower rate with --from";
    return advice;
  }
  const size_t lowest = lowest_point(test);
  const double first = test.points.front().smoothed;
  if (first - test.points[lowest].smoothed <= kLeastFall * std::fabs(first)) {
    advice.why = test.end == RateTestEnd::kAllSteps
                     ? "the loss did not fall: try a higher --to, or more --steps"
                     : "the loss did not fall before it rose: try a lower --from, or more --steps";
    return advice;
  }
  advice.lowest = test.points[lowest].rate;
  const size_t steepest = steepest_point(test, lowest);
  if (steepest > 0) advice.steepest = test.points[steepest].rate;
  const double left = static_cast<double>(test.points.size() - 1 - lowest);
  if (test.end == RateTestEnd::kAllSteps && left < averaged_steps(test)) {
    advice.why = fmt::format("the loss still fell at {:.2g}, the last rate: try a higher --to", test.to);
    return advice;
  }
  advice.rate = rounded(*advice.lowest / 10);
  advice.why =
      fmt::format("a tenth of {:.2g}, the rate at which the smoothed loss was lowest", *advice.lowest);
  return advice;
}

Event rate_document(const RateTest& test) {
  constexpr const char* kEnds[] = {"stopped", "all_steps", "rose", "not_finite"};  // in the enum's order
  const RateAdvice advice = advice_of(test);
  Event document = {{"name", test.name},
                    {"from", test.from},
                    {"to", test.to},
                    {"steps", test.steps},
                    {"end", kEnds[static_cast<size_t>(test.end)]},
                    {"why", advice.why}};
  if (advice.rate) document["learning_rate"] = *advice.rate;
  if (advice.lowest) document["lowest_loss_at"] = *advice.lowest;
  if (advice.steepest) document["steepest_at"] = *advice.steepest;
  document["points"] = Event::array();
  for (const RatePoint& point : test.points)
    document["points"].push_back(
        {{"learning_rate", point.rate}, {"loss", point.loss}, {"smoothed", point.smoothed}});
  return document;
}

}  // namespace dtrain
