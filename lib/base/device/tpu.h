// Finds TPUs, the plugin that drives them, and the module library that drives plugins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "device/program_runner.h"

namespace dtrain {

// The TPUs of this host by its device nodes (/dev/accel*, /dev/vfio/*). No plugin is loaded: without a TPU it
// would ask a server of the cloud for minutes.
int64_t count_tpu_nodes();

// The module of this installation: $DTRAIN_TPU_MODULE, else libdtrain_tpu.so beside the program or in
// ../lib/dtrain; nullopt when none is there.
std::optional<std::filesystem::path> find_tpu_module();

// The plugin: `asked` (strategy.plugin), else $TPU_LIBRARY_PATH, else libtpu.so of an active virtual
// environment, of the user's or the system's Python, or of the system; nullopt when there is none.
std::optional<std::filesystem::path> find_tpu_plugin(const std::optional<std::string>& asked);

// Whether a job can use TPUs here.
struct TpuSurvey {
  std::string plugin;    // the library; empty: none was found
  std::string platform;  // what it drives, in its words: "tpu"
  int64_t devices = 0;
  int64_t free_memory = 0;  // bytes of each device; 0: not known
  std::string none_why;     // if there are none: the reason and what to do, for users
};

// Asks the plugin that find_tpu_plugin(asked) finds, in a process of its own (survey_plugin()): a plugin may
// keep devices for as long as its process lives, or end it. Without device nodes only a plugin that somebody
// has named is asked. The answer is kept.
const TpuSurvey& survey_tpus(const std::optional<std::string>& asked);

// What that process prints: {"platform", "devices", "free_memory"}. Throws Error(kUsage) as
// ProgramModule::open().
std::string survey_plugin(const std::string& path);

// The module, loaded once. Throws Error(kUsage) with what to do when it is missing, does not load or is of
// another version.
ProgramModule& program_module();

}  // namespace dtrain
