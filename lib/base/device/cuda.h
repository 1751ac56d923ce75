// Finds and loads the module library for GPUs.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "device/accelerator.h"

namespace dtrain {

// The module of this installation: $DTRAIN_CUDA_MODULE, else libdtrain_cuda.so beside the program or in
// ../lib/dtrain; nullopt when none is there.
std::optional<std::filesystem::path> find_cuda_module();

// GPU number `index`, as CUDA counts them (CUDA_VISIBLE_DEVICES). Before the first use of LibTorch's
// generators in this process, which would settle that there is no CUDA. Throws Error(kUsage) with what to do
// when the module is missing, does not load or is of another version.
std::shared_ptr<Accelerator> open_cuda(int index, const AcceleratorOptions& options);

}  // namespace dtrain
