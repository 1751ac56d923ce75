// The GPUs of this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

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
