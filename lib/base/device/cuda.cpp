#include "device/cuda.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <torch/headeronly/version.h>

#include <string>

#include "core/error.h"
#include "core/version.h"
#include "device/module_library.h"

namespace dtrain {
namespace {

using OpenFunction = Accelerator* (*)(int, const AcceleratorOptions&);

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ExitCode::kUsage, "strategy.devices: GPUs cannot be used: " + why);
}

void* symbol(void* library, const std::string& path, const char* name) {
  void* found = ::dlsym(library, name);
  if (found == nullptr) refuse(path + " is not dtrain's module for CUDA");
  return found;
}

// Loaded once, and kept until the process ends: LibTorch cannot forget a device again.
OpenFunction load() {
  const auto path = find_cuda_module();
  if (!path)
    refuse(
        "this dtrain has no module for CUDA; build it where the CUDA toolkit and a LibTorch with CUDA are "
        "(docs/gpu.md), or use devices: cpu");
  void* const library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    refuse(fmt::format(
        "{} (the libraries of CUDA that LibTorch uses have to be where it finds them; docs/gpu.md)",
        ::dlerror()));
  const std::string version = static_cast<const char*>(symbol(library, *path, "dtrain_cuda_version"));
  const std::string expected = fmt::format("{} {}", kVersion, TORCH_VERSION);
  if (version != expected)
    refuse(fmt::format("{} is of version {}, the program of {}; build both together", path->string(), version,
                       expected));
  return reinterpret_cast<OpenFunction>(symbol(library, *path, "dtrain_open_cuda"));
}

}  // namespace

std::optional<std::filesystem::path> find_cuda_module() {
  return find_module_library("DTRAIN_CUDA_MODULE", "libdtrain_cuda.so");
}

std::shared_ptr<Accelerator> open_cuda(int index, const AcceleratorOptions& options) {
  static const OpenFunction open = load();
  try {
    return std::shared_ptr<Accelerator>(open(index, options));
  } catch (const c10::Error& error) {
    refuse(fmt::format("cuda:{}: {}", index, error.what_without_backtrace()));
  }
}

}  // namespace dtrain
