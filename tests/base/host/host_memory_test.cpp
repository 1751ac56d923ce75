#include "host/host_memory.h"

#include <sys/resource.h>

#include <fstream>

#include "catch.h"
#include "files.h"
#include "processes/launch_helpers.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// Files as the kernel shows them, in a folder of their own.
struct FakeRoot {
  TemporaryFolder folder;
  fs::path path = folder / "";
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name) << text;
  }
};

TEST_CASE("the memory for all is the host's, or the least of the cgroup's limits and those around it") {
  FakeRoot root;
  root.put("proc/meminfo", "MemTotal:       16000 kB\nMemFree:        1 kB\n");
  CHECK(memory_for_all(root.path) == 16000 * 1024);
  root.put("proc/self/cgroup", "0::/outer/inner\n");
  CHECK(memory_for_all(root.path) == 16000 * 1024);
  root.put("sys/fs/cgroup/outer/inner/memory.max", "max\n");
  CHECK(memory_for_all(root.path) == 16000 * 1024);
  root.put("sys/fs/cgroup/outer/memory.max", "4096000\n");
  CHECK(memory_for_all(root.path) == 4096000);
  root.put("sys/fs/cgroup/outer/inner/memory.max", "1024000\n");
  CHECK(memory_for_all(root.path) == 1024000);
  root.put("proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");  // version 1, which has no "max"
  root.put("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(memory_for_all(root.path) == 16000 * 1024);
  root.put("sys/fs/cgroup/memory/memory.limit_in_bytes", "2048000\n");
  CHECK(memory_for_all(root.path) == 2048000);
  CHECK(memory_for_all() > 0);
}

TEST_CASE("processes that were ended for lack of memory are counted, in the cgroup or on the host") {
  FakeRoot root;
  CHECK(out_of_memory_kills(root.path) == 0);
  root.put("proc/vmstat", "nr_free_pages 5\noom_kill 7\n");
  CHECK(out_of_memory_kills(root.path) == 7);
  root.put("proc/self/cgroup", "12:memory:/old\n0::/\n");
  root.put("sys/fs/cgroup/memory.events", "low 0\nhigh 0\nmax 3\noom 2\noom_kill 2\noom_group_kill 0\n");
  CHECK(out_of_memory_kills(root.path) == 2);
  root.put("sys/fs/cgroup/memory/old/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  CHECK(out_of_memory_kills(root.path) == 1);
  CHECK(out_of_memory_kills() >= 0);
}

TEST_CASE("a process knows what it holds and may hold") {
  const MemoryInUse used = memory_in_use();
  CHECK(used.resident > 0);
  CHECK(used.address_space > used.resident);
  rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_AS, &limit) == 0);
  CHECK(address_space_limit().has_value() == (limit.rlim_cur != RLIM_INFINITY));
}

}  // namespace
}  // namespace dtrain
