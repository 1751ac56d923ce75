// The interface to a device, for what LibTorch's device-independent functions do not offer, and loading it.
// The implementation for CUDA is a separate module library, loaded only when a job asks for a GPU, because
// this takes seconds and gigabytes.
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

namespace dtrain {

// Options of a device, set once before its first tensor.
struct AcceleratorOptions {
  bool tf32 = false;  // float32 matrix products and convolutions in TensorFloat-32
  bool benchmark =
      false;  // the first convolution of each shape tries cuDNN's algorithms and keeps the fastest
};

// Bytes of the device's memory.
struct DeviceMemory {
  int64_t used = 0;  // by tensors of this process
  int64_t peak = 0;  // the most so far
  int64_t free = 0;  // to anybody
  int64_t total = 0;
};

// One activity of a device: it ran a kernel, or copied or filled memory.
struct DeviceActivity {
  bool is_kernel = true;
  std::string name;    // of a kernel, its function: "void at::native::..."; of memory: "Memcpy HtoD (...)"
  int64_t stream = 0;  // activities of one stream follow each other
  int64_t begin = 0;   // nanoseconds since 1970
  int64_t end = 0;
};

// One device, to be used by the thread that opened it.
class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual at::Device device() const = 0;

  // Runs `body`, but records its work on the device instead of doing it. Returns a function that does this
  // work on the same memory each time it is called. `body` must not wait for the device, and must have run
  // some times before.
  virtual std::function<void()> record(const std::function<void()>& body) = 0;

  // The c10d backend for collectives of tensors on such devices, each rank on one of its own.
  virtual c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store,
                                                         int rank, int size,
                                                         std::chrono::milliseconds timeout) = 0;

  // From start_profile() to stop_profile() the device's driver notes what it does, also when it replays
  // recorded work. Call both when the device has nothing left to do. Only one profile at a time in a process.
  // stop_profile() returns what the driver noted: nothing if this process may not profile.
  virtual void start_profile() = 0;
  virtual std::vector<DeviceActivity> stop_profile() = 0;

  virtual DeviceMemory memory() const = 0;
  // The share of the last second or less in which it computed, 0 to 1; nullopt if the driver does not say.
  virtual std::optional<double> utilisation() const = 0;
};

// The module library for GPUs of this installation: $DTRAIN_CUDA_MODULE, else libdtrain_cuda.so beside the
// program or in ../lib/dtrain; nullopt when none is there.
std::optional<std::filesystem::path> find_cuda_module();

// GPU number `index`, as CUDA counts them (CUDA_VISIBLE_DEVICES). Call it before the first use of LibTorch's
// generators in this process, after which LibTorch finds no CUDA. Throws Error(kUsage) with what to do
// when the module is missing, does not load or is of another version.
std::shared_ptr<Accelerator> open_cuda(int index, const AcceleratorOptions& options);

}  // namespace dtrain
