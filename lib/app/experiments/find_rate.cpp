#include "experiments/find_rate.h"

#include <limits>

#include "experiments/first_steps.h"
#include "spec/schedule_kinds.h"

namespace dtrain {

JobSpec rate_test_job(const JobSpec& job, const RateTest& test) {
  JobSpec tested = first_steps(job, test.steps);
  tested.train.learning_rate_scaling.warmup_steps = 0;
  PiecewiseFields rates{.unit = "steps", .values = rates_of(test)};
  for (int64_t step = 1; step < test.steps; ++step) rates.boundaries.push_back(step);
  const ScheduleSpec schedule{.kind = "piecewise", .own = rates};
  if (tested.phases.empty()) {
    tested.train.schedule = schedule;
  } else {
    tested.phases.front().learning_rate.reset();
    tested.phases.front().schedule = schedule;
  }
  return tested;
}

void run_rate_test(const JobSpec& job, const std::filesystem::path& folder, RateTest& test) {
  bool over = false;
  const ChildRunEnd end = train_first_steps(rate_test_job(job, test), folder, [&](double loss) {
    over = add_loss(test, loss);
    return over;
  });
  if (over || end.code == ExitCode::kStopped) return;
  if (end.code == ExitCode::kDiverged && !test.points.empty()) {
    add_loss(test, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  if (end.code == ExitCode::kDone) throw Error(ExitCode::kBug, "the run ended before its last step");
  throw Error(end.code, end.reason);
}

}  // namespace dtrain
