#include "device/tpu.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>
#include <vector>

#include "core/error.h"
#include "core/own_program.h"
#include "core/shell.h"
#include "core/version.h"
#include "device/module_library.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_module(const std::string& why) { throw Error(ExitCode::kUsage, why); }

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// FOLDER/python3.*/{site,dist}-packages/libtpu/libtpu.so, the newest Python's first.
std::vector<fs::path> python_plugins(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code missing;  // in which case there are none
  for (const auto& entry : fs::directory_iterator(folder, missing)) {
    if (entry.path().filename().string().rfind("python3", 0) != 0) continue;
    for (const char* packages : {"site-packages", "dist-packages"}) {
      const fs::path path = entry.path() / packages / "libtpu" / "libtpu.so";
      if (fs::exists(path, missing)) found.push_back(path);
    }
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

ProgramModule* load_tpu_module() {
  const auto path = find_tpu_module();
  if (!path)
    refuse_module(
        "this dtrain has no module for TPUs; build it after scripts/setup --tpu has fetched a header "
        "(docs/tpu.md)");
  void* const library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) refuse_module(std::string("the module for TPUs cannot be loaded: ") + ::dlerror());
  const auto symbol = [&](const char* name) {
    void* const found = ::dlsym(library, name);
    if (found == nullptr) refuse_module(path->string() + " is not dtrain's module for TPUs");
    return found;
  };
  const std::string version = static_cast<const char*>(symbol("dtrain_tpu_version"));
  if (version != kVersion)
    refuse_module(fmt::format("{} is of version {}, the program of {}; build both together", path->string(),
                              version, kVersion));
  return reinterpret_cast<ProgramModule* (*)()>(symbol("dtrain_program_module"))();
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

std::optional<fs::path> find_tpu_module() {
  return find_module_library("DTRAIN_TPU_MODULE", "libdtrain_tpu.so");
}

std::optional<fs::path> find_tpu_plugin(const std::optional<std::string>& asked) {
  if (asked) return *asked;
  if (const std::string path = variable("TPU_LIBRARY_PATH"); !path.empty()) return path;
  std::vector<fs::path> candidates;
  const auto add = [&](const std::vector<fs::path>& more) {
    candidates.insert(candidates.end(), more.begin(), more.end());
  };
  if (const std::string folder = variable("VIRTUAL_ENV"); !folder.empty())
    add(python_plugins(fs::path(folder) / "lib"));
  if (const std::string folder = variable("CONDA_PREFIX"); !folder.empty())
    add(python_plugins(fs::path(folder) / "lib"));
  if (const std::string home = variable("HOME"); !home.empty())
    add(python_plugins(fs::path(home) / ".local/lib"));
  for (const char* folder : {"/usr/local/lib", "/usr/lib"}) add(python_plugins(folder));
  for (const char* folder : {"/usr/local/lib", "/usr/lib", "/lib"})
    candidates.push_back(fs::path(folder) / "libtpu.so");
  std::error_code missing;
  for (const fs::path& path : candidates) {
    if (fs::exists(path, missing)) return path;
  }
  return std::nullopt;
}

namespace {

// Fills in the plugin's answer, or why it has none.
void ask(TpuSurvey& survey) {
  const std::string command =
      fmt::format("{} tpu-devices {} 2>/dev/null", shell_word(own_program()), shell_word(survey.plugin));
  FILE* const pipe = ::popen(command.c_str(), "re");
  if (pipe == nullptr)
    throw Error(ExitCode::kMemory, "no process could be started to ask the plugin for TPUs");
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

void look_for_tpus(const std::optional<std::string>& asked, TpuSurvey& survey) {
  if (!find_tpu_module()) {
    survey.none_why =
        "this dtrain has no module for TPUs; build it after scripts/setup --tpu has fetched a header "
        "(docs/tpu.md)";
    return;
  }
  const auto plugin = find_tpu_plugin(asked);
  const bool named = asked || !variable("TPU_LIBRARY_PATH").empty();
  const bool has_nodes = count_tpu_nodes() > 0;
  if (plugin) survey.plugin = plugin->string();
  if (!has_nodes && !named) {
    survey.none_why = "this host has no TPU (neither /dev/accel* nor /dev/vfio/*)";
  } else if (!plugin) {
    survey.none_why =
        "libtpu was not found; install it (pip install libtpu), or say where it is with strategy.plugin or "
        "TPU_LIBRARY_PATH";
  } else {
    // Else libtpu waits minutes for a server that only hosts with TPUs have.
    if (!has_nodes) ::setenv("TPU_SKIP_MDS_QUERY", "1", /*overwrite=*/0);
    ask(survey);
  }
}

}  // namespace

const TpuSurvey& survey_tpus(const std::optional<std::string>& asked) {
  static std::map<std::string, TpuSurvey> answers;
  const auto [answer, is_new] = answers.try_emplace(asked.value_or(""));
  if (is_new) look_for_tpus(asked, answer->second);
  return answer->second;
}

std::string survey_plugin(const std::string& path) {
  const auto runner = program_module().open(path);
  return nlohmann::json{{"platform", runner->platform()},
                        {"devices", runner->devices()},
                        {"free_memory", runner->free_memory()}}
      .dump();
}

ProgramModule& program_module() {
  static ProgramModule* const module = load_tpu_module();
  return *module;
}

}  // namespace dtrain
