#include "metrics/jsonl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/files.h"
#include "metrics/events.h"

namespace dtrain {
namespace {

// Whether the file ends in the middle of a line. Only regular files are examined.
bool ends_within_a_line(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size == 0) return false;
  char last = '\n';
  return ::pread(descriptor, &last, 1, status.st_size - 1) == 1 && last != '\n';
}

}  // namespace

JsonLinesFile::JsonLinesFile(const std::filesystem::path& path)
    : path_(path), descriptor_(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) {
    throw Error(file_failure_code(errno),
                fmt::format("{}: cannot open for the metrics: {}", path.string(), std::strerror(errno)));
  }
  if (ends_within_a_line(descriptor_)) write("\n");
}

JsonLinesFile::~JsonLinesFile() { ::close(descriptor_); }

void JsonLinesFile::on_event(const Event& event) {
  if (failed_ || decode<ProgressEvent>(event)) return;
  write(event_text(event) + "\n");
}

void JsonLinesFile::write(const std::string& text) {
  if (write_all(descriptor_, text.data(), text.size())) return;
  const int error = errno;
  failed_ = true;
  throw Error(file_failure_code(error),
              fmt::format("{}: cannot write the metrics: {}; free some room or choose "
                          "another place with --run-dir",
                          path_.string(), std::strerror(error)));
}

}  // namespace dtrain
