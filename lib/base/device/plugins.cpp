#include "device/plugins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "core/environment.h"
#include "core/error.h"
#include "core/text.h"
#include "core/version.h"
#include "device/module_library.h"
#include "host/own_process.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

const ModuleLibrary kPjrtModule = {"pjrt",
                                   "DTRAIN_PJRT_MODULE",
                                   "plugins",
                                   "dtrain_program_module",
                                   "after scripts/setup --pjrt has fetched a header (docs/tpu.md)",
                                   ""};

// Where a plugin is among the packages of a Python.
const std::vector<fs::path>& places_of(PluginDevices devices) {
  static const std::vector<fs::path> tpus = {"libtpu/libtpu.so"};
  static const std::vector<fs::path> gpus = {"jax_plugins/xla_cuda13/xla_cuda_plugin.so",
                                             "jax_plugins/xla_cuda12/xla_cuda_plugin.so"};
  return devices == PluginDevices::kTpus ? tpus : gpus;
}

// FOLDER/python3.*/{site,dist}-packages/PLACE, the newest Python's first.
void add_of_python(PluginDevices devices, const fs::path& folder, std::vector<fs::path>& all) {
  std::vector<fs::path> pythons;
  std::error_code missing;  // in which case there are none
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().filename().string().rfind("python3", 0) == 0) pythons.push_back(entry.path());
  }
  std::sort(pythons.rbegin(), pythons.rend());
  for (const fs::path& python : pythons) {
    for (const char* packages : {"site-packages", "dist-packages"}) {
      for (const fs::path& place : places_of(devices)) all.push_back(python / packages / place);
    }
  }
}

// The folder whose bin has the first python3 of PATH, perhaps a virtual environment; empty: there is none.
fs::path folder_of_python() {
  std::error_code missing;
  for (const std::string& folder : split(environment_text("PATH").value_or(""), ':')) {
    if (fs::path(folder).is_absolute() && fs::exists(fs::path(folder) / "python3", missing))
      return (fs::path(folder) / "").parent_path().parent_path();
  }
  return {};
}

// Fills in the plugin's answer, or why it has none.
void ask(PluginDevices devices, PluginSurvey& survey) {
  const std::string command =
      fmt::format("{} plugin-devices {} {} 2>/dev/null", shell_word(own_program()), shell_word(survey.plugin),
                  devices == PluginDevices::kGpus ? "--gpus" : "");
  FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr)
    throw Error(ExitCode::kMemory, "no process could be started to ask the plugin for its devices");
  std::string answer;
  std::array<char, 4096> part{};
  while (const size_t count = std::fread(part.data(), 1, part.size(), pipe))
    answer.append(part.data(), count);
  ::pclose(pipe);
  const auto found = nlohmann::json::parse(answer, nullptr, /*allow_exceptions=*/false);
  if (found.is_object() && found.contains("devices")) {
    survey.platform = found.value("platform", "");
    survey.devices = found.value("devices", int64_t{0});
    survey.free_memory = found.value("free_memory", int64_t{0});
    return;
  }
  survey.none_why = found.is_object() ? found.value("problem", "") : "";
  if (survey.none_why.empty())
    survey.none_why =
        fmt::format("the plugin {} ended the process that asked it for its devices", survey.plugin);
}

void look_for_devices(PluginDevices devices, const std::optional<std::string>& asked, PluginSurvey& survey) {
  const auto plugin = find_plugin(devices, asked);
  if (plugin) survey.plugin = plugin->string();
  if (!find_pjrt_module()) {
    survey.none_why =
        std::string("this dtrain has no module for plugins; build it ") + kPjrtModule.if_missing;
  } else if (devices == PluginDevices::kGpus) {
    if (plugin) return ask(devices, survey);
    survey.none_why =
        "XLA's plugin for GPUs was not found; install it (pip install 'jax[cuda13]'), or say where it is "
        "with strategy.plugin";
  } else if (const bool named = asked || environment_text("TPU_LIBRARY_PATH");
             count_tpu_nodes() == 0 && !named) {
    survey.none_why = "this host has no TPU (neither /dev/accel* nor /dev/vfio/*)";
  } else if (!plugin) {
    survey.none_why =
        "libtpu was not found; install it (pip install libtpu), or say where it is with strategy.plugin or "
        "TPU_LIBRARY_PATH";
  } else {
    // Else libtpu waits minutes for a server that only hosts with TPUs have.
    if (count_tpu_nodes() == 0) ::setenv("TPU_SKIP_MDS_QUERY", "1", /*overwrite=*/0);
    ask(devices, survey);
  }
}

}  // namespace

int64_t count_tpu_nodes() {
  int64_t count = 0;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator("/dev", missing)) {
    const std::string name = entry.path().filename();
    if (name.rfind("accel", 0) == 0 && name.size() > 5 && std::isdigit(name[5]) != 0) ++count;
  }
  if (count > 0) return count;
  for (const auto& entry : fs::directory_iterator("/dev/vfio", missing))
    if (std::isdigit(entry.path().filename().string().front()) != 0) ++count;
  return count;
}

std::optional<fs::path> find_pjrt_module() { return kPjrtModule.find(); }

std::optional<fs::path> find_plugin(PluginDevices devices, const std::optional<std::string>& asked) {
  const bool is_tpu = devices == PluginDevices::kTpus;
  if (asked) return *asked;
  if (const auto path = environment_text("TPU_LIBRARY_PATH"); is_tpu && path) return *path;
  std::vector<fs::path> candidates;
  for (const char* environment : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    if (const auto folder = environment_text(environment))
      add_of_python(devices, fs::path(*folder) / "lib", candidates);
  }
  if (const fs::path python = folder_of_python(); !python.empty())
    add_of_python(devices, python / "lib", candidates);
  if (const auto home = environment_text("HOME"))
    add_of_python(devices, fs::path(*home) / ".local/lib", candidates);
  for (const char* folder : {"/usr/local/lib", "/usr/lib"}) add_of_python(devices, folder, candidates);
  if (is_tpu) {
    for (const char* folder : {"/usr/local/lib", "/usr/lib", "/lib"})
      candidates.push_back(fs::path(folder) / "libtpu.so");
  }
  std::error_code missing;
  for (const fs::path& path : candidates) {
    if (fs::exists(path, missing)) return path;
  }
  return std::nullopt;
}

const PluginSurvey& survey_plugin(PluginDevices devices, const std::optional<std::string>& asked) {
  static std::map<std::pair<PluginDevices, std::string>, PluginSurvey> answers;
  const auto [answer, is_new] = answers.try_emplace({devices, asked.value_or("")});
  if (is_new) look_for_devices(devices, asked, answer->second);
  return answer->second;
}

std::string answer_of_plugin(PluginDevices devices, const std::string& path) {
  const bool on_gpus = devices == PluginDevices::kGpus;
  const auto runner = program_module().open(path, on_gpus ? std::optional(GpuChoice{}) : std::nullopt);
  return nlohmann::json{{"platform", runner->platform()},
                        {"devices", runner->devices()},
                        {"free_memory", runner->free_memory()}}
      .dump();
}

ProgramModule& program_module() {
  static ProgramModule* const module = reinterpret_cast<ProgramModule* (*)()>(kPjrtModule.load(kVersion))();
  return *module;
}

}  // namespace dtrain
