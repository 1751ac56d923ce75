#include "core/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>

#include "core/files.h"

namespace dtrain {

ScratchFolder::ScratchFolder(const std::string& prefix) {
  std::string path = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) fail_to_write(path, "cannot make the folder", errno);
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace dtrain
