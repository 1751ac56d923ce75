// The GPUs of this host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dtrain {

struct Gpu {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int64_t memory_bytes = 0;  // in all
};

struct GpuSurvey {
  std::vector<Gpu> gpus;  // by CUDA's number
  std::string none_why;   // when there are none: a reason for people
};

// Those that this process may use, in CUDA's order: CUDA_VISIBLE_DEVICES chooses and orders them. Asks
// NVIDIA's driver (libcuda.so.1), if there is one; that is without the libraries of CUDA, and takes no memory
// on a GPU.
GpuSurvey survey_gpus();

}  // namespace dtrain
