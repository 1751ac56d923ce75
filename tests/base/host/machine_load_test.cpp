
#include <fstream>

#include "catch.h"
#include "core/clock.h"
#include "files.h"
#include "host/machine.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

struct FakeProc {
  TemporaryFolder folder;
  FakeProc() { fs::create_directories(folder / "proc"); }
  void put(const char* name, const std::string& text) const {
    std::ofstream(folder.path() / "proc" / name) << text;
  }
};

TEST_CASE("the load of the machine is that since the last look, and waiting for disks is not work") {
  const FakeProc proc;
  proc.put("meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 400 kB\n");
  proc.put("stat", "cpu 100 10 40 800 50 0 0 0 7 0\ncpu0 1 1 1 1\n");
  MachineWatch watch(proc.folder.path());
  CHECK_FALSE(watch.look());  // no time has passed
  proc.put("stat", "cpu 160 20 50 900 60 5 5 0 9 0\n");
  const auto load = watch.look();
  REQUIRE(load);
  CHECK(load->processors == Approx(90.0 / 200));  // 60 + 10 + 10 + 5 + 5, of those and 100 + 10
  CHECK(load->memory_total == 1000 * 1024);
  CHECK(load->memory_used == 600 * 1024);
  CHECK_FALSE(watch.look());
}

TEST_CASE("where the kernel does not tell there is no load") {
  const FakeProc proc;
  MachineWatch watch(proc.folder.path());
  CHECK_FALSE(watch.look());
  proc.put("stat", "cpu 1 2 three\n");
  CHECK_FALSE(watch.look());
  proc.put("stat", "cpu 1 2 3 4 5 6 7 8\n");
  CHECK_FALSE(watch.look());
  proc.put("stat", "cpu 2 3 4 5 6 7 8 9\n");
  CHECK_FALSE(watch.look());  // memory is not known
}

TEST_CASE("how long threads were without a core is added up") {
  const FakeProc proc;
  CHECK_FALSE(seconds_without_core(proc.folder.path()));
  for (const char* thread : {"7", "8", "9"})
    std::filesystem::create_directories(proc.folder / "proc/self/task" / thread);
  proc.put("self/task/7/schedstat", "4000000000 1500000000 12\n");
  proc.put("self/task/8/schedstat", "1000000 250000000 3\n");  // 9 has just ended
  CHECK(seconds_without_core(proc.folder.path()).value() == Approx(1.75));
}

TEST_CASE("this machine has a load") {
  MachineWatch watch;
  std::optional<MachineLoad> load;
  const double end = steady_seconds() + 10;
  while (!load && steady_seconds() < end) load = watch.look();  // until the kernel counts a tick
  REQUIRE(load);
  CHECK(load->processors >= 0);
  CHECK(load->processors <= 1);
  CHECK(load->memory_used > 0);
  CHECK(load->memory_used < load->memory_total);
}

}  // namespace
}  // namespace dtrain
