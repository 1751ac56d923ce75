#include "metrics/jsonl.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

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

JsonLinesFile::JsonLinesFile(const std::filesystem::path& path) : path_(path) {
  open();
  if (ends_within_a_line(file_.get())) write("\n");
}

void JsonLinesFile::open() {
  file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (file_.get() < 0) fail_to_write(path_, "cannot open for the metrics", errno, "--run-dir");
}

// A file that was replaced by another has no name left.
bool JsonLinesFile::is_in_place() const {
  struct stat ours {};
  struct stat there {};
  const bool removed = ::fstat(file_.get(), &ours) == 0 && ours.st_nlink == 0;
  const bool gone = ::stat(path_.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR);
  return !removed && !gone;
}

void JsonLinesFile::write_again() {
  std::string content;
  std::array<char, 65536> bytes;
  ssize_t got;
  while ((got = ::pread(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(content.size()))) > 0)
    content.append(bytes.data(), static_cast<size_t>(got));
  write_file_atomically(path_, content, "--run-dir");
  open();
}

void JsonLinesFile::on_event(const Event& event) {
  if (failed_ || decode<ProgressEvent>(event)) return;
  write(event_text(event) + "\n");
}

void JsonLinesFile::write(const std::string& text) {
  if (write_all(file_.get(), text.data(), text.size())) return;
  failed_ = true;
  fail_to_write(path_, "cannot write the metrics", errno, "--run-dir");
}

}  // namespace dtrain
