#include <sched.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "comm/group_threads.h"

namespace dtrain {
namespace {

cpu_set_t cores_of(pid_t thread) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  ::sched_getaffinity(thread, sizeof cores, &cores);
  return cores;
}

TEST_CASE("where a replica keeps to its own core, gloo's threads may use all, or all others") {
  const cpu_set_t all = cores_of(0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &all)) CPU_SET(core, &one);
  }
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);
  cpu_set_t others;
  CPU_XOR(&others, &all, &one);
  std::atomic<int> free = 0, kept = 0, beside = 0;
  with_ranks("gloo", 2, [&](ProcessGroup& group) {
    const cpu_set_t own = cores_of(0);
    if (CPU_EQUAL(&own, &one)) ++kept;
    group.barrier();
    if (group.rank() == 0) {
      for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        const cpu_set_t cores = cores_of(std::stoi(task.path().filename()));
        if (name == "pt_gloo_runloop" && CPU_EQUAL(&cores, &all)) ++free;
        if (name != "pt_gloo_runloop" && CPU_EQUAL(&cores, &others)) ++beside;
      }
    }
    group.barrier();
  });
  ::sched_setaffinity(0, sizeof all, &all);
  CHECK(kept == 2);
  CHECK(free == 4);                                // two of each rank
  if (CPU_COUNT(&others) > 0) CHECK(beside == 2);  // those that look after sockets
}

}  // namespace
}  // namespace dtrain
