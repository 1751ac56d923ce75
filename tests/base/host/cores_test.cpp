#include "host/cores.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "catch.h"
#include "files.h"

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

// Jobs that run beside this test have other marks.
const std::string& mark() {
  static const std::string own = "dtrain test " + std::to_string(::getpid());
  return own;
}

// Runs `check` in a child, for an affinity stays; returns what it returned, -1 when it did not.
template <class Check>
int in_child(Check check) {
  mark();  // the same in all children
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) ::_exit(check());
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("available cores are those that the process may run on") {
  const std::vector<int> all = cores_of_this_process();
  const TemporaryFolder no_quota;
  const std::filesystem::path root = no_quota / "";
  CHECK(available_cores(root) == static_cast<int>(all.size()));
  CHECK(available_cores() >= 1);
  CHECK(available_cores() <= static_cast<int>(all.size()));
  for (const int core : all) {  // as under taskset
    CHECK(in_child([&] {
            allow_only({core});
            return available_cores(root);
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
              keep_to_own_cores(rank, replicas, count, mark());
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
            keep_to_own_cores(replicas - 1, replicas, count, mark());
            return cores_of_this_process() == all ? 0 : 1;
          }) == 0);
  }
}

TEST_CASE("own cores are taken from the available ones only") {
  const std::vector<int> all = cores_of_this_process();
  CHECK(in_child([&] {
          allow_only({all.back()});
          keep_to_own_cores(0, 1, 1, mark());
          return cores_of_this_process() == std::vector<int>{all.back()} ? 0 : 1;
        }) == 0);
}

TEST_CASE("cores that another process has taken are left to it, and free again when it is gone") {
  const std::vector<int> all = cores_of_this_process();
  const int cores = static_cast<int>(all.size());
  const auto own = [&](int rank) {
    return in_child([&] {
      keep_to_own_cores(rank, cores, 1, mark());
      const std::vector<int> kept = cores_of_this_process();
      return kept == all ? 100 : kept.front();  // 100: it may run anywhere
    });
  };
  int ready[2], end[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(end) == 0);
  mark();
  const pid_t holder = ::fork();
  REQUIRE(holder >= 0);
  char byte = 0;
  if (holder == 0) {
    ::close(end[1]);
    keep_to_own_cores(0, cores, 1, mark());  // the first
    const ssize_t put = ::write(ready[1], &byte, 1);
    ::_exit(put == 1 && ::read(end[0], &byte, 1) == 0 ? 0 : 1);
  }
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(own(0) == (cores > 1 ? all[1] : 100));
  CHECK(in_child([&] {
          keep_to_own_cores(0, 1, cores, mark());  // all of them
          return cores_of_this_process() == all ? 0 : 1;
        }) == 0);
  ::kill(holder, SIGKILL);
  REQUIRE(::waitpid(holder, nullptr, 0) == holder);
  CHECK(own(0) == (cores > 1 ? all[0] : 100));
  for (const int descriptor : {ready[0], ready[1], end[0], end[1]}) ::close(descriptor);
}

TEST_CASE("a quota of processor time, of the control group or one around it, counts as so many whole cores") {
  const TemporaryFolder folder;
  const auto put = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file(folder / name, text);
  };
  const int all = static_cast<int>(cores_of_this_process().size());
  const std::filesystem::path root = folder / "";
  CHECK(available_cores(root) == all);
  SECTION("version 2") {
    put("proc/self/cgroup", "0::/outer/inner\n");
    put("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    CHECK(available_cores(root) == all);
    put("sys/fs/cgroup/outer/cpu.max", "150000 100000\n");
    CHECK(available_cores(root) == 1);
    put("sys/fs/cgroup/outer/cpu.max", "9999999 100\n");
    CHECK(available_cores(root) == all);
    put("sys/fs/cgroup/outer/inner/cpu.max", "5000 100000\n");
    CHECK(available_cores(root) == 1);
  }
  SECTION("version 1") {
    put("proc/self/cgroup", "5:cpuacct,cpu:/docker/1\n3:cpuset:/\n0::/\n");
    put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n");
    CHECK(available_cores(root) == all);
    put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "199999\n");  // as a container sees its own
    put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    CHECK(available_cores(root) == 1);
  }
}

}  // namespace
}  // namespace dtrain
