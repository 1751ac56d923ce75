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

// The few functions of the driver that are used. Their types are those in cuda.h.
class Driver {
 public:
  Driver() : library_(::dlopen(kDriver, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) return;
    find("cuInit", initialise_);
    find("cuDeviceGetCount", count_);
    find("cuDeviceGet", get_);
    find("cuDeviceGetName", name_);
    find("cuDeviceTotalMem_v2", memory_);
  }

  GpuSurvey survey() const {
    GpuSurvey survey;
    if (library_ == nullptr) {
      survey.none_why = "NVIDIA's driver is not installed (libcuda.so.1 was not found)";
      return survey;
    }
    if (!complete_) {
      survey.none_why = "NVIDIA's driver lacks functions that CUDA has had since version 4";
      return survey;
    }
    int count = 0;
    int status = initialise_(0);
    if (status == kSuccess) status = count_(&count);
    if (status != kSuccess && status != kNoDevice) {
      survey.none_why = fmt::format("NVIDIA's driver reports error {} (nvidia-smi may tell more)", status);
    } else if (count == 0) {
      const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
      survey.none_why =
          visible == nullptr
              ? "NVIDIA's driver finds no GPU"
              : fmt::format("NVIDIA's driver finds no GPU among CUDA_VISIBLE_DEVICES={}", visible);
    }
    for (int number = 0; number < count; ++number) survey.gpus.push_back(gpu(number));
    return survey;
  }

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_, name));
    complete_ = complete_ && function != nullptr;
  }

  Gpu gpu(int number) const {
    int device = 0;
    std::array<char, 256> name{};
    size_t bytes = 0;
    if (get_(&device, number) != kSuccess || name_(name.data(), name.size() - 1, device) != kSuccess ||
        memory_(&bytes, device) != kSuccess)
      return {"unknown GPU", 0};
    return {name.data(), static_cast<int64_t>(bytes)};
  }

  void* library_;  // never unloaded, because the driver has threads
  bool complete_ = true;
  int (*initialise_)(unsigned) = nullptr;
  int (*count_)(int*) = nullptr;
  int (*get_)(int*, int) = nullptr;
  int (*name_)(char*, int, int) = nullptr;
  int (*memory_)(size_t*, int) = nullptr;
};

}  // namespace

GpuSurvey survey_gpus() {
  static const GpuSurvey survey = Driver().survey();
  return survey;
}

}  // namespace dtrain
