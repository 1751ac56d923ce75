#include "metrics/statistics.h"

#include <cmath>
#include <limits>

#include "catch.h"
#include "sanitized.h"

using namespace dtrain;

TEST_CASE("what stands out among others") {
  const auto all = [](const std::vector<double>& values, double least) {
    std::vector<size_t> found;
    for (size_t i = 0; i < values.size(); ++i) {
      if (stands_out(values, i, least)) found.push_back(i);
    }
    return found;
  };
  CHECK(all({1, 1, 40}, 1) == std::vector<size_t>{2});
  CHECK(all({1, 40, 41}, 1) == std::vector<size_t>{1, 2});  // a slow host: two links of three
  CHECK(all({1, 40, 1, 41, 1, 42}, 1) == std::vector<size_t>{1, 3, 5});
  CHECK(all({0, 0, 1, 1.1}, 1) == std::vector<size_t>{3});
  CHECK(all({1, 3, 1}, 0).empty());
  CHECK(all({1, 40}, 1).empty());
  CHECK(all({}, 1).empty());
}

TEST_CASE("median") {
  CHECK_FALSE(median({}));
  CHECK(median({3}) == 3);
  CHECK(median({9, 1}) == 5);
  CHECK(median({9, 1, 2}) == 2);
  CHECK(median({4, 1, 3, 2}) == 2.5);
  CHECK(median({1e308, 1e308}) == 1e308);  // the mean must not overflow
  CHECK(median({7, 7, 7, 7}) == 7);
  CHECK(std::isnan(median({1, std::nan(""), 3}).value()));
}

TEST_CASE("the first steps of a run are left out of its rates") {
  StepTimer timer(2);
  timer.add(5.0, 128);
  timer.add(4.0, 128);
  timer.add(0.010, 128);
  timer.add(0.020, 128);
  timer.add(0.040, 128);
  const StepRate rate = timer.run();
  CHECK(rate.step_ms.value() == Approx(20));
  CHECK(rate.examples_per_second.value() == Approx(6400));
  CHECK(rate.steps == 3);
  CHECK(rate.skipped == 2);
}

TEST_CASE("a run of no more steps than are skipped is reported with all of them, and says so") {
  StepTimer timer(3);
  CHECK_FALSE(timer.run().step_ms);
  CHECK_FALSE(timer.run().examples_per_second);
  CHECK(timer.run().steps == 0);
  for (const double seconds : {0.030, 0.010, 0.020}) timer.add(seconds, 10);
  CHECK(timer.run().step_ms.value() == Approx(20));
  CHECK(timer.run().steps == 3);
  CHECK(timer.run().skipped == 0);
  timer.add(0.001, 10);
  CHECK(timer.run().step_ms.value() == Approx(1));
  CHECK(timer.run().steps == 1);
  CHECK(timer.run().skipped == 3);
}

TEST_CASE("a window holds the steps since the last one") {
  StepTimer timer(1);
  timer.add(1.0, 10);
  timer.add(0.010, 10);
  const StepRate first = timer.end_window();
  CHECK(first.step_ms.value() == Approx(10));
  CHECK(first.skipped == 1);
  timer.add(0.020, 10);
  timer.add(0.040, 10);
  const StepRate second = timer.end_window();
  CHECK(second.step_ms.value() == Approx(30));
  CHECK(second.steps == 2);
  CHECK(second.skipped == 0);
  CHECK_FALSE(timer.end_window().step_ms);
  CHECK(timer.run().step_ms.value() == Approx(20));
}

TEST_CASE("a partial last batch does not move the throughput") {
  StepTimer timer(0);
  for (int step = 0; step < 3; ++step) timer.add(0.010, 100);
  timer.add(0.001, 10);  // a tenth of the examples in a tenth of the time
  CHECK(timer.run().examples_per_second.value() == Approx(10000));
}

TEST_CASE("durations that are no durations give finite rates") {
  StepTimer timer(0);
  for (const double seconds : {0.0, -1.0, std::nan("")}) timer.add(seconds, 10);
  CHECK(std::isfinite(timer.run().step_ms.value()));
  CHECK(std::isfinite(timer.run().examples_per_second.value()));
}

TEST_CASE("a negative number of steps to skip skips none") {
  StepTimer timer(-5);
  timer.add(0.010, 10);
  CHECK(timer.run().steps == 1);
  CHECK(timer.run().skipped == 0);
}

TEST_CASE("millions of steps keep their count and their median in bounded room") {
  SampledSteps steps;
  const int64_t count = few_if_sanitized(1'000'000, 200'000);
  for (int64_t step = 0; step < count; ++step) steps.add(1e-3 * static_cast<double>(step), 1);
  CHECK(steps.count() == count);
  CHECK(steps.rate().steps == count);
  CHECK(steps.rate().step_ms.value() == Approx(count / 2.0).epsilon(1e-3));
  CHECK(steps.sampled() <= SampledSteps::kRoom);
  CHECK(steps.sampled() >= SampledSteps::kRoom / 4);
}
