// What a gradient reducer tells the step clock.
#include <ATen/ATen.h>

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

// Where the last of some steps went, by rank.
std::vector<StepTimes> last_step(const std::string& communication) {
  std::vector<StepTimes> times(2);
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
      times[static_cast<size_t>(group.rank())] = clock.lap();
    }
  });
  return times;
}

TEST_CASE("in shared memory, waiting for the slowest replica is told apart from communication") {
  const auto times = last_step("shared_memory");
  CHECK(times[0][StepTime::kWaitForPeers] > kLate / 2);
  CHECK(times[0][StepTime::kCommunicate] < kLate / 2);
  CHECK(times[0][StepTime::kCompute] < kLate / 2);
  CHECK(times[1][StepTime::kCompute] > kLate / 2);
  CHECK(times[1][StepTime::kWaitForPeers] < kLate / 2);
}

TEST_CASE("over gloo, what backward does not hide is communication, waiting included") {
  const auto times = last_step("gloo");
  CHECK(times[0][StepTime::kCommunicate] > kLate / 2);
  CHECK(times[0][StepTime::kWaitForPeers] == 0);
  CHECK(times[0][StepTime::kCompute] < kLate / 2);
  CHECK(times[1][StepTime::kCompute] > kLate / 2);
}

}  // namespace
}  // namespace dtrain
