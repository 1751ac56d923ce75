// The names of this machine and of its processor, what the processor can do, how busy both are, and the GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// This host's name as the kernel knows it.
std::string own_host_name();

// The processor's name from the kernel, such as "AMD EPYC 7B13"; "unknown processor" if it gives none.
std::string processor_name();

// Whether the processor itself multiplies float16 (AVX512-FP16, ARM's half precision); most convert each.
bool multiplies_float16();

struct MachineLoad {
  double processors = 0;    // the part of all processors' time in which they worked, 0 to 1
  int64_t memory_used = 0;  // bytes that programs cannot get
  int64_t memory_total = 0;
};

// Asking costs some 50 microseconds: two small files of /proc are read.
class MachineWatch {
 public:
  // `root` is the folder with /proc.
  explicit MachineWatch(std::filesystem::path root = "/");
  // Since the watch was made or asked last. nullopt: the kernel does not tell, or counted no time since.
  std::optional<MachineLoad> look();

 private:
  struct Times {
    int64_t busy = 0;
    int64_t all = 0;
  };
  std::optional<Times> times() const;

  std::filesystem::path root_;
  std::optional<Times> before_;
};

// How many seconds the threads that this process has now were ready to compute but had no core, added up.
// nullopt: the kernel does not tell. Costs some 10 microseconds a thread.
std::optional<double> seconds_without_core(const std::filesystem::path& root = "/");

struct Gpu {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int64_t memory_bytes = 0;  // total
};

struct GpuSurvey {
  std::vector<Gpu> gpus;  // in the order of CUDA's numbers
  std::string none_why;   // if there are none: the reason, for users
};

// The GPUs that this process may use, in CUDA's order: CUDA_VISIBLE_DEVICES selects and orders them. Asks
// NVIDIA's driver (libcuda.so.1) if it is installed. This needs no CUDA libraries and uses no GPU memory.
GpuSurvey survey_gpus();

}  // namespace dtrain
