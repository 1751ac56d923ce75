#include "plan/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/error.h"
#include "core/text.h"
#include "traits/strategies.h"

namespace dtrain {
namespace {

const std::string kGpu = "cuda";

bool is_gpu(const std::string& device) { return device.rfind(kGpu, 0) == 0; }

// "cuda:1" -> 1
int number_of(const std::string& gpu) { return std::stoi(gpu.substr(kGpu.size() + 1)); }

std::string gpu_name(int64_t number) { return fmt::format("{}:{}", kGpu, number); }

// What JAX's plugin, which drives all GPUs, would answer: the driver tells it a second sooner.
PluginSurvey survey_xla() {
  constexpr double kShareOfMemory = 0.9;  // as pjrt/gpus.h
  const GpuSurvey gpus = survey_gpus();
  const auto plugin = find_plugin(PluginDevices::kGpus, std::nullopt);
  if (gpus.gpus.empty()) return {.plugin = plugin ? plugin->string() : "", .none_why = gpus.none_why};
  if (!plugin || !find_pjrt_module())
    return survey_plugin(PluginDevices::kGpus, std::nullopt);  // what is missing
  int64_t memory = gpus.gpus.front().memory_bytes;
  for (const Gpu& gpu : gpus.gpus) memory = std::min(memory, gpu.memory_bytes);
  return {.plugin = plugin->string(),
          .platform = kGpu,
          .devices = std::ssize(gpus.gpus),
          .free_memory = static_cast<int64_t>(kShareOfMemory * static_cast<double>(memory))};
}

// Whether the strategy's variables are on the devices where the replicas compute.
bool runs_on_gpus(const StrategySpec& strategy) {
  return strategy_traits(strategy.kind).runs_on_gpus && strategy.communication != "shared_memory";
}

void require_plugin(const JobSpec& spec, int64_t replicas, const PluginSurvey& plugin) {
  if (plugin.devices == 0)
    throw Error(ExitCode::kUsage,
                spec.uses_xla()
                    ? fmt::format("train.step: xla cannot be used: {} (docs/gpu.md)", plugin.none_why)
                    : fmt::format("strategy.kind: tpu cannot be used: {}; strategy.plugin names a plugin, "
                                  "and with strategy.fallback: true mirrored trains instead (docs/tpu.md)",
                                  plugin.none_why));
  const std::vector<int64_t> chosen = chosen_gpus(spec.strategy);
  if (!chosen.empty() && replicas > std::ssize(chosen))
    throw Error(
        ExitCode::kUsage,
        "strategy.devices: names {} for {}, and xla gives each one of its own; use cuda, or name as many",
        counted(std::ssize(chosen), "GPU"), counted(replicas, "replica"));
  int64_t needed = replicas;
  for (const int64_t number : chosen) needed = std::max(needed, number + 1);
  if (replicas > plugin.devices)
    throw Error(ExitCode::kUsage, "strategy.replicas is {}, and {} has {} here; use as many, or auto",
                replicas, plugin.plugin, counted(plugin.devices, "device"));
  if (needed > plugin.devices)
    throw Error(ExitCode::kUsage, "strategy.devices: there is no {}; this host has {}, counted from cuda:0",
                gpu_name(needed - 1), counted(plugin.devices, "GPU"));
}

}  // namespace

HostDevices find_devices(const JobSpec& spec) {
  HostDevices host;
  const StrategySpec& strategy = spec.strategy;
  if (!spec.uses_plugin()) {
    if (strategy.devices.front() == "cpu") return host;
    host.survey = survey_gpus();
    host.has_module = find_cuda_module().has_value();
  } else if (!spec.uses_xla()) {
    host.plugin = survey_plugin(PluginDevices::kTpus, strategy.plugin);
  } else if (strategy.plugin) {
    host.plugin = survey_plugin(PluginDevices::kGpus, strategy.plugin);
  } else {
    host.plugin = survey_xla();
  }
  return host;
}

std::optional<int64_t> gpus_for(const StrategySpec& strategy, const HostDevices& host) {
  const auto count = static_cast<int64_t>(host.survey.gpus.size());
  const std::string& word = strategy.devices.front();
  if (word == kGpu) return std::max<int64_t>(count, 1);
  if (word != "auto" || count == 0 || !host.has_module || !runs_on_gpus(strategy)) return std::nullopt;
  return count;
}

std::vector<int64_t> chosen_gpus(const StrategySpec& strategy) {
  std::vector<int64_t> numbers;
  for (const std::string& device : strategy.devices) {
    if (is_gpu(device) && device != kGpu) numbers.push_back(number_of(device));
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<std::string> assign_devices(const JobSpec& spec, int64_t replicas, const HostDevices& host) {
  const StrategySpec& strategy = spec.strategy;
  const std::string& word = strategy.devices.front();
  const auto gpus = static_cast<int64_t>(host.survey.gpus.size());
  const std::vector<int64_t> chosen = chosen_gpus(strategy);
  std::vector<std::string> devices;
  for (int64_t replica = 0; replica < replicas; ++replica) {
    if (spec.uses_plugin() && (word == "auto" || word == kGpu)) {
      const std::string driven = host.plugin.platform.empty() ? kGpu : host.plugin.platform;
      devices.push_back(fmt::format("{}:{}", spec.uses_xla() ? driven : "tpu", replica));
    } else if (spec.uses_xla() && !chosen.empty()) {
      devices.push_back(gpu_name(chosen[static_cast<size_t>(replica) % chosen.size()]));
    } else if (word == kGpu) {
      devices.push_back(gpu_name(replica % std::max<int64_t>(gpus, 1)));
    } else if (word == "auto") {
      devices.push_back(gpus_for(strategy, host).value_or(0) >= replicas ? gpu_name(replica) : "cpu");
    } else {
      devices.push_back(strategy.devices[static_cast<size_t>(replica) % strategy.devices.size()]);
    }
  }
  return devices;
}

int64_t idle_gpus(const StrategySpec& strategy, const std::vector<std::string>& devices,
                  const HostDevices& host) {
  return !devices.empty() && devices.front() == "cpu" ? gpus_for(strategy, host).value_or(0) : 0;
}

std::string automatic_communication(const std::vector<std::string>& devices) {
  if (!is_gpu(devices.front())) return "auto";
  return std::set<std::string>(devices.begin(), devices.end()).size() == devices.size() ? "nccl" : "gloo";
}

void require_devices(const JobSpec& spec, const std::vector<std::string>& devices, const HostDevices& host) {
  if (spec.uses_plugin()) return require_plugin(spec, std::ssize(devices), host.plugin);
  for (const std::string& device : devices) {
    if (!is_gpu(device)) continue;
    const std::vector<Gpu>& gpus = host.survey.gpus;
    if (gpus.empty())
      throw Error(ExitCode::kUsage, "strategy.devices: {} cannot be used: {}; use devices: cpu", device,
                  host.survey.none_why);
    if (number_of(device) >= std::ssize(gpus))
      throw Error(ExitCode::kUsage, "strategy.devices: there is no {}; this host has {}, counted from cuda:0",
                  device, counted(std::ssize(gpus), "GPU"));
    if (!host.has_module)
      throw Error(ExitCode::kUsage,
                  "strategy.devices: {} is {}, but this dtrain was built without its module for GPUs; build "
                  "it where the CUDA toolkit is found (docs/gpu.md), or use devices: cpu",
                  device, gpus[static_cast<size_t>(number_of(device))].name);
  }
}

std::shared_ptr<Accelerator> open_device(const std::string& device, const CudaSpec& options) {
  if (!is_gpu(device)) return nullptr;
  return open_cuda(number_of(device), {.tf32 = options.tf32, .benchmark = options.cudnn_benchmark});
}

}  // namespace dtrain
