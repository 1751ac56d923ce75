// Which devices the replicas of a job run on.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/accelerator.h"
#include "device/plugins.h"
#include "host/machine.h"
#include "spec/spec.h"

namespace dtrain {

// The GPUs or the TPUs of this host, and whether dtrain can use them.
struct HostDevices {
  GpuSurvey survey;
  bool has_module = false;  // dtrain's CUDA module; without it no GPU can be used
  PluginSurvey plugin;      // what drives the devices of a job that uses one (JobSpec::uses_plugin())
};

// Looks only for what the job may use.
HostDevices find_devices(const JobSpec& spec);

// The default number of replicas that a host trains on GPUs; nullopt if it uses no GPU.
std::optional<int64_t> gpus_for(const StrategySpec& strategy, const HostDevices& host);

// The device of each of `replicas` replicas of this host, by local rank: "cpu", "cuda:1", "tpu:0". `auto`
// means GPUs if each replica gets its own. Does not require that the GPUs exist: planning needs none.
std::vector<std::string> assign_devices(const JobSpec& spec, int64_t replicas, const HostDevices& host);

// The GPUs among the devices that train.step xla uses, as CUDA counts them; empty: the plugin's first ones.
std::vector<int64_t> chosen_gpus(const StrategySpec& strategy);

// The GPUs that auto does not use because this host has more replicas than GPUs; 0 if there are none.
int64_t idle_gpus(const StrategySpec& strategy, const std::vector<std::string>& devices,
                  const HostDevices& host);

// How replicas on `devices` exchange tensors if the spec says auto: "nccl" if each has its own GPU, "gloo" if
// some share one, "auto" on the CPU.
std::string automatic_communication(const std::vector<std::string>& devices);

// Throws Error(kUsage) with the reason if this host or this build cannot use one of the devices, or the
// plugin does not have as many.
void require_devices(const JobSpec& spec, const std::vector<std::string>& devices, const HostDevices& host);

// The accelerator for a replica on `device`, which no plugin drives; null on the CPU. Throws as open_cuda().
std::shared_ptr<Accelerator> open_device(const std::string& device, const CudaSpec& options);

}  // namespace dtrain
