// Options for XLA's plugin for GPUs besides those for every plugin: https://openxla.org/xla.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "device/program_runner.h"
#include "pjrt/plugin.h"

namespace dtrain::pjrt {

constexpr const char* kGpuPlatform = "cuda";

// Options of a call of PJRT by name; the call refers to them.
class NamedOptions {
 public:
  void add(const char* name, bool value) { fresh(name, PJRT_NamedValue_kBool).bool_value = value; }
  void add(const char* name, float value) { fresh(name, PJRT_NamedValue_kFloat).float_value = value; }
  void add(const char* name, std::string value) {
    texts_.push_back(std::move(value));
    PJRT_NamedValue& option = fresh(name, PJRT_NamedValue_kString);
    option.string_value = texts_.back().data();
    option.value_size = texts_.back().size();
  }
  // `values` has to live as long.
  void add(const char* name, const std::vector<int64_t>& values) {
    PJRT_NamedValue& option = fresh(name, PJRT_NamedValue_kInt64List);
    option.int64_array_value = values.data();
    option.value_size = values.size();
  }

  const PJRT_NamedValue* data() const { return options_.data(); }
  size_t size() const { return options_.size(); }

 private:
  PJRT_NamedValue& fresh(const char* name, PJRT_NamedValue_Type type) {
    PJRT_NamedValue& option = options_.emplace_back(DTRAIN_PJRT_ARGUMENTS(PJRT_NamedValue));
    option.name = name;
    option.name_size = std::string(name).size();
    option.type = type;
    option.value_size = 1;
    return option;
  }

  std::vector<PJRT_NamedValue> options_;
  std::deque<std::string> texts_;
};

// A GPU that programs can be compiled for where there is none: XLA's GpuTargetConfigProto as text. The
// figures are those of NVIDIA's data sheets and CUDA C++ Programming Guide (compute capabilities).
struct GpuTarget {
  std::string name;
  int major = 0;                                 // of the compute capability
  int cores = 0;                                 // multiprocessors
  int64_t memory = 0, bandwidth = 0, cache = 0;  // bytes; bytes a second; bytes
  double clock = 0;                              // GHz
  int shared_memory = 0;                         // bytes of a multiprocessor

  std::string text() const {
    const auto field = [](const std::string& key, const std::string& value) {
      return key + ": " + value + "\n";
    };
    const std::string of_block = std::to_string(shared_memory - 1024);  // what one block can have
    return "gpu_device_info {\n" + field("threads_per_block_limit", "1024") +
           field("threads_per_warp", "32") + field("shared_memory_per_block", "49152") +
           field("shared_memory_per_core", std::to_string(shared_memory)) +
           field("shared_memory_per_block_optin", of_block) + field("threads_per_core_limit", "2048") +
           field("core_count", std::to_string(cores)) + field("fpus_per_core", major == 8 ? "64" : "128") +
           field("block_dim_limit_x", "2147483647") + field("block_dim_limit_y", "65535") +
           field("block_dim_limit_z", "65535") + field("thread_dim_limit_x", "1024") +
           field("thread_dim_limit_y", "1024") + field("thread_dim_limit_z", "64") +
           field("memory_bandwidth", std::to_string(bandwidth)) +
           field("l2_cache_size", std::to_string(cache)) + field("clock_rate_ghz", std::to_string(clock)) +
           field("device_memory_size", std::to_string(memory)) + field("registers_per_core_limit", "65536") +
           field("registers_per_block_limit", "65536") +
           "cuda_compute_capability { major: " + std::to_string(major) + " }\n" +
           field("driver_version", "\"13.0.0\"") + field("runtime_version", "\"13.0.0\"") +
           field("dnn_version", "\"9.10.0\"") + field("name", "\"" + name + "\"") +
           "}\nplatform_name: \"CUDA\"\ndnn_version_info { major: 9 minor: 10 }\n" +
           field("device_description_str", "\"" + name + "\"");
  }
};

// Options of a topology of GPUs, "h200:2": none if it is not one of them.
inline NamedOptions topology_options(const std::string& topology) {
  constexpr int64_t kGib = int64_t{1} << 30, kMib = 1 << 20;
  const GpuTarget known[] = {
      {"a100", 8, 108, 80 * kGib, 2'039'000'000'000, 40 * kMib, 1.41, 167'936},
      {"h100", 9, 132, 80 * kGib, 3'350'000'000'000, 50 * kMib, 1.98, 233'472},
      {"h200", 9, 132, 141 * kGib, 4'800'000'000'000, 50 * kMib, 1.98, 233'472},
  };
  NamedOptions options;
  for (const GpuTarget& target : known) {
    if (topology.rfind(target.name + ":", 0) != 0) continue;
    options.add("topology", "1x1x" + topology.substr(target.name.size() + 1));
    options.add("target_config", target.text());
  }
  return options;
}

// Options of a client: memory is taken as it is needed, from a part that leaves some to others.
inline NamedOptions client_options(const GpuChoice& gpus) {
  constexpr float kShareOfMemory = 0.9;
  NamedOptions options;
  options.add("preallocate", false);
  options.add("memory_fraction", kShareOfMemory);
  if (!gpus.numbers.empty()) options.add("visible_devices", gpus.numbers);
  return options;
}

}  // namespace dtrain::pjrt
