#include "callbacks/lines_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {

LinesFile::LinesFile(const std::filesystem::path& path, std::string what)
    : path_(path),
      what_(std::move(what)),
      file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (file_.get() < 0) refuse("open");
}

void LinesFile::write(const std::string& text) {
  if (!write_all(file_.get(), text.data(), text.size())) refuse("write");
  bytes_ += static_cast<off_t>(text.size());
}

void LinesFile::go_back_to(off_t bytes) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse("look at");
  if (bytes > 0 && bytes <= status.st_size) cut_to(bytes);
}

void LinesFile::cut_to(off_t bytes) {
  if (::ftruncate(file_.get(), bytes) != 0 || ::lseek(file_.get(), bytes, SEEK_SET) < 0) refuse("write");
  bytes_ = bytes;
}

void LinesFile::refuse(const char* verb) const {
  const int error = errno;
  throw Error(file_failure_code(error), "{}: cannot {} {}: {}", path_.string(), verb, what_,
              std::strerror(error));
}

}  // namespace dtrain
