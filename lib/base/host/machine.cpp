#include "host/machine.h"

#include <unistd.h>

#include <fstream>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "host/host_memory.h"

namespace dtrain {
namespace {

// What the kernel says of the first processor, in the line that begins with `name`; empty if none does.
std::string of_processor(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind(name, 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

std::string own_host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return printable(name);
}

std::string processor_name() {
  const std::string name = of_processor("model name");
  return name.empty() ? "unknown processor" : name;
}

bool multiplies_float16() {
  const std::string words = " " + of_processor("flags") + of_processor("Features") + " ";  // of x86, of ARM
  return words.find(" avx512_fp16 ") != std::string::npos || words.find(" asimdhp ") != std::string::npos;
}

MachineWatch::MachineWatch(std::filesystem::path root) : root_(std::move(root)), before_(times()) {}

std::optional<MachineLoad> MachineWatch::look() {
  const std::optional<Times> now = times(), before = std::exchange(before_, now);
  const auto meminfo = root_ / "proc/meminfo";
  const auto total = number_in(meminfo, "MemTotal:"), available = number_in(meminfo, "MemAvailable:");
  if (!now || !before || now->all <= before->all || !total || !available) return std::nullopt;
  MachineLoad load;
  load.processors =
      static_cast<double>(now->busy - before->busy) / static_cast<double>(now->all - before->all);
  load.memory_total = *total * 1024;
  load.memory_used = (*total - *available) * 1024;
  return load;
}

// The line "cpu user nice system idle iowait irq softirq steal ...", in ticks; user and nice include guests.
std::optional<MachineWatch::Times> MachineWatch::times() const {
  std::ifstream file(root_ / "proc/stat");
  std::string word;
  if (!(file >> word) || word != "cpu") return std::nullopt;
  constexpr int kFields = 8, kIdle = 3, kWaitingForDisks = 4;
  Times times;
  for (int field = 0; field < kFields; ++field) {
    int64_t ticks = 0;
    if (!(file >> ticks)) return std::nullopt;
    times.all += ticks;
    if (field != kIdle && field != kWaitingForDisks) times.busy += ticks;
  }
  return times;
}

// "RUNNING WAITING SLICES" for each thread, the first two in nanoseconds.
std::optional<double> seconds_without_core(const std::filesystem::path& root) {
  std::optional<double> sum;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(root / "proc/self/task", error)) {
    double running = 0, waiting = 0;
    if (std::ifstream(thread.path() / "schedstat") >> running >> waiting)
      sum = sum.value_or(0) + waiting / 1e9;
  }
  return sum;
}

}  // namespace dtrain
