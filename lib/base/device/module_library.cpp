#include "device/module_library.h"

#include <cstdlib>
#include <system_error>

namespace dtrain {

std::optional<std::filesystem::path> find_module_library(const char* variable, const char* file) {
  if (const char* path = std::getenv(variable); path != nullptr && *path != '\0') return path;
  std::error_code no_proc;  // in which case nobody knows where the program is
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", no_proc).parent_path();
  if (no_proc) return std::nullopt;
  for (const auto& folder : {own, own / "../lib/dtrain"}) {
    if (std::filesystem::exists(folder / file)) return folder / file;
  }
  return std::nullopt;
}

}  // namespace dtrain
