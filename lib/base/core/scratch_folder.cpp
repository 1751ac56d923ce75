#include "core/scratch_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {

ScratchFolder::ScratchFolder(const std::string& prefix) {
  std::string path = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) {
    const int error = errno;
    throw Error(file_failure_code(error), "cannot make the folder {}: {}", path, std::strerror(error));
  }
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace dtrain
