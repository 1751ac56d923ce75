// Stands in for the module for GPUs: as lib/base/cuda/cuda.cpp, with the memory of the host.
#include <c10/util/Exception.h>

#include <cstdlib>

#include "comm/fake_accelerator.h"

extern "C" {
__attribute__((visibility("default"))) extern const char dtrain_cuda_version[];
const char dtrain_cuda_version[] = DTRAIN_CUDA_VERSION;

__attribute__((visibility("default"))) dtrain::Accelerator* dtrain_open_cuda(
    int index, const dtrain::AcceleratorOptions& /*options*/) {
  TORCH_CHECK(std::getenv("FAKE_GPU_BROKEN") == nullptr, "GPU ", index, " has fallen off the bus");
  return new dtrain::test::FakeAccelerator();
}
}
