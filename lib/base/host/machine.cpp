#include "host/machine.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <system_error>
#include <utility>

#include "core/text.h"
#include "host/host_memory.h"

namespace dtrain {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

// What the kernel says of the first processor, in the line that begins with `name`; empty if none does.
std::string of_processor(const std::string& name) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind(name, 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

// The few functions of the driver that are used have the types of those in cuda.h.
GpuSurvey ask_driver() {
  void* const library = ::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL);  // never unloaded: the driver has threads
  if (library == nullptr) return {{}, "NVIDIA's driver is not installed (libcuda.so.1 was not found)"};
  const auto initialise = reinterpret_cast<int (*)(unsigned)>(::dlsym(library, "cuInit"));
  const auto count_devices = reinterpret_cast<int (*)(int*)>(::dlsym(library, "cuDeviceGetCount"));
  const auto get = reinterpret_cast<int (*)(int*, int)>(::dlsym(library, "cuDeviceGet"));
  const auto name_of = reinterpret_cast<int (*)(char*, int, int)>(::dlsym(library, "cuDeviceGetName"));
  const auto memory_of = reinterpret_cast<int (*)(size_t*, int)>(::dlsym(library, "cuDeviceTotalMem_v2"));
  if (!initialise || !count_devices || !get || !name_of || !memory_of)
    return {{}, "NVIDIA's driver lacks functions that CUDA has had since version 4"};
  int count = 0;
  int status = initialise(0);
  if (status == kSuccess) status = count_devices(&count);
  if (status != kSuccess && status != kNoDevice)
    return {{}, fmt::format("NVIDIA's driver reports error {} (nvidia-smi may tell more)", status)};
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (count == 0)
    return {{},
            visible == nullptr
                ? "NVIDIA's driver finds no GPU"
                : fmt::format("NVIDIA's driver finds no GPU among CUDA_VISIBLE_DEVICES={}", visible)};
  GpuSurvey survey;
  for (int number = 0; number < count; ++number) {
    int device = 0;
    std::array<char, 256> name{};
    size_t bytes = 0;
    const bool known = get(&device, number) == kSuccess &&
                       name_of(name.data(), name.size() - 1, device) == kSuccess &&
                       memory_of(&bytes, device) == kSuccess;
    survey.gpus.push_back(known ? Gpu{name.data(), static_cast<int64_t>(bytes)} : Gpu{"unknown GPU", 0});
  }
  return survey;
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

GpuSurvey survey_gpus() {
  static const GpuSurvey survey = ask_driver();
  return survey;
}

}  // namespace dtrain
