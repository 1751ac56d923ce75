#include "host/gpus.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>

namespace dtrain {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

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

GpuSurvey survey_gpus() {
  static const GpuSurvey survey = ask_driver();
  return survey;
}

}  // namespace dtrain
