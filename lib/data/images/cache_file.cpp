#include "images/cache_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <system_error>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/text.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLock = ".lock";
constexpr auto kLookAgain = std::chrono::milliseconds(50);
constexpr auto kPatience = 60 * kLookAgain;

fs::path lock_of(const fs::path& path) { return path.string() + kLock; }

// Removes what was left behind, which may be of files that nobody makes again.
void remove_left_behind() {
  for (const fs::path& partial : paths_in(cache_folder())) {
    if (partial.extension() != kPartialCacheFile) continue;
    const fs::path path = lock_of(fs::path(partial).replace_extension());
    const Descriptor lock(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status {};  // without a name the lock is one of before, and others may have a new one
    if (lock.get() >= 0 && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && ::fstat(lock.get(), &status) == 0 &&
        status.st_nlink > 0)
      ::unlink(partial.c_str());
  }
}

// By the process that has the lock.
void make_locked(const fs::path& path, const std::function<void(const OpenFile& file)>& make) {
  const fs::path partial = path.string() + kPartialCacheFile;
  const OpenFile file = open_made(partial, O_TRUNC);
  try {
    make(file);
    file.check(::fsync(file.descriptor()) == 0, "cannot be written");
    file.check(::rename(partial.c_str(), path.c_str()) == 0, "cannot be renamed");
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  ::unlink(lock_of(path).c_str());  // who waits for it finds the file
}

}  // namespace

fs::path cache_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache != '\0') return fs::absolute(cache) / "dtrain" / "data";
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return fs::absolute(home) / ".cache" / "dtrain" / "data";
  throw Error(ExitCode::kUsage,
              "there is no place for decoded pictures: set HOME or XDG_CACHE_HOME, or use data.cache: none");
}

void fail_on_cache(const fs::path& path, const std::string& what, int error) {
  throw Error(file_failure_code(error),
              "{}: {}: {}{}; XDG_CACHE_HOME names another folder for the cache; data.cache: none, with "
              "data.on_bad_example: error, does without",
              printable(path.string(), 1000), what, std::strerror(error), advice_on_writing(error));
}

void warn_of_damage(const fs::path& path) {
  std::cerr << fmt::format("WARNING: {}: is damaged; dtrain makes it again\n", printable(path.string(), 1000))
            << std::flush;
}

void fail_on_damage(const fs::path& path) {
  ::unlink(path.c_str());
  throw Error(ExitCode::kDisk,
              "{}: its bytes have changed since dtrain wrote them. dtrain has removed it and makes it again "
              "when you start again (with --resume a run continues from its last checkpoint). If this "
              "happens again, the disk or the memory is faulty",
              printable(path.string(), 1000));
}

// O_NONBLOCK: opening a pipe that nobody writes to must not hang.
OpenFile::OpenFile(const fs::path& path, int flags)
    : path_(path), file_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)) {
  if (!is_open()) return;
  struct stat status {};
  check(::fstat(descriptor(), &status) == 0, "cannot look at it");
  const auto refuse = [this](const std::string& fault) {
    throw Error(ExitCode::kUsage, "{}: {}, or set XDG_CACHE_HOME to another folder",
                printable(path_.string(), 1000), fault);
  };
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file; remove it");
  if (status.st_uid != ::geteuid() && status.st_uid != 0)
    refuse(fmt::format("belongs to another user (number {}), who can change it; remove it", status.st_uid));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    refuse("may be written to by other users; remove it (or, if you trust it, chmod go-w)");
}

void OpenFile::check(bool worked, const char* what) const {
  if (!worked) fail_on_cache(path_, what, errno);
}

int64_t OpenFile::size() const {
  struct stat status {};
  check(::fstat(descriptor(), &status) == 0, "cannot look at it");
  return status.st_size;
}

bool OpenFile::read(int64_t offset, void* bytes, size_t count) const {
  const int64_t got = offset < 0 ? 0 : read_all(descriptor(), offset, bytes, count);
  check(got >= 0, "cannot be read");
  return static_cast<size_t>(got) == count;
}

void OpenFile::reserve(int64_t bytes) const {
  int failed = 0;
  do {
    failed = ::posix_fallocate(descriptor(), 0, bytes);
  } while (failed == EINTR);
  if (failed != 0) fail_on_cache(path_, "cannot be made", failed);
}

std::shared_ptr<uint8_t> OpenFile::map(int64_t bytes, int protection, int64_t begin) const {
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes), protection, MAP_SHARED, descriptor(), begin);
  check(memory != MAP_FAILED, "cannot map it into memory");
  return {static_cast<uint8_t*>(memory),
          [bytes](uint8_t* first) { ::munmap(first, static_cast<size_t>(bytes)); }};
}

OpenFile open_made(const fs::path& path, int more_flags) {
  OpenFile file(path, O_RDWR | O_CREAT | more_flags);
  file.check(file.is_open(), "cannot be made");
  return file;
}

bool try_lock(const OpenFile& file, int kind) {
  int result = 0;
  do {
    result = ::flock(file.descriptor(), kind);
  } while (result != 0 && errno == EINTR);
  file.check(result == 0 || errno == EWOULDBLOCK, "cannot be locked");
  return result == 0;
}

void make_cache_folder() {
  std::error_code code;
  fs::create_directories(cache_folder(), code);
  if (code) fail_on_cache(cache_folder(), "cannot be made", code.value());
}

void require_cache_limit(int64_t bytes, double most_gigabytes, const std::string& need,
                         const std::string& instead) {
  if (static_cast<double>(bytes) > most_gigabytes * 1e9)
    throw Error(ExitCode::kUsage, "data.cache_gigabytes: {}, and the limit is {:g} GB; raise it, {}", need,
                most_gigabytes, instead);
}

void require_cache_room(int64_t bytes, double most_gigabytes, const std::string& need,
                        const std::string& instead) {
  make_cache_folder();
  remove_left_behind();
  require_cache_limit(bytes, most_gigabytes, need, instead);
  const fs::path folder = cache_folder();
  std::error_code code;
  const fs::space_info space = fs::space(folder, code);
  if (!code && space.available < static_cast<uintmax_t>(bytes))
    throw Error(ExitCode::kDisk,
                "{}: {}, and the disk has {} left; make room, set XDG_CACHE_HOME to a larger disk, {}",
                printable(folder.string(), 1000), need, human_bytes(static_cast<int64_t>(space.available)),
                instead);
}

void make_cache_file(const fs::path& path, const std::function<bool()>& is_there,
                     const std::function<void(const OpenFile& file)>& make) {
  const OpenFile lock = open_made(lock_of(path));
  for (auto waited = 0 * kLookAgain; !try_lock(lock, LOCK_EX | LOCK_NB); waited += kLookAgain) {
    if (waited == kPatience)
      std::cerr << fmt::format(
                       "dtrain: waiting for another process, which makes {}; if it is stopped, continue it\n",
                       printable(path.string(), 1000))
                << std::flush;
    std::this_thread::sleep_for(kLookAgain);
  }
  if (!is_there()) make_locked(path, make);
}

bool try_make_cache_file(const fs::path& path, const std::function<void(const OpenFile& file)>& make) {
  const OpenFile lock = open_made(lock_of(path));
  if (!try_lock(lock, LOCK_EX | LOCK_NB)) return false;
  make_locked(path, make);
  return true;
}

}  // namespace dtrain
