// Stands in for NVIDIA's driver: as many GPUs as $FAKE_GPUS says.
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kNoDevice = 100;
constexpr int kInvalidDevice = 101;

int gpus() {
  const char* const text = std::getenv("FAKE_GPUS");
  return text == nullptr ? 0 : std::atoi(text);
}

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) {
  if (std::getenv("FAKE_DRIVER_ERROR") != nullptr) return std::atoi(std::getenv("FAKE_DRIVER_ERROR"));
  return gpus() == 0 ? kNoDevice : 0;
}

int cuDeviceGetCount(int* count) {
  *count = gpus();
  return 0;
}

int cuDeviceGet(int* device, int number) {
  *device = 100 + number;
  return number < gpus() ? 0 : kInvalidDevice;
}

int cuDeviceGetName(char* name, int length, int device) {
  std::snprintf(name, static_cast<size_t>(length), "Fake GPU %d", device - 100);
  return 0;
}

int cuDeviceTotalMem_v2(size_t* bytes, int /*device*/) {
  *bytes = size_t{8} << 30;
  return 0;
}
}
