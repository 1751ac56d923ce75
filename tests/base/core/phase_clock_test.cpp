#include "core/phase_clock.h"

#include "catch.h"
#include "core/clock.h"

namespace dtrain {
namespace {

void busy_for(double seconds) {
  const double end = steady_seconds() + seconds;
  while (steady_seconds() < end) {
  }
}

TEST_CASE("time goes to the phase that was entered last, and laps add up to all of it") {
  const double before = steady_seconds();
  PhaseClock clock;
  clock.enter(Phase::kCompute);
  busy_for(0.004);
  clock.enter(Phase::kWaitForPeers);
  busy_for(0.002);
  clock.enter(Phase::kCompute);
  busy_for(0.001);
  const PhaseTimes first = clock.lap();
  busy_for(0.003);  // the phase goes on
  const PhaseTimes second = clock.lap();
  const double all = steady_seconds() - before;

  CHECK(first[Phase::kCompute] >= 0.005);
  CHECK(first[Phase::kWaitForPeers] >= 0.002);
  CHECK(first[Phase::kUpdate] == 0);
  CHECK(second[Phase::kCompute] >= 0.003);
  CHECK(second[Phase::kWaitForPeers] == 0);
  CHECK(first.total() + second.total() <= all);
  CHECK(first.total() + second.total() == Approx(all).margin(0.001));
}

TEST_CASE("start drops what was not taken and waits for data") {
  PhaseClock clock;
  clock.enter(Phase::kUpdate);
  busy_for(0.002);
  clock.start();
  const PhaseTimes times = clock.lap();
  CHECK(times[Phase::kUpdate] == 0);
  CHECK(times[Phase::kDataWait] > 0);
}

TEST_CASE("times are added phase by phase") {
  PhaseTimes sum;
  PhaseTimes step;
  step[Phase::kCompute] = 2;
  step[Phase::kCommunicate] = 0.5;
  sum.add(step);
  sum.add(step);
  CHECK(sum[Phase::kCompute] == 4);
  CHECK(sum[Phase::kCommunicate] == 1);
  CHECK(sum.total() == 5);
}

TEST_CASE("every phase has a name of its own") {
  CHECK(std::string(phase_name(Phase::kDataWait)) == "data_wait");
  CHECK(std::string(phase_name(Phase::kCompute)) == "compute");
  CHECK(std::string(phase_name(Phase::kCommunicate)) == "communicate");
  CHECK(std::string(phase_name(Phase::kUpdate)) == "update");
  CHECK(std::string(phase_name(Phase::kWaitForPeers)) == "wait_for_peers");
}

}  // namespace
}  // namespace dtrain
