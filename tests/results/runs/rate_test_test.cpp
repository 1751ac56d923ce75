// What a learning-rate range test says of a loss that is known.
#include "runs/rate_test.h"

#include <cmath>
#include <functional>
#include <limits>

#include "catch.h"
#include "display/rate_plot.h"
#include "report/report.h"

namespace dtrain {
namespace {

RateTest tested(const std::function<double(double rate)>& loss, int64_t steps = 100, double from = 1e-6,
                double to = 10) {
  RateTest test{.name = "mine", .from = from, .to = to, .steps = steps, .points = {}};
  for (const double rate : rates_of(test)) {
    if (add_loss(test, loss(rate))) break;
  }
  return test;
}

// Falls from 2 by the logarithm of the rate, fastest at 1e-3, and rises from about 1e-2 on.
double valley(double rate) { return 2 - 1 / (1 + std::pow(1e-3 / rate, 2)) + std::pow(rate / 0.1, 2); }

TEST_CASE("the rates grow by one factor, from the first to the last") {
  const std::vector<double> rates = rates_of({.name = "", .from = 1e-7, .to = 10, .steps = 9, .points = {}});
  REQUIRE(rates.size() == 9);
  for (int i = 0; i < 9; ++i) CHECK(rates[static_cast<size_t>(i)] == Approx(std::pow(10, i - 7)));
}

TEST_CASE(
    "a tenth of the rate with the lowest loss is suggested, and it is known where the loss fell fastest") {
  const RateTest test = tested(valley, 400);
  const RateAdvice advice = advice_of(test);
  REQUIRE(advice.rate);
  // The minimum is where 2e6 r / (1 + 1e6 r^2)^2 = 200 r: at r = sqrt(99e-6). The average lags behind, by
  // less than 30 of the 400 steps, which are a factor of 3.36.
  CHECK(*advice.lowest > 0.00995);
  CHECK(*advice.lowest < 0.00995 * 3.36);
  CHECK(*advice.rate == Approx(*advice.lowest / 10).epsilon(0.05));
  CHECK(*advice.steepest > 1e-3);
  CHECK(*advice.steepest < 3.36e-3);
  CHECK(test.end == RateTestEnd::kRose);
  CHECK(test.points.back().rate < 1);
  CHECK_THAT(rate_plot(test), ContainsSubstring("to use it: --set train.optimizer.learning_rate=0.00") &&
                                  ContainsSubstring("risen to 4 times its lowest value"));
  RateTest piecewise = test;
  piecewise.field = "train.schedule.values";
  CHECK_THAT(rate_plot(piecewise), ContainsSubstring("to use it: as the highest of train.schedule.values\n"));
  CHECK_THAT(rate_page(test), ContainsSubstring("learning rates of mine") && ContainsSubstring("<svg"));
  const Event document = rate_document(test);
  CHECK(document["learning_rate"] == *advice.rate);
  CHECK(document["end"] == "rose");
  CHECK(document["points"].size() == test.points.size());
}

TEST_CASE("a loss below 0 is tested like one above it") {
  const RateTest test = tested([](double rate) { return valley(rate) - 3; }, 400);
  CHECK(test.end == RateTestEnd::kRose);
  // The average of losses that are less by 3 is less by 3.
  CHECK(advice_of(test).lowest == advice_of(tested(valley, 400)).lowest);
  const std::string plot = rate_plot(test);
  CHECK_THAT(plot, ContainsSubstring("risen far above its lowest value") && ContainsSubstring(" -1.9") &&
                       ContainsSubstring("suggestion: 0.00"));
  CHECK(rate_page(test).find("nan") == std::string::npos);
  const RateTest level = tested([](double) { return -1.0; });
  CHECK(level.end == RateTestEnd::kAllSteps);
  CHECK_THAT(rate_plot(level), ContainsSubstring("did not fall"));
}

TEST_CASE("the average of a constant is that constant, from the first step on") {
  for (const int64_t steps : {10, 100, 1000}) {
    for (const RatePoint& point : tested([](double) { return 0.7; }, steps).points)
      CHECK(point.smoothed == Approx(0.7));
  }
}

TEST_CASE("a test ends where the loss is not finite, and that loss is left out") {
  const RateTest test = tested(
      [](double rate) { return rate > 0.005 ? std::numeric_limits<double>::quiet_NaN() : valley(rate); });
  CHECK(test.end == RateTestEnd::kNotFinite);
  CHECK(test.points.back().rate <= 0.005);
  CHECK(advice_of(test).rate);
  CHECK_THAT(rate_plot(test), ContainsSubstring("the next loss was not finite"));
}

TEST_CASE("there is no suggestion where the loss says nothing") {
  const auto why = [](const RateTest& test) {
    CHECK_FALSE(advice_of(test).rate);
    CHECK_THAT(rate_plot(test), ContainsSubstring("no suggestion: "));
    return advice_of(test).why;
  };
  CHECK_THAT(why(tested([](double) { return 1.0; })), ContainsSubstring("did not fall: try a higher --to"));
  CHECK_THAT(why(tested([](double rate) { return 1 + 1e6 * rate; })),
             ContainsSubstring("did not fall before it rose: try a lower --from"));
  CHECK_THAT(why(tested(valley, 100, 1e-6, 1e-3)), ContainsSubstring("still fell at 0.001, the last rate"));
  CHECK_THAT(why(tested([](double) { return std::nan(""); })),
             ContainsSubstring("no step had a finite loss"));
}

}  // namespace
}  // namespace dtrain
