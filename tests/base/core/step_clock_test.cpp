#include "core/step_clock.h"

#include <algorithm>

#include "catch.h"
#include "core/clock.h"

namespace dtrain {
namespace {

void busy_for(double seconds) {
  const double end = steady_seconds() + seconds;
  while (steady_seconds() < end) {
  }
}

TEST_CASE("time goes to the kind that was entered last, and no more than passes") {
  const double before = steady_seconds();
  StepClock clock;
  clock.enter(StepTime::kCompute);
  busy_for(0.004);
  clock.enter(StepTime::kWaitForPeers);
  busy_for(0.002);
  clock.enter(StepTime::kCompute);
  busy_for(0.001);
  const StepTimes first = clock.lap();
  busy_for(0.003);  // the same kind goes on
  const StepTimes second = clock.lap();
  const double all = steady_seconds() - before;

  CHECK(first[StepTime::kCompute] >= 0.005);
  CHECK(first[StepTime::kWaitForPeers] >= 0.002);
  CHECK(first[StepTime::kUpdate] == 0);
  CHECK(second[StepTime::kCompute] >= 0.003);
  CHECK(second[StepTime::kWaitForPeers] == 0);
  CHECK(first.total() + second.total() <= all);
}

TEST_CASE("laps add up to all of the time") {
  double least = 1;  // left out, on a machine that holds up some of the attempts
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double before = steady_seconds();
    StepClock clock;
    clock.enter(StepTime::kCompute);
    busy_for(0.002);
    const StepTimes first = clock.lap();
    busy_for(0.002);
    const StepTimes second = clock.lap();
    least = std::min(least, steady_seconds() - before - first.total() - second.total());
  }
  CHECK(least < 0.001);
}

TEST_CASE("start drops what was not taken and waits for data") {
  StepClock clock;
  clock.enter(StepTime::kUpdate);
  busy_for(0.002);
  clock.start();
  const StepTimes times = clock.lap();
  CHECK(times[StepTime::kUpdate] == 0);
  CHECK(times[StepTime::kDataWait] > 0);
}

TEST_CASE("times are added kind by kind") {
  StepTimes sum;
  StepTimes step;
  step[StepTime::kCompute] = 2;
  step[StepTime::kCommunicate] = 0.5;
  sum.add(step);
  sum.add(step);
  CHECK(sum[StepTime::kCompute] == 4);
  CHECK(sum[StepTime::kCommunicate] == 1);
  CHECK(sum.total() == 5);
}

TEST_CASE("every kind of time has a name of its own") {
  CHECK(std::string(step_time_name(StepTime::kDataWait)) == "data_wait");
  CHECK(std::string(step_time_name(StepTime::kCompute)) == "compute");
  CHECK(std::string(step_time_name(StepTime::kCommunicate)) == "communicate");
  CHECK(std::string(step_time_name(StepTime::kUpdate)) == "update");
  CHECK(std::string(step_time_name(StepTime::kWaitForPeers)) == "wait_for_peers");
}

}  // namespace
}  // namespace dtrain
