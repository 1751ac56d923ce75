#include "core/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/descriptor.h"
#include "core/text.h"

namespace dtrain {
namespace {

[[noreturn]] void fail(ExitCode code, const std::filesystem::path& path, const char* what) {
  const int error = errno;
  throw Error(file_failure_code(error, code),
              fmt::format("{}: {}: {}", path.string(), what, std::strerror(error)));
}

// What a file is opened for reading as. O_NONBLOCK: opening a pipe that nobody writes to must not hang.
Descriptor open_to_read(const std::filesystem::path& path, ExitCode code, struct stat& status) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.get() < 0) fail(code, path, "cannot open");
  if (::fstat(file.get(), &status) != 0) fail(code, path, "cannot look at");
  return file;
}

// Up to `count` bytes from `offset`: fewer where the file ends before.
std::string read_bytes(const Descriptor& file, int64_t offset, int64_t count,
                       const std::filesystem::path& path, ExitCode code) {
  std::string content(static_cast<size_t>(count), '\0');
  const int64_t got = read_all(file.get(), offset, content.data(), content.size());
  if (got < 0) fail(code, path, "cannot read");
  content.resize(static_cast<size_t>(got));
  return content;
}

constexpr size_t kMostNeighbours = 1000;
constexpr size_t kMostSuggested = 3;

// Up to `most` names in the folder of `path`.
std::vector<std::string> names_beside(const std::filesystem::path& path, bool folders_only, size_t most) {
  const std::filesystem::path folder = path.parent_path();
  std::vector<std::string> names;
  std::error_code none, unknown;
  for (std::filesystem::directory_iterator entry(folder.empty() ? "." : folder, none), end;
       !none && entry != end && names.size() < most; entry.increment(none)) {
    if (!folders_only || entry->is_directory(unknown)) names.push_back(entry->path().filename().string());
  }
  return names;
}

// "; did you mean 'FOLDER/NAME'?" of a file beside the one that is missing.
std::string similar_file(const std::filesystem::path& missing) {
  const std::vector<std::string> names = names_beside(missing, false, kMostNeighbours);
  const std::string name = missing.filename().string(), with_ending = name + ".yaml";
  const bool lacks_ending = std::ranges::find(names, with_ending) != names.end();
  const std::optional<std::string> closest = lacks_ending ? with_ending : closest_word(name, names);
  return closest ? fmt::format("; did you mean '{}'?", printable((missing.parent_path() / *closest).string()))
                 : "";
}

// A new file beside `path`, "PATH.tmpPID-NUMBER", which no other process and no other thread writes to.
struct NewFileBeside {
  std::filesystem::path path;
  Descriptor file;
};

NewFileBeside make_file_beside(const std::filesystem::path& path) {
  static std::atomic<int64_t> made = 0;
  while (true) {
    const std::filesystem::path beside = fmt::format("{}.tmp{}-{}", path.string(), ::getpid(), ++made);
    // O_EXCL: a process on another host may have our number. It also follows no link.
    const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 || errno != EEXIST) return {beside, Descriptor(fd)};
  }
}

void replace_file(const std::filesystem::path& path, const std::string& content, const std::string& option,
                  bool durable) {
  require_replaceable(path);
  NewFileBeside made = make_file_beside(path);
  if (made.file.get() < 0) fail_to_write(path, "cannot create", errno, option);
  const bool complete = write_all(made.file.get(), content.data(), content.size()) &&
                        (!durable || ::fsync(made.file.get()) == 0) && ::close(made.file.release()) == 0 &&
                        ::rename(made.path.c_str(), path.c_str()) == 0;
  if (complete) return;
  const int error = errno;
  ::unlink(made.path.c_str());
  fail_to_write(path, "cannot write", error, option);
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

std::string advice_on_writing(int error, const std::string& option) {
  const std::string with = option.empty() ? "" : " with " + option;
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some room there, or choose another place" + with;
    case EFBIG:
      return "; `ulimit -f`, or the file system, limits how large a file may be";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place that you may write to" + with;
    default:
      return "";
  }
}

void fail_to_write(const std::filesystem::path& path, const char* what, int error,
                   const std::string& option) {
  throw Error(file_failure_code(error), "{}: {}: {}{}", path.string(), what, std::strerror(error),
              advice_on_writing(error, option));
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

int64_t read_all(int descriptor, int64_t offset, void* bytes, size_t count) {
  size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::pread(descriptor, static_cast<char*>(bytes) + filled, count - filled,
                                offset + static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  return static_cast<int64_t>(filled);
}

std::string content_of(int descriptor) {
  std::string content;
  std::array<char, 65536> bytes;
  int64_t got;
  while ((got = read_all(descriptor, std::ssize(content), bytes.data(), bytes.size())) > 0)
    content.append(bytes.data(), static_cast<size_t>(got));
  return content;
}

std::string read_file(const std::filesystem::path& path, int64_t limit, ExitCode code) {
  struct stat status {};
  const Descriptor file = open_to_read(path, code, status);
  if (!S_ISREG(status.st_mode))
    throw Error(
        code, path.string() + (S_ISDIR(status.st_mode) ? ": a folder; name a file" : ": not a regular file"));
  if (status.st_size > limit) {
    throw Error(code, "{}: {} is over the limit of {}", path.string(), human_bytes(status.st_size),
                human_bytes(limit));
  }
  return read_bytes(file, 0, status.st_size, path, code);
}

std::string read_file_part(const std::filesystem::path& path, int64_t offset, int64_t bytes, ExitCode code) {
  struct stat status {};
  const Descriptor file = open_to_read(path, code, status);
  if (!S_ISREG(status.st_mode)) throw Error(code, path.string() + ": not a regular file");
  std::string content;
  const bool may_be_there =
      offset >= 0 && bytes >= 0 && offset <= status.st_size && bytes <= status.st_size - offset;
  if (may_be_there) content = read_bytes(file, offset, bytes, path, code);
  if (!may_be_there || std::ssize(content) < bytes)
    throw Error(code, path.string() + ": is shorter than it was");
  return content;
}

std::string read_input(const std::filesystem::path& path, const std::string& name, int64_t limit,
                       ExitCode code) {
  const bool is_standard = path == "-";
  std::error_code none;
  if (!is_standard && ::access(path.c_str(), F_OK) != 0 && errno == ENOENT)
    throw Error(code, "{}: cannot open: {}{}", path.string(), std::strerror(ENOENT), similar_file(path));
  if (!is_standard && !std::filesystem::is_fifo(path, none)) return read_file(path, limit, code);
  const Descriptor file{is_standard ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                    : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.get() < 0) fail(code, name, "cannot open");
  std::string content;
  std::array<char, 65536> bytes;
  while (const ssize_t got = ::read(file.get(), bytes.data(), bytes.size())) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(code, name, "cannot read");
    content.append(bytes.data(), static_cast<size_t>(got));
    if (static_cast<int64_t>(content.size()) > limit)
      throw Error(code, "{}: is over the limit of {}", name, human_bytes(limit));
  }
  return content;
}

std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder) {
  std::error_code ignored;
  return paths_in(folder, ignored);
}

std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& fault) {
  std::vector<std::filesystem::path> paths;
  for (std::filesystem::directory_iterator entry(folder, fault), end; !fault && entry != end;
       entry.increment(fault))
    paths.push_back(entry->path());
  std::ranges::sort(paths);
  return paths;
}

void require_absent(const std::filesystem::path& path, const std::string& otherwise) {
  if (!std::filesystem::exists(std::filesystem::symlink_status(path))) return;
  throw Error(ExitCode::kUsage, "{} is there already: --overwrite replaces it, {}", path.string(), otherwise);
}

void require_replaceable(const std::filesystem::path& path) {
  std::error_code none;
  // Where /dev/stdout and /dev/fd/1 are, which may lead to plain files.
  const std::string folder = std::filesystem::weakly_canonical(path.parent_path(), none);
  if (folder == "/dev" || folder.starts_with("/proc/") || std::filesystem::is_other(path, none))
    throw Error(ExitCode::kUsage, "{}: is a device, a pipe or a socket, which no file replaces",
                path.string());
}

void require_folder(const std::filesystem::path& from, ExitCode code, const std::string& advice) {
  std::error_code none;
  const std::filesystem::path path = from.has_filename() ? from : from.parent_path();
  if (std::filesystem::is_directory(path, none)) return;
  if (std::filesystem::exists(path, none))
    throw Error(code, "{} is a file; name the folder of a run or of a checkpoint", path.string());
  std::vector<std::string> names = names_beside(path, true, SIZE_MAX), similar;
  std::sort(names.rbegin(), names.rend());
  const std::string name = path.filename();
  for (const std::string& other : names) {
    const bool begins = !name.empty() && other.starts_with(name);
    if ((begins || closest_word(name, {other})) && similar.size() < kMostSuggested)
      similar.push_back((path.parent_path() / other).string());
  }
  throw Error(code, "{}: there is no such folder{}", path.string(),
              similar.empty() ? advice : fmt::format("; did you mean {}?", join(similar, " or ")));
}

void write_file_atomically(const std::filesystem::path& path, const std::string& content,
                           const std::string& option) {
  replace_file(path, content, option, /*durable=*/false);
}

void write_file_durably(const std::filesystem::path& path, const std::string& content,
                        const std::string& option) {
  replace_file(path, content, option, /*durable=*/true);
}

void write_output(const std::filesystem::path& path, const std::string& content, const std::string& option) {
  constexpr int kMostLinks = 40;  // one after the other, as the kernel follows them
  std::filesystem::path target = path;
  std::error_code none;
  require_replaceable(target);
  for (int links = 0; links < kMostLinks && std::filesystem::is_symlink(target, none); ++links) {
    target = target.parent_path() / std::filesystem::read_symlink(target, none);
    require_replaceable(target);
  }
  write_file_atomically(target, content, option);
}

ScratchFolder::ScratchFolder(const std::string& prefix) {
  std::string path = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) fail_to_write(path, "cannot make the folder", errno, "TMPDIR");
  path_ = path;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(path_, ignored);
}

}  // namespace dtrain
