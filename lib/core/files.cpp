#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "core/text.h"

namespace dtrain {
namespace {

// Closes the file however the function returns.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void fail(ExitCode code, const std::filesystem::path& path, const char* what) {
  const int error = errno;
  throw Error(file_failure_code(error, code),
              fmt::format("{}: {}: {}", path.string(), what, std::strerror(error)));
}

constexpr size_t kMostNeighbours = 1000;

// "; did you mean 'FOLDER/NAME'?" of a file beside the one that is missing.
std::string similar_file(const std::filesystem::path& missing) {
  const std::filesystem::path folder = missing.parent_path();
  std::vector<std::string> names;
  std::error_code none;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, none), end;
       !none && entry != end && names.size() < kMostNeighbours; entry.increment(none))
    names.push_back(entry->path().filename().string());
  const std::optional<std::string> closest = closest_word(missing.filename().string(), names);
  return closest ? fmt::format("; did you mean '{}'?", printable((folder / *closest).string())) : "";
}

}  // namespace

ExitCode file_failure_code(int error, ExitCode refused) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EREMOTEIO:
    case EUCLEAN:    // a damaged file system
    case ESTALE:     // a file server that forgot the file
    case ETIMEDOUT:  // or does not answer
    case ENOTCONN:   // or is gone
      return ExitCode::kDisk;
    default:
      return refused;
  }
}

ExitCode output_failure_code() {
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  const bool nobody_reads =
      ::poll(&output, 1, 0) > 0 && (output.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
  return nobody_reads ? ExitCode::kUsage : ExitCode::kDisk;
}

bool write_all(int descriptor, const void* bytes, size_t count) {
  const auto* next = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t put = ::write(descriptor, next, count);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    next += put;
    count -= static_cast<size_t>(put);
  }
  return true;
}

std::string read_file(const std::filesystem::path& path, int64_t limit, ExitCode code) {
  // O_NONBLOCK: opening a pipe that nobody writes to must not hang.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail(code, path, "cannot open");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) fail(code, path, "cannot look at");
  if (!S_ISREG(status.st_mode))
    throw Error(
        code, path.string() + (S_ISDIR(status.st_mode) ? ": a folder; name a file" : ": not a regular file"));
  if (status.st_size > limit) {
    throw Error(code, fmt::format("{}: {} is over the limit of {}", path.string(),
                                  human_bytes(status.st_size), human_bytes(limit)));
  }
  std::string content(static_cast<size_t>(status.st_size), '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::read(file.fd, content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(code, path, "cannot read");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

std::string read_file_part(const std::filesystem::path& path, int64_t offset, int64_t bytes, ExitCode code) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) fail(code, path, "cannot open");
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) fail(code, path, "cannot look at");
  if (!S_ISREG(status.st_mode)) throw Error(code, path.string() + ": not a regular file");
  if (offset < 0 || bytes < 0 || offset > status.st_size || bytes > status.st_size - offset)
    throw Error(code, path.string() + ": is shorter than it was");
  std::string content(static_cast<size_t>(bytes), '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = ::pread(file.fd, content.data() + filled, content.size() - filled,
                                offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(code, path, "cannot read");
    if (got == 0) throw Error(code, path.string() + ": is shorter than it was");
    filled += static_cast<size_t>(got);
  }
  return content;
}

std::string read_input(const std::filesystem::path& path, const std::string& name, int64_t limit,
                       ExitCode code) {
  const bool is_standard = path == "-";
  std::error_code none;
  if (!is_standard && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    throw Error(
        code, fmt::format("{}: cannot open: {}{}", path.string(), std::strerror(ENOENT), similar_file(path)));
  if (!is_standard && !std::filesystem::is_fifo(path, none)) return read_file(path, limit, code);
  const Descriptor file{is_standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) fail(code, name, "cannot open");
  std::string content;
  std::array<char, 65536> bytes;
  while (const ssize_t got = ::read(file.fd, bytes.data(), bytes.size())) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(code, name, "cannot read");
    content.append(bytes.data(), static_cast<size_t>(got));
    if (static_cast<int64_t>(content.size()) > limit)
      throw Error(code, fmt::format("{}: is over the limit of {}", name, human_bytes(limit)));
  }
  return content;
}

void require_absent(const std::filesystem::path& path, const std::string& otherwise) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(path))) return;
  throw Error(ExitCode::kUsage,
              fmt::format("{} is there already: --overwrite replaces it, {}", path.string(), otherwise));
}

void write_file_atomically(const std::filesystem::path& path, const std::string& content) {
  const std::filesystem::path temporary = path.string() + ".tmp" + std::to_string(::getpid());
  // O_NOFOLLOW: in a folder that others may write to, the name could be a link to a file of ours.
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666)};
  if (file.fd < 0) fail(ExitCode::kUsage, path, "cannot create");
  const bool complete = write_all(file.fd, content.data(), content.size()) &&
                        ::close(std::exchange(file.fd, -1)) == 0 &&
                        ::rename(temporary.c_str(), path.c_str()) == 0;
  if (complete) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  fail(ExitCode::kUsage, path, "cannot write");
}

}  // namespace dtrain
