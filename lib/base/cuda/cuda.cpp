// What dtrain asks of CUDA: one library of its own, because loading CUDA takes seconds and gigabytes that a
// job on the CPU does without. lib/base/device/cuda.cpp loads it. It uses nothing of dtrain but the headers.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <kineto/ActivityType.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "device/accelerator.h"

namespace dtrain {
namespace {

constexpr int kKeep = 0;  // of setenv(): what the user has set stays

// How c10d watches over NCCL: it would end the process of a replica that waits too long. Here the replica
// itself notices (step/device_steps.h), and the job's supervisor ends the others. Before the first group,
// which reads them.
void leave_failures_to_us() {
  ::setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0", kKeep);
  ::setenv("TORCH_NCCL_ENABLE_MONITORING", "0", kKeep);
  ::setenv("TORCH_NCCL_DUMP_ON_TIMEOUT", "0", kKeep);
  // Its thread, which a group waits for at its end, would pause for four times as long (60 s) over every
  // collective that failed, for others to dump what they know.
  ::setenv("TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "0", kKeep);
}

// NVIDIA's management library, as far as it is asked; its types are those of nvml.h.
class Management {
 public:
  explicit Management(c10::DeviceIndex index) {
    void* const library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto initialise = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
    const auto find =
        reinterpret_cast<int (*)(const char*, void**)>(::dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    rates_ = reinterpret_cast<RatesFunction>(::dlsym(library, "nvmlDeviceGetUtilizationRates"));
    char bus[32] = "";  // CUDA_VISIBLE_DEVICES renumbers devices, and only CUDA knows how
    const bool ok = initialise != nullptr && find != nullptr && rates_ != nullptr && initialise() == 0 &&
                    cudaDeviceGetPCIBusId(bus, sizeof bus, index) == cudaSuccess && find(bus, &handle_) == 0;
    if (!ok) handle_ = nullptr;
  }

  std::optional<double> utilisation() const {
    Rates rates;
    if (handle_ == nullptr || rates_(handle_, &rates) != 0) return std::nullopt;
    return rates.computing / 100.0;
  }

 private:
  struct Rates {
    unsigned computing = 0;  // per cent
    unsigned memory = 0;
  };
  using RatesFunction = int (*)(void*, Rates*);

  void* handle_ = nullptr;
  RatesFunction rates_ = nullptr;
};

class Cuda : public Accelerator {
 public:
  Cuda(c10::DeviceIndex index, const AcceleratorOptions& options)
      : device_(c10::kCUDA, index), management_(index) {
    // LibTorch's profiler would unload NVIDIA's (CUPTI) after a profile, with which recorded steps have
    // crashed before CUDA 12.6 (pytorch/pytorch#112507). Set before other threads read the environment.
    ::setenv("TEARDOWN_CUPTI", "0", kKeep);
    at::globalContext().lazyInitDevice(c10::kCUDA);
    c10::cuda::set_device(index);
    // A stream of our own: the default one cannot be recorded.
    c10::cuda::setCurrentCUDAStream(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index));
    at::Context& context = at::globalContext();
    context.setAllowTF32CuBLAS(options.tf32);
    context.setAllowTF32CuDNN(options.tf32);
    context.setBenchmarkCuDNN(options.benchmark);
  }

  at::Device device() const override { return device_; }

  std::function<void()> record(const std::function<void()>& body) override {
    const auto graph = std::make_shared<at::cuda::CUDAGraph>();
    // Thread-local: the threads that watch over NCCL may go on asking the device meanwhile.
    graph->capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    try {
      body();
    } catch (...) {
      try {
        graph->capture_end();  // gives the stream back; the first error tells more than this one's
      } catch (const std::exception&) {
      }
      throw;
    }
    graph->capture_end();
    return [graph] { graph->replay(); };
  }

  c10::intrusive_ptr<c10d::Backend> make_backend(const c10::intrusive_ptr<c10d::Store>& store, int rank,
                                                 int size, std::chrono::milliseconds timeout) override {
    leave_failures_to_us();
    auto options = c10d::ProcessGroupNCCL::Options::create(/*is_high_priority_stream=*/true);
    options->timeout = timeout;
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options));
    backend->setBoundDeviceId(device_);
    return backend;
  }

  // By LibTorch's profiler (Kineto), which drives CUPTI. Of the CPU it notes nothing: operators are traced
  // without it (callbacks/step_trace.h).
  void start_profile() override {
    namespace profiler = torch::profiler::impl;
    const profiler::ProfilerConfig config(profiler::ProfilerState::KINETO);
    const std::set<profiler::ActivityType> activities = {profiler::ActivityType::CUDA};
    torch::autograd::profiler::prepareProfiler(config, activities);
    torch::autograd::profiler::enableProfiler(config, activities);
  }

  std::vector<DeviceActivity> stop_profile() override {
    using Kind = libkineto::ActivityType;
    const auto result = torch::autograd::profiler::disableProfiler();
    std::vector<DeviceActivity> activities;
    for (const auto& event : result->events()) {
      const auto kind = static_cast<Kind>(event.activityType());
      const bool is_kernel = kind == Kind::CONCURRENT_KERNEL;
      if (!is_kernel && kind != Kind::GPU_MEMCPY && kind != Kind::GPU_MEMSET) continue;
      activities.push_back({is_kernel, event.name(), event.deviceResourceId(),
                            static_cast<int64_t>(event.startNs()), static_cast<int64_t>(event.endNs())});
    }
    return activities;
  }

  DeviceMemory memory() const override {
    const auto statistics = c10::cuda::CUDACachingAllocator::getDeviceStats(device_.index());
    const auto& allocated = statistics.allocated_bytes[0];  // of all kinds of blocks together
    size_t free = 0;
    size_t total = 0;
    C10_CUDA_CHECK(cudaMemGetInfo(&free, &total));
    return {allocated.current, allocated.peak, static_cast<int64_t>(free), static_cast<int64_t>(total)};
  }

  std::optional<double> utilisation() const override { return management_.utilisation(); }

 private:
  at::Device device_;
  Management management_;
};

}  // namespace
}  // namespace dtrain

// What lib/base/device/cuda.cpp looks for by name.
extern "C" {
__attribute__((visibility("default"))) extern const char dtrain_cuda_version[];
const char dtrain_cuda_version[] = DTRAIN_CUDA_VERSION;

// The caller owns what comes back. Throws LibTorch's errors.
__attribute__((visibility("default"))) dtrain::Accelerator* dtrain_open_cuda(
    int index, const dtrain::AcceleratorOptions& options) {
  return new dtrain::Cuda(static_cast<c10::DeviceIndex>(index), options);
}
}
