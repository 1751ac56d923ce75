// A learning-rate range test (Smith 2017, arXiv:1506.01186): what the loss does while the rate grows from
// step to step, and what that says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/event.h"

namespace dtrain {

struct RatePoint {
  double rate = 0;
  double loss = 0;      // of one step
  double smoothed = 0;  // an exponential average over about a twentieth of the test's steps
};

enum class RateTestEnd { kStopped, kAllSteps, kRose, kNotFinite };

struct RateTest {
  std::string name;                                     // of the job
  std::string field = "train.optimizer.learning_rate";  // of the spec: it has the rate that is tested
  double from = 0;  // the rate of the first step, and that of the last; they grow by a factor
  double to = 0;
  int64_t steps = 0;
  std::vector<RatePoint> points = {};  // of the steps made; losses that are not finite are left out
  RateTestEnd end = RateTestEnd::kStopped;
};

// The rates of all steps.
std::vector<double> rates_of(const RateTest& test);

// Takes the loss of the next step. Returns whether the test is over: it has all steps, the loss is not
// finite, or the smoothed loss is 4 times its lowest value. If that is 0 or less: three times its size, and
// three times the loss's fall, above it.
bool add_loss(RateTest& test, double loss);

struct RateAdvice {
  std::optional<double> rate;      // nullopt: the test does not tell
  std::optional<double> lowest;    // where the smoothed loss was lowest
  std::optional<double> steepest;  // where it fell fastest by the logarithm of the rate, before that
  std::string why;                 // one sentence: how `rate` was found, or why there is none
};

RateAdvice advice_of(const RateTest& test);

// The output of the command with --json.
Event rate_document(const RateTest& test);

}  // namespace dtrain
