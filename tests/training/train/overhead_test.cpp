// The strategies make real steps; how long these take is made up.
#include "train/replica.h"

#include <cmath>
#include <functional>

#include "catch.h"
#include "small_jobs.h"

namespace dtrain {
namespace {

// What the next step of both takes, in seconds, by the number of the step from 0.
struct MadeUpDurations {
  std::function<double(int64_t step)> baseline;
  std::function<double(int64_t step)> contender;
};

// A clock that is read before and after each step. Nobody tells it whose step that is: the baseline goes
// first in every other step, beginning with the first one.
class MadeUpClock {
 public:
  explicit MadeUpClock(MadeUpDurations durations) : durations_(std::move(durations)) {}

  double operator()() {
    if (reads_++ % 2 == 0) return now_;
    const int64_t turn = reads_ / 2 - 1, step = turn / 2;
    const bool is_first = turn % 2 == 0, baseline_is_first = step % 2 == 0;
    return now_ += (is_first == baseline_is_first ? durations_.baseline : durations_.contender)(step);
  }
  // Of each of the two.
  int64_t steps() const { return reads_ / 4; }

 private:
  MadeUpDurations durations_;
  int64_t reads_ = 0;
  double now_ = 1000;
};

struct MeasuredOverhead {
  std::vector<Event> events;
  int64_t steps = 0;
  double value() const { return events.back().at("overhead").get<double>(); }
  double uncertainty() const { return events.back().at("uncertainty").get<double>(); }
};

MeasuredOverhead measure(const MadeUpDurations& durations, const std::vector<std::string>& overrides = {}) {
  std::vector<std::string> all = {"strategy.kind=mirrored", "strategy.replicas=2",
                                  "compare.baseline=one_device"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  const JobPlan job = small_job(all);
  const RunPlan& run = job.runs.at(1);
  REQUIRE(run.name() == "overhead");
  RecordingSink sink;
  MadeUpClock clock(durations);
  measure_overhead(job, run, load_dataset(job.spec.data, 42), sink, {}, std::ref(clock));
  return {sink.events, clock.steps()};
}

std::function<double(int64_t)> always(double seconds) {
  return [seconds](int64_t) { return seconds; };
}

TEST_CASE("the overhead is what the contender's steps take more, and nothing else is reported") {
  const MeasuredOverhead half_more = measure({always(2), always(3)});
  for (const Event& event : half_more.events) {
    CHECK(event["event"] == "overhead");
    CHECK(event["run"] == "overhead");
    CHECK(event["steps"] == kOverheadSteps);
  }
  CHECK(half_more.events.back()["step"] == kOverheadSteps);
  CHECK(half_more.value() == 0.5);
  CHECK(half_more.uncertainty() == 0);
  CHECK(half_more.steps == kOverheadSteps);
  CHECK(measure({always(4), always(3)}).value() == -0.25);
  CHECK(measure({always(2), always(2)}).value() == 0);
}

TEST_CASE("a few slow steps of either do not move the overhead") {
  const auto slow_at_times = [](double seconds) {
    return [seconds](int64_t step) { return step % 5 == 3 ? 1000 : seconds; };
  };
  CHECK(measure({slow_at_times(2), always(3)}).value() == 0.5);
  CHECK(measure({always(2), slow_at_times(3)}).value() == 0.5);
}

TEST_CASE("the uncertainty is that of a mean of what the tenths of the measurement say") {
  // Tenths with overheads of 0 and 1 in turn: their standard deviation is sqrt(10 / 9) / 2, and the 97.5 %
  // quantile of Student's t with 9 degrees of freedom is 2.262.
  const auto in_turn = [](int64_t step) { return step / (kOverheadSteps / 10) % 2 == 0 ? 2.0 : 4.0; };
  const MeasuredOverhead noisy = measure({always(2), in_turn});
  CHECK(noisy.uncertainty() == Approx(2.262 * std::sqrt(10.0 / 9) / 2 / std::sqrt(10.0)));
  // A machine that slows down slows both down.
  CHECK(measure({in_turn, in_turn}).uncertainty() == Approx(0).margin(1e-12));
}

TEST_CASE("steps that the job skips are made but do not count, and all others do") {
  // The median of as many steps of 2 s as of 4 s is 3 s; one step more or less among them makes it 2 or 4.
  const int64_t skipped = 50;
  const auto of_two_halves = [&](int64_t step) {
    if (step < skipped) return 100.0;
    return step < skipped + kOverheadSteps / 2 ? 2.0 : 4.0;
  };
  const MeasuredOverhead twice = measure({of_two_halves, always(6)}, {"metrics.skip_steps=50"});
  CHECK(twice.value() == 1);
  CHECK(twice.steps == skipped + kOverheadSteps);
  CHECK(measure({always(6), of_two_halves}, {"metrics.skip_steps=50"}).value() == -0.5);
}

TEST_CASE("however few the examples and many the skipped steps are") {
  CHECK(measure({always(2), always(3)}, {"data.train_examples=1"}).value() == 0.5);
  // A billion steps to skip would take days.
  const MeasuredOverhead measured = measure({always(2), always(3)}, {"metrics.skip_steps=1000000000"});
  CHECK(measured.value() == 0.5);
  CHECK(measured.steps == 2 * kOverheadSteps);
}

// Of the clock of this machine nothing is expected but that it moves.
TEST_CASE("by the real clock there is an overhead") {
  const JobPlan job =
      small_job({"strategy.kind=mirrored", "strategy.replicas=2", "compare.baseline=one_device"});
  RecordingSink sink;
  measure_overhead(job, job.runs.at(1), load_dataset(job.spec.data, 42), sink);
  const Event& measured = sink.events.back();
  CHECK(measured.at("overhead").get<double>() > -1);
  CHECK(std::isfinite(measured.at("overhead").get<double>()));
  CHECK(measured.at("uncertainty").get<double>() >= 0);
  CHECK(std::isfinite(measured.at("uncertainty").get<double>()));
}

}  // namespace
}  // namespace dtrain
