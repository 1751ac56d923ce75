// Finds and loads the module library for GPUs.
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include "core/error.h"
#include "core/version.h"
#include "device/accelerator.h"
#include "device/module_library.h"

namespace dtrain {
namespace {

using OpenFunction = Accelerator* (*)(int, const AcceleratorOptions&);

const ModuleLibrary kCudaModule = {
    "cuda",
    "DTRAIN_CUDA_MODULE",
    "CUDA",
    "dtrain_open_cuda",
    "where the CUDA toolkit and a LibTorch with CUDA are (docs/gpu.md), or use devices: cpu",
    " (the libraries of CUDA that LibTorch uses have to be where it finds them; docs/gpu.md)"};

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitCode::kUsage, "strategy.devices: GPUs cannot be used: " + why);
}

}  // namespace

std::optional<std::filesystem::path> find_cuda_module() { return kCudaModule.find(); }

std::shared_ptr<Accelerator> open_cuda(int index, const AcceleratorOptions& options) {
  try {
    // Loaded once, and kept until the process ends: LibTorch cannot forget a device again.
    static const auto open =
        reinterpret_cast<OpenFunction>(kCudaModule.load(fmt::format("{} {}", kVersion, TORCH_VERSION)));
    return std::shared_ptr<Accelerator>(open(index, options));
  } catch (const Error& error) {
    refuse(error.what());
  } catch (const c10::Error& error) {
    refuse(fmt::format("cuda:{}: {}", index, error.what_without_backtrace()));
  }
}

}  // namespace dtrain
