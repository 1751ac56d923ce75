#include "launch/cores.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "catch.h"

namespace dtrain {
namespace {

std::vector<int> cores_of_this_process() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(core);
  }
  return cores;
}

void allow_only(const std::vector<int>& cores) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (const int core : cores) CPU_SET(core, &mask);
  sched_setaffinity(0, sizeof mask, &mask);
}

// Runs `check` in a child, for an affinity stays; returns what it returned, -1 when it did not.
template <class Check>
int in_child(Check check) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(check());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("available cores are those that the process may run on") {
  const std::vector<int> all = cores_of_this_process();
  CHECK(available_cores() == static_cast<int>(all.size()));
  for (const int core : all) {  // as under taskset
    CHECK(in_child([&] {
            allow_only({core});
            return available_cores();
          }) == 1);
  }
}

TEST_CASE("replicas that fit get cores of their own, which are all different") {
  const std::vector<int> all = cores_of_this_process();
  for (int count = 1; count <= 2; ++count) {
    const int replicas = static_cast<int>(all.size()) / count;
    for (int rank = 0; rank < replicas; ++rank) {
      INFO("replica " << rank << " of " << replicas << " with " << count);
      CHECK(in_child([&] {
              keep_to_own_cores(rank, replicas, count);
              const auto first = all.begin() + rank * count;
              return cores_of_this_process() == std::vector<int>(first, first + count) ? 0 : 1;
            }) == 0);
    }
  }
}

TEST_CASE("replicas that together want more cores than there are share them all") {
  const std::vector<int> all = cores_of_this_process();
  const int cores = static_cast<int>(all.size());
  for (const auto& [replicas, count] : std::vector<std::pair<int, int>>{
           {cores + 1, 1}, {1, cores + 1}, {cores, 2}, {1024, 1024}, {65536, 1024 * 1024}}) {
    INFO(replicas << " replicas with " << count);
    CHECK(in_child([&, replicas = replicas, count = count] {
            keep_to_own_cores(replicas - 1, replicas, count);
            return cores_of_this_process() == all ? 0 : 1;
          }) == 0);
  }
}

TEST_CASE("own cores are taken from the available ones only") {
  const std::vector<int> all = cores_of_this_process();
  CHECK(in_child([&] {
          allow_only({all.back()});
          keep_to_own_cores(0, 1, 1);
          return cores_of_this_process() == std::vector<int>{all.back()} ? 0 : 1;
        }) == 0);
}

}  // namespace
}  // namespace dtrain
