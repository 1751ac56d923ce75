// Which devices the replicas of a job run on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/accelerator.h"
#include "host/gpus.h"
#include "spec/spec.h"

namespace dtrain {

// What this host offers.
struct HostDevices {
  GpuSurvey survey;
  bool has_module = false;  // dtrain's own, without which no GPU can be used
};

// Looks only where `strategy` may want GPUs.
HostDevices find_devices(const StrategySpec& strategy);

// How many replicas a host trains on GPUs when nobody says; nullopt when on none.
std::optional<int64_t> gpus_for(const StrategySpec& strategy, const HostDevices& host);

// The device of each of `replicas` replicas of this host, by local rank: "cpu", "cuda:1". `auto` is GPUs
// where each replica has one of its own. Does not require that the GPUs exist: planning needs none.
std::vector<std::string> assign_devices(const StrategySpec& strategy, int64_t replicas,
                                        const HostDevices& host);

// How replicas on `devices` exchange tensors when the spec says auto: "nccl" on GPUs of their own, "gloo"
// where some share one, "auto" on the CPU.
std::string automatic_communication(const std::vector<std::string>& devices);

// Throws Error(kUsage) when one of them is a GPU that this host or this build cannot use, with the reason.
void require_devices(const std::vector<std::string>& devices, const HostDevices& host);

// What a replica on `device` works with; null on the CPU. Throws like open_cuda().
std::shared_ptr<Accelerator> open_device(const std::string& device, const CudaSpec& options);

}  // namespace dtrain
