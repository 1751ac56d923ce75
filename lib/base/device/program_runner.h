// Programs in StableHLO that a plugin compiles and runs on its devices. The implementation is a module
// library of its own (lib/base/pjrt) for any plugin of PJRT's C API, loaded when a job needs a plugin.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dtrain {

// A tensor in the memory of a device.
class DeviceTensor {
 public:
  virtual ~DeviceTensor() = default;
  // Waits until it is computed and copies its `size` bytes, row-major, to `data`.
  virtual void read(void* data, int64_t size) const = 0;
};
using DeviceTensorPtr = std::shared_ptr<const DeviceTensor>;

// A dense, row-major tensor in the host's memory; float32, int32, uint32 or uint8.
struct HostTensor {
  const void* data = nullptr;
  at::ScalarType type = at::kFloat;
  std::vector<int64_t> shape;
};

using DeviceTensorList = std::vector<DeviceTensorPtr>;

// Work that the devices have been given. The destructor waits for its end.
class DeviceWork {
 public:
  virtual ~DeviceWork() = default;
  // Waits for the end, and throws an Error if something has failed.
  virtual void wait() = 0;
};

// A program that may still be running.
struct ProgramRun {
  std::vector<DeviceTensorList> results;  // by device; at once arguments of other programs
  std::unique_ptr<DeviceWork> work;
};

// A program loaded on as many devices as it has replicas.
class LoadedProgram {
 public:
  virtual ~LoadedProgram() = default;
  // Starts it on all devices, after what they compute already, and does not wait. By device: its arguments in
  // the program's order. Arguments that the program's text donates cannot be used again.
  virtual ProgramRun run(const std::vector<DeviceTensorList>& arguments) = 0;
  virtual int64_t code_bytes() const = 0;  // -1: the plugin does not tell
};

struct CompileOptions {
  int64_t replicas = 1;
  bool quick = false;  // with little effort: sooner, for programs that may be slower
  // For GPUs: the folder that keeps the choice of the fastest kernels, so that programs compute the same bits
  // in every run; empty: keeps nothing.
  std::string kernels_in = {};
};

// Which GPUs a plugin for GPUs uses.
struct GpuChoice {
  std::vector<int64_t> numbers = {};  // as CUDA counts them; empty: all
};

// A plugin's devices of this host. What a plugin reports as an error is thrown as Error: kMemory when a
// device has too little, else kUsage while it is opened and kBug afterwards, with the plugin's words.
class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;
  virtual const std::string& platform() const = 0;  // "tpu", "cuda", "cpu"
  virtual int64_t devices() const = 0;              // at least one
  // Bytes of a device's memory that are free; 0: the plugin does not tell.
  virtual int64_t free_memory() const = 0;
  // `text` is a StableHLO module whose @main has one version for as many devices, the first ones.
  virtual std::unique_ptr<LoadedProgram> compile(const std::string& text, const CompileOptions& options) = 0;
  // The tensor's memory may be used again when it returns.
  virtual DeviceTensorPtr send(const HostTensor& tensor, int64_t device) = 0;
};

// The result of compiling a program for devices that need not be present.
struct AheadProgram {
  double seconds = 0;
  int64_t code_bytes = 0;  // -1: the plugin does not tell
  std::string serialised;  // for a plugin of the same version
};

// The interface of the module; `version` is the version of dtrain that it was built with.
class ProgramModule {
 public:
  virtual ~ProgramModule() = default;
  // The plugin at `path` with all devices of this host, or those GPUs. Throws Error(kUsage) with what to do
  // when it cannot be loaded, is no plugin, speaks another version of PJRT's C API or has no devices.
  virtual std::shared_ptr<ProgramRunner> open(const std::string& path,
                                              const std::optional<GpuChoice>& gpus) = 0;
  // Compiles without devices for those of `topology`, in the plugin's words: "v5e:2x2"; or for GPUs: a100,
  // h100 or h200, and how many, "h200:1". Throws Error(kUsage).
  virtual AheadProgram compile_ahead(const std::string& path, const std::string& topology,
                                     const std::string& text, const CompileOptions& options) = 0;
};

}  // namespace dtrain
