// Finds the plugins that drive TPUs, and GPUs with XLA, and the module library that drives plugins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "device/program_runner.h"

namespace dtrain {

enum class PluginDevices { kTpus, kGpus };

// The TPUs of this host by its device nodes (/dev/accel*, /dev/vfio/*). No plugin is loaded: without a TPU it
// would ask a server of the cloud for minutes.
int64_t count_tpu_nodes();

// The module of this installation: $DTRAIN_PJRT_MODULE, else libdtrain_pjrt.so beside the program or in
// ../lib/dtrain; nullopt when none is there.
std::optional<std::filesystem::path> find_pjrt_module();

// The plugin: `asked` (strategy.plugin), else of TPUs $TPU_LIBRARY_PATH; else where Python's packages are (an
// active virtual environment, that of the first python3 in PATH, the user's, the system's), libtpu.so of TPUs
// and JAX's xla_cuda_plugin.so of GPUs; of TPUs also libtpu.so of the system. nullopt when there is none.
std::optional<std::filesystem::path> find_plugin(PluginDevices devices,
                                                 const std::optional<std::string>& asked);

// Whether a job can use a plugin's devices here.
struct PluginSurvey {
  std::string plugin = {};    // the library; empty: none was found
  std::string platform = {};  // what it drives, in its words: "tpu", "cuda"
  int64_t devices = 0;
  int64_t free_memory = 0;    // bytes of each device; 0: not known
  std::string none_why = {};  // if there are none: the reason and what to do, for users
};

// Asks the plugin that find_plugin() finds, in a process of its own (answer_of_plugin()): a plugin may keep
// devices for as long as its process lives, or end it. Without device nodes of TPUs only a plugin for TPUs
// that somebody has named is asked. The answer is kept.
const PluginSurvey& survey_plugin(PluginDevices devices, const std::optional<std::string>& asked);

// What that process prints: {"platform", "devices", "free_memory"}. Throws as ProgramModule::open().
std::string answer_of_plugin(PluginDevices devices, const std::string& path);

// The module, loaded once. Throws Error(kUsage) with advice if it is missing, of another version or unusable.
ProgramModule& program_module();

}  // namespace dtrain
