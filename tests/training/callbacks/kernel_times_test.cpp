#include "callbacks/step_trace.h"

#include "catch.h"

namespace dtrain {
namespace {

// Two steps of a device, in microseconds: two kernels that overlap, a copy, a gap of 20, a kernel.
std::vector<DeviceActivity> two_steps() {
  std::vector<DeviceActivity> all;
  for (const int64_t step : {0, 1}) {
    const auto add = [&](bool is_kernel, const char* name, int64_t stream, int64_t begin, int64_t end) {
      const int64_t origin = 1'700'000'000'000'000'000 + step * 100'000;
      all.push_back({is_kernel, name, stream, origin + begin * 1000, origin + end * 1000});
    };
    add(true, "product", 7, 0, 40);
    add(true, "sum", 8, 30, 50);
    add(false, "Memcpy DtoD", 7, 50, 60);
    add(true, "product", 7, 80, 100);
  }
  std::swap(all.front(), all.back());  // they come in no order
  return all;
}

TEST_CASE("what a device did is summed up by kernel, and when none ran") {
  const KernelTimes times = kernel_times_of(two_steps());
  CHECK(times.window == 200'000);
  CHECK(times.computing == 2 * (50'000 + 20'000));  // what overlaps counts once
  REQUIRE(times.kinds.size() == 3);
  CHECK(times.kinds[0].name == "product");
  CHECK(times.kinds[0].count == 4);
  CHECK(times.kinds[0].time == 120'000);
  CHECK(times.kinds[1].name == "sum");
  CHECK_FALSE(times.kinds[2].is_kernel);
  CHECK(summary_of(times, 2) ==
        "0.100 ms a step; kernels: 3 in 0.080 ms; copies: 1 in 0.010 ms; no kernel in 30.0 % of the time");
  CHECK(table_of(times, 2) ==
        " ms a step   a step   share  kernel or copy\n"
        "    0.0600        2  60.0 %  product\n"
        "    0.0200        1  20.0 %  sum\n"
        "    0.0100        1  10.0 %  Memcpy DtoD\n");
}

TEST_CASE("a kernel inside another one adds nothing, and nothing is no time") {
  const KernelTimes times = kernel_times_of({{true, "long", 1, 100, 200}, {true, "short", 2, 120, 150}});
  CHECK(times.computing == 100);
  CHECK(kernel_times_of({}).window == 0);
  CHECK(kernel_times_of({}).kinds.empty());
}

}  // namespace
}  // namespace dtrain
