// What a gradient reducer tells the step clock.
#include <ATen/ATen.h>

#include <algorithm>
#include <mutex>

#include "catch.h"
#include "comm/process_group.h"
#include "core/clock.h"
#include "group_threads.h"

namespace dtrain {
namespace {

constexpr double kLate = 0.15;  // seconds by which rank 1 is later than rank 0

void busy_for(double seconds) {
  const double end = steady_seconds() + seconds;
  while (steady_seconds() < end) {
  }
}

// The least and the most that some steps spent on each kind: a busy machine holds up one of them, not all.
struct SomeSteps {
  StepTimes least, most;

  void add(const StepTimes& step, bool first) {
    for (size_t kind = 0; kind < kStepTimes; ++kind) {
      least.values[kind] = first ? step.values[kind] : std::min(least.values[kind], step.values[kind]);
      most.values[kind] = std::max(most.values[kind], step.values[kind]);
    }
  }
};

// Where the steps went, by rank.
std::vector<SomeSteps> times_of_steps(const std::string& communication) {
  std::vector<SomeSteps> times(2);
  with_ranks(communication, 2, [&](ProcessGroup& group) {
    const std::vector<at::Tensor> parameters = {at::ones({100}).requires_grad_()};
    StepClock clock;
    const auto reducer = group.make_gradient_reducer(parameters, {}, clock);
    for (int step = 0; step < 3; ++step) {
      group.barrier();
      clock.start();
      clock.enter(StepTime::kCompute);
      reducer->zero_gradients();
      reducer->prepare(true);
      const at::Tensor objective = parameters[0].sum();
      if (group.rank() == 1) busy_for(kLate);
      objective.backward();
      clock.enter(StepTime::kCommunicate);
      reducer->finish({});
      reducer->share_update();
      clock.enter(StepTime::kUpdate);
      times[static_cast<size_t>(group.rank())].add(clock.lap(), step == 0);
    }
  });
  return times;
}

TEST_CASE("in shared memory, waiting for the slowest replica is told apart from communication") {
  const auto times = times_of_steps("shared_memory");
  CHECK(times[0].most[StepTime::kWaitForPeers] > kLate / 2);
  CHECK(times[0].least[StepTime::kCommunicate] < kLate / 2);
  CHECK(times[0].least[StepTime::kCompute] < kLate / 2);
  CHECK(times[1].most[StepTime::kCompute] > kLate / 2);
  CHECK(times[1].least[StepTime::kWaitForPeers] < kLate / 2);
}

TEST_CASE("over gloo, what backward does not hide is communication, waiting included") {
  const auto times = times_of_steps("gloo");
  CHECK(times[0].most[StepTime::kCommunicate] > kLate / 2);
  CHECK(times[0].most[StepTime::kWaitForPeers] == 0);
  CHECK(times[0].least[StepTime::kCompute] < kLate / 2);
  CHECK(times[1].most[StepTime::kCompute] > kLate / 2);
}

}  // namespace
}  // namespace dtrain
