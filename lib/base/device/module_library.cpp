#include "device/module_library.h"

#include <dlfcn.h>

#include <system_error>

#include "core/environment.h"
#include "core/error.h"

namespace dtrain {

std::optional<std::filesystem::path> ModuleLibrary::find() const {
  if (const auto path = environment_text(variable)) return *path;
  std::error_code no_proc;  // in which case nobody knows where the program is
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", no_proc).parent_path();
  if (no_proc) return std::nullopt;
  for (const auto& folder : {own, own / "../lib/dtrain"}) {
    if (const auto file = folder / ("libdtrain_" + name + ".so"); std::filesystem::exists(file)) return file;
  }
  return std::nullopt;
}

void* ModuleLibrary::load(const std::string& expected) const {
  const auto path = find();
  if (!path)
    throw Error(ExitCode::kUsage, "this dtrain has no module for {}; build it {}", purpose, if_missing);
  void* const library = ::dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Error(ExitCode::kUsage, "the module for {} cannot be loaded: {}{}", purpose, ::dlerror(),
                if_it_fails);
  void* const text = ::dlsym(library, ("dtrain_" + name + "_version").c_str());
  const std::string version = text == nullptr ? "" : static_cast<const char*>(text);
  if (version.empty())
    throw Error(ExitCode::kUsage, "{} is not dtrain's module for {}", path->string(), purpose);
  if (version != expected)
    throw Error(ExitCode::kUsage, "{} is of version {}, the program of {}; build both together",
                path->string(), version, expected);
  void* const function = ::dlsym(library, entry);
  if (function == nullptr) throw Error(ExitCode::kBug, "{} has no {}", path->string(), entry);
  return function;
}

}  // namespace dtrain
