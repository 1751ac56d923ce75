#include "plan/devices.h"

#include "catch.h"
#include "core/error.h"

namespace dtrain {
namespace {

using Names = std::vector<std::string>;

HostDevices host_with(size_t gpus, bool has_module = true) {
  HostDevices host;
  for (size_t i = 0; i < gpus; ++i) host.survey.gpus.push_back({"H100", int64_t{80} << 30});
  if (gpus == 0) host.survey.none_why = "NVIDIA's driver is not installed";
  host.has_module = has_module;
  return host;
}

StrategySpec strategy_on(const Names& devices, const std::string& kind = "mirrored") {
  StrategySpec strategy;
  strategy.kind = kind;
  strategy.devices = devices;
  return strategy;
}

JobSpec spec_on(const Names& devices, const std::string& kind = "mirrored") {
  JobSpec spec;
  spec.strategy = strategy_on(devices, kind);
  return spec;
}

std::string refusal(const Names& devices, const HostDevices& host, const JobSpec& spec = {}) {
  try {
    require_devices(spec, devices, host);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return error.what();
  }
  return "";
}

TEST_CASE("auto takes GPUs where each replica has one of its own, else the CPU") {
  const StrategySpec strategy = strategy_on({"auto"});
  const JobSpec spec = spec_on({"auto"});
  CHECK(gpus_for(strategy, host_with(2)) == 2);
  CHECK(assign_devices(spec, 2, host_with(2)) == Names{"cuda:0", "cuda:1"});
  CHECK(assign_devices(spec, 1, host_with(2)) == Names{"cuda:0"});
  CHECK(assign_devices(spec, 3, host_with(2)) == Names{"cpu", "cpu", "cpu"});
  CHECK(gpus_for(strategy, host_with(0)) == std::nullopt);
  CHECK(assign_devices(spec, 2, host_with(0)) == Names{"cpu", "cpu"});
}

TEST_CASE("auto leaves GPUs alone that cannot be used") {
  CHECK(gpus_for(strategy_on({"auto"}), host_with(2, /*has_module=*/false)) == std::nullopt);
  CHECK(assign_devices(spec_on({"auto"}, "central_storage"), 2, host_with(2)) == Names{"cpu", "cpu"});
  CHECK(assign_devices(spec_on({"auto"}, "parameter_server"), 2, host_with(2)) == Names{"cpu", "cpu"});
  JobSpec in_memory = spec_on({"auto"});
  in_memory.strategy.communication = "shared_memory";
  CHECK(assign_devices(in_memory, 2, host_with(2)) == Names{"cpu", "cpu"});
}

TEST_CASE("GPUs are idle where auto has more replicas than them, and only there") {
  const auto idle = [](const StrategySpec& strategy, int64_t replicas, const HostDevices& host) {
    JobSpec spec;
    spec.strategy = strategy;
    return idle_gpus(strategy, assign_devices(spec, replicas, host), host);
  };
  CHECK(idle(strategy_on({"auto"}), 3, host_with(2)) == 2);
  CHECK(idle(strategy_on({"auto"}), 2, host_with(2)) == 0);
  CHECK(idle(strategy_on({"auto"}), 2, host_with(0)) == 0);
  CHECK(idle(strategy_on({"auto"}), 3, host_with(2, /*has_module=*/false)) == 0);
  CHECK(idle(strategy_on({"auto"}, "central_storage"), 3, host_with(2)) == 0);
  CHECK(idle(strategy_on({"cpu"}), 3, host_with(2)) == 0);
  CHECK(idle(strategy_on({"cuda"}), 3, host_with(2)) == 0);
}

TEST_CASE("cuda takes one GPU after the other, and begins again where there are more replicas") {
  const StrategySpec strategy = strategy_on({"cuda"});
  const JobSpec spec = spec_on({"cuda"});
  CHECK(gpus_for(strategy, host_with(4)) == 4);
  CHECK(gpus_for(strategy, host_with(0)) == 1);  // planning needs none
  CHECK(assign_devices(spec, 3, host_with(2)) == Names{"cuda:0", "cuda:1", "cuda:0"});
  CHECK(assign_devices(spec, 2, host_with(0)) == Names{"cuda:0", "cuda:0"});
}

TEST_CASE("a device that is named is taken as it is") {
  CHECK(gpus_for(strategy_on({"cpu"}), host_with(2)) == std::nullopt);
  CHECK(assign_devices(spec_on({"cpu"}), 2, host_with(2)) == Names{"cpu", "cpu"});
  CHECK(assign_devices(spec_on({"cuda:1"}), 2, host_with(2)) == Names{"cuda:1", "cuda:1"});
  CHECK(assign_devices(spec_on({"cuda:1", "cuda:0"}), 2, host_with(2)) == Names{"cuda:1", "cuda:0"});
}

TEST_CASE("replicas exchange tensors by NCCL where each has a GPU of its own") {
  CHECK(automatic_communication({"cpu", "cpu"}) == "auto");
  CHECK(automatic_communication({"cuda:0", "cuda:1"}) == "nccl");
  CHECK(automatic_communication({"cuda:0"}) == "nccl");
  CHECK(automatic_communication({"cuda:0", "cuda:0"}) == "gloo");
}

TEST_CASE("a GPU that cannot be used is refused with the reason") {
  CHECK(refusal({"cpu", "cpu"}, host_with(0)) == "");
  CHECK(refusal({"cuda:0", "cuda:1"}, host_with(2)) == "");
  CHECK(refusal({"cuda:0"}, host_with(0)) ==
        "strategy.devices: cuda:0 cannot be used: NVIDIA's driver is not installed; use devices: cpu");
  CHECK(refusal({"cuda:0", "cuda:2"}, host_with(2)) ==
        "strategy.devices: there is no cuda:2; this host has 2 GPUs, counted from cuda:0");
  CHECK(refusal({"cuda:7"}, host_with(1)) ==
        "strategy.devices: there is no cuda:7; this host has 1 GPU, counted from cuda:0");
  CHECK_THAT(refusal({"cuda:0"}, host_with(1, /*has_module=*/false)),
             ContainsSubstring("cuda:0 is H100, but this dtrain was built without its module for GPUs"));
}

TEST_CASE("xla takes the plugin's devices, or the GPUs that are named, each for one replica") {
  HostDevices host;
  host.plugin = {.plugin = "xla_cuda_plugin.so", .platform = "cuda", .devices = 2};
  JobSpec spec = spec_on({"auto"});
  spec.train.step = "xla";
  CHECK(assign_devices(spec, 2, host) == Names{"cuda:0", "cuda:1"});
  CHECK(assign_devices(spec, 2, HostDevices{}) == Names{"cuda:0", "cuda:1"});  // planning needs none
  CHECK(refusal({"cuda:0", "cuda:1"}, host, spec).empty());
  CHECK_THAT(refusal({"cuda:0", "cuda:1", "cuda:2"}, host, spec),
             ContainsSubstring("strategy.replicas is 3, and xla_cuda_plugin.so has 2 devices here"));
  spec.strategy.devices = {"cuda:1"};
  CHECK(chosen_gpus(spec.strategy) == std::vector<int64_t>{1});
  CHECK(assign_devices(spec, 1, host) == Names{"cuda:1"});
  CHECK(refusal({"cuda:1"}, host, spec).empty());
  CHECK_THAT(refusal({"cuda:1", "cuda:1"}, host, spec), ContainsSubstring("names 1 GPU for 2 replicas"));
  spec.strategy.devices = {"cuda:5"};
  CHECK_THAT(refusal({"cuda:5"}, host, spec), ContainsSubstring("there is no cuda:5; this host has 2 GPUs"));
  host.plugin = {.none_why = "XLA's plugin was not found"};
  CHECK_THAT(refusal({"cuda:0"}, host, spec),
             ContainsSubstring("train.step: xla cannot be used: XLA's plugin was not found"));
}

TEST_CASE("the CPU needs no accelerator") { CHECK(open_device("cpu", {}) == nullptr); }

}  // namespace
}  // namespace dtrain
