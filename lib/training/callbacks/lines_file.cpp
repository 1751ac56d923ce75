#include "callbacks/lines_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "core/error.h"
#include "core/files.h"

namespace dtrain {

LinesFile::LinesFile(const CallbackContext& context, const std::string& name, std::string what)
    : run_(context.run),
      events_(context.events),
      path_(context.folder / name),
      what_(std::move(what)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (file_.get() < 0) refuse("open");
}

void LinesFile::write(const std::string& text) {
  if (!write_all(file_.get(), text.data(), text.size())) refuse("write");
  bytes_ += static_cast<off_t>(text.size());
}

std::string LinesFile::go_back_to(off_t bytes) {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) refuse("look at");
  if (bytes > 0 && bytes <= status.st_size) cut_to(bytes);
  if (bytes <= status.st_size || status.st_size == 0) return "";
  std::string last;
  off_t whole = 0;
  std::ifstream file(path_, std::ios::binary);
  for (std::string line; std::getline(file, line) && !file.eof(); last = std::move(line))
    whole += static_cast<off_t>(line.size() + 1);
  cut_to(whole);
  auto warning = begin_event<WarningEvent>(run_.name());
  warning.text = fmt::format(
      "{} has {} of the {} bytes that it had when the checkpoint was saved: lines are missing, and it goes "
      "on after the last whole one",
      path_.string(), status.st_size, bytes);
  events_.on_event(encode(warning));
  return last;
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
