#include "train/decisions.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/clock.h"

namespace dtrain {
namespace {

constexpr double kInterval = 0.25;  // seconds
constexpr double kSave = 1 << 20;   // more than there are replicas

}  // namespace

Decision Decisions::share(const Decision& own, int64_t step) {
  // [replicas that want to leave + kSave * those that want to save, 1 to end, steps until the next exchange]
  MetricSums words;
  double* const word = words.values().mutable_data_ptr<double>();
  word[0] = (own.leave ? 1 : 0) + (own.save ? kSave : 0);
  if (leads_) {
    word[1] = own.end ? 1 : 0;
    word[2] = static_cast<double>(interval(steady_seconds()));
  }
  words = strategy_.sum_over_replicas(std::move(words));
  const double* const all = words.values().const_data_ptr<double>();
  next_ = step + static_cast<int64_t>(all[2]);
  return {.save = all[0] >= kSave, .leave = std::fmod(all[0], kSave) > 0, .end = all[1] > 0};
}

// Doubles or halves towards kInterval: a single slow step must not move it far.
int64_t Decisions::interval(double now) {
  const double passed = now - shared_;
  shared_ = now;
  if (passed < kInterval / 2) interval_ *= 2;
  if (passed > kInterval) interval_ = std::max<int64_t>(1, interval_ / 2);
  return interval_;
}

}  // namespace dtrain
