#include "safetensors/disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {

void fail_to_save(const std::filesystem::path& path, const char* what) {
  const int error = errno;
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw Error(file_failure_code(error), "{}: cannot {}: {}{}{}; older checkpoints are unchanged",
              path.string(), what, std::strerror(error), advice_on_writing(error, "--run-dir"),
              is_full ? "; a smaller checkpoint.keep keeps fewer" : "");
}

// O_EXCL and O_NOFOLLOW: in a folder that others may write to, the name could be a link to one of our files.
NewFile::NewFile(const std::filesystem::path& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) fail_to_save(path_, "create the file");
}

void NewFile::write(const void* bytes, size_t count) {
  if (!write_all(file_.get(), bytes, count)) fail_to_save(path_, "write the file");
  bytes_ += static_cast<int64_t>(count);
}

void NewFile::sync() {
  if (::fsync(file_.get()) != 0) fail_to_save(path_, "write the file to the disk");
}

void sync_folder(const std::filesystem::path& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) fail_to_save(path, "open the folder");
  // Some network file systems cannot sync a folder; their own guarantees then apply.
  if (::fsync(folder.get()) != 0 && errno != EINVAL) fail_to_save(path, "write the folder to the disk");
}

}  // namespace dtrain
